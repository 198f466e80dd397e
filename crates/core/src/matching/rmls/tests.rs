mod golden;
mod properties;

use super::*;
use crate::matching::SparseRow;
use crate::matching::golden::graph as golden_graph;
use crate::matching::operator::{Block, Lanes};
use crate::progress::Silent;

fn rows(factor: &Factor) -> Vec<Vec<f32>> {
    (0..factor.n_features() as u32)
        .map(|feature| factor.map(SparseRow::new(&[feature], &[1.0]).unwrap()))
        .collect()
}

/// Computes W and W' as dense matrices, by products with the unit vectors.
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

fn last(params: &RmlsParams, graph: &ClickGraph) -> Bilinear {
    let mut model = None;
    let learned = fit(params, graph, RmlsRun { start: None, seed: 3, progress: &Silent }, &mut |iteration| {
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

/// The papers say that bounded l2 norms of the rows avoid the degenerate solution in which all rows are equal. If
/// features and responses are at least 0, all rows in one direction make the trace theta_x theta_y times the sum of W.
/// No rows of these norms exceed that trace, and the iterations converge to it unless W is centered.
#[test]
fn bounded_rows_collapse_without_centering() {
    // Two groups, joined by a weak link from every query to every document.
    let pairs =
        (0..40u32).flat_map(|i| (0..40u32).map(move |j| (i, j, if i % 2 == j % 2 { 1.0 } else { 0.2 })));
    let clicks = Csr::from_triples(40, 40, pairs).unwrap();
    let graph = ClickGraph::new(identity(40), identity(40), clicks).unwrap();
    let reports = |center| {
        let params =
            RmlsParams { d: 32, iterations: 10, beta: 0.0, gamma: 0.0, center, ..Default::default() };
        let mut reports = Vec::new();
        fit(&params, &graph, RmlsRun { start: None, seed: 1, progress: &Silent }, &mut |iteration| {
            reports.push(iteration.report.clone());
            Ok(Verdict::Continue)
        })
        .unwrap();
        reports
    };
    let plain = reports(false);
    let last = plain.last().unwrap();
    assert!(last.collapse_x.is_collapsed() && last.collapse_y.is_collapsed(), "{last:?}");
    assert!(last.collapse_x.aligned == 1.0 && last.collapse_x.effective_rank < 1.001, "{last:?}");
    let sum: f64 = dense(&Factored::new(&graph, false).unwrap(), Side::X).iter().flatten().sum();
    assert!((last.objective + sum).abs() < 1e-5 * sum, "{} {sum}", last.objective);
    assert!(plain.iter().all(|report| report.objective >= -sum * (1.0 + 1e-6)));
    let centered = reports(true);
    assert!(!centered.last().unwrap().collapse_x.is_collapsed(), "{centered:?}");
}

/// The thresholds of the papers, 0.001 to 10, are compared with o = L_y' w, which is of the order of r / (n n_i). So an
/// absolute beta that keeps many entries of a small log keeps none of a log of 64 such parts. A share of the largest
/// entry of each row keeps equally many.
#[test]
fn an_absolute_threshold_means_something_else_on_every_log() {
    let log = |parts: u32| {
        let n = 12 * parts;
        let response = |i: u32, j: u32| (1 + (i % 12 * 5 + j * 7) % 11) as f32;
        let pairs = (0..n).flat_map(|i| (0..12).map(move |j| (i, i / 12 * 12 + j, response(i, j))));
        ClickGraph::new(identity(n), identity(n), Csr::from_triples(n as usize, n as usize, pairs).unwrap())
            .unwrap()
    };
    let density = |threshold, beta, parts| {
        let params = RmlsParams { d: 64, iterations: 1, threshold, beta, gamma: 0.0, ..Default::default() };
        let mut density = 0.0;
        fit(&params, &log(parts), RmlsRun { start: None, seed: 1, progress: &Silent }, &mut |iteration| {
            density = iteration.report.density_x;
            Ok(Verdict::Stop)
        })
        .unwrap();
        density
    };
    let absolute = [1, 64].map(|parts| density(Threshold::Absolute, 0.01, parts));
    assert!(absolute[0] > 0.2 && absolute[1] == 0.0, "{absolute:?}");
    let relative = [1, 64].map(|parts| density(Threshold::Relative, 0.3, parts));
    assert!(relative[0] > 0.2 && (relative[0] - relative[1]).abs() < 0.1, "{relative:?}");
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
    fit(&params, &graph, RmlsRun { start: None, seed: 1, progress: &Silent }, &mut |iteration| {
        assert!((iteration.report.density_x - 0.05).abs() < 0.005, "{}", iteration.report.density_x);
        assert!((iteration.report.density_y - 0.1).abs() < 0.01, "{}", iteration.report.density_y);
        Ok(Verdict::Continue)
    })
    .unwrap();
    let mut before = f64::INFINITY;
    let params = RmlsParams {
        d: 64,
        iterations: 8,
        threshold: Threshold::Absolute,
        beta: 0.004,
        gamma: 0.003,
        ..Default::default()
    };
    fit(&params, &golden_graph(), RmlsRun { start: None, seed: 1, progress: &Silent }, &mut |iteration| {
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
    fit(&params, &graph, RmlsRun { start: Some(&none), seed: 3, progress: &Silent }, &mut |iteration| {
        assert!(iteration.report.density_x > 0.0 && iteration.report.density_y > 0.0);
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
        fit(&RmlsParams::default(), &empty, RmlsRun { start: None, seed: 0, progress: &Silent }, &mut |_| {
            Ok(Verdict::Continue)
        })
        .unwrap_err();
    assert!(fitted.to_string().contains("no query has a response"));
    let w = identity(3);
    let fitted = fit_formed(
        &RmlsParams::default(),
        ClickSums { w, means: None },
        RmlsRun { start: None, seed: 0, progress: &Silent },
        &mut |_| Ok(Verdict::Stop),
    );
    assert!(fitted.unwrap_err().to_string().contains("centering needs the means of x and of y'"));
}
