//! `matchrank simulate`: writes simulated data to a folder.

pub(crate) mod shop;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use matchrank_core::progress::{Progress, WithoutNotes};
use matchrank_core::simulate::clicks::{self, ClickFiles, ClickParams, ClickStatistics, LogRows, Table1};
use matchrank_engine::dataset::{Holdout, Manifest};
use matchrank_engine::files::{make_folder, write_atomically};
use matchrank_engine::ingest::{IngestParams, ingest};
use serde::Serialize;

use crate::terminal::{self, Format, Terminal, figure};
use crate::{Global, Outcome};

/// Simulate a click log: the papers' statistics, or a shop in English words
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Clicks(Box<Clicks>),
    Shop(shop::Args),
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    match args.what {
        What::Clicks(args) => run_clicks(&args, global),
        What::Shop(args) => shop::run(&args, global),
    }
}

/// Simulate a click log with texts, positions and graded judgments
///
/// Queries and documents express the same concepts in different words. Popularity is heavy-tailed. Users
/// prefer the top of the page (position k is examined with probability k^-0.7) and sometimes click wrong
/// documents. Grades 0 to 4 compare concepts and do not depend on clicks.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
struct Clicks {
    /// Size and statistics to start from; the flags below change them
    #[arg(long, value_enum, default_value_t = Preset::Small)]
    preset: Preset,
    /// Folder to write to: clicks.csv, documents.jsonl, queries.tsv, validation.qrels, test.qrels,
    /// statistics.json
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Queries with a click
    #[arg(long, value_name = "N")]
    queries: Option<usize>,
    /// Documents, all of them clicked
    #[arg(long, value_name = "N")]
    documents: Option<usize>,
    /// Distinct words
    #[arg(long, value_name = "N")]
    words: Option<usize>,
    /// Topics
    #[arg(long, value_name = "N")]
    topics: Option<usize>,
    /// Concepts of all topics together
    #[arg(long, value_name = "N")]
    concepts: Option<usize>,
    /// Mean clicked documents of a query
    #[arg(long, value_name = "MEAN")]
    clicked_per_query: Option<f64>,
    /// Mean distinct words of a query
    #[arg(long, value_name = "MEAN")]
    words_per_query: Option<f64>,
    /// Mean distinct words of a document, title and URL together
    #[arg(long, value_name = "MEAN")]
    words_per_document: Option<f64>,
    /// Probability that queries and documents use different words for a concept [default: 0.6]
    #[arg(long, value_name = "P")]
    own_words: Option<f64>,
    /// Position k is examined with probability k^-ETA [default: 0.7]
    #[arg(long, value_name = "ETA")]
    position_bias: Option<f64>,
    /// Probability of a click on a Bad document that is examined [default: 0.008]
    #[arg(long, value_name = "P")]
    noise: Option<f64>,
    /// Judged queries, half for validation, half for test
    #[arg(long, value_name = "N")]
    judged: Option<usize>,
    /// Share of the judged queries that are absent from the log [default: 0.3]
    #[arg(long, value_name = "SHARE")]
    unseen: Option<f64>,
    /// Layout of the log [default: pairs for half-year, else sessions]
    #[arg(long, value_enum)]
    rows: Option<RowsArg>,
    /// Write clicks.csv.zst in place of clicks.csv
    #[arg(long)]
    compress: bool,
    /// Write into a folder that holds other files
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank simulate clicks --out log                      2,000 queries, in a second
  matchrank simulate clicks --preset one-week --out week   the papers' week, 94,022 queries
  matchrank simulate clicks --preset half-year --rows pairs --compress --out half
  matchrank simulate clicks --queries 20000 --documents 25000 --words 20000 --topics 80 --out mine";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// 2,000 queries, 3,000 documents
    Small,
    /// 94,022 queries, 111,631 documents
    OneWeek,
    /// 6,372,254 queries, 4,599,849 documents
    HalfYear,
}

#[derive(Clone, Copy, ValueEnum)]
enum RowsArg {
    /// One row per shown document of a session, from position 1 to one below the last click
    Sessions,
    /// One row per clicked (query, document, position), with the counts of shown and clicked
    Pairs,
}

impl Clicks {
    fn params(&self) -> ClickParams {
        let mut params = match self.preset {
            Preset::Small => ClickParams::small(),
            Preset::OneWeek => ClickParams::one_week(),
            Preset::HalfYear => ClickParams::half_year(),
        };
        let counts = [
            (&mut params.queries, self.queries),
            (&mut params.documents, self.documents),
            (&mut params.words, self.words),
            (&mut params.topics, self.topics),
            (&mut params.concepts, self.concepts),
            (&mut params.judged, self.judged),
        ];
        counts.into_iter().for_each(|(field, given)| *field = given.unwrap_or(*field));
        let numbers = [
            (&mut params.clicked_per_query, self.clicked_per_query),
            (&mut params.words_per_query, self.words_per_query),
            (&mut params.words_per_document, self.words_per_document),
            (&mut params.own_words, self.own_words),
            (&mut params.position_bias, self.position_bias),
            (&mut params.attractiveness[0], self.noise),
            (&mut params.unseen, self.unseen),
        ];
        numbers.into_iter().for_each(|(field, given)| *field = given.unwrap_or(*field));
        params.rows = match self.rows {
            Some(RowsArg::Sessions) => LogRows::Sessions,
            Some(RowsArg::Pairs) => LogRows::Pairs,
            None => params.rows,
        };
        params
    }

    /// Returns Table 1 of the papers if the preset is theirs and its counts are unchanged.
    fn paper(&self, params: &ClickParams) -> Option<Table1> {
        let (paper, preset) = match self.preset {
            Preset::Small => return None,
            Preset::OneWeek => (Table1::ONE_WEEK, ClickParams::one_week()),
            Preset::HalfYear => (Table1::HALF_YEAR, ClickParams::half_year()),
        };
        let counts = |p: &ClickParams| (p.queries, p.documents, p.words);
        (counts(params) == counts(&preset)).then_some(paper)
    }
}

/// Output of `--format json`; `statistics.json` holds all but the last two fields.
#[derive(Serialize)]
struct Report<'a, S> {
    simulation: &'a str,
    #[serde(flatten)]
    statistics: &'a S,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<Table1>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_bytes: Option<u64>,
}

impl<'a, S: Serialize> Report<'a, S> {
    /// Writes `statistics.json` and returns the report with the time and the memory it took.
    fn write(
        simulation: &'a str,
        statistics: &'a S,
        paper: Option<Table1>,
        (out, took): (&Path, Duration),
    ) -> anyhow::Result<Self> {
        let report = Self { simulation, statistics, paper, seconds: None, peak_memory_bytes: None };
        let json = serde_json::to_string_pretty(&report)?;
        write_atomically(&out.join("statistics.json"), |w| {
            writeln!(w, "{json}").map_err(|e| matchrank_core::Error::io("statistics.json", e))
        })?;
        let peak_memory_bytes = terminal::peak_memory();
        Ok(Self { seconds: Some(took.as_secs_f64()), peak_memory_bytes, ..report })
    }

    fn memory(&self) -> String {
        self.peak_memory_bytes.map_or(String::new(), |b| format!(", {} MiB peak", b >> 20))
    }
}

fn run_clicks(args: &Clicks, global: &Global) -> anyhow::Result<Outcome> {
    let params = args.params();
    params.validate()?;
    let out = &args.out;
    prepare_folder(out, args.force)?;
    let terminal = Terminal::new(global.quiet);
    let start = Instant::now();
    let clicks = out.join(if args.compress { "clicks.csv.zst" } else { "clicks.csv" });
    let statistics =
        write_files(out, &clicks, |files| clicks::simulate(&params, global.seed, files, &terminal))?;
    terminal.finish();
    let took = start.elapsed();
    let report = Report::write("clicks", &statistics, args.paper(&params), (out, took))?;
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&report)?)?,
        Format::Csv => terminal::print(&csv(&statistics))?,
        Format::Table => terminal::print(&table(&report, took, &clicks, out))?,
    }
    Ok(Outcome::Clean)
}

/// Writes all files of a simulation, each under a temporary name until it is complete.
fn write_files<S>(
    out: &Path,
    clicks: &Path,
    simulate: impl FnOnce(ClickFiles) -> matchrank_core::Result<S>,
) -> matchrank_core::Result<S> {
    let mut statistics = None;
    write_atomically(clicks, |clicks| {
        write_atomically(&out.join("documents.jsonl"), |documents| {
            write_atomically(&out.join("queries.tsv"), |queries| {
                write_atomically(&out.join("validation.qrels"), |validation| {
                    write_atomically(&out.join("test.qrels"), |test| {
                        statistics =
                            Some(simulate(ClickFiles { clicks, documents, queries, validation, test })?);
                        Ok(())
                    })
                })
            })
        })
    })?;
    Ok(statistics.expect("set when the files were written"))
}

/// Simulates a log in `folder/log`, and ingests it into `folder/dataset`.
pub(crate) fn log_and_dataset(
    params: &ClickParams,
    seed: u64,
    folder: &Path,
    progress: &dyn Progress,
) -> anyhow::Result<()> {
    write_log(folder, |files| clicks::simulate(params, seed, files, progress))?;
    ingest_log(folder, &["title", "url"], seed, progress)?;
    Ok(())
}

/// Writes the files of a simulation to `folder/log`.
fn write_log<S>(
    folder: &Path,
    simulate: impl FnOnce(ClickFiles) -> matchrank_core::Result<S>,
) -> anyhow::Result<S> {
    let log = folder.join("log");
    make_folder(&log)?;
    Ok(write_files(&log, &log.join("clicks.csv"), simulate)?)
}

/// Ingests the simulation of `folder/log` into `folder/dataset`; without text fields, as `ingest` finds them.
fn ingest_log(folder: &Path, text: &[&str], seed: u64, progress: &dyn Progress) -> anyhow::Result<Manifest> {
    let log = folder.join("log");
    let ingested = IngestParams {
        clicks: vec![log.join("clicks.csv")],
        documents: vec![log.join("documents.jsonl")],
        queries: vec![log.join("queries.tsv")],
        judgments: vec![
            (Holdout::Validation, log.join("validation.qrels")),
            (Holdout::Test, log.join("test.qrels")),
        ],
        text: text.iter().map(|field| (*field).to_owned()).collect(),
        seed,
        ..IngestParams::default()
    };
    Ok(ingest(&ingested, &folder.join("dataset"), true, &WithoutNotes(progress))?)
}

/// Prepares the output folder, which may be absent, empty, or hold an earlier simulation. Removes the log and
/// statistics of the earlier one first, so that two runs never mix.
fn prepare_folder(out: &Path, force: bool) -> anyhow::Result<()> {
    let show = out.display();
    make_folder(out)?;
    let mut entries = std::fs::read_dir(out).with_context(|| format!("{show}: cannot read the folder"))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let earlier = std::fs::read(out.join("statistics.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok())
        .is_some_and(|json| json["simulation"] == "clicks" || json["simulation"] == "shop");
    if !earlier && !force {
        bail!("{show} is not empty and holds no simulation; name another folder, or add --force");
    }
    for name in ["statistics.json", "clicks.csv", "clicks.csv.zst"] {
        match std::fs::remove_file(out.join(name)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("{}: cannot be replaced", out.join(name).display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn csv(statistics: &ClickStatistics) -> String {
    let rows = statistics
        .table1
        .entries()
        .into_iter()
        .map(|(name, meaning, value)| vec![name.to_owned(), meaning.to_owned(), value.to_string()]);
    terminal::table(&["name", "meaning", "value"], rows.collect(), Format::Csv)
}

fn table(report: &Report<ClickStatistics>, took: Duration, clicks: &Path, out: &Path) -> String {
    let s = report.statistics;
    let mut header = vec!["", "Table 1", "simulated"];
    if report.paper.is_some() {
        header.extend(["paper", "difference"]);
    }
    let paper = report.paper.as_ref().map(Table1::entries);
    let rows = s.table1.entries().into_iter().enumerate().map(|(i, (name, meaning, ours))| {
        let mut row = vec![name.to_owned(), meaning.to_owned(), figure(ours, 2)];
        if let Some(theirs) = paper.map(|p| p[i].2) {
            row.extend([figure(theirs, 2), format!("{:+.1} %", 100.0 * (ours / theirs - 1.0))]);
        }
        row
    });
    let table = terminal::table(&header, rows.collect(), Format::Table);
    let memory = report.memory();
    let [g0, g1, g2, g3, g4] = s.grades;
    format!(
        "{table}\n\
         log        {} rows: {} clicks in {} sessions ({} more without a click); {:.1} % of the pairs are noise\n\
         judgments  {} + {} queries (validation + test), {} of them absent from the log; {:.2} documents each: \
         {g4} Perfect, {g3} Excellent, {g2} Good, {g1} Fair, {g0} Bad\n\
         mismatch   {:.1} % of the Perfect and Excellent documents share no word with their query\n\
         took       {:.1} s{memory}\n\n\
         {}",
        s.rows,
        s.clicks,
        s.sessions - s.abandoned,
        s.abandoned,
        100.0 * s.noise_pairs,
        s.judged_queries[0],
        s.judged_queries[1],
        s.judged_unseen,
        s.judged_per_query,
        100.0 * s.term_mismatch,
        took.as_secs_f64(),
        next(clicks, out),
    )
}

/// The command that ingests a simulation.
fn next(clicks: &Path, out: &Path) -> String {
    let (clicks, dir) = (clicks.display(), out.display());
    format!(
        "next: matchrank ingest --clicks {clicks} --documents {dir}/documents.jsonl --queries {dir}/queries.tsv \
         --judgments validation={dir}/validation.qrels --judgments test={dir}/test.qrels --out DATASET"
    )
}
