//! Truncated Newton method for the logistic loss, with a duality gap.
//!
//! With a_p = 1 / (1 + exp(u_p)), the negative slope of the loss,
//!
//! D(a) = sum c_p H(a_p) - ||sum c_p a_p z_p||^2 / (2 lambda) <= min J, H(a) = -a log a - (1 - a) log(1 - a),
//!
//! which is the dual at alpha = c a. At the minimiser w = sum alpha z / lambda, and the two meet.

use super::problem::{Loss, PairProblem, Solution, dot};
use crate::solve::newton::{self, Smooth};

struct Logistic<'p> {
    problem: &'p PairProblem,
    margins: Vec<f64>,
    scores: Vec<f64>,
}

fn sigmoid(u: f64) -> f64 {
    1.0 / (1.0 + (-u).exp())
}

impl Logistic<'_> {
    fn slopes(&self) -> impl Iterator<Item = f64> {
        self.problem.pairs().iter().zip(&self.margins).map(|(pair, &u)| pair.cost * sigmoid(-u))
    }
}

impl Smooth for Logistic<'_> {
    fn n_weights(&self) -> usize {
        self.problem.stride()
    }

    fn at(&mut self, w: &[f64]) -> (f64, Vec<f64>) {
        self.problem.margins(w, &mut self.scores, &mut self.margins);
        let value = self.problem.objective(Loss::Logistic, 0.0, 0.0, &self.margins);
        let mut gradient = vec![0.0; w.len()];
        let mut scores = std::mem::take(&mut self.scores);
        self.problem.combine(self.slopes().map(|slope| -slope), &mut scores, &mut gradient);
        self.scores = scores;
        (value, gradient)
    }

    fn curvature(&self, direction: &[f64]) -> Vec<f64> {
        let (mut scores, mut images) = (Vec::new(), Vec::new());
        self.problem.margins(direction, &mut scores, &mut images);
        let bends =
            self.problem.pairs().iter().zip(&self.margins).zip(&images).map(|((pair, &u), &image)| {
                let a = sigmoid(u);
                pair.cost * a * (1.0 - a) * image
            });
        let mut product = vec![0.0; direction.len()];
        self.problem.combine(bends, &mut scores, &mut product);
        product
    }
}

/// Solves from `start` until the gap is at most `tolerance` times the objective.
pub(super) fn solve(
    problem: &PairProblem,
    start: &[f64],
    lambda: f64,
    tolerance: f64,
    max_iterations: u32,
) -> Solution {
    let mut risk = Logistic { problem, margins: Vec::new(), scores: Vec::new() };
    let mut w = start.to_vec();
    w.resize(problem.stride(), 0.0);
    let mut iterations = 0;
    let mut remainder = (tolerance * lambda).sqrt();
    loop {
        // The remaining gradient adds about its square over 2 lambda to the gap.
        let found = newton::minimise(&mut risk, lambda, w, 1.0, remainder, max_iterations - iterations);
        iterations += found.iterations.max(1);
        w = found.w;
        let (value, gradient) = risk.at(&w);
        let objective = value + 0.5 * lambda * dot(&w, &w);
        let alpha: Vec<f64> = risk.slopes().collect();
        let entropy =
            |a: f64| if a > 0.0 && a < 1.0 { -a * a.ln() - (1.0 - a) * (1.0 - a).ln() } else { 0.0 };
        let entropies: f64 = problem
            .pairs()
            .iter()
            .zip(&risk.margins)
            .map(|(pair, &u)| pair.cost * entropy(sigmoid(-u)))
            .sum();
        let lower_bound = entropies - 0.5 / lambda * dot(&gradient, &gradient);
        let done = objective - lower_bound <= tolerance * objective;
        if done || iterations >= max_iterations || remainder < 1e-14 {
            w.truncate(problem.n_columns());
            return Solution { lambda, w, alpha, objective, lower_bound: Some(lower_bound), iterations };
        }
        remainder *= 0.1;
    }
}
