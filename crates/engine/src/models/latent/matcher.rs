//! Bilinear models bound to documents.
//!
//! The images of the documents are not kept: at five million documents and a thousand dimensions they would take 20 GB,
//! and mapping a block of sparse rows costs little beside its products with 256 queries. A service, whose queries come one
//! by one, keeps them where there is memory ([`DocumentImages`]).

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::{Csr, Factor, Mapping, SparseRow, dot, dots};
use matchrank_core::progress::{Progress, Silent};
use rayon::prelude::*;

use super::images::DocumentImages;
use super::{BoundInputs, LatentModel};
use crate::dataset::{BoundDocuments, GivenDocuments};
use crate::features::FeatureRow;
use crate::models::sparse_preference::PreferenceScorer;
use crate::scoring::{Among, Explanation, Hit, Matcher, Pair, Scorer, Why, sweep_top};

/// Queries from which on a product of matrices is faster than 8-bit images.
const BATCHED: usize = 8;
/// Features of each side that an explanation looks at, the strongest ones.
const EXPLAINED: usize = 512;

pub(super) struct LatentMatcher<'a> {
    model: &'a LatentModel,
    inputs: Arc<BoundInputs<'a>>,
    documents: BoundDocuments<'a>,
    /// Features of the documents.
    y: Csr,
    /// Kept for single queries.
    images: Option<DocumentImages>,
}

impl<'a> LatentMatcher<'a> {
    pub(super) fn new(
        model: &'a LatentModel,
        inputs: Arc<BoundInputs<'a>>,
        documents: BoundDocuments<'a>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let y = inputs.documents(documents, progress)?;
        Ok(Self { model, inputs, documents, y, images: None })
    }

    fn scorer(&self, queries: &[FeatureRow]) -> LatentScorer<'_> {
        let images = self.images.as_ref();
        let scorer = LatentScorer { images, ..LatentScorer::new(&self.model.model, queries, &self.y) };
        if self.model.kind.knows_words { scorer } else { scorer.of_known_documents() }
    }
}

impl Matcher for LatentMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let rows: Vec<FeatureRow> = queries.par_iter().map(|query| self.inputs.query(query)).collect();
        Ok(Box::new(self.scorer(&rows)))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let model = &self.model.model;
        let x = self.inputs.query(query);
        let scorer = self.scorer(std::slice::from_ref(&x));
        let mut score = [0.0];
        scorer.list(0, &[document], &mut score);
        let y = self.y.row(document as usize);
        let (strong_x, strong_y) = (
            strongest(x.row(), model.lx(), &model.map_document(y), model.weights()),
            strongest(y, model.ly(), &model.map_query(x.row()), None),
        );
        let pairs = model.explain_among([strong_x.row(), strong_y.row()], [x.row(), y]);
        let listed: f64 = pairs.iter().map(|pair| f64::from(pair.score)).sum();
        let all = (strong_x.indices.len(), strong_y.indices.len()) == (x.indices.len(), y.indices().len());
        let others = if all { 0.0 } else { f64::from(score[0]) - listed };
        let features: (Vec<u32>, Vec<u32>) = pairs.iter().map(|pair| (pair.u, pair.v)).unzip();
        let queries = self.inputs.query_names(query, &features.0)?;
        let documents = self.inputs.document_names((self.documents, document), &features.1)?;
        let pairs = pairs
            .iter()
            .zip(queries.into_iter().zip(documents))
            .map(|(pair, (query_feature, document_feature))| Pair {
                query_feature,
                document_feature,
                x: pair.x,
                affinity: pair.affinity,
                y: pair.y,
                score: pair.score,
            })
            .collect();
        let score = Some(score[0]).filter(|score| !score.is_nan());
        Ok(Explanation { score, why: Why::Pairs { pairs, others } })
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let documents = BoundDocuments::given(self.inputs.dataset, documents);
        Ok(Box::new(LatentMatcher::new(self.model, self.inputs.clone(), documents, &Silent)?))
    }

    fn settle(&mut self, bytes: u64, progress: &dyn Progress) -> Result<()> {
        self.images = DocumentImages::new(&self.model.model, &self.y, bytes, progress);
        Ok(())
    }

    /// With images in memory, single queries are ranked by 8-bit images first, and the best of these exactly.
    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        let Some(images) = self.images.as_ref().filter(|_| queries.len() < BATCHED) else {
            return sweep_top(self, queries, k, among, progress);
        };
        let of_query = |query: &&str| {
            let row = self.inputs.query(query);
            images.top(&self.scorer(std::slice::from_ref(&row)), self.documents.len(), k, among)
        };
        Ok(queries.iter().map(of_query).collect())
    }
}

/// The features of a row that add most to its product with the image of the other side.
fn strongest(row: SparseRow<'_>, factor: &Factor, other: &[f32], weights: Option<&[f32]>) -> FeatureRow {
    let mut other = other.to_vec();
    if let Some(weights) = weights {
        other.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
    }
    let mut entries: Vec<(u32, f32)> = row.iter().collect();
    if entries.len() > EXPLAINED {
        let mut image = vec![0.0; factor.d()];
        let mut part = |(u, value): (u32, f32)| {
            image.fill(0.0);
            factor.add(u, value, &mut image);
            dot(&image, &other).abs()
        };
        let mut parts: Vec<(f32, (u32, f32))> = entries.iter().map(|&entry| (part(entry), entry)).collect();
        parts.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.0.cmp(&b.1.0)));
        entries = parts[..EXPLAINED].iter().map(|(_, entry)| *entry).collect();
        entries.sort_by_key(|(u, _)| *u);
    }
    let (indices, values) = entries.into_iter().unzip();
    FeatureRow { indices, values }
}

/// Scores documents by their features for queries that have been mapped.
pub struct LatentScorer<'a> {
    model: &'a dyn Mapping,
    y: &'a Csr,
    /// d numbers for each query.
    mapped: Vec<f32>,
    /// Returns true if the model knows a feature of the query.
    known: Vec<bool>,
    /// q' I d, where the model has an identity.
    identity: Option<PreferenceScorer<'a>>,
    /// Bias of the query, where the model has biases.
    biases: Option<Vec<f32>>,
    /// True if documents without a feature have no score.
    known_documents: bool,
    images: Option<&'a DocumentImages>,
}

thread_local! {
    static IMAGES: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
    static SHARED: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

impl<'a> LatentScorer<'a> {
    /// Maps queries, to score the documents whose features are the rows of `y`.
    pub fn new(model: &'a dyn Mapping, queries: &[FeatureRow], y: &'a Csr) -> Self {
        let mut images = vec![0.0; queries.len() * model.d()];
        let mapped = images.par_chunks_exact_mut(model.d()).zip(queries);
        let shared = |query: &FeatureRow| query.indices.iter().any(|&u| (u as usize) < model.identity());
        let known = mapped
            .map(|(image, query)| {
                model.map_query_into(query.row(), image);
                image.iter().any(|&value| value != 0.0) || shared(query)
            })
            .collect();
        let identity = (model.identity() > 0).then(|| PreferenceScorer::shared(model.identity(), queries, y));
        let biases = model.biases().map(|biases| queries.iter().map(|x| biases.of_query(x.row())).collect());
        Self { model, y, mapped: images, known, identity, biases, known_documents: false, images: None }
    }

    /// Gives no score to documents without a feature.
    pub fn of_known_documents(self) -> Self {
        Self { known_documents: true, ..self }
    }

    fn is_known(&self, document: u32) -> bool {
        !self.known_documents || !self.y.row(document as usize).indices().is_empty()
    }

    pub(super) fn image(&self, query: usize) -> &[f32] {
        &self.mapped[query * self.model.d()..][..self.model.d()]
    }

    /// Bias of a document.
    fn bias(&self, document: u32) -> f32 {
        self.model.biases().map_or(0.0, |biases| biases.of_document(self.y.row(document as usize)))
    }

    /// Makes scores of the products of images of a block.
    pub(super) fn complete(&self, documents: Range<u32>, scores: &mut [f32]) {
        let n = documents.len();
        self.add_identity(documents.clone(), scores);
        self.add_biases(documents.clone(), scores);
        for (number, _) in documents.enumerate().filter(|(_, document)| !self.is_known(*document)) {
            scores.iter_mut().skip(number).step_by(n).for_each(|score| *score = f32::NAN);
        }
        for (row, _) in scores.chunks_exact_mut(n).zip(&self.known).filter(|(_, known)| !**known) {
            row.fill(f32::NAN);
        }
    }

    /// Adds q' I d of the block to its scores.
    fn add_identity(&self, documents: Range<u32>, scores: &mut [f32]) {
        let Some(identity) = &self.identity else { return };
        let mut shared = SHARED.take();
        shared.resize(scores.len(), 0.0);
        identity.block(documents, &mut shared);
        // A query without a word in common has no score there, which adds nothing here.
        let parts = scores.iter_mut().zip(&shared).filter(|(_, shared)| !shared.is_nan());
        parts.for_each(|(score, shared)| *score += shared);
        SHARED.set(shared);
    }

    /// Adds the biases of queries and documents of the block to its scores.
    fn add_biases(&self, documents: Range<u32>, scores: &mut [f32]) {
        let Some(biases) = &self.biases else { return };
        let of_documents: Vec<f32> = documents.map(|document| self.bias(document)).collect();
        for (row, bias) in scores.chunks_exact_mut(of_documents.len()).zip(biases) {
            row.iter_mut().zip(&of_documents).for_each(|(score, own)| *score += bias + own);
        }
    }
}

impl Scorer for LatentScorer<'_> {
    fn n_queries(&self) -> usize {
        self.known.len()
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        if !self.known[query] {
            return scores.fill(f32::NAN);
        }
        match &self.identity {
            Some(identity) => identity.list(query, documents, scores),
            None => scores.fill(0.0),
        }
        let own = self.biases.as_ref().map_or(0.0, |biases| biases[query]);
        let query = self.image(query);
        let mut image = vec![0.0; self.model.d()];
        for (score, &document) in scores.iter_mut().zip(documents) {
            let image = match self.images {
                Some(images) => images.exact(document..document + 1),
                None => {
                    self.model.map_document_into(self.y.row(document as usize), &mut image);
                    &image[..]
                }
            };
            let shared = if score.is_nan() { 0.0 } else { *score };
            *score = dot(query, image) + shared + (own + self.bias(document));
            if !self.is_known(document) {
                *score = f32::NAN;
            }
        }
    }

    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let d = self.model.d();
        match self.images {
            Some(images) => dots(d, &self.mapped, images.exact(documents.clone()), scores),
            None => {
                let mut images = IMAGES.take();
                images.resize(documents.len() * d, 0.0);
                for (image, document) in images.chunks_exact_mut(d).zip(documents.clone()) {
                    self.model.map_document_into(self.y.row(document as usize), image);
                }
                dots(d, &self.mapped, &images, scores);
                IMAGES.set(images);
            }
        }
        self.complete(documents, scores);
    }
}
