//! Table 6: the protocol of the paper's real data, with judged lists.
//!
//! Documents of each query are split 60 : 20 : 20, a tenth of the queries is novel, and k = 3 for observed and 20 for
//! novel queries. Features are scaled by their range over the training documents, and query features by their standard
//! deviation over the queries: those of real data have units that differ by orders of magnitude.

use matchrank_core::data::FeatureLists;
use matchrank_core::message::{HAS, counted_with};
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::ranking::listnet::{self, ListNetParams};
use matchrank_core::ranking::query_dependent::{DocumentKernel, QueryDependentParams, QueryForm};
use matchrank_core::ranking::ranksvm::{self, RankSvmParams};
use matchrank_core::ranking::{LambdaPath, LinearRanker, Ranker, Sample, Scaling, ScalingKind};
use matchrank_core::{Error, Result};
use serde::Serialize;

use super::tables::mean_and_error;
use super::{METHODS, Outcome, Shares, SplitLists, figures, mis_ranked, outcome, params, run};
use crate::rankers::query_dependent::{QueryColumns, standardised};

/// Fewest documents of a query, of which three fifths are for training.
const FEWEST: usize = 5;

/// The paper's figures: overall, observed, novel, each by MRE, 1 - ERR, 1 - NDCG for the four methods (Yahoo! data).
#[allow(clippy::approx_constant, reason = "an error of 0.318 is not 1 / pi")]
pub const PAPER: [[[f64; 4]; 3]; 3] = [
    [[0.376, 0.356, 0.328, 0.322], [0.669, 0.662, 0.644, 0.644], [0.284, 0.266, 0.243, 0.239]],
    [[0.375, 0.341, 0.323, 0.318], [0.667, 0.654, 0.640, 0.640], [0.286, 0.257, 0.241, 0.237]],
    [[0.391, 0.484, 0.369, 0.360], [0.680, 0.731, 0.675, 0.680], [0.269, 0.343, 0.255, 0.253]],
];

/// Groups of queries that a figure is over.
pub const GROUPS: [&str; 3] = ["overall", "observed", "novel"];

/// Mean and standard error over replicates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodRow {
    /// One of [`GROUPS`].
    pub group: &'static str,
    /// One of [`super::MEASURES`].
    pub measure: &'static str,
    /// Mean and standard error, by method.
    pub figures: Vec<(f64, f64)>,
}

/// Results of a reproduction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueryDependentReproduction {
    /// Queries that were used.
    pub queries: usize,
    /// Query features, numbered as in the file.
    pub query_features: Vec<u32>,
    /// Methods: the four of the paper, and RankSVM (squared hinge) and ListNet as they are trained elsewhere.
    pub methods: Vec<String>,
    /// The rows of the table.
    pub rows: Vec<MethodRow>,
    /// Seconds of each method, on average over replicates.
    pub seconds: Vec<f64>,
}

/// Runs the protocol on lists. `columns` are the query features, which are detected if none are given.
pub fn reproduce(
    lists: &FeatureLists,
    columns: &QueryColumns,
    (replicates, seed): (usize, u64),
    progress: &dyn Progress,
) -> Result<QueryDependentReproduction> {
    if replicates < 2 {
        return Err(Error::Params("at least two replicates are needed for a standard error".into()));
    }
    let columns = columns.find(lists)?;
    let long: Vec<usize> = (0..lists.n_queries()).filter(|&i| lists.list(i).len() >= FEWEST).collect();
    if long.len() < 10 {
        return Err(Error::Params(format!(
            "{} at least {FEWEST} documents; the protocol needs ten such queries",
            counted_with(long.len(), "query", HAS)
        )));
    }
    if long.len() < lists.n_queries() {
        progress.note(&format!(
            "{} fewer than {FEWEST} documents: left out",
            counted_with(lists.n_queries() - long.len(), "query", HAS)
        ));
    }
    let lists = lists.subset(&long);
    let queries = standardised(&columns, &lists);
    let mut methods: Vec<String> = METHODS.iter().map(|(name, _)| (*name).to_owned()).collect();
    methods.extend(LINEAR.map(|(name, _)| name.to_owned()));
    progress.begin("learning", Some((replicates * methods.len()) as u64), "runs");
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); methods.len()];
    for replicate in 0..replicates {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(replicate as u64);
        let shares = Shares { novel: 0.1, train: 0.6, validation: 0.2 };
        let mut split = SplitLists::new(&lists, (&queries, columns.clone()), shares, seed)?;
        let scaling = Scaling::fit(ScalingKind::MinMax, &split.train);
        for lists in [&mut split.train, &mut split.validation, &mut split.test] {
            scaling.apply(lists);
        }
        for ((_, weights), outcomes) in METHODS.iter().zip(&mut outcomes) {
            let params = QueryDependentParams {
                neighbours: 3,
                novel_neighbours: 20,
                ..params(*weights, DocumentKernel::Linear, QueryForm::Scoring)
            };
            outcomes.push(run(&params, &split, seed)?);
            progress.advance(1);
        }
        for ((_, fit), outcomes) in LINEAR.iter().zip(&mut outcomes[METHODS.len()..]) {
            outcomes.push(linear(*fit, &split)?);
            progress.advance(1);
        }
    }
    let mut rows = Vec::new();
    for (g, group) in GROUPS.into_iter().enumerate() {
        for (m, measure) in super::MEASURES.into_iter().enumerate() {
            let value = |outcome: &Outcome| match g {
                0 => outcome.overall[m],
                1 => outcome.observed[m],
                _ => outcome.novel.map_or(f64::NAN, |novel| novel[m]),
            };
            let figures = outcomes
                .iter()
                .map(|outcomes| mean_and_error(&outcomes.iter().map(value).collect::<Vec<_>>()))
                .collect();
            rows.push(MethodRow { group, measure, figures });
        }
    }
    let seconds = outcomes
        .iter()
        .map(|outcomes| outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>() / replicates as f64)
        .collect();
    let query_features = columns.iter().map(|column| column + 1).collect();
    Ok(QueryDependentReproduction { queries: lists.n_queries(), query_features, methods, rows, seconds })
}

/// Function that fits the weights for one lambda.
type Fit = fn(&Sample<'_>, f64) -> Result<Vec<f64>>;

const LINEAR: [(&str, Fit); 2] = [("RankSVM", ranksvm), ("ListNet", listnet)];

fn ranksvm(sample: &Sample<'_>, lambda: f64) -> Result<Vec<f64>> {
    let params = RankSvmParams { lambda: LambdaPath::One(lambda), ..Default::default() };
    Ok(ranksvm::fit(&params, sample, None, &Silent)?.0)
}

fn listnet(sample: &Sample<'_>, lambda: f64) -> Result<Vec<f64>> {
    let params = ListNetParams { lambda: LambdaPath::One(lambda), ..Default::default() };
    Ok(listnet::fit(&params, sample, None, &Silent)?.0)
}

/// Tunes and measures one of the other rankers in the same way; lambda is one of 10, 1, ..., 1e-6.
fn linear(fit: Fit, split: &SplitLists) -> Result<Outcome> {
    let started = std::time::Instant::now();
    let sample = Sample::new(&split.train);
    let mut best: Option<(f64, f64, LinearRanker)> = None;
    for power in (-6..=1).rev() {
        let lambda = 10f64.powi(power);
        let scaling = Scaling::fit(ScalingKind::None, &split.train);
        let ranker = LinearRanker { weights: fit(&sample, lambda)?, scaling };
        let scores = ranker.score_all(&split.validation);
        let wrong: f64 =
            split.validation.iter().map(|list| mis_ranked(&scores[list.rows()], list.labels())).sum();
        if best.as_ref().is_none_or(|(least, ..)| wrong < *least) {
            best = Some((wrong, lambda, ranker));
        }
    }
    let (_, lambda, ranker) = best.expect("there is a lambda");
    let scores = ranker.score_all(&split.test);
    let tests: Vec<([f64; 3], f64)> =
        split.test.iter().map(|list| (figures(&scores[list.rows()], list.labels()), 0.0)).collect();
    Ok(outcome(split, &tests, lambda, started))
}
