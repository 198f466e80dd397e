//! Sparse preference learning over text: f(q, d) = q' W d, a weight for every pair of a query word and a
//! document word.
//!
//! q and d are the tf-idf vectors of the words, of length 1. W has a row for every query word and a column
//! for every document word; most of its entries are 0 and not stored. How it is learned is told in
//! [`core`](matchrank_core::matching::sparse_preference), where the preferences come from in
//! [`training`](crate::training).

use matchrank_core::matching::sparse_preference::State;
use matchrank_core::matching::{Csr, SparseRow};
use matchrank_core::{Error, Result};
use serde::Serialize;

use super::related::unknown;
use crate::features::Features;
use crate::training::preference::{PreferenceReport, PreferenceSettings};

/// A model q' W d over text.
#[derive(Debug, Clone)]
pub struct PreferenceModel {
    /// Settings of its training.
    pub settings: PreferenceSettings,
    /// How queries and documents become vectors: words, no clicks.
    pub features: Features,
    /// W.
    pub w: Csr,
    /// What training needs to go on from here.
    pub state: State,
    /// What its training reported.
    pub report: PreferenceReport,
}

/// A word that goes with another, or against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightedWord {
    /// The word, as analysed.
    pub word: String,
    /// W_ij: above 0 the pair speaks for a document, below 0 against it.
    pub weight: f32,
    /// Documents with the word.
    pub n_documents: u32,
}

impl PreferenceModel {
    /// Checks that W has a row and a column for every word.
    pub fn validate(&self) -> Result<()> {
        let n_words = self.features.n_words();
        if (self.w.n_rows(), self.w.n_columns()) != (n_words, n_words) || self.features.use_clicks() {
            return Err(Error::Shape(format!(
                "W has {} rows and {} columns, and there are {n_words} words",
                self.w.n_rows(),
                self.w.n_columns()
            )));
        }
        Ok(())
    }

    /// Share of the entries of W that are not 0.
    pub fn density(&self) -> f64 {
        self.w.nnz() as f64 / (self.w.n_rows() as f64 * self.w.n_columns() as f64).max(1.0)
    }

    /// The document words with the largest |W_ij| for a query word, or |q' W| for several; ties by the id of
    /// the word. Words of fewer than `min_documents` documents are left out.
    pub fn related(&self, query: &str, top: usize, min_documents: u32) -> Result<Vec<WeightedWord>> {
        let q = self.features.query(query, None);
        if q.is_empty() {
            return Err(unknown(query, self.features.words()));
        }
        let mut weights = vec![0f64; self.w.n_columns()];
        for (i, value) in q.row().iter() {
            self.w.row(i as usize).iter().for_each(|(j, w)| weights[j as usize] += f64::from(value * w));
        }
        Ok(self.strongest(weights, top, min_documents))
    }

    /// The other direction: the query words with the largest |W_ij| for a document word, or |W d| for
    /// several.
    pub fn related_queries(&self, document: &str, top: usize) -> Result<Vec<WeightedWord>> {
        // A text of either side: tf-idf is the same.
        let d = self.features.query(document, None);
        if d.is_empty() {
            return Err(unknown(document, self.features.words()));
        }
        let d = d.row();
        let weights = self.w.rows().map(|row| {
            let mut sum = 0.0;
            d.for_each_shared(row, |_, value, w| sum += f64::from(value * w));
            sum
        });
        Ok(self.strongest(weights.collect(), top, 0))
    }

    fn strongest(&self, weights: Vec<f64>, top: usize, min_documents: u32) -> Vec<WeightedWord> {
        let vocabulary = &self.features.words().vocabulary;
        let mut words: Vec<(u32, f64)> = (0..)
            .zip(weights)
            .filter(|(word, weight)| *weight != 0.0 && vocabulary.document_frequency(*word) >= min_documents)
            .collect();
        words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        words.truncate(top);
        words
            .into_iter()
            .map(|(word, weight)| WeightedWord {
                word: vocabulary.term(word).to_owned(),
                weight: weight as f32,
                n_documents: vocabulary.document_frequency(word),
            })
            .collect()
    }

    /// Calls `each` with the word ids and the weight of every pair of which W_ij is not 0, row by row.
    pub fn for_each_pair(&self, mut each: impl FnMut(u32, u32, f32)) {
        for (i, row) in (0..).zip(self.w.rows()) {
            row.iter().filter(|(_, w)| *w != 0.0).for_each(|(j, w)| each(i, j, w));
        }
    }

    /// v = W' q, as entries (document word, weight) in the order of the words.
    pub(super) fn image(w: &Csr, q: SparseRow<'_>, scratch: &mut Vec<f32>) -> Vec<(u32, f32)> {
        scratch.resize(w.n_columns(), 0.0);
        let mut touched: Vec<u32> = Vec::new();
        for (i, value) in q.iter() {
            let row = w.row(i as usize);
            touched.extend_from_slice(row.indices());
            row.iter().for_each(|(j, w)| scratch[j as usize] += value * w);
        }
        touched.sort_unstable();
        touched.dedup();
        touched
            .into_iter()
            .map(|j| (j, std::mem::take(&mut scratch[j as usize])))
            .filter(|(_, value)| *value != 0.0)
            .collect()
    }
}
