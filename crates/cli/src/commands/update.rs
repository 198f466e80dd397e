use std::any::Any;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::ArgGroup;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use matchrank_engine::model_file;
use matchrank_engine::models::sparse_preference::{self, PreferenceModel};
use matchrank_engine::outputs::check_outputs;
use serde_json::json;

use super::rankers;
use super::train::preference::{course, save, tuple_file};
use crate::terminal::{self, Format, Terminal, table, to_json};
use crate::{Global, Outcome};

/// Go on with the training of a sparse-preference model or a perceptron
///
/// A sparse-preference model learns from more tuples exactly as if training had not stopped. Lines are `query TAB better document TAB
/// worse document`, documents by id with --data, else by text; or JSON as in `help train sparse-preference`.
/// Lines that cannot be used are left out, counted and reported (exit code 1 where some are no tuples at all).
///
/// The model is saved while the stream lasts, and at its end; Ctrl-C saves it and ends, with exit code 130. A model that was
/// refitted goes on refitting: only existing weights change, and no new word pairs are added.
///
/// A perceptron learns from feature lists, one a line, as they come, and ranks with the mean of all its weights so
/// far: {"query": "q1", "documents": [{"id": "d1", "grade": 2, "features": [0.5, 3]}, {"grade": 0, "features":
/// {"2": 1}}]}. Features are an array, from feature 1 on, or an object from number to value; one that is missing or
/// null is 0. A line may have a "weight" from 0 to 1000, which multiplies what is learned from it. The model keeps how many
/// lines of the stream it has learned from: --resume goes on with the same stream after a stop.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("lessons").required(true).args(["tuples", "lists"]))]
pub(crate) struct Args {
    /// Model file made by `train sparse-preference` or `train perceptron`
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Tuples to learn from; `-` is standard input
    #[arg(long, value_name = "FILE")]
    tuples: Option<PathBuf>,
    /// Feature lists to learn from, JSON lines, for a perceptron; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "text"])]
    lists: Option<PathBuf>,
    /// With --lists: skip the lines of the stream that the model has learned from already, and go on after them. The
    /// stream must begin with these lines, as they were
    #[arg(long, requires = "lists")]
    resume: bool,
    /// Model file to write; may be the one that is read
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Dataset folder of the documents that lines name by id
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Documents in tab-separated lines are texts, not ids [default: where there is no --data]
    #[arg(long)]
    text: bool,
    /// Seconds from one saving to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    checkpoint: u64,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank update words.model --tuples today.tsv --data shop --out words.model
  tail -f preferences.jsonl | matchrank update words.model --tuples - --out words.model --checkpoint 10
  matchrank update ranker.model --lists today.jsonl --out ranker.model
  matchrank update ranker.model --lists today.jsonl --resume --out ranker.model";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let terminal = Terminal::new(global.quiet);
    match (&args.lists, &args.tuples) {
        (Some(lists), _) => {
            let checkpoint = Duration::from_secs(args.checkpoint);
            rankers::update::run(
                &args.model,
                lists,
                &args.out,
                args.resume,
                checkpoint,
                args.format,
                &terminal,
            )
        }
        (None, Some(tuples)) => learn_tuples(&args, tuples, global, &terminal),
        (None, None) => unreachable!("one of the two is required"),
    }
}

fn learn_tuples(args: &Args, tuples: &Path, global: &Global, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    // The model may be the file that is written.
    check_outputs([tuples].into_iter().chain(args.data.as_deref()), [&args.out])?;
    let tuples = tuple_file(tuples, args.text || args.data.is_none())?;
    let (model, provenance) = model_file::load(&args.model)?;
    // What the tuples teach cannot be made again from a dataset.
    let provenance = provenance.made_by(None);
    let Some(model) = (&*model as &dyn Any).downcast_ref::<PreferenceModel>() else {
        bail!(
            "{}: a {} model cannot be updated; models of sparse-preference can",
            args.model.display(),
            model.kind()
        );
    };
    let dataset = args.data.as_deref().map(Dataset::open).transpose()?;
    let before = model.state.clock;
    let save = |model: &PreferenceModel| save(&args.out, model, &provenance);
    let course = course(global.seed, (Duration::from_secs(args.checkpoint), &save), terminal);
    let trained = sparse_preference::update(model, dataset.as_ref(), &tuples, &course)?;
    let model = trained.model;
    save(&model)?;
    if model.report.interrupted {
        terminal.note("interrupted; what was learned is saved");
    }
    terminal.finish();
    let clock = model.state.clock;
    let (learned, violations) = (clock.steps - before.steps, clock.violations - before.violations);
    match args.format {
        Format::Json => {
            let summary = json!({
                "model": "sparse-preference",
                "file": files::name_of(&args.out),
                "learned": learned,
                "within_margin": violations,
                "steps": clock.steps,
                "nonzero": model.w.nnz(),
                "density": model.density(),
                "left_out": model.report.left_out,
                "interrupted": model.report.interrupted,
                "params": to_json(&model.state.params),
                "seconds": started.elapsed().as_secs_f64(),
            });
            terminal::print(&serde_json::to_string_pretty(&summary)?)?;
        }
        format => {
            let row = |name: &str, value: String| vec![name.to_owned(), value];
            let mut rows = vec![
                row("tuples learned from", format.count(learned)),
                row("of which within the margin", format.count(violations)),
                row("tuples in all", format.count(clock.steps)),
                row("weights", format.count(model.w.nnz() as u64)),
                row("density", format!("{} %", format.figure(100.0 * model.density(), 4))),
            ];
            rows.extend(
                model
                    .report
                    .left_out
                    .iter()
                    .map(|(why, n)| row(&format!("left out: {why}"), format.count(*n))),
            );
            terminal::print(&table(&["", "value"], rows, format))?;
            terminal.done(&format!("wrote {}", args.out.display()), started);
        }
    }
    Ok(if trained.n_malformed > 0 { Outcome::Problems } else { Outcome::Clean })
}
