//! `compare`: many models, one honest table.

pub(crate) mod tables;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use matchrank_core::measure::Measure;
use matchrank_core::measure::significance::Test;
use matchrank_engine::comparison::{self, Comparison, Data, Folds, Plan, Rankers};
use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use matchrank_engine::outputs::check_output_folder;
use matchrank_engine::tuning::Strategy;
use matchrank_engine::validation::Ranked;

use super::rankers::cross_validate::recipes;
use super::rankers::{ScalingName, read_lists};
use crate::terminal::{self, Terminal};
use crate::{Global, Outcome, interrupt};

/// Train, tune and measure many models on a dataset, and say which is best
///
/// Every model is tuned on the validation judgments, trained with what was chosen, and measured once on the test
/// judgments. Differences are tested between all pairs of models. What was made stays in --out and is made again only
/// when the data, a model or how it is tuned changed: adding a model takes that model's time, and after an
/// interruption the same command goes on.
///
/// Models: bm25, random-walk (rw), lsi-dt, lsi-qd, pls, rmls, ssi, svdfeature, bltm, sparse-preference;
/// two of them with a weight, as in rmls+bm25; listnet, mart or lambdamart: a ranker over the scores of all
/// single models named; stack: the better of listnet and lambdamart, with training clicks as features too; mart:bm25+pls over these.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Dataset folder made by `ingest`, with judgments for validation and test
    #[arg(long, value_name = "DATASET", required_unless_present = "letor")]
    data: Option<PathBuf>,
    /// Train what was chosen once more, on this dataset, and measure that: the same documents and test judgments, no
    /// validation judgments, and the clicks that were kept back for validation. Rankers of stacks stay as they are,
    /// though they learned with scores and counts of the fewer clicks
    #[arg(long, value_name = "DATASET", requires = "data")]
    refit: Option<PathBuf>,
    /// Compare rankers (perceptron, slam, ranksvm, listnet, mart, lambdamart, query-dependent) on these folds of LETOR
    /// lists instead, at least three; each is tested on once, and the one before it chooses epochs, lambdas and trees
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["data", "refit", "plan", "trials", "seconds", "strategy", "candidates"])]
    letor: Vec<PathBuf>,
    /// How the features of --letor are scaled
    #[arg(long, value_enum, value_name = "HOW", default_value = "min_max")]
    scaling: ScalingName,
    /// Models, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    models: Vec<String>,
    /// Models, settings and what to vary, from a TOML file; `compare --help` shows one
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Folder for models, results and runs
    #[arg(long, default_value = "comparison", value_name = "DIR")]
    out: PathBuf,
    /// Settings that are tried of every model, its defaults included; 1 for the defaults alone [default: 9]
    #[arg(long, value_name = "N")]
    trials: Option<usize>,
    /// Seconds for the tuning of every model; the trial that has begun is finished [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// How settings are searched [default: halving]
    #[arg(long, value_enum, value_name = "HOW")]
    strategy: Option<StrategyName>,
    /// What is measured on the test queries, separated by commas, the first decides who beats whom; by default
    /// ndcg@10,ndcg@1,ndcg@3,ndcg@5,map
    #[arg(long, value_name = "LIST")]
    measures: Option<String>,
    /// What models are tuned by on the validation queries; by default ndcg@10
    #[arg(long, value_name = "MEASURE")]
    tuned_by: Option<Measure>,
    /// Which documents are ranked [default: the judged ones where most queries have irrelevant ones among them, else all]
    #[arg(long, value_enum, value_name = "WHICH")]
    candidates: Option<RankedName>,
    /// Test of significance, Holm-corrected over all pairs: t, sign, fisher, wilcoxon [default: t]
    #[arg(long, value_name = "TEST")]
    significance: Option<Test>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank compare --data shop --models bm25,rw,rw+bm25,lsi-qd,lsi-dt,pls,rmls,rmls+bm25,stack --out shop-models
  matchrank compare --data shop --models bm25,rmls --trials 1 --format markdown
  matchrank compare --data shop --plan plan.toml --format latex
  matchrank compare --data shop --refit shop-all-but-test --models bm25,rmls,stack
  matchrank compare --letor Fold*/test.txt --models ranksvm,listnet,lambdamart --out letor-models

A plan:
  models = [\"bm25\", \"rmls\", \"rmls+bm25\", \"mart\"]
  trials = 16
  strategy = \"random\"             # or halving, grid
  measures = [\"ndcg@10\", \"map\"]

  [[model]]
  name = \"rmls-wide\"
  kind = \"rmls\"                   # or combination, stack, listnet, mart, lambdamart with of = [\"a\", \"b\"]
  set = { d = 2000 }
  vary = { beta = [0.3, 0.5, 0.7], click_weight = \"0.1..4\" }
  trials = 4";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum StrategyName {
    /// All combinations of values, in order
    Grid,
    /// The defaults, then combinations drawn at random
    Random,
    /// The same, most of them with less effort: the best third, and the defaults, go on with three times as much
    Halving,
}

impl From<StrategyName> for Strategy {
    fn from(name: StrategyName) -> Self {
        match name {
            StrategyName::Grid => Self::Grid,
            StrategyName::Random => Self::Random,
            StrategyName::Halving => Self::Halving,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum RankedName {
    /// The judged documents of each query
    Judged,
    /// The whole collection; documents that nobody judged count as irrelevant
    All,
}

impl From<RankedName> for Ranked {
    fn from(name: RankedName) -> Self {
        match name {
            RankedName::Judged => Self::Judged,
            RankedName::All => Self::All,
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
    /// For pages
    Markdown,
    /// For papers
    Latex,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    check_output_folder(&args.out)?;
    interrupt::listen();
    let (comparison, n_asked) = match &args.data {
        Some(data) => {
            let plan = plan(&args)?.finish()?;
            let dataset = Dataset::open(data)?;
            let more = args.refit.as_deref().map(Dataset::open).transpose()?;
            let data = Data { dataset: &dataset, refit: more.as_ref() };
            let (out, seed, stop) = (&args.out, global.seed, &interrupt::asked);
            (comparison::compare(&plan, data, out, seed, stop, &terminal)?, plan.models.len())
        }
        None => folds(&args, global, &terminal)?,
    };
    terminal.finish();
    terminal::print(&tables::render(&comparison, args.format)?)?;
    if args.format == Format::Table {
        let what = if comparison.unfinished.is_empty() { "compared" } else { "interrupted" };
        terminal.done(&format!("{what}; models and results are in {}", args.out.display()), started);
    }
    Ok(if comparison.models.len() < n_asked { Outcome::Problems } else { Outcome::Clean })
}

/// Rankers over folds.
fn folds(args: &Args, global: &Global, terminal: &Terminal) -> anyhow::Result<(Comparison, usize)> {
    let rankers = Rankers { recipes: recipes(&args.models, &[])?, scalings: args.scaling.kinds().to_vec() };
    let mut plan = Plan::default();
    set_measures(&mut plan, args)?;
    let mut hasher = blake3::Hasher::new();
    let mut lists = Vec::new();
    for path in &args.letor {
        hasher.update(&files::read_all(path)?);
        lists.push(read_lists(path, terminal)?);
    }
    // The folder and the file: folds are often Fold1/test.txt, Fold2/test.txt.
    let short = |path: &PathBuf| {
        let parts: Vec<_> = path.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    };
    let names: Vec<String> = args.letor.iter().map(short).collect();
    let folds = Folds { lists, name: names.join(", "), content_hash: hasher.finalize().to_hex().to_string() };
    let (out, seed, stop) = (&args.out, global.seed, &interrupt::asked);
    let comparison = comparison::compare_folds(&folds, &rankers, &plan, out, seed, stop, terminal)?;
    Ok((comparison, rankers.recipes.len()))
}

fn set_measures(plan: &mut Plan, args: &Args) -> anyhow::Result<()> {
    plan.tuned_by = args.tuned_by.unwrap_or(plan.tuned_by);
    plan.test = args.significance.unwrap_or(plan.test);
    if let Some(measures) = &args.measures {
        plan.measures = Measure::parse_list(measures)?;
    }
    Ok(())
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    ensure!(
        args.plan.is_some() || !args.models.is_empty(),
        "nothing to compare; name models, as in --models bm25,rmls,rmls+bm25, or a file with --plan"
    );
    let mut plan = args.plan.as_deref().map_or_else(|| Ok(Plan::default()), Plan::read)?;
    for name in args.models.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        plan.add(name).context("--models")?;
    }
    plan.trials = args.trials.unwrap_or(plan.trials);
    plan.seconds = args.seconds.or(plan.seconds);
    plan.strategy = args.strategy.map_or(plan.strategy, Strategy::from);
    plan.ranked = args.candidates.map(Ranked::from).or(plan.ranked);
    set_measures(&mut plan, args)?;
    Ok(plan)
}
