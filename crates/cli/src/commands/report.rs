use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use matchrank_engine::comparison::Comparison;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::report::{self, ReportParams, ReportSource};

use crate::terminal::{self, Terminal};
use crate::{Global, Outcome};

/// Write a comparison as one HTML page
///
/// The page opens with what changes for searchers with the model that validation chose, and whether that is significant.
/// It contains advice, three queries before and after, the table of models, differences with confidence intervals, quality
/// against latency, kinds of queries, wins and losses per query with the results of two models side by side, and
/// explanations. An appendix has the protocol, statistics of the data with the findings of `doctor`, costs, parameters and
/// curves. The page is one self-contained file: send it, open it on a phone, print it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder that `compare` wrote
    #[arg(value_name = "COMPARISON")]
    comparison: PathBuf,
    /// Dataset folder that the models were compared on [default: the one that `compare` used]
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// HTML file to write [default: report.html in the comparison's folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Baseline that the page starts with; readers can pick another [default: the BM25 model, else the worst]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Maximum number of queries whose results are in the page and can be opened
    #[arg(long, default_value_t = ReportParams::default().open, value_name = "N")]
    open: usize,
    /// Maximum number of these queries whose first results are explained
    #[arg(long, default_value_t = ReportParams::default().explain, value_name = "N")]
    explain: usize,
}

const EXAMPLES: &str = "\
Examples:
  matchrank compare --data shop --models bm25,pls,rmls,rmls+bm25 --out shop-models
  matchrank report shop-models
  matchrank report shop-models --baseline pls --out shop.html";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let comparison = Comparison::open(&args.comparison)?;
    // Folds of feature lists have no dataset.
    let folder = args.data.or(comparison.data.folder);
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.exists()) {
        bail!(
            "{}: the dataset of this comparison does not exist; give its folder with --data",
            folder.display()
        );
    }
    let dataset = folder.as_deref().map(Dataset::open).transpose()?;
    let out = args.out.unwrap_or_else(|| args.comparison.join("report.html"));
    check_outputs(comparison_files(&args.comparison).iter().chain(&folder), [&out])?;
    let params = ReportParams { baseline: args.baseline, open: args.open, explain: args.explain };
    let source = ReportSource { folder: &args.comparison, dataset: dataset.as_ref() };
    let bytes = report::write(source, &out, &params, &terminal)?;
    terminal.finish();
    terminal::print(&format!("{} ({:.1} MB)", out.display(), bytes as f64 / 1e6))?;
    terminal.done(&format!("wrote {}", out.display()), started);
    Ok(Outcome::Clean)
}

/// Lists the files that `compare` wrote in its folder and the subfolders.
fn comparison_files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        |folder: &Path| folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        Vec::into_iter(entries(folder)).partition(|path: &PathBuf| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| Vec::into_iter(entries(folder))));
    files.retain(|path| path.extension().is_none_or(|ending| ending != "html"));
    files
}
