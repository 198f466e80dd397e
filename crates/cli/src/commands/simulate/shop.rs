//! `matchrank simulate shop`: a catalogue and a click log in English words.

use std::path::{Path, PathBuf};
use std::time::Instant;

use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_core::simulate::shop::{self, ShopParams, ShopStatistics};
use matchrank_engine::dataset::Manifest;

use super::{Report, ingest_log, next, prepare_folder, write_files, write_log};
use crate::terminal::{self, Format, Terminal};
use crate::{Global, Outcome};

/// Simulate a shop: a catalogue and a click log in English words
///
/// Merchants and customers have different words for a product: titles say `trainer`, queries say `sneaker`. Some
/// queries have a typo. Users prefer the top of the page and sometimes click wrong products. Grades 0 to 4
/// compare type, brand, colour, material and audience, and do not depend on clicks. All brands are invented.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folder to write to: clicks.csv, documents.jsonl, queries.tsv, validation.qrels, test.qrels,
    /// statistics.json
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Products
    #[arg(long, value_name = "N", default_value_t = ShopParams::default().products)]
    products: usize,
    /// Distinct queries of the log
    #[arg(long, value_name = "N", default_value_t = ShopParams::default().queries)]
    queries: usize,
    /// Clicks; the last session of a query may add a few
    #[arg(long, value_name = "N", default_value_t = ShopParams::default().clicks)]
    clicks: usize,
    /// Write into a folder that holds other files
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank simulate shop --out shop-log
  matchrank simulate shop --products 20000 --queries 30000 --clicks 500000 --out large --seed 7";

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let params = ShopParams::sized(args.products, args.queries, args.clicks);
    params.validate()?;
    let out = &args.out;
    prepare_folder(out, args.force)?;
    let terminal = Terminal::new(global.quiet);
    let start = Instant::now();
    let clicks = out.join("clicks.csv");
    let statistics =
        write_files(out, &clicks, |files| shop::simulate(&params, global.seed, files, &terminal))?;
    terminal.finish();
    let report = Report::write("shop", &statistics, None, (out, start.elapsed()))?;
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&report)?)?,
        Format::Csv => terminal::print(&csv(&statistics))?,
        Format::Table => terminal::print(&format!("{}\n\n{}", table(&report), next(&clicks, out)))?,
    }
    Ok(Outcome::Clean)
}

/// Simulates a shop in `folder/log`, and ingests it into `folder/dataset` with the settings of `ingest`.
pub(crate) fn log_and_dataset(
    seed: u64,
    folder: &Path,
    progress: &dyn Progress,
) -> anyhow::Result<(ShopStatistics, Manifest)> {
    let params = ShopParams::default();
    let simulated = write_log(folder, |files| shop::simulate(&params, seed, files, progress))?;
    Ok((simulated, ingest_log(folder, &[], seed, progress)?))
}

fn csv(statistics: &ShopStatistics) -> String {
    let s = statistics;
    let counts = [
        ("products", s.params.products as u64),
        ("types", s.types),
        ("queries", s.params.queries as u64),
        ("typos", s.typos),
        ("rows", s.rows),
        ("clicks", s.clicks),
        ("pairs", s.pairs),
        ("sessions", s.sessions),
        ("abandoned", s.abandoned),
        ("judged_validation", s.judged_queries[0]),
        ("judged_test", s.judged_queries[1]),
        ("judged_unseen", s.judged_unseen),
    ];
    let rows = counts.into_iter().map(|(name, n)| vec![name.to_owned(), n.to_string()]);
    terminal::table(&["name", "value"], rows.collect(), Format::Csv)
}

fn table(report: &Report<ShopStatistics>) -> String {
    let s = report.statistics;
    let [g0, g1, g2, g3, g4] = s.grades;
    format!(
        "catalogue  {} of {} and {}\n\
         queries    {}, {} of them with a typo\n\
         log        {} rows: {} clicks in {} sessions ({} more without a click); {:.1} % of the pairs are noise\n\
         judgments  {} + {} queries (validation + test), {} of them absent from the log: \
         {g4} Perfect, {g3} Excellent, {g2} Good, {g1} Fair, {g0} Bad\n\
         mismatch   {:.1} % of the Perfect products have another word for the type than their query\n\
         took       {:.1} s{}",
        counted(s.params.products, "product"),
        counted(s.types, "type"),
        counted(shop::BRANDS.len(), "brand"),
        counted(s.params.queries, "query"),
        s.typos,
        s.rows,
        s.clicks,
        s.sessions - s.abandoned,
        s.abandoned,
        100.0 * s.noise_pairs,
        s.judged_queries[0],
        s.judged_queries[1],
        s.judged_unseen,
        100.0 * s.name_mismatch,
        report.seconds.unwrap_or_default(),
        report.memory(),
    )
}
