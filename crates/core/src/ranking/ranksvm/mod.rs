//! RankSVM: documents of higher grades should score higher by 1, pair by pair.
//!
//! J(w) = lambda/2 ||w||^2 + 1/n sum over lists of 1/P sum over its P pairs R_i > R_j of l(s_i - s_j),
//!
//! with l(z) = max(0, 1 - z) ([`PairLoss::Hinge`], smoothed less and less until the proven gap is small: `hinge.rs`) or
//! its square ([`PairLoss::SquaredHinge`]), both by a truncated Newton method. A list of m documents may have m^2 / 4
//! pairs; they are never formed. Sums over the pairs of a document come from order statistics (`order_statistics.rs`):
//! with documents sorted by score, one sweep with a tree over grades gives all of them in O(m log m).
//!
//! | symbol | where | |
//! |---|---|---|
//! | c_i | `Sweep::lower` | documents of lower grade within the margin below s_i |
//! | d_j | `Sweep::higher` | documents of higher grade within the margin above s_j |
//!
//! A list with a single grade has no pairs and counts 0.
//!
//! References: Joachims, *Training linear SVMs in linear time*, 2006; Lee and Lin, *Large-scale linear RankSVM*, 2014.

mod hinge;
mod objective;
pub(crate) mod order_statistics;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(super) use self::hinge::{HingePath, hinge_path};
use self::objective::PairRisk;
use super::path::{LambdaPath, PathPoint, choose};
use super::products::dot;
use super::sample::Sample;
use super::validation::Validation;
use crate::progress::Progress;
use crate::solve::newton::{self, Smooth};
use crate::{Error, Result};

/// Loss of a pair that is not ordered with a margin of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairLoss {
    /// max(0, 1 - z).
    Hinge,
    /// max(0, 1 - z)^2.
    #[default]
    SquaredHinge,
}

/// Parameters of RankSVM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankSvmParams {
    /// Loss of a pair.
    pub loss: PairLoss,
    /// lambda, or several values from which validation chooses.
    pub lambda: LambdaPath,
    /// Stopping criterion: relative gap (hinge), or gradient relative to w = 0 (squared hinge).
    pub tolerance: f64,
    /// Maximum number of iterations per lambda.
    pub max_iterations: u32,
}

impl Default for RankSvmParams {
    fn default() -> Self {
        Self {
            loss: PairLoss::SquaredHinge,
            lambda: LambdaPath::powers_of_ten(1, -6),
            tolerance: 1e-3,
            max_iterations: 500,
        }
    }
}

impl RankSvmParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.lambda.validate()?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) || self.max_iterations == 0 {
            return Err(Error::Params(
                "tolerance must be above 0 and below 1, max_iterations at least 1".into(),
            ));
        }
        Ok(())
    }
}

/// Report of training with a path of lambdas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathReport {
    /// All lambdas that were tried.
    pub path: Vec<PathPoint>,
    /// lambda of the weights that are kept.
    pub lambda: f64,
}

/// Trains on lists whose features are already scaled, for every lambda from the largest down, each from the previous
/// solution. Keeps the weights that are best on `validation`; without validation, those of the smallest lambda.
pub fn fit(
    params: &RankSvmParams,
    sample: &Sample<'_>,
    validation: Option<&Validation<'_>>,
    progress: &dyn Progress,
) -> Result<(Vec<f64>, PathReport)> {
    params.validate()?;
    match params.loss {
        PairLoss::SquaredHinge => {
            let mut risk = PairRisk::squared_hinge(sample);
            let RankSvmParams { lambda, tolerance, max_iterations, .. } = params;
            let path = PathParams { lambda, tolerance: *tolerance, max_iterations: *max_iterations };
            fit_smooth(&mut risk, path, validation, progress)
        }
        PairLoss::Hinge => hinge::fit(params, sample, validation, progress),
    }
}

/// Lambdas to try, and how well a smooth objective is minimised for each.
#[derive(Debug, Clone, Copy)]
pub struct PathParams<'a> {
    /// lambda, or several to choose from by validation.
    pub lambda: &'a LambdaPath,
    /// Gradient, relative to the one at w = 0, at which to stop.
    pub tolerance: f64,
    /// Maximum number of iterations for each lambda.
    pub max_iterations: u32,
}

/// Fits a path of lambdas by the truncated Newton method: minimises lambda/2 ||w||^2 and a risk for every lambda from the
/// largest down, each from the solution of the one before. Keeps the weights that are best on `validation`, or those of
/// the smallest lambda without one.
pub fn fit_smooth(
    risk: &mut impl Smooth,
    params: PathParams<'_>,
    validation: Option<&Validation<'_>>,
    progress: &dyn Progress,
) -> Result<(Vec<f64>, PathReport)> {
    let PathParams { lambda: lambdas, tolerance, max_iterations } = params;
    lambdas.validate()?;
    let mut last = vec![0.0; risk.n_weights()];
    let (_, gradient) = risk.at(&last);
    let reference = dot(&gradient, &gradient).sqrt();
    let chosen = choose(lambdas, validation, progress, |lambda| {
        let start = std::mem::take(&mut last);
        let found = newton::minimise(risk, lambda, start, reference, tolerance, max_iterations);
        last.clone_from(&found.w);
        let point = PathPoint {
            lambda,
            objective: found.objective,
            lower_bound: None,
            relative_gradient: Some(found.relative_gradient),
            iterations: found.iterations,
            validation: None,
        };
        (found.w, point)
    })?;
    Ok((chosen.w, PathReport { lambda: chosen.path[chosen.kept].lambda, path: chosen.path }))
}
