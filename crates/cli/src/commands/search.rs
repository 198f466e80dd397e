use std::path::PathBuf;

use anyhow::bail;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::ranking::{Found, search};
use serde_json::json;

use crate::commands::rankers;
use crate::terminal::{self, Format, Terminal, table, to_json};
use crate::{Global, Outcome};

/// Search the documents of a dataset with a trained model
///
/// Ranks the whole collection for one query and prints the best documents with their titles: the text of the field with the
/// largest weight. Documents without a click in the training data are marked as new. `rank` does the same for many queries and writes a run; `explain` says why a document has its score.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model file made by `train`
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: PathBuf,
    /// Text of the query; several words need no quotes
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Documents to show, at most
    #[arg(long, default_value_t = 10, value_name = "K")]
    top: usize,
    /// Output format; JSON and CSV have all texts of the documents
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank search --model stack.model --data shop gears of war
  matchrank search --model rmls.model --data shop --top 3 --format json 'gears of war'";

/// Letters of a title in a table.
const SHOWN: usize = 70;

pub(crate) fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let terminal = Terminal::new(global.quiet);
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        bail!("the query is empty; give its text");
    }
    if args.top == 0 {
        bail!("--top 0 shows nothing; give at least 1");
    }
    let model = rankers::load_matching(&args.model)?;
    let dataset = Dataset::open(&args.data)?;
    let found = search(&*model, &dataset, &query, args.top, &terminal)?;
    terminal.finish();
    if args.format == Format::Json {
        let results = to_json(&found);
        let all = json!({ "query": query, "model": model.kind(), "results": results });
        terminal::print(&serde_json::to_string_pretty(&all)?)?;
        return Ok(Outcome::Clean);
    }
    if found.is_empty() {
        terminal.note(&format!("the {} model finds no document for '{query}'", model.kind()));
        if args.format == Format::Table {
            return Ok(Outcome::Clean);
        }
    }
    let fields = || dataset.manifest.fields.iter();
    let shown: Vec<&str> = match args.format {
        Format::Csv => fields().map(|(name, _)| name).collect(),
        _ => {
            let heaviest = fields().map(|(_, weight)| weight).fold(0.0, f32::max);
            fields().find(|(_, weight)| *weight == heaviest).map(|(name, _)| name).into_iter().collect()
        }
    };
    // A table has the column only where it says something.
    let marks = args.format == Format::Csv || found.iter().any(|found| found.is_new);
    let mark = marks.then_some("new");
    let header: Vec<&str> =
        ["", "document"].into_iter().chain(shown.iter().copied()).chain(mark).chain(["score"]).collect();
    let row = |(rank, found): (usize, &Found)| {
        let texts = shown.iter().map(|field| match args.format {
            Format::Csv => found.texts[*field].clone(),
            _ => shortened(&found.texts[*field]),
        });
        let first = [(rank + 1).to_string(), found.document.clone()];
        let mark = marks.then(|| if found.is_new { "new".to_owned() } else { String::new() });
        let score = args.format.figure(f64::from(found.score), 4);
        first.into_iter().chain(texts).chain(mark).chain([score]).collect()
    };
    terminal::print(&table(&header, found.iter().enumerate().map(row).collect(), args.format))?;
    if marks && args.format == Format::Table {
        terminal.note("new: the document has no click in the training data");
    }
    Ok(Outcome::Clean)
}

/// The first letters of a text, in one line.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN {
        return line;
    }
    line.chars().take(SHOWN - 1).chain(['…']).collect()
}
