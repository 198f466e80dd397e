//! `matchrank doctor`: checks data files and reports problems.

use std::fmt::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use matchrank_core::message::counted;
use matchrank_engine::doctor::{self, FileKind, Finding, Report, Severity};
use serde::Serialize;

use crate::terminal::{self, Terminal};
use crate::{Global, Outcome};

/// Check data files and report problems, with line numbers and fixes
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Dataset folders, LETOR / SVMlight files, TREC qrels or TREC runs; files may be plain, gzip or zstd
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Kind of the files [default: recognised by their first lines]
    #[arg(long)]
    kind: Option<KindName>,
    /// Exit with 1 for warnings, too
    #[arg(long)]
    strict: bool,
    /// Output format
    #[arg(long, default_value = "table")]
    format: Format,
}

const EXAMPLES: &str = "\
Files given together are also compared: doctor reports queries that two LETOR files or two qrels
share, and judged queries for which a run has no document.

Exit codes: 0 no error was found, and with --strict no warning; 1 one was found; 2 a file cannot be
read.

Examples:
  matchrank doctor shop                            a dataset folder made by ingest
  matchrank doctor train.txt.gz                    one LETOR file
  matchrank doctor train.txt test.txt              and the queries they share
  matchrank doctor qrels.txt bm25.run              and whether their queries match
  matchrank doctor --format json test.txt | jq '.files[].findings[].code'";

#[derive(Clone, Copy, ValueEnum)]
enum KindName {
    /// LETOR / SVMlight: `0 qid:7 1:0.5`
    Letor,
    /// TREC judgments: `query 0 document grade`
    Qrels,
    /// A TREC run: `query Q0 document rank score tag`
    Run,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For reading
    Table,
    /// For scripts
    Json,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let kind = args.kind.map(|kind| match kind {
        KindName::Letor => FileKind::Letor,
        KindName::Qrels => FileKind::Qrels,
        KindName::Run => FileKind::Run,
    });
    let terminal = Terminal::new(global.quiet);
    let reports = doctor::examine(&args.paths, kind, &terminal);
    terminal.finish();
    let mut reports = reports?;
    let fixes = reports.iter_mut().flat_map(|report| &mut report.findings).map(|finding| &mut finding.fix);
    fixes.for_each(|fix| *fix = terminal::with_flags(fix));
    let totals = Totals::of(&reports);
    let text = match args.format {
        Format::Table => table(&reports, &totals),
        Format::Json => serde_json::to_string_pretty(&Output { files: &reports, totals: &totals })?,
    };
    terminal::print(&text)?;
    let n_problems = totals.errors + if args.strict { totals.warnings } else { 0 };
    Ok(if n_problems > 0 { Outcome::Problems } else { Outcome::Clean })
}

#[derive(Serialize)]
struct Output<'a> {
    files: &'a [Report],
    totals: &'a Totals,
}

#[derive(Serialize)]
struct Totals {
    errors: usize,
    warnings: usize,
    infos: usize,
}

impl Totals {
    fn of(reports: &[Report]) -> Self {
        let all = || reports.iter().flat_map(|report| &report.findings);
        let count = |severity| all().filter(|finding| finding.severity == severity).count();
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
        }
    }
}

fn table(reports: &[Report], totals: &Totals) -> String {
    let mut out = String::new();
    for report in reports {
        let kind = match report.kind {
            Some(FileKind::Letor) => "LETOR, ",
            Some(FileKind::Qrels) => "qrels, ",
            Some(FileKind::Run) => "run, ",
            Some(FileKind::Dataset) => "dataset, ",
            None => "",
        };
        out += &format!("{}: {kind}{}\n", report.file, report.summary);
        report.findings.iter().for_each(|finding| write_finding(&mut out, finding));
        out.push('\n');
    }
    let Totals { errors, warnings, infos } = totals;
    out + &format!(
        "{}, {}, {infos} for information",
        counted(*errors, "error"),
        counted(*warnings, "warning")
    )
}

fn write_finding(out: &mut String, finding: &Finding) {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let mut head = format!("{}: {}", finding.code, finding.message);
    if !finding.lines.is_empty() {
        let shown: Vec<String> = finding.lines.iter().map(u64::to_string).collect();
        let more = finding.count.saturating_sub(shown.len() as u64);
        let noun = if shown.len() == 1 && more == 0 { "line" } else { "lines" };
        let place = format!("[{noun} {}{}]", shown.join(", "), if more > 0 { ", ..." } else { "" });
        let _ = write!(head, " {}", place.replace(' ', NO_BREAK));
    }
    for (i, part) in wrap(&head).iter().enumerate() {
        let margin = if i == 0 { severity } else { "" };
        let _ = writeln!(out, "  {margin:<8} {part}");
    }
    if !finding.fix.is_empty() {
        for (i, part) in wrap(&format!("-> {}", finding.fix)).iter().enumerate() {
            let _ = writeln!(out, "           {}{part}", if i == 0 { "" } else { "   " });
        }
    }
}

/// A space at which [`wrap`] does not break.
const NO_BREAK: &str = "\u{a0}";

/// Wraps a text into lines of at most 86 characters, which fit into 100 columns with the margin.
fn wrap(text: &str) -> Vec<String> {
    terminal::wrap(text, 86).iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}
