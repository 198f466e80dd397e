//! Parameters of query-dependent ranking.

use serde::{Deserialize, Serialize};

use super::problem::Loss;
use super::query_features::RankingKernel;
use super::solver::Solver;
use super::space::{DocumentKernel, Form};
use super::weights::Weights;
use crate::ranking::path::LambdaPath;
use crate::{Error, Result};

/// Parameters of query-dependent ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryDependentParams {
    /// How training queries are weighed for a target.
    pub weights: Weights,
    /// k: the nearest training queries that count, for a target that is one of them.
    pub neighbours: usize,
    /// k for a target that is new.
    pub novel_neighbours: usize,
    /// h; none for the median distance to the target.
    pub bandwidth: Option<f64>,
    /// A target whose nearest training query is farther away than this many times the largest distance from a
    /// training query to the nearest one at another place has no neighbour, and gets the uniform function.
    pub reach: f64,
    /// How query features that are rankings are compared.
    pub rankings: RankingKernel,
    /// How documents are compared.
    pub kernel: DocumentKernel,
    /// sigma^2 of the Gaussian kernel; none for the median distance between documents.
    pub width: Option<f64>,
    /// What is learned.
    pub form: Form,
    /// What a pair costs.
    pub loss: Loss,
    /// lambda, or several to choose from by validation.
    pub lambda: LambdaPath,
    /// How the hinge is minimised.
    pub solver: Solver,
    /// Relative duality gap at which to stop.
    pub tolerance: f64,
    /// Rounds for each lambda, at most.
    pub max_iterations: u32,
}

impl Default for QueryDependentParams {
    fn default() -> Self {
        Self {
            weights: Weights::Gaussian,
            neighbours: 15,
            novel_neighbours: 15,
            bandwidth: None,
            reach: 3.0,
            rankings: RankingKernel::Kendall,
            kernel: DocumentKernel::Linear,
            width: None,
            form: Form::Scoring,
            loss: Loss::Hinge,
            lambda: LambdaPath::powers_of_ten(1, -6),
            solver: Solver::Auto,
            tolerance: 1e-3,
            max_iterations: 1000,
        }
    }
}

impl QueryDependentParams {
    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        self.lambda.validate()?;
        let positive = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value.is_finite());
        if self.neighbours == 0 || self.novel_neighbours == 0 {
            return Err(Error::Params("neighbours and novel_neighbours must be at least 1".into()));
        }
        if !positive(self.bandwidth) || !positive(self.width) || self.reach.is_nan() || self.reach <= 0.0 {
            return Err(Error::Params("bandwidth, width and reach must be above 0".into()));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) || self.max_iterations == 0 {
            return Err(Error::Params(
                "tolerance must be above 0 and below 1, max_iterations at least 1".into(),
            ));
        }
        if self.loss != Loss::Hinge && !matches!(self.solver, Solver::Auto) {
            return Err(Error::Params(
                "solvers are for the hinge; the logistic and the psi loss have one each (solver=auto)".into(),
            ));
        }
        if self.solver == Solver::Newton && self.kernel == DocumentKernel::Gaussian {
            return Err(Error::Params(
                "newton works with order statistics of linear scores; use auto with the Gaussian kernel"
                    .into(),
            ));
        }
        Ok(())
    }
}
