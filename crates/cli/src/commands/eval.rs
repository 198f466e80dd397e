//! `matchrank eval`: measures runs against judgments.

mod report;
pub(crate) mod table;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use matchrank_core::data::{qrels, qrels::Qrels, run};
use matchrank_core::measure::significance::{self, Comparison, Test};
use matchrank_core::measure::{Conventions, Dialect, Evaluation, Measure, Missing, Ties, bins, evaluate};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::{BinBy, Dataset, HeldOut, HeldOutClicks};
use matchrank_engine::{Error, files};

use super::rank::{SplitName, held_out};
use super::rankers::{names_of, read_lists};
use crate::terminal::{self, Terminal};
use crate::{Global, Outcome};

/// Measure one or many runs against judgments
#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("judgments").required(true).args(["qrels", "letor", "data"]),
    after_help = EXAMPLES,
    after_long_help = format!("{DIALECTS}\n\n{EXAMPLES}")
)]
pub(crate) struct Args {
    /// Judgments as TREC qrels: `query 0 document grade`
    #[arg(long, value_name = "FILE")]
    qrels: Option<PathBuf>,
    /// Judgments from the labels of LETOR files; a document is named by the docid in its comment, else by its
    /// row number, counted from 1 through all files
    #[arg(long, num_args = 1.., value_name = "FILE")]
    letor: Vec<PathBuf>,
    /// Judgments of a dataset folder: those it was given, or its held-out clicks (`ingest --grades`), for which
    /// means weighted by the clicks of the queries are shown as well
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Judgments of the dataset to use
    #[arg(long, value_enum, default_value_t = SplitName::Test, requires = "data")]
    split: SplitName,
    /// Runs in TREC format: `query Q0 document rank score tag`
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    run: Vec<PathBuf>,
    /// Measures, separated by commas: ndcg@k, map, mrr, p@k, r@k, err@k, rbp(p=0.8), bpref, mre,
    /// pairwise; by default ndcg@10,map,mrr,p@10,r@100, and for sklearn ndcg@10,map
    #[arg(long, value_name = "LIST")]
    measures: Option<String>,
    /// Conventions for gain, ties and averaging: matchrank, trec, ranx, lightgbm or sklearn
    #[arg(long, value_name = "NAME", default_value_t)]
    dialect: Dialect,
    /// Give judged queries that are missing from a run the worst value, in every dialect (trec_eval's -c);
    /// matchrank and ranx always do
    #[arg(long)]
    complete: bool,
    /// Order of documents with equal scores [default: that of the dialect]; worst and best bound the effect of
    /// ties
    #[arg(long, value_name = "RULE")]
    ties: Option<TieRule>,
    /// Significance test of the differences between runs, Holm-corrected over all pairs of runs
    #[arg(long, value_name = "TEST", default_value = "t")]
    significance: TestChoice,
    /// Corrected p-value below which a difference is significant
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = parse_level)]
    level: f64,
    /// Report means per bin as well: a file of `query<TAB>label` lines
    #[arg(long, value_name = "FILE")]
    bins: Option<PathBuf>,
    /// Report means per bin of queries as well, by a property that the dataset knows
    #[arg(long, value_enum, value_name = "WHAT", requires = "data", conflicts_with = "bins")]
    by: Option<ByChoice>,
    /// Report the values of every query
    #[arg(long)]
    per_query: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
}

const DEFAULT_MEASURES: &str = "ndcg@10,map,mrr,p@10,r@100";

const EXAMPLES: &str = "\
Examples:
  matchrank eval --qrels test.qrels --run bm25.run rmls.run
  matchrank eval --qrels test.qrels --run bm25.run --measures ndcg@10,map --dialect trec --format json
  matchrank eval --letor test.txt --run ranker.run --per-query --format csv
  matchrank eval --qrels test.qrels --run a.run b.run --bins seen.tsv --significance fisher
  matchrank eval --data shop --run bm25.run --by clicks
  matchrank eval --data shop --run bm25.run rmls.run --by documents
Files may be .gz or .zst. --help explains the dialects.";

const DIALECTS: &str = "\
Dialects:
             gain     tied scores            no relevant document   judged, not in the run
  matchrank  2^r - 1  a hash of the ids      left out, counted      0
  trec       r        document id, desc.     0                      left out (0 with --complete)
  ranx       r        file order             0                      0
  lightgbm   2^r - 1  file order             1 for ndcg and map     left out
  sklearn    r        averaged               0                      left out
  lightgbm and sklearn see only the documents of the run, so their ideal order consists of these.

Measures take options in parentheses: ndcg(gain=linear)@10, p(rel=2)@5, err(max=4)@20, rbp(p=0.95).
mre and pairwise are errors: 0 is best.";

#[derive(Clone, Copy, ValueEnum)]
enum TieRule {
    /// By a fixed hash of query and document id
    Hash,
    /// By document id, descending
    Document,
    /// As in the file
    File,
    /// The mean over all orders (ndcg and map only)
    Averaged,
    /// Worst order
    Worst,
    /// Best order
    Best,
}

#[derive(Clone, Copy, ValueEnum)]
enum ByChoice {
    /// Total training clicks of the query
    Clicks,
    /// Words of the query
    Length,
    /// Seen or unseen in training
    Seen,
    /// With or without a relevant document that has a training response
    Documents,
    /// With or without a near-duplicate among the training queries: a Jaccard index of the analysed words of at least
    /// 0.8
    Duplicates,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TestChoice {
    /// Paired t-test
    T,
    /// Sign test
    Sign,
    /// Fisher's randomisation test
    Fisher,
    /// Wilcoxon's signed-rank test
    Wilcoxon,
    /// No test
    None,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(super) enum Format {
    Table,
    Markdown,
    Json,
    Csv,
}

fn parse_level(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if p > 0.0 && p < 1.0 => Ok(p),
        _ => Err("expected a number between 0 and 1".into()),
    }
}

/// Everything that the printers show.
pub(super) struct Results<'a> {
    pub(super) conventions: Conventions,
    pub(super) measures: Vec<Measure>,
    pub(super) names: Vec<String>,
    pub(super) evaluations: Vec<Evaluation>,
    pub(super) test: Option<(Test, f64)>,
    /// For each measure, every pair of runs.
    pub(super) comparisons: Vec<Vec<Comparison>>,
    pub(super) bins: Option<bins::Bins<'a>>,
    pub(super) traffic: Option<Traffic<'a>>,
    pub(super) per_query: bool,
}

/// Held-out clicks of the queries.
pub(super) struct Traffic<'a> {
    pub(super) total: HeldOutClicks,
    by_query: HashMap<&'a str, f64>,
}

impl<'a> Traffic<'a> {
    fn of(held_out: &'a HeldOut) -> Option<Self> {
        let own = held_out.queries.iter().zip(&held_out.traffic);
        let by_query = own.map(|(query, own)| (query.id.as_str(), own.clicks)).collect();
        Some(Self { total: held_out.held_out_clicks()?, by_query })
    }

    /// Returns the mean of a measure, every query weighted by its held-out clicks.
    pub(super) fn mean(&self, evaluation: &Evaluation, measure: usize) -> f64 {
        let weight = |query: &str| self.by_query.get(query).copied().unwrap_or(0.0);
        evaluation.weighted_mean(measure, weight).unwrap_or(0.0)
    }
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    if args.by.is_some() && args.data.is_none() {
        bail!(
            "--by needs --data: only a dataset knows the clicks and words of its queries; --bins takes a file"
        );
    }
    let default = if args.dialect == Dialect::Sklearn { "ndcg@10,map" } else { DEFAULT_MEASURES };
    let measures = Measure::parse_list(args.measures.as_deref().unwrap_or(default))?;
    let conventions = conventions(&args);
    conventions.validate(&measures)?;
    let terminal = Terminal::new(global.quiet);

    let judgments_name = match args.qrels.as_deref().or(args.data.as_deref()) {
        Some(path) => files::name_of(path),
        None => names_of(&args.letor),
    };
    let bytes = args.qrels.as_deref().map(files::read_all).transpose()?;
    let lists = if args.letor.is_empty() { None } else { Some(read_lists(&args.letor, &terminal)?) };
    let dataset = args.data.as_deref().map(Dataset::open).transpose()?;
    let held_out = dataset.as_ref().map(|dataset| held_out(dataset, args.split.into())).transpose()?;
    let qrels = match (&lists, &held_out, &bytes) {
        (Some(lists), ..) => Qrels::of_lists(lists).with_context(|| judgments_name.clone())?,
        (_, Some(held_out), _) => held_out.qrels().with_context(|| judgments_name.clone())?,
        (.., Some(bytes)) => qrels::parse(&judgments_name, bytes)?,
        _ => unreachable!("judgments come from one of the three"),
    };
    let bin_bytes = args.bins.as_deref().map(files::read_all).transpose()?;
    let by = args.by.zip(held_out.as_ref().zip(dataset.as_ref()));
    let bins = match (&args.bins, &bin_bytes, by) {
        (Some(path), Some(bytes), _) => Some(bins::parse(&files::name_of(path), bytes)?),
        (.., Some((by, (held_out, dataset)))) => Some(held_out.bins(by.into(), dataset)?),
        _ => None,
    };

    let mut evaluations = Vec::with_capacity(args.run.len());
    for path in &args.run {
        terminal.begin(&format!("evaluating {}", files::name_of(path)), None, "");
        let bytes = files::read_all(path)?;
        let run = run::parse(&files::name_of(path), &bytes)?;
        let evaluation = evaluate(&qrels, &run, &measures, &conventions).map_err(|e| match e {
            // A grade that a measure cannot take.
            Error::Params(message) => Error::format(&judgments_name, message),
            other => other,
        })?;
        if evaluation.audit.queries_missing == evaluation.audit.judged_queries {
            bail!(
                "{}: has {}, none of them judged in {}; check that both files use the same query ids",
                files::name_of(path),
                counted(run.n_queries(), "query"),
                judgments_name
            );
        }
        evaluations.push(evaluation);
    }
    terminal.begin("comparing", None, "");
    let test = args.significance.test().filter(|_| evaluations.len() > 1);
    let comparisons = match test {
        Some(test) => (0..measures.len())
            .map(|m| significance::compare(&evaluations, m, test, global.seed))
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    terminal.finish();
    let results = Results {
        conventions,
        measures,
        names: names(&args.run),
        evaluations,
        test: test.map(|test| (test, args.level)),
        comparisons,
        bins,
        traffic: held_out.as_ref().and_then(Traffic::of),
        per_query: args.per_query,
    };
    terminal::print(&match args.format {
        Format::Table | Format::Markdown => table::render(&results, args.format == Format::Markdown),
        Format::Json => report::json(&results)?,
        Format::Csv => report::csv(&results)?,
    })?;
    Ok(Outcome::Clean)
}

fn conventions(args: &Args) -> Conventions {
    let mut conventions = Conventions::of(args.dialect);
    if args.complete {
        conventions.missing = Missing::Worst;
    }
    if let Some(rule) = args.ties {
        conventions.ties = match rule {
            TieRule::Hash => Ties::Hash,
            TieRule::Document => Ties::Document,
            TieRule::File => Ties::File,
            TieRule::Averaged => Ties::Averaged,
            TieRule::Worst => Ties::Worst,
            TieRule::Best => Ties::Best,
        };
    }
    conventions
}

impl From<ByChoice> for BinBy {
    fn from(choice: ByChoice) -> Self {
        match choice {
            ByChoice::Clicks => Self::Clicks,
            ByChoice::Length => Self::Length,
            ByChoice::Seen => Self::Seen,
            ByChoice::Documents => Self::Documents,
            ByChoice::Duplicates => Self::Duplicates,
        }
    }
}

impl TestChoice {
    fn test(self) -> Option<Test> {
        match self {
            Self::T => Some(Test::T),
            Self::Sign => Some(Test::Sign),
            Self::Fisher => Some(Test::Fisher),
            Self::Wilcoxon => Some(Test::Wilcoxon),
            Self::None => None,
        }
    }
}

/// Names each run by its file name without extensions, or by its path where that name is not unique.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let stem = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    };
    let stems: Vec<String> = paths.iter().map(|p| stem(p)).collect();
    let unique = |name: &String| !name.is_empty() && stems.iter().filter(|s| *s == name).count() == 1;
    stems.iter().zip(paths).map(|(s, p)| if unique(s) { s.clone() } else { files::name_of(p) }).collect()
}
