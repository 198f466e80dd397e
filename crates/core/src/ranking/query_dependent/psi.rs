//! Minimises the psi loss by a sequence of hinge problems.
//!
//! min(1, (1 - u)_+) = (1 - u)_+ - (-u)_+ is a difference of convex functions. The second is replaced by its tangent at
//! the current margins, which is -u for pairs with u < 0 and 0 for others. The resulting function is convex and at
//! least the psi loss everywhere, so its minimiser is no worse. In the dual, the tangent moves the box of such a pair
//! from [0, c] to [-c, 0]: a misordered pair has no more influence. The steps are repeated until the same pairs
//! have a margin below 0.
//!
//! Reference: Wu and Liu, *Robust truncated hinge loss support vector machines*, 2007; Collobert et al., *Trading
//! convexity for scalability*, 2006.

use super::coordinate_descent::CoordinateDescent;
use super::problem::{Loss, PairProblem, Solution, dot};

/// Maximum number of convex problems.
const MOST: usize = 50;

/// Finds a stationary point of the psi loss, starting from the hinge's solution.
pub(super) fn solve(
    problem: &PairProblem,
    descent: &mut CoordinateDescent<'_>,
    lambda: f64,
    tolerance: f64,
    max_rounds: u32,
) -> Solution {
    let n = problem.pairs().len();
    let mut moved = vec![false; n];
    descent.set_boxes(&moved);
    let mut found = descent.solve(lambda, tolerance, max_rounds);
    let psi = |descent: &CoordinateDescent<'_>, w: &[f64]| {
        problem.objective(Loss::Psi, lambda, dot(w, w), descent.margins())
    };
    let mut best = psi(descent, &found.w);
    for _ in 0..MOST {
        let hopeless: Vec<bool> = descent.margins().iter().map(|margin| *margin < 0.0).collect();
        if hopeless == moved {
            break;
        }
        moved = hopeless;
        descent.set_boxes(&moved);
        let next = descent.solve(lambda, tolerance, max_rounds);
        let reached = psi(descent, &next.w);
        let iterations = found.iterations + next.iterations;
        if reached >= best {
            found.iterations = iterations;
            break;
        }
        best = reached;
        found = Solution { iterations, ..next };
    }
    Solution { objective: best, lower_bound: None, ..found }
}
