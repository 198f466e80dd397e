//! Generalisation bounds: how far the objective of a matching model on its sample can be from its expectation.
//!
//! A matching model maximises the mean of f(x, y) = r(x, y) x' Lx Ly' y over the responses of a sample. With
//! probability at least 1 - 2 delta, no model of its family has a gap between that mean and its expectation
//! larger than (Theorem 3, equation 7)
//!
//! ```text
//! D <= (2 C R + R B sqrt(2 ln(1/delta))) (1/sqrt(n_x n_y) + 1/sqrt(n_x))
//! ```
//!
//! for |x| <= 1, |y| <= 1 and 0 <= r <= R. B and C measure the family, and two families have a theorem:
//!
//! | family | B >= \|Lx'x\| \|Ly'y\| | C >= \|Lx Ly'\|_F |
//! |---|---|---|
//! | PLS: orthonormal columns (Theorem 4) | 1 | sqrt(d) |
//! | RMLS: rows \|l_xu\|_1 <= lambda_x, \|l_xu\|_2 <= theta_x, y alike (Theorem 5) | sqrt(m_x m_y) min(d lambda_x lambda_y, theta_x theta_y) | sqrt(d_x d_y) min(lambda_x lambda_y, theta_x theta_y) |
//!
//! | symbol | field | meaning |
//! |---|---|---|
//! | n_x | [`SampleSize::n_x`] | queries with a response |
//! | n_y | [`SampleSize::n_y`] | harmonic mean of the number of documents that answer each; see [`harmonic_mean`] |
//! | R | [`SampleSize::r_max`] | largest response |
//! | delta | [`SampleSize::delta`] | the bound may fail with probability 2 delta |
//! | d_x, d_y, d | [`RmlsFamily`] | numbers of query features, document features and latent dimensions |
//! | m_x, m_y | | largest number of features of one query and of one document |
//! | lambda, theta | | largest l1 and l2 norm of a row |
//!
//! # Vacuous bounds
//!
//! |f| <= B R, so no gap can exceed 2 B R, whatever the sample. That alone is a weak test. R is the largest response:
//! thousands of clicks in a log whose mean response is a few. A gap of 6,800 next to 2 B R = 20,000 says nothing about
//! scores that lie in \[-B, B\].
//!
//! A bound is useful if it tells models apart by their scores, so it is compared with the scale of the scores. A bound
//! of 2 B or more, the largest possible difference of two scores, is *vacuous*. So is a bound of 2 B R or more where R
//! is below 1. For a bound that is not vacuous, n_x must be well above R^2 (1 + C / B)^2. With R = 1, C / B is sqrt(d)
//! for PLS, so a few thousand queries are enough for a few hundred dimensions. For RMLS with measured norms, C / B is
//! sqrt(d_x d_y / (m_x m_y)), since a row's l1 norm is never below its l2 norm and theta decides both minima. With 10^6
//! features a side of which a row has 100, that takes 10^8 queries. A vacuous value can still be used to compare
//! families on one sample.
//!
//! # Remarks on the paper
//!
//! The theorems are taken as printed. Three remarks. First, the factor d inside the minimum of B is slack: a row's l2
//! norm is never above its l1 norm, so lambda_x lambda_y alone would do. Second, D is about the uncentred objective.
//! Centering shifts a model's mean and expectation by the means of x and y, which the theorems leave out. Third, a
//! bound that uses the measured norms of a trained model as lambda and theta describes the family of models with such
//! norms, chosen after the sample was seen. Strictly, the norms have to be fixed before.
//!
//! Reference: Wu, Lu & Li, Learning Bilinear Model for Matching Queries and Documents, JMLR 2013, section 5 and
//! appendix B.
//!
//! ```
//! use matchrank_core::bounds::{SampleSize, harmonic_mean, pls_bound};
//!
//! let n_y = harmonic_mean([1, 2, 4]);
//! let sample = SampleSize { n_x: 1000, n_y, r_max: 5.0, delta: 0.05 };
//! let bound = pls_bound(&sample, 10)?;
//! assert!((bound.value - 2.446379).abs() < 1e-6 && bound.largest_gap == 10.0);
//! assert!(bound.is_vacuous(), "scores are from -1 to 1, so no two differ by more than 2");
//! assert!(!pls_bound(&SampleSize { r_max: 1.0, ..sample }, 10)?.is_vacuous());
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Properties of the data that the theorems need.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSize {
    /// Queries with at least one response.
    pub n_x: u64,
    /// Harmonic mean, over those queries, of the number of documents per query; at least 1.
    pub n_y: f64,
    /// R: the largest response.
    pub r_max: f64,
    /// The bound holds with probability at least 1 - 2 delta; between 0 and 1/2, both excluded.
    pub delta: f64,
}

/// The family of RMLS models of Theorem 5: their shape and the norms of their rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RmlsFamily {
    /// Latent dimensions.
    pub d: u64,
    /// Features of queries: rows of Lx.
    pub d_x: u64,
    /// Features of documents: rows of Ly.
    pub d_y: u64,
    /// Largest number of features of one query.
    pub m_x: u64,
    /// Largest number of features of one document.
    pub m_y: u64,
    /// Largest l1 norm of a row of Lx.
    pub lambda_x: f64,
    /// Largest l1 norm of a row of Ly.
    pub lambda_y: f64,
    /// Largest l2 norm of a row of Lx.
    pub theta_x: f64,
    /// Largest l2 norm of a row of Ly.
    pub theta_y: f64,
}

/// A generalisation bound. Its `Display` shows the value and states whether the bound is vacuous.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bound {
    /// The largest gap between sample and expectation, with probability at least `confidence`.
    pub value: f64,
    /// 2 B R: the largest gap that is possible at all.
    pub largest_gap: f64,
    /// 2 B: the largest possible difference of two scores.
    pub score_range: f64,
    /// 1 - 2 delta.
    pub confidence: f64,
    /// B of the family.
    pub b: f64,
    /// C of the family.
    pub c: f64,
}

impl Bound {
    /// Returns true if the bound is vacuous: at least the largest difference of two scores, or at least the largest gap
    /// that is possible at all. A family of zeros, which has no gap, counts as vacuous too.
    pub fn is_vacuous(&self) -> bool {
        self.value >= self.scale()
    }

    /// Upper limit of a bound that is not vacuous.
    pub fn scale(&self) -> f64 {
        self.score_range.min(self.largest_gap)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} with probability {}", self.value, self.confidence)?;
        if self.is_vacuous() {
            write!(f, " (vacuous: the scores are on a scale of {:.4})", self.scale())?;
        }
        Ok(())
    }
}

/// Returns the harmonic mean, n / sum of 1/count: n_y of a [`SampleSize`] from the number of documents that answer each
/// query. A count of 0 gives 0, and no counts give NaN; both are refused by every bound.
pub fn harmonic_mean(counts: impl IntoIterator<Item = u64>) -> f64 {
    let (mut n, mut inverses) = (0.0, 0.0);
    for count in counts {
        n += 1.0;
        inverses += 1.0 / count as f64;
    }
    n / inverses
}

/// Theorem 4: the bound for PLS with `d` latent dimensions.
pub fn pls_bound(sample: &SampleSize, d: u64) -> Result<Bound> {
    bound(sample, 1.0, (d as f64).sqrt())
}

/// Theorem 5: the bound for RMLS.
pub fn rmls_bound(sample: &SampleSize, family: &RmlsFamily) -> Result<Bound> {
    let RmlsFamily { d, d_x, d_y, m_x, m_y, lambda_x, lambda_y, theta_x, theta_y } = *family;
    for (name, norm) in
        [("lambda_x", lambda_x), ("lambda_y", lambda_y), ("theta_x", theta_x), ("theta_y", theta_y)]
    {
        if !(norm.is_finite() && norm >= 0.0) {
            return Err(Error::Params(format!("{name} must be 0 or more and finite, not {norm}")));
        }
    }
    let (l1, l2) = (lambda_x * lambda_y, theta_x * theta_y);
    let b = (m_x as f64 * m_y as f64).sqrt() * (d as f64 * l1).min(l2);
    let c = (d_x as f64 * d_y as f64).sqrt() * l1.min(l2);
    bound(sample, b, c)
}

/// Theorem 3, equation (7).
fn bound(sample: &SampleSize, b: f64, c: f64) -> Result<Bound> {
    let SampleSize { n_x, n_y, r_max, delta } = *sample;
    if n_x == 0 {
        return Err(Error::Params("a bound needs at least one query with a response".into()));
    }
    if !(n_y.is_finite() && n_y >= 1.0) {
        return Err(Error::Params(format!(
            "n_y, the harmonic mean of documents per query with a response, must be 1 or more, not {n_y}"
        )));
    }
    if !(r_max.is_finite() && r_max >= 0.0) {
        return Err(Error::Params(format!("r_max must be 0 or more and finite, not {r_max}")));
    }
    if !(delta > 0.0 && delta < 0.5) {
        return Err(Error::Params(format!("delta must be above 0 and below 0.5, not {delta}")));
    }
    let n_x = n_x as f64;
    let samples = 1.0 / (n_x * n_y).sqrt() + 1.0 / n_x.sqrt();
    Ok(Bound {
        value: (2.0 * c * r_max + r_max * b * (2.0 * (1.0 / delta).ln()).sqrt()) * samples,
        largest_gap: 2.0 * b * r_max,
        score_range: 2.0 * b,
        confidence: 1.0 - 2.0 * delta,
        b,
        c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        bounds: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        n_x: u64,
        n_y_counts: Vec<u64>,
        n_y_harmonic: f64,
        #[serde(rename = "R")]
        r_max: f64,
        delta: f64,
        pls: f64,
        rmls: f64,
        d: u64,
        d_x: u64,
        d_y: u64,
        m_x: u64,
        m_y: u64,
        lambda_x: f64,
        lambda_y: f64,
        theta_x: f64,
        theta_y: f64,
    }

    const SAMPLE: SampleSize = SampleSize { n_x: 1000, n_y: 2.0, r_max: 1.0, delta: 0.05 };

    fn family(case: &Case) -> RmlsFamily {
        let &Case { d, d_x, d_y, m_x, m_y, lambda_x, lambda_y, theta_x, theta_y, .. } = case;
        RmlsFamily { d, d_x, d_y, m_x, m_y, lambda_x, lambda_y, theta_x, theta_y }
    }

    /// Relative tolerance 1e-9.
    #[test]
    fn golden() {
        let golden = include_str!("../../../tests/golden/matching.json");
        let Golden { bounds } = serde_json::from_str(golden).unwrap();
        assert_eq!(bounds.len(), 2);
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
        };
        for case in &bounds {
            let n_y = harmonic_mean(case.n_y_counts.iter().copied());
            close(n_y, case.n_y_harmonic);
            let sample = SampleSize { n_x: case.n_x, n_y, r_max: case.r_max, delta: case.delta };
            close(pls_bound(&sample, case.d).unwrap().value, case.pls);
            close(rmls_bound(&sample, &family(case)).unwrap().value, case.rmls);
        }
        // The first RMLS bound: C = sqrt(500 * 400), B = sqrt(5 * 7).
        let first = SampleSize { n_y: 12.0 / 7.0, r_max: 5.0, ..SAMPLE };
        let first = rmls_bound(&first, &family(&bounds[0])).unwrap();
        close(first.largest_gap, 2.0 * 35f64.sqrt() * 5.0);
        assert!(first.is_vacuous() && first.to_string().contains("vacuous"), "{first}");
    }

    #[test]
    fn a_bound_is_compared_with_the_scale_of_the_scores() {
        let of = |n_x, r_max| pls_bound(&SampleSize { n_x, r_max, ..SAMPLE }, 10).unwrap();
        let bound = of(1000, 1.0);
        assert!(!bound.is_vacuous());
        assert_eq!(bound.to_string(), format!("{:.4} with probability 0.9", bound.value));
        // Scores from -1 to 1, one pair with 10,000 clicks: a bound below 2 B R that says nothing about any score.
        let clicks = of(1000, 10_000.0);
        assert!(
            clicks.value > 4000.0 && clicks.value < clicks.largest_gap && clicks.is_vacuous(),
            "{clicks}"
        );
        assert_eq!(clicks.scale(), 2.0);
        assert!(!of(1_000_000_000_000, 10_000.0).is_vacuous());
        // Responses below 1 make the largest gap the smaller scale.
        for n_x in [10, 30, 100, 300, 1000] {
            assert_eq!(of(n_x, 0.001).is_vacuous(), of(n_x, 1.0).is_vacuous(), "{n_x}");
        }
    }

    #[test]
    fn wrong_values_are_errors() {
        let bad = [
            SampleSize { n_x: 0, ..SAMPLE },
            SampleSize { n_y: harmonic_mean([]), ..SAMPLE },
            SampleSize { n_y: harmonic_mean([3, 0]), ..SAMPLE },
            SampleSize { r_max: -1.0, ..SAMPLE },
            SampleSize { r_max: f64::INFINITY, ..SAMPLE },
            SampleSize { delta: 0.0, ..SAMPLE },
            SampleSize { delta: 0.5, ..SAMPLE },
            SampleSize { delta: f64::NAN, ..SAMPLE },
        ];
        for sample in bad {
            assert!(pls_bound(&sample, 10).is_err(), "{sample:?}");
        }
        let ones = RmlsFamily {
            d: 1,
            d_x: 1,
            d_y: 1,
            m_x: 1,
            m_y: 1,
            lambda_x: 1.0,
            lambda_y: 1.0,
            theta_x: 1.0,
            theta_y: 1.0,
        };
        assert!(rmls_bound(&SAMPLE, &ones).is_ok());
        assert!(rmls_bound(&SAMPLE, &RmlsFamily { lambda_y: f64::NAN, ..ones }).is_err());
        assert!(rmls_bound(&SAMPLE, &RmlsFamily { theta_x: -1.0, ..ones }).is_err());
    }
}
