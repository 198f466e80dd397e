//! Minimises objective (4) over all lists at once: by a bundle method with a proven gap, or by Pegasos.
//!
//! On judged data w = 0 is often the exact minimiser of (4), for every lambda, and ranks nothing. The default
//! ([`SlamSolver::Auto`]) avoids that point: if the bundle method proves w = 0, the weights are those of Pegasos, whose
//! mean iterate is not at the minimum and ranks well. Validation prefers it to the perceptron's rule on both available
//! sets of LETOR (mean NDCG@10 of the validation folds: MQ2008 0.693 against 0.684, OHSUMED 0.425 against 0.421).

use serde::{Deserialize, Serialize};

use super::bound::GeneralizationBound;
use super::objective::{Goals, SlamObjective};
use super::pegasos::pegasos;
use super::weights::Target;
use crate::ranking::path::{LambdaPath, PathPoint, choose};
use crate::ranking::products::dot;
use crate::ranking::sample::Sample;
use crate::ranking::validation::Fitting;
use crate::solve::bundle::{Bundle, Convex};
use crate::{Error, Result};

/// Solver of (4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlamSolver {
    /// The bundle method; if that proves that w = 0 is the minimiser, Pegasos.
    #[default]
    Auto,
    /// The bundle method, to a proven gap.
    Bundle,
    /// Stochastic subgradients, one list at a time; may stop away from the minimiser, hence also away from w = 0.
    Pegasos,
}

/// Parameters of SLAM in batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlamParams {
    /// The measure whose loss is bounded.
    pub target: Target,
    /// Delta, the margin.
    pub delta: f64,
    /// Solver of (4).
    pub solver: SlamSolver,
    /// lambda, or several values from which validation chooses.
    pub lambda: LambdaPath,
    /// Gap, relative to the objective, at which the bundle method stops.
    pub tolerance: f64,
    /// Maximum number of iterations of the bundle method per lambda.
    pub max_iterations: u32,
    /// Number of passes of Pegasos over the lists per lambda.
    pub epochs: u32,
}

impl Default for SlamParams {
    fn default() -> Self {
        Self {
            target: Target::NdcgAt(10),
            delta: 1.0,
            solver: SlamSolver::Auto,
            lambda: LambdaPath::powers_of_ten(0, -5),
            tolerance: 1e-3,
            max_iterations: 500,
            epochs: 20,
        }
    }
}

impl SlamParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.lambda.validate()?;
        self.target.check(&[])?;
        if !(self.delta > 0.0 && self.delta.is_finite()) {
            return Err(Error::Params(format!("delta must be a finite number above 0, not {}", self.delta)));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) || self.max_iterations == 0 || self.epochs == 0 {
            return Err(Error::Params(
                "tolerance must be above 0 and below 1, max_iterations and epochs at least 1".into(),
            ));
        }
        Ok(())
    }
}

/// Report of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlamReport {
    /// All lambdas that were tried.
    pub path: Vec<PathPoint>,
    /// lambda of the weights that are kept.
    pub lambda: f64,
    /// (4) at the weights that are kept.
    pub objective: f64,
    /// (4) at w = 0.
    pub objective_at_zero: f64,
    /// Lower bound of (4) at the lambda that is kept; `None` if none was proven.
    pub lower_bound: Option<f64>,
    /// True if w = 0 was proven to be as good as any weights at the lambda that is kept, within the tolerance: (4) has
    /// nothing to learn from.
    pub collapsed: bool,
    /// True if the weights are those of Pegasos.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_pegasos: bool,
    /// Bound (23), if its conditions hold: one lambda, fixed beforehand, the minimiser, and equal weights of all lists.
    /// Files of former versions contain a different, invalid bound, which is not read.
    #[serde(default, deserialize_with = "super::bound::sound")]
    pub bound: Option<GeneralizationBound>,
}

/// Minimises (4) on lists whose features are already scaled, for every lambda from the largest down. Keeps the weights
/// that are best on `validation`; without validation, those of the smallest lambda.
pub fn fit(
    params: &SlamParams,
    sample: &Sample<'_>,
    fitting: &Fitting<'_>,
) -> Result<(Vec<f64>, SlamReport)> {
    let Fitting { validation, seed, progress } = *fitting;
    params.validate()?;
    let goals = Goals::new(params.target, sample.lists())?;
    let risk = SlamObjective { sample, goals: &goals, delta: params.delta };
    let zero = vec![0.0; risk.n_weights()];
    let (objective_at_zero, _) = risk.at(&zero);
    let collapsed = |bound: f64| objective_at_zero - bound <= params.tolerance * objective_at_zero;
    let mut bundle = Bundle::default();
    let mut by_bundle = |lambda: f64, start: Vec<f64>| {
        let found = bundle.minimise(&risk, lambda, start, params.tolerance, params.max_iterations);
        let point = PathPoint {
            lambda,
            objective: found.objective,
            lower_bound: Some(found.lower_bound),
            relative_gradient: None,
            iterations: found.iterations,
            validation: None,
        };
        (found.w, point)
    };
    let mut proved = None;
    if params.solver != SlamSolver::Pegasos {
        // (4) grows with lambda except at w = 0: if w = 0 is as good as any weights for the smallest lambda, it is so
        // for all.
        let (_, mut point) = by_bundle(params.lambda.smallest(), zero.clone());
        if point.lower_bound.is_some_and(collapsed) {
            point.objective = objective_at_zero;
            proved = Some(point);
        }
    }
    if let (Some(mut point), SlamSolver::Bundle) = (proved, params.solver) {
        point.validation = validation.map(|validation| validation.of_weights(&zero)).transpose()?;
        let report = SlamReport {
            lambda: point.lambda,
            objective: objective_at_zero,
            objective_at_zero,
            lower_bound: point.lower_bound,
            collapsed: true,
            by_pegasos: false,
            bound: bound_of(params, sample, &goals),
            path: vec![point],
        };
        return Ok((zero, report));
    }
    let by_pegasos = params.solver == SlamSolver::Pegasos || proved.is_some();
    let mut last = zero;
    let chosen = choose(&params.lambda, validation, progress, |lambda| {
        if by_pegasos {
            let w = pegasos(sample, &goals, params, lambda, seed);
            let objective = risk.at(&w).0 + 0.5 * lambda * dot(&w, &w);
            let point = PathPoint {
                lambda,
                objective,
                lower_bound: None,
                relative_gradient: None,
                iterations: params.epochs,
                validation: None,
            };
            (w, point)
        } else {
            let (w, point) = by_bundle(lambda, std::mem::take(&mut last));
            last.clone_from(&w);
            (w, point)
        }
    })?;
    let point = chosen.path[chosen.kept];
    // The path may have been extended below the lambda of the proof, where nothing is proven.
    let proved = proved.filter(|proved| proved.lambda <= point.lambda);
    let lower_bound = point.lower_bound.or(proved.and_then(|proved| proved.lower_bound));
    let report = SlamReport {
        lambda: point.lambda,
        objective: point.objective,
        objective_at_zero,
        lower_bound,
        collapsed: lower_bound.is_some_and(collapsed),
        by_pegasos,
        bound: if by_pegasos { None } else { bound_of(params, sample, &goals) },
        path: chosen.path,
    };
    Ok((chosen.w, report))
}

/// Computes bound (23) of the minimiser, if lambda was fixed beforehand and all lists have equal weights.
fn bound_of(params: &SlamParams, sample: &Sample<'_>, goals: &Goals<'_>) -> Option<GeneralizationBound> {
    match params.lambda {
        LambdaPath::One(lambda) if sample.is_even() => {
            Some(GeneralizationBound::of(sample.lists(), goals, lambda, params.delta))
        }
        _ => None,
    }
}
