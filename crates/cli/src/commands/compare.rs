//! `compare`: many models, one honest table.

pub(crate) mod tables;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::measure::significance::Test;
use matchrank_engine::comparison::{self, Comparison, Data, Folds, Plan, PlannedRanker, Rankers};
use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use matchrank_engine::json::Json;
use matchrank_engine::outputs::check_output_folder;
use matchrank_engine::tuning::Strategy;
use matchrank_engine::validation::Ranked;

use super::rankers::{FeatureOptions, read_hashed_lists};
use super::train::settings::parse_setting;
use crate::terminal::{self, Terminal};
use crate::{Global, Outcome, interrupt};

/// Train, tune and measure many models on a dataset, or rankers on folds
///
/// Every model is tuned on the validation judgments, trained with what was chosen, and measured once on the test
/// judgments. Differences are tested between all pairs of models. What was made stays in --out and is made again only
/// when the data, a model or how it is tuned changed: adding a model trains only that model, and after an
/// interruption the same command continues.
///
/// Models are those that `matchrank train --help` lists, or made of them: rmls+bm25 is a weighted sum of two; listnet,
/// mart or lambdamart is a ranker over the scores of all single models named; mart:bm25+pls is a MART ranker over these
/// two only; stack is the better of listnet and lambdamart, with training clicks and attributes as features too.
///
/// With --letor rankers of feature lists (`matchrank train --help` lists them) are compared instead, query-dependent ones
/// with other weights as query-dependent/knn, /uniform, ... Each fold is tested on once: the fold
/// before it (the last for the first) chooses epochs, lambdas and trees, all others are trained on. Figures are means over
/// the folds. --out keeps the ranker of every fold, and the run over all folds.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Dataset folder made by `ingest`, with judgments for validation and test
    #[arg(long, value_name = "DATASET", required_unless_present = "letor")]
    data: Option<PathBuf>,
    /// Retrain with the chosen settings and measure the result. With --data, on this dataset: the same documents and test
    /// judgments, no validation judgments, and the clicks that were held back for validation. A dataset with training
    /// responses to relevant test pairs that --data does not have is refused. Rankers of stacks are kept, though they
    /// learned from scores and counts of the fewer clicks. With --letor, where it takes no value, on the training and the
    /// validation folds, with the chosen epochs, lambda or trees
    #[arg(long, value_name = "DATASET", num_args = 0..=1)]
    refit: Option<Option<PathBuf>>,
    /// Deal the training and the validation queries to so many folds: each query is ranked by models that have not seen it, on
    /// these rankings everything is chosen, and models are then trained on all of the queries, a dataset that is put into --out.
    /// For judged queries without clicks; 0 for none [default: 5 where there are fewer than 100 validation queries]
    #[arg(long, value_name = "N", conflicts_with_all = ["letor", "refit"])]
    folds: Option<usize>,
    /// Compare rankers on these folds of LETOR lists instead, at least three files; every query belongs to one of them
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["data", "candidates"])]
    letor: Vec<PathBuf>,
    /// Set a parameter of every ranker of --letor
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Json)>,
    #[command(flatten)]
    features: FeatureOptions,
    /// Print every measure fold by fold, not the first alone
    #[arg(long)]
    per_fold: bool,
    /// Print every measure with its marks, memory, and figures by kind of query; without it the table fits 120 columns
    #[arg(long)]
    wide: bool,
    /// Models, separated by commas [default: bm25, clicks, pls, sparse-preference, sums of them, and stacks]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    models: Vec<String>,
    /// Models, settings and what to vary, from a TOML file; `compare --help` shows one
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Folder for models, results and runs
    #[arg(long, default_value = "comparison", value_name = "DIR")]
    out: PathBuf,
    /// Settings that are tried of every model, its defaults included; 1 for the defaults alone [default: 9; with --letor 1
    /// unless --strategy or --seconds is given]. With --letor each fold is tuned by itself
    #[arg(long, value_name = "N")]
    trials: Option<usize>,
    /// Seconds for the tuning of every model; the trial that has begun is finished [default: no limit]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Minutes for the tuning of all models together, each with an equal share of what is left [default: no limit]
    #[arg(long, value_name = "MINUTES", conflicts_with_all = ["seconds", "letor"])]
    minutes: Option<f64>,
    /// Search strategy [default: halving]
    #[arg(long, value_enum, value_name = "HOW")]
    strategy: Option<StrategyName>,
    /// Measures on the test queries, separated by commas; the first decides which model is better; by default
    /// ndcg@10,ndcg@1,ndcg@3,ndcg@5,map
    #[arg(long, value_name = "LIST")]
    measures: Option<String>,
    /// Measure that models are tuned by on the validation queries; by default ndcg@10
    #[arg(long, visible_alias = "measure", value_name = "MEASURE")]
    tuned_by: Option<Measure>,
    /// Which documents are ranked [default: the judged ones where most queries have irrelevant ones among them, else all]
    #[arg(long, value_enum, value_name = "WHICH")]
    candidates: Option<RankedName>,
    /// Test of significance, Holm-corrected over all pairs: t, sign, fisher, wilcoxon [default: t]
    #[arg(long, value_name = "TEST")]
    significance: Option<Test>,
    /// Output format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank compare --data shop
  matchrank compare --data shop --minutes 30 --wide
  matchrank compare --data shop --models bm25,rw,rw+bm25,lsi-qd,lsi-dt,pls,rmls,rmls+bm25,stack --out shop-models
  matchrank compare --data shop --models bm25,rmls --trials 1 --format markdown
  matchrank compare --data shop --plan plan.toml --format latex
  matchrank compare --data shop --refit shop-all-but-test --models bm25,rmls,stack
  matchrank compare --letor Fold*/test.txt --models ranksvm,listnet,lambdamart --out letor-models
  matchrank compare --letor Fold*/test.txt --models lambdamart,slam --trials 20 --refit --out letor-tuned
  matchrank compare --letor Fold*/test.txt --models ranksvm,query-dependent,query-dependent/knn --measures mre,err,ndcg@10

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
  trials = 4

With --letor kinds are rankers, as in kind = \"lambdamart\", vary = { leaves = [7, 15], feature_fraction = \"0.3..1.0\" }.";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum StrategyName {
    /// All combinations of values, in order
    Grid,
    /// The defaults, then combinations drawn at random
    Random,
    /// Random combinations, most of them with less effort: the best third, and the defaults, continue with three times as much
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
            ensure!(
                args.settings.is_empty() && !args.features.name_query_features() && !args.per_fold,
                "--set, --query-columns, --query-features and --per-fold are for --letor; a plan sets parameters of models"
            );
            let plan = plan(&args)?.with_baseline().and_then(Plan::finish);
            let plan = match &args.plan {
                Some(path) => plan.with_context(|| files::name_of(path))?,
                None => plan?,
            };
            let dataset = Dataset::open(data)?;
            let more = match &args.refit {
                Some(None) => anyhow::bail!(
                    "--refit names the dataset to train on again, as in --refit shop-all-but-test"
                ),
                Some(Some(folder)) => Some(Dataset::open(folder)?),
                None => None,
            };
            let data = Data { dataset: &dataset, refit: more.as_ref() };
            let (out, seed, stop) = (&args.out, global.seed, &interrupt::asked);
            (
                comparison::compare(
                    data,
                    comparison::Course { plan: &plan, folder: out, seed, stop, progress: &terminal },
                )?,
                plan.models.len(),
            )
        }
        None => folds(&args, global, &terminal)?,
    };
    terminal.finish();
    let detail = tables::Detail { per_fold: args.per_fold, wide: args.wide };
    terminal::print(&tables::render(&comparison, args.format, detail)?)?;
    if args.format == Format::Table {
        print_advice(&comparison, &args)?;
        let what = if comparison.unfinished.is_empty() { "compared" } else { "interrupted" };
        terminal.done(&format!("{what}; models and results are in {}", args.out.display()), started);
    }
    Ok(if comparison.models.len() < n_asked { Outcome::Problems } else { Outcome::Clean })
}

/// Prints which model to deploy, and the next commands.
fn print_advice(comparison: &Comparison, args: &Args) -> anyhow::Result<()> {
    let advice = comparison.advice();
    let (Some(chosen), Some(data), false) = (&comparison.chosen, &args.data, advice.is_empty()) else {
        return Ok(());
    };
    // Over folds, models are trained on a dataset in the folder.
    let data = match comparison.split.folds {
        Some(_) => args.out.join("data").join(&comparison.data.name),
        None => data.clone(),
    };
    let model = Comparison::model(&args.out, &chosen.name);
    terminal::print(&format!(
        "\n{}\n\nnext:\n  matchrank search --model {} --data {} 'QUERY'\n  matchrank report {}",
        advice.join("\n"),
        terminal::quoted(&model),
        terminal::quoted(&data),
        terminal::quoted(&args.out)
    ))
}

/// Rankers over folds.
fn folds(args: &Args, global: &Global, terminal: &Terminal) -> anyhow::Result<(Comparison, usize)> {
    ensure!(
        !matches!(args.refit, Some(Some(_))),
        "--refit takes no value with --letor: rankers are trained again on the training and validation folds"
    );
    let (plan, rankers) = rankers(args)?;
    let mut hasher = blake3::Hasher::new();
    let mut lists: Vec<FeatureLists> = Vec::new();
    for path in &args.letor {
        // Rows are numbered as those of all files that are read as one, so that `eval --letor` of them takes the runs.
        let rows_before = lists.iter().map(FeatureLists::n_rows).sum();
        let (fold, hashes) = read_hashed_lists(rows_before, std::slice::from_ref(path), terminal)?;
        // File by file, so that it matters which lists are in which fold.
        for hash in hashes {
            hasher.update(hash.as_bytes());
        }
        lists.push(fold);
    }
    let query = args.features.read(&mut hasher)?;
    let (scalings, refit) = (args.features.scalings().to_vec(), args.refit.is_some());
    let rankers = Rankers { rankers, scalings, query: query.input(), refit };
    let names = args.letor.iter().map(|path| short(path)).collect();
    let folds = Folds { lists, names, content_hash: hasher.finalize().to_hex().to_string() };
    let (out, seed, stop) = (&args.out, global.seed, &interrupt::asked);
    let comparison = comparison::compare_folds(
        &folds,
        &rankers,
        comparison::Course { plan: &plan, folder: out, seed, stop, progress: terminal },
    )?;
    Ok((comparison, rankers.rankers.len()))
}

/// The folder and the file: folds are often Fold1/test.txt, Fold2/test.txt.
fn short(path: &Path) -> String {
    let parts: Vec<_> = path.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// Rankers to compare, and the protocol.
fn rankers(args: &Args) -> anyhow::Result<(Plan, Vec<PlannedRanker>)> {
    let (mut plan, mut rankers) = match &args.plan {
        Some(path) => Plan::read_rankers(path)?,
        None => (Plan { trials: 1, ..Plan::default() }, Vec::new()),
    };
    for name in args.models.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        if rankers.iter().all(|other| other.name != name) {
            rankers.push(PlannedRanker::named(name));
        }
    }
    if let Some(path) = args.plan.as_ref().filter(|_| rankers.is_empty()) {
        bail!("{}: no ranker is named", path.display());
    }
    for ranker in &mut rankers {
        ranker.settings.extend(args.settings.iter().cloned());
    }
    let asked = args.strategy.is_some() || args.seconds.is_some();
    let trials = if asked && plan.trials < 2 { Plan::default().trials } else { plan.trials };
    plan.trials = args.trials.unwrap_or(trials);
    plan.seconds = args.seconds.or(plan.seconds);
    plan.strategy = args.strategy.map_or(plan.strategy, Strategy::from);
    set_measures(&mut plan, args)?;
    Ok((plan, rankers))
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
    let mut plan = match &args.plan {
        Some(path) => Plan::read(path)?,
        None if args.models.is_empty() => Plan::usual(),
        None => Plan::default(),
    };
    for name in args.models.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        plan.add(name).context("--models")?;
    }
    if let Some(path) = args.plan.as_ref().filter(|_| plan.models.is_empty()) {
        bail!("{}: no model is named", path.display());
    }
    plan.trials = args.trials.unwrap_or(plan.trials);
    plan.seconds = args.seconds.or(plan.seconds);
    plan.shared_seconds = args.minutes.map(|minutes| 60.0 * minutes).or(plan.shared_seconds);
    plan.strategy = args.strategy.map_or(plan.strategy, Strategy::from);
    plan.ranked = args.candidates.map(Ranked::from).or(plan.ranked);
    plan.folds = args.folds.or(plan.folds);
    set_measures(&mut plan, args)?;
    Ok(plan)
}
