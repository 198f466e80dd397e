//! Solves one problem for a path of lambdas from the largest down, each from the previous solution.

use serde::{Deserialize, Serialize};

use super::admm::{Admm, AdmmParams, VectorAdmm};
use super::coordinate_descent::CoordinateDescent;
use super::problem::{Loss, PairProblem, PreferencePair, Solution, dot};
use super::{logistic, psi};

/// Solver of the hinge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairSolver {
    /// Coordinate descent, ADMM if that does not converge, and Newton for many pairs.
    #[default]
    Auto,
    /// Coordinate descent in the dual, pair by pair.
    CoordinateDescent,
    /// ADMM with an exact update of w.
    Admm,
    /// ADMM as in the paper, with vectors instead of a kernel matrix.
    InexactAdmm,
    /// Newton's method without forming the pairs, by order statistics; linear kernel only.
    Newton,
}

/// Number of rounds of coordinate descent after which `auto` switches to ADMM.
const PATIENCE: u32 = 60;
/// Number of iterations of ADMM after which `auto` checks whether coordinate descent would be faster after all.
const TRIAL: u32 = 200;
/// Share of J(0) below which all pairs can be ordered, or nearly so.
const SEPARABLE: f64 = 0.05;
/// Limit of c ||z||^2 / lambda, the length of a box in units of a step, above which `auto` starts with ADMM.
const LONG: f64 = 10.0;

/// Loss and solver of a path of lambdas, and its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveParams {
    /// Loss of a pair.
    pub loss: Loss,
    /// Solver of the hinge.
    pub solver: PairSolver,
    /// Relative gap at which a solution is accepted.
    pub tolerance: f64,
    /// Largest number of iterations per lambda.
    pub max_iterations: u32,
}

/// Solves for descending lambdas; `each` receives every solution.
pub fn solve_path(
    problem: &PairProblem,
    lambdas: &[f64],
    stops: &SolveParams,
    mut each: impl FnMut(Solution),
) {
    let SolveParams { loss, solver, tolerance, max_iterations } = *stops;
    match (loss, solver) {
        (Loss::Logistic, _) => {
            let mut start = vec![0.0; problem.n_columns()];
            for &lambda in lambdas {
                let found = logistic::solve(problem, &start, lambda, tolerance, max_iterations);
                start.clone_from(&found.w);
                each(found);
            }
        }
        (Loss::Psi, _) => {
            let mut descent = CoordinateDescent::new(problem);
            for &lambda in lambdas {
                each(psi::solve(problem, &mut descent, lambda, tolerance, max_iterations));
            }
        }
        (Loss::Hinge, PairSolver::CoordinateDescent) => {
            let mut descent = CoordinateDescent::new(problem);
            lambdas.iter().for_each(|&lambda| each(descent.solve(lambda, tolerance, max_iterations)));
        }
        (Loss::Hinge, PairSolver::Admm) => {
            let mut admm = Admm::new(problem);
            lambdas.iter().for_each(|&lambda| each(admm.solve(lambda, tolerance, max_iterations)));
        }
        (Loss::Hinge, PairSolver::InexactAdmm) => {
            lambdas.iter().for_each(|&lambda| each(inexact(problem, lambda, tolerance, max_iterations)));
        }
        (Loss::Hinge, PairSolver::Auto | PairSolver::Newton) => {
            let mut auto = Auto { problem, longest: longest(problem), descent: None, admm: None };
            lambdas.iter().for_each(|&lambda| each(auto.solve(lambda, tolerance, max_iterations)));
        }
    }
}

/// Chooses the solver that was measured to be fast: coordinate descent if boxes are short, or if all pairs can be
/// ordered (then alpha stays far inside its box); ADMM otherwise.
struct Auto<'p> {
    problem: &'p PairProblem,
    /// The largest c ||z||^2.
    longest: f64,
    descent: Option<CoordinateDescent<'p>>,
    admm: Option<Admm<'p>>,
}

impl Auto<'_> {
    fn solve(&mut self, lambda: f64, tolerance: f64, max_iterations: u32) -> Solution {
        let Self { problem, longest, descent, admm } = self;
        let reached = |found: &Solution| found.relative_gap().is_some_and(|gap| gap <= tolerance);
        let mut first = None;
        if *longest <= LONG * lambda {
            let descent = descent.get_or_insert_with(|| CoordinateDescent::new(problem));
            let found = descent.solve(lambda, tolerance, PATIENCE.min(max_iterations));
            if reached(&found) {
                return found;
            }
            first = Some(found);
        }
        let admm = admm.get_or_insert_with(|| Admm::new(problem));
        let found = better(first, admm.solve(lambda, tolerance, TRIAL.min(max_iterations)));
        if reached(&found) {
            return found;
        }
        let total: f64 = problem.pairs().iter().map(|pair| pair.cost).sum();
        let next = if found.objective < SEPARABLE * total {
            let descent = descent.get_or_insert_with(|| CoordinateDescent::new(problem));
            descent.solve(lambda, tolerance, max_iterations)
        } else {
            admm.solve(lambda, tolerance, max_iterations)
        };
        better(Some(found), next)
    }
}

/// Returns the largest c ||z||^2.
fn longest(problem: &PairProblem) -> f64 {
    let mut z = vec![0.0; problem.stride()];
    let length = |pair: &PreferencePair| {
        problem.difference(pair, &mut z);
        pair.cost * dot(&z, &z)
    };
    problem.pairs().iter().map(length).fold(0.0, f64::max)
}

/// Returns the solution with the smaller objective, with the larger of the two bounds.
fn better(first: Option<Solution>, second: Solution) -> Solution {
    let Some(first) = first else { return second };
    let lower_bound = first.lower_bound.zip(second.lower_bound).map(|(a, b)| a.max(b));
    let iterations = first.iterations + second.iterations;
    let best = if first.objective < second.objective { first } else { second };
    Solution { lower_bound, iterations, ..best }
}

/// Runs the paper's iteration, with the gap as stopping criterion.
fn inexact(problem: &PairProblem, lambda: f64, tolerance: f64, max_iterations: u32) -> Solution {
    let n = problem.n_columns();
    let mut padded = vec![0.0; problem.stride()];
    let z: Vec<Vec<f64>> = problem
        .pairs()
        .iter()
        .map(|pair| {
            problem.difference(pair, &mut padded);
            padded[..n].to_vec()
        })
        .collect();
    let c: Vec<f64> = problem.pairs().iter().map(|pair| pair.cost).collect();
    let rho = c.iter().sum::<f64>() / c.len().max(1) as f64;
    let ones = vec![1.0; c.len()];
    let mut admm = VectorAdmm::new(&z, &ones, &c, AdmmParams { lambda, rho, with_intercept: false });
    let (mut scores, mut sum) = (Vec::new(), vec![0.0; problem.stride()]);
    let mut iterations = 0;
    loop {
        let alpha: Vec<f64> = admm.state.u.iter().zip(&c).map(|(u, c)| (-rho * u).clamp(0.0, *c)).collect();
        let objective = problem.objective_of(Loss::Hinge, lambda, &admm.w);
        problem.combine(alpha.iter().copied(), &mut scores, &mut sum);
        let lower_bound = alpha.iter().sum::<f64>() - 0.5 / lambda * sum.iter().map(|v| v * v).sum::<f64>();
        if objective - lower_bound <= tolerance * objective || iterations >= max_iterations {
            let w = admm.w.clone();
            return Solution { lambda, w, alpha, objective, lower_bound: Some(lower_bound), iterations };
        }
        let more = 10.min(max_iterations - iterations);
        (0..more).for_each(|_| admm.step());
        iterations += more;
    }
}
