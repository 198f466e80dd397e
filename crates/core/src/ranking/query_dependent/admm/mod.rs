//! ADMM: the hinge for small lambda, where coordinate descent is slow.
//!
//! The constraint 1 - w . z_p = xi_p - gamma_p gets the scaled multiplier u_p and the weight rho. Given margins m, the
//! updates of xi, gamma >= 0 and u become (with alpha = -rho u, the alpha of the dual)
//!
//! t = 1 - m - u, alpha = clamp(rho t, 0, c), xi - gamma = t - alpha / rho,
//!
//! so multipliers are always feasible in the dual, and J(w) - D(alpha) is a proven gap.
//!
//! | file | update of w |
//! |---|---|
//! | `paper.rs` | inexact, as printed (with its errors corrected): one gradient step of length 1/zeta, with a kernel matrix or with vectors |
//! | here | exact: (lambda I + rho Z'Z) w = Z'(rho (1 - xi + gamma) + alpha), one factorisation for all iterations with one rho |
//!
//! rho starts at the mean of c and is doubled or halved when one of the residuals is ten times the other. With rho = 1,
//! thousands of iterations are not enough, since c is of the order 1e-4. A relaxation of 1.6 saves a third of the
//! iterations.
//!
//! Reference: Dai and Wang, 2019, section 3.2; Boyd et al., *Distributed optimization and statistical learning via the
//! alternating direction method of multipliers*, 2011, section 3.4.

mod paper;

use faer::Mat;
use faer::linalg::solvers::{Llt, Solve};

pub use self::paper::{AdmmParams, KernelAdmm, PaperState, VectorAdmm};
use super::problem::{Loss, PairProblem, PreferencePair, Solution, dot, dot_lanes};
use crate::linalg::simd::vectorised;

/// Number of iterations between two checks of the gap and of rho.
const LOOK: u32 = 10;
/// Over-relaxation factor.
const RELAXATION: f64 = 1.6;

/// State of ADMM, which is reused for the next lambda.
pub struct Admm<'p> {
    problem: &'p PairProblem,
    /// Z'Z, without the padding.
    gram: Mat<f64>,
    alpha: Vec<f64>,
    /// xi - gamma.
    slack: Vec<f64>,
    rho: f64,
    /// The last lambda.
    lambda: f64,
    /// lambda, rho and the inverse of lambda I + rho Z'Z, row by row with the padding.
    inverse: (f64, f64, Vec<f64>),
}

impl<'p> Admm<'p> {
    /// Starts at w = 0.
    pub fn new(problem: &'p PairProblem) -> Self {
        let n = problem.pairs().len();
        Self {
            problem,
            gram: weighted_gram(problem, |_| 1.0),
            alpha: vec![0.0; n],
            slack: vec![1.0; n],
            rho: mean_cost(problem),
            lambda: f64::NAN,
            inverse: (f64::NAN, f64::NAN, Vec::new()),
        }
    }

    /// Continues until the gap is at most `tolerance` times the objective, or the iterations run out.
    pub fn solve(&mut self, lambda: f64, tolerance: f64, max_iterations: u32) -> Solution {
        let (problem, d) = (self.problem, self.problem.n_columns());
        let (mut scores, mut margins) = (Vec::new(), Vec::new());
        let (mut w, mut sum) = (vec![0.0; problem.stride()], vec![0.0; problem.stride()]);
        let mut moved = vec![0.0; problem.pairs().len()];
        let total: f64 = problem.pairs().iter().map(|pair| pair.cost).sum();
        let mut proof = Proof { lower_bound: 0.0, alpha: vec![0.0; problem.pairs().len()] };
        let (mut objective, mut best, mut iterations) = (total, vec![0.0; d], 0);
        if self.lambda != lambda {
            // A rho that was balanced for one lambda may be far off for the next.
            (self.lambda, self.rho) = (lambda, mean_cost(problem));
        }
        let (mut next_balance, mut next_polish) = (LOOK, LOOK);
        for iteration in 1..=max_iterations {
            let rho = self.rho;
            let wanted = self.slack.iter().zip(&self.alpha).map(|(slack, alpha)| rho * (1.0 - slack) + alpha);
            problem.combine(wanted, &mut scores, &mut sum);
            self.solve_normal(lambda, &sum, &mut w);
            problem.margins(&w, &mut scores, &mut margins);
            update(problem.pairs(), &margins, rho, &mut self.alpha, &mut self.slack, &mut moved);
            iterations = iteration;
            if iteration % LOOK > 0 && iteration != max_iterations {
                continue;
            }
            let here = problem.objective(Loss::Hinge, lambda, dot(&w, &w), &margins);
            if here <= objective {
                objective = here;
                best.copy_from_slice(&w[..d]);
            }
            problem.combine(self.alpha.iter().copied(), &mut scores, &mut sum);
            proof.consider(&self.alpha, dot(&sum, &sum), lambda);
            if objective - proof.lower_bound > tolerance * objective && iteration >= next_polish {
                next_polish = iteration + iteration / 2;
                let excess: Vec<f64> = sum.iter().zip(&w).map(|(v, w)| v - lambda * w).collect();
                let polished = polish(problem, &self.alpha, &excess);
                problem.combine(polished.iter().copied(), &mut scores, &mut sum);
                proof.consider(&polished, dot(&sum, &sum), lambda);
            }
            if objective - proof.lower_bound <= tolerance * objective {
                break;
            }
            if iteration >= next_balance {
                // Balance less and less often, so that rho settles.
                next_balance = iteration + (iteration / 4).max(LOOK);
                let open =
                    margins.iter().zip(&self.slack).map(|(margin, slack)| (margin - 1.0 + slack).powi(2));
                let primal = rho * open.sum::<f64>().sqrt();
                problem.combine(moved.iter().copied(), &mut scores, &mut sum);
                // The residual of the equation of w, expressed as a change of the multipliers.
                let dual = rho * (dot(&sum, &sum) / self.gram_size()).sqrt();
                let ratio = primal / dual.max(f64::MIN_POSITIVE);
                if !(0.1..10.0).contains(&ratio) {
                    self.rho *= ratio.sqrt().clamp(0.1, 10.0);
                }
            }
        }
        let Proof { lower_bound, alpha } = proof;
        Solution { lambda, w: best, alpha, objective, lower_bound: Some(lower_bound), iterations }
    }

    /// Returns the mean of the eigenvalues of Z'Z.
    fn gram_size(&self) -> f64 {
        let trace: f64 = (0..self.gram.nrows()).map(|i| self.gram[(i, i)]).sum();
        (trace / self.gram.nrows().max(1) as f64).max(f64::MIN_POSITIVE)
    }

    /// Solves (lambda I + rho Z'Z) w = sum; refactorises if lambda or rho has changed.
    fn solve_normal(&mut self, lambda: f64, sum: &[f64], w: &mut [f64]) {
        let (d, stride) = (self.problem.n_columns(), self.problem.stride());
        if (self.inverse.0, self.inverse.1) != (lambda, self.rho) {
            let matrix =
                Mat::from_fn(d, d, |i, j| self.rho * self.gram[(i, j)] + if i == j { lambda } else { 0.0 });
            let inverse = cholesky(&matrix, self.rho * self.gram_size()).solve(Mat::<f64>::identity(d, d));
            let cells = (0..d * stride).map(|at| (at / stride, at % stride));
            let cells = cells.map(|(i, j)| if j < d { inverse[(i, j)] } else { 0.0 });
            self.inverse = (lambda, self.rho, cells.collect());
        }
        times(&self.inverse.2, sum, w);
    }
}

fn mean_cost(problem: &PairProblem) -> f64 {
    let total: f64 = problem.pairs().iter().map(|pair| pair.cost).sum();
    (total / problem.pairs().len().max(1) as f64).max(f64::MIN_POSITIVE)
}

vectorised! {
    fn times(matrix: &[f64], sum: &[f64], w: &mut [f64]) {
        for (w, row) in w.iter_mut().zip(matrix.chunks_exact(sum.len())) {
            *w = dot_lanes(row, sum);
        }
    }
}

vectorised! {
    fn update(
        pairs: &[PreferencePair],
        margins: &[f64],
        rho: f64,
        alpha: &mut [f64],
        slack: &mut [f64],
        moved: &mut [f64],
    ) {
        let unit = 1.0 / rho;
        for p in 0..pairs.len() {
            let relaxed = RELAXATION * margins[p] + (1.0 - RELAXATION) * (1.0 - slack[p]);
            let t = 1.0 - relaxed + alpha[p] * unit;
            alpha[p] = (rho * t).max(0.0).min(pairs[p].cost);
            let next = t - alpha[p] * unit;
            moved[p] = next - slack[p];
            slack[p] = next;
        }
    }
}

/// Factorises a positive semidefinite matrix, with the smallest ridge that it needs.
fn cholesky(matrix: &Mat<f64>, size: f64) -> Llt<f64> {
    let mut ridge = 0.0;
    loop {
        let n = matrix.nrows();
        let raised = Mat::from_fn(n, n, |i, j| matrix[(i, j)] + if i == j { ridge } else { 0.0 });
        match raised.llt(faer::Side::Lower) {
            Ok(factor) => return factor,
            Err(_) => ridge = (10.0 * ridge).max(1e-15 * size).max(f64::MIN_POSITIVE),
        }
    }
}

/// The multipliers with the best lower bound.
struct Proof {
    lower_bound: f64,
    alpha: Vec<f64>,
}

impl Proof {
    /// Evaluates D, sum alpha - ||v||^2 / (2 lambda), of multipliers in their boxes, or of the best multiple of them.
    fn consider(&mut self, alpha: &[f64], square: f64, lambda: f64) {
        let sum: f64 = alpha.iter().sum();
        let share = if square > 0.0 { (lambda * sum / square).min(1.0) } else { 1.0 };
        let bound = share * sum - 0.5 * share * share * square / lambda;
        if bound > self.lower_bound {
            self.lower_bound = bound;
            self.alpha.iter_mut().zip(alpha).for_each(|(best, alpha)| *best = share * alpha);
        }
    }
}

/// Returns nearby multipliers, in their boxes, whose v is smaller by `excess`: if lambda is tiny, even a small
/// difference between v and lambda w ruins D. Each multiplier may move by about the room r in its box. The change is
/// -r^2 z . x with (Z' diag(r^2) Z) x = excess, the smallest in units of r.
fn polish(problem: &PairProblem, alpha: &[f64], excess: &[f64]) -> Vec<f64> {
    let room: Vec<f64> =
        problem.pairs().iter().zip(alpha).map(|(pair, a)| a.min(pair.cost - a).powi(2)).collect();
    let d = problem.n_columns();
    let gram = weighted_gram(problem, |p| room[p]);
    let size = (0..d).map(|i| gram[(i, i)]).sum::<f64>() / d.max(1) as f64;
    let right = Mat::from_fn(d, 1, |i, _| excess[i]);
    let x = cholesky(&gram, size).solve(&right);
    let padded: Vec<f64> = (0..problem.stride()).map(|i| if i < d { x[(i, 0)] } else { 0.0 }).collect();
    let (mut scores, mut margins) = (Vec::new(), Vec::new());
    problem.margins(&padded, &mut scores, &mut margins);
    let pairs = problem.pairs().iter().zip(alpha).zip(room.iter().zip(&margins));
    pairs.map(|((pair, a), (room, margin))| (a - room * margin).clamp(0.0, pair.cost)).collect()
}

/// Computes Z' diag(r) Z = X'LX, where L is the Laplacian of the graph of pairs: P d + m d^2 instead of P d^2.
fn weighted_gram(problem: &PairProblem, weight: impl Fn(usize) -> f64) -> Mat<f64> {
    let (m, d) = (problem.n_rows(), problem.n_columns());
    let mut laplacian = Mat::<f64>::zeros(d, m);
    let mut z = vec![0.0; problem.stride()];
    for (p, pair) in problem.pairs().iter().enumerate() {
        let r = weight(p);
        if r == 0.0 {
            continue;
        }
        problem.difference(pair, &mut z);
        z.iter_mut().for_each(|z| *z *= r);
        let better = laplacian.col_as_slice_mut(pair.better as usize);
        better.iter_mut().zip(&z).for_each(|(l, z)| *l += z);
        let worse = laplacian.col_as_slice_mut(pair.worse as usize);
        worse.iter_mut().zip(&z).for_each(|(l, z)| *l -= z);
    }
    let x = Mat::from_fn(m, d, |i, j| problem.row(i as u32)[j]);
    let mut gram = Mat::zeros(d, d);
    faer::linalg::matmul::matmul(&mut gram, faer::Accum::Replace, &laplacian, &x, 1.0, faer::Par::Seq);
    gram
}
