//! Objective (4) over all lists at once: by a bundle method that proves how close it came, or by Pegasos.
//!
//! On judged data w = 0 is often the very minimiser of (4), for every lambda, and ranks nothing. The default
//! ([`Solver::Auto`]) leaves that point: where the bundle method proves w = 0, the weights are those of Pegasos, whose mean
//! iterate is not at the minimum and ranks well. Validation prefers it to the perceptron's rule on both sets of LETOR that
//! are at hand (mean NDCG@10 of the validation folds: MQ2008 0.693 against 0.684, OHSUMED 0.425 against 0.421).

use serde::{Deserialize, Serialize};

use super::bound::GeneralizationBound;
use super::objective::{Goals, SlamObjective};
use super::pegasos::pegasos;
use super::weights::Target;
use crate::progress::Progress;
use crate::ranking::path::{LambdaPath, PathPoint, choose};
use crate::ranking::products::dot;
use crate::ranking::sample::Sample;
use crate::ranking::validation::Validation;
use crate::solve::bundle::{Bundle, Convex};
use crate::{Error, Result};

/// How (4) is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// By the bundle method; where it proves that w = 0 is the minimiser, by Pegasos.
    #[default]
    Auto,
    /// To a gap that is proved.
    Bundle,
    /// By stochastic subgradients, one list at a time; stops anywhere, also away from w = 0.
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
    /// How (4) is minimised.
    pub solver: Solver,
    /// lambda, or several to choose from by validation.
    pub lambda: LambdaPath,
    /// Gap, relative to the objective, at which the bundle method stops.
    pub tolerance: f64,
    /// Iterations of the bundle method for each lambda, at most.
    pub max_iterations: u32,
    /// Passes of Pegasos over the lists for each lambda.
    pub epochs: u32,
}

impl Default for SlamParams {
    fn default() -> Self {
        Self {
            target: Target::NdcgAt(10),
            delta: 1.0,
            solver: Solver::Auto,
            lambda: LambdaPath::powers_of_ten(0, -5),
            tolerance: 1e-3,
            max_iterations: 500,
            epochs: 20,
        }
    }
}

impl SlamParams {
    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        self.lambda.validate()?;
        self.target.check(&[])?;
        if !(self.delta > 0.0 && self.delta.is_finite()) {
            return Err(Error::Params(format!("delta must be a number above 0, and is {}", self.delta)));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) || self.max_iterations == 0 || self.epochs == 0 {
            return Err(Error::Params(
                "tolerance must be above 0 and below 1, max_iterations and epochs at least 1".into(),
            ));
        }
        Ok(())
    }
}

/// How training went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlamReport {
    /// Every lambda that was tried.
    pub path: Vec<PathPoint>,
    /// lambda of the weights that were kept.
    pub lambda: f64,
    /// (4) at the weights that were kept.
    pub objective: f64,
    /// (4) at w = 0.
    pub objective_at_zero: f64,
    /// (4) is nowhere smaller than this at the lambda that was kept; none where that was not proved.
    pub lower_bound: Option<f64>,
    /// True if w = 0 was proved to be as good as any weights at the lambda that was kept, within the tolerance: (4) has
    /// nothing to learn from.
    pub collapsed: bool,
    /// Whether the weights are those of Pegasos.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_pegasos: bool,
    /// Bound (23), where its conditions hold: one lambda, fixed beforehand, the minimiser, and lists that all count the
    /// same. Files of former versions have another one, which did not hold; it is not read.
    #[serde(default, deserialize_with = "super::bound::sound")]
    pub bound: Option<GeneralizationBound>,
}

/// Minimises (4) on lists whose features are scaled already, for every lambda from the largest down, and keeps the
/// weights that are best on `validation`, or those of the smallest lambda without one.
pub fn fit_slam(
    params: &SlamParams,
    sample: &Sample<'_>,
    validation: Option<&Validation<'_>>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<(Vec<f64>, SlamReport)> {
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
    if params.solver != Solver::Pegasos {
        // (4) grows with lambda, and not at w = 0: if that is as good as any weights for the smallest lambda, it is
        // for all.
        let (_, mut point) = by_bundle(params.lambda.smallest(), zero.clone());
        if point.lower_bound.is_some_and(collapsed) {
            point.objective = objective_at_zero;
            proved = Some(point);
        }
    }
    if let (Some(mut point), Solver::Bundle) = (proved, params.solver) {
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
    let by_pegasos = params.solver == Solver::Pegasos || proved.is_some();
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
    // The path may have grown below the lambda of the proof, where nothing is proved.
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

/// Bound (23) of the minimiser, where lambda was fixed beforehand and lists count the same.
fn bound_of(params: &SlamParams, sample: &Sample<'_>, goals: &Goals<'_>) -> Option<GeneralizationBound> {
    match params.lambda {
        LambdaPath::One(lambda) if sample.is_even() => {
            Some(GeneralizationBound::of(sample.lists(), goals, lambda, params.delta))
        }
        _ => None,
    }
}
