use proptest::prelude::*;

use super::objective::SlamObjective;
use super::*;
use crate::progress::Silent;
use crate::ranking::Fitting;
use crate::ranking::Validation;
use crate::ranking::path::LambdaPath;
use crate::ranking::products::dot;
use crate::ranking::sample::Sample;
use crate::ranking::testing::{close, golden, numbers, some_lists, thousandfold};
use crate::solve::bundle::Convex;

const TARGETS: [Target; 6] = [
    Target::Map,
    Target::Ndcg,
    Target::NdcgAt(1),
    Target::NdcgAt(3),
    Target::TightNdcgAt(1),
    Target::TightNdcgAt(3),
];

#[test]
fn golden_losses() {
    let golden = golden("slam_loss.json");
    let cases = golden["cases"].as_array().unwrap();
    assert!(cases.len() >= 14);
    for case in cases {
        let scores = numbers(&case["s"]);
        let grades: Vec<f32> = numbers(&case["R"]).iter().map(|&grade| grade as f32).collect();
        for (name, target) in [("ndcg", Target::Ndcg), ("ndcg@3", Target::NdcgAt(3)), ("map", Target::Map)] {
            let expected = &case[name];
            let number = |key: &str| expected[key].as_f64().unwrap();
            let grades = &*target.grades(&grades);
            let v = target.weights(grades);
            close(&v, &numbers(&expected["v"]), 1e-9);
            close(&[loss(&scores, grades, &v, 1.0)], &[number("loss")], 1e-9);
            close(&[loss(&scores, grades, &v, 0.5)], &[number("loss_delta0_5")], 1e-9);
            close(&subgradient(&scores, grades, &v, 1.0), &numbers(&expected["subgrad"]), 1e-9);
            let mut terms = Terms::default();
            terms.find(&scores, grades, &v, Active::Misordered);
            let mut misordered = vec![0.0; scores.len()];
            terms.add_subgradient(1.0, &mut misordered);
            close(&misordered, &numbers(&expected["subgrad_misordered_only"]), 1e-9);
            close(&[worst_loss(target, &scores, grades)], &[number("measure_loss_worst_ties")], 1e-9);
        }
    }
}

/// Generates all words of a length over 0, 1, ..., `letters` - 1.
fn words(length: usize, letters: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..letters.pow(length as u32)).map(move |mut n| {
        let letter = |_| {
            let letter = n % letters;
            n /= letters;
            letter
        };
        (0..length).map(letter).collect()
    })
}

#[test]
fn phi_bounds_the_loss_for_every_order_of_small_lists_and_the_active_weight_does_too() {
    let mut terms = Terms::default();
    for m in 1..=5 {
        let grades_of: Vec<Vec<f32>> =
            words(m, 3).map(|word| word.iter().map(|&grade| grade as f32).collect()).collect();
        for scores in words(m, m.min(4)) {
            let scores: Vec<f64> = scores.iter().map(|&score| 0.4 * score as f64).collect();
            for grades in &grades_of {
                for target in TARGETS {
                    let worst = worst_loss(target, &scores, grades);
                    let grades = &*target.grades(grades);
                    let v = target.weights(grades);
                    assert!(v.iter().all(|&v| v >= 0.0) && v.iter().sum::<f64>() <= 1.0 + 1e-12);
                    let phi = loss(&scores, grades, &v, 1.0);
                    assert!(phi >= worst - 1e-12, "{target} {scores:?} {grades:?}: {phi} < {worst}");
                    terms.find(&scores, grades, &v, Active::Misordered);
                    let active = terms.weight();
                    assert!(active >= worst - 1e-12, "{target} {scores:?} {grades:?}: {active} < {worst}");
                }
            }
        }
    }
}

/// Two relevant documents and one that is not, for which v_MAP is (1/4, 1/6, 0). Theorem 2 says that v_MAP is below
/// every other v whose phi bounds 1 - MAP. But (1/6, 1/4, 0) bounds it too, and so does (5/24, 5/24, 0). Their sum is
/// that of v_MAP, and no v of a smaller sum is enough.
#[test]
fn v_map_is_minimal_in_sum_but_not_dominant() {
    let grades = [1.0, 1.0, 0.0];
    let v_map = Target::Map.weights(&grades);
    close(&v_map, &[1.0 / 4.0, 1.0 / 6.0, 0.0], 1e-15);
    // Documents in the right order are a margin apart, others hardly: this makes phi as small as possible.
    let places = [0.0, 1e-9, 1.0, 1.0 + 1e-9, 2.0];
    let slack = |v: &[f64]| {
        let of = |word: Vec<usize>| {
            let scores: Vec<f64> = word.iter().map(|&place| places[place]).collect();
            loss(&scores, &grades, v, 1.0) - worst_loss(Target::Map, &scores, &grades)
        };
        words(3, places.len()).map(of).fold(f64::INFINITY, f64::min)
    };
    for v in [&v_map[..], &[1.0 / 6.0, 1.0 / 4.0, 0.0], &[5.0 / 24.0, 5.0 / 24.0, 0.0]] {
        assert!(slack(v) >= -1e-15, "{v:?}");
        close(&[v.iter().sum()], &[5.0 / 12.0], 1e-15);
        let smaller: Vec<f64> = v.iter().map(|v| 0.999 * v).collect();
        assert!(slack(&smaller) < 0.0, "{smaller:?}");
    }
    // Nor is every v of that sum enough: if only one document is misplaced, it needs its 1/6.
    assert!(slack(&[5.0 / 12.0, 0.0, 0.0]) < -0.1);
}

/// Equation (30) sums over the documents 1..k of the ideal order, not over the ranks 1..k. If two documents have the
/// same grade, the order that names the second first is perfect as well, but (30) gives it less than 1.
#[test]
fn equation_30_as_printed_scores_a_perfect_order_below_1() {
    let grades = [1.0f32, 1.0, 0.0];
    let (scores, places) = ([1.0, 2.0, 0.0], [2.0f64, 1.0, 3.0]);
    let discount = |place: f64| 1.0 / (1.0 + place).log2();
    let printed = |k: usize| -> f64 {
        let dcg = |place_of: &dyn Fn(usize) -> f64| -> f64 {
            (0..k).map(|i| (f64::from(grades[i]).exp2() - 1.0) * discount(place_of(i))).sum()
        };
        dcg(&|i| places[i]) / dcg(&|i| (i + 1) as f64)
    };
    close(&[printed(1)], &[1.0 / 3f64.log2()], 1e-15);
    assert!(printed(1) < 0.64 && (printed(2) - 1.0).abs() < 1e-15);
    for k in 1..=3 {
        assert_eq!(worst_loss(Target::NdcgAt(k), &scores, &grades), 0.0);
    }
}

/// Computes the definition, word for word.
fn slow_loss(scores: &[f64], grades: &[f32], v: &[f64], delta: f64) -> f64 {
    let m = scores.len();
    let lower = |i: usize| (0..m).filter(move |&j| grades[j] < grades[i]);
    let inner = |i: usize| lower(i).map(|j| delta + scores[j] - scores[i]).fold(0.0, f64::max);
    (0..m).map(|i| v[i] * inner(i)).sum()
}

proptest! {
    #[test]
    fn loss_is_its_definition_and_the_subgradient_lies_below(
        list in prop::collection::vec((-2.0f64..2.0, -2.0f64..2.0, 0u8..4, 0.0f64..1.0), 1..12),
        delta in 0.1f64..2.0,
    ) {
        let scores: Vec<f64> = list.iter().map(|document| document.0).collect();
        let others: Vec<f64> = list.iter().map(|document| document.1).collect();
        let grades: Vec<f32> = list.iter().map(|document| f32::from(document.2)).collect();
        let v: Vec<f64> = list.iter().map(|document| document.3).collect();
        let here = loss(&scores, &grades, &v, delta);
        prop_assert!((here - slow_loss(&scores, &grades, &v, delta)).abs() < 1e-12);
        let gradient = subgradient(&scores, &grades, &v, delta);
        let moved: Vec<f64> = others.iter().zip(&scores).map(|(other, score)| other - score).collect();
        prop_assert!(loss(&others, &grades, &v, delta) >= here + dot(&gradient, &moved) - 1e-12);
    }

    #[test]
    fn the_objective_lies_above_its_subgradients(
        lists in some_lists(),
        w in prop::collection::vec(-2.0f64..2.0, 3),
        other in prop::collection::vec(-2.0f64..2.0, 3),
    ) {
        let sample = Sample::new(&lists);
        let goals = Goals::new(Target::Ndcg, &lists).unwrap();
        let risk = SlamObjective { sample: &sample, goals: &goals, delta: 1.0 };
        let d = risk.n_weights();
        let ((here, gradient), (there, _)) = (risk.at(&w[..d]), risk.at(&other[..d]));
        let moved: Vec<f64> = (0..d).map(|i| other[i] - w[i]).collect();
        prop_assert!(there >= here + dot(&gradient, &moved) - 1e-9);
    }
}

proptest! {
    #[test]
    fn the_bundle_closes_its_gap_and_nothing_is_below_its_bound(
        lists in some_lists(),
        other in prop::collection::vec(-3.0f64..3.0, 3),
        power in -4i32..=0,
    ) {
        let (sample, lambda) = (Sample::new(&lists), 10f64.powi(power));
        let (path, solver) = (LambdaPath::One(lambda), SlamSolver::Bundle);
        let params = SlamParams { lambda: path, tolerance: 1e-6, solver, ..SlamParams::default() };
        let (w, report) = fit(&params, &sample, &Fitting { validation: None, seed: 1, progress: &Silent }).unwrap();
        let bound = report.lower_bound.unwrap();
        prop_assert!(report.objective - bound <= 1e-6 * report.objective + 1e-12, "{report:?}");
        let goals = Goals::new(params.target, &lists).unwrap();
        let risk = SlamObjective { sample: &sample, goals: &goals, delta: 1.0 };
        let objective = |w: &[f64]| risk.at(w).0 + 0.5 * lambda * dot(w, w);
        prop_assert!((objective(&w) - report.objective).abs() <= 1e-9);
        prop_assert!(objective(&other[..w.len()]) >= bound - 1e-9);
    }
}

#[test]
fn golden_batch() {
    let golden = golden("slam_batch.json");
    for name in ["noisy", "learnable"] {
        let golden = &golden[name];
        let lists = thousandfold(&golden["data"]);
        let sample = Sample::new(&lists);
        let goals = Goals::new(Target::Ndcg, &lists).unwrap();
        let risk = SlamObjective { sample: &sample, goals: &goals, delta: 1.0 };

        // Features are a thousand times the golden ones, so weights are a thousandth and lambda is a million times
        // larger.
        let at = &golden["at_w"];
        let (w, lambda) = (numbers(&at["w"]), at["lam"].as_f64().unwrap());
        let shrunk: Vec<f64> = w.iter().map(|w| w / 1000.0).collect();
        let (value, gradient) = risk.at(&shrunk);
        close(&[value + 0.5 * lambda * dot(&w, &w)], &[at["objective"].as_f64().unwrap()], 1e-9);
        let gradient: Vec<f64> = gradient.iter().zip(&w).map(|(g, w)| g / 1000.0 + lambda * w).collect();
        close(&gradient, &numbers(&at["subgradient"]), 1e-9);

        for solution in golden["solutions"].as_array().unwrap() {
            let params = SlamParams {
                target: Target::Ndcg,
                lambda: LambdaPath::One(1e6 * solution["lam"].as_f64().unwrap()),
                tolerance: 1e-12,
                solver: SlamSolver::Bundle,
                ..SlamParams::default()
            };
            let (w, report) =
                fit(&params, &sample, &Fitting { validation: None, seed: 1, progress: &Silent }).unwrap();
            let expected = solution["objective"].as_f64().unwrap();
            close(&[report.objective, report.lower_bound.unwrap()], &[expected, expected], 1e-9);
            assert_eq!(report.collapsed, name == "noisy");
            let w: Vec<f64> = w.iter().map(|w| 1000.0 * w).collect();
            close(&w, &numbers(&solution["w"]), 1e-6);
        }
    }
}

#[test]
fn pegasos_comes_near_the_minimum() {
    let lists = thousandfold(&golden("slam_batch.json")["learnable"]["data"]);
    let sample = Sample::new(&lists);
    let objective = |solver| {
        let lambda = LambdaPath::One(1e5);
        let params =
            SlamParams { target: Target::Ndcg, solver, lambda, epochs: 2000, ..SlamParams::default() };
        fit(&params, &sample, &Fitting { validation: None, seed: 1, progress: &Silent }).unwrap().1.objective
    };
    let (least, found) = (objective(SlamSolver::Bundle), objective(SlamSolver::Pegasos));
    assert!(found >= least * (1.0 - 2e-3) && found <= least * 1.01, "{found} against {least}");
}

#[test]
fn the_bound_is_that_of_the_proof_for_a_ball_fixed_beforehand() {
    let of = |n: u64, delta: f64| {
        GeneralizationBound::new(0.25, &BoundConstants { n, radius: 1.5, lipschitz: 2.0, delta })
    };
    // lambda B^2 / 2 = 0.5 with B = 2; lambda B + L = 0.5 + 3.
    let bound = of(1000, 0.5);
    let excess = |n: f64| 0.5 + 4.0 * 3.5f64.powi(2) / (0.25 * n);
    close(&[bound.norm, bound.excess], &[2.0, excess(1000.0)], 1e-12);
    assert!(!bound.vacuous);
    let needed = bound.lists_needed.unwrap() as f64;
    assert!(excess(needed) < 1.0 && excess(needed - 1.0) >= 1.0, "{needed}");
    assert!(of(100, 0.5).vacuous);
    assert_eq!(of(1 << 40, 1.0).lists_needed, None);
    // Never below the guarantee of w = 0, however many lists.
    assert!(of(1 << 40, 0.5).excess > 0.5);
}

#[test]
fn the_bound_is_given_for_the_minimiser_and_one_lambda_alone() {
    let lists = thousandfold(&golden("slam_batch.json")["learnable"]["data"]);
    let (even, uneven) = (Sample::new(&lists), (1..=lists.n_queries()).map(|i| i as f64).collect());
    let uneven = Sample::weighted(&lists, uneven).unwrap();
    let bound = |solver, lambda: &LambdaPath, sample: &Sample<'_>| {
        let params = SlamParams { solver, lambda: lambda.clone(), ..SlamParams::default() };
        let (w, report) =
            fit(&params, sample, &Fitting { validation: None, seed: 1, progress: &Silent }).unwrap();
        let norm = dot(&w, &w).sqrt();
        if let Some(bound) = report.bound {
            assert!(bound.norm >= norm, "the ball holds the minimiser: {bound:?} {norm}");
            // Fixed before the lists: B depends on Delta and lambda alone.
            close(&[bound.norm], &[(2.0 * params.delta / bound.lambda).sqrt()], 1e-12);
            assert!(params.delta >= report.objective_at_zero && bound.vacuous);
            assert!(bound.excess > report.objective_at_zero);
        }
        report.bound
    };
    let (one, several) = (LambdaPath::One(1e5), LambdaPath::Path(vec![1e6, 1e5]));
    assert!(
        bound(SlamSolver::Bundle, &one, &even).is_some() && bound(SlamSolver::Auto, &one, &even).is_some()
    );
    assert!(bound(SlamSolver::Pegasos, &one, &even).is_none(), "not the minimiser");
    assert!(bound(SlamSolver::Bundle, &several, &even).is_none(), "chosen afterwards");
    assert!(bound(SlamSolver::Bundle, &one, &uneven).is_none());
}

#[test]
fn the_default_leaves_a_minimum_at_zero() {
    let lists = thousandfold(&golden("slam_batch.json")["noisy"]["data"]);
    let sample = Sample::new(&lists);
    let fit = |solver| {
        let lambda = LambdaPath::One(1e4);
        let params = SlamParams { target: Target::Ndcg, solver, lambda, ..SlamParams::default() };
        fit(&params, &sample, &Fitting { validation: None, seed: 1, progress: &Silent }).unwrap()
    };
    let (zero, proof) = fit(SlamSolver::Bundle);
    assert!(proof.collapsed && !proof.by_pegasos && zero.iter().all(|w| *w == 0.0));
    let (w, report) = fit(SlamParams::default().solver);
    assert!(report.collapsed && report.by_pegasos && report.bound.is_none(), "{report:?}");
    assert_eq!(report.lower_bound, proof.lower_bound, "the proof is kept");
    assert!(w == fit(SlamSolver::Pegasos).0 && w.iter().any(|w| *w != 0.0));
}

/// The best lambda is beyond the smallest that was given, so nothing proven at the smallest is claimed.
#[test]
fn nothing_is_claimed_of_a_lambda_below_that_of_the_proof() {
    let lists = thousandfold(&golden("slam_batch.json")["noisy"]["data"]);
    let sample = Sample::new(&lists);
    let validation = Validation::new(&lists, "ndcg".parse().unwrap()).unwrap();
    let mut beyond = 0;
    for (seed, epochs) in (0..40).flat_map(|seed| [(seed, 1), (seed, 3)]) {
        let lambda = LambdaPath::Path(vec![1e6, 1e4]);
        let params = SlamParams { target: Target::Ndcg, lambda, epochs, ..SlamParams::default() };
        let (_, report) =
            fit(&params, &sample, &Fitting { validation: Some(&validation), seed, progress: &Silent })
                .unwrap();
        assert!(report.by_pegasos, "{report:?}");
        let is_proved = report.lambda >= 1e4;
        assert_eq!((report.collapsed, report.lower_bound.is_some()), (is_proved, is_proved), "{report:?}");
        beyond += usize::from(!is_proved);
    }
    assert!(beyond > 0, "the path grows below the smallest lambda at least once");
}

#[test]
fn targets_are_written_as_they_are_read() {
    for target in TARGETS {
        assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
    }
    for wrong in ["ndcg@0", "ndcg@", "err", "ndcg@-1"] {
        assert!(wrong.parse::<Target>().unwrap_err().to_string().contains("ndcg@K"));
    }
    assert!(Target::Ndcg.check(&[1001.0]).is_err() && Target::Map.check(&[1001.0]).is_ok());
}
