//! BM25 bound to documents: an index finds the best of a collection, stored counts score given ones.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use foldhash::HashMap;
use matchrank_core::Result;
use matchrank_core::matching::{Bm25, Csr, CsrBuilder};
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::{Retriever, TextBm25};
use crate::dataset::{BoundDocuments, GivenDocuments};
use crate::retrieval::index_of;
use crate::scoring::{Among, Explanation, Hit, Matcher, Scorer, Why, sweep_top};
use crate::text::{Bag, BagOfWords};

pub(super) struct Bm25Matcher<'a> {
    model: &'a TextBm25,
    documents: BoundDocuments<'a>,
    /// Counts of all documents, read when they are first asked for: the index does without.
    counts: OnceLock<Counts>,
    /// Index of all documents, opened when it is first asked for.
    retriever: OnceLock<Retriever<'a>>,
}

/// Counts of words of some documents, and their lengths.
pub(in crate::models) struct Counts {
    pub(in crate::models) rows: Csr,
    pub(in crate::models) lengths: Vec<f32>,
}

impl Counts {
    /// Reads and counts the words of documents.
    pub(in crate::models) fn read(words: &BagOfWords, documents: BoundDocuments<'_>) -> Result<Self> {
        let mut rows = CsrBuilder::new(words.vocabulary.len());
        let mut lengths = Vec::with_capacity(documents.len() as usize);
        documents.map(
            &words.fields,
            |_, texts| words.document(texts),
            |bag: Bag| {
                rows.push_row(bag.row());
                lengths.push(bag.length);
            },
        )?;
        Ok(Self { rows: rows.finish()?, lengths })
    }
}

impl<'a> Bm25Matcher<'a> {
    pub(super) fn new(model: &'a TextBm25, documents: BoundDocuments<'a>) -> Result<Self> {
        documents.dataset.places_of(&model.words.fields)?;
        Ok(Self { model, documents, counts: OnceLock::new(), retriever: OnceLock::new() })
    }

    fn counts(&self) -> Result<&Counts> {
        if self.counts.get().is_none() {
            let counts = Counts::read(&self.model.words, self.documents)?;
            // Of two threads that read them at a time, one keeps its own.
            let _ = self.counts.set(counts);
        }
        Ok(self.counts.get().expect("it was just set"))
    }

    fn retriever(&self, progress: &dyn Progress) -> Result<&Retriever<'a>> {
        if self.retriever.get().is_none() {
            let index = index_of(self.documents.dataset, &self.model.words, progress)?;
            let _ = self.retriever.set(Retriever::new(Arc::new(index), self.model)?);
        }
        Ok(self.retriever.get().expect("it was just set"))
    }
}

impl Matcher for Bm25Matcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let counts = self.counts()?;
        let bags: Vec<Bag> = queries.par_iter().map(|query| self.model.words.query(query)).collect();
        Ok(Box::new(Bm25Scorer::new(&self.model.bm25, counts, bags)))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let counts = self.counts()?;
        let bag = self.model.words.query(query);
        let (row, length) = (counts.rows.row(document as usize), counts.lengths[document as usize]);
        let terms = self.model.explain_rows(bag.row(), row, length);
        let score = (!terms.is_empty()).then(|| self.model.bm25.score(bag.row(), row, length) as f32);
        Ok(Explanation { score, why: Why::Terms { terms } })
    }

    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        if !self.documents.is_all() {
            return sweep_top(self, queries, k, among, progress);
        }
        let retriever = self.retriever(progress)?;
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        queries
            .par_iter()
            .map(|query| {
                let hits = retriever.search_among(&self.model.words.query(query), k, among);
                progress.advance(1);
                hits
            })
            .collect()
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        Ok(Box::new(Bm25Matcher::new(self.model, BoundDocuments::given(self.documents.dataset, documents))?))
    }

    fn settle(&mut self, _: u64, progress: &dyn Progress) -> Result<()> {
        self.counts()?;
        if self.documents.is_all() {
            self.retriever(progress)?;
        }
        Ok(())
    }
}

/// Scores documents by their counts, for queries whose words have weights.
pub(in crate::models) struct Bm25Scorer<'a> {
    bm25: &'a Bm25,
    counts: &'a Counts,
    bags: Vec<Bag>,
    /// The queries with a term, and the weight of the term in each.
    by_term: HashMap<u32, Vec<(u32, f64)>>,
}

impl<'a> Bm25Scorer<'a> {
    pub(in crate::models) fn new(bm25: &'a Bm25, counts: &'a Counts, bags: Vec<Bag>) -> Self {
        let mut by_term: HashMap<u32, Vec<(u32, f64)>> = HashMap::default();
        for (query, bag) in (0..).zip(&bags) {
            for (term, count) in bag.row().iter() {
                let weight = f64::from(count) * bm25.idf(term);
                by_term.entry(term).or_default().push((query, weight));
            }
        }
        Self { bm25, counts, bags, by_term }
    }
}

impl Scorer for Bm25Scorer<'_> {
    fn n_queries(&self) -> usize {
        self.bags.len()
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let query = self.bags[query].row();
        for (score, &document) in scores.iter_mut().zip(documents) {
            let document = document as usize;
            let row = self.counts.rows.row(document);
            let sum = self.bm25.score(query, row, self.counts.lengths[document]) as f32;
            // Every shared term adds something.
            *score = if sum > 0.0 { sum } else { f32::NAN };
        }
    }

    /// Documents meet all queries at once: each of their terms is looked up among the terms of the
    /// queries. Sums are in the order of the terms, as in `list`.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        scores.fill(f32::NAN);
        let bm25 = self.bm25;
        let mut sums = vec![0f64; self.bags.len()];
        let mut met: Vec<u32> = Vec::new();
        let n = documents.len();
        for (place, document) in documents.enumerate() {
            let norm = bm25.length_norm(self.counts.lengths[document as usize]);
            for (term, count) in self.counts.rows.row(document as usize).iter() {
                let Some(queries) = self.by_term.get(&term) else { continue };
                let saturation = bm25.saturation(count, norm);
                for &(query, weight) in queries {
                    let sum = &mut sums[query as usize];
                    if *sum == 0.0 {
                        met.push(query);
                    }
                    *sum += weight * saturation;
                }
            }
            for query in met.drain(..) {
                let query = query as usize;
                scores[query * n + place] = std::mem::take(&mut sums[query]) as f32;
            }
        }
    }
}
