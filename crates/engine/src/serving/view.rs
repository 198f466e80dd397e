//! A model without parts over all documents of a collection: those of the dataset and, after them, those of the chunks.

use std::ops::Range;
use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::progress::Progress;
use self_cell::self_cell;

use super::base::BaseDocuments;
use super::collection::AddedDocuments;
use crate::dataset::{BoundDocuments, GivenDocuments};
use crate::models::{Binding, MatchingModel};
use crate::scoring::{Among, Explanation, Hit, Matcher, Scorer};

pub(super) type BoxedMatcher<'a> = Box<dyn Matcher + 'a>;

self_cell! {
    /// A model bound to the dataset of a collection.
    pub(super) struct BaseMatcher {
        owner: (Arc<dyn MatchingModel>, Arc<BaseDocuments>),
        #[covariant]
        dependent: BoxedMatcher,
    }
}

impl BaseMatcher {
    pub(super) fn bind(
        model: Arc<dyn MatchingModel>,
        base: Arc<BaseDocuments>,
        bytes: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::try_new((model, base), |(model, base)| {
            let documents = BoundDocuments::all(&base.dataset);
            let mut matcher =
                model.bind(&mut Binding::with_clicks(documents, base.clicks.clone(), progress))?;
            matcher.settle(bytes, progress)?;
            Ok(matcher)
        })
    }
}

self_cell! {
    /// The same model bound to a chunk.
    pub(super) struct ChunkMatcher {
        owner: (Arc<BaseMatcher>, Arc<AddedDocuments>),
        #[covariant]
        dependent: BoxedMatcher,
    }
}

impl ChunkMatcher {
    pub(super) fn bind(base: Arc<BaseMatcher>, chunk: Arc<AddedDocuments>) -> Result<Self> {
        Self::try_new((base, chunk), |(base, chunk)| base.borrow_dependent().over(&chunk.documents))
    }

    pub(super) fn chunk(&self) -> &Arc<AddedDocuments> {
        &self.borrow_owner().1
    }
}

/// A model without parts over all documents of a collection.
#[derive(Clone)]
pub(super) struct View {
    pub(super) base: Arc<BaseMatcher>,
    /// Matchers of chunks, with the number of the first document of each.
    pub(super) chunks: Vec<(u32, Arc<ChunkMatcher>)>,
    pub(super) n_documents: u32,
}

impl View {
    /// All matchers with the number of the first document of each.
    fn pieces(&self) -> impl Iterator<Item = (u32, &dyn Matcher)> {
        let base = std::iter::once((0, &**self.base.borrow_dependent() as &dyn Matcher));
        base.chain(
            self.chunks.iter().map(|(first, chunk)| (*first, &**chunk.borrow_dependent() as &dyn Matcher)),
        )
    }
}

impl Matcher for View {
    fn n_documents(&self) -> u32 {
        self.n_documents
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let pieces = self.pieces().map(|(first, matcher)| Ok((first, matcher.begin(queries)?)));
        let pieces: Vec<_> = pieces.collect::<Result<_>>()?;
        if self.chunks.is_empty() {
            let (_, only) = pieces.into_iter().next().expect("there is a dataset");
            return Ok(only);
        }
        Ok(Box::new(ViewScorer { pieces }))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let pieces: Vec<_> = self.pieces().collect();
        let at = pieces.partition_point(|(first, _)| *first <= document) - 1;
        let (first, matcher) = pieces[at];
        matcher.explain(query, document - first)
    }

    fn batch_size(&self) -> usize {
        self.base.borrow_dependent().batch_size()
    }

    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        let mut all: Vec<Vec<Hit>> = vec![Vec::new(); queries.len()];
        for (first, matcher) in self.pieces() {
            let found = matcher.top_among(queries, k, among.map(|among| among.from(first)), progress)?;
            for (all, found) in all.iter_mut().zip(found) {
                all.extend(found.into_iter().map(|hit| Hit { document: first + hit.document, ..hit }));
            }
        }
        if !self.chunks.is_empty() {
            for hits in &mut all {
                hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
                hits.truncate(k);
            }
        }
        Ok(all)
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        self.base.borrow_dependent().over(documents)
    }
}

/// Scorers of the pieces of a view, with the number of the first document of each.
struct ViewScorer<'a> {
    pieces: Vec<(u32, Box<dyn Scorer + 'a>)>,
}

impl ViewScorer<'_> {
    fn piece(&self, document: u32) -> usize {
        self.pieces.partition_point(|(first, _)| *first <= document) - 1
    }
}

impl Scorer for ViewScorer<'_> {
    fn n_queries(&self) -> usize {
        self.pieces[0].1.n_queries()
    }

    fn prepare(&mut self) {
        self.pieces.iter_mut().for_each(|(_, piece)| piece.prepare());
    }

    /// Documents of one piece that follow each other are scored together.
    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let mut at = 0;
        for run in documents.chunk_by(|a, b| self.piece(*a) == self.piece(*b)) {
            let (first, scorer) = &self.pieces[self.piece(run[0])];
            let own: Vec<u32> = run.iter().map(|document| document - first).collect();
            scorer.list(query, &own, &mut scores[at..at + run.len()]);
            at += run.len();
        }
    }

    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let n = documents.len();
        let ends = self.pieces.iter().skip(1).map(|(first, _)| *first).chain([u32::MAX]);
        for ((first, scorer), end) in self.pieces.iter().zip(ends) {
            let (from, to) = (documents.start.max(*first), documents.end.min(end));
            if from >= to {
                continue;
            }
            let own = (to - from) as usize;
            let mut block = vec![0.0; own * self.n_queries()];
            scorer.block(from - first..to - first, &mut block);
            let at = (from - documents.start) as usize;
            for (row, block) in scores.chunks_exact_mut(n).zip(block.chunks_exact(own)) {
                row[at..at + own].copy_from_slice(block);
            }
        }
    }
}
