//! The generalisation bound (23) with its constants, and the radius R_X that bounds depend on.
//!
//! Theorem 8 is about the minimiser w^ of (4) over n lists, for a lambda and a ball ||w|| <= B that are fixed before
//! the lists are seen. Its proof gives, for every such lambda,
//!
//! E L(w^) <= L(w*) + lambda B^2 / 2 + 4 (lambda B + L_2)^2 / (lambda n),
//!
//! L the expected phi_v, w* the best weights of the ball, and L_2 = R_X max over lists of 2 sum v the Lipschitz
//! constant of phi_v in w; (23) itself is this with the lambda that makes the right side small. The norm of the weights
//! that were found is not a valid B, since it is known only afterwards. It is known beforehand that w^ is never worse
//! than w = 0, and that phi_v(0) <= Delta for every list, since the weights v of a list sum to at most 1: lambda B^2 /
//! 2 = Delta, whatever the lists. (The mean of phi_v(0) over the given lists would be smaller, but is not known
//! beforehand.) The bound is then above Delta. With this B it only allows comparing lambdas and numbers of lists. Since
//! 1 - measure is never above 1, a bound of 1 or more is vacuous, which is the case for every Delta of 1 or more.

use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use super::objective::Goals;
use crate::data::{FeatureLists, List};

/// Bound (23) for one lambda.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GeneralizationBound {
    /// Number of lists.
    pub n: u64,
    /// lambda, fixed beforehand.
    pub lambda: f64,
    /// R_X: the largest norm of a row less the mean of its list.
    pub radius: f64,
    /// Largest 2 sum v of a list: the largest change of phi_v per unit of scores.
    pub lipschitz: f64,
    /// B = sqrt(2 Delta / lambda): the radius of a ball that contains the minimiser, whatever the lists.
    pub norm: f64,
    /// lambda B^2 / 2 + 4 (lambda B + L_2)^2 / (lambda n): expected loss in excess of that of the best weights of the
    /// ball.
    pub excess: f64,
    /// True if the excess is 1 or more, which says nothing.
    pub vacuous: bool,
    /// Number of lists from which on the bound is below 1; `None` if no number of lists is enough.
    pub lists_needed: Option<u64>,
}

/// Reads a bound. One without a lambda is from a former version, which used the norm of the weights as B.
pub(super) fn sound<'de, D: Deserializer<'de>>(from: D) -> Result<Option<GeneralizationBound>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Sound(GeneralizationBound),
        Former(IgnoredAny),
    }
    Ok(match Option::<Stored>::deserialize(from)? {
        Some(Stored::Sound(bound)) => Some(bound),
        Some(Stored::Former(_)) | None => None,
    })
}

/// Constants of the bound (23).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundConstants {
    /// Number of lists.
    pub n: u64,
    /// R_X: see [`list_radius`].
    pub radius: f64,
    /// Lipschitz constant of the loss.
    pub lipschitz: f64,
    /// The largest loss that w = 0 can have.
    pub delta: f64,
}

impl GeneralizationBound {
    pub(crate) fn of(lists: &FeatureLists, goals: &Goals<'_>, lambda: f64, delta: f64) -> Self {
        let radius = list_radius(lists);
        let sums = lists.iter().map(|list| 2.0 * goals.v(list.rows()).iter().sum::<f64>());
        let lipschitz = sums.fold(0.0, f64::max);
        Self::new(lambda, &BoundConstants { n: lists.n_queries() as u64, radius, lipschitz, delta })
    }

    /// Computes the bound of a lambda.
    pub fn new(lambda: f64, constants: &BoundConstants) -> Self {
        let BoundConstants { n, radius, lipschitz, delta } = *constants;
        let norm = (2.0 * delta / lambda).sqrt();
        let slope = 4.0 * (lambda * norm + radius * lipschitz).powi(2) / lambda;
        let excess = delta + slope / n as f64;
        let lists_needed = (delta < 1.0).then(|| (slope / (1.0 - delta)).floor() as u64 + 1);
        Self { n, lambda, radius, lipschitz, norm, excess, vacuous: excess >= 1.0, lists_needed }
    }
}

/// Computes R_X: the largest norm of a row less the mean of the rows of its list.
pub fn list_radius(lists: &FeatureLists) -> f64 {
    let squares = (0..lists.n_queries())
        .into_par_iter()
        .map_init(|| vec![0.0; lists.n_features()], |mean, query| squared_radius(&lists.list(query), mean));
    squares.reduce(|| 0.0, f64::max).sqrt()
}

/// Computes ||x - mean||^2 = ||x||^2 - 2 x'mean + ||mean||^2, over the entries of the rows alone. `mean` is zero before
/// and after.
fn squared_radius(list: &List<'_>, mean: &mut [f64]) -> f64 {
    let entries = || (0..list.len()).flat_map(|i| list.row(i).entries());
    let share = 1.0 / list.len() as f64;
    entries().for_each(|(column, x)| mean[column as usize] += share * f64::from(x));
    if list.dense().is_some() {
        // All columns are stored, so the differences are computed one by one, which loses no digits.
        let off = |(mean, column): (&f64, u32), i| (f64::from(list.row(i).get(column)) - mean).powi(2);
        let square = |i| mean.iter().zip(0..).map(|at| off(at, i)).sum::<f64>();
        let most = (0..list.len()).map(square).fold(0.0, f64::max);
        mean.fill(0.0);
        return most;
    }
    let of_mean: f64 = entries().map(|(column, x)| share * f64::from(x) * mean[column as usize]).sum();
    let square = |i| {
        list.row(i)
            .entries()
            .map(|(column, x)| f64::from(x) * (f64::from(x) - 2.0 * mean[column as usize]))
            .sum::<f64>()
    };
    let most = (0..list.len()).map(|i| square(i) + of_mean).fold(0.0, f64::max);
    entries().for_each(|(column, _)| mean[column as usize] = 0.0);
    most
}
