//! Tries several lambdas, from the largest down, and keeps the best on the validation set. If the best lambda is at an
//! end of the path, the path is extended.

use serde::{Deserialize, Serialize};

use super::validation::Validation;
use crate::message::shortest;
use crate::progress::Progress;
use crate::{Error, Result};

/// One lambda, or a path of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LambdaPath {
    /// A single value.
    One(f64),
    /// Several values from which validation chooses; the path is extended if the best one is at an end.
    Path(Vec<f64>),
}

impl LambdaPath {
    /// Returns 10^first, 10^(first - 1), ..., 10^last.
    pub fn powers_of_ten(first: i32, last: i32) -> Self {
        Self::Path((last..=first).rev().map(|power| 10f64.powi(power)).collect())
    }

    /// Returns the smallest lambda.
    pub(crate) fn smallest(&self) -> f64 {
        self.descending().last().copied().unwrap_or(f64::NAN)
    }

    /// Returns an error if a lambda is not a finite number above 0, or if there is none.
    pub fn validate(&self) -> Result<()> {
        let lambdas = self.descending();
        match lambdas.iter().find(|lambda| !(**lambda > 0.0 && lambda.is_finite())) {
            Some(lambda) => {
                Err(Error::Params(format!("lambda must be a finite number above 0, not {lambda}")))
            }
            None if lambdas.is_empty() => {
                Err(Error::Params("there is no lambda to try; give at least one".into()))
            }
            None => Ok(()),
        }
    }

    /// Returns the lambdas from the largest to the smallest.
    fn descending(&self) -> Vec<f64> {
        let mut all = match self {
            Self::One(lambda) => vec![*lambda],
            Self::Path(lambdas) => lambdas.clone(),
        };
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }
}

/// Result for one lambda.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// lambda, the weight of 1/2 ||w||^2.
    pub lambda: f64,
    /// Objective at the solution.
    pub objective: f64,
    /// Lower bound of the objective, if the solver proves one.
    pub lower_bound: Option<f64>,
    /// Norm of the gradient relative to w = 0, for smooth objectives.
    pub relative_gradient: Option<f64>,
    /// Number of iterations of the solver.
    pub iterations: u32,
    /// Validation measure.
    pub validation: Option<f64>,
}

pub(crate) struct Chosen {
    pub(crate) w: Vec<f64>,
    pub(crate) path: Vec<PathPoint>,
    /// Index in `path` of the lambda whose weights are kept.
    pub(crate) kept: usize,
}

/// Maximum number of lambdas beyond an end of the path.
const MOST_BEYOND: usize = 6;

/// Returns the lambda to try next if the best value is at an end of the path: as far beyond that end as the last two
/// lambdas are apart. `path` holds lambdas from the largest down, each with a value that is better when larger. Returns
/// `None` if a lambda inside the path is as good, or the path has one lambda.
pub fn beyond_the_end(path: &[(f64, f64)]) -> Option<f64> {
    let [first, second, ..] = path else { return None };
    let [.., before, last] = path else { return None };
    let inside = path[1..path.len() - 1].iter().map(|(_, figure)| *figure).fold(f64::NEG_INFINITY, f64::max);
    let next = if first.1 > inside.max(last.1) {
        first.0 * (first.0 / second.0)
    } else if last.1 > inside.max(first.1) {
        last.0 * (last.0 / before.0)
    } else {
        return None;
    };
    (next.is_normal() && next != first.0 && next != last.0).then_some(next)
}

/// Solves for every lambda from the largest down, then beyond the end with the best lambda, until the best is inside
/// the path or [`MOST_BEYOND`] more were tried. Keeps the best on validation, the first one found in case of equality.
/// Without validation, keeps the smallest lambda.
pub(crate) fn choose(
    lambdas: &LambdaPath,
    validation: Option<&Validation<'_>>,
    progress: &dyn Progress,
    mut solve: impl FnMut(f64) -> (Vec<f64>, PathPoint),
) -> Result<Chosen> {
    let lambdas = lambdas.descending();
    progress.begin("learning", Some(lambdas.len() as u64), "lambdas");
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    let mut path: Vec<PathPoint> = Vec::with_capacity(lambdas.len());
    let mut consider = |lambda: f64, path: &mut Vec<PathPoint>| {
        let (w, mut point) = solve(lambda);
        if w.iter().any(|w| !w.is_finite()) {
            return Err(Error::Diverged(format!(
                "the weights are not finite at lambda = {lambda}; scale the features, or use a larger lambda"
            )));
        }
        point.validation = validation.map(|validation| validation.of_weights(&w)).transpose()?;
        // Without validation, a later lambda is better.
        let figure = point.validation.unwrap_or(path.len() as f64);
        let place = path.partition_point(|other| other.lambda >= lambda);
        path.insert(place, point);
        if best.as_ref().is_none_or(|(best, ..)| figure > *best) {
            best = Some((figure, lambda, w));
        }
        progress.advance(1);
        Ok(())
    };
    for &lambda in &lambdas {
        consider(lambda, &mut path)?;
    }
    let figures = |path: &[PathPoint]| -> Vec<(f64, f64)> {
        path.iter().filter_map(|point| Some((point.lambda, point.validation?))).collect()
    };
    for _ in 0..MOST_BEYOND {
        let Some(lambda) = beyond_the_end(&figures(&path)) else { break };
        consider(lambda, &mut path)?;
    }
    let (_, kept, w) = best.expect("there is at least one lambda");
    if beyond_the_end(&figures(&path)).is_some() {
        progress.note(&format!(
            "the best lambda, {}, is at the end of those that were tried; one beyond it may be better",
            shortest(kept)
        ));
    }
    let kept = path.iter().position(|point| point.lambda == kept).expect("it was tried");
    Ok(Chosen { w, path, kept })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Notes;
    use crate::ranking::testing::lists;

    #[test]
    fn a_path_goes_on_beyond_the_end_at_which_the_best_stands_alone() {
        let next = |path: &[(f64, f64)]| beyond_the_end(path);
        assert_eq!(next(&[(1.0, 0.5), (0.5, 0.4), (0.25, 0.3)]), Some(2.0));
        assert_eq!(next(&[(1.0, 0.3), (0.5, 0.4), (0.125, 0.5)]), Some(0.03125));
        assert_eq!(next(&[(1.0, 0.3), (0.5, 0.4), (0.25, 0.3)]), None);
        assert_eq!(next(&[(1.0, 0.5), (0.5, 0.5), (0.25, 0.3)]), None, "as good inside");
        assert_eq!(next(&[(1.0, 0.5), (0.5, 0.4)]), Some(2.0));
        assert_eq!(next(&[(1.0, 0.5)]), None);
        assert_eq!(next(&[(1.0, 0.4), (1.0, 0.5)]), None, "no two lambdas");
    }

    fn point(lambda: f64) -> PathPoint {
        let (objective, lower_bound, relative_gradient) = (0.0, None, None);
        PathPoint { lambda, objective, lower_bound, relative_gradient, iterations: 1, validation: None }
    }

    /// One relevant document below nineteen others; a weight of b on feature 2 moves it above b of them.
    #[test]
    fn the_best_lambda_is_found_beyond_the_path_or_said_to_be_at_its_end() {
        let rows = (0u8..20).map(|i| vec![f32::from(i), f32::from(u8::from(i == 0))]).collect();
        let lists = lists(&[(rows, (0u8..20).map(|i| f32::from(u8::from(i == 0))).collect())]);
        let validation = Validation::new(&lists, "mrr".parse().unwrap()).unwrap();
        let run = |b: &dyn Fn(f64) -> f64, lambdas: &[f64], notes: &Notes| {
            let mut tried = Vec::new();
            let chosen = choose(&LambdaPath::Path(lambdas.to_vec()), Some(&validation), notes, |lambda| {
                tried.push(lambda);
                (vec![1.0, b(lambda) + 0.5], point(lambda))
            });
            (chosen.unwrap(), tried)
        };
        let notes = Notes::default();
        let best_at = |wanted: f64| move |lambda: f64| if lambda == wanted { 9.0 } else { 0.0 };
        let (chosen, tried) = run(&best_at(0.25), &[1.0, 0.5, 0.25], &notes);
        assert_eq!(tried, [1.0, 0.5, 0.25, 0.125], "one beyond is enough");
        assert_eq!((chosen.path[chosen.kept].lambda, chosen.w[1]), (0.25, 9.5));
        let (chosen, tried) = run(&best_at(1.0), &[0.25, 0.5, 1.0], &notes);
        assert_eq!(tried, [1.0, 0.5, 0.25, 2.0]);
        let in_order: Vec<f64> = chosen.path.iter().map(|point| point.lambda).collect();
        assert_eq!((in_order, chosen.kept), (vec![2.0, 1.0, 0.5, 0.25], 1));
        let (chosen, tried) = run(&best_at(0.5), &[1.0, 0.5, 0.25], &notes);
        assert_eq!((tried.len(), chosen.kept), (3, 1));
        assert!(notes.take().is_empty(), "all inside");
        // The smaller the lambda, the better.
        let (chosen, tried) = run(&|lambda| -lambda.log2(), &[1.0, 0.5, 0.25], &notes);
        assert_eq!((tried.len(), chosen.kept), (3 + MOST_BEYOND, 2 + MOST_BEYOND));
        assert!(notes.take()[0].contains("is at the end of those that were tried"));
    }
}
