use std::path::{Path, PathBuf};

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::{Fitting, LinearRanker, PathPoint, Ranker, Scaling, ScalingKind};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::model_file::{ModelRef, Provenance, open_ranking, save};
use crate::rankers::linear::LinearModel;

const D: usize = 4;

/// Lists of 3 to 9 documents; the last has one grade.
fn lists(seed: u64) -> FeatureLists {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let lengths: Vec<usize> = (0..12).map(|_| rng.random_range(3..10)).collect();
    let n: usize = lengths.iter().sum();
    let last = n - lengths[11];
    let values: Vec<f32> = (0..n * D).map(|_| rng.random_range(-1.0..1.0)).collect();
    let grade = |(i, row): (usize, &[f32])| {
        if i < last { (2.0 + 2.0 * row[0] - row[1]).floor().max(0.0) } else { 1.0 }
    };
    let labels = values.chunks(D).enumerate().map(grade).collect();
    let mut lists = FeatureLists::from_dense(&lengths, labels, D as u32, values).unwrap();
    lists.set_weights((0..n).map(|_| rng.random_range(0.0..3.0)).collect()).unwrap();
    lists
}

fn row(list: &List<'_>, i: usize) -> [f64; D] {
    std::array::from_fn(|column| f64::from(list.row(i).get(column as u32)))
}

/// The loss of all pairs of a list, by the definition.
fn of_pairs(list: &List<'_>, w: &[f64]) -> f64 {
    let n = list.len();
    let weight = |i: usize| f64::from(list.weight(i));
    let score = |i: usize| row(list, i).iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
    let error = |i: usize| score(i) - f64::from(list.labels()[i]);
    let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let total: f64 = (0..n).map(weight).sum();
    pairs.map(|(i, j)| weight(i) * weight(j) * (error(i) - error(j)).powi(2)).sum::<f64>()
        / (4.0 * total * total)
}

/// Solves A x = b by elimination with pivots.
fn solve(mut a: [[f64; D]; D], mut b: [f64; D]) -> [f64; D] {
    for k in 0..D {
        let pivot = (k..D).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        let row = a[k];
        for i in (0..D).filter(|&i| i != k) {
            let factor = a[i][k] / row[k];
            a[i].iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
            b[i] -= factor * b[k];
        }
    }
    std::array::from_fn(|i| b[i] / a[i][i])
}

/// Normal equations of all pairs, solved by elimination: another way to the same weights.
fn by_elimination(lists: &FeatureLists, query_weights: &[f64], lambda: f64) -> [f64; D] {
    let all: f64 = query_weights.iter().sum();
    let (mut a, mut b) = ([[0.0; D]; D], [0.0; D]);
    (0..D).for_each(|i| a[i][i] = lambda);
    for (list, of_list) in lists.iter().zip(query_weights) {
        if list.labels().iter().all(|grade| *grade == list.labels()[0]) {
            continue;
        }
        let total: f64 = (0..list.len()).map(|i| f64::from(list.weight(i))).sum();
        for i in 0..list.len() {
            for j in 0..list.len() {
                let share = of_list / all * f64::from(list.weight(i)) * f64::from(list.weight(j));
                let share = share / (2.0 * total * total);
                let (x, y) = (row(&list, i), row(&list, j));
                let z: [f64; D] = std::array::from_fn(|k| x[k] - y[k]);
                let grade = f64::from(list.labels()[i] - list.labels()[j]);
                for k in 0..D {
                    b[k] += share * grade * z[k];
                    (0..D).for_each(|l| a[k][l] += share * z[k] * z[l]);
                }
            }
        }
    }
    solve(a, b)
}

#[test]
fn weights_solve_the_normal_equations_of_all_pairs() {
    for (seed, lambda) in [(1, 1.0), (2, 1e-2), (3, 1e-5)] {
        let lists = lists(seed);
        let query_weights: Vec<f64> = (0..12).map(|query| f64::from(query % 3)).collect();
        let sample = Sample::weighted(&lists, query_weights.clone()).unwrap();
        let params = RidgeParams { lambda: LambdaPath::One(lambda), tolerance: 1e-12, ..Default::default() };
        let (w, report, ()) =
            params.fit(&sample, &Fitting { validation: None, seed: 1, progress: &Silent }).unwrap();
        let expected = by_elimination(&lists, &query_weights, lambda);
        assert!(w.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-8), "{w:?} {expected:?}");
        assert_eq!(report.lambda, lambda);
    }
}

#[test]
fn the_loss_of_a_list_is_that_of_its_pairs() {
    let lists = lists(4);
    let sample = Sample::new(&lists);
    let w = [0.5, -1.0, 0.25, 2.0];
    let graded = lists.iter().take(11).map(|list| of_pairs(&list, &w));
    let (value, gradient) = SquaredRisk(&sample).at(&w);
    assert!((value - graded.sum::<f64>() / 12.0).abs() < 1e-12, "the list with one grade counts 0");
    // The gradient is that of differences.
    for k in 0..D {
        let moved = |by: f64| {
            let mut w = w;
            w[k] += by;
            SquaredRisk(&sample).at(&w).0
        };
        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((difference - gradient[k]).abs() < 1e-8, "{difference} {}", gradient[k]);
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for params in [
        RidgeParams { lambda: LambdaPath::One(0.0), ..Default::default() },
        RidgeParams { tolerance: 1.0, ..Default::default() },
        RidgeParams { max_iterations: 0, ..Default::default() },
    ] {
        assert!(LinearParams::validate(&params).is_err(), "{params:?}");
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files/ridge_v1.safetensors")
}

/// A model of the file above.
fn small() -> (LinearModel<RidgeParams>, Provenance) {
    let point = PathPoint {
        lambda: 0.25,
        objective: 0.75,
        lower_bound: None,
        relative_gradient: Some(0.5),
        iterations: 3,
        validation: Some(0.625),
    };
    let scaling = Scaling::with_factors(ScalingKind::ZScore, vec![1.0, 0.5]);
    let model = LinearModel {
        params: RidgeParams { lambda: LambdaPath::One(0.25), ..Default::default() },
        ranker: LinearRanker { weights: vec![0.5, -0.25], scaling },
        report: PathReport { path: vec![point], lambda: 0.25 },
        state: (),
        scalings: Vec::new(),
    };
    (model, Provenance { version: "0.1.0".into(), ..Provenance::default() })
}

#[test]
#[ignore = "writes the golden file; only for a new version of the format, under a new name"]
fn write_golden_file() {
    let (model, provenance) = small();
    save(&golden(), ModelRef::Ranking(&model), &provenance).unwrap();
}

#[test]
fn the_golden_file_keeps_its_bytes_and_scores() {
    let (model, provenance) = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ridge.model");
    save(&path, ModelRef::Ranking(&model), &provenance).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(golden()).unwrap());
    let (again, its_provenance) = open_ranking(&golden()).unwrap();
    assert_eq!((format!("{again:?}"), its_provenance), (format!("{model:?}"), provenance));
    // 4 * 1 * 0.5 - 2 * 0.5 * 0.25.
    let lists = letor::parse("x", b"1 qid:1 1:4 2:2\n0 qid:1 1:0\n", &Silent).unwrap();
    assert_eq!(again.score_all(&lists), [1.75, 0.0]);
}
