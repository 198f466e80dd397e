//! Statistics of a simulated log: the papers' Table 1, and more.

use serde::{Deserialize, Serialize};

use super::click_model::PositionCount;
use super::params::ClickParams;

/// Statistics of query and document features as in Table 1 of the papers, with the counts of the text before it. `X`
/// holds a row of word and click features per query, `Y` one per document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table1 {
    /// Number of queries with a click.
    pub n_x: f64,
    /// Number of documents with a click.
    pub n_y: f64,
    /// Number of distinct words of queries, titles and URLs.
    pub words: f64,
    /// Dimension of the query space: words + documents.
    pub d_x: f64,
    /// Dimension of the document space: words + queries.
    pub d_y: f64,
    /// Mean number of nonzero features of a query.
    pub c_x: f64,
    /// Mean number of nonzero features of a document.
    pub c_y: f64,
    /// Mean number of clicked documents of a query.
    pub documents_per_query: f64,
    /// Mean number of queries for which a document is clicked.
    pub queries_per_document: f64,
    /// Mean number of nonzero entries of a column of `X`, nnz(X) / d_x.
    #[serde(rename = "N_x")]
    pub big_n_x: f64,
    /// Mean number of nonzero entries of a column of `Y`, nnz(Y) / d_y.
    #[serde(rename = "N_y")]
    pub big_n_y: f64,
}

/// Counts that [`Table1`] is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table1Counts {
    /// Queries with a click.
    pub n_x: u64,
    /// Documents with a click.
    pub n_y: u64,
    /// Distinct words.
    pub words: u64,
    /// Distinct pairs of a query and a word.
    pub query_words: u64,
    /// Distinct pairs of a document and a word.
    pub document_words: u64,
    /// Clicked pairs of a query and a document.
    pub pairs: u64,
}

impl Table1 {
    /// The one-week data of the papers.
    pub const ONE_WEEK: Self = Self {
        n_x: 94_022.0,
        n_y: 111_631.0,
        words: 101_904.0,
        d_x: 2.1e5,
        d_y: 2.0e5,
        c_x: 4.0,
        c_y: 5.9,
        documents_per_query: 1.74,
        queries_per_document: 1.46,
        big_n_x: 1.7,
        big_n_y: 3.4,
    };

    /// The half-year data of the papers.
    pub const HALF_YEAR: Self = Self {
        n_x: 6_372_254.0,
        n_y: 4_599_849.0,
        words: 271_561.0,
        d_x: 4.9e6,
        d_y: 6.6e6,
        c_x: 5.5,
        c_y: 8.6,
        documents_per_query: 2.92,
        queries_per_document: 4.04,
        big_n_x: 7.2,
        big_n_y: 5.9,
    };

    /// Computes the statistics from counts.
    pub fn from_counts(counts: &Table1Counts) -> Self {
        let Table1Counts { n_x, n_y, words, query_words, document_words, pairs } = *counts;
        let [n_x, n_y, words, pairs] = [n_x, n_y, words, pairs].map(|n| n as f64);
        let (nnz_x, nnz_y) = (query_words as f64 + pairs, document_words as f64 + pairs);
        let (d_x, d_y) = (words + n_y, words + n_x);
        Self {
            n_x,
            n_y,
            words,
            d_x,
            d_y,
            c_x: nnz_x / n_x,
            c_y: nnz_y / n_y,
            documents_per_query: pairs / n_x,
            queries_per_document: pairs / n_y,
            big_n_x: nnz_x / d_x,
            big_n_y: nnz_y / d_y,
        }
    }

    /// Returns name, meaning and value of every entry, in the order of the papers.
    pub fn entries(&self) -> [(&'static str, &'static str, f64); 11] {
        [
            ("n_x", "queries with a click", self.n_x),
            ("n_y", "documents with a click", self.n_y),
            ("words", "distinct words", self.words),
            ("d_x", "query features: words + documents", self.d_x),
            ("d_y", "document features: words + queries", self.d_y),
            ("c_x", "nonzero features per query", self.c_x),
            ("c_y", "nonzero features per document", self.c_y),
            ("n~^y", "clicked documents per query", self.documents_per_query),
            ("n~^x", "queries per clicked document", self.queries_per_document),
            ("N_x", "nonzero entries per query feature", self.big_n_x),
            ("N_y", "nonzero entries per document feature", self.big_n_y),
        ]
    }
}

/// Statistics that are known when a simulated log is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClickStatistics {
    /// Table 1 as generated.
    pub table1: Table1,
    /// Number of sessions, including those without a click (which the log leaves out).
    pub sessions: u64,
    /// Number of sessions without a click.
    pub abandoned: u64,
    /// Number of clicks.
    pub clicks: u64,
    /// Number of distinct clicked (query, document) pairs.
    pub pairs: u64,
    /// Share of these pairs whose grade is Bad or Fair.
    pub noise_pairs: f64,
    /// Number of rows of the log.
    pub rows: u64,
    /// Impressions, clicks and expected clicks by position.
    pub positions: Vec<PositionCount>,
    /// Numbers of judged queries for validation and for test.
    pub judged_queries: [u64; 2],
    /// Number of judged queries that are absent from the log.
    pub judged_unseen: u64,
    /// Number of judged (query, document) pairs by grade, 0 to 4.
    pub grades: [u64; 5],
    /// Mean number of judged documents of a judged query.
    pub judged_per_query: f64,
    /// Share of the judged Excellent and Perfect documents that share no word with their query.
    pub term_mismatch: f64,
    /// Seed of the simulation.
    pub seed: u64,
    /// Parameters of the simulation.
    pub params: ClickParams,
}

/// Counts of one topic, or the sum of several.
#[derive(Clone, Default)]
pub(super) struct Counts {
    pub(super) topic_words: u64,
    pub(super) general_used: Vec<bool>,
    pub(super) query_words: u64,
    pub(super) document_words: u64,
    pub(super) pairs: u64,
    pub(super) noise_pairs: u64,
    pub(super) sessions: u64,
    pub(super) abandoned: u64,
    pub(super) rows: u64,
    pub(super) positions: Vec<PositionCount>,
    pub(super) judged_queries: [u64; 2],
    pub(super) judged_unseen: u64,
    pub(super) grades: [u64; 5],
    pub(super) mismatched: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.topic_words += other.topic_words;
        self.general_used.resize(other.general_used.len(), false);
        self.general_used.iter_mut().zip(&other.general_used).for_each(|(a, b)| *a |= b);
        self.query_words += other.query_words;
        self.document_words += other.document_words;
        self.pairs += other.pairs;
        self.noise_pairs += other.noise_pairs;
        self.sessions += other.sessions;
        self.abandoned += other.abandoned;
        self.rows += other.rows;
        self.positions.resize(other.positions.len(), PositionCount::default());
        for (a, b) in self.positions.iter_mut().zip(&other.positions) {
            a.position = b.position;
            a.shown += b.shown;
            a.clicks += b.clicks;
            a.expected_clicks += b.expected_clicks;
        }
        (0..2).for_each(|i| self.judged_queries[i] += other.judged_queries[i]);
        self.judged_unseen += other.judged_unseen;
        (0..5).for_each(|i| self.grades[i] += other.grades[i]);
        self.mismatched += other.mismatched;
    }

    pub(super) fn finish(self, params: &ClickParams, seed: u64) -> ClickStatistics {
        let general = self.general_used.iter().filter(|&&u| u).count() as u64;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        ClickStatistics {
            table1: Table1::from_counts(&Table1Counts {
                n_x: params.queries as u64,
                n_y: params.documents as u64,
                words: self.topic_words + general,
                query_words: self.query_words,
                document_words: self.document_words,
                pairs: self.pairs,
            }),
            sessions: self.sessions,
            abandoned: self.abandoned,
            clicks: self.positions.iter().map(|p| p.clicks).sum(),
            pairs: self.pairs,
            noise_pairs: share(self.noise_pairs, self.pairs),
            rows: self.rows,
            positions: self.positions,
            judged_queries: self.judged_queries,
            judged_unseen: self.judged_unseen,
            grades: self.grades,
            judged_per_query: share(self.grades.iter().sum(), self.judged_queries.iter().sum()),
            term_mismatch: share(self.mismatched, self.grades[3] + self.grades[4]),
            seed,
            params: params.clone(),
        }
    }
}
