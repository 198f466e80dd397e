//! What can be concluded from a number of test queries.
//!
//! A mean over few queries is mostly chance. [`SmallestDifference`] says which differences between two models a paired
//! t-test can tell from chance, by the formulas of [`TestSize`]. Before anything is measured the standard deviation of
//! the differences is not known, and [`USUAL_DEVIATION`] stands for it.

use matchrank_core::measure::significance::{TestSize, deviation_of_differences};
use matchrank_core::message::counted;
use serde::{Deserialize, Serialize};

/// Below this many test queries nothing can be concluded.
pub const FEW_QUERIES: usize = 10;

/// Standard deviation, from query to query, of the difference between two models by NDCG@10, assumed before anything is
/// measured. With default parameters, against BM25 and over the test queries (empty cells were not measured):
///
/// | collection | test queries | LSI of words | PLS + BM25 | SSI | PLS |
/// |---|---|---|---|---|---|
/// | NFCorpus | 325 | 0.24 | | | |
/// | SciFact | 300 | 0.43 | 0.33 | | 0.61 |
/// | Cranfield, one fold | 45 | 0.23 | 0.15 | 0.35 | 0.37 |
///
/// Models as good as BM25 have 0.15 to 0.35, worse ones more; models that hardly change a ranking have less.
pub const USUAL_DEVIATION: f64 = 0.25;

/// Probability with which a true difference should be found.
const POWER: f64 = 0.8;

/// Smallest differences between two models that test queries can show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SmallestDifference {
    /// Test queries with a value.
    pub queries: usize,
    /// Pairs of models that are compared.
    pub pairs: usize,
    /// Standard deviation of the differences, query by query: assumed, or the median over the pairs of models.
    pub deviation: f64,
    /// Smallest measured difference that is significant, uncorrected.
    pub significant: f64,
    /// Smallest measured difference that is significant with Holm's correction, whatever the other pairs are.
    pub corrected: f64,
    /// Smallest true difference that is found four times in five, uncorrected.
    pub found: f64,
}

impl SmallestDifference {
    /// Computes the smallest differences for two-sided tests at a level; `None` for fewer than two queries.
    pub fn of(queries: usize, pairs: usize, deviation: f64, level: f64) -> Option<Self> {
        let size = TestSize { n_queries: queries, deviation, level, power: POWER };
        let one = size.detectable()?;
        let all = TestSize { level: level / pairs.max(1) as f64, ..size }.detectable()?;
        let (significant, corrected, found) = (one.significant, all.significant, one.found);
        Some(Self { queries, pairs, deviation, significant, corrected, found })
    }

    /// Computes the smallest differences before anything is measured, for some models.
    pub fn expected(queries: usize, n_models: usize, level: f64) -> Option<Self> {
        Self::of(queries, n_models * n_models.saturating_sub(1) / 2, USUAL_DEVIATION, level)
    }

    /// Computes the smallest differences from the values of models for the same queries: with the median of the
    /// standard deviations of all pairs. `None` for fewer than two models, or two queries.
    pub fn measured(models: &[&[Option<f64>]], level: f64) -> Option<Self> {
        let mut deviations = Vec::new();
        for (i, a) in models.iter().enumerate() {
            deviations.extend(models[i + 1..].iter().filter_map(|b| deviation_of_differences(a, b)));
        }
        deviations.sort_by(f64::total_cmp);
        let median = *deviations.get(deviations.len() / 2)?;
        let queries = models[0].iter().flatten().count();
        Self::of(queries, deviations.len(), median, level)
    }

    /// States in one sentence what cannot be told from chance, by a measure.
    pub fn sentence(&self, measure: &str) -> String {
        let Self { queries, pairs, significant, corrected, .. } = *self;
        let corrected = match pairs {
            0 | 1 => String::new(),
            // Measures are at most 1.
            _ if corrected >= 1.0 => format!(" (all with Holm's correction over {pairs} pairs of models)"),
            _ => format!(" (below {} with Holm's correction over {pairs} pairs of models)", short(corrected)),
        };
        format!(
            "with {}, differences in {measure} below about {} cannot be told from chance{corrected}",
            counted(queries, "test query"),
            short(significant)
        )
    }

    /// States in one sentence what will not be told from chance, before anything is measured.
    pub fn forecast(&self, measure: &str) -> String {
        format!(
            "{}; a true difference of {} is found four times in five (assumed: differences vary from query to query \
             with a standard deviation of {})",
            self.sentence(measure),
            short(self.found),
            self.deviation
        )
    }
}

/// States that a number of test queries is too small, if it is.
pub fn too_few(queries: usize) -> Option<String> {
    (queries < FEW_QUERIES)
        .then(|| format!("nothing can be concluded from {}", counted(queries, "test query")))
}

/// Formats a difference: two digits, and three decimals at most.
fn short(difference: f64) -> String {
    let decimals = if difference >= 0.0995 { 2 } else { 3 };
    format!("{difference:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_cannot_be_told_from_chance() {
        let one = SmallestDifference::of(45, 1, 0.2, 0.05).unwrap();
        assert_eq!(
            one.sentence("ndcg@10"),
            "with 45 test queries, differences in ndcg@10 below about 0.060 cannot be told from chance"
        );
        let four = SmallestDifference::expected(45, 4, 0.05).unwrap();
        assert_eq!(four.pairs, 6);
        assert!((four.significant - one.significant * USUAL_DEVIATION / 0.2).abs() < 1e-12);
        assert!(four.corrected > four.significant && four.found > four.significant);
        let forecast = four.forecast("map");
        let end =
            "(below 0.10 with Holm's correction over 6 pairs of models); a true difference of 0.11 is found";
        assert!(forecast.contains(end), "{forecast}");
        let hopeless = SmallestDifference::expected(3, 4, 0.05).unwrap().sentence("map");
        assert!(hopeless.ends_with("(all with Holm's correction over 6 pairs of models)"), "{hopeless}");
        assert_eq!(SmallestDifference::expected(1, 4, 0.05), None);
        assert_eq!(too_few(1).unwrap(), "nothing can be concluded from 1 test query");
        assert!(too_few(9).is_some() && too_few(10).is_none());
    }

    #[test]
    fn deviations_are_those_of_the_models() {
        let a: Vec<Option<f64>> = (0..40).map(|i| Some(f64::from(i % 2))).collect();
        let b: Vec<Option<f64>> = (0..40).map(|i| Some(f64::from(i / 2 % 2))).collect();
        let c = vec![Some(0.5); 40];
        let found = SmallestDifference::measured(&[&a, &b, &c], 0.05).unwrap();
        // Two constant differences of 1/2 and one with values -1, 0, 0, 1: the median is that of a and c.
        assert_eq!((found.queries, found.pairs), (40, 3));
        assert!((found.deviation - 0.5 * (40.0_f64 / 39.0).sqrt()).abs() < 1e-12, "{}", found.deviation);
        assert_eq!(SmallestDifference::measured(&[&a], 0.05), None);
        assert_eq!(SmallestDifference::measured(&[&a[..1], &b[..1]], 0.05), None);
        assert_eq!(SmallestDifference::measured(&[], 0.05), None);
    }
}
