//! `train mart` and `lambdamart`, and what other commands do with boosted trees.

use std::path::{Path, PathBuf};
use std::time::Instant;

use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::files;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::rankers::boosted::{BoostedModel, BoostedParams, Objective, train_boosted};
use serde_json::{Value, json};

use super::{TrainingLists, Weights, summary};
use crate::commands::train::settings::{params_from, parse_setting};
use crate::terminal::{self, Format, Terminal, human, table, to_json};
use crate::{Global, Outcome};

pub(super) const EXAMPLES: &str = "\
Examples:
  matchrank train lambdamart --letor train.txt --validation vali.txt --out trees.model
  matchrank train lambdamart --letor train.txt --document-weights propensities.tsv --out trees.model
  matchrank train mart --letor train.txt --set trees=100 --set leaves=15 --out mart.model";

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lists: TrainingLists,
    #[command(flatten)]
    weights: Weights,
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

pub(super) fn train(objective: Objective, args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    check_outputs(args.lists.files().chain(args.weights.files()), [&args.out])?;
    let params: BoostedParams = params_from(&args.settings)?;
    params.validate()?;
    let (mut train, validation) = args.lists.read(&terminal)?;
    args.weights.weigh_rows(&mut train, &terminal)?;
    if validation.is_none() {
        terminal.note(&format!(
            "there are no validation lists to choose the number of trees by, so it is {} (--set trees=...)",
            params.trees
        ));
    }
    let validation = validation.as_ref().map(|lists| (lists, args.lists.measure));
    let model = train_boosted(objective, &params, &train, validation, global.seed, &terminal)?;
    let counts =
        [("lists", train.n_queries()), ("documents", train.n_rows()), ("features", train.n_features())];
    let data: serde_json::Map<String, Value> =
        counts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
    let provenance = Provenance {
        seed: Some(global.seed),
        data: data.clone().into_iter().collect(),
        ..Provenance::default()
    };
    model_file::save_boosted(&args.out, &model, &provenance)?;
    terminal.finish();
    if model.trees.gains().iter().all(|&gain| gain == 0.0) {
        terminal.note(&format!(
            "no tree splits anything, so every document gets the same score: lists may be too few for leaves of {} \
             (--set min_rows=...), or have one grade",
            counted(params.min_rows, "row")
        ));
    }
    let (kind, measure) = (objective.name(), args.lists.measure.to_string());
    match args.format {
        Format::Json => {
            let summary = json!({
                "model": kind, "file": files::name_of(&args.out), "data": data, "validation_measure": measure,
                "params": to_json(&model.params), "trees": model.trees.len(), "report": to_json(&model.report),
                "seconds": started.elapsed().as_secs_f64(),
            });
            terminal::print(&serde_json::to_string_pretty(&summary)?)?;
        }
        format => {
            if format == Format::Table {
                let (size, trees) = (summary::size(&counts), counted(model.trees.len(), "tree"));
                terminal::print(&format!("{kind}: {size}; {trees}"))?;
            }
            if !model.report.validation.is_empty() {
                terminal::print(&course(&model, &measure, format))?;
            }
            terminal.done(&format!("wrote {}", args.out.display()), started);
        }
    }
    Ok(Outcome::Clean)
}

/// The validation figure by the number of trees.
fn course(model: &BoostedModel, measure: &str, format: Format) -> String {
    let kept = model.trees.len();
    let rows = (1..).zip(&model.report.validation).filter(|(n, _): &(usize, _)| {
        format != Format::Table || *n == kept || n.is_power_of_two() || *n == model.report.validation.len()
    });
    let rows = rows.map(|(n, figure)| {
        vec![n.to_string(), format!("{figure:.4}"), if n == kept { "kept".into() } else { String::new() }]
    });
    table(&["trees", measure, ""], rows.collect(), format)
}

/// Features that are shown, those of the largest gain.
const SHOWN: usize = 10;

/// The rows of a table, and remarks below it.
pub(super) fn describe(path: &Path) -> anyhow::Result<(Vec<Vec<String>>, Vec<String>, Provenance)> {
    let (model, provenance) = model_file::load_boosted(path)?;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![row("kind", model.objective.name().to_owned())];
    for (name, value) in to_json(&model.params).as_object().into_iter().flatten() {
        let name = if name == "trees" { "trees at most" } else { name };
        rows.push(row(name, value.to_string()));
    }
    rows.push(row("trees", human(model.trees.len() as u64)));
    rows.push(row("features", human(model.trees.n_features() as u64)));
    if let Some(figure) = model.report.validated() {
        rows.push(row("validation figure, when trained", format!("{figure:.4}")));
    }
    let mut gains: Vec<(usize, f64)> =
        (1..).zip(model.trees.gains()).filter(|(_, gain)| *gain > 0.0).collect();
    rows.push(row("of which split on", human(gains.len() as u64)));
    let sum: f64 = gains.iter().map(|(_, gain)| gain).sum();
    gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let shown =
        gains.iter().take(SHOWN).map(|(feature, gain)| format!("{feature} ({:.1} %)", 100.0 * gain / sum));
    let shown: Vec<String> = shown.collect();
    let remark = if shown.is_empty() {
        "No tree splits anything: all documents are level.".to_owned()
    } else {
        format!("Features of the largest gain: {}.", shown.join(", "))
    };
    Ok((rows, vec![remark], provenance))
}

/// All of it, for programs.
pub(super) fn json_of(path: &Path) -> anyhow::Result<Value> {
    let (model, provenance) = model_file::load_boosted(path)?;
    Ok(json!({
        "kind": model.objective.name(),
        "params": to_json(&model.params),
        "trees": model.trees.len(),
        "gains": model.trees.gains(),
        "report": to_json(&model.report),
        "provenance": json!(provenance),
    }))
}
