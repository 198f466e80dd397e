//! Confidence intervals by the bootstrap over queries. Every interval of a comparison and of its report is made here with the
//! same draws, so that one difference has one interval wherever it is shown.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Samples of the queries.
const SAMPLES: usize = 2000;

/// Computes means over queries drawn with replacement. A row of `rows` holds the values of one query, one for each of the
/// `columns`; a row of the result holds the means of one sample.
pub(crate) fn resampled_means(rows: &[f64], columns: usize, seed: u64) -> Vec<f64> {
    let n = rows.len().checked_div(columns).unwrap_or(0);
    if n == 0 {
        return Vec::new();
    }
    let sample = |sample: usize| {
        let mut rng =
            Xoshiro256PlusPlus::seed_from_u64(seed ^ (sample as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut sums = vec![0.0; columns];
        for _ in 0..n {
            let drawn = rng.random_range(0..n);
            let row = &rows[drawn * columns..(drawn + 1) * columns];
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        sums.into_iter().map(move |sum| sum / n as f64)
    };
    (0..SAMPLES).into_par_iter().flat_map_iter(sample).collect()
}

/// Returns the ends of the middle 95 % of the means of samples; `None` for no means.
pub(crate) fn middle(mut means: Vec<f64>) -> Option<[f64; 2]> {
    means.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| means.get((means.len().checked_sub(1)? as f64 * share).round() as usize).copied();
    Some([at(0.025)?, at(0.975)?])
}

/// Returns the 95 % interval of the mean of values. `None` for fewer than two values, which say nothing about how far the
/// mean may be off.
pub(crate) fn interval(values: &[Option<f64>], seed: u64) -> Option<[f64; 2]> {
    let values: Vec<f64> = values.iter().flatten().copied().collect();
    if values.len() < 2 {
        return None;
    }
    middle(resampled_means(&values, 1, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_the_bootstrap_are_those_of_the_normal_law_for_many_values() {
        let values: Vec<Option<f64>> = (0..1000).map(|i| Some(f64::from(i % 10) / 10.0)).collect();
        let [low, high] = interval(&values, 1).unwrap();
        // Mean .45, standard deviation sqrt(.0825), 1.96 standard errors.
        let half = 1.96 * (0.0825_f64 / 1000.0).sqrt();
        assert!((low - (0.45 - half)).abs() < 0.002 && (high - (0.45 + half)).abs() < 0.002, "{low} {high}");
        assert_eq!(interval(&values, 1), Some([low, high]));
        assert_eq!(interval(&[Some(0.5), None], 1), None);
        assert_eq!(interval(&[], 1), None);
    }

    /// Two models resampled together have the interval of their difference resampled alone.
    #[test]
    fn a_difference_has_one_interval() {
        let rows: Vec<f64> = (0..300).map(|i| f64::from((i * 7919) % 101) / 101.0).collect();
        let differences: Vec<Option<f64>> = rows.chunks_exact(2).map(|row| Some(row[0] - row[1])).collect();
        let together = resampled_means(&rows, 2, 7).chunks_exact(2).map(|row| row[0] - row[1]).collect();
        let (a, b) = (middle(together).unwrap(), interval(&differences, 7).unwrap());
        assert!((a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12, "{a:?} {b:?}");
        assert!(a[0] < a[1]);
        assert!(resampled_means(&[], 0, 1).is_empty() && middle(Vec::new()).is_none());
    }
}
