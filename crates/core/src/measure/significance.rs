//! Significance of the difference between two systems: four paired two-sided tests, and Holm's correction for comparing
//! many systems. The tests use the differences d_i of a measure on the n queries for which both systems have a value.
//!
//! | test | question | method |
//! |---|---|---|
//! | [`Test::T`] | is the mean difference 0 | t = mean / (s / sqrt(n)), Student with n - 1 degrees of freedom |
//! | [`Test::Sign`] | do as many queries win as lose | binomial(1/2) over the queries with d_i != 0 |
//! | [`Test::Fisher`] | could the systems' names be swapped query by query | the share of sign flips whose mean difference is as large: all 2^n of them up to n = 16, else 100,000 random ones and the observed one |
//! | [`Test::Wilcoxon`] | are the differences symmetric about 0 | signed ranks of d_i != 0; exact up to n = 50 without ties, else normal with tie correction |
//!
//! [`TestSize`] says beforehand which differences n queries can show.
//!
//! Reference: Smucker, Allan, Carterette, CIKM 2007, who find the t-test and the randomisation test in
//! agreement and advise against the other two.

mod detectable;

use std::fmt;
use std::str::FromStr;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

use super::Evaluation;
use super::distribution::{fair_coins_at_most, normal_two_sided, student_two_sided};
use crate::{Error, Result};

pub use detectable::{Detectable, TestSize, deviation_of_differences};

/// A paired, two-sided test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    /// Student's paired t-test.
    T,
    /// The sign test.
    Sign,
    /// Fisher's randomisation test.
    Fisher,
    /// Wilcoxon's signed-rank test.
    Wilcoxon,
}

impl Test {
    /// Every test.
    pub const ALL: [Self; 4] = [Self::T, Self::Sign, Self::Fisher, Self::Wilcoxon];

    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::T => "t",
            Self::Sign => "sign",
            Self::Fisher => "fisher",
            Self::Wilcoxon => "wilcoxon",
        }
    }

    /// Returns the two-sided p-value of differences between paired values. `seed` affects only [`Test::Fisher`]; the
    /// result is the same for any number of threads. If all differences are 0, the p-value is 1.
    ///
    /// ```
    /// use matchrank_core::measure::significance::Test;
    ///
    /// let differences = [0.1, 0.2, 0.05, -0.02, 0.3, 0.12];
    /// assert!((Test::T.p_value(&differences, 1) - 0.0419799).abs() < 1e-6);
    /// assert!((Test::Sign.p_value(&differences, 1) - 7.0 / 32.0).abs() < 1e-12);
    /// ```
    pub fn p_value(self, differences: &[f64], seed: u64) -> f64 {
        if differences.iter().all(|&d| d == 0.0) {
            return 1.0;
        }
        match self {
            Self::T => t(differences),
            Self::Sign => sign(differences),
            Self::Fisher => fisher(differences, seed),
            Self::Wilcoxon => wilcoxon(differences),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Test {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Params(format!("unknown test `{name}`; known tests: {known}"))
        })
    }
}

fn t(differences: &[f64]) -> f64 {
    let n = differences.len() as f64;
    if n < 2.0 {
        return 1.0;
    }
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    student_two_sided(mean / (variance / n).sqrt(), n - 1.0)
}

fn sign(differences: &[f64]) -> f64 {
    let wins = differences.iter().filter(|&&d| d > 0.0).count() as u64;
    let losses = differences.iter().filter(|&&d| d < 0.0).count() as u64;
    (2.0 * fair_coins_at_most(wins.min(losses), wins + losses)).min(1.0)
}

/// Largest number of differences for which all sign flips are enumerated.
const EXACT: usize = 16;
const BLOCKS: u64 = 100;
const BLOCK: u64 = 1000;

fn fisher(differences: &[f64], seed: u64) -> f64 {
    let d: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    let total: f64 = d.iter().sum();
    // sums in another order differ in the last bits, but must count as equal
    let observed = total.abs() - 1e-12 * d.iter().map(|d| d.abs()).sum::<f64>();
    if d.len() <= EXACT {
        let flips = 1u64 << d.len();
        let as_large = (0..flips).filter(|&bits| flipped(&d, total, || bits).abs() >= observed).count();
        return as_large as f64 / flips as f64;
    }
    let as_large: u64 = (0..BLOCKS)
        .into_par_iter()
        .map(|block| {
            // each block draws from its own part of the sequence, 2^128 numbers after the previous one
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            (0..block).for_each(|_| random.jump());
            (0..BLOCK).filter(|_| flipped(&d, total, || random.next_u64()).abs() >= observed).count() as u64
        })
        .sum();
    (as_large + 1) as f64 / (BLOCKS * BLOCK + 1) as f64
}

/// Returns the sum of the differences after flipping those whose bit is set; each word of bits serves 64 of them.
fn flipped(differences: &[f64], total: f64, mut bits: impl FnMut() -> u64) -> f64 {
    let mut sum = 0.0;
    for chunk in differences.chunks(64) {
        let bits = bits();
        for (i, d) in chunk.iter().enumerate() {
            sum += if bits >> i & 1 == 1 { *d } else { 0.0 };
        }
    }
    total - 2.0 * sum
}

fn wilcoxon(differences: &[f64]) -> f64 {
    let mut d: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    d.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = d.len() as f64;
    let mut rank_sum = 0.0;
    let mut tie_correction = 0.0;
    let mut rank = 1.0;
    for tied in d.chunk_by(|a, b| a.abs() == b.abs()) {
        let count = tied.len() as f64;
        let mean_rank = rank + (count - 1.0) / 2.0;
        rank_sum += mean_rank * tied.iter().filter(|&&d| d > 0.0).count() as f64;
        tie_correction += count * (count * count - 1.0);
        rank += count;
    }
    let mean = n * (n + 1.0) / 4.0;
    if d.len() == differences.len() && d.len() <= 50 && tie_correction == 0.0 {
        return exact_signed_rank(d.len(), rank_sum.min(2.0 * mean - rank_sum) as usize);
    }
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_correction / 48.0;
    normal_two_sided((rank_sum - mean) / variance.sqrt())
}

/// Returns twice P(W <= w): the share of subsets of 1..=n whose sum is at most w.
fn exact_signed_rank(n: usize, w: usize) -> f64 {
    let mut share = vec![0.0; n * (n + 1) / 2 + 1];
    share[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..share.len()).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = 0.5 * (share[sum] + with);
        }
    }
    (2.0 * share[..=w].iter().sum::<f64>()).min(1.0)
}

/// Applies Holm's step-down correction: p-values that keep the probability of any false claim among all comparisons
/// below the level. Sorted ascending, p_(i) becomes max over j <= i of (m - j + 1) p_(j), at most 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (done, &i) in order.iter().enumerate() {
        highest = highest.max(p_values[i] * (p_values.len() - done) as f64).min(1.0);
        adjusted[i] = highest;
    }
    adjusted
}

/// The comparison of two systems by one measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Position of the better system.
    pub better: usize,
    /// Position of the worse system.
    pub worse: usize,
    /// Number of queries for which both systems have a value.
    pub n_queries: usize,
    /// Mean advantage of the better system over those queries; never negative.
    pub difference: f64,
    /// Uncorrected p-value of the pair.
    pub p: f64,
    /// p-value after Holm's correction over all pairs.
    pub p_holm: f64,
}

/// Compares every pair of systems by one measure. All systems must be evaluated on the same judgments, with the same
/// measures and conventions; values of different dialects cannot be compared.
pub fn compare(evaluations: &[Evaluation], measure: usize, test: Test, seed: u64) -> Result<Vec<Comparison>> {
    let Some((first, others)) = evaluations.split_first() else { return Ok(Vec::new()) };
    for other in others {
        if first.conventions != other.conventions {
            let (a, b) = (first.conventions.dialect, other.conventions.dialect);
            return Err(Error::Params(format!(
                "values of different conventions cannot be compared (dialects {a} and {b}); evaluate \
                 both in the same one"
            )));
        }
        if first.measures != other.measures || !first.queries().eq(other.queries()) {
            return Err(Error::Shape(
                "runs can be compared only if they were evaluated with the same measures and judgments"
                    .into(),
            ));
        }
    }
    let values: Vec<Vec<Option<f64>>> =
        evaluations.iter().map(|e| (0..e.n_queries()).map(|q| e.value(q, measure)).collect()).collect();
    let values: Vec<&[Option<f64>]> = values.iter().map(Vec::as_slice).collect();
    Ok(compare_values(&values, first.measures[measure].higher_is_better(), test, seed))
}

/// Compares systems by their values for the same queries; `None` marks a query that is left out.
pub fn compare_values(
    systems: &[&[Option<f64>]],
    higher_is_better: bool,
    test: Test,
    seed: u64,
) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (i, a) in systems.iter().enumerate() {
        for (j, b) in systems.iter().enumerate().skip(i + 1) {
            assert_eq!(a.len(), b.len(), "systems are compared on the same queries");
            let d: Vec<f64> = a.iter().zip(*b).filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
            let mean = super::evaluate::mean(d.iter().copied());
            let a_better = (mean >= 0.0) == higher_is_better;
            let (better, worse) = if a_better { (i, j) } else { (j, i) };
            let p = test.p_value(&d, seed);
            comparisons.push(Comparison {
                better,
                worse,
                n_queries: d.len(),
                difference: mean.abs(),
                p,
                p_holm: p,
            });
        }
    }
    let adjusted = holm(&comparisons.iter().map(|c| c.p).collect::<Vec<_>>());
    for (comparison, p) in comparisons.iter_mut().zip(adjusted) {
        comparison.p_holm = p;
    }
    comparisons
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn holm_by_hand() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn no_difference_is_no_evidence() {
        for test in Test::ALL {
            assert_eq!(test.p_value(&[], 1), 1.0);
            assert_eq!(test.p_value(&[0.0; 30], 1), 1.0);
            assert!(test.p_value(&[0.5; 30], 1) < 1e-4, "{test}");
            assert_eq!(test.name().parse::<Test>().unwrap(), test);
        }
    }

    #[test]
    fn random_flips_agree_with_all_flips() {
        // 17 differences: random; the same without the smallest: all 2^16
        let d: Vec<f64> = (0..17).map(|i| ((i * 7919) % 23) as f64 / 10.0 - 0.8).collect();
        let exact = (0..1u64 << 17)
            .filter(|&bits| flipped(&d, d.iter().sum(), || bits).abs() >= d.iter().sum::<f64>().abs() - 1e-9)
            .count() as f64
            / f64::from(1 << 17);
        let random = fisher(&d, 7);
        let error = (exact * (1.0 - exact) / 1e5).sqrt();
        assert!((random - exact).abs() < 4.0 * error, "{random} {exact}");
        assert_eq!(random, fisher(&d, 7));
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(random, one_thread.install(|| fisher(&d, 7)));
    }

    proptest! {
        #[test]
        fn p_values_are_probabilities_and_symmetric(d in prop::collection::vec(-1.0f64..1.0, 1..20)) {
            let negated: Vec<f64> = d.iter().map(|d| -d).collect();
            for test in Test::ALL {
                let p = test.p_value(&d, 1);
                prop_assert!((0.0..=1.0).contains(&p), "{test} {p}");
                if test != Test::Fisher || d.len() <= EXACT {
                    prop_assert!((p - test.p_value(&negated, 1)).abs() < 1e-12);
                }
            }
        }
    }
}
