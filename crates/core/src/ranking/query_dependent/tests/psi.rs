//! Compares the psi loss with brute force on one feature.

use super::*;

/// Number of weights tried in each of two rounds, the second around the best of the first.
const STEPS: i32 = 4000;

/// Returns the differences of documents of different grades, the better one first, with their costs.
fn pairs(lists: &FeatureLists) -> Vec<(f64, f64)> {
    let n = lists.n_queries() as f64;
    let mut pairs = Vec::new();
    for list in lists.iter() {
        let m = list.len() as f64;
        let x = |i: usize| f64::from(list.row(i).get(0));
        for (i, j) in (0..list.len()).flat_map(|i| (0..list.len()).map(move |j| (i, j))) {
            if list.labels()[i] > list.labels()[j] {
                pairs.push((x(i) - x(j), 2.0 / (n * m * (m - 1.0))));
            }
        }
    }
    pairs
}

/// Finds the minimum of a convex function on [-6, 6], within about 1e-6.
fn smallest(of: impl Fn(f64) -> f64) -> f64 {
    let (mut at, mut width) = (0.0, 6.0);
    for _ in 0..2 {
        let candidates = (-STEPS..=STEPS).map(|step| at + width * f64::from(step) / f64::from(STEPS));
        at = candidates.min_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap();
        width *= 2.0 / f64::from(STEPS);
    }
    at
}

/// Returns the final objective and weight of the sequence of hinges, and whether it left the hinge's solution.
fn brute_force(pairs: &[(f64, f64)], lambda: f64) -> (f64, f64, bool) {
    let sum = |w: f64, cost: &dyn Fn(usize, f64) -> f64| {
        let costs = pairs.iter().enumerate().map(|(p, (z, c))| c * cost(p, z * w));
        0.5 * lambda * w * w + costs.sum::<f64>()
    };
    let psi = |w: f64| sum(w, &|_, u| (1.0 - u).clamp(0.0, 1.0));
    let mut w = smallest(|w| sum(w, &|_, u| (1.0 - u).max(0.0)));
    let (start, mut least) = (psi(w), psi(w));
    loop {
        // Pairs with a negative margin at this weight are replaced by their tangent: -(-u) in place of -(-u)_+.
        let next =
            smallest(|v| sum(v, &|p, u| (1.0 - u).max(0.0) + if pairs[p].0 * w < 0.0 { u } else { 0.0 }));
        if psi(next) >= least - 1e-9 {
            return (least, w, least < start - 1e-3);
        }
        (w, least) = (next, psi(next));
    }
}

#[test]
fn psi_is_what_brute_force_finds_in_one_dimension() {
    let mut left_the_hinge = 0;
    for seed in 0..40u32 {
        // Most grades follow the feature; every fifth document has an inverted grade.
        let value = |i: u32| {
            let mixed = (i + 100 * seed).wrapping_mul(2_654_435_761) ^ 0x9e37_79b9;
            f32::from((mixed >> 16) as u16) / 32768.0 - 1.0
        };
        let list = |query: u32| {
            let rows: Vec<f32> = (0..5).map(|i| 2.0 * value(10 * query + i)).collect();
            let grades =
                (0..).zip(&rows).map(|(i, x)| if i == 0 { 1.0 - x.signum() } else { 1.0 + x.signum() });
            (rows.iter().map(|x| vec![*x]).collect::<Vec<_>>(), grades.collect::<Vec<f32>>())
        };
        let lists = lists(&(0..6).map(list).collect::<Vec<_>>());
        let lambda = 0.02;
        let params = QueryDependentParams {
            loss: Loss::Psi,
            weights: Weights::Uniform,
            tolerance: 1e-10,
            max_iterations: 100_000,
            ..Default::default()
        };
        let learner = QueryDependent::new(&params, lists.clone(), vec![], &[]).unwrap();
        let function = learner.fit(&learner.neighbourhood(QueryTarget::default()).unwrap(), lambda);
        let (least, at, moved) = brute_force(&pairs(&lists), lambda);
        assert!(
            (function.objective - least).abs() < 1e-5,
            "seed {seed}: {} at {:?}, brute force {least} at {at}",
            function.objective,
            weights_of(&function)
        );
        left_the_hinge += u32::from(moved);
    }
    assert!(left_the_hinge >= 10, "the loss differs from the hinge in {left_the_hinge} of 40 problems only");
}
