use std::path::PathBuf;
use std::slice::from_ref;
use std::time::Instant;

use anyhow::{bail, ensure};
use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryInput, train_query_dependent};
use matchrank_engine::rankers::{FoldFigures, RankerRecipe, cross_validate_with};
use serde_json::{Value, json};

use super::query_dependent::read_table;
use super::{ScalingName, parse_columns, read_lists};
use crate::commands::train::settings::parse_setting;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome};

/// Train and test rankers on folds of feature lists
///
/// Each fold is tested on once: the fold before it (the last for the first) chooses epochs and lambdas, all others are
/// trained on. Figures are means over the folds; queries without a relevant document are left out.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folds: LETOR / SVMlight files, at least three
    #[arg(long, num_args = 1.., required = true, value_name = "FILE")]
    letor: Vec<PathBuf>,
    /// Which rankers, separated by commas: perceptron, slam, ranksvm, listnet, mart, lambdamart, query-dependent; the
    /// latter with other weights as query-dependent/knn, /uniform, ...
    #[arg(long, value_delimiter = ',', default_value = "perceptron,ranksvm,listnet", value_name = "LIST")]
    models: Vec<String>,
    /// Set a parameter of every ranker
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Value)>,
    /// Features that belong to queries, for query-dependent rankers, as in 5-7,20 [default: those that never differ
    /// within a query]
    #[arg(long, value_name = "LIST", value_parser = parse_columns)]
    query_columns: Option<QueryColumns>,
    /// Query features in a file of their own, for query-dependent rankers
    #[arg(long, value_name = "FILE", conflicts_with = "query_columns")]
    query_features: Option<PathBuf>,
    /// How features are scaled
    #[arg(long, value_enum, value_name = "HOW", default_value = "min_max")]
    scaling: ScalingName,
    /// What epochs and lambdas are chosen by
    #[arg(long, value_name = "MEASURE", default_value = "ndcg@10")]
    measure: Measure,
    /// What is measured on the tests, separated by commas
    #[arg(long, value_name = "LIST", default_value = "ndcg@1,ndcg@3,ndcg@5,ndcg@10,map")]
    measures: String,
    /// Report every fold
    #[arg(long)]
    per_fold: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank cross-validate --letor Fold*/test.txt
  matchrank cross-validate --letor f1.txt f2.txt f3.txt --models perceptron --set target=map --format json
  matchrank cross-validate --letor Fold*/test.txt --models ranksvm,query-dependent,query-dependent/knn --measures mre,err,ndcg@10";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let models = recipes(&args.models, &args.settings)?;
    let query_file = args.query_features.as_deref().map(read_table).transpose()?;
    let query_columns = args.query_columns.unwrap_or_default();
    let input = query_file.as_ref().map_or(QueryInput::Columns(&query_columns), QueryInput::Table);
    let measures = Measure::parse_list(&args.measures)?;
    let folds: Vec<FeatureLists> =
        args.letor.iter().map(|path| read_lists(from_ref(path), &terminal)).collect::<Result<_, _>>()?;
    let mut results: Vec<(String, Vec<Fold>)> = Vec::new();
    for (name, recipe) in &models {
        let scalings = args.scaling.kinds();
        let figures = match recipe {
            RankerRecipe::QueryDependent(params) => {
                let &[scaling] = scalings else {
                    bail!("--scaling auto is for rankers with one function; name one scaling");
                };
                let figures = cross_validate_with(&folds, &measures, |train, validation| {
                    let validation = Some((validation, args.measure));
                    let mut model =
                        train_query_dependent(params, scaling, train, input, validation, &terminal)?;
                    if let QueryInput::Table(table) = input
                        && params.weights.are_local()
                    {
                        let queries = folds.iter().flat_map(|fold| fold.iter());
                        model.know(table, queries.map(|list| list.query().to_owned()))?;
                    }
                    Ok(model)
                })?;
                figures.into_iter().map(Fold::of).collect()
            }
            recipe => {
                let figures = cross_validate_with(&folds, &measures, |train, validation| {
                    recipe.train(scalings, train, (validation, args.measure), global.seed, &terminal)
                })?;
                figures.into_iter().map(Fold::of).collect()
            }
        };
        results.push((name.clone(), figures));
    }
    terminal.finish();
    let mean = |figures: &[Fold], m: usize| {
        figures.iter().map(|fold| fold.means[m]).sum::<f64>() / figures.len() as f64
    };
    let queries = |figures: &[Fold]| figures.iter().map(|fold| fold.queries).sum::<u64>();
    let named = |values: Vec<f64>| -> serde_json::Map<String, Value> {
        measures.iter().zip(values).map(|(measure, value)| (measure.to_string(), json!(value))).collect()
    };
    if args.format == Format::Json {
        let models: Vec<Value> = results
            .iter()
            .map(|(kind, figures)| {
                let folds: Vec<Value> = figures
                    .iter()
                    .map(|fold| json!({ "queries": fold.queries, "measures": named(fold.means.clone()) }))
                    .collect();
                let means = (0..measures.len()).map(|m| mean(figures, m)).collect();
                json!({ "model": kind, "queries": queries(figures), "measures": named(means), "folds": folds })
            })
            .collect();
        terminal::print(&serde_json::to_string_pretty(&json!({ "models": models }))?)?;
        return Ok(Outcome::Clean);
    }
    let names: Vec<String> = measures.iter().map(ToString::to_string).collect();
    let header: Vec<&str> =
        ["model", "fold", "queries"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let row = |kind: &str, fold: String, queries: u64, values: Vec<f64>| {
        let values = values.into_iter().map(|value| format!("{value:.4}"));
        [kind.to_owned(), fold, queries.to_string()].into_iter().chain(values).collect::<Vec<String>>()
    };
    let mut rows = Vec::new();
    for (kind, figures) in &results {
        if args.per_fold {
            rows.extend(
                (1..)
                    .zip(figures)
                    .map(|(i, fold): (u32, _)| row(kind, i.to_string(), fold.queries, fold.means.clone())),
            );
        }
        let means = (0..measures.len()).map(|m| mean(figures, m)).collect();
        rows.push(row(kind, "all".into(), queries(figures), means));
    }
    terminal::print(&table(&header, rows, args.format))?;
    terminal.done("cross-validated", started);
    Ok(Outcome::Clean)
}

/// Rankers by name, all with the same settings.
pub(crate) fn recipes(
    names: &[String],
    settings: &[(String, Value)],
) -> anyhow::Result<Vec<(String, RankerRecipe)>> {
    let mut recipes: Vec<(String, RankerRecipe)> = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let recipe = RankerRecipe::new(name, settings)?;
        recipe.validate()?;
        if recipes.iter().all(|(other, _)| other != name) {
            recipes.push((name.to_owned(), recipe));
        }
    }
    ensure!(!recipes.is_empty(), "--models names no ranker; there are {}", RankerRecipe::KINDS.join(", "));
    Ok(recipes)
}

/// The figures of a fold, without its model.
struct Fold {
    means: Vec<f64>,
    queries: u64,
}

impl Fold {
    fn of<M>(figures: FoldFigures<M>) -> Self {
        Self { means: figures.means, queries: figures.queries }
    }
}
