//! Trains RMLS from sums computed elsewhere: `cargo run -p matchrank-core --example aggregated_clicks`.
//!
//! If the clicks live in a database that is too large to move, the database can compute the sums. With n queries that
//! have clicks and n_i clicked documents of query i, RMLS needs
//!
//! ```text
//! w_uv  = 1/n  sum over queries i and their documents j of  x_iu r_ij y_jv / n_i     a row (u, v, w) for each
//! xbar_u = 1/n  sum over queries i of  x_iu                                          for centering
//! ybar_v = 1/n  sum over queries i and their documents j of  r_ij y_jv / n_i
//! ```
//!
//! This is one `SELECT u, v, SUM(x * r * y / n_i) ... GROUP BY u, v`, and one for each mean. Here loops over a toy log
//! take the place of the database. The result is the model that is learned from the log itself.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;

use matchrank_core::matching::rmls::{self, ClickSums, RmlsParams, RmlsRun, Verdict};
use matchrank_core::matching::{ClickGraph, Csr};
use matchrank_core::progress::Silent;

/// (query, feature, x), (document, feature, y), (query, document, clicks).
const X: [(u32, u32, f32); 6] =
    [(0, 0, 1.0), (1, 0, 0.6), (1, 1, 0.8), (2, 1, 0.6), (2, 2, 0.8), (3, 2, 1.0)];
const Y: [(u32, u32, f32); 4] = [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 0.8), (2, 0, 0.6)];
const R: [(u32, u32, f32); 5] = [(0, 0, 3.0), (1, 0, 1.0), (1, 1, 2.0), (2, 2, 1.0), (3, 2, 4.0)];
const FEATURES: usize = 3;

fn main() -> matchrank_core::Result<()> {
    let answers = |query: u32| R.iter().filter(|(i, ..)| *i == query).count() as f32;
    let n = X.iter().map(|(i, ..)| *i).filter(|&i| answers(i) > 0.0).max().map_or(0, |last| last + 1) as f32;

    let mut w: BTreeMap<(u32, u32), f32> = BTreeMap::new();
    let (mut x_mean, mut y_mean) = (vec![0.0; FEATURES], vec![0.0; FEATURES]);
    X.iter().for_each(|&(_, u, x)| x_mean[u as usize] += x / n);
    for &(i, j, r) in &R {
        for &(_, v, y) in Y.iter().filter(|(document, ..)| *document == j) {
            y_mean[v as usize] += r * y / answers(i) / n;
            for &(_, u, x) in X.iter().filter(|(query, ..)| *query == i) {
                *w.entry((u, v)).or_default() += x * r * y / answers(i) / n;
            }
        }
    }
    let triples = w.iter().map(|(&(u, v), &w)| (u, v, w));
    let w = Csr::from_triples(FEATURES, FEATURES, triples)?;

    let params = RmlsParams { d: 8, iterations: 2, ..Default::default() };
    let means = Some((x_mean, y_mean));
    let run = RmlsRun { start: None, seed: 1, progress: &Silent };
    let summed = rmls::fit_formed(&params, ClickSums { w, means }, run, &mut |_| Ok(Verdict::Continue))?;

    let graph = ClickGraph::new(
        Csr::from_triples(4, FEATURES, X)?,
        Csr::from_triples(3, FEATURES, Y)?,
        Csr::from_triples(4, 3, R)?,
    )?;
    let logged = rmls::fit(&params, &graph, run, &mut |_| Ok(Verdict::Continue))?;
    let (summed, logged) = (summed.into_model()?, logged.into_model()?);
    println!("query document  from sums  from the log");
    for (i, x) in graph.x().rows().enumerate() {
        for (j, y) in graph.y().rows().enumerate() {
            let scores = [&summed, &logged].map(|model| model.score(x, y));
            println!("{i:5} {j:8} {:10.4} {:13.4}", scores[0], scores[1]);
            assert!((scores[0] - scores[1]).abs() < 1e-4, "both ways learn the same model");
        }
    }
    Ok(())
}
