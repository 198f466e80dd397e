//! `tune`: the parameters of a model that are best on the validation judgments.

mod rankers;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::models::{MadeBy, Recipe, Training, note_on_unseen, note_on_zero};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::tuning::{Axis, Search, Session, Space, Strategy, Trial, Tuned, Tuner};
use matchrank_engine::validation::{Ranked, Validation};
use serde_json::json;

use super::compare::{RankedName, StrategyName};
use super::rankers::FeatureOptions;
use super::train::settings::parse_setting;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome, interrupt};

/// Find the parameters of a model that are best on the validation judgments
///
/// Tries settings within --trials or --seconds and prints what they were worth. The test judgments are never looked
/// at. With --trace every trial is kept in a file, and the same command, or one with more trials or another strategy,
/// goes on from it. With --out the model is trained with the best settings and written.
///
/// Rankers of feature lists (`matchrank train --help` lists them) are tuned with --letor and --validation. Every trial
/// chooses epochs, lambda or the number of trees by itself.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which model: bm25, rm3, clicks, random-walk, lsi-dt, lsi-qd, pls, rmls, ssi, svdfeature, bltm, sparse-preference, or a ranker
    #[arg(value_name = "MODEL")]
    model: String,
    /// Dataset folder made by `ingest`, with validation judgments
    #[arg(long, value_name = "DATASET", required_unless_present = "letor")]
    data: Option<PathBuf>,
    /// Tune a ranker on these LETOR lists instead, one file or several
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["data", "candidates"], requires = "validation")]
    letor: Vec<PathBuf>,
    /// Validation lists of a ranker, one file or several
    #[arg(long, num_args = 1.., value_name = "FILE")]
    validation: Vec<PathBuf>,
    #[command(flatten)]
    features: FeatureOptions,
    /// Train the ranker of --out once more on --letor and --validation together, with the epochs, lambda or trees that were
    /// chosen
    #[arg(long, requires = "out")]
    refit: bool,
    /// Parameters to vary: NAME=0.1,0.3,0.5 for these values, NAME=0.1..0.9 for a range (by factors where it spans 100 and
    /// more) [default: what matters most for the model; it is printed]
    #[arg(long, value_name = "NAME=VALUES", value_parser = parse_axis)]
    vary: Vec<(String, Axis)>,
    /// Set a parameter that does not vary
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Json)>,
    /// Search strategy
    #[arg(long, value_enum, default_value = "random", value_name = "HOW")]
    strategy: StrategyName,
    /// Settings that are tried at most
    #[arg(long, default_value_t = 20, value_name = "N")]
    trials: usize,
    /// Seconds after which no trial is begun [default: no limit]; what is reached then depends on the machine
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Measure that settings are judged by
    #[arg(long, default_value = "ndcg@10", value_name = "MEASURE")]
    measure: Measure,
    /// Which documents are ranked [default: the judged ones where most queries have irrelevant ones among them, else all]
    #[arg(long, value_enum, value_name = "WHICH")]
    candidates: Option<RankedName>,
    /// File for the trials, one a line, as JSON; trials it has are not made again
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Model file to write, trained with the best settings
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank tune bm25 --data shop --strategy grid --trials 100
  matchrank tune rmls --data shop --vary beta=0.3,0.5,0.7 --vary click_weight=0.1..4 --trace rmls.jsonl --out rmls.model
  matchrank tune ssi --data shop --strategy halving --trials 27 --seconds 600 --trace ssi.jsonl
  matchrank tune lambdamart --letor train.txt --validation vali.txt --trials 50 --refit --out trees.model
  matchrank tune listnet --letor s1.txt s2.txt s3.txt --validation s4.txt --vary lambda=1e-6..1 --out l.model";

fn parse_axis(text: &str) -> Result<(String, Axis), String> {
    let (name, values) = text.split_once('=').ok_or("expected NAME=VALUES, for example beta=0.1,0.3,0.5")?;
    Ok((name.trim().to_owned(), Axis::parse(values).map_err(|e| e.to_string())?))
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    ensure!(args.trials > 0, "--trials must be at least 1");
    let inputs = args.data.iter().chain(&args.letor).chain(&args.validation).chain(args.features.file());
    check_outputs(inputs, args.out.iter().chain(&args.trace))?;
    let Some(data) = &args.data else { return rankers::run(&args, global, &terminal, started) };
    ensure!(
        args.validation.is_empty() && !args.features.name_query_features() && !args.refit,
        "--validation, --query-columns, --query-features and --refit are for rankers, with --letor"
    );
    let kind = Recipe::new(&args.model, &args.settings)?.kind();
    let dataset = Dataset::open(data)?;
    let ranked = args.candidates.map(Ranked::from);
    let Some(validation) = Validation::ranking(ranked, &dataset, global.seed, &terminal)? else {
        bail!(
            "{}: there are no validation judgments; ingest with --judgments validation=QRELS or --split",
            data.display()
        );
    };
    let validation = validation.by(args.measure);
    let space = if args.vary.is_empty() { Space::of_axes(kind.space) } else { Space(args.vary.clone()) };
    let search = search(&args, space);
    let tuner = Tuner::new(&dataset, &validation, global.seed, session(&args));
    interrupt::listen();
    let result = tuner.tune(&args.model, &args.settings, &search, &terminal)?;
    let (recipe, tuned) = (&result.recipe, &result.tuned);
    let best = tuned.best().validation;
    let mut notes: Vec<String> = best.and_then(|best| note_on_zero(&validation, best)).into_iter().collect();
    if let Some(path) = args.out.as_ref().filter(|_| !tuned.stopped) {
        let model = match result.model() {
            Some(model) => model.clone(),
            None => recipe.train(&Training::new(&dataset, global.seed, &terminal))?,
        };
        let seed = recipe.kind().is_seeded.then_some(global.seed);
        let provenance =
            Provenance { time_limit: tuned.time_limit(&search), ..Provenance::of_dataset(&dataset, seed) }
                .made_by(Some(MadeBy::recipe(recipe)));
        model_file::save(path, &*model, &provenance).with_context(|| path.display().to_string())?;
        notes.extend(note_on_unseen(&*model, &dataset, Some(&validation))?);
    }
    terminal.finish();
    notes.iter().for_each(|note| terminal.note(note));
    finish(&args, &recipe.params(), tuned, &search, &terminal, started)
}

fn search(args: &Args, space: Space) -> Search {
    Search {
        space,
        strategy: Strategy::from(args.strategy),
        trials: args.trials,
        seconds: args.seconds,
        higher_is_better: args.measure.higher_is_better(),
    }
}

fn session(args: &Args) -> Session<'_> {
    Session { trace: args.trace.as_deref(), replace: false, stop: &interrupt::asked }
}

/// Prints what was tried, and ends.
fn finish(
    args: &Args,
    params: &Json,
    tuned: &Tuned,
    search: &Search,
    terminal: &Terminal,
    started: Instant,
) -> anyhow::Result<Outcome> {
    print(args, params, tuned, search)?;
    if args.format == Format::Table {
        let wrote = args.out.as_deref().map_or(String::new(), |path| format!("; wrote {}", path.display()));
        let done = match (tuned.stopped, &args.out) {
            (true, Some(_)) => "interrupted, without a model".to_owned(),
            (true, None) => "interrupted".to_owned(),
            _ => format!("tuned{wrote}"),
        };
        terminal.done(&done, started);
    }
    Ok(if tuned.stopped { Outcome::Problems } else { Outcome::Clean })
}

fn print(args: &Args, params: &Json, tuned: &Tuned, search: &Search) -> anyhow::Result<()> {
    let measure = args.measure.to_string();
    if args.format == Format::Json {
        let result = json!({
            "model": args.model, "measure": measure, "best": tuned.best(), "params": params,
            "trials": tuned.trials, "out_of_time": tuned.out_of_time, "stopped": tuned.stopped,
        });
        return terminal::print(&serde_json::to_string_pretty(&result)?);
    }
    let names: Vec<&str> = search.space.0.iter().map(|(name, _)| name.as_str()).collect();
    let with_share = tuned.trials.iter().any(|trial| trial.share < 1.0);
    let mut header = vec!["trial"];
    header.extend(&names);
    header.extend(with_share.then_some("effort"));
    header.extend([measure.as_str(), "seconds", ""]);
    let row = |(i, trial): (usize, &Trial)| {
        let mut row = vec![(i + 1).to_string()];
        // What a trial does not vary has the value the search started from.
        row.extend(names.iter().map(|name| {
            let value = trial.settings.get(name).cloned();
            let start =
                || args.settings.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
            value.or_else(start).map_or("default".to_owned(), |value| value.plain())
        }));
        row.extend(with_share.then(|| format!("{:.2}", trial.share)));
        row.push(trial.validation.map_or("failed".to_owned(), |value| format!("{value:.4}")));
        row.push(format!("{:.2}", trial.seconds));
        row.push(match &trial.error {
            Some(error) => error.clone(),
            None if i == tuned.best => "best".to_owned(),
            None => String::new(),
        });
        row
    };
    let rows = tuned.trials.iter().enumerate().map(row).collect();
    terminal::print(&table(&header, rows, args.format))?;
    if args.format == Format::Table {
        let best: Vec<String> = tuned
            .best()
            .settings
            .iter()
            .map(|(name, value)| format!("--set {name}={}", value.plain()))
            .collect();
        let best = if best.is_empty() { "the settings it started from".to_owned() } else { best.join(" ") };
        terminal::print(&format!("best on validation: {best}"))?;
        if tuned.stopped {
            let how =
                if args.trace.is_some() { "the same command goes on" } else { "with --trace it would go on" };
            terminal::print(&format!("interrupted before all settings were tried; {how}"))?;
        } else if tuned.out_of_time {
            terminal::print(
                "time was up before all settings were tried; --seconds gives more, --trace goes on",
            )?;
        }
    }
    Ok(())
}
