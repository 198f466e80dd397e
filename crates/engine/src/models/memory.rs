//! Sizes that estimates of training memory are made of: the structures that a model holds at its peak.
//!
//! With n_x queries, n_y documents, X and Y of u_x and u_y features, R of p pairs, and the model's own d:
//!
//! | model | most of it |
//! |---|---|
//! | bm25, random-walk | counts of words; the clicks |
//! | lsi, pls | the Krylov basis of the shorter side: 3/2 d and seven blocks of columns |
//! | rmls | an eighth of the entries of both sides, which may pass the threshold of the first iteration |
//! | ssi, svdfeature | rows of both sides in blocks of 16, the best iteration and the newest one |
//! | bltm | p(z \| pair), and p(word \| z) of both sides, the best iteration and the newest one |
//! | sparse-preference | entries of W: pairs of words that the tuples touch, where words are frequent by Zipf's law |
//!
//! Every model but BM25 and the random walk also holds the program, the buffers of its threads and of the validation, the
//! graph with its transposes, and the words. The formula of each model is in its folder, with default parameters.

use crate::dataset::Statistics;

/// Resident before anything is read.
pub(super) const PROGRAM: f64 = 24e6;
/// Buffers of two threads and of ranking the validation queries.
pub(super) const BUFFERS: f64 = 60e6;
/// A sparse entry (a u32 and an f32), and the offset of a row.
pub(super) const ENTRY: f64 = 8.0;
/// A word with its text, its counts and its place in a hash table.
pub(super) const WORD: f64 = 100.0;

/// Copies of W as it is learned, measured, refitted and saved, less the entries that are dropped on the way.
pub(super) const COPIES: f64 = 3.5;

/// Sizes that the estimates are made of.
pub(crate) struct Sizes {
    pub(super) queries: f64,
    pub(super) documents: f64,
    pub(super) words: f64,
    pub(super) pairs: f64,
    /// Features that occur in queries and in documents.
    pub(super) features: [f64; 2],
    /// Words of all queries, and of all documents.
    pub(super) entries: [f64; 2],
}

impl Sizes {
    pub(crate) fn of(s: &Statistics) -> Self {
        let [queries, documents, words, pairs] =
            [s.n_x, s.n_documents, s.n_words, s.n_pairs].map(|n| n as f64);
        let in_queries = (s.c_x * queries - pairs).max(0.0);
        let in_documents = (s.c_y * s.n_y as f64 - pairs).max(0.0) * documents / (s.n_y as f64).max(1.0);
        Self {
            queries,
            documents,
            words,
            pairs,
            features: [in_queries.min(words) + s.n_y as f64, in_documents.min(words) + queries],
            entries: [in_queries, in_documents],
        }
    }

    pub(super) fn all_features(&self) -> f64 {
        self.features[0] + self.features[1]
    }

    /// Words and clicks of queries and documents, and the clicks: as they are, as the solver numbers them, transposed.
    pub(super) fn graph(&self) -> f64 {
        let entries = self.entries[0] + self.entries[1] + 3.0 * self.pairs;
        let rows = 3.0 * (self.queries + self.documents) + self.all_features();
        3.0 * ENTRY * entries + ENTRY * rows + WORD * self.words + 40.0 * self.queries
    }

    /// `d` singular vectors of a matrix: see `core/src/solve/svd.rs`.
    pub(super) fn singular(&self, [rows, columns]: [f64; 2], d: usize) -> f64 {
        let block = ((d / 8).next_multiple_of(32)).clamp(32, 128) as f64;
        let (shorter, d) = (rows.min(columns), d as f64);
        let basis = (1.5 * d + 4.0 * block).min(shorter);
        let vectors = 4.0 * (shorter * (basis + 3.0 * block) + 32.0 * (rows + columns));
        // Q'CQ, its eigenvectors, and what they are found with.
        vectors + 5.0 * 8.0 * basis * basis
    }

    /// Rows that are learned by steps, and two models: see `core/src/matching/descent`.
    pub(super) fn descent(&self, d: usize) -> f64 {
        let padded = d.next_multiple_of(16) as f64;
        4.0 * self.all_features() * (padded + padded / 16.0 + 2.0 * d as f64)
    }

    /// W after some tuples of a query and two documents, nothing dropped: pairs of a word of the queries and a word, in rows
    /// that are lists, or bits and numbers.
    pub(super) fn preferences(&self, tuples: f64) -> f64 {
        let mean = |entries: f64, rows: f64| entries / rows.max(1.0);
        let each = mean(self.entries[0], self.queries) * 2.0 * mean(self.entries[1], self.documents);
        let words = by_frequency(self.words);
        let of_queries = by_frequency(drawn(&words, self.entries[0]));
        let entries: f64 = of_queries.iter().map(|(n, share)| n * drawn(&words, tuples * each * share)).sum();
        (ENTRY * entries).min(4.0 * entries + self.words * self.words / 8.0)
    }

    /// Memory of every model that learns from the click graph.
    pub(super) fn learning(&self) -> f64 {
        PROGRAM + BUFFERS + self.graph()
    }
}

/// Words by Zipf's law, the i-th most frequent with a share of 1 / i: in steps of equal width in log i, numbers of words
/// and the share of each.
fn by_frequency(words: f64) -> Vec<(f64, f64)> {
    const STEPS: u32 = 60;
    let width = (words.max(1.0) + 1.0).powf(1.0 / f64::from(STEPS));
    let step = |i: u32| {
        let n = width.powf(f64::from(i) + 1.0) - width.powf(f64::from(i));
        (n, 1.0 / (f64::from(STEPS) * n))
    };
    (0..STEPS).map(step).collect()
}

/// Different words among some that are drawn.
fn drawn(words: &[(f64, f64)], draws: f64) -> f64 {
    words.iter().map(|(n, share)| n * -(-draws * share).exp_m1()).sum()
}
