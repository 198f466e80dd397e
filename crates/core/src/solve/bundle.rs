//! Bundle method for regularized risk minimization (BMRM).
//!
//! Problem: minimise J(w) = lambda/2 ||w||^2 + R(w), R convex and at least 0, given R(w) and a subgradient at any w.
//!
//! Every subgradient a_i at w_i is a plane R(w) >= <a_i, w> + b_i, b_i = R(w_i) - <a_i, w_i>. The next w minimises
//! lambda/2 ||w||^2 + max_i (<a_i, w> + b_i). Its dual is to maximise b'alpha - 1/(2 lambda) ||sum alpha_i a_i||^2 over
//! the simplex, with w = -1/lambda sum alpha_i a_i. The dual is solved by an active set as in Wolfe's method for the
//! nearest point of a polytope: few planes have weight, and one joins or leaves in each step. The value of the dual for
//! any alpha is a lower bound of min J. So the gap between the best J seen and the best bound proves the quality of the
//! solution, however well the dual was solved. Planes are valid for every lambda: a path of lambdas reuses the existing
//! planes.
//!
//! References: Teo, Vishwanathan, Smola and Le, *Bundle methods for regularized risk minimization*, 2010, Algorithm 2;
//! Wolfe, *Finding the nearest point in a polytope*, 1976.

use faer::Mat;
use faer::linalg::solvers::Solve;

use crate::linalg::dot_f64;

/// A convex function of weights.
pub(crate) trait Convex {
    /// Number of weights.
    fn n_weights(&self) -> usize;
    /// Returns the value and a subgradient.
    fn at(&self, w: &[f64]) -> (f64, Vec<f64>);
}

/// Planes below the risk.
#[derive(Default)]
pub(crate) struct Bundle {
    planes: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    /// <a_i, a_j>.
    products: Vec<Vec<f64>>,
    alpha: Vec<f64>,
    /// Number of consecutive solutions of the dual in which a plane had no weight.
    idle: Vec<u32>,
}

/// The best weights seen.
#[derive(Debug, Clone)]
pub(crate) struct Minimum {
    pub(crate) w: Vec<f64>,
    /// J(w).
    pub(crate) objective: f64,
    /// Lower bound of J over all weights.
    pub(crate) lower_bound: f64,
    pub(crate) iterations: u32,
}

/// Number of idle solutions after which a plane is dropped.
const IDLE: u32 = 20;

impl Bundle {
    /// Minimises J from `start`, until the gap is at most `tolerance` times J or the iterations run out.
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
            let objective = value + 0.5 * lambda * dot_f64(&w, &w);
            if objective < best.objective {
                (best.objective, best.w) = (objective, w.clone());
            }
            let offset = value - dot_f64(&subgradient, &w);
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
            row.push(dot_f64(&plane, other));
        }
        let mut row: Vec<f64> = self.products.iter().map(|row| row[row.len() - 1]).collect();
        row.push(dot_f64(&plane, &plane));
        self.products.push(row);
        self.planes.push(plane);
        self.offsets.push(offset);
        self.alpha.push(if self.alpha.is_empty() { 1.0 } else { 0.0 });
        self.idle.push(0);
    }

    /// Solves the dual to `tolerance` by an active set: the plane that is highest at w joins the planes with weight,
    /// the weights move to the best mixture of these, and a plane whose weight reaches 0 on the way leaves. Returns w
    /// and the value of the dual.
    fn solve_dual(&mut self, lambda: f64, tolerance: f64) -> (Vec<f64>, f64) {
        let n = self.alpha.len();
        for _ in 0..2 * n {
            // Gradient of 1/(2 lambda) alpha'K alpha - b'alpha.
            let slope = |i: usize| dot_f64(&self.products[i], &self.alpha) / lambda - self.offsets[i];
            let gradient: Vec<f64> = (0..n).map(slope).collect();
            let size = gradient.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            let joins =
                (0..n).min_by(|&a, &b| gradient[a].total_cmp(&gradient[b])).expect("there is a plane");
            let gain = dot_f64(&gradient, &self.alpha) - gradient[joins];
            if gain <= tolerance.max(1e-14 * size) || !self.mix(joins, lambda) {
                break;
            }
        }
        let mut w = vec![0.0; self.planes[0].len()];
        for (plane, alpha) in self.planes.iter().zip(&self.alpha).filter(|(_, alpha)| **alpha > 0.0) {
            w.iter_mut().zip(plane).for_each(|(w, a)| *w -= alpha * a / lambda);
        }
        let value = dot_f64(&self.offsets, &self.alpha) - 0.5 * lambda * dot_f64(&w, &w);
        self.give_up_idle();
        (w, value)
    }

    /// Moves to the best mixture of the planes with weight and a joining plane. Returns true if the joining plane has
    /// weight.
    fn mix(&mut self, joins: usize, lambda: f64) -> bool {
        let has_weight = |i: &usize| self.alpha[*i] > 0.0 || *i == joins;
        let mut active: Vec<usize> = (0..self.alpha.len()).filter(has_weight).collect();
        while let Some(wanted) = self.best_mixture(&active, lambda) {
            // Share of the step towards the wanted weights at which a weight reaches 0.
            let reaches_zero = |(&i, &wanted): (&usize, &f64)| match wanted > 0.0 {
                true => 1.0,
                false => self.alpha[i] / (self.alpha[i] - wanted).max(f64::MIN_POSITIVE),
            };
            let ways: Vec<f64> = active.iter().zip(&wanted).map(reaches_zero).collect();
            let way = ways.iter().copied().fold(1.0, f64::min);
            for ((&i, &wanted), &reaches_zero) in active.iter().zip(&wanted).zip(&ways) {
                let stays = wanted > 0.0 || reaches_zero > way;
                self.alpha[i] = if stays { self.alpha[i] + way * (wanted - self.alpha[i]) } else { 0.0 };
            }
            if way == 1.0 {
                break;
            }
            active.retain(|&i| self.alpha[i] > 0.0);
        }
        let total: f64 = self.alpha.iter().sum();
        self.alpha.iter_mut().for_each(|alpha| *alpha /= total);
        self.alpha[joins] > 0.0
    }

    /// Returns the weights, of sum 1 and any sign, that maximise the dual of the given planes alone. Since they sum to
    /// 1, adding 1 to all products changes nothing except that the matrix becomes invertible.
    fn best_mixture(&self, active: &[usize], lambda: f64) -> Option<Vec<f64>> {
        let n = active.len();
        let size = active.iter().map(|&i| self.products[i][i] / lambda).fold(f64::MIN_POSITIVE, f64::max);
        let product = |i: usize, j: usize| self.products[active[i]][active[j]] / (lambda * size) + 1.0;
        // Nearly dependent planes need a small ridge.
        let solved = [1e-14, 1e-12, 1e-10].into_iter().find_map(|ridge| {
            let matrix = Mat::from_fn(n, n, |i, j| product(i, j) + if i == j { ridge } else { 0.0 });
            let cholesky = matrix.llt(faer::Side::Lower).ok()?;
            let sides = Mat::from_fn(n, 2, |i, j| if j == 0 { self.offsets[active[i]] / size } else { 1.0 });
            Some(cholesky.solve(&sides))
        })?;
        let sum = |j: usize| (0..n).map(|i| solved[(i, j)]).sum::<f64>();
        let shift = (1.0 - sum(0)) / sum(1);
        let weights: Vec<f64> = (0..n).map(|i| solved[(i, 0)] + shift * solved[(i, 1)]).collect();
        weights.iter().all(|weight| weight.is_finite()).then_some(weights)
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
