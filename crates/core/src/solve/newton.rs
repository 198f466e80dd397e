//! Truncated Newton method for smooth convex functions.
//!
//! Problem: minimise J(w) = lambda/2 ||w||^2 + R(w), given R(w), its gradient, and products of its (generalized) Hessian
//! with vectors.
//!
//! Each step p solves (H + lambda I) p = -gradient approximately, by conjugate gradients that stop at a residual of
//! min(0.1, sqrt(relative gradient)) of the right-hand side, so that early steps are cheap. Then w moves along p by the
//! first of 1, 1/2, 1/4, ... that decreases J enough (Armijo).
//!
//! Reference: Nocedal and Wright, *Numerical optimization*, 2006, Algorithm 7.1.

use crate::linalg::dot_f64;

/// A smooth convex function of weights that remembers its last argument.
pub trait Smooth {
    /// Number of weights.
    fn n_weights(&self) -> usize;
    /// Returns the value and the gradient.
    fn at(&mut self, w: &[f64]) -> (f64, Vec<f64>);
    /// Returns the Hessian at the last w times a vector.
    fn curvature(&self, direction: &[f64]) -> Vec<f64>;
}

/// Result of the method.
#[derive(Debug, Clone)]
pub(crate) struct Stationary {
    pub(crate) w: Vec<f64>,
    /// J(w).
    pub(crate) objective: f64,
    /// Norm of the gradient of J, relative to w = 0.
    pub(crate) relative_gradient: f64,
    pub(crate) iterations: u32,
}

/// Maximum number of conjugate gradient steps.
const INNER_STEPS: usize = 100;
/// Maximum number of halvings of a step.
const HALVINGS: usize = 40;

/// Minimises J from `start`, until the gradient is at most `tolerance` times `reference`, the gradient at w = 0, or the
/// iterations run out.
pub(crate) fn minimise(
    risk: &mut impl Smooth,
    lambda: f64,
    start: Vec<f64>,
    reference: f64,
    tolerance: f64,
    max_iterations: u32,
) -> Stationary {
    let mut w = start;
    let regularized = |risk: f64, w: &[f64]| risk + 0.5 * lambda * dot_f64(w, w);
    let (value, mut gradient) = risk.at(&w);
    let mut objective = regularized(value, &w);
    let mut iterations = 0;
    loop {
        gradient.iter_mut().zip(&w).for_each(|(gradient, w)| *gradient += lambda * w);
        let relative_gradient = dot_f64(&gradient, &gradient).sqrt() / reference.max(f64::MIN_POSITIVE);
        if relative_gradient <= tolerance || iterations == max_iterations {
            return Stationary { w, objective, relative_gradient, iterations };
        }
        iterations += 1;
        let step = newton_step(risk, lambda, &gradient, relative_gradient);
        let slope = dot_f64(&gradient, &step);
        let mut length = 1.0;
        let moved = (0..HALVINGS).find_map(|_| {
            let next: Vec<f64> = w.iter().zip(&step).map(|(w, step)| w + length * step).collect();
            let (value, gradient) = risk.at(&next);
            let reached = regularized(value, &next);
            let enough = reached <= objective + 1e-4 * length * slope;
            length *= 0.5;
            (enough && reached < objective).then_some((next, reached, gradient))
        });
        let Some(moved) = moved else {
            // No progress is possible beyond rounding errors.
            return Stationary { w, objective, relative_gradient, iterations };
        };
        (w, objective, gradient) = moved;
    }
}

/// Solves (H + lambda I) p = -gradient by conjugate gradients.
fn newton_step(risk: &impl Smooth, lambda: f64, gradient: &[f64], relative_gradient: f64) -> Vec<f64> {
    let mut step = vec![0.0; gradient.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    let mut square = dot_f64(&residual, &residual);
    let enough = square * relative_gradient.sqrt().min(0.1).powi(2);
    for _ in 0..INNER_STEPS.min(2 * gradient.len() + 1) {
        let mut image = risk.curvature(&direction);
        image.iter_mut().zip(&direction).for_each(|(image, direction)| *image += lambda * direction);
        let bend = dot_f64(&direction, &image);
        if bend <= 0.0 {
            break;
        }
        let length = square / bend;
        step.iter_mut().zip(&direction).for_each(|(step, direction)| *step += length * direction);
        residual.iter_mut().zip(&image).for_each(|(residual, image)| *residual -= length * image);
        let before = std::mem::replace(&mut square, dot_f64(&residual, &residual));
        if square <= enough {
            break;
        }
        let keep = square / before;
        direction
            .iter_mut()
            .zip(&residual)
            .for_each(|(direction, residual)| *direction = residual + keep * *direction);
    }
    step
}
