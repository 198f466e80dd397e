use std::path::PathBuf;
use std::time::Duration;

use crate::commands::rankers;
use crate::terminal::{Format, Terminal};
use crate::{Global, Outcome};

/// Go on with the training of a model
///
/// A perceptron learns from feature lists, one a line, as they come, and ranks with the mean of all its weights so far:
/// {"query": "q1", "documents": [{"id": "d1", "grade": 2, "features": [0.5, 3]}, {"grade": 0, "features": {"2": 1}}]}
/// Features are an array, from feature 1 on, or an object from number to value; one that is missing or null is 0.
/// Lines that cannot be used are left out, counted and reported (exit code 1).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model file made by `train perceptron`
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Lists to learn from, JSON lines; `-` is standard input
    #[arg(long, value_name = "FILE")]
    lists: PathBuf,
    /// Model file to write; may be the one that is read
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Seconds from one saving to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    checkpoint: u64,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank update ranker.model --lists today.jsonl --out ranker.model
  tail -f lists.jsonl | matchrank update ranker.model --lists - --out ranker.model --checkpoint 10";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let terminal = Terminal::new(global.quiet);
    let checkpoint = Duration::from_secs(args.checkpoint);
    rankers::update::run(&args.model, &args.lists, &args.out, checkpoint, args.format, &terminal)
}
