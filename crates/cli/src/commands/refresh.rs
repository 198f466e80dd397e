//! `matchrank refresh` and `matchrank rollback`: a live model from one day to the next.

use std::path::PathBuf;
use std::time::Instant;

use matchrank_engine::ingest::AppendParams;
use matchrank_engine::refresh::{
    LiveFolder, RefreshOutcome, RefreshParams, Refreshed, VersionState, refresh, rollback,
};
use serde_json::json;

use super::ingest::parse_day;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome};

/// Add new data, train the live model again, and promote the new one unless it is worse
///
/// One command for cron. The rows of --clicks and the changes of --documents are added to the dataset; files that
/// were added before are skipped, so a command that failed may be run again. The live model is trained again as it was
/// made, with the same settings. Both models rank the queries of the newest clicks, which neither has seen. The new
/// model is refused if it is significantly worse (paired one-sided t-test over queries, p < 0.05) or worse by more than
/// --margin, and promoted otherwise.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Dataset folder, ingested with --split time
    #[arg(long, value_name = "DATASET")]
    data: PathBuf,
    /// Folder of the live model: current.model, former versions and live.json
    #[arg(long, value_name = "FOLDER")]
    live: PathBuf,
    /// Take this model in place of training the live one again; needed for the first one
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Click logs to add
    #[arg(long, num_args = 1.., value_name = "FILE")]
    clicks: Vec<PathBuf>,
    /// Documents to add; those with a known id replace the former ones
    #[arg(long, num_args = 1.., value_name = "FILE")]
    documents: Vec<PathBuf>,
    /// --documents is the whole catalogue; other documents are removed
    #[arg(long, requires = "documents")]
    whole_catalogue: bool,
    /// Files with the ids of documents to remove, one in each line
    #[arg(long, num_args = 1.., value_name = "FILE")]
    removed: Vec<PathBuf>,
    /// Queries to add: id and text
    #[arg(long, num_args = 1.., value_name = "FILE")]
    queries: Vec<PathBuf>,
    /// Drop rows of click logs before a date (UTC), such as 2026-01-31
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    drop_before: Option<i64>,
    /// Loss of NDCG@10 beyond which a new model is refused, significant or not
    #[arg(long, default_value_t = RefreshParams::default().margin, value_name = "LOSS")]
    margin: f64,
    /// Versions to keep, the live one included
    #[arg(long, default_value_t = RefreshParams::default().keep, value_name = "N")]
    keep: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Exit codes: 0 the new model is live; 1 it is worse, and the former one stays live; 2 an error: nothing
was promoted.

Examples:
  matchrank refresh --data shop --live live --model models/models/stack.model    the first time
  matchrank refresh --data shop --live live --clicks today.csv --documents changed.jsonl --format json
  matchrank search --model live/current.model --data shop 'QUERY'
  matchrank rollback --live live";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let added = AppendParams {
        clicks: args.clicks,
        documents: args.documents,
        whole_catalogue: args.whole_catalogue,
        removed: args.removed,
        queries: args.queries,
        drop_before: args.drop_before,
        ..AppendParams::default()
    };
    let is_empty = added.clicks.is_empty()
        && added.documents.is_empty()
        && added.removed.is_empty()
        && added.queries.is_empty()
        && added.drop_before.is_none();
    let params = RefreshParams {
        added: (!is_empty).then_some(added),
        model: args.model,
        margin: args.margin,
        keep: args.keep,
        seed: global.seed,
    };
    let refreshed = refresh(&params, &args.data, &args.live, &terminal)?;
    terminal.finish();
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&refreshed)?)?,
        format => terminal::print(&summary(&refreshed, format))?,
    }
    let is_kept = refreshed.outcome == RefreshOutcome::Kept;
    if args.format == Format::Table {
        let done = match refreshed.outcome {
            RefreshOutcome::Kept | RefreshOutcome::Unchanged => {
                format!("version {} stays live", refreshed.live)
            }
            _ => format!("version {} is live in {}", refreshed.live, refreshed.model),
        };
        terminal.done(&done, started);
    }
    Ok(if is_kept { Outcome::Problems } else { Outcome::Clean })
}

fn summary(refreshed: &Refreshed, format: Format) -> String {
    let Refreshed { drift, comparison, seconds, .. } = refreshed;
    let percent = |share: f64| format!("{} %", format.figure(100.0 * share, 1));
    let mut rows = vec![
        ("outcome", refreshed.reason.clone()),
        ("live version", refreshed.live.to_string()),
        ("new version", refreshed.candidate.to_string()),
    ];
    if let Some(comparison) = comparison {
        let figure = |value: f64| format.figure(value, 4);
        let error = comparison
            .standard_error
            .map_or(String::new(), |error| format!(" (standard error {})", figure(error)));
        rows.push(("live model", format!("{} {}", comparison.measure, figure(comparison.live))));
        rows.push(("new model", format!("{} {}", comparison.measure, figure(comparison.candidate))));
        rows.push(("difference", format!("{:+.4}{error}", comparison.difference)));
        rows.push(("test queries", format.count(comparison.queries as u64)));
    }
    rows.push(("newest clicks", format.figure(drift.clicks, 0)));
    rows.push(("of unseen queries", percent(drift.unseen_queries)));
    rows.push(("on unseen documents", percent(drift.unseen_documents)));
    rows.push(("unknown words", percent(drift.unknown_words)));
    if let Some(rates) = drift.click_rates {
        rows.push((
            "clicks per impression",
            format!("{} (before {})", percent(rates.newest), percent(rates.before)),
        ));
    }
    if let Some(scores) = drift.scores {
        let moved = format!("{:+.2} standard deviations", scores.deviations);
        rows.push((
            "best scores",
            format!(
                "mean {} (at promotion {}): {moved}",
                format.figure(scores.now, 3),
                format.figure(scores.then, 3)
            ),
        ));
    }
    rows.push((
        "seconds",
        format!("append {:.1}, train {:.1}, measure {:.1}", seconds.append, seconds.train, seconds.measure),
    ));
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    table(&["", "value"], rows, format)
}

/// Put a former version of the live model back in its place
///
/// Without --to, the last version that was live before. The file current.model is replaced in one step.
#[derive(clap::Args)]
pub(crate) struct RollbackArgs {
    /// Folder of the live model
    #[arg(long, value_name = "FOLDER")]
    live: PathBuf,
    /// Version to put back [default: the last one that was live before]
    #[arg(long, value_name = "N")]
    to: Option<u32>,
    /// List the versions and change nothing
    #[arg(long, conflicts_with = "to")]
    list: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run_rollback(args: RollbackArgs, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let number = if args.list { None } else { Some(rollback(&args.live, args.to)?) };
    let folder = LiveFolder::open(&args.live)?;
    let state = |state: VersionState| match state {
        VersionState::Live => "live",
        VersionState::Former => "former",
        VersionState::Refused => "refused",
        VersionState::RolledBack => "rolled back",
    };
    if args.format == Format::Json {
        let live = folder.current().map(|version| version.number);
        let value = json!({ "live": live, "versions": folder.versions() });
        terminal::print(&serde_json::to_string_pretty(&value)?)?;
        return Ok(Outcome::Clean);
    }
    let rows = folder.versions().iter().map(|version| {
        vec![
            version.number.to_string(),
            state(version.state).to_owned(),
            version.kind.clone(),
            args.format.figure(version.figure, 4),
            version.reason.clone(),
        ]
    });
    terminal::print(&table(
        &["version", "state", "model", "ndcg@10", "reason"],
        rows.collect(),
        args.format,
    ))?;
    if let Some(number) = number.filter(|_| args.format == Format::Table) {
        terminal.done(&format!("version {number} is live in {}", folder.current_file().display()), started);
    }
    Ok(Outcome::Clean)
}
