//! Memory that training the matching models on a dataset takes, by the formulas of the models.

use matchrank_core::message::thousands;

use super::finding::{Finding, Severity, whole};
use crate::dataset::Statistics;
use crate::models::Sizes;
use crate::models::registry::MATCHING;

/// Bytes that training takes at its peak, by model.
fn estimates(statistics: &Statistics) -> Vec<(&'static str, f64)> {
    let sizes = Sizes::of(statistics);
    MATCHING.iter().filter_map(|kind| Some((kind.name, (kind.memory?)(&sizes)))).collect()
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
    /// were set by these same peaks. Then real data with two threads, NFCorpus, Best Buy and 20 Newsgroups
    /// (`bench/matching/README.md`), which the constant of sparse preferences and the texts of lsi-dt were set by, and no
    /// other. `None` marks a training that did not finish.
    const MEASURED: [(&str, [Option<f64>; 5]); 10] = [
        ("bm25", [Some(29.4), Some(50.8), Some(36.1), Some(31.6), Some(48.4)]),
        ("random-walk", [Some(22.4), Some(24.4), Some(24.9), Some(24.6), Some(24.8)]),
        ("lsi-dt", [Some(104.9), Some(277.8), Some(109.7), Some(100.2), Some(215.0)]),
        ("lsi-qd", [Some(90.1), Some(280.6), Some(86.0), Some(89.8), Some(110.2)]),
        ("pls", [Some(161.6), Some(778.9), Some(193.1), Some(135.1), None]),
        ("rmls", [Some(106.5), Some(540.6), Some(144.7), Some(94.9), Some(258.4)]),
        ("ssi", [Some(82.2), Some(520.4), None, Some(108.6), None]),
        ("svdfeature", [Some(86.4), Some(527.4), None, Some(103.0), None]),
        ("bltm", [Some(63.3), Some(309.0), Some(217.8), Some(70.4), None]),
        ("sparse-preference", [Some(126.0), Some(469.9), Some(667.1), Some(255.2), None]),
    ];

    fn measured() -> [Statistics; 5] {
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
        let newsgroups = Statistics {
            n_x: 4_270,
            n_y: 8_984,
            n_words: 117_078,
            c_x: 6.0581,
            c_y: 103.5628,
            n_pairs: 8_984,
            n_queries: 5_346,
            n_documents: 11_314,
            ..Statistics::default()
        };
        [small, one_week, nfcorpus, best_buy, newsgroups]
    }

    #[test]
    fn estimates_are_within_one_and_a_half_times_of_what_was_measured() {
        for (data, statistics) in measured().into_iter().enumerate() {
            let estimates = estimates(&statistics);
            for (name, peaks) in MEASURED {
                let Some(peak) = peaks[data] else { continue };
                let of_name = estimates.iter().find(|(other, _)| *other == name);
                let estimate = of_name.expect("every model that was measured has an estimate").1;
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
