//! Several lambdas, from the largest down, and the one that is best on validation.

use serde::{Deserialize, Serialize};

use super::validation::Validation;
use crate::progress::Progress;
use crate::{Error, Result};

/// One lambda, or a path of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LambdaPath {
    /// A single one.
    One(f64),
    /// Several; validation chooses.
    Path(Vec<f64>),
}

impl LambdaPath {
    /// 10^first, 10^(first - 1), ..., 10^last.
    pub fn powers_of_ten(first: i32, last: i32) -> Self {
        Self::Path((last..=first).rev().map(|power| 10f64.powi(power)).collect())
    }

    /// The smallest.
    pub(crate) fn smallest(&self) -> f64 {
        self.descending().last().copied().unwrap_or(f64::NAN)
    }

    /// From the largest to the smallest.
    fn descending(&self) -> Vec<f64> {
        let mut all = match self {
            Self::One(lambda) => vec![*lambda],
            Self::Path(lambdas) => lambdas.clone(),
        };
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }
}

/// Refuses lambdas that are not numbers above 0.
pub(crate) fn check_lambdas(path: &LambdaPath) -> Result<()> {
    let lambdas = path.descending();
    match lambdas.iter().find(|lambda| !(**lambda > 0.0 && lambda.is_finite())) {
        Some(lambda) => Err(Error::Params(format!("lambda must be a number above 0, and is {lambda}"))),
        None if lambdas.is_empty() => {
            Err(Error::Params("there is no lambda to try; give at least one".into()))
        }
        None => Ok(()),
    }
}

/// What came of one lambda.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// The weight of 1/2 ||w||^2.
    pub lambda: f64,
    /// The objective that was reached.
    pub objective: f64,
    /// What no weights can go below, where the solver proves that.
    pub lower_bound: Option<f64>,
    /// Norm of the gradient relative to the one at w = 0, of smooth objectives.
    pub relative_gradient: Option<f64>,
    /// Iterations of the solver.
    pub iterations: u32,
    /// The validation measure.
    pub validation: Option<f64>,
}

pub(crate) struct Chosen {
    pub(crate) w: Vec<f64>,
    pub(crate) path: Vec<PathPoint>,
    /// Where in `path` the weights are from.
    pub(crate) kept: usize,
}

/// Solves for every lambda from the largest down. The best on validation is kept, of equals the larger lambda; without
/// validation the smallest lambda.
pub(crate) fn choose(
    lambdas: &LambdaPath,
    validation: Option<&Validation<'_>>,
    progress: &dyn Progress,
    mut solve: impl FnMut(f64) -> (Vec<f64>, PathPoint),
) -> Result<Chosen> {
    let lambdas = lambdas.descending();
    progress.begin("learning", Some(lambdas.len() as u64), "lambdas");
    let mut best: Option<(f64, usize, Vec<f64>)> = None;
    let mut path = Vec::with_capacity(lambdas.len());
    for (i, &lambda) in lambdas.iter().enumerate() {
        let (w, mut point) = solve(lambda);
        if w.iter().any(|w| !w.is_finite()) {
            return Err(Error::Diverged(format!(
                "the weights are no finite numbers at lambda = {lambda}; scale the features, or use a larger lambda"
            )));
        }
        point.validation = validation.map(|validation| validation.of_weights(&w)).transpose()?;
        path.push(point);
        let figure = point.validation.unwrap_or(i as f64);
        if best.as_ref().is_none_or(|(best, ..)| figure > *best) {
            best = Some((figure, i, w));
        }
        progress.advance(1);
    }
    let (_, kept, w) = best.expect("there is a lambda");
    Ok(Chosen { w, path, kept })
}
