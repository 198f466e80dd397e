//! Words weighted so that the identity scores exactly as BM25.
//!
//! ```text
//! x_t = qtf(t) idf(t) / s                      words of a query
//! y_t = s tf(t, d) (k1 + 1) / (tf(t, d) + K(d))    words of a document
//! x' y = BM25(q, d)
//! ```
//!
//! Symbols are those of [`core`](matchrank_core::matching::bm25). The scale s = 1 / sqrt(average length) changes no
//! score. It makes an average document about as long as a tf-idf vector, so that margins and steps mean the same for both.
//! Words that only queries have no document can have; their weight is that of the rarest word.

use matchrank_core::Result;
use matchrank_core::matching::{Bm25, Bm25Params};
use serde::{Deserialize, Serialize};

use super::FeatureRow;
use crate::dataset::Dataset;
use crate::text::Vocabulary;

/// Parameters and average length of BM25's weights of words; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bm25Words {
    /// How soon repetitions of a word stop counting.
    pub k1: f64,
    /// Strength of the length normalisation.
    pub b: f64,
    /// Mean weighted length of the documents.
    pub average_length: f64,
}

impl Bm25Words {
    /// Weights by the average length of a dataset's documents.
    pub fn of_dataset(params: &Bm25Params, dataset: &Dataset) -> Self {
        Self { k1: params.k1, b: params.b, average_length: dataset.average_length() }
    }
}

/// Weighs rows of counts.
#[derive(Debug, Clone)]
pub(super) struct Bm25Rows {
    words: Bm25Words,
    bm25: Bm25,
    scale: f64,
}

impl Bm25Rows {
    pub(super) fn new(words: Bm25Words, vocabulary: &Vocabulary) -> Result<Self> {
        let Bm25Words { k1, b, average_length } = words;
        let frequencies = vocabulary.document_frequencies().to_vec();
        let bm25 = Bm25::new(&Bm25Params { k1, b }, vocabulary.n_documents(), average_length, frequencies)?;
        let scale = if average_length > 0.0 { 1.0 / average_length.sqrt() } else { 1.0 };
        Ok(Self { words, bm25, scale })
    }

    pub(super) fn words(&self) -> &Bm25Words {
        &self.words
    }

    pub(super) fn weigh_query(&self, row: &mut FeatureRow) {
        for (&term, value) in row.indices.iter().zip(&mut row.values) {
            *value = (f64::from(*value) * self.bm25.idf(term) / self.scale) as f32;
        }
    }

    pub(super) fn weigh_document(&self, row: &mut FeatureRow, length: f32) {
        let norm = self.bm25.length_norm(length);
        for value in &mut row.values {
            *value = (self.bm25.saturation(*value, norm) * self.scale) as f32;
        }
    }
}
