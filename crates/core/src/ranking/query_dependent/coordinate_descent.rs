//! Dual coordinate descent for the hinge: optimises one pair at a time, exactly.
//!
//! Problem: maximise D(alpha) = sum alpha_p - ||sum alpha_p z_p||^2 / (2 lambda) over 0 <= alpha_p <= c_p; then
//! w = v / lambda with v = sum alpha_p z_p. With all others fixed the best alpha_p is
//!
//! clamp(alpha_p + lambda (1 - w . z_p) / ||z_p||^2, 0, c_p).
//!
//! Rounds alternate. First, all margins are computed at once, cheaply (`PairProblem::margins`). They give the duality gap
//! J(w) - D(alpha), and show which pairs are already optimal: those at 0 with a margin above 1, and those at c with a
//! margin below 1. Then some sweeps go over the other pairs in random order. v does not depend on lambda, so a path of
//! lambdas continues from the last solution. At a lambda so large that every margin is below 1, alpha = c is optimal
//! and costs one check.
//!
//! Boxes may be moved to [-c, 0], which adds c times the margin to the hinge: the psi loss is a sequence of such convex
//! problems (`psi.rs`).
//!
//! Reference: Hsieh et al., *A dual coordinate descent method for large-scale linear SVM*, 2008.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::problem::{Loss, PairProblem, Solution, add_lanes, dot, dot_lanes};
use crate::linalg::simd::vectorised;

/// Number of sweeps between two checks of all pairs.
const SWEEPS: usize = 4;

/// Maximum number of values of all z together that are stored: 32 MiB.
const MOST_NUMBERS: usize = if cfg!(test) { 200 } else { 1 << 22 };

/// A problem with its pairs formed, and the current state of the dual.
pub struct CoordinateDescent<'p> {
    problem: &'p PairProblem,
    /// z of every pair; empty if they would take too much memory, and are then computed when needed.
    z: Vec<f64>,
    /// ||z||^2.
    squares: Vec<f64>,
    /// Lower and upper ends of the box of each alpha.
    low: Vec<f64>,
    high: Vec<f64>,
    alpha: Vec<f64>,
    v: Vec<f64>,
    order: Vec<u32>,
    scores: Vec<f64>,
    margins: Vec<f64>,
    rng: Xoshiro256PlusPlus,
}

impl<'p> CoordinateDescent<'p> {
    /// Starts at alpha = c, the solution for a very large lambda.
    pub fn new(problem: &'p PairProblem) -> Self {
        let (stride, n) = (problem.stride(), problem.pairs().len());
        let is_kept = n * stride <= MOST_NUMBERS;
        let mut z = Vec::with_capacity(if is_kept { n * stride } else { 0 });
        let (mut squares, mut difference) = (Vec::with_capacity(n), vec![0.0; stride]);
        for pair in problem.pairs() {
            problem.difference(pair, &mut difference);
            squares.push(dot(&difference, &difference));
            if is_kept {
                z.extend_from_slice(&difference);
            }
        }
        let high: Vec<f64> = problem.pairs().iter().map(|pair| pair.cost).collect();
        let mut solver = Self {
            problem,
            z,
            squares,
            low: vec![0.0; n],
            alpha: high.clone(),
            high,
            v: vec![0.0; stride],
            order: Vec::with_capacity(n),
            scores: Vec::new(),
            margins: Vec::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(n as u64),
        };
        solver.refresh();
        solver
    }

    /// Recomputes v from alpha: sums that were updated many times lose digits.
    fn refresh(&mut self) {
        self.problem.combine(self.alpha.iter().copied(), &mut self.scores, &mut self.v);
    }

    /// Moves the boxes of some pairs to [-c, 0], and of all others back to [0, c].
    pub(super) fn set_boxes(&mut self, moved: &[bool]) {
        for (p, pair) in self.problem.pairs().iter().enumerate() {
            (self.low[p], self.high[p]) = if moved[p] { (-pair.cost, 0.0) } else { (0.0, pair.cost) };
            self.alpha[p] = self.alpha[p].clamp(self.low[p], self.high[p]);
        }
        self.refresh();
    }

    /// Returns the margins at the last solution.
    pub(super) fn margins(&self) -> &[f64] {
        &self.margins
    }

    /// Continues until the gap is at most `tolerance` times the objective, or the rounds run out.
    pub fn solve(&mut self, lambda: f64, tolerance: f64, max_rounds: u32) -> Solution {
        let mut rounds = 0;
        loop {
            if rounds % 32 == 31 {
                self.refresh();
            }
            let w: Vec<f64> = self.v.iter().map(|v| v / lambda).collect();
            self.problem.margins(&w, &mut self.scores, &mut self.margins);
            let (objective, lower_bound) = self.bounds(lambda);
            if objective - lower_bound <= tolerance * objective || rounds == max_rounds {
                let (mut w, alpha) = (w, self.alpha.clone());
                w.truncate(self.problem.n_columns());
                return Solution {
                    lambda,
                    w,
                    alpha,
                    objective,
                    lower_bound: Some(lower_bound),
                    iterations: rounds,
                };
            }
            rounds += 1;
            let Self { order, alpha, low, high, margins, squares, .. } = self;
            order.clear();
            order.extend((0..alpha.len() as u32).filter(|&p| {
                let p = p as usize;
                let settled =
                    margins[p] >= 1.0 && alpha[p] <= low[p] || margins[p] <= 1.0 && alpha[p] >= high[p];
                !settled && squares[p] > 0.0
            }));
            for _ in 0..SWEEPS {
                for i in (1..self.order.len()).rev() {
                    self.order.swap(i, self.rng.random_range(0..=i));
                }
                let boxes = (&self.low[..], &self.high[..]);
                if self.z.is_empty() {
                    sweep_rows(
                        self.problem,
                        &self.order,
                        &self.squares,
                        boxes,
                        lambda,
                        &mut self.alpha,
                        &mut self.v,
                    );
                } else {
                    sweep(&self.z, &self.order, &self.squares, boxes, lambda, &mut self.alpha, &mut self.v);
                }
            }
        }
    }

    /// Computes J and D of the problem with the current boxes.
    fn bounds(&self, lambda: f64) -> (f64, f64) {
        let norm = 0.5 * dot(&self.v, &self.v) / lambda;
        let (mut risk, mut sum) = (0.0, 0.0);
        for p in 0..self.alpha.len() {
            let (moved, margin) = (-self.low[p], self.margins[p]);
            let cost = self.high[p] - self.low[p];
            risk += cost * Loss::Hinge.of(margin) + moved * margin;
            sum += self.alpha[p] + moved;
        }
        (norm + risk, sum - norm)
    }
}

vectorised! {
    fn sweep(
        z: &[f64],
        order: &[u32],
        squares: &[f64],
        boxes: (&[f64], &[f64]),
        lambda: f64,
        alpha: &mut [f64],
        v: &mut [f64],
    ) {
        let (low, high) = boxes;
        for &p in order {
            let p = p as usize;
            let z = &z[p * v.len()..][..v.len()];
            let wanted = alpha[p] + (lambda - dot_lanes(z, v)) / squares[p];
            let next = wanted.max(low[p]).min(high[p]);
            let step = next - alpha[p];
            if step != 0.0 {
                alpha[p] = next;
                add_lanes(step, z, v);
            }
        }
    }
}

vectorised! {
    /// Sweeps like `sweep`, but computes z from the rows.
    fn sweep_rows(
        problem: &PairProblem,
        order: &[u32],
        squares: &[f64],
        boxes: (&[f64], &[f64]),
        lambda: f64,
        alpha: &mut [f64],
        v: &mut [f64],
    ) {
        let (low, high) = boxes;
        for &p in order {
            let p = p as usize;
            let pair = &problem.pairs()[p];
            let (better, worse) = (problem.row(pair.better), problem.row(pair.worse));
            let wanted = alpha[p] + (lambda - (dot_lanes(better, v) - dot_lanes(worse, v))) / squares[p];
            let next = wanted.max(low[p]).min(high[p]);
            let step = next - alpha[p];
            if step != 0.0 {
                alpha[p] = next;
                add_lanes(step, better, v);
                add_lanes(-step, worse, v);
            }
        }
    }
}
