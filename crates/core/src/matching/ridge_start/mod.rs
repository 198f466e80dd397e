//! A start for sparse W from second-order information: the largest entries of a ridge solution of low rank.
//!
//! Steps along single preferences see one tuple at a time. Ridge regression sees how often words occur together, and
//! solves in seconds what a million steps approach slowly. For rows X with class labels, Z the n x c indicator of the
//! classes and p their shares,
//!
//! V = argmin |X V - (Z - 1 p')|^2 + a |V|^2, W = V V',
//!
//! so q' W d is the product of the class scores of q and d. V has as many columns as there are classes and is found by
//! conjugate gradients (`solve::ridge`).
//!
//! W itself would have an entry for every pair of words. [`largest`] keeps the entries with the largest
//! |W_ij| rms_i rms_j, rms_i the [root mean square](root_mean_squares) of column i of X: to first order, those
//! whose loss changes scores least are dropped. Entries are computed in blocks and never stored all at once.
//!
//! | symbol | field |
//! |---|---|
//! | a | [`RidgeStartParams::alpha`] |
//!
//! The sparse W is a start for [`Learner::from_matrix`](crate::matching::sparse_preference::Learner::from_matrix).
//!
//! ```
//! use matchrank_core::matching::{Csr, ridge_start};
//! use matchrank_core::matching::ridge_start::RidgeStartParams;
//! use matchrank_core::progress::Silent;
//!
//! // Words: 0 "bike", 1 "ride", 2 "puck", 3 "the". Two posts about motorcycles, two about hockey.
//! let posts = [(0, 0, 1.0), (0, 3, 0.5), (1, 1, 1.0), (1, 3, 0.5), (2, 2, 1.0), (3, 2, 1.0), (3, 3, 0.5)];
//! let posts = Csr::from_triples(4, 4, posts)?;
//! let model = ridge_start::fit(&RidgeStartParams::default(), &posts, &[0, 0, 1, 1], &Silent)?;
//! let sizes = ridge_start::root_mean_squares(&posts);
//! let w = ridge_start::largest(&model, [&sizes, &sizes], 12)?;
//! let entry = |i: usize, j: u32| w.row(i).iter().find(|&(column, _)| column == j).map_or(0.0, |(_, x)| x);
//! assert!(entry(0, 1) > 0.05 && entry(0, 2) < -0.05, "bikes are ridden, pucks are not");
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod largest;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::matching::{Bilinear, Csr, Factor};
use crate::progress::Progress;
use crate::solve::ridge::{Ridge, RidgeStop};
use crate::{Error, Result};

pub use largest::largest;

/// Parameters of the ridge problem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RidgeStartParams {
    /// a: strength of the penalty, for rows of length 1. Default: 1.
    pub alpha: f64,
    /// Residual, relative to V = 0, at which conjugate gradients stop. Default: 0.00001.
    pub tolerance: f64,
    /// Maximum number of steps of conjugate gradients. Default: 300.
    pub max_steps: usize,
}

impl Default for RidgeStartParams {
    fn default() -> Self {
        Self { alpha: 1.0, tolerance: 1e-5, max_steps: 300 }
    }
}

impl RidgeStartParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.alpha > 0.0 && self.alpha <= 1e9) {
            return Err(Error::Params(format!(
                "alpha must be above 0 and at most 1000000000, not {}",
                self.alpha
            )));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::Params(format!(
                "tolerance must be above 0 and below 1, not {}",
                self.tolerance
            )));
        }
        if self.max_steps == 0 {
            return Err(Error::Params("max_steps must be at least 1".into()));
        }
        Ok(())
    }
}

/// Fits V to the classes of rows, and returns V V' as a model whose two sides are equal.
pub fn fit(
    params: &RidgeStartParams,
    rows: &Csr,
    labels: &[u32],
    progress: &dyn Progress,
) -> Result<Bilinear> {
    params.validate()?;
    if rows.n_rows() != labels.len() || labels.is_empty() {
        return Err(Error::Shape(format!("there are {} rows, but {} labels", rows.n_rows(), labels.len())));
    }
    let k = labels.iter().max().map_or(0, |&last| last as usize + 1);
    if k > labels.len() {
        return Err(Error::Shape(format!(
            "a label is {}, but {} rows have labels from 0 to {} at most",
            k - 1,
            labels.len(),
            labels.len() - 1
        )));
    }
    let mut shares = vec![0.0; k];
    labels.iter().for_each(|&label| shares[label as usize] += 1.0 / labels.len() as f64);
    let mut targets: Vec<f64> = Vec::with_capacity(labels.len() * k);
    for &label in labels {
        targets.extend((0..k).map(|class| f64::from(u8::from(class == label as usize)) - shares[class]));
    }
    progress.begin("ridge regression", None, "steps");
    let ridge = Ridge::new(rows, params.alpha);
    let stop = RidgeStop { tolerance: params.tolerance, max_steps: params.max_steps };
    let v = ridge.solve(ridge.project(&targets, k), k, stop, || progress.advance(1));
    let v = Factor::dense(k, v.into_iter().map(|value| value as f32).collect())?;
    Bilinear::new(v.clone(), v, None)
}

/// Computes the root mean square of every column.
pub fn root_mean_squares(rows: &Csr) -> Vec<f32> {
    let mut sums = vec![0f64; rows.n_columns()];
    for (column, value) in rows.rows().flat_map(|row| row.iter()) {
        sums[column as usize] += f64::from(value) * f64::from(value);
    }
    sums.into_iter().map(|sum| (sum / rows.n_rows().max(1) as f64).sqrt() as f32).collect()
}
