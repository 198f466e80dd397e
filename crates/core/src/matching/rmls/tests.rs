use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::matching::SparseRow;
use crate::matching::operator::{Block, Chain, Lanes, Scaled};
use crate::progress::Silent;

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Golden {
    X: Vec<Vec<f32>>,
    Y: Vec<Vec<f32>>,
    R: Vec<Vec<f32>>,
    Ly0: Vec<Vec<f32>>,
    W: Vec<Vec<f64>>,
    W_centered: Vec<Vec<f64>>,
    rmls: Vec<GoldenRmls>,
}

#[derive(Deserialize)]
struct GoldenRmls {
    center: bool,
    beta: f64,
    gamma: f64,
    theta_x: f64,
    theta_y: f64,
    iterations: Vec<GoldenIteration>,
}

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct GoldenIteration {
    Lx: Vec<Vec<f64>>,
    Ly: Vec<Vec<f64>>,
    objective: f64,
    scores: Vec<Vec<f64>>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../../../tests/golden/matching.json")).unwrap()
}

fn sparse(dense: &[Vec<f32>]) -> Csr {
    let triples = (0..).zip(dense).flat_map(|(i, row)| {
        (0..).zip(row).filter(|(_, value)| **value != 0.0).map(move |(j, &value)| (i, j, value))
    });
    Csr::from_triples(dense.len(), dense[0].len(), triples).unwrap()
}

fn graph(golden: &Golden) -> ClickGraph {
    ClickGraph::new(sparse(&golden.X), sparse(&golden.Y), sparse(&golden.R)).unwrap()
}

fn close(found: f64, expected: f64, scale: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-5 * scale, "{what}: {found} instead of {expected}");
}

fn rows(factor: &Factor) -> Vec<Vec<f32>> {
    (0..factor.n_features() as u32)
        .map(|feature| factor.map(SparseRow::new(&[feature], &[1.0]).unwrap()))
        .collect()
}

/// W and W' as dense matrices, by products with the unit vectors.
fn dense(operator: &impl Operator, to: Side) -> Vec<Vec<f64>> {
    let mut scratch = Scratch::default();
    let (outer, n_outer) = operator.features(to);
    let (inner, n_inner) = operator.features(to.other());
    let mut matrix = vec![vec![0.0; n_inner]; n_outer];
    for (column, &feature) in inner.iter().enumerate() {
        let mut block = vec![Lanes::ZERO; inner.len()];
        block[column].0[7] = 1.0;
        let mut out = vec![Lanes::ZERO; outer.len()];
        let (scaled, mut state) = (operator.scaled(to, None), vec![(); outer.len()]);
        operator.multiply(&scaled, Block::Dense(&block), &mut scratch, Some(&mut out), &mut state, |_, _| ());
        for (lanes, &row) in out.iter().zip(outer) {
            matrix[row as usize][feature as usize] = f64::from(lanes.0[7]);
        }
    }
    matrix
}

#[test]
fn golden_w_by_both_routes() {
    let golden = golden();
    let graph = graph(&golden);
    for (center, expected) in [(false, &golden.W), (true, &golden.W_centered)] {
        let factored = Factored::new(&graph, center).unwrap();
        let formed = Formed::of(&graph, center).unwrap();
        let by_factors = (dense(&factored, Side::X), dense(&factored, Side::Y));
        for (w, wt) in [by_factors, (dense(&formed, Side::X), dense(&formed, Side::Y))] {
            for (u, row) in expected.iter().enumerate() {
                for (v, &expected) in row.iter().enumerate() {
                    close(w[u][v], expected, 1.0, "W");
                    close(wt[v][u], expected, 1.0, "W'");
                }
            }
        }
    }
}

/// Four iterations of three settings, centered and not, by both routes: f32, 1e-5 of the row length.
#[test]
fn golden_rmls() {
    let golden = golden();
    let graph = graph(&golden);
    let start = Factor::dense(3, golden.Ly0.concat()).unwrap();
    assert_eq!(golden.rmls.len(), 6);
    for (case, route) in golden.rmls.iter().flat_map(|case| [(case, Route::Factored), (case, Route::Formed)])
    {
        let params = RmlsParams {
            d: 3,
            iterations: 4,
            beta: case.beta,
            gamma: case.gamma,
            threshold: Threshold::Absolute,
            theta_x: case.theta_x,
            theta_y: case.theta_y,
            center: case.center,
            route,
        };
        let mut seen = 0;
        fit(&params, &graph, Some(&start), 0, &Silent, &mut |iteration| {
            let expected = &case.iterations[seen];
            seen += 1;
            assert_eq!(iteration.report.number, seen);
            close(iteration.report.objective, expected.objective, expected.objective.abs(), "objective");
            let model = iteration.model()?;
            for (factor, expected, theta) in
                [(model.lx(), &expected.Lx, case.theta_x), (model.ly(), &expected.Ly, case.theta_y)]
            {
                for (row, expected) in rows(factor).iter().zip(expected) {
                    for (&found, &expected) in row.iter().zip(expected) {
                        close(f64::from(found), expected, theta, "row");
                    }
                }
            }
            for (i, expected) in expected.scores.iter().enumerate() {
                for (j, &expected) in expected.iter().enumerate() {
                    let score = model.score(graph.x().row(i), graph.y().row(j));
                    close(f64::from(score), expected, expected.abs().max(1.0), "score");
                }
            }
            Ok(Verdict::Continue)
        })
        .unwrap();
        assert_eq!(seen, 4);
    }
}

fn arbitrary_graph() -> impl Strategy<Value = ClickGraph> {
    let matrix = |n_rows: usize, n_columns: usize, low: f32| {
        prop::collection::vec((0..n_rows as u32, 0..n_columns as u32, low..2.0f32), 1..60)
            .prop_map(move |triples| Csr::from_triples(n_rows, n_columns, triples).unwrap())
    };
    (matrix(12, 9, -1.0), matrix(10, 11, -1.0), matrix(12, 10, 0.1))
        .prop_map(|(x, y, r)| ClickGraph::new(x, y, r).unwrap())
}

/// Algorithm 1 as it is written, in f64 on dense matrices.
fn slow(params: &RmlsParams, graph: &ClickGraph, start: &[Vec<f32>]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let n = graph.n_answered() as f64;
    let (dx, dy) = (graph.x().n_columns(), graph.y().n_columns());
    let mut w = vec![vec![0f64; dy]; dx];
    let (mut x_mean, mut y_mean) = (vec![0f64; dx], vec![0f64; dy]);
    for i in 0..graph.x().n_rows() {
        let n_i = graph.r().row(i).indices().len() as f64;
        if n_i > 0.0 {
            graph.x().row(i).iter().for_each(|(u, x)| x_mean[u as usize] += f64::from(x) / n);
        }
        for (j, r) in graph.r().row(i).iter() {
            for (v, y) in graph.y().row(j as usize).iter() {
                y_mean[v as usize] += f64::from(r) * f64::from(y) / (n * n_i);
                for (u, x) in graph.x().row(i).iter() {
                    w[u as usize][v as usize] += f64::from(r) * f64::from(x) * f64::from(y) / (n * n_i);
                }
            }
        }
    }
    if params.center {
        for (row, x) in w.iter_mut().zip(&x_mean) {
            row.iter_mut().zip(&y_mean).for_each(|(w, y)| *w -= x * y);
        }
    }
    let transposed: Vec<Vec<f64>> = (0..dy).map(|v| w.iter().map(|row| row[v]).collect()).collect();
    let step = |w: &[Vec<f64>], other: &[Vec<f64>], amount: f64, theta: f64| -> Vec<Vec<f64>> {
        w.iter()
            .map(|row| {
                let mut o = vec![0f64; params.d];
                for (weight, other) in row.iter().zip(other) {
                    o.iter_mut().zip(other).for_each(|(o, l)| *o += weight * l);
                }
                let largest = o.iter().fold(0f64, |most, value| most.max(value.abs()));
                let t = if params.threshold == Threshold::Relative { amount * largest } else { amount };
                o.iter_mut().for_each(|o| *o = (o.abs() - t).max(0.0).copysign(*o));
                let norm = o.iter().map(|o| o * o).sum::<f64>().sqrt();
                o.iter().map(|o| if norm > 0.0 { theta * o / norm } else { 0.0 }).collect()
            })
            .collect()
    };
    let mut ly: Vec<Vec<f64>> = start.iter().map(|row| row.iter().map(|&v| f64::from(v)).collect()).collect();
    let mut lx = Vec::new();
    for _ in 0..params.iterations {
        lx = step(&w, &ly, params.beta, params.theta_x);
        ly = step(&transposed, &lx, params.gamma, params.theta_y);
    }
    (lx, ly)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// 40 columns, so that rows span blocks; relative thresholds, dense and sparse. A row whose entries
    /// all but cancel has no direction that f32 could find, so rows are compared through products with W.
    #[test]
    fn agrees_with_the_algorithm_as_written(
        graph in arbitrary_graph(),
        center in any::<bool>(),
        beta in prop::sample::select(vec![0.0f64, 0.3, 0.6]),
        values in prop::collection::vec(-1f32..1.0, 11 * 40),
    ) {
        let params = RmlsParams { d: 40, iterations: 1, beta, gamma: beta, center, ..Default::default() };
        let start: Vec<Vec<f32>> = values.chunks(40).map(<[f32]>::to_vec).collect();
        let factor = Factor::dense(40, values.clone()).unwrap();
        let (lx, ly) = slow(&params, &graph, &start);
        fit(&params, &graph, Some(&factor), 0, &Silent, &mut |iteration| {
            let model = iteration.model().unwrap();
            let operator = Factored::new(&graph, center).unwrap();
            let w = dense(&operator, Side::X);
            let (mut found, mut expected, mut size) = (0.0, 0.0, 0.0);
            let (fx, fy) = (rows(model.lx()), rows(model.ly()));
            for (u, row) in w.iter().enumerate() {
                for (v, w) in row.iter().enumerate() {
                    let product: f64 = fx[u].iter().zip(&fy[v]).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    found += w * product;
                    expected += w * lx[u].iter().zip(&ly[v]).map(|(a, b)| a * b).sum::<f64>();
                    size += w.abs();
                }
            }
            assert!((found - expected).abs() <= 1e-4 * size.max(1e-9), "{found} {expected} {size}");
            Ok(Verdict::Stop)
        }).unwrap();
    }

    #[test]
    fn same_bits_for_any_number_of_threads(graph in arbitrary_graph(), beta in 0.0f64..0.9) {
        let params = RmlsParams { d: 50, iterations: 2, beta, gamma: beta, ..Default::default() };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| last(&params, &graph))
        };
        let one = run(1);
        prop_assert_eq!(&one, &run(2));
        prop_assert_eq!(&one, &run(8));
    }
}

fn last(params: &RmlsParams, graph: &ClickGraph) -> Bilinear {
    let mut model = None;
    let learned = fit(params, graph, None, 3, &Silent, &mut |iteration| {
        model = Some(iteration.model()?);
        Ok(Verdict::Continue)
    });
    assert_eq!(learned.unwrap().into_model().ok(), model);
    model.unwrap()
}

fn identity(n: u32) -> Csr {
    Csr::from_triples(n as usize, n as usize, (0..n).map(|i| (i, i, 1.0))).unwrap()
}

/// Two groups of queries and documents that have nothing in common.
fn checkerboard() -> ClickGraph {
    let pairs = (0..40u32).flat_map(|i| (0..40u32).filter(move |j| i % 2 == j % 2).map(move |j| (i, j, 1.0)));
    ClickGraph::new(identity(40), identity(40), Csr::from_triples(40, 40, pairs).unwrap()).unwrap()
}

#[test]
fn learns_a_checkerboard() {
    for beta in [0.0, 0.5] {
        let graph = checkerboard();
        let model =
            last(&RmlsParams { d: 16, iterations: 3, beta, gamma: beta, ..Default::default() }, &graph);
        for (i, j) in [(0, 2), (1, 7), (3, 37)] {
            assert!(model.score(graph.x().row(i), graph.y().row(j)) > 0.5);
            assert!(model.score(graph.x().row(i), graph.y().row(j + 1)) < -0.5);
        }
    }
}

#[test]
fn density_is_reached_and_objectives_fall() {
    // Every document answers many queries, so that entries of a row are sums of many numbers.
    let response = |i: u32, j: u32| ((i * 7919 + j * 104_729) * (i + j) % 311) as f32;
    let pairs = (0..300).flat_map(|i| (0..300).map(move |j| (i, j, response(i, j))));
    let graph =
        ClickGraph::new(identity(300), identity(300), Csr::from_triples(300, 300, pairs).unwrap()).unwrap();
    let params = RmlsParams {
        d: 640,
        iterations: 1,
        threshold: Threshold::Density,
        beta: 0.05,
        gamma: 0.1,
        ..Default::default()
    };
    fit(&params, &graph, None, 1, &Silent, &mut |iteration| {
        assert!((iteration.report.density_x - 0.05).abs() < 0.005, "{}", iteration.report.density_x);
        assert!((iteration.report.density_y - 0.1).abs() < 0.01, "{}", iteration.report.density_y);
        Ok(Verdict::Continue)
    })
    .unwrap();
    let golden = golden();
    let (graph, mut before) = (self::graph(&golden), f64::INFINITY);
    let params = RmlsParams {
        d: 64,
        iterations: 8,
        threshold: Threshold::Absolute,
        beta: 0.004,
        gamma: 0.003,
        ..Default::default()
    };
    fit(&params, &graph, None, 1, &Silent, &mut |iteration| {
        let objective = iteration.report.objective;
        assert!(objective <= before + 1e-6 * objective.abs(), "{objective} after {before}");
        before = objective;
        Ok(Verdict::Continue)
    })
    .unwrap();
}

#[test]
fn a_start_that_knows_little_is_filled_up_at_random() {
    let graph = checkerboard();
    let params = RmlsParams { d: 40, iterations: 1, ..Default::default() };
    let none = Factor::new(40, vec![Factor::NONE; 40], crate::matching::Rows::Dense(Vec::new())).unwrap();
    fit(&params, &graph, Some(&none), 3, &Silent, &mut |iteration| {
        assert!(iteration.report.density_x > 0.0 && iteration.report.density_y > 0.0);
        Ok(Verdict::Stop)
    })
    .unwrap();
}

#[test]
fn triples_are_another_way_to_say_it() {
    let golden = golden();
    let start = Factor::dense(3, golden.Ly0.concat()).unwrap();
    let w: Vec<Vec<f32>> = golden.W.iter().map(|row| row.iter().map(|&w| w as f32).collect()).collect();
    let params =
        RmlsParams { d: 3, iterations: 1, beta: 0.0, gamma: 0.0, center: false, ..Default::default() };
    fit_formed(&params, sparse(&w), None, Some(&start), 0, &Silent, &mut |iteration| {
        let expected = &golden.rmls[0].iterations[0];
        close(iteration.report.objective, expected.objective, expected.objective.abs(), "objective");
        Ok(Verdict::Stop)
    })
    .unwrap();
}

#[test]
fn bad_parameters_and_empty_graphs_are_errors() {
    let check = |change: fn(&mut RmlsParams)| {
        let mut params = RmlsParams::default();
        change(&mut params);
        params.validate().unwrap_err().to_string()
    };
    assert!(check(|p| p.d = 0).contains("d must be"));
    assert!(check(|p| p.iterations = 0).contains("iterations"));
    assert!(check(|p| p.beta = 1.0).contains("beta must be from 0 to below 1"));
    assert!(check(|p| p.gamma = f64::NAN).contains("gamma"));
    assert!(check(|p| p.theta_x = 0.0).contains("theta_x"));
    assert!(check(|p| (p.threshold, p.beta) = (Threshold::Density, 0.0)).contains("beta must be above 0"));
    let empty = ClickGraph::new(
        Csr::from_triples(2, 3, []).unwrap(),
        Csr::from_triples(2, 3, []).unwrap(),
        Csr::from_triples(2, 2, []).unwrap(),
    )
    .unwrap();
    let fitted =
        fit(&RmlsParams::default(), &empty, None, 0, &Silent, &mut |_| Ok(Verdict::Continue)).unwrap_err();
    assert!(fitted.to_string().contains("no query has a response"));
}

/// Hides the factors, so that everything goes by blocks.
struct Blocks<'a>(&'a Factored);

impl Operator for Blocks<'_> {
    fn n_rows(&self, side: Side) -> usize {
        self.0.n_rows(side)
    }
    fn features(&self, side: Side) -> (&[u32], usize) {
        self.0.features(side)
    }
    fn chain(&self, _to: Side) -> Option<Chain<'_>> {
        None
    }
    fn scaled(&self, to: Side, scale: Option<&[f32]>) -> Scaled {
        self.0.scaled(to, scale)
    }
    fn multiply<S: Send, T: Send>(
        &self,
        scaled: &Scaled,
        block: Block<'_>,
        scratch: &mut Scratch,
        out: Option<&mut [Lanes]>,
        state: &mut [S],
        look: impl Fn(&mut [S], &[Lanes]) -> T + Sync,
    ) -> Vec<T> {
        self.0.multiply(scaled, block, scratch, out, state, look)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Row by row, everything sparse, is the same as by blocks.
    #[test]
    fn sparse_rows_find_what_blocks_find(
        graph in arbitrary_graph(),
        center in any::<bool>(),
        entries in prop::collection::vec((0u32..9, 0u32..80, -1f32..1.0), 1..60),
        to in prop::sample::select(vec![Side::X, Side::Y]),
        threshold in prop::sample::select(vec![Threshold::Relative, Threshold::Absolute, Threshold::Density]),
    ) {
        let operator = Factored::new(&graph, center).unwrap();
        let n = operator.n_rows(to.other());
        let rows = Csr::from_triples(9.max(n), 80, entries).unwrap();
        let rows = crate::matching::SparseRows {
            offsets: rows.offsets()[..=n].iter().map(|&offset| offset as u64).collect(),
            columns: rows.indices()[..rows.offsets()[n]].iter().map(|&column| column as u16).collect(),
            values: rows.values()[..rows.offsets()[n]].to_vec(),
        };
        let amount = if threshold == Threshold::Absolute { 1e-3 } else { 0.2 };
        let rule = Rule { threshold, amount, theta: 1.0 };
        let (found, figures) = sparse::half(&operator.chain(to).unwrap(), &rows, 80, &rule);
        let input = Latent::Sparse(rows.clone().into());
        let (expected, expected_figures) = half(
            &Blocks(&operator), to, 80, &Input::Latent(&input), &rule, &mut Scratch::default(), None, &|_| (),
        );
        // A row that cancels to rounding errors has no direction, and an entry at the threshold may fall to
        // either side; so the sums over the rows are compared, to which such rows add next to nothing.
        // What centering takes away leaves its rounding errors behind.
        let uncentered = Chain { shift: None, ..operator.chain(to).unwrap() };
        let taken_away = sparse::half(&uncentered, &rows, 80, &rule).1.trace;
        let size = expected_figures.trace.abs() + 1e-4 * taken_away + 1e-9;
        prop_assert!((figures.trace - expected_figures.trace).abs() <= 1e-2 * size);
        prop_assert!((figures.penalty - expected_figures.penalty).abs() <= 1e-2 * size);
        let n_rows = operator.n_rows(to);
        let product = |row: usize| -> f32 { found.row(row, 80).iter().zip(expected.row(row, 80)).map(|(a, b)| a * b).sum() };
        let agreeing = (0..n_rows).filter(|&row| product(row) > 0.99 || expected.row(row, 80).iter().all(|&v| v == 0.0));
        prop_assert!(2 * agreeing.count() >= n_rows);
    }
}
