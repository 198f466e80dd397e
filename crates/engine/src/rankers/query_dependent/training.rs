//! From lists and query features to a model: lambda is chosen, functions are learned when they are asked for.

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::message::{IS, counted_with, shortest};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::query_dependent::{
    Function, Neighbourhood, QueryDependent, QueryDependentParams, QueryFeatures, QueryTarget, Weights,
};
use matchrank_core::ranking::{LambdaPath, Scaling, ScalingKind, Validation, beyond_the_end};
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::KIND;
use super::columns::{self, QueryColumns, factors};
use super::model::{LambdaTrial, Parts, QueryDependentModel, QuerySource, scaled};
use super::table::QueryTable;
use crate::rankers::recipe::Lessons;

/// Features of a document at most; documents are kept dense.
const MOST_FEATURES: usize = 10_000;

/// Lambdas beyond an end of the path that are tried at most.
const MOST_BEYOND: usize = 4;

/// Source of the query features of a training.
#[derive(Debug, Clone, Copy)]
pub enum QueryInput<'a> {
    /// Columns of the lists.
    Columns(&'a QueryColumns),
    /// A table by query id.
    Table(&'a QueryTable),
}

/// Chooses lambda by validation, the smallest where there is none, and keeps what functions are learned from.
/// Validation queries that are among the training queries are observed, all others novel.
pub fn train_query_dependent(
    params: &QueryDependentParams,
    scaling: ScalingKind,
    lessons: Lessons<'_>,
    progress: &dyn Progress,
) -> Result<QueryDependentModel> {
    params.validate()?;
    let Lessons { mut train, validation, query: input, .. } = lessons;
    KIND.check_lists(&train, validation.as_ref().map(|(lists, _)| lists))?;
    if train.n_features() > MOST_FEATURES {
        return Err(Error::Params(format!(
            "there are features up to number {}; documents are compared feature by feature, up to {MOST_FEATURES}",
            train.n_features()
        )));
    }
    let source = match (params.weights.are_local(), input) {
        (false, _) => QuerySource::Nothing,
        (true, QueryInput::Columns(columns)) => QuerySource::Columns(columns.find(&train)?),
        (true, QueryInput::Table(_)) => QuerySource::Table,
    };
    if let QuerySource::Columns(columns) = &source {
        if columns.len() == train.n_features() {
            return Err(Error::Params(
                "every feature is a query feature, the same for all documents of a query; none is left to order \
                 documents by"
                    .into(),
            ));
        }
        let varying = columns::varying(columns, &train);
        if !varying.is_empty() {
            let numbers: Vec<String> = varying.iter().map(|column| (column + 1).to_string()).collect();
            progress.note(&format!(
                "query features {} differ within queries: their means are taken, and documents are not ordered by them",
                numbers.join(", ")
            ));
        }
    }
    let features = |lists: &FeatureLists| -> Vec<Option<QueryFeatures>> {
        lists
            .iter()
            .map(|list| match (&source, input) {
                (QuerySource::Columns(columns), _) => {
                    Some(QueryFeatures::of_numbers(columns::of_list(columns, &list)))
                }
                (QuerySource::Table, QueryInput::Table(table)) => table.get(list.query()).cloned(),
                _ => None,
            })
            .collect()
    };
    let (train, known) = match &source {
        QuerySource::Nothing => (train, Vec::new()),
        _ => {
            let known = features(&train);
            let with: Vec<usize> = (0..known.len()).filter(|&i| known[i].is_some()).collect();
            if with.is_empty() {
                let file = if let QueryInput::Table(table) = input { table.name() } else { "the lists" };
                return Err(Error::format(file, "has query features of no training query"));
            }
            if with.len() < known.len() {
                progress.note(&format!(
                    "{} not in the file of query features: left out",
                    counted_with(known.len() - with.len(), "training query", IS)
                ));
                train = train.subset(&with);
            }
            (train, known.into_iter().flatten().collect())
        }
    };
    let factors = factors(&known.iter().map(|query| query.numbers.clone()).collect::<Vec<_>>());
    let queries: Vec<QueryFeatures> = known.iter().map(|query| scaled(query, &factors)).collect();
    let scaling = Scaling::fit(scaling, &train);
    let mut lists = train;
    scaling.apply(&mut lists);

    let mut lambdas = match &params.lambda {
        LambdaPath::One(lambda) => vec![*lambda],
        LambdaPath::Path(lambdas) => lambdas.clone(),
    };
    lambdas.sort_by(|a, b| b.total_cmp(a));
    let mut trials: Vec<LambdaTrial> =
        lambdas.iter().map(|&lambda| LambdaTrial { lambda, validation: None, gap: None }).collect();
    let mut kept = lambdas.len() - 1;
    if let Some((mut validation, measure)) = validation {
        let targets: Vec<Option<QueryFeatures>> = features(&validation);
        let targets: Vec<Option<QueryFeatures>> =
            targets.iter().map(|target| target.as_ref().map(|target| scaled(target, &factors))).collect();
        scaling.apply(&mut validation);
        let columns = match &source {
            QuerySource::Columns(columns) => &columns[..],
            _ => &[],
        };
        let learner = QueryDependent::new(params, lists.clone(), queries.clone(), columns)?;
        measure_all(&learner, &validation, &targets, measure, &mut trials, progress)?;
        let figure = |trial: &LambdaTrial| {
            let figure = trial.validation.unwrap_or(f64::NEG_INFINITY);
            if measure.higher_is_better() { figure } else { -figure }
        };
        let next = |trials: &[LambdaTrial]| {
            let path: Vec<(f64, f64)> = trials.iter().map(|trial| (trial.lambda, figure(trial))).collect();
            beyond_the_end(&path)
        };
        for _ in 0..MOST_BEYOND {
            let Some(lambda) = next(&trials) else { break };
            let mut more = [LambdaTrial { lambda, validation: None, gap: None }];
            measure_all(&learner, &validation, &targets, measure, &mut more, progress)?;
            trials.insert(trials.partition_point(|trial| trial.lambda > lambda), more[0]);
        }
        // Of equals the largest lambda.
        kept = (0..trials.len())
            .rev()
            .max_by(|&a, &b| figure(&trials[a]).total_cmp(&figure(&trials[b])))
            .unwrap_or(kept);
        if next(&trials).is_some() {
            progress.note(&format!(
                "the best lambda, {}, is at the end of those that were tried; one beyond it may be better",
                shortest(trials[kept].lambda)
            ));
        }
        if let Some(gap) = trials[kept].gap.filter(|&gap| gap > 1.01 * params.tolerance) {
            progress.note(&format!(
                "the functions of lambda {} come within {gap:.1e} of their minimum, not within the tolerance of {}: \
                 a larger max_iterations gives more rounds",
                shortest(trials[kept].lambda),
                params.tolerance
            ));
        }
    }
    QueryDependentModel::new(Parts {
        params: params.clone(),
        lambda: trials[kept].lambda,
        scaling,
        source,
        factors,
        lists,
        queries,
        trials,
    })
}

/// The scores of the lists of a function, and its gap.
type OfLambda = (Vec<Vec<f64>>, Option<f64>);

/// Learns the functions of all validation queries for all lambdas, and measures them.
fn measure_all(
    learner: &QueryDependent,
    lists: &FeatureLists,
    targets: &[Option<QueryFeatures>],
    measure: Measure,
    trials: &mut [LambdaTrial],
    progress: &dyn Progress,
) -> Result<()> {
    let validation = Validation::new(lists, measure)?;
    let lambdas: Vec<f64> = trials.iter().map(|trial| trial.lambda).collect();
    let observed: std::collections::HashMap<&str, usize> =
        learner.lists().iter().enumerate().map(|(i, list)| (list.query(), i)).collect();
    let nears: Vec<Neighbourhood> = (0..lists.n_queries())
        .into_par_iter()
        .map(|query| {
            let observed = observed.get(lists.list(query).query()).copied();
            learner.neighbourhood(QueryTarget { observed, features: targets[query].as_ref() })
        })
        .collect::<Result<_>>()?;
    // Queries that have the function of all share it.
    let is_uniform = |query: &usize| matches!(nears[*query], Neighbourhood::Uniform(_));
    let mut tasks: Vec<Vec<usize>> =
        (0..nears.len()).filter(|query| !is_uniform(query)).map(|query| vec![query]).collect();
    let shared: Vec<usize> = (0..nears.len()).filter(is_uniform).collect();
    if learner.params().weights == Weights::Individual && shared.len() == nears.len() {
        progress.note(
            "no validation query is among the training queries, so lambda is chosen by the function of all queries",
        );
    }
    if !shared.is_empty() {
        tasks.push(shared);
    }
    progress.begin("learning", Some(tasks.len() as u64), "functions");
    let paths: Vec<Vec<OfLambda>> = tasks
        .par_iter()
        .map(|queries| {
            let mut path = Vec::with_capacity(lambdas.len());
            learner.fit_path(&nears[queries[0]], &lambdas, |function| {
                let scores = queries.iter().map(|&query| {
                    let mut scores = Vec::new();
                    learner.score(&function, &lists.list(query), &mut scores);
                    scores
                });
                path.push((scores.collect(), relative_gap(&function)));
            });
            progress.advance(1);
            path
        })
        .collect();
    for (at, trial) in trials.iter_mut().enumerate() {
        let mut by_query: Vec<&[f64]> = vec![&[]; lists.n_queries()];
        for (queries, path) in tasks.iter().zip(&paths) {
            queries.iter().zip(&path[at].0).for_each(|(&query, scores)| by_query[query] = scores);
        }
        trial.validation = Some(validation.of_scores(&by_query.concat())?);
        trial.gap = paths.iter().map(|path| path[at].1).try_fold(0.0, |gap: f64, next| Some(gap.max(next?)));
    }
    Ok(())
}

/// None where nothing bounds the objective from below.
fn relative_gap(function: &Function) -> Option<f64> {
    Some((function.objective - function.lower_bound?) / function.objective.max(f64::MIN_POSITIVE))
}
