//! Sparse preference models bound to documents.
//!
//! A batch of queries is mapped once, v = W' q, and kept by document word: a row of one weight per query for
//! every word that any of them has a weight for. A document then adds up the rows of its words. All numbers
//! are f32, added in the order of the document's words, so a score is the same however it is asked for.

use std::ops::Range;

use matchrank_core::Result;
use matchrank_core::matching::Csr;
use matchrank_core::progress::{Progress, Silent};
use rayon::prelude::*;

use super::PreferenceModel;
use crate::dataset::{BoundDocuments, GivenDocuments};
use crate::features::{FeatureRow, document_rows};
use crate::scoring::{Explanation, Matcher, Pair, Scorer, Why};

/// Bytes that the weights of a batch of queries may take.
const BATCH_BYTES: usize = 1 << 27;

pub(super) struct PreferenceMatcher<'a> {
    model: &'a PreferenceModel,
    documents: BoundDocuments<'a>,
    /// Words of the documents.
    d: Csr,
}

impl<'a> PreferenceMatcher<'a> {
    pub(super) fn new(
        model: &'a PreferenceModel,
        documents: BoundDocuments<'a>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let d = document_rows(&model.features, documents, None, progress)?;
        Ok(Self { model, documents, d })
    }

    fn rows(&self, queries: &[&str]) -> Vec<FeatureRow> {
        queries.par_iter().map(|query| self.model.features.query(query, None)).collect()
    }
}

impl Matcher for PreferenceMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn batch_size(&self) -> usize {
        (BATCH_BYTES / (4 * self.model.w.n_columns().max(1))).clamp(1, 256)
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        Ok(Box::new(PreferenceScorer::new(&self.model.w, &self.rows(queries), &self.d)))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let q = self.rows(&[query]).remove(0);
        let scorer = PreferenceScorer::new(&self.model.w, std::slice::from_ref(&q), &self.d);
        let mut score = [0.0];
        scorer.list(0, &[document], &mut score);
        let d = self.d.row(document as usize);
        let word = |id: u32| self.model.features.words().vocabulary.term(id).to_owned();
        let mut pairs = Vec::new();
        for (i, x) in q.row().iter() {
            d.for_each_shared(self.model.w.row(i as usize), |j, y, affinity| {
                let (query_feature, document_feature) = (word(i), word(j));
                pairs.push(Pair { query_feature, document_feature, x, affinity, y, score: x * affinity * y });
            });
        }
        pairs.retain(|pair| pair.affinity != 0.0);
        pairs.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
        let score = Some(score[0]).filter(|score| !score.is_nan());
        Ok(Explanation { score, why: Why::Pairs { pairs, others: 0.0 } })
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let documents = BoundDocuments::given(self.documents.dataset, documents);
        Ok(Box::new(PreferenceMatcher::new(self.model, documents, &Silent)?))
    }
}

/// Marks a word that no query of the batch has a weight for.
const NONE: u32 = u32::MAX;

/// Scores documents by their words for queries that have been mapped.
pub struct PreferenceScorer<'a> {
    d: &'a Csr,
    n_queries: usize,
    /// Row of `weights` of every document word.
    row_of: Vec<u32>,
    /// One weight for each query, row after row.
    weights: Vec<f32>,
    /// Returns true if W has an entry for a word of the query.
    known: Vec<bool>,
}

impl<'a> PreferenceScorer<'a> {
    /// Maps queries, to score the documents whose words are the rows of `d`.
    pub fn new(w: &Csr, queries: &[FeatureRow], d: &'a Csr) -> Self {
        Self::blended(w, 1.0, queries, d)
    }

    /// Scores by (1 - blend) I + blend W.
    pub(super) fn blended(w: &Csr, blend: f32, queries: &[FeatureRow], d: &'a Csr) -> Self {
        let images: Vec<Vec<(u32, f32)>> = queries
            .par_iter()
            .map_init(Vec::new, |scratch, query| PreferenceModel::image(w, blend, query.row(), scratch))
            .collect();
        Self::of_images(w.n_columns(), &images, d)
    }

    /// Scores by the identity over the first `n` features: W is 1 where both features are equal, and 0 elsewhere.
    pub(in crate::models) fn shared(n: usize, queries: &[FeatureRow], d: &'a Csr) -> Self {
        let image = |query: &FeatureRow| query.row().iter().filter(|(u, _)| (*u as usize) < n).collect();
        let images: Vec<Vec<(u32, f32)>> = queries.iter().map(image).collect();
        Self::of_images(d.n_columns(), &images, d)
    }

    /// `images`: the weights of document words for each query.
    fn of_images(n_columns: usize, images: &[Vec<(u32, f32)>], d: &'a Csr) -> Self {
        let n_queries = images.len();
        let mut row_of = vec![NONE; n_columns];
        let mut n_rows = 0;
        for (word, _) in images.iter().flatten() {
            let row = &mut row_of[*word as usize];
            if *row == NONE {
                *row = n_rows;
                n_rows += 1;
            }
        }
        let mut weights = vec![0f32; n_rows as usize * n_queries];
        for (query, image) in images.iter().enumerate() {
            for &(word, weight) in image {
                weights[row_of[word as usize] as usize * n_queries + query] = weight;
            }
        }
        let known = images.iter().map(|image| !image.is_empty()).collect();
        Self { d, n_queries, row_of, weights, known }
    }
}

impl Scorer for PreferenceScorer<'_> {
    fn n_queries(&self) -> usize {
        self.n_queries
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        if !self.known[query] {
            return scores.fill(f32::NAN);
        }
        for (score, &document) in scores.iter_mut().zip(documents) {
            let mut sum = 0.0;
            for (word, value) in self.d.row(document as usize).iter() {
                let row = self.row_of[word as usize];
                if row != NONE {
                    sum += value * self.weights[row as usize * self.n_queries + query];
                }
            }
            *score = sum;
        }
    }

    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let n = documents.len();
        let mut sums = vec![0f32; self.n_queries];
        for (place, document) in documents.enumerate() {
            sums.fill(0.0);
            for (word, value) in self.d.row(document as usize).iter() {
                let row = self.row_of[word as usize];
                if row != NONE {
                    let weights = &self.weights[row as usize * self.n_queries..][..self.n_queries];
                    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
                }
            }
            for (query, (sum, known)) in sums.iter().zip(&self.known).enumerate() {
                scores[query * n + place] = if *known { *sum } else { f32::NAN };
            }
        }
    }
}
