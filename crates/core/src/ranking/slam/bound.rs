//! The generalization bound (23) with its constants, and the radius R_X that bounds are made of.
//!
//! E L(w^) <= L(w*) + 2 L_2 B (8/n + sqrt(2/n)), L the expected phi_v, over n lists and weights of norm at most
//! B, where L_2 = R_X max over lists of 2 sum v is how fast phi_v can change with w. Since 1 - measure is never
//! above 1, a second term of 1 or more says nothing; with real features that takes thousands of lists.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::objective::Goals;
use crate::data::{FeatureLists, List};

/// Bound (23) for one fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GeneralizationBound {
    /// Number of lists.
    pub n: u64,
    /// R_X: the largest norm of a row less the mean of its list.
    pub radius: f64,
    /// The largest 2 sum v of a list: how much phi_v can change per unit of scores.
    pub lipschitz: f64,
    /// B: the norm of the weights that were found.
    pub norm: f64,
    /// 2 L_2 B (8/n + sqrt(2/n)): what may be lost beyond the best weights of norm B, expected.
    pub excess: f64,
    /// Whether that says nothing, being 1 or more.
    pub vacuous: bool,
    /// Lists from which on the bound would say something.
    pub lists_needed: u64,
}

impl GeneralizationBound {
    pub(crate) fn of(lists: &FeatureLists, goals: &Goals<'_>, w: &[f64]) -> Self {
        let radius = list_radius(lists);
        let sums = lists.iter().map(|list| 2.0 * goals.v(list.rows()).iter().sum::<f64>());
        let lipschitz = sums.fold(0.0, f64::max);
        let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
        Self::new(lists.n_queries() as u64, radius, lipschitz, norm)
    }

    /// The bound from its constants.
    pub fn new(n: u64, radius: f64, lipschitz: f64, norm: f64) -> Self {
        let factor = 2.0 * radius * lipschitz * norm;
        let at = |n: f64| factor * (8.0 / n + (2.0 / n).sqrt());
        let excess = at(n as f64);
        // factor (8 y^2 + sqrt(2) y) = 1 with y = 1 / sqrt(n).
        let y = ((2.0 + 32.0 / factor.max(f64::MIN_POSITIVE)).sqrt() - 2f64.sqrt()) / 16.0;
        let lists_needed = if factor > 0.0 { (1.0 / (y * y)).floor() as u64 + 1 } else { 1 };
        Self { n, radius, lipschitz, norm, excess, vacuous: excess >= 1.0, lists_needed }
    }
}

/// R_X: the largest norm of a row less the mean of the rows of its list.
pub fn list_radius(lists: &FeatureLists) -> f64 {
    let squares = (0..lists.n_queries())
        .into_par_iter()
        .map_init(|| vec![0.0; lists.n_features()], |mean, query| squared_radius(&lists.list(query), mean));
    squares.reduce(|| 0.0, f64::max).sqrt()
}

/// ||x - mean||^2 = ||x||^2 - 2 x'mean + ||mean||^2, over the entries of the rows alone. `mean` is zero before
/// and after.
fn squared_radius(list: &List<'_>, mean: &mut [f64]) -> f64 {
    let entries = || (0..list.len()).flat_map(|i| list.row(i).entries());
    let share = 1.0 / list.len() as f64;
    entries().for_each(|(column, x)| mean[column as usize] += share * f64::from(x));
    if list.dense().is_some() {
        // All columns are there, so the differences are taken one by one, which loses no digits.
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
