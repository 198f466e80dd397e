//! What a dataset folder says about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::{AnalyserParams, FieldWeights};

/// Version of the folder's layout that this program writes.
pub const FORMAT_VERSION: u32 = 1;

/// `manifest.json` of a dataset folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the folder's layout.
    pub format_version: u32,
    /// Version of the program that wrote it.
    pub matchrank: String,
    /// The files it was made from.
    pub sources: Vec<Source>,
    /// How clicks were divided into training, validation and test.
    pub split: Split,
    /// Pairs with fewer clicks than this were dropped from training.
    pub min_clicks: f64,
    /// How text is analysed; every model trained on the dataset takes it over.
    pub analyser: AnalyserParams,
    /// Text fields of the documents and their weights.
    pub fields: FieldWeights,
    /// Words of all documents together, repeated ones included, by field.
    pub field_lengths: Vec<u64>,
    /// Table 1 of the papers.
    pub statistics: Statistics,
    /// Rows that were left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// The tables: rows, bytes and BLAKE3 of each file.
    pub tables: BTreeMap<String, TableInfo>,
    /// BLAKE3 over the tables' hashes and the settings that decide how models see them.
    pub content_hash: String,
}

/// A file that went into the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// What it was taken for: clicks, documents, queries, responses, judgments.
    pub role: String,
    /// Its name without the folder.
    pub file: String,
    /// Rows read.
    pub rows: u64,
}

/// A table of the dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// Rows.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// BLAKE3 of the file.
    pub blake3: String,
}

/// How clicks were divided into training, validation and test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Split {
    /// All clicks are training data; validation and test come from judgments, if there are any.
    None,
    /// Whole queries were held out by a hash of their text: their clicks are in no training data.
    Query {
        /// Share of queries held out for validation.
        validation: f64,
        /// Share of queries held out for test.
        test: f64,
        /// Seed of the hash.
        seed: u64,
    },
    /// The last clicks were held out.
    Time {
        /// Share of clicks held out for validation.
        validation: f64,
        /// Share of clicks held out for test, the last ones.
        test: f64,
        /// Clicks from this time on (ms since 1970) are validation data.
        validation_from: i64,
        /// Clicks from this time on (ms since 1970) are test data.
        test_from: i64,
    },
}

/// Table 1 of the papers, over the training clicks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// n_x: queries with a training response.
    pub n_x: u64,
    /// n_y: documents with a training response.
    pub n_y: u64,
    /// Different words of queries and documents.
    pub n_words: u64,
    /// d_x = words + n_y: features of a query.
    pub d_x: u64,
    /// d_y = words + n_x: features of a document.
    pub d_y: u64,
    /// c_x: mean nonzero features of a query.
    pub c_x: f64,
    /// c_y: mean nonzero features of a document.
    pub c_y: f64,
    /// Mean documents per query (with a response).
    pub documents_per_query: f64,
    /// Mean queries per document (with a response).
    pub queries_per_document: f64,
    /// N_x: mean queries per query feature.
    pub n_per_x_feature: f64,
    /// N_y: mean documents per document feature.
    pub n_per_y_feature: f64,
    /// Query-document pairs with a training response.
    pub n_pairs: u64,
    /// Sum of the training responses: clicks, or grades.
    pub n_clicks: f64,
    /// All queries of the dataset, held-out ones included.
    pub n_queries: u64,
    /// All documents of the collection, unclicked ones included.
    pub n_documents: u64,
    /// Judged pairs for validation and for test (held-out clicks where there are no judgments).
    pub n_judgments: [u64; 2],
    /// Judged queries for validation and for test.
    pub n_judged_queries: [u64; 2],
}
