//! Parameters of query-dependent ranking.

use serde::{Deserialize, Serialize};

use super::problem::Loss;
use super::query_features::RankingKernel;
use super::solver::PairSolver;
use super::space::{DocumentKernel, QueryForm};
use super::weights::Weights;
use crate::ranking::path::LambdaPath;
use crate::{Error, Result};

/// Parameters of query-dependent ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryDependentParams {
    /// Weights of the training queries for a target.
    pub weights: Weights,
    /// k: number of nearest training queries that count, for a target that is a training query.
    pub neighbours: usize,
    /// k for a new target.
    pub novel_neighbours: usize,
    /// h; `None` for the median distance to the target.
    pub bandwidth: Option<f64>,
    /// Reach, in units of the largest distance from a training query to the nearest one at another place. A target
    /// whose nearest training query is out of reach has no neighbour, and gets the uniform function.
    pub reach: f64,
    /// Kernel of query features that are rankings.
    pub rankings: RankingKernel,
    /// Kernel of documents.
    pub kernel: DocumentKernel,
    /// sigma^2 of the Gaussian kernel; `None` for the median distance between documents.
    pub width: Option<f64>,
    /// Form of the learned function.
    pub form: QueryForm,
    /// Loss of a pair.
    pub loss: Loss,
    /// lambda, or several values from which validation chooses.
    pub lambda: LambdaPath,
    /// Solver of the hinge.
    pub solver: PairSolver,
    /// Relative duality gap at which to stop.
    pub tolerance: f64,
    /// Maximum number of rounds per lambda.
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
            form: QueryForm::Scoring,
            loss: Loss::Hinge,
            lambda: LambdaPath::powers_of_ten(1, -6),
            solver: PairSolver::Auto,
            tolerance: 1e-3,
            max_iterations: 1000,
        }
    }
}

impl QueryDependentParams {
    /// Returns an error if a parameter is out of range.
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
        if self.loss != Loss::Hinge && !matches!(self.solver, PairSolver::Auto) {
            return Err(Error::Params(
                "only the hinge has a choice of solvers; use solver=auto with the logistic or the psi loss"
                    .into(),
            ));
        }
        if self.solver == PairSolver::Newton && self.kernel == DocumentKernel::Gaussian {
            return Err(Error::Params(
                "the newton solver supports only the linear kernel; use solver=auto with the Gaussian kernel"
                    .into(),
            ));
        }
        Ok(())
    }
}
