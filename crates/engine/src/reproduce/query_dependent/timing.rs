//! Table 4: seconds until the functions of all targets are learned, at lambda = 1e-8 with a fifth of the documents.

use std::time::Instant;

use matchrank_core::Result;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::LambdaPath;
use matchrank_core::ranking::query_dependent::{
    DocumentKernel, Function, QueryDependent, QueryDependentParams, QueryForm, QueryTarget, Weights,
};
use matchrank_core::simulate::query_dependent::{Example, ListsParams, Scenario, simulate};
use rayon::prelude::*;
use serde::Serialize;

use super::{METHODS, Shares, SplitLists, params};

/// lambda of the table.
pub const LAMBDA: f64 = 1e-8;

/// n, N and the paper's seconds, in the order of the methods.
pub const PAPER: [(usize, usize, [f64; 4]); 9] = [
    (50, 20, [0.134, 0.146, 0.458, 0.432]),
    (50, 50, [1.013, 0.579, 1.030, 0.989]),
    (50, 100, [7.656, 1.316, 1.657, 1.620]),
    (200, 20, [0.709, 0.233, 1.377, 1.334]),
    (200, 50, [16.863, 2.115, 3.558, 3.829]),
    (200, 100, [96.857, 5.270, 5.544, 5.553]),
    (500, 20, [5.027, 0.344, 3.309, 2.892]),
    (500, 50, [76.486, 5.166, 9.200, 8.137]),
    (500, 100, [400.585, 14.772, 21.670, 21.628]),
];

/// Seconds of one method at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// n.
    pub n_queries: usize,
    /// N.
    pub n_documents: usize,
    /// The method.
    pub method: &'static str,
    /// Seconds on all threads, from training lists to the functions of all targets.
    pub seconds: f64,
    /// Seconds in the paper, on eight cores.
    pub paper: f64,
    /// Largest remaining relative duality gap: no function is farther from its optimum.
    pub gap: f64,
}

/// Learns all functions, at every size of the paper up to `most_queries` queries.
pub fn reproduce(most_queries: usize, seed: u64, progress: &dyn Progress) -> Result<Vec<Timing>> {
    let sizes: Vec<_> = PAPER.into_iter().filter(|(n, ..)| *n <= most_queries).collect();
    progress.begin("timing", Some((sizes.len() * METHODS.len()) as u64), "runs");
    let mut timings = Vec::new();
    for (n_queries, n_documents, paper) in sizes {
        let lists = ListsParams { n_queries, n_documents, ..ListsParams::of(Example::Linear, Scenario::IV) };
        let made = simulate(&lists, seed)?;
        let split = SplitLists::new(&made.lists, (&made.queries, Vec::new()), Shares::simulated(0.0), seed)?;
        for ((method, weights), paper) in METHODS.into_iter().zip(paper) {
            let params = QueryDependentParams {
                lambda: LambdaPath::One(LAMBDA),
                ..params(weights, DocumentKernel::Linear, QueryForm::Scoring)
            };
            let started = Instant::now();
            let functions = all_functions(&params, &split)?;
            let seconds = started.elapsed().as_secs_f64();
            let gap = functions.iter().filter_map(relative_gap).fold(0.0, f64::max);
            timings.push(Timing { n_queries, n_documents, method, seconds, paper, gap });
            progress.advance(1);
        }
    }
    Ok(timings)
}

fn relative_gap(function: &Function) -> Option<f64> {
    Some((function.objective - function.lower_bound?) / function.objective)
}

fn all_functions(params: &QueryDependentParams, split: &SplitLists) -> Result<Vec<Function>> {
    let learner = QueryDependent::new(params, split.train.clone(), split.queries.clone(), &[])?;
    let targets = if params.weights == Weights::Uniform { 1 } else { split.n_observed() };
    (0..targets)
        .into_par_iter()
        .map(|query| {
            let target = QueryTarget { observed: Some(query), features: Some(&split.queries[query]) };
            Ok(learner.fit(&learner.neighbourhood(target)?, LAMBDA))
        })
        .collect()
}
