//! `train query-dependent`, and what other commands say of such a model.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::ValueEnum;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::message::{counted, shortest};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::query_dependent::{Neighbourhood, QueryDependentParams};
use matchrank_engine::files;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::rankers::query_dependent::{
    QueryColumns, QueryDependentModel, QueryInput, QuerySource, QueryTable, Served, in_words,
    train_query_dependent,
};
use serde_json::{Value, json};

use super::train::LAMBDA;
use super::{ScalingName, TrainingLists, parse_columns, summary};
use crate::commands::train::settings::{params_from, parse_setting};
use crate::terminal::{self, Format, Terminal, human, table, to_json};
use crate::{Global, Outcome};

/// How training queries are weighed for a query
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum WeightsName {
    /// By the normal density of their distance (q-SVM)
    Gaussian,
    /// The nearest all the same (kNN-SVM)
    Knn,
    /// By a parabola of their distance
    Epanechnikov,
    /// By a cube of cubes of their distance
    Tricube,
    /// All the same: one function for all queries (RankSVM)
    Uniform,
    /// The query alone, if it is one of the training (individual SVM)
    Individual,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lists: TrainingLists,
    /// How training queries are weighed for a query
    #[arg(long, value_enum, value_name = "HOW", default_value = "gaussian")]
    weights: WeightsName,
    /// Features that belong to queries, as in 5-7,20 [default: those that never differ within a query]
    #[arg(long, value_name = "LIST", value_parser = parse_columns)]
    query_columns: Option<QueryColumns>,
    /// Query features in a file of their own: `query<TAB>name<TAB>...`, names with :category or :ranking where they
    /// are no numbers
    #[arg(long, value_name = "FILE", conflicts_with = "query_columns")]
    query_features: Option<PathBuf>,
    /// How features are scaled; auto is for the other rankers
    #[arg(long, value_enum, value_name = "HOW", default_value = "min_max")]
    scaling: ScalingName,
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Set a parameter of the model
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Value)>,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  matchrank train query-dependent --letor train.txt --validation vali.txt --out q.model
  matchrank train query-dependent --letor train.txt --validation vali.txt --weights knn --set novel_neighbours=20 --out knn.model
  matchrank train query-dependent --letor train.txt --query-columns 5-7,20-22,35-37 --set lambda=0.001 --out q.model
  matchrank export query-vectors rmls.model --queries queries.tsv --out vectors.tsv
  matchrank train query-dependent --letor train.txt --validation vali.txt --query-features vectors.tsv --out q.model
  matchrank rank --model q.model --letor test.txt --query-features vectors.tsv --out q.run";

/// Parameters with settings over their defaults.
pub(super) fn params_of(
    weights: Option<&str>,
    settings: &[(String, Value)],
) -> anyhow::Result<QueryDependentParams> {
    let mut settings = settings.to_vec();
    settings.extend(weights.map(|weights| ("weights".to_owned(), json!(weights))));
    let params: QueryDependentParams = params_from(&settings)?;
    params.validate()?;
    Ok(params)
}

fn read_table(path: &Path) -> anyhow::Result<QueryTable> {
    parse_table(path, &files::read_all(path)?)
}

/// Query features from the content of a file.
pub(super) fn parse_table(path: &Path, bytes: &[u8]) -> anyhow::Result<QueryTable> {
    let name = files::name_of(path);
    let text = std::str::from_utf8(bytes).with_context(|| format!("{name}: is not UTF-8"))?;
    Ok(QueryTable::parse(&name, text)?)
}

pub(crate) fn train(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    check_outputs(args.lists.files().chain(&args.query_features), [&args.out])?;
    let weights = args.weights.to_possible_value().expect("no weights are hidden");
    if args.settings.iter().any(|(name, _)| name == "weights") {
        bail!("--set weights: use --weights {}", weights.get_name());
    }
    let &[scaling] = args.scaling.kinds() else {
        bail!("--scaling auto is for rankers with one function; name one scaling");
    };
    let mut settings = args.settings.clone();
    if !args.lists.has_validation() && !settings.iter().any(|(name, _)| name == "lambda") {
        settings.push(("lambda".into(), json!(LAMBDA)));
        terminal.note(&format!(
            "there are no validation lists to choose lambda by, so it is {LAMBDA} (--set lambda=... for another)"
        ));
    }
    let params = params_of(Some(weights.get_name()), &settings)?;
    let (lists, validation) = args.lists.read(&terminal)?;
    let counts =
        [("lists", lists.n_queries()), ("documents", lists.n_rows()), ("features", lists.n_features())];
    let file = args.query_features.as_deref().map(read_table).transpose()?;
    let columns = args.query_columns.unwrap_or_default();
    let input = file.as_ref().map_or(QueryInput::Columns(&columns), QueryInput::Table);
    let validation = validation.map(|lists| (lists, args.lists.measure));
    let model = train_query_dependent(&params, scaling, lists, input, validation, &terminal)
        .map_err(|error| args.lists.blamed(error))?;
    let data = counts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
    model_file::save_query_dependent(&args.out, &model, &Provenance { data, ..Provenance::default() })?;
    terminal.finish();
    terminal.note(&format!("query features: {}", source(&model)));
    let measure = args.lists.measure.to_string();
    match args.format {
        Format::Json => {
            let data: serde_json::Map<String, Value> =
                counts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
            let summary = json!({
                "model": model_file::QUERY_DEPENDENT, "file": files::name_of(&args.out), "data": data, "validation_measure": measure,
                "scaling": to_json(&model.scaling().kind()), "params": to_json(model.learner().params()),
                "query_features": to_json(model.source()), "lambda": model.lambda(), "trials": to_json(&model.trials()),
                "seconds": started.elapsed().as_secs_f64(),
            });
            terminal::print(&serde_json::to_string_pretty(&summary)?)?;
        }
        format => {
            if format == Format::Table {
                terminal::print(&format!("{}: {}", model_file::QUERY_DEPENDENT, summary::size(&counts)))?;
            }
            let rows = model.trials().iter().map(|trial| {
                vec![
                    shortest(trial.lambda),
                    trial.gap.map_or(String::new(), |gap| format!("{gap:.1e}")),
                    trial.validation.map_or(String::new(), |figure| format!("{figure:.4}")),
                    if trial.lambda == model.lambda() { "kept".to_owned() } else { String::new() },
                ]
            });
            terminal::print(&table(&["lambda", "gap", &measure, ""], rows.collect(), format))?;
            terminal.done(&format!("wrote {}", args.out.display()), started);
        }
    }
    Ok(Outcome::Clean)
}

/// Where query features come from, in words.
pub(super) fn source(model: &QueryDependentModel) -> String {
    match model.source() {
        QuerySource::Nothing => "none, the weights need none".into(),
        QuerySource::Columns(columns) => {
            let numbers: Vec<String> = columns.iter().map(|column| (column + 1).to_string()).collect();
            format!("features {} of the lists", numbers.join(", "))
        }
        QuerySource::Table => "a file of their own (--query-features)".into(),
    }
}

/// A model, knowing the queries of the lists.
pub(crate) fn load(
    path: &Path,
    query_features: Option<&Path>,
    lists: &FeatureLists,
) -> anyhow::Result<QueryDependentModel> {
    let (mut model, _) = model_file::load_query_dependent(path)?;
    if let Some(file) = query_features {
        let table = read_table(file)?;
        model
            .know(&table, lists.iter().map(|list| list.query().to_owned()))
            .with_context(|| file.display().to_string())?;
    }
    Ok(model)
}

/// Says how many queries have the uniform function, by reason.
pub(crate) fn note_fallbacks(
    model: &QueryDependentModel,
    lists: &FeatureLists,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for list in lists.iter() {
        let Neighbourhood::Uniform(why) = model.served(&list)?.near else { continue };
        let reason = match why {
            matchrank_core::ranking::query_dependent::Fallback::Asked => continue,
            matchrank_core::ranking::query_dependent::Fallback::Far { .. } => "without a training query near",
            matchrank_core::ranking::query_dependent::Fallback::Novel => "not among the training queries",
            matchrank_core::ranking::query_dependent::Fallback::NoFeatures => "without query features",
            matchrank_core::ranking::query_dependent::Fallback::NoWeight => {
                "without a training query of a weight above 0"
            }
            matchrank_core::ranking::query_dependent::Fallback::NothingToOrder => {
                "with neighbours that have nothing to order"
            }
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, n)) => *n += 1,
            None => reasons.push((reason, 1)),
        }
    }
    for (reason, n) in reasons {
        terminal.note(&format!(
            "{n} of {} {reason}: ranked by the function of all queries",
            counted(lists.n_queries(), "query")
        ));
    }
    Ok(())
}

/// Whom a function was learned from: as text and for programs.
pub(super) fn borrowed(model: &QueryDependentModel, served: &Served, list: &List<'_>) -> (String, Value) {
    let function = &served.function;
    let gap = function.lower_bound.map(|bound| function.objective - bound);
    let mut json = json!({
        "lambda": function.lambda, "objective": function.objective, "gap": gap, "milliseconds": served.milliseconds,
    });
    let text = match &served.near {
        Neighbourhood::Uniform(why) => {
            json["uniform"] = in_words(*why).into();
            json["borrowed"] = json!([]);
            format!("Query {} has the function of all queries: {}.", list.query(), in_words(*why))
        }
        Neighbourhood::Near(near) => {
            let total: f64 = near.iter().map(|near| near.weight).sum();
            json["borrowed"] = near
                .iter()
                .map(|near| {
                    json!({ "query": model.query(near.query), "distance": near.distance, "weight": near.weight,
                            "share": near.weight / total })
                })
                .collect();
            let rows = near.iter().map(|near| {
                vec![
                    model.query(near.query).to_owned(),
                    format!("{:.4}", near.distance),
                    format!("{:.4}", near.weight),
                    format!("{:.1}%", 100.0 * near.weight / total),
                ]
            });
            let header = ["training query", "distance", "weight", "share"];
            format!(
                "Query {} borrows from these training queries (lambda {}, learned in {:.1} ms):\n{}",
                list.query(),
                shortest(function.lambda),
                served.milliseconds,
                table(&header, rows.collect(), Format::Table)
            )
        }
    };
    (text, json)
}

/// `inspect`: the rows of a table, and remarks below it.
pub(super) fn describe(path: &Path) -> anyhow::Result<(Vec<Vec<String>>, Vec<String>, Provenance)> {
    let (model, provenance) = model_file::load_query_dependent(path)?;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![row("kind", model_file::QUERY_DEPENDENT.to_owned())];
    for (name, value) in to_json(model.learner().params()).as_object().into_iter().flatten() {
        rows.push(row(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    let scaling = to_json(&model.scaling().kind());
    let lists = model.learner().lists();
    rows.push(row("scaling", scaling.as_str().unwrap_or_default().to_owned()));
    rows.push(row("kept lambda", shortest(model.lambda())));
    rows.push(row("query features", source(&model)));
    if let Some(width) = model.learner().width() {
        rows.push(row("sigma^2", format!("{width:.6}")));
    }
    rows.push(row(
        "training queries, documents, features",
        [lists.n_queries(), lists.n_rows(), lists.n_features()].map(|n| human(n as u64)).join(", "),
    ));
    if let Some(figure) = model.validated() {
        rows.push(row("validation figure, when trained", format!("{figure:.4}")));
    }
    let remark = "The function of a query is learned when it is ranked; explain --letor shows it.".to_owned();
    Ok((rows, vec![remark], provenance))
}

/// `inspect` for programs.
pub(super) fn json_of(path: &Path) -> anyhow::Result<Value> {
    let (model, provenance) = model_file::load_query_dependent(path)?;
    let lists = model.learner().lists();
    let queries: Vec<&str> = lists.iter().map(|list| list.query()).collect();
    Ok(json!({
        "kind": model_file::QUERY_DEPENDENT,
        "params": to_json(model.learner().params()),
        "scaling": to_json(&model.scaling().kind()),
        "factors": model.scaling().factors(),
        "query_features": to_json(model.source()),
        "query_factors": model.factors(),
        "lambda": model.lambda(),
        "trials": to_json(&model.trials()),
        "queries": queries,
        "documents": lists.n_rows(),
        "provenance": json!(provenance),
    }))
}
