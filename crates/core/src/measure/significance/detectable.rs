//! Smallest differences that a paired t-test can tell from chance.
//!
//! The differences d_i of two systems on n queries have the standard deviation s, so their mean has the standard error
//! s / sqrt(n). With t_{p, n-1} for the p-quantile of Student's t with n - 1 degrees of freedom and the two-sided level
//! alpha:
//!
//! | question | smallest difference of the means |
//! |---|---|
//! | which measured difference is significant | t_{1 - alpha/2, n-1} s / sqrt(n) |
//! | which true difference is found with the probability `power` | (t_{1 - alpha/2, n-1} + t_{power, n-1}) s / sqrt(n) |
//!
//! The first line is the test itself, solved for the mean. The second one replaces the noncentral t distribution by a
//! shifted central one; for n from 5 to 200 the power of the difference that it gives is within 0.01 of what was asked
//! for (the tests simulate it).
//!
//! With Holm's correction over m pairs the smallest of the p-values has to be below alpha / m. A difference that is
//! significant at alpha / m is therefore significant whatever the other pairs are.

use super::super::distribution::student_quantile;

/// Smallest differences of the means of two systems that n queries can show; see the module for the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Detectable {
    /// Smallest measured difference that is significant.
    pub significant: f64,
    /// Smallest true difference that is found with the probability that was asked for.
    pub found: f64,
}

/// Sizes that decide which differences can be told from chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestSize {
    /// Number n of queries.
    pub n_queries: usize,
    /// Standard deviation s of the differences, query by query.
    pub deviation: f64,
    /// Level alpha of the two-sided test.
    pub level: f64,
    /// Probability with which a true difference should be found, from 0.5 to below 1.
    pub power: f64,
}

impl TestSize {
    /// Returns the smallest differences; `None` for fewer than two queries, from which nothing follows.
    ///
    /// ```
    /// use matchrank_core::measure::significance::TestSize;
    ///
    /// let size = TestSize { n_queries: 45, deviation: 0.2, level: 0.05, power: 0.8 };
    /// let smallest = size.detectable().unwrap();
    /// assert!((smallest.significant - 0.0601).abs() < 1e-4);
    /// assert!((smallest.found - 0.0854).abs() < 1e-4);
    /// ```
    pub fn detectable(&self) -> Option<Detectable> {
        let Self { n_queries, deviation, level, power } = *self;
        assert!(level > 0.0 && level < 1.0, "a level between 0 and 1, not {level}");
        assert!((0.5..1.0).contains(&power), "a power from 0.5 to below 1, not {power}");
        if n_queries < 2 {
            return None;
        }
        let (n, df) = (n_queries as f64, (n_queries - 1) as f64);
        let error = deviation / n.sqrt();
        let critical = student_quantile(level, df);
        // P(T >= t) = 1 - power is P(|T| >= t) = 2 (1 - power).
        let shift = student_quantile(2.0 * (1.0 - power), df);
        Some(Detectable { significant: critical * error, found: (critical + shift) * error })
    }
}

/// Returns the standard deviation of the differences of two systems, over the queries for which both have a value;
/// `None` for fewer than two such queries.
pub fn deviation_of_differences(a: &[Option<f64>], b: &[Option<f64>]) -> Option<f64> {
    let d: Vec<f64> = a.iter().zip(b).filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
    if d.len() < 2 {
        return None;
    }
    let mean = d.iter().sum::<f64>() / d.len() as f64;
    Some((d.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (d.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::super::Test;
    use super::*;

    fn size(n_queries: usize) -> TestSize {
        TestSize { n_queries, deviation: 0.2, level: 0.05, power: 0.8 }
    }

    #[test]
    fn fewer_than_two_queries_show_nothing() {
        assert_eq!(size(0).detectable(), None);
        assert_eq!(size(1).detectable(), None);
        assert!(size(2).detectable().unwrap().significant > 1.7, "12.7 standard errors of 0.14");
    }

    #[test]
    fn the_smallest_significant_difference_is_where_the_test_turns() {
        for n in [2, 7, 45, 300] {
            let smallest = size(n).detectable().unwrap().significant;
            // Differences with the mean 0 and the standard deviation 0.2.
            let centred: Vec<f64> = (0..n).map(|i| i as f64 - (n - 1) as f64 / 2.0).collect();
            let scale = 0.2 / (centred.iter().map(|d| d * d).sum::<f64>() / (n - 1) as f64).sqrt();
            let p = |mean: f64| {
                let d: Vec<f64> = centred.iter().map(|d| scale * d + mean).collect();
                Test::T.p_value(&d, 1)
            };
            assert!(p(1.001 * smallest) < 0.05 && p(0.999 * smallest) > 0.05, "{n}: {smallest}");
        }
    }

    #[test]
    fn a_true_difference_is_found_as_often_as_was_asked_for() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        // A normal number, by Box and Muller.
        let mut normal = move || {
            let (u, v): (f64, f64) = (random.random(), random.random());
            (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let n_samples = 20_000;
        for n in [5, 10, 50, 200] {
            let smallest = size(n).detectable().unwrap().found;
            let mut share_found = |mean: f64| {
                let found = (0..n_samples).filter(|_| {
                    let d: Vec<f64> = (0..n).map(|_| mean + 0.2 * normal()).collect();
                    Test::T.p_value(&d, 1) < 0.05
                });
                found.count() as f64 / f64::from(n_samples)
            };
            // Three standard errors of 20,000 samples are 0.009.
            let share = share_found(smallest);
            assert!((share - 0.8).abs() < 0.02, "{n}: {share}");
            let chance = share_found(0.0);
            assert!((chance - 0.05).abs() < 0.006, "{n}: {chance}");
        }
    }

    #[test]
    fn deviations_are_over_the_queries_of_both() {
        let a = [Some(1.0), Some(0.5), None, Some(0.0)];
        let b = [Some(0.0), Some(0.5), Some(0.3), Some(1.0)];
        assert_eq!(deviation_of_differences(&a, &b), Some(1.0));
        assert_eq!(deviation_of_differences(&a[..1], &b[..1]), None);
    }
}
