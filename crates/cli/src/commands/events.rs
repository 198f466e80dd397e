use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use matchrank_engine::files;
use matchrank_engine::outputs::check_outputs;
use matchrank_server::learning::{
    LearningError, SearchWindow, export_documents, export_lessons, export_removed, sequence_of, write_clicks,
};
use matchrank_server::store::{FILE, LogSpan, Store, StoreOptions};
use serde_json::{Map, json};

use crate::terminal::{self, Format, table};
use crate::{Global, Outcome};

/// Export or compact the log of a service that is stopped
///
/// A service that runs exports its log itself: `GET /v1/events/export`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: EventsCommand,
}

#[derive(clap::Subcommand)]
enum EventsCommand {
    Export(ExportArgs),
    Compact(CompactArgs),
}

/// Write the log as files that `ingest` and `update` read
///
/// --out has a row for every click and impression, with the query of its search: `ingest --clicks` reads it. Types count
/// as in `ingest`: a click, an addition to the cart and a purchase 1 each or their own weight, an impression nothing, other
/// types are left out.
///
/// --documents and --removed have the changes of the catalogue, for `ingest --append`. --tuples and --lists have what
/// models learn while serving, for `update`.
#[derive(clap::Args)]
#[command(after_help = EXPORT_EXAMPLES, group = clap::ArgGroup::new("outputs").required(true).multiple(true)
    .args(["out", "documents", "removed", "tuples", "lists"]))]
struct ExportArgs {
    /// State folder of the service
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Write clicks and impressions to this file: Parquet if its name ends with .parquet, else JSON lines; .zst and .gz
    /// compress
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write documents that were added or changed to this file, JSON lines
    #[arg(long, value_name = "FILE")]
    documents: Option<PathBuf>,
    /// Write the ids of documents that were removed to this file, one in each line
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
    /// Write preferences to this file, JSON lines: those of clicks whose search is over, and those that were sent
    #[arg(long, value_name = "FILE")]
    tuples: Option<PathBuf>,
    /// Write feature lists that were sent to this file, JSON lines
    #[arg(long, value_name = "FILE")]
    lists: Option<PathBuf>,
    /// Write only what came after this sequence number, or from this date on, as 2026-05-01 [default: everything]
    #[arg(long, value_name = "SEQUENCE|DATE")]
    since: Option<String>,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  matchrank events export --state state --out today.parquet --since 2026-05-01
  matchrank ingest --append --clicks today.parquet --out shop
  matchrank events export --state state --documents changed.jsonl --removed removed.txt
  matchrank events export --state state --tuples - --since 1200 | matchrank update words.model --tuples - --data shop --out words.model";

/// Rewrite the file of a state folder without free space
#[derive(clap::Args)]
#[command(after_help = "Example:\n  matchrank events compact --state state")]
struct CompactArgs {
    /// State folder of the service
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    match args.command {
        EventsCommand::Export(args) => export(&args, global),
        EventsCommand::Compact(args) => {
            let store = open(&args.state)?;
            let given_back = store.compact()?;
            let size = store.file_bytes()?;
            let bytes = |n: u64| Format::Table.count(n);
            terminal::Terminal::new(global.quiet).say(&format!(
                "{} bytes, {} given back",
                bytes(size),
                bytes(given_back)
            ));
            Ok(Outcome::Clean)
        }
    }
}

/// Opens the store of a folder that has one; a mistyped folder is not created.
fn open(state: &Path) -> anyhow::Result<Store> {
    if !state.join(FILE).is_file() {
        bail!("{}: holds no {FILE}; name the state folder of the service", state.display());
    }
    Ok(Store::open(state, StoreOptions::default())?)
}

fn export(args: &ExportArgs, global: &Global) -> anyhow::Result<Outcome> {
    let outputs = [&args.out, &args.documents, &args.removed, &args.tuples, &args.lists];
    let outputs: Vec<&PathBuf> = outputs.into_iter().flatten().collect();
    for (place, output) in outputs.iter().enumerate() {
        if outputs[..place].contains(output) {
            bail!("{}: is to be written twice; give every output a file of its own", output.display());
        }
    }
    check_outputs([args.state.join(FILE).as_path()], outputs.iter().copied())?;
    let store = open(&args.state)?;
    let span = match &args.since {
        None => LogSpan::ALL,
        Some(since) => LogSpan::after(sequence_of(&store, since)?.with_context(|| {
            format!("--since {since}: a sequence number, or a date like 2026-05-01 or 2026-05-01T10:00:00Z, is expected")
        })?),
    };
    let mut summary = Map::new();
    let mut n_unreadable = 0;
    if let Some(path) = &args.out {
        let exported = write_clicks(&store, span, path)?;
        summary.insert("rows".into(), exported.n_rows.into());
        summary.insert("rows_without_query".into(), exported.n_without_query.into());
        summary.insert("events".into(), exported.n_events.into());
        summary.insert("events_that_count_nothing".into(), exported.n_others.into());
        n_unreadable = exported.n_unreadable;
    }
    if let Some(path) = &args.documents {
        let exported = write(path, |out| export_documents(&store, span, out))?;
        summary.insert("documents".into(), exported.n_documents.into());
    }
    if let Some(path) = &args.removed {
        let exported = write(path, |out| export_removed(&store, span, out))?;
        summary.insert("removed_documents".into(), exported.n_documents.into());
    }
    let from = (span, SearchWindow::default());
    if let Some(path) = &args.tuples {
        let exported = write(path, |out| export_lessons(&store, from, Some(out), None))?;
        summary.insert("tuples".into(), exported.n_tuples.into());
        n_unreadable = exported.n_unreadable;
    }
    if let Some(path) = &args.lists {
        let exported = write(path, |out| export_lessons(&store, from, None, Some(out)))?;
        summary.insert("lists".into(), exported.n_lists.into());
        n_unreadable = exported.n_unreadable;
    }
    summary.insert("last_sequence".into(), store.last_sequence().into());
    if n_unreadable > 0 {
        summary.insert("events_that_cannot_be_read".into(), n_unreadable.into());
        terminal::Terminal::new(global.quiet).say(&format!(
            "{}: {n_unreadable} events cannot be read and were skipped; another version of the program may have written them",
            args.state.display()
        ));
    }
    // The summary would mix with what is written to standard output.
    if outputs.iter().any(|output| *output == Path::new("-")) {
        return Ok(Outcome::Clean);
    }
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!(summary))?)?,
        format => {
            let name = |name: &str| name.replace('_', " ");
            let rows = summary.iter().map(|(key, value)| {
                vec![name(key), value.as_u64().map(|n| format.count(n)).unwrap_or_default()]
            });
            terminal::print(&table(&["", "value"], rows.collect(), format))?;
        }
    }
    Ok(Outcome::Clean)
}

/// Writes a file whole or not at all.
fn write<T: Default>(
    path: &Path,
    export: impl FnOnce(&mut dyn Write) -> Result<T, LearningError>,
) -> anyhow::Result<T> {
    let mut exported = Ok(T::default());
    let written = files::write_atomically(path, |out| {
        exported = export(out);
        exported
            .as_ref()
            .map(drop)
            .map_err(|e| matchrank_engine::Error::format(files::name_of(path), e.to_string()))
    });
    let exported = exported?;
    written?;
    Ok(exported)
}
