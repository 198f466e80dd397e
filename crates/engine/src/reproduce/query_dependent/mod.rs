//! Query-dependent ranking: Tables 1 to 6 and Figure 1 of Dai and Wang, 2019.
//!
//! | module | content |
//! |---|---|
//! | this one | one experiment: documents split, lambda tuned, four methods measured |
//! | [`tables`] | the cells of the simulated tables and the paper's figures, means and standard errors over replicates |
//! | [`timing`] | Table 4: seconds for all targets |
//! | [`letor`] | Table 6: the same protocol with judged lists |
//!
//! A share gamma of the queries is novel: none of their documents is used for training or validation. The documents of
//! the other queries are split into those for training, validation and testing. The lambda of a method is the best of
//! 61 by the mean MRE over the validation documents of all observed queries; among equals, the largest. Individual
//! functions do not exist for novel queries, whose documents get a random order there, as in the paper.

pub mod letor;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod timing;

use std::time::Instant;

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate_list};
use matchrank_core::ranking::LambdaPath;
use matchrank_core::ranking::query_dependent::{
    DocumentKernel, Function, QueryDependent, QueryDependentParams, QueryFeatures, QueryForm, QueryTarget,
    Weights,
};
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

/// Methods, in the order of the paper's columns.
pub const METHODS: [(&str, Weights); 4] = [
    ("rank-SVM", Weights::Uniform),
    ("indv-SVM", Weights::Individual),
    ("kNN-SVM", Weights::Knn),
    ("q-SVM", Weights::Gaussian),
];

/// Returns 10^((v - 31) / 10), v = 61 down to 1.
pub fn grid() -> Vec<f64> {
    (1..=61).rev().map(|v| 10f64.powf((f64::from(v) - 31.0) / 10.0)).collect()
}

/// Lists split into training, validation and test documents, with the features of their queries.
#[derive(Debug, Clone)]
pub struct SplitLists {
    /// Training documents of the observed queries.
    pub train: FeatureLists,
    /// Validation documents of the observed queries, in the same order.
    pub validation: FeatureLists,
    /// Test documents: first of the observed queries in the same order, then of the novel ones.
    pub test: FeatureLists,
    /// Features of the queries, in the order of `test`.
    pub queries: Vec<QueryFeatures>,
    /// Columns of query features, by which documents are not compared.
    pub query_columns: Vec<u32>,
}

/// Shares of queries and documents in a split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// gamma: share of novel queries.
    pub novel: f64,
    /// Documents of observed queries for training.
    pub train: f64,
    /// Documents of observed queries for validation; the rest is for testing.
    pub validation: f64,
}

impl Shares {
    /// Shares 20 : 20 : 60 of the simulations.
    pub fn simulated(novel: f64) -> Self {
        Self { novel, train: 0.2, validation: 0.2 }
    }
}

/// Rows collected from lists.
struct Gathered<'a> {
    from: &'a FeatureLists,
    lengths: Vec<usize>,
    labels: Vec<f32>,
    values: Vec<f32>,
}

impl Gathered<'_> {
    fn push(&mut self, query: usize, documents: &[usize]) {
        let list = self.from.list(query);
        self.lengths.push(documents.len());
        for &i in documents {
            self.labels.push(list.labels()[i]);
            let start = self.values.len();
            self.values.resize(start + list.n_features(), 0.0);
            list.row(i).entries().for_each(|(column, x)| self.values[start + column as usize] = x);
        }
    }

    fn lists(self) -> Result<FeatureLists> {
        FeatureLists::from_dense(&self.lengths, self.labels, self.from.n_features() as u32, self.values)
    }
}

impl SplitLists {
    /// Splits lists at random.
    pub fn new(
        lists: &FeatureLists,
        (queries, query_columns): (&[QueryFeatures], Vec<u32>),
        shares: Shares,
        seed: u64,
    ) -> Result<Self> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut shuffled = |n: usize| {
            let mut order: Vec<usize> = (0..n).collect();
            (1..n).rev().for_each(|i| order.swap(i, rng.random_range(0..=i)));
            order
        };
        let n = lists.n_queries();
        if let Some(list) = lists.iter().find(|list| list.len() < 3) {
            return Err(Error::Params(format!(
                "query {} has {} documents; at least three are needed, to train, validate and test",
                list.query(),
                list.len()
            )));
        }
        let n_novel = (shares.novel * n as f64).round() as usize;
        let (mut novel, mut observed) = {
            let order = shuffled(n);
            (order[..n_novel].to_vec(), order[n_novel..].to_vec())
        };
        novel.sort_unstable();
        observed.sort_unstable();
        let gather = || Gathered { from: lists, lengths: vec![], labels: vec![], values: vec![] };
        let (mut train, mut validation, mut test) = (gather(), gather(), gather());
        for &query in &observed {
            let order = shuffled(lists.list(query).len());
            let cut = |share: f64| (share * order.len() as f64).round() as usize;
            // Every part gets at least one document.
            let first = cut(shares.train).max(1);
            let second = cut(shares.train + shares.validation).max(first + 1).min(order.len() - 1);
            train.push(query, &order[..first]);
            validation.push(query, &order[first..second]);
            test.push(query, &order[second..]);
        }
        novel.iter().for_each(|&query| test.push(query, &shuffled(lists.list(query).len())));
        Ok(Self {
            train: train.lists()?,
            validation: validation.lists()?,
            test: test.lists()?,
            queries: observed.iter().chain(&novel).map(|&query| queries[query].clone()).collect(),
            query_columns,
        })
    }

    /// Number of observed queries.
    pub fn n_observed(&self) -> usize {
        self.train.n_queries()
    }
}

/// Measures: MRE, 1 - ERR, 1 - NDCG@10.
pub const MEASURES: [&str; 3] = ["MRE", "1 - ERR", "1 - NDCG"];

/// Computes the measures of one list.
fn figures(scores: &[f64], grades: &[f32]) -> [f64; 3] {
    let measures = [
        Measure::Mre,
        Measure::Err { cutoff: None, max: None },
        Measure::Ndcg { cutoff: Some(10), gain: None },
    ];
    let values = evaluate_list(scores, grades, &measures, &Conventions::of(Dialect::Matchrank));
    [values[0], 1.0 - values[1], 1.0 - values[2]]
}

/// Results of one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Mean MRE, 1 - ERR and 1 - NDCG@10 over all test queries.
    pub overall: [f64; 3],
    /// Means over observed queries.
    pub observed: [f64; 3],
    /// Means over novel queries, if there are any.
    pub novel: Option<[f64; 3]>,
    /// MRE over the pairs of all test queries together.
    pub pooled_mre: f64,
    /// The chosen lambda.
    pub lambda: f64,
    /// Largest relative duality gap of a tested function.
    pub gap: f64,
    /// Seconds, tuning and testing.
    pub seconds: f64,
}

/// Returns the parameters of a method of the simulations.
pub fn params(weights: Weights, kernel: DocumentKernel, form: QueryForm) -> QueryDependentParams {
    QueryDependentParams {
        weights,
        kernel,
        form,
        reach: f64::INFINITY,
        lambda: LambdaPath::Path(grid()),
        max_iterations: 10_000,
        ..Default::default()
    }
}

/// Tunes lambda on the validation documents and measures on the test documents.
pub fn run(params: &QueryDependentParams, split: &SplitLists, seed: u64) -> Result<Outcome> {
    let started = Instant::now();
    let n = split.n_observed();
    let known = split.queries[..n].to_vec();
    let learner = QueryDependent::new(params, split.train.clone(), known, &split.query_columns)?;
    let lambdas = match &params.lambda {
        LambdaPath::One(lambda) => vec![*lambda],
        LambdaPath::Path(lambdas) => lambdas.clone(),
    };
    let uniform = params.weights == Weights::Uniform;
    let target = |query: usize| QueryTarget {
        observed: (query < n).then_some(query),
        features: split.queries.get(query),
    };
    // The functions of a target by lambda, and the MRE of the validation lists that they order.
    let path = |query: usize| -> Result<(Vec<Function>, Vec<f64>)> {
        let near = learner.neighbourhood(target(query))?;
        let (mut functions, mut errors) = (Vec::with_capacity(lambdas.len()), Vec::new());
        let mut scores = Vec::new();
        learner.fit_path(&near, &lambdas, |function| {
            let ordered = if uniform { 0..n } else { query..query + 1 };
            let error: f64 = ordered
                .map(|query| {
                    let list = split.validation.list(query);
                    learner.score(&function, &list, &mut scores);
                    mis_ranked(&scores, list.labels())
                })
                .sum();
            errors.push(error);
            functions.push(function);
        });
        Ok((functions, errors))
    };
    let paths: Vec<(Vec<Function>, Vec<f64>)> =
        (0..if uniform { 1 } else { n }).into_par_iter().map(path).collect::<Result<_>>()?;
    let error = |at: usize| paths.iter().map(|(_, errors)| errors[at]).sum::<f64>();
    let kept = (0..lambdas.len()).min_by(|&a, &b| error(a).total_cmp(&error(b))).expect("there is a lambda");
    let random = |query: usize| -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ (query as u64) << 32);
        (0..split.test.list(query).len()).map(|_| rng.random()).collect()
    };
    let tested = |query: usize| -> Result<([f64; 3], f64)> {
        let list = split.test.list(query);
        let mut scores = Vec::new();
        let mut gap = 0.0;
        if query >= n && params.weights == Weights::Individual {
            scores = random(query);
        } else {
            let fresh;
            let function = match paths.get(if uniform { 0 } else { query }) {
                Some((functions, _)) => &functions[kept],
                None => {
                    fresh = learner.fit(&learner.neighbourhood(target(query))?, lambdas[kept]);
                    &fresh
                }
            };
            learner.score(function, &list, &mut scores);
            gap = function.lower_bound.map_or(0.0, |bound| {
                (function.objective - bound) / function.objective.max(f64::MIN_POSITIVE)
            });
        }
        Ok((figures(&scores, list.labels()), gap))
    };
    let tests: Vec<([f64; 3], f64)> =
        (0..split.test.n_queries()).into_par_iter().map(tested).collect::<Result<_>>()?;
    Ok(outcome(split, &tests, lambdas[kept], started))
}

/// Averages the measures of all test lists, each with the gap of its function.
fn outcome(split: &SplitLists, tests: &[([f64; 3], f64)], lambda: f64, started: Instant) -> Outcome {
    let n = split.n_observed();
    let mean = |of: &[([f64; 3], f64)]| -> [f64; 3] {
        std::array::from_fn(|m| of.iter().map(|(values, _)| values[m]).sum::<f64>() / of.len() as f64)
    };
    let pairs = |query: usize| {
        let n = split.test.list(query).len() as f64;
        n * (n - 1.0) / 2.0
    };
    let all: f64 = (0..tests.len()).map(pairs).sum();
    let wrong: f64 = tests.iter().enumerate().map(|(query, (values, _))| values[0] * pairs(query)).sum();
    Outcome {
        overall: mean(tests),
        observed: mean(&tests[..n]),
        novel: (tests.len() > n).then(|| mean(&tests[n..])),
        pooled_mre: wrong / all.max(1.0),
        lambda,
        gap: tests.iter().map(|(_, gap)| *gap).fold(0.0, f64::max),
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// Computes the MRE of a short list without sorting; a tie is half an error.
fn mis_ranked(scores: &[f64], grades: &[f32]) -> f64 {
    let n = scores.len();
    let mut wrong = 0.0;
    for i in 0..n {
        for j in 0..i {
            if grades[i] != grades[j] {
                let order = (scores[i] - scores[j]) * f64::from(grades[i] - grades[j]);
                wrong += if order < 0.0 {
                    1.0
                } else if order == 0.0 {
                    0.5
                } else {
                    0.0
                };
            }
        }
    }
    wrong / (n * n.saturating_sub(1) / 2).max(1) as f64
}
