//! Differences between models, query by query.
//!
//! Means of all models are taken over the same resampled queries; the middle 95 % of the difference of two means is its
//! confidence interval (the paired bootstrap). These are the draws of the comparison itself, so that a difference has one
//! interval in the table and the report. The p-value is that of the comparison's own test, after Holm's correction over
//! all pairs.

use matchrank_core::measure::Measure;
use matchrank_core::measure::significance::{Test, holm};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use crate::comparison::bootstrap::{middle, resampled_means};
use crate::comparison::{Entry, Protocol};

/// One model against another, by one measure. A difference above 0 is in favour of the first, also for errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// Number of queries compared.
    pub queries: usize,
    /// Mean difference.
    pub difference: f64,
    /// 95 % confidence interval of the difference.
    pub interval: [f64; 2],
    /// p-value, corrected for the number of pairs.
    pub p: f64,
    /// Queries on which the first is better.
    pub won: usize,
    /// Queries on which both are equal.
    pub tied: usize,
    /// Queries on which the first is worse.
    pub lost: usize,
}

/// All pairs of models, by every measure.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPairs {
    models: usize,
    /// By measure, then (0, 1), (0, 2), ... (1, 2), ...
    pairs: Vec<Vec<Paired>>,
}

impl ModelPairs {
    /// Compares all pairs of models.
    pub fn of(entries: &[Entry], protocol: &Protocol, progress: &dyn Progress) -> Result<Self> {
        let test: Test = protocol.test.parse()?;
        progress.begin("comparing", Some(protocol.measures.len() as u64), "measures");
        let mut pairs = Vec::with_capacity(protocol.measures.len());
        for name in &protocol.measures {
            let measure: Measure = name.parse()?;
            let sign = if measure.higher_is_better() { 1.0 } else { -1.0 };
            pairs.push(by_measure(&rows(entries, name, sign)?, entries.len(), test, protocol.seed));
            progress.advance(1);
        }
        Ok(Self { models: entries.len(), pairs })
    }

    /// Returns model `a` against model `b`, by the measure with the number `measure`.
    pub fn get(&self, measure: usize, a: usize, b: usize) -> Paired {
        if a == b {
            let pair = self.pairs[measure].first();
            let queries = pair.map_or(0, |pair| pair.queries);
            return Paired {
                queries,
                difference: 0.0,
                interval: [0.0; 2],
                p: 1.0,
                won: 0,
                tied: queries,
                lost: 0,
            };
        }
        let (first, second) = (a.min(b), a.max(b));
        let before = first * self.models - first * (first + 1) / 2;
        let pair = self.pairs[measure][before + second - first - 1];
        if a < b { pair } else { pair.reversed() }
    }

    /// Number of measures.
    pub fn n_measures(&self) -> usize {
        self.pairs.len()
    }
}

impl Paired {
    fn reversed(self) -> Self {
        Self {
            difference: -self.difference,
            interval: [-self.interval[1], -self.interval[0]],
            won: self.lost,
            lost: self.won,
            ..self
        }
    }
}

/// Returns the values of the queries for which every model has one: a row of models for each query.
fn rows(entries: &[Entry], measure: &str, sign: f64) -> Result<Vec<f64>> {
    let mut columns = Vec::with_capacity(entries.len());
    for entry in entries {
        let column = entry.per_query.get(measure).ok_or_else(|| {
            let message = format!("has no values of {measure}; run `compare` again");
            Error::format(format!("results/{}.json", entry.row.name), message)
        })?;
        columns.push(column);
    }
    let n = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    let complete = (0..n).filter_map(|q| {
        columns.iter().map(|column| column[q].map(|value| sign * value)).collect::<Option<Vec<f64>>>()
    });
    Ok(complete.flatten().collect())
}

fn by_measure(rows: &[f64], models: usize, test: Test, seed: u64) -> Vec<Paired> {
    let n = rows.len().checked_div(models).unwrap_or(0);
    let resampled = resampled_means(rows, models, seed);
    let mut pairs = Vec::with_capacity(models * models.saturating_sub(1) / 2);
    for a in 0..models {
        for b in a + 1..models {
            let differences: Vec<f64> = rows.chunks_exact(models).map(|row| row[a] - row[b]).collect();
            let means = resampled.chunks_exact(models).map(|row| row[a] - row[b]).collect();
            pairs.push(Paired {
                queries: n,
                difference: differences.iter().sum::<f64>() / n.max(1) as f64,
                interval: middle(means).unwrap_or_default(),
                p: test.p_value(&differences, seed),
                won: differences.iter().filter(|d| **d > 0.0).count(),
                tied: differences.iter().filter(|d| **d == 0.0).count(),
                lost: differences.iter().filter(|d| **d < 0.0).count(),
            });
        }
    }
    let corrected = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
    pairs.iter_mut().zip(corrected).for_each(|(pair, p)| pair.p = p);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Model 0 is always 0.1 better than model 1; model 2 is noise.
    fn rows() -> Vec<f64> {
        let noise = |i: usize| ((i * 7919) % 101) as f64 / 101.0;
        (0..200).flat_map(|i| [0.5 + 0.1 * (i % 2) as f64, 0.4 + 0.1 * (i % 2) as f64, noise(i)]).collect()
    }

    #[test]
    fn pairs_of_models() {
        let pairs = ModelPairs { models: 3, pairs: vec![by_measure(&rows(), 3, Test::T, 1)] };
        let sure = pairs.get(0, 0, 1);
        assert!((sure.difference - 0.1).abs() < 1e-12);
        assert!((sure.interval[0] - 0.1).abs() < 1e-12 && (sure.interval[1] - 0.1).abs() < 1e-12);
        assert_eq!((sure.won, sure.tied, sure.lost, sure.queries), (200, 0, 0, 200));
        assert_eq!(pairs.get(0, 1, 0).lost, 200);
        let noisy = pairs.get(0, 2, 1);
        assert!(noisy.interval[0] < noisy.difference && noisy.difference < noisy.interval[1]);
        assert_eq!(pairs.get(0, 1, 2).interval, [-noisy.interval[1], -noisy.interval[0]]);
        assert_eq!(pairs.get(0, 2, 2).tied, 200);
    }

    #[test]
    fn the_interval_is_about_two_standard_errors_wide() {
        let rows = rows();
        let pairs = by_measure(&rows, 3, Test::T, 1);
        let differences: Vec<f64> = rows.chunks_exact(3).map(|row| row[0] - row[2]).collect();
        let mean = differences.iter().sum::<f64>() / 200.0;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 199.0;
        let expected = 2.0 * 1.96 * (variance / 200.0).sqrt();
        let width = pairs[1].interval[1] - pairs[1].interval[0];
        assert!((width / expected - 1.0).abs() < 0.1, "{width} {expected}");
    }

    #[test]
    fn threads_do_not_matter() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let alone = one.install(|| by_measure(&rows(), 3, Test::T, 7));
        assert_eq!(alone, by_measure(&rows(), 3, Test::T, 7));
    }

    #[test]
    fn no_queries_are_no_evidence() {
        let pairs = by_measure(&[], 2, Test::T, 1);
        assert_eq!((pairs[0].difference, pairs[0].p, pairs[0].queries), (0.0, 1.0, 0));
    }
}
