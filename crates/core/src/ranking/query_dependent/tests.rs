use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::data::FeatureLists;
use crate::ranking::LambdaPath;
use crate::ranking::testing::{close, golden, lists, numbers, some_lists};

mod edge_cases;
mod psi;

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// Features are multiplied by 1000, so that no digit is lost in f32: w shrinks by 1000, lambda and sigma^2 grow by its
/// square.
const FACTOR: f64 = 1e6;

fn thousandfold(rows: &[Vec<f64>]) -> Vec<Vec<f32>> {
    rows.iter().map(|row| row.iter().map(|x| (1000.0 * x).round() as f32).collect()).collect()
}

fn golden_lists(data: &Value) -> FeatureLists {
    let (x, y) = (data["X"].as_array().unwrap(), data["Y"].as_array().unwrap());
    let list = |(x, y): (&Value, &Value)| {
        (thousandfold(&matrix(x)), numbers(y).iter().map(|&grade| grade as f32).collect())
    };
    lists(&x.iter().zip(y).map(list).collect::<Vec<_>>())
}

fn queries(data: &Value) -> Vec<QueryFeatures> {
    matrix(&data["Q"]).into_iter().map(QueryFeatures::of_numbers).collect()
}

fn probe(data: &Value) -> FeatureLists {
    let rows = thousandfold(&matrix(&data["probe"]));
    lists(&[(rows.clone(), vec![0.0; rows.len()])])
}

fn params(kind: &str) -> QueryDependentParams {
    QueryDependentParams {
        weights: if kind == "rank" { Weights::Uniform } else { Weights::Gaussian },
        novel_neighbours: 3,
        tolerance: 1e-12,
        max_iterations: 20_000,
        ..Default::default()
    }
}

#[test]
fn weights_are_golden() {
    let data = golden("qsvm.json");
    let (queries, target) = (queries(&data), QueryFeatures::of_numbers(numbers(&data["q0"])));
    let distances: Vec<f64> = queries.iter().map(|query| query.distance(&target)).collect();
    close(&distances, &numbers(&data["distances"]), 1e-14);
    close(&[median(distances).unwrap()], &[data["bandwidth"].as_f64().unwrap()], 1e-14);
    for (name, weights, k) in [("knn_k2", Weights::Knn, 2), ("q_trunc3", Weights::Gaussian, 3)] {
        let mut ours = vec![0.0; queries.len()];
        for near in
            (Nearest { weights, bandwidth: None, kernel: RankingKernel::Kendall, k }).of(&queries, &target)
        {
            ours[near.query] = near.weight;
        }
        close(&ours, &numbers(&data["weights"][name]), 1e-14);
    }
    assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!((median(vec![4.0, 1.0]), median(vec![])), (Some(2.5), None));
}

#[test]
fn solutions_are_golden() {
    let data = golden("qsvm.json");
    let target = QueryFeatures::of_numbers(numbers(&data["q0"]));
    let width = data["gauss_s2"].as_f64().unwrap();
    let probe = probe(&data);
    let mut n = 0;
    for case in data["scoring_solutions"].as_array().unwrap() {
        let gaussian = case["kernel"] == "gauss";
        for solver in [PairSolver::CoordinateDescent, PairSolver::Admm, PairSolver::Auto] {
            let params = QueryDependentParams {
                kernel: if gaussian { DocumentKernel::Gaussian } else { DocumentKernel::Linear },
                width: Some(FACTOR * width),
                solver,
                ..params(case["weights"].as_str().unwrap())
            };
            let learner = QueryDependent::new(&params, golden_lists(&data), queries(&data), &[]).unwrap();
            let near =
                learner.neighbourhood(QueryTarget { observed: None, features: Some(&target) }).unwrap();
            let lambda = case["lam"].as_f64().unwrap();
            let function = learner.fit(&near, if gaussian { lambda } else { FACTOR * lambda });
            let expected = case["objective"].as_f64().unwrap();
            let error = (function.objective / expected - 1.0).abs();
            assert!(error < 1e-8, "{solver:?} {case}: {} instead of {expected}", function.objective);
            assert!(function.lower_bound.unwrap() <= expected * (1.0 + 1e-12));
            let mut scores = Vec::new();
            learner.score(&function, &probe.list(0), &mut scores);
            close(&scores, &numbers(&case["probe_scores"]), 2e-5);
            n += 1;
        }
    }
    assert_eq!(n, 36);
    let params = QueryDependentParams { kernel: DocumentKernel::Gaussian, ..params("rank") };
    let learner = QueryDependent::new(&params, golden_lists(&data), vec![], &[]).unwrap();
    close(&[learner.width().unwrap()], &[1000.0 * width], 1e-12);
}

#[test]
fn the_ranking_form_is_golden() {
    let data = golden("qsvm.json");
    let target = QueryFeatures::of_numbers(numbers(&data["q0"]));
    let params = QueryDependentParams {
        kernel: DocumentKernel::Gaussian,
        width: Some(FACTOR * data["gauss_s2"].as_f64().unwrap()),
        form: QueryForm::Ranking,
        ..params("q")
    };
    let learner = QueryDependent::new(&params, golden_lists(&data), queries(&data), &[]).unwrap();
    let near = learner.neighbourhood(QueryTarget { observed: None, features: Some(&target) }).unwrap();
    for case in data["ranking_gauss_q_trunc3"].as_array().unwrap() {
        let function = learner.fit(&near, case["lam"].as_f64().unwrap());
        let expected = case["objective"].as_f64().unwrap();
        assert!((function.objective / expected - 1.0).abs() < 1e-8, "{} {expected}", function.objective);
        let mut scores = Vec::new();
        learner.score(&function, &probe(&data).list(0), &mut scores);
        close(&scores, &numbers(&case["probe_scores_eq36"]), 1e-6);
        close(&scores, &scores_of_preferences(&matrix(&case["probe_f"])), 1e-6);
    }
    let eq36 = &data["eq36"];
    close(&scores_of_preferences(&matrix(&eq36["F"])), &numbers(&eq36["s"]), 1e-14);
}

#[test]
fn the_papers_iterates_are_golden_in_both_forms() {
    let data = &golden("qsvm.json")["admm_trajectory"];
    let (k, y, c) = (matrix(&data["K"]), numbers(&data["y"]), numbers(&data["c"]));
    let (lambda, rho) = (data["lam"].as_f64().unwrap(), data["rho"].as_f64().unwrap());
    let phi = factor(&k);
    let mut kernel = KernelAdmm::new(&k, &y, &c, AdmmParams { lambda, rho, with_intercept: true });
    let mut vectors = VectorAdmm::new(&phi, &y, &c, AdmmParams { lambda, rho, with_intercept: true });
    let mut done = 0;
    for iterate in data["iterates"].as_array().unwrap() {
        let iterations = iterate["iters"].as_u64().unwrap();
        for _ in done..iterations {
            kernel.step();
            vectors.step();
            close(&vectors.margins(), &kernel.margins(), 1e-9);
            close(&vectors.state.u, &kernel.state.u, 1e-9);
        }
        done = iterations;
        let mut alpha = vec![kernel.state.intercept];
        alpha.extend(&kernel.alpha);
        close(&alpha, &numbers(&iterate["alpha_tilde"]), 1e-8);
        close(&[kernel.objective()], &[iterate["objective"].as_f64().unwrap()], 1e-9);
    }
    assert_eq!(done, 100);
}

/// With the pairs (j, l) and (l, j) both in the sum and f(j, l) = -f(l, j), the loss is even in the intercept alpha_0
/// of (3.5), and convex: 0 is its minimum. The paper's iterates keep the intercept there.
#[test]
fn an_intercept_is_0_at_the_optimum() {
    let data = &golden("qsvm.json")["admm_trajectory"];
    let k = matrix(&data["K"]);
    let n = k.len();
    // Each pair and its reverse, whose kernel values have the opposite sign.
    let sign = |t: usize| if t < n { 1.0 } else { -1.0 };
    let both: Vec<Vec<f64>> =
        (0..2 * n).map(|t| (0..2 * n).map(|s| sign(t) * sign(s) * k[t % n][s % n]).collect()).collect();
    let y: Vec<f64> = (0..2 * n).map(|t| sign(t) * numbers(&data["y"])[t % n]).collect();
    let c: Vec<f64> = (0..2 * n).map(|t| numbers(&data["c"])[t % n]).collect();
    let (lambda, rho) = (data["lam"].as_f64().unwrap(), data["rho"].as_f64().unwrap());
    let mut admm = KernelAdmm::new(&both, &y, &c, AdmmParams { lambda, rho, with_intercept: true });
    for _ in 0..100 {
        admm.step();
        assert!(admm.state.intercept.abs() < 1e-12, "{}", admm.state.intercept);
    }
    assert!(admm.alpha.iter().any(|alpha| alpha.abs() > 1e-3));
}

/// The paper does not specify rho, and 1 is the usual choice. But the costs c = 2 pi / (n N (N - 1)) are small, and
/// steps of multipliers in units of rho = 1 overshoot them; steps in units of their mean do not.
#[test]
fn rho_belongs_to_the_scale_of_the_costs() {
    let data = &golden("qsvm.json")["admm_trajectory"];
    let (k, y, c) = (matrix(&data["K"]), numbers(&data["y"]), numbers(&data["c"]));
    let lambda = data["lam"].as_f64().unwrap();
    let after = |rho: f64, steps: usize| {
        let mut admm = KernelAdmm::new(&k, &y, &c, AdmmParams { lambda, rho, with_intercept: true });
        (0..steps).for_each(|_| admm.step());
        admm.objective()
    };
    let mean = c.iter().sum::<f64>() / c.len() as f64;
    let (scaled, one) = (after(mean, 300), after(1.0, 300));
    assert!(one > 1.5 * scaled, "{one} with 1, {scaled} with {mean}");
}

/// Returns rows whose products are a positive semidefinite matrix: pivoted Cholesky, written out.
fn factor(k: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = k.len();
    let mut l = vec![Vec::new(); n];
    let mut left = k.to_vec();
    for _ in 0..n {
        let pivot = (0..n).max_by(|&a, &b| left[a][a].total_cmp(&left[b][b])).unwrap();
        let root = left[pivot][pivot].max(0.0).sqrt();
        let values: Vec<f64> =
            left.iter().map(|row| if root > 1e-6 { row[pivot] / root } else { 0.0 }).collect();
        for (i, value) in values.iter().enumerate() {
            l[i].push(*value);
            left[i].iter_mut().zip(&values).for_each(|(left, other)| *left -= value * other);
        }
    }
    l
}

/// Computes J by its definition, pair by pair.
fn slow_objective(
    learner: &QueryDependent,
    near: &[Neighbour],
    n: f64,
    lambda: f64,
    w: &[f64],
    loss: Loss,
) -> f64 {
    let mut sum = 0.5 * lambda * w.iter().map(|w| w * w).sum::<f64>();
    for near in near {
        let list = learner.lists().list(near.query);
        let m = list.len() as f64;
        for i in 0..list.len() {
            for j in 0..list.len() {
                if list.labels()[i] > list.labels()[j] {
                    let score = |row: usize| -> f64 {
                        list.row(row).entries().map(|(column, x)| f64::from(x) * w[column as usize]).sum()
                    };
                    let margin = score(i) - score(j);
                    let cost = match loss {
                        Loss::Hinge => (1.0 - margin).max(0.0),
                        Loss::Psi => (1.0 - margin).clamp(0.0, 1.0),
                        Loss::Logistic => (1.0 + (-margin).exp()).ln(),
                    };
                    sum += 2.0 * near.weight / (n * m * (m - 1.0)) * cost;
                }
            }
        }
    }
    sum
}

fn points(lists: &FeatureLists) -> Vec<QueryFeatures> {
    (0..lists.n_queries()).map(|i| QueryFeatures::of_numbers(vec![(i * i) as f64, i as f64])).collect()
}

fn weights_of(function: &Function) -> &[f64] {
    match &function.learned {
        QueryFunction::Linear(w) => w,
        other => panic!("not linear: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn solvers_agree(lists in some_lists(), lambda in -3.0..1.0f64, at in 0usize..8) {
        let lambda = 10f64.powf(lambda);
        let queries = points(&lists);
        let target = queries[at % queries.len()].clone();
        let mut reference: Option<f64> = None;
        for solver in [PairSolver::CoordinateDescent, PairSolver::Admm, PairSolver::InexactAdmm, PairSolver::Newton, PairSolver::Auto] {
            let precise = matches!(solver, PairSolver::CoordinateDescent | PairSolver::Admm | PairSolver::Auto);
            let params = QueryDependentParams {
                solver,
                neighbours: 3,
                tolerance: if precise { 1e-9 } else { 1e-6 },
                max_iterations: if solver == PairSolver::InexactAdmm { 1_000 } else { 200_000 },
                ..Default::default()
            };
            let learner = QueryDependent::new(&params, lists.clone(), queries.clone(), &[]).unwrap();
            let near = learner.neighbourhood(QueryTarget { observed: Some(0), features: Some(&target) }).unwrap();
            let Neighbourhood::Near(from) = &near else { return Ok(()) };
            let function = learner.fit(&near, lambda);
            let n = lists.n_queries() as f64;
            let slow = slow_objective(&learner, from, n, lambda, weights_of(&function), Loss::Hinge);
            prop_assert!((function.objective - slow).abs() <= 1e-6 * slow, "{solver:?} {} {slow}", function.objective);
            prop_assert!(function.lower_bound.unwrap() <= function.objective + 1e-12);
            let expected = *reference.get_or_insert(function.objective);
            if solver == PairSolver::InexactAdmm {
                // The bound may be far from the minimum after any number of iterations, but is never above it.
                prop_assert!(function.lower_bound.unwrap() <= expected * (1.0 + 1e-9));
                prop_assert!(expected <= function.objective * (1.0 + 1e-9));
                continue;
            }
            prop_assert!(
                function.lower_bound.unwrap() <= expected * (1.0 + 1e-9),
                "{solver:?}: {:?} is no lower bound of {expected}", function.lower_bound
            );
            prop_assert!(
                (function.objective - expected).abs() <= 1e-6 * expected.max(1e-3),
                "{solver:?}: {} instead of {expected}, {} iterations, gap {:?}",
                function.objective, function.iterations, function.lower_bound
            );
        }
    }

    #[test]
    fn the_linear_ranking_form_is_scoring_at_twice_lambda(lists in some_lists(), lambda in -3.0..1.0f64) {
        let lambda = 10f64.powf(lambda);
        let fit = |form, lambda| {
            let params = QueryDependentParams {
                form, weights: Weights::Uniform, tolerance: 1e-10, max_iterations: 100_000, ..Default::default()
            };
            let learner = QueryDependent::new(&params, lists.clone(), vec![], &[]).unwrap();
            learner.fit(&learner.neighbourhood(QueryTarget::default()).unwrap(), lambda)
        };
        let (ranking, scoring) = (fit(QueryForm::Ranking, lambda), fit(QueryForm::Scoring, 2.0 * lambda));
        prop_assert!((ranking.objective - scoring.objective).abs() <= 1e-8 * scoring.objective.max(1e-6));
        let (a, b) = (weights_of(&ranking), weights_of(&scoring));
        // Within 2 sqrt(gap / lambda) of each other, as J is strongly convex.
        let near = 2.0 * (4e-10 * scoring.objective / lambda).sqrt() + 1e-9;
        prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= near), "{a:?} {b:?}");
    }

    #[test]
    fn other_losses_are_minimised(lists in some_lists(), lambda in -2.0..1.0f64, shift in prop::collection::vec(-0.3..0.3f64, 3)) {
        let lambda = 10f64.powf(lambda);
        for loss in [Loss::Logistic, Loss::Psi] {
            let params = QueryDependentParams {
                loss, weights: Weights::Uniform, tolerance: 1e-9, max_iterations: 10_000, ..Default::default()
            };
            let learner = QueryDependent::new(&params, lists.clone(), vec![], &[]).unwrap();
            let everyone: Vec<Neighbour> =
                (0..lists.n_queries()).map(|query| Neighbour { query, distance: 0.0, weight: 1.0 }).collect();
            let function = learner.fit(&learner.neighbourhood(QueryTarget::default()).unwrap(), lambda);
            let n = lists.n_queries() as f64;
            let of = |w: &[f64]| slow_objective(&learner, &everyone, n, lambda, w, loss);
            let w = weights_of(&function);
            let reached = of(w);
            prop_assert!((function.objective - reached).abs() <= 1e-8 * reached.max(1e-9));
            match loss {
                Loss::Logistic => {
                    prop_assert!(reached - function.lower_bound.unwrap() <= 1e-8 * reached);
                    let moved: Vec<f64> = w.iter().zip(&shift).map(|(w, s)| w + s).collect();
                    prop_assert!(of(&moved) >= reached - 1e-9);
                }
                _ => {
                    // No worse than w = 0, and no worse than the hinge's weights.
                    let hinge = QueryDependentParams { loss: Loss::Hinge, ..params };
                    let hinge = QueryDependent::new(&hinge, lists.clone(), vec![], &[]).unwrap();
                    let there = hinge.fit(&hinge.neighbourhood(QueryTarget::default()).unwrap(), lambda);
                    prop_assert!(reached <= of(weights_of(&there)) + 1e-9);
                    prop_assert!(reached <= of(&[0.0; 3]) + 1e-9 || of(weights_of(&there)) > of(&[0.0; 3]));
                }
            }
        }
    }
}

/// A path from large to small lambdas gives the same results as each lambda alone.
#[test]
fn paths_start_warm() {
    let data = golden("qsvm.json");
    let lambdas: Vec<f64> = (0..20).map(|i| FACTOR * 10f64.powf(1.0 - f64::from(i) / 4.0)).collect();
    let params = QueryDependentParams { lambda: LambdaPath::Path(lambdas.clone()), ..params("q") };
    let learner = QueryDependent::new(&params, golden_lists(&data), queries(&data), &[]).unwrap();
    let near =
        learner.neighbourhood(QueryTarget { observed: Some(1), features: Some(&queries(&data)[1]) }).unwrap();
    let mut path = Vec::new();
    learner.fit_path(&near, &lambdas, |function| path.push(function));
    assert_eq!(path.len(), lambdas.len());
    for (function, &lambda) in path.iter().zip(&lambdas) {
        let alone = learner.fit(&near, lambda);
        let error = (alone.objective / function.objective - 1.0).abs();
        assert!(
            error < 1e-9,
            "{lambda}: {error} {} {} {} {}",
            alone.iterations,
            alone.objective - alone.lower_bound.unwrap(),
            function.iterations,
            function.objective - function.lower_bound.unwrap()
        );
        assert_eq!(function.lambda, lambda);
    }
}
