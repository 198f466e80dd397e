//! Newton's method for the hinge, smoothed over a width h that shrinks until the gap is small enough.
//!
//! l_h of `objective.rs` has slopes -a in [0, 1]: a = ((1 - z)_+ - (1 - h - z)_+) / h for every pair. Any such a is
//! feasible in the dual of the problem with the hinge itself,
//!
//! D(a) = mean a - 1/(2 lambda) ||mean a (x_i - x_j)||^2 <= min J,
//!
//! and the second mean is the gradient of the smoothed risk. So every point of Newton's method proves a gap J(w) -
//! D(a), at no cost beyond its own sums. At the minimiser of the smoothed problem, the gap is at most h/4 for each pair
//! within h of the kink, and there are few of those: h = 0.1 is often enough for a gap of 0.1 %.

use super::objective::{Means, PairRisk};
use super::{PathReport, RankSvmParams};
use crate::Result;
use crate::progress::Progress;
use crate::ranking::path::{PathPoint, choose};
use crate::ranking::products::dot;
use crate::ranking::sample::Sample;
use crate::ranking::validation::Validation;
use crate::solve::newton;

/// Initial width.
const WIDEST: f64 = 0.5;
/// Smallest width; smaller ones would cost more digits than they gain.
const NARROWEST: f64 = 1e-9;
/// Rounding error of the dual, which is a difference of sums of scores over the width, relative to the largest score
/// over the width. It is subtracted to obtain a valid bound.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Absolute gap that may remain because of rounding, however small J is; the gap of w = 0 is 1. The reported gap is the
/// proven one.
#[cfg(test)]
pub(super) const PRECISION: f64 = 1e-8;

pub(super) fn fit(
    params: &RankSvmParams,
    sample: &Sample<'_>,
    validation: Option<&Validation<'_>>,
    progress: &dyn Progress,
) -> Result<(Vec<f64>, PathReport)> {
    let mut risk = PairRisk::squared_hinge(sample);
    let mut last = vec![0.0; sample.lists().n_features()];
    let (tolerance, most) = (params.tolerance, params.max_iterations);
    let chosen = choose(&params.lambda, validation, progress, |lambda| {
        let (w, point) = minimise(&mut risk, tolerance, most, lambda, std::mem::take(&mut last));
        last.clone_from(&w);
        (w, point)
    })?;
    Ok((chosen.w, PathReport { lambda: chosen.path[chosen.kept].lambda, path: chosen.path }))
}

/// Parameters of a path of lambdas, the largest first.
pub(in crate::ranking) struct HingePath<'a> {
    pub(in crate::ranking) lambdas: &'a [f64],
    pub(in crate::ranking) tolerance: f64,
    pub(in crate::ranking) max_iterations: u32,
}

/// Solves for every lambda, each from the previous solution; `each` receives all of them.
pub(in crate::ranking) fn hinge_path(
    path: &HingePath<'_>,
    sample: &Sample<'_>,
    mut each: impl FnMut(&[f64], PathPoint),
) {
    let mut risk = PairRisk::squared_hinge(sample);
    let mut w = vec![0.0; sample.lists().n_features()];
    for &lambda in path.lambdas {
        let point;
        (w, point) = minimise(&mut risk, path.tolerance, path.max_iterations, lambda, w);
        each(&w, point);
    }
}

fn minimise(
    risk: &mut PairRisk<'_, '_>,
    tolerance: f64,
    max_iterations: u32,
    lambda: f64,
    start: Vec<f64>,
) -> (Vec<f64>, PathPoint) {
    let (mut w, mut width, mut iterations) = (start, WIDEST, 0);
    let (mut best, mut lower_bound) = ((f64::INFINITY, Vec::new()), 0.0f64);
    loop {
        risk.round_hinge(width);
        // The remaining gradient adds its square over 2 lambda to the gap. J is at most 1, the value at w = 0.
        let remainder = (0.1 * tolerance * best.0.min(1.0) * lambda).sqrt();
        let found = newton::minimise(risk, lambda, w, 1.0, remainder, max_iterations - iterations);
        iterations += found.iterations;
        w = found.w;
        let Means { hinges, gradient, .. } = risk.means(&w);
        let objective = hinges[0] + 0.5 * lambda * dot(&w, &w);
        if objective < best.0 {
            best = (objective, w.clone());
        }
        let dual = (hinges[0] - hinges[1]) / width - 0.5 / lambda * dot(&gradient, &gradient);
        let rounding = ROUNDING * (1.0 + risk.largest_score()) / width;
        lower_bound = lower_bound.max(dual - rounding);
        let (gap, wanted) = (best.0 - lower_bound, tolerance * best.0);
        // The gap is roughly proportional to the square of the width.
        width *= (0.5 * wanted / gap).sqrt().clamp(0.1, 0.5);
        if gap <= wanted || width < NARROWEST || iterations >= max_iterations {
            let (objective, w) = best;
            let point = PathPoint {
                lambda,
                objective,
                lower_bound: Some(lower_bound),
                relative_gradient: None,
                iterations,
                validation: None,
            };
            return (w, point);
        }
    }
}
