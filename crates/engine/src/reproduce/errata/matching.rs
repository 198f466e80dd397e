//! Wu, Lu, Li: *Learning bilinear model for matching queries and documents*, 2013, and its version of 2012.

use matchrank_core::matching::rmls::{self, IterationReport, Threshold, Verdict};
use matchrank_core::matching::{Bilinear, ClickGraph, Csr, Mapping, RmlsParams};
use matchrank_core::progress::Silent;

use super::{Correction, figures, near};
use crate::Result;

const PAPER: &str = "Matching";

pub(super) fn corrections() -> Result<Vec<Correction>> {
    Ok(vec![degenerate_solution()?, sign_of_the_alignment()?, norm_of_a_row()?, absolute_threshold()?])
}

/// Makes a click graph in which every query and every document has one feature, its own.
fn graph(n: u32, clicks: impl Iterator<Item = (u32, u32, f32)>) -> Result<ClickGraph> {
    let own = || Csr::from_triples(n as usize, n as usize, (0..n).map(|i| (i, i, 1.0)));
    ClickGraph::new(own()?, own()?, Csr::from_triples(n as usize, n as usize, clicks)?)
}

/// Makes forty queries and forty documents in two groups, with weak clicks between the groups.
fn two_groups() -> Result<ClickGraph> {
    let clicks = |i: u32| (0..40).map(move |j| (i, j, if i % 2 == j % 2 { 1.0 } else { 0.2 }));
    graph(40, (0..40).flat_map(clicks))
}

/// Makes a log of equal parts that share neither queries nor documents, each with twelve queries and varied counts of
/// clicks.
fn parts(n: u32) -> Result<ClickGraph> {
    let response = |i: u32, j: u32| (1 + (i % 12 * 5 + j * 7) % 11) as f32;
    let clicks = move |i: u32| (0..12).map(move |j| (i, i / 12 * 12 + j, response(i, j)));
    graph(12 * n, (0..12 * n).flat_map(clicks))
}

/// Trains RMLS and returns the model with the statistics of every iteration.
fn train(params: &RmlsParams, graph: &ClickGraph) -> Result<(Bilinear, Vec<IterationReport>)> {
    let mut reports = Vec::new();
    let learned = rmls::fit(
        params,
        graph,
        rmls::RmlsRun { start: None, seed: 1, progress: &Silent },
        &mut |iteration| {
            reports.push(iteration.report.clone());
            Ok(Verdict::Continue)
        },
    )?;
    Ok((learned.into_model()?, reports))
}

/// RMLS without thresholds.
fn dense(iterations: usize, center: bool) -> RmlsParams {
    RmlsParams { d: 32, iterations, beta: 0.0, gamma: 0.0, center, ..RmlsParams::default() }
}

fn degenerate_solution() -> Result<Correction> {
    let graph = two_groups()?;
    // Score of a document of the query's group less that of a document of the other group.
    let lead = |center| -> Result<(f64, f64)> {
        let (model, reports) = train(&dense(10, center), &graph)?;
        let score = |document| f64::from(model.score(graph.x().row(0), graph.y().row(document)));
        Ok((reports[9].collapse_x.mean_row, score(0) - score(1)))
    };
    let ((mean, lead_as_printed), (centred_mean, centred_lead)) = (lead(false)?, lead(true)?);
    Ok(Correction {
        paper: PAPER,
        place: "section 4 (2012: section 3)",
        printed: "bounding the l2 norm of the rows avoids degenerate solutions",
        correct: "it does not: without centring, all rows point in one direction and every document gets the same score",
        figures: figures([
            ("length of the mean row, 1 if all rows are equal", mean),
            ("lead of a document of the query's own group", lead_as_printed),
            ("length of the mean row with W centred", centred_mean),
            ("lead of a document of the query's own group with W centred", centred_lead),
        ]),
        holds: mean > 0.999 && lead_as_printed.abs() < 0.01 && centred_mean < 0.1 && centred_lead > 1.0,
    })
}

fn sign_of_the_alignment() -> Result<Correction> {
    let (_, reports) = train(&dense(5, true), &parts(4)?)?;
    let (first, last) = (reports[0].objective, reports[4].objective);
    Ok(Correction {
        paper: PAPER,
        place: "2012, equation (3)",
        printed: "minimise tr(L_x' W L_y) plus penalties",
        correct: "minimise -tr(L_x' W L_y) plus penalties, as in equation (4) of 2013: update (4) makes the trace larger",
        figures: figures([
            ("as printed, after iteration 1 (no penalties)", -first),
            ("as printed, after iteration 5", -last),
            ("corrected, after iteration 1", first),
            ("corrected, after iteration 5", last),
        ]),
        holds: last < 1.001 * first && first < 0.0,
    })
}

fn norm_of_a_row() -> Result<Correction> {
    let graph = two_groups()?;
    let (model, _) = train(&dense(2, true), &graph)?;
    let mut row = vec![0.0; 32];
    let (mut l1, mut l2) = (0f64, 0f64);
    for query in 0..40 {
        model.map_query_into(graph.x().row(query), &mut row);
        let values = || row.iter().map(|&value| f64::from(value));
        l1 = l1.max(values().map(f64::abs).sum());
        l2 = l2.max(values().map(|value| value * value).sum::<f64>().sqrt());
    }
    Ok(Correction {
        paper: PAPER,
        place: "2012, Theorem 4.5",
        printed: "|l_xu| <= theta_x, where |.| is the l1 norm elsewhere in the paper",
        correct: "the l2 norm, as in Theorem 5 of 2013",
        figures: figures([
            ("theta_x", 1.0),
            ("largest l1 norm of a row", l1),
            ("largest l2 norm of a row", l2),
        ]),
        holds: l1 > 2.0 && near(l2, 1.0),
    })
}

fn absolute_threshold() -> Result<Correction> {
    let density = |threshold, beta, n| -> Result<f64> {
        let params =
            RmlsParams { d: 64, iterations: 1, threshold, beta, gamma: 0.0, ..RmlsParams::default() };
        Ok(100.0 * train(&params, &parts(n)?)?.1[0].density_x)
    };
    let absolute = [density(Threshold::Absolute, 0.01, 1)?, density(Threshold::Absolute, 0.01, 64)?];
    let relative = [density(Threshold::Relative, 0.3, 1)?, density(Threshold::Relative, 0.3, 64)?];
    Ok(Correction {
        paper: PAPER,
        place: "2012, section 5.1",
        printed: "thresholds beta and gamma from {0.001, ..., 10} for any log",
        correct: "an absolute threshold keeps many entries of a small log and none of a larger one; a share of the largest entry of a row keeps about as many of both",
        figures: figures([
            ("% of entries kept by beta = 0.01", absolute[0]),
            ("% of entries kept by beta = 0.01, 64 times the log", absolute[1]),
            ("% of entries kept by 0.3 of the largest entry", relative[0]),
            ("% of entries kept by 0.3 of the largest entry, 64 times the log", relative[1]),
        ]),
        holds: absolute[0] > 20.0 && absolute[1] == 0.0 && (relative[0] - relative[1]).abs() < 10.0,
    })
}
