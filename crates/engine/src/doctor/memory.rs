//! Memory that training the matching models on a dataset takes, by the formulas of the models.

use super::finding::{Finding, Severity, thousands, whole};
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
    /// were set by these same peaks, so that other data may be further off.
    const MEASURED: [(&str, f64, f64); 10] = [
        ("bm25", 29.4, 50.8),
        ("random-walk", 22.4, 24.4),
        ("lsi-dt", 104.9, 277.8),
        ("lsi-qd", 90.1, 280.6),
        ("pls", 161.6, 778.9),
        ("rmls", 106.5, 540.6),
        ("ssi", 82.2, 520.4),
        ("svdfeature", 86.4, 527.4),
        ("bltm", 63.3, 309.0),
        ("sparse-preference", 126.0, 469.9),
    ];

    fn simulated() -> [Statistics; 2] {
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
        [small, one_week]
    }

    #[test]
    fn estimates_are_within_one_and_a_half_times_of_what_was_measured() {
        let [small, one_week] = simulated().map(|statistics| estimates(&statistics));
        assert_eq!(small.len(), MEASURED.len());
        for (((name, small), (_, large)), (measured, first, second)) in
            small.into_iter().zip(one_week).zip(MEASURED)
        {
            assert_eq!(name, measured);
            for (estimate, peak) in [(small, first), (large, second)] {
                let ratio = estimate / 1e6 / peak;
                assert!(
                    (1.0 / 1.5..=1.5).contains(&ratio),
                    "{name}: {estimate:.3e} bytes, {peak} MB measured"
                );
            }
        }
    }

    #[test]
    fn a_dataset_of_nothing_has_finite_estimates() {
        assert!(estimates(&Statistics::default()).iter().all(|(_, bytes)| bytes.is_finite() && *bytes > 0.0));
    }
}
