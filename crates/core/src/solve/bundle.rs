//! Bundle method for regularized risk minimization (BMRM).
//!
//! Problem: minimise J(w) = lambda/2 ||w||^2 + R(w), R convex and at least 0, given R(w) and a subgradient at any w.
//!
//! Every subgradient a_i at w_i is a plane R(w) >= <a_i, w> + b_i, b_i = R(w_i) - <a_i, w_i>. The next w minimises
//! lambda/2 ||w||^2 + max_i (<a_i, w> + b_i), by its dual: maximise b'alpha - 1/(2 lambda) ||sum alpha_i a_i||^2 over the
//! simplex, with w = -1/lambda sum alpha_i a_i. The value of the dual for any alpha is a lower bound of min J, so the gap
//! between the best J seen and the best bound proves how good the solution is, however well the dual was solved.
//! Planes hold for every lambda: a path of lambdas starts from the planes it has.
//!
//! Reference: Teo, Vishwanathan, Smola and Le, *Bundle methods for regularized risk minimization*, 2010, Algorithm 2.

use crate::ranking::products::dot;

/// A convex function of weights.
pub(crate) trait Convex {
    /// Number of weights.
    fn n_weights(&self) -> usize;
    /// The value and a subgradient.
    fn at(&self, w: &[f64]) -> (f64, Vec<f64>);
}

/// Planes that lie below the risk.
#[derive(Default)]
pub(crate) struct Bundle {
    planes: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    /// <a_i, a_j>.
    products: Vec<Vec<f64>>,
    alpha: Vec<f64>,
    /// Solutions of the dual in a row that a plane was not part of.
    idle: Vec<u32>,
}

/// The best weights that were seen.
#[derive(Debug, Clone)]
pub(crate) struct Minimum {
    pub(crate) w: Vec<f64>,
    /// J(w).
    pub(crate) objective: f64,
    /// No weights have a smaller J than this.
    pub(crate) lower_bound: f64,
    pub(crate) iterations: u32,
}

/// Planes that took no part for so long are given up.
const IDLE: u32 = 20;
/// Steps of the dual solver, at most.
const DUAL_STEPS: usize = 20_000;

impl Bundle {
    /// Minimises J from `start`, until the gap is at most `tolerance` times J or iterations run out.
    pub(crate) fn minimise(
        &mut self,
        risk: &impl Convex,
        lambda: f64,
        start: Vec<f64>,
        tolerance: f64,
        max_iterations: u32,
    ) -> Minimum {
        let mut best =
            Minimum { w: start.clone(), objective: f64::INFINITY, lower_bound: 0.0, iterations: 0 };
        let mut w = start;
        for iteration in 1..=max_iterations {
            let (value, subgradient) = risk.at(&w);
            let objective = value + 0.5 * lambda * dot(&w, &w);
            if objective < best.objective {
                (best.objective, best.w) = (objective, w.clone());
            }
            let offset = value - dot(&subgradient, &w);
            self.add(subgradient, offset);
            let gap = best.objective - best.lower_bound;
            let bound;
            (w, bound) = self.solve_dual(lambda, 0.03 * gap);
            best.lower_bound = best.lower_bound.max(bound);
            best.iterations = iteration;
            if best.objective - best.lower_bound <= tolerance * best.objective {
                break;
            }
        }
        best
    }

    fn add(&mut self, plane: Vec<f64>, offset: f64) {
        for (row, other) in self.products.iter_mut().zip(&self.planes) {
            row.push(dot(&plane, other));
        }
        let mut row: Vec<f64> = self.products.iter().map(|row| row[row.len() - 1]).collect();
        row.push(dot(&plane, &plane));
        self.products.push(row);
        self.planes.push(plane);
        self.offsets.push(offset);
        self.alpha.push(if self.alpha.is_empty() { 1.0 } else { 0.0 });
        self.idle.push(0);
    }

    /// Moves weight between two planes at a time, the lower one being where the gradient is smallest, until no
    /// move gains more than `tolerance`. Returns w and the value of the dual.
    fn solve_dual(&mut self, lambda: f64, tolerance: f64) -> (Vec<f64>, f64) {
        let Self { products, offsets, alpha, .. } = self;
        let n = alpha.len();
        // Gradient of 1/(2 lambda) alpha'K alpha - b'alpha.
        let mut gradient: Vec<f64> = (0..n).map(|i| dot(&products[i], alpha) / lambda - offsets[i]).collect();
        let size = gradient.iter().chain(&*offsets).fold(0.0f64, |most, value| most.max(value.abs()));
        let tolerance = tolerance.max(1e-15 * size);
        for _ in 0..DUAL_STEPS {
            let to = (0..n).min_by(|&a, &b| gradient[a].total_cmp(&gradient[b])).expect("there is a plane");
            let curvature = |from: usize| {
                let curvature = products[from][from] + products[to][to] - 2.0 * products[from][to];
                (curvature / lambda).max(f64::MIN_POSITIVE)
            };
            let givers = || (0..n).filter(|&from| alpha[from] > 0.0 && from != to);
            let slope = |from: usize| gradient[from] - gradient[to];
            if givers().all(|from| slope(from) <= tolerance) {
                break;
            }
            let gain = |from: usize| slope(from) * alpha[from].min(slope(from) / curvature(from));
            let from = givers().max_by(|&a, &b| gain(a).total_cmp(&gain(b))).expect("one gains");
            let moved = alpha[from].min(slope(from) / curvature(from));
            if moved == alpha[from] {
                alpha[from] = 0.0;
            } else {
                alpha[from] -= moved;
            }
            alpha[to] += moved;
            for (i, gradient) in gradient.iter_mut().enumerate() {
                *gradient += moved * (products[i][to] - products[i][from]) / lambda;
            }
        }
        let total: f64 = alpha.iter().sum();
        alpha.iter_mut().for_each(|alpha| *alpha /= total);
        let mut w = vec![0.0; self.planes[0].len()];
        for (plane, alpha) in self.planes.iter().zip(&self.alpha).filter(|(_, alpha)| **alpha > 0.0) {
            w.iter_mut().zip(plane).for_each(|(w, a)| *w -= alpha * a / lambda);
        }
        let value = dot(&self.offsets, &self.alpha) - 0.5 * lambda * dot(&w, &w);
        self.give_up_idle();
        (w, value)
    }

    fn give_up_idle(&mut self) {
        for (idle, alpha) in self.idle.iter_mut().zip(&self.alpha) {
            *idle = if *alpha > 0.0 { 0 } else { *idle + 1 };
        }
        if self.idle.iter().all(|&idle| idle <= IDLE) {
            return;
        }
        let keep: Vec<bool> = self.idle.iter().map(|&idle| idle <= IDLE).collect();
        fn kept<T>(all: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            all.retain(|_| *keep.next().expect("one for each plane"));
        }
        self.products.iter_mut().for_each(|row| kept(row, &keep));
        kept(&mut self.products, &keep);
        kept(&mut self.planes, &keep);
        kept(&mut self.offsets, &keep);
        kept(&mut self.alpha, &keep);
        kept(&mut self.idle, &keep);
    }
}
