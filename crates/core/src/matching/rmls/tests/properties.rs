//! Compares results on random graphs with slow and simple implementations.

use proptest::prelude::*;

use super::super::sparse;
use super::*;
use crate::linalg::{Chain, Scaled};

fn arbitrary_graph() -> impl Strategy<Value = ClickGraph> {
    let matrix = |n_rows: usize, n_columns: usize, low: f32| {
        prop::collection::vec((0..n_rows as u32, 0..n_columns as u32, low..2.0f32), 1..60)
            .prop_map(move |triples| Csr::from_triples(n_rows, n_columns, triples).unwrap())
    };
    (matrix(12, 9, -1.0), matrix(10, 11, -1.0), matrix(12, 10, 0.1))
        .prop_map(|(x, y, r)| ClickGraph::new(x, y, r).unwrap())
}

/// Runs Algorithm 1 as it is written, in f64 on dense matrices.
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

    /// 40 columns, so that rows span blocks; relative thresholds, dense and sparse. A row whose entries almost cancel
    /// has no direction that f32 could find, so rows are compared through products with W.
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
        fit(&params, &graph, RmlsRun { start: Some(&factor), seed: 0, progress: &Silent }, &mut |iteration| {
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

/// Hides the factors, so that blocks are used everywhere.
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

    /// The sparse algorithm gives the same rows as the blocks.
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
        let rule = Regulariser { threshold, amount, theta: 1.0 };
        let (found, figures) = sparse::half(&operator.chain(to).unwrap(), &rows, 80, &rule);
        let input = Latent::Sparse(rows.clone().into());
        let (expected, expected_figures) = half(
            &Blocks(&operator), to, 80, &Input::Latent(&input), &rule, &mut Scratch::default(), None, &|_| (),
        );
        // A row that cancels to rounding errors has no direction, and an entry at the threshold may fall to either
        // side. So the sums over the rows are compared, to which such rows contribute next to nothing. Centering leaves
        // rounding errors of the subtracted values.
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
