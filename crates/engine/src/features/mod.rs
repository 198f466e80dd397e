//! Queries and documents as sparse vectors of words and clicks, the input of bilinear models.
//!
//! ```text
//! x = [ words of the query    | clicks of the query on documents   ]   d_x = words + documents
//! y = [ words of the document | clicks on the document by queries  ]   d_y = words + queries
//! ```
//!
//! Words are weighted by tf-idf of the analysed text, and clicks by (the logarithm of) their count. Each block is
//! scaled to length 1 by itself, the clicks are multiplied by [`FeatureParams::click_weight`], and the row is scaled to
//! length 1. Features 0, 1, ... are the words, followed by the documents (queries) by row number.
//!
//! With [`Features::with_bm25`] words are weighted so that x' y over the words is BM25, see [`Bm25Words`]. These rows are
//! not scaled; clicks are as long as the words times [`FeatureParams::click_weight`].
//!
//! A query or document that nobody clicked has words only. In a dataset other than its own, a model finds the documents and
//! queries that its click features stand for by their ids and texts, see [`ClickKeys`]. Only training clicks are features.
//! With held-out clicks among them, a model could look up what it is asked to predict.

mod bm25_words;
mod graph;
mod keys;
mod params;
mod row;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use matchrank_core::matching::tf_idf::Norm;
use matchrank_core::matching::{SparseRow, TfIdf, TfIdfParams};
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

pub use bm25_words::Bm25Words;
pub use graph::{FeatureStatistics, click_graph, document_counts, document_rows};
pub use keys::{ClickKeys, ClickRow, Keys, KnownClicks, RowNumbers};
pub use params::{ClickParams, ClickTf, FeatureParams, WordParams};
pub use row::FeatureRow;

use self::bm25_words::Bm25Rows;
use crate::dataset::{Clicks, Dataset};
use crate::text::{Analyser, Bag, BagOfWords};

/// Turns queries and documents into vectors; stored in the model file. See the [module](self).
#[derive(Debug, Clone)]
pub struct Features {
    params: FeatureParams,
    words: BagOfWords,
    tf_idf: TfIdf,
    /// Takes the place of `tf_idf`.
    bm25: Option<Bm25Rows>,
    source: Source,
    /// Names of what click features stand for; files of former versions have none.
    keys: Option<Arc<ClickKeys>>,
    /// Never stored: models rank with all click features.
    hidden: Option<HiddenClicks>,
}

/// Queries and documents, drawn by a seed, that have no click features while a model learns.
#[derive(Debug, Clone, Copy)]
struct HiddenClicks {
    share: f64,
    seed: u64,
}

/// The dataset that click features stand for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Hash of the content.
    pub content_hash: String,
    /// Number of queries.
    pub n_queries: u32,
    /// Number of documents.
    pub n_documents: u32,
}

impl Source {
    /// Describes a dataset as the source of features.
    pub fn of(dataset: &Dataset) -> Self {
        let statistics = &dataset.manifest.statistics;
        // Rows are numbered by u32 in every table.
        Self {
            content_hash: dataset.manifest.content_hash.clone(),
            n_queries: statistics.n_queries as u32,
            n_documents: statistics.n_documents as u32,
        }
    }
}

/// Meaning of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature<'a> {
    /// A word.
    Word(&'a str),
    /// A row of the dataset: for a query feature a document, for a document feature a query.
    Row(u32),
}

impl Features {
    /// Makes the features of a dataset's queries and documents.
    pub fn of_dataset(params: &FeatureParams, dataset: &Dataset) -> Result<Self> {
        let manifest = &dataset.manifest;
        let words = BagOfWords {
            analyser: Analyser::new(&manifest.analyser)?,
            vocabulary: dataset.vocabulary()?,
            fields: manifest.fields.clone(),
        };
        Self::new(params, words, Source::of(dataset))
    }

    /// Makes features from their parts, as a model file stores them.
    pub fn new(params: &FeatureParams, words: BagOfWords, source: Source) -> Result<Self> {
        params.validate()?;
        let weights = TfIdfParams { tf: params.tf, idf: params.idf, norm: Norm::L2 };
        let vocabulary = &words.vocabulary;
        let tf_idf = TfIdf::new(&weights, vocabulary.n_documents(), vocabulary.document_frequencies())?;
        let most = vocabulary.len() as u64 + u64::from(source.n_queries.max(source.n_documents));
        if most > u64::from(u32::MAX) {
            return Err(Error::Params(format!("{most} features are too many; the limit is 4,294,967,295")));
        }
        Ok(Self { params: *params, words, tf_idf, bm25: None, source, keys: None, hidden: None })
    }

    /// Names what click features stand for, where there are any, by the ids and texts of the dataset with these clicks.
    pub fn with_keys_of(self, dataset: &Dataset, clicks: &Clicks) -> Result<Self> {
        if !self.use_clicks() {
            return Ok(self);
        }
        Ok(self.with_keys(ClickKeys::of(dataset, clicks)?))
    }

    /// Names what click features stand for.
    pub(crate) fn with_keys(self, keys: Arc<ClickKeys>) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Names of what click features stand for.
    pub fn keys(&self) -> Option<&ClickKeys> {
        self.keys.as_deref()
    }

    /// Weighs words as BM25 does, in place of tf-idf.
    pub fn with_bm25(self, bm25: Bm25Words) -> Result<Self> {
        let rows = Bm25Rows::new(bm25, &self.words.vocabulary)?;
        Ok(Self { bm25: Some(rows), ..self })
    }

    /// Hides the click features of a share of the queries and documents from [`click_graph`].
    pub(crate) fn hiding(self, share: f64, seed: u64) -> Self {
        Self { hidden: Some(HiddenClicks { share, seed }), ..self }
    }

    /// Returns true if a query (side 0) or a document (side 1) has no click features in a graph to learn from.
    fn is_hidden(&self, side: u64, row: u32) -> bool {
        self.hidden.is_some_and(|HiddenClicks { share, seed }| {
            let of_row = seed.wrapping_mul(2).wrapping_add(side) ^ (u64::from(row) << 32);
            Xoshiro256PlusPlus::seed_from_u64(of_row).random::<f64>() < share
        })
    }

    /// BM25's weights, where they take the place of tf-idf.
    pub fn bm25(&self) -> Option<&Bm25Words> {
        self.bm25.as_ref().map(Bm25Rows::words)
    }

    /// Returns the parameters.
    pub fn params(&self) -> &FeatureParams {
        &self.params
    }

    /// Returns the conversion of texts into word counts.
    pub fn words(&self) -> &BagOfWords {
        &self.words
    }

    /// The dataset that click features stand for.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns true if there are click features.
    pub fn use_clicks(&self) -> bool {
        self.params.click_weight > 0.0
    }

    /// Number of word features, the same for queries and documents.
    pub fn n_words(&self) -> usize {
        self.words.vocabulary.len()
    }

    /// Number of query features.
    pub fn d_x(&self) -> usize {
        self.n_words() + if self.use_clicks() { self.source.n_documents as usize } else { 0 }
    }

    /// Number of document features.
    pub fn d_y(&self) -> usize {
        self.n_words() + if self.use_clicks() { self.source.n_queries as usize } else { 0 }
    }

    /// Computes x: the features of a query from its text and, if it has any, its clicks on documents.
    pub fn query(&self, text: &str, clicks: Option<SparseRow<'_>>) -> FeatureRow {
        let Bag { indices, counts, .. } = self.words.query(text);
        let mut row = FeatureRow { indices, values: counts };
        match &self.bm25 {
            Some(bm25) => bm25.weigh_query(&mut row),
            None => self.tf_idf.weigh(&row.indices, &mut row.values),
        }
        self.with_clicks(row, clicks)
    }

    /// Computes x as models learn from it: of length 1. The length of x scales all scores of a query alike.
    pub(crate) fn query_to_learn_from(&self, text: &str, clicks: Option<SparseRow<'_>>) -> FeatureRow {
        let mut row = self.query(text, clicks);
        if self.bm25.is_some() {
            row.scale_to_unit();
        }
        row
    }

    /// Computes y: the features of a document from its text (one per field) and, if it has any, the clicks of queries
    /// on it.
    pub fn document(&self, texts: &[impl AsRef<str>], clicks: Option<SparseRow<'_>>) -> FeatureRow {
        self.with_clicks(self.weigh_document(self.words.document(texts)), clicks)
    }

    fn weigh_document(&self, Bag { indices, counts, length }: Bag) -> FeatureRow {
        let mut row = FeatureRow { indices, values: counts };
        match &self.bm25 {
            Some(bm25) => bm25.weigh_document(&mut row, length),
            None => self.tf_idf.weigh(&row.indices, &mut row.values),
        }
        row
    }

    /// Computes y of a text without fields, in which every word counts once.
    pub(crate) fn plain_document(&self, text: &str) -> FeatureRow {
        self.weigh_document(self.words.query(text))
    }

    /// Returns the features of analysed words that have their own weights in place of tf-idf, scaled to length 1.
    /// Unknown words are left out.
    pub fn weighted(&self, words: &[(String, f32)]) -> FeatureRow {
        let mut entries: Vec<(u32, f32)> = words
            .iter()
            .filter_map(|(word, weight)| Some((self.words.vocabulary.id(word)?, *weight)))
            .filter(|(_, weight)| *weight != 0.0)
            .collect();
        entries.sort_by_key(|(id, _)| *id);
        entries.dedup_by_key(|(id, _)| *id);
        let (indices, values) = entries.into_iter().unzip();
        let mut row = FeatureRow { indices, values };
        row.scale_to_unit();
        row
    }

    /// Returns the meaning of a feature of a query or document.
    pub fn feature(&self, number: u32) -> Feature<'_> {
        match number.checked_sub(self.n_words() as u32) {
            None => Feature::Word(self.words.vocabulary.term(number)),
            Some(row) => Feature::Row(row),
        }
    }

    /// Appends click features to the row of the words.
    fn with_clicks(&self, mut row: FeatureRow, clicks: Option<SparseRow<'_>>) -> FeatureRow {
        let Some(clicks) = clicks.filter(|_| self.use_clicks()) else { return row };
        let weigh = |count: f32| self.params.click_tf.of(count);
        let length = clicks.values().iter().map(|&count| weigh(count).powi(2)).sum::<f64>().sqrt();
        if length > 0.0 {
            let n_words = self.n_words() as u32;
            // Rows of BM25 keep their length; a row without words has clicks of length 1 there.
            let of_words = self.bm25.as_ref().map(|_| row.length()).filter(|length| *length > 0.0);
            row.indices.extend(clicks.indices().iter().map(|number| n_words + number));
            let scale = self.params.click_weight * of_words.unwrap_or(1.0) / length;
            row.values.extend(clicks.values().iter().map(|&count| (weigh(count) * scale) as f32));
            if self.bm25.is_none() {
                row.scale_to_unit();
            }
        }
        row
    }
}
