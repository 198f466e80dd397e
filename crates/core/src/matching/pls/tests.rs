use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::matching::golden::{self, agree, entries};
use crate::matching::{Csr, SparseRow};
use crate::progress::{Notes, Silent};

#[derive(Deserialize)]
struct Golden {
    pls: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    center: bool,
    d: usize,
    singular_values: Vec<f64>,
    scores: Vec<Vec<f64>>,
}

/// Signs of singular vectors cancel in a score.
#[test]
fn golden() {
    let golden: Golden = golden::golden();
    let graph = golden::graph();
    assert_eq!(golden.pls.len(), 2);
    for case in &golden.pls {
        let params = PlsParams { d: case.d, center: case.center, weight_power: 0.0, ..Default::default() };
        let fitted = fit(&params, &graph, 1, &Silent).unwrap();
        for (&found, &expected) in fitted.singular_values.iter().zip(&case.singular_values) {
            agree("singular value", [found], [expected]);
        }
        let scores = graph
            .x()
            .rows()
            .flat_map(|x| graph.y().rows().map(|y| fitted.model.score(x, y)).collect::<Vec<_>>());
        agree("scores", scores, entries(&case.scores));
        assert!(fitted.residual < 1e-5);
    }
}

/// A graph large enough for the Krylov space; features decide which documents are clicked.
fn large(n: u32) -> ClickGraph {
    let noise =
        |i: u32, k: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(k.wrapping_mul(40_503)) >> 7) % 1000;
    let features = |n_rows: u32, salt: u32| {
        let triples = (0..n_rows).flat_map(|i| {
            (0..4).map(move |k| {
                (i, (i * 13 + noise(i + salt, k)) % n, 1.0 + (noise(i, k + salt) as f32) / 1000.0)
            })
        });
        Csr::from_triples(n_rows as usize, n as usize, triples).unwrap()
    };
    let clicks = (0..n).flat_map(|i| (0..3).map(move |k| (i, (i + k * k * 17) % n, 1.0 + k as f32)));
    ClickGraph::new(
        features(n, 5),
        features(n, 9),
        Csr::from_triples(n as usize, n as usize, clicks).unwrap(),
    )
    .unwrap()
}

fn rows(factor: &Factor) -> Vec<Vec<f32>> {
    (0..factor.n_features() as u32).map(|u| factor.map(SparseRow::new(&[u], &[1.0]).unwrap())).collect()
}

fn orthonormality(factor: &Factor) -> f64 {
    let (rows, d) = (rows(factor), factor.d());
    let mut worst: f64 = 0.0;
    for a in 0..d {
        for b in 0..=a {
            let product: f64 = rows.iter().map(|row| f64::from(row[a]) * f64::from(row[b])).sum();
            worst = worst.max((product - f64::from(u8::from(a == b))).abs());
        }
    }
    worst
}

#[test]
fn krylov_space_finds_what_the_dense_way_finds() {
    let graph = large(1500);
    let params = PlsParams { d: 40, tolerance: 1e-5, ..Default::default() };
    let fitted = fit(&params, &graph, 7, &Silent).unwrap();
    assert!(fitted.steps > 0 && fitted.residual <= 2e-5, "{} {}", fitted.steps, fitted.residual);
    assert!(orthonormality(fitted.model.lx()) < 1e-4 && orthonormality(fitted.model.ly()) < 1e-4);
    // 2 d exceeds the number of rows: solved densely.
    let dense = fit(&PlsParams { d: 800, ..params }, &graph, 7, &Silent).unwrap();
    assert_eq!(dense.steps, 0);
    for (found, expected) in fitted.singular_values.iter().zip(&dense.singular_values) {
        assert!((found - expected).abs() <= 1e-5 * dense.singular_values[0], "{found} {expected}");
    }
    let again = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&params, &graph, 7, &Silent).unwrap().model)
    };
    assert_eq!(again(1), fitted.model);
    assert_eq!(again(3), fitted.model);
}

#[test]
fn it_ends_with_the_last_direction_and_says_so() {
    let identity = |n: u32| Csr::from_triples(n as usize, n as usize, (0..n).map(|i| (i, i, 1.0))).unwrap();
    // 900 queries answered by 3 documents: rank 2 when centered.
    let clicks = Csr::from_triples(900, 3, (0..900).map(|i| (i, i % 3, 1.0))).unwrap();
    let graph = ClickGraph::new(identity(900), identity(3), clicks).unwrap();
    let notes = Notes::default();
    let fitted = fit(&PlsParams { d: 10, ..Default::default() }, &graph, 1, &notes).unwrap();
    assert_eq!((fitted.singular_values.len(), fitted.model.d()), (2, 2), "{:?}", fitted.singular_values);
    let said = "d = 10 was requested, but 2 latent dimensions are all that the data supports";
    assert_eq!(notes.take(), [said]);
    assert!(fitted.model.score(graph.x().row(0), graph.y().row(0)) > 0.0);
    // Exhausted in the Krylov space: 900 queries and 900 documents of rank 30.
    let clicks = (0..900).flat_map(|i| (0..900).filter(move |j| i % 30 == j % 30).map(move |j| (i, j, 1.0)));
    let graph =
        ClickGraph::new(identity(900), identity(900), Csr::from_triples(900, 900, clicks).unwrap()).unwrap();
    let params = PlsParams { d: 60, tolerance: 1e-5, ..Default::default() };
    let fitted = fit(&params, &graph, 1, &Silent).unwrap();
    assert_eq!(fitted.singular_values.len(), 29, "{:?}", fitted.singular_values);
    assert!(fitted.residual < 2e-5 && fitted.steps < 10, "{} {}", fitted.residual, fitted.steps);
    // Twice as many equal directions as a block has columns: the first block does not find them all.
    let clicks = (0..900).flat_map(|i| (0..900).filter(move |j| i % 65 == j % 65).map(move |j| (i, j, 1.0)));
    let graph =
        ClickGraph::new(identity(900), identity(900), Csr::from_triples(900, 900, clicks).unwrap()).unwrap();
    let fitted = fit(&PlsParams { d: 200, ..params }, &graph, 1, &Silent).unwrap();
    assert_eq!(fitted.singular_values.len(), 64, "{:?}", fitted.singular_values);
    assert!(fitted.residual < 2e-5 && fitted.steps < 10, "{} {}", fitted.residual, fitted.steps);
    // Every query has the same answer: after centering, only rounding errors are left.
    let clicks = Csr::from_triples(900, 900, (0..900).map(|i| (i, 0, 1.0))).unwrap();
    let graph = ClickGraph::new(identity(900), identity(900), clicks).unwrap();
    let fitted = fit(&params, &graph, 1, &Silent).unwrap();
    assert!(fitted.model.d() == 1 && fitted.singular_values[0] < 1e-6, "{:?}", fitted.singular_values);
}

#[test]
fn few_steps_give_few_directions_and_large_numbers_an_error() {
    let graph = large(1500);
    let params = PlsParams { d: 100, max_steps: 1, ..Default::default() };
    let fitted = fit(&params, &graph, 7, &Silent).unwrap();
    assert_eq!((fitted.steps, fitted.singular_values.len()), (1, 32));
    assert!(fitted.singular_values.iter().all(|&s| s > 0.0));
    let huge = graph.r().rows().enumerate().flat_map(|(i, row)| {
        row.iter().map(move |(j, value)| (i as u32, j, value * 1e30)).collect::<Vec<_>>()
    });
    let r = Csr::from_triples(1500, 1500, huge).unwrap();
    let graph = ClickGraph::new(graph.x().clone(), graph.y().clone(), r).unwrap();
    let message =
        fit(&PlsParams { d: 100, ..Default::default() }, &graph, 7, &Silent).unwrap_err().to_string();
    assert!(message.contains("too large"), "{message}");
}

#[test]
fn all_directions_of_a_large_graph() {
    // d exceeds the rank: the smallest singular values are rounding errors and are left out.
    let graph = large(600);
    let fitted = fit(&PlsParams { d: 700, ..Default::default() }, &graph, 7, &Silent).unwrap();
    assert!(fitted.residual < 1e-4, "{}", fitted.residual);
    let n = fitted.singular_values.len();
    assert!((300..600).contains(&n), "{n}");
}

#[test]
fn weights_are_powers_of_the_spectrum() {
    let graph = large(300);
    let fitted =
        fit(&PlsParams { d: 5, weight_power: 0.5, ..Default::default() }, &graph, 1, &Silent).unwrap();
    let weights = fitted.model.weights().unwrap();
    let expected = (fitted.singular_values[4] / fitted.singular_values[0]).sqrt();
    assert!(weights[0] == 1.0 && (f64::from(weights[4]) - expected).abs() < 1e-6);
    assert!(fit(&PlsParams { d: 0, ..Default::default() }, &graph, 1, &Silent).is_err());
    assert!(fit(&PlsParams { weight_power: -1.0, ..Default::default() }, &graph, 1, &Silent).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// The sum of squared singular values is the squared norm of W, and scores reconstruct W.
    #[test]
    fn all_directions_make_w_again(
        x in prop::collection::vec((0u32..9, 0u32..7, -1f32..1.0), 1..40),
        y in prop::collection::vec((0u32..8, 0u32..6, -1f32..1.0), 1..40),
        r in prop::collection::vec((0u32..9, 0u32..8, 0.5f32..2.0), 1..30),
        center in any::<bool>(),
    ) {
        let graph = ClickGraph::new(
            Csr::from_triples(9, 7, x).unwrap(),
            Csr::from_triples(8, 6, y).unwrap(),
            Csr::from_triples(9, 8, r).unwrap(),
        ).unwrap();
        let params = PlsParams { d: 6, center, weight_power: 1.0, ..Default::default() };
        let fitted = fit(&params, &graph, 1, &Silent).unwrap();
        let n = graph.n_answered() as f64;
        let mut w = vec![vec![0f64; 6]; 7];
        let (mut x_mean, mut y_mean) = (vec![0f64; 7], vec![0f64; 6]);
        for i in 0..9 {
            let answers = graph.r().row(i);
            let n_i = answers.indices().len() as f64;
            if n_i > 0.0 {
                graph.x().row(i).iter().for_each(|(u, x)| x_mean[u as usize] += f64::from(x) / n);
            }
            for (j, r) in answers.iter() {
                for (v, y) in graph.y().row(j as usize).iter() {
                    y_mean[v as usize] += f64::from(r * y) / (n * n_i);
                    for (u, x) in graph.x().row(i).iter() {
                        w[u as usize][v as usize] += f64::from(x) * f64::from(r * y) / (n * n_i);
                    }
                }
            }
        }
        let (lx, ly) = (rows(fitted.model.lx()), rows(fitted.model.ly()));
        let d = fitted.singular_values.len();
        for u in 0..7 {
            for v in 0..6 {
                let expected = w[u][v] - if center { x_mean[u] * y_mean[v] } else { 0.0 };
                let found: f64 =
                    (0..d).map(|k| f64::from(lx[u][k]) * fitted.singular_values[k] * f64::from(ly[v][k])).sum();
                prop_assert!((found - expected).abs() < 2e-5 * (1.0 + fitted.singular_values[0]), "{} {}", found, expected);
            }
        }
    }
}
