//! What training the matching models on a dataset takes, from the structures that each of them holds at its peak.
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
//! Everything but BM25 and the random walk has also the program, the buffers of its threads and of the validation, the
//! graph with its transposes, and the words. Parameters are those that a model has by default. The test holds the formulas
//! against measured peaks: of the simulated logs that their constants were set by, and of real data (`bench/matching`), by
//! which those of sparse preferences were set once more.

use matchrank_core::matching::{BltmParams, LsiParams, PlsParams, RmlsParams, SsiParams, SvdFeatureParams};
use matchrank_core::message::thousands;

use super::finding::{Finding, Severity, whole};
use crate::dataset::Statistics;
use crate::training::preference::PreferenceSettings;

/// Resident before anything is read.
const PROGRAM: f64 = 24e6;
/// Buffers of two threads and of ranking the validation queries.
const BUFFERS: f64 = 60e6;
/// A sparse entry (a u32 and an f32), and the offset of a row.
const ENTRY: f64 = 8.0;
/// A word with its text, its counts and its place in a hash table.
const WORD: f64 = 100.0;
/// Copies of W as it is learned, measured, refitted and saved, less the entries that are dropped on the way.
const COPIES: f64 = 3.5;

/// Sizes that the estimates are made of.
struct Sizes {
    queries: f64,
    documents: f64,
    words: f64,
    pairs: f64,
    /// Features that occur in queries and in documents.
    features: [f64; 2],
    /// Words of all queries, and of all documents.
    entries: [f64; 2],
}

impl Sizes {
    fn of(s: &Statistics) -> Self {
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

    fn all_features(&self) -> f64 {
        self.features[0] + self.features[1]
    }

    /// Words and clicks of queries and documents, and the clicks: as they are, as the solver numbers them, transposed.
    fn graph(&self) -> f64 {
        let entries = self.entries[0] + self.entries[1] + 3.0 * self.pairs;
        let rows = 3.0 * (self.queries + self.documents) + self.all_features();
        3.0 * ENTRY * entries + ENTRY * rows + WORD * self.words + 40.0 * self.queries
    }

    /// `d` singular vectors of a matrix: see `core/src/solve/svd.rs`.
    fn singular(&self, [rows, columns]: [f64; 2], d: usize) -> f64 {
        let block = ((d / 8).next_multiple_of(32)).clamp(32, 128) as f64;
        let (shorter, d) = (rows.min(columns), d as f64);
        let basis = (1.5 * d + 4.0 * block).min(shorter);
        let vectors = 4.0 * (shorter * (basis + 3.0 * block) + 32.0 * (rows + columns));
        // Q'CQ, its eigenvectors, and what they are found with.
        vectors + 5.0 * 8.0 * basis * basis
    }

    /// Rows that are learned by steps, and two models: see `core/src/matching/descent`.
    fn descent(&self, d: usize) -> f64 {
        let padded = d.next_multiple_of(16) as f64;
        4.0 * self.all_features() * (padded + padded / 16.0 + 2.0 * d as f64)
    }

    /// W after some tuples of a query and two documents, nothing dropped: pairs of a word of the queries and a word, in rows
    /// that are lists, or bits and numbers.
    fn preferences(&self, tuples: f64) -> f64 {
        let mean = |entries: f64, rows: f64| entries / rows.max(1.0);
        let each = mean(self.entries[0], self.queries) * 2.0 * mean(self.entries[1], self.documents);
        let words = by_frequency(self.words);
        let of_queries = by_frequency(drawn(&words, self.entries[0]));
        let entries: f64 = of_queries.iter().map(|(n, share)| n * drawn(&words, tuples * each * share)).sum();
        (ENTRY * entries).min(4.0 * entries + self.words * self.words / 8.0)
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

/// Bytes that training takes at its peak, by model.
fn estimates(s: &Statistics) -> Vec<(&'static str, f64)> {
    let sizes = Sizes::of(s);
    let Sizes { queries, documents, words, pairs, .. } = sizes;
    let learning = PROGRAM + BUFFERS + sizes.graph();
    let lsi = LsiParams::default().d;
    let topics = BltmParams::default().topics as f64;
    let tuples = PreferenceSettings::default().tuples as f64;
    vec![
        ("bm25", PROGRAM + WORD * (words + documents)),
        ("random-walk", PROGRAM + 2.0 * ENTRY * pairs),
        ("lsi-dt", PROGRAM + BUFFERS + sizes.singular([documents, sizes.entries[1].min(words)], lsi)),
        ("lsi-qd", PROGRAM + BUFFERS + sizes.singular([queries, documents], lsi)),
        ("pls", learning + sizes.singular(sizes.features, PlsParams::default().d)),
        ("rmls", learning + sizes.all_features() * RmlsParams::default().d as f64),
        ("ssi", learning + sizes.descent(SsiParams::default().d)),
        ("svdfeature", learning + sizes.descent(SvdFeatureParams::default().d)),
        ("bltm", learning + 4.0 * topics * (pairs + 3.0 * words)),
        ("sparse-preference", learning + COPIES * sizes.preferences(tuples)),
    ]
}

/// Says what training takes.
pub(super) fn finding(s: &Statistics) -> Finding {
    let mega = |bytes: f64| thousands((bytes / 1e6).ceil() as u64);
    let models: Vec<String> =
        estimates(s).iter().map(|(model, bytes)| format!("{model} {} MB", mega(*bytes))).collect();
    let message = format!("training with default parameters takes about: {}", models.join(", "));
    whole(Severity::Info, "memory", message, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Peaks of `train` with default parameters (MB, maximum resident set), beside the statistics of the dataset: the
    /// simulated logs `small`, with two threads, and `one-week`, with one (BM25 and the random walk with two). There SSI and
    /// SVDFeature were stopped after two iterations. On `small` a second thread takes 8 to 22 MB more. The constants above
    /// were set by these same peaks. Then real data with two threads, NFCorpus and Best Buy (`bench/matching/README.md`),
    /// which no constant was set by but that of sparse preferences. None where no training came to its end.
    const MEASURED: [(&str, [Option<f64>; 4]); 10] = [
        ("bm25", [Some(29.4), Some(50.8), Some(36.1), Some(31.6)]),
        ("random-walk", [Some(22.4), Some(24.4), Some(24.9), Some(24.6)]),
        ("lsi-dt", [Some(104.9), Some(277.8), Some(109.7), Some(100.2)]),
        ("lsi-qd", [Some(90.1), Some(280.6), Some(86.0), Some(89.8)]),
        ("pls", [Some(161.6), Some(778.9), Some(193.1), Some(135.1)]),
        ("rmls", [Some(106.5), Some(540.6), Some(144.7), Some(94.9)]),
        ("ssi", [Some(82.2), Some(520.4), None, Some(108.6)]),
        ("svdfeature", [Some(86.4), Some(527.4), None, Some(103.0)]),
        ("bltm", [Some(63.3), Some(309.0), Some(217.8), Some(70.4)]),
        ("sparse-preference", [Some(126.0), Some(469.9), Some(667.1), Some(255.2)]),
    ];

    fn measured() -> [Statistics; 4] {
        let small = Statistics {
            n_x: 2_000,
            n_y: 3_000,
            n_words: 2_600,
            c_x: 4.713,
            c_y: 6.605,
            n_pairs: 4_812,
            n_queries: 2_120,
            n_documents: 3_000,
            ..Statistics::default()
        };
        let one_week = Statistics {
            n_x: 94_022,
            n_y: 111_631,
            n_words: 101_904,
            c_x: 3.9685,
            c_y: 5.9109,
            n_pairs: 164_151,
            n_queries: 95_356,
            n_documents: 111_631,
            ..Statistics::default()
        };
        let nfcorpus = Statistics {
            n_x: 2_569,
            n_y: 3_374,
            n_words: 16_154,
            c_x: 56.6516,
            c_y: 124.2567,
            n_pairs: 138_795,
            n_queries: 3_244,
            n_documents: 3_395,
            ..Statistics::default()
        };
        let best_buy = Statistics {
            n_x: 3_661,
            n_y: 369,
            n_words: 7_719,
            c_x: 4.1702,
            c_y: 120.2575,
            n_pairs: 5_701,
            n_queries: 4_560,
            n_documents: 437,
            ..Statistics::default()
        };
        [small, one_week, nfcorpus, best_buy]
    }

    #[test]
    fn estimates_are_within_one_and_a_half_times_of_what_was_measured() {
        for (data, statistics) in measured().into_iter().enumerate() {
            let estimates = estimates(&statistics);
            assert_eq!(estimates.len(), MEASURED.len());
            for ((name, estimate), (measured, peaks)) in estimates.into_iter().zip(MEASURED) {
                assert_eq!(name, measured);
                let Some(peak) = peaks[data] else { continue };
                let ratio = estimate / 1e6 / peak;
                assert!(
                    (1.0 / 1.5..=1.5).contains(&ratio),
                    "{name}, data {data}: {estimate:.3e} bytes, {peak} MB measured"
                );
            }
        }
    }

    #[test]
    fn a_dataset_of_nothing_has_finite_estimates() {
        assert!(estimates(&Statistics::default()).iter().all(|(_, bytes)| bytes.is_finite() && *bytes > 0.0));
    }
}
