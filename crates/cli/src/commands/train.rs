pub(crate) mod settings;
mod summary;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::Subcommand;
use matchrank_core::matching::{Bm25Params, LsiParams, PlsParams, RandomWalkParams, RmlsParams};
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::features::{ClickParams, FeatureParams, WordParams};
use matchrank_engine::matching::{Combination, LatentModel, MatchingModel, TextBm25, WalkModel};
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::training::{train_lsi_dt, train_lsi_qd, train_pls, train_rmls};
use matchrank_engine::validation::Validation;
use serde_json::Value;

use self::settings::{params_from, params_of_two, parse_setting};
pub(crate) use self::summary::{COLLAPSED, EMPTY};
use crate::commands::rankers;
use crate::terminal::{Format, Terminal};
use crate::{Global, Outcome};

/// Train a model on a dataset
///
/// Models are measured on the validation judgments of the dataset, if it has any (held-out clicks are
/// such); test judgments are not looked at.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    model: Model,
}

const EXAMPLES: &str = "\
Examples:
  matchrank train bm25 --data shop --set b=0.4 --out bm25.model
  matchrank train rmls --data shop --set d=200 --out rmls.model
  matchrank train rmls --data shop-today --start rmls.model --out today.model
  matchrank train combination --data shop --of bm25.model rmls.model --out both.model
  matchrank train ranksvm --letor train.txt --validation vali.txt --out ranker.model";

#[derive(Subcommand)]
enum Model {
    /// BM25: matches words with words, weighing rare ones more and long documents less
    ///
    /// Parameters for --set:
    ///   k1=1.2   how soon repeating a word stops counting, from 0
    ///   b=0.75   how much long documents are held back, from 0 to 1
    #[command(verbatim_doc_comment)]
    Bm25(Common),
    /// RMLS: learns from clicks which words of queries go with which words of documents
    ///
    /// Regularized mapping to latent structures: every feature of queries and documents gets a sparse row
    /// of d numbers, so that queries and the documents that answer them come close. The iteration that is
    /// best on the validation judgments is kept.
    ///
    /// Parameters for --set:
    ///   d=1000               latent dimensions
    ///   iterations=5         iterations at most; two without a better figure end the training. Without
    ///                        validation judgments to stop by, 1
    ///   beta=0.5, gamma=0.3  thresholds of the rows of queries and of documents; 0 leaves rows dense
    ///   threshold=relative   what they are measured in: relative (shares of the largest entry of a row),
    ///                        absolute (as in the papers), density (shares of the entries to leave)
    ///   theta_x=1, theta_y=1 lengths of the rows
    ///   center=true          subtract the means; without it the model collapses on most data
    ///   route=factored       factored: by features and clicks; formed: form the matrix first (slower)
    ///
    /// Features, for --set too:
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///   click_tf=log         what a count of clicks becomes: count, log
    ///   click_weight=1       length of the click features beside the words; 0 for no click features
    #[command(verbatim_doc_comment)]
    Rmls {
        #[command(flatten)]
        common: Common,
        /// Start from a former model: its words are found by name, d is taken over
        #[arg(long, value_name = "MODEL")]
        start: Option<PathBuf>,
    },
    /// PLS: the directions in which queries and the documents that answer them vary together
    ///
    /// Partial least squares: the singular vectors of the covariance of queries and clicked documents.
    ///
    /// Parameters for --set:
    ///   d=300                latent dimensions
    ///   center=true          subtract the means
    ///   weight_power=0.5     a in (s / s_1)^a, the weight of a latent dimension by its singular value;
    ///                        0 as in the papers
    ///   tolerance=0.001      residual, relative to the largest singular value, at which to stop
    ///   max_steps=300        products with the matrix at most
    ///
    /// Features, for --set too:
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///   click_tf=log         what a count of clicks becomes: count, log
    ///   click_weight=1       length of the click features beside the words; 0 for no click features
    #[command(verbatim_doc_comment)]
    Pls(Common),
    /// LSI of the documents' words: finds words that occur together; needs no clicks
    ///
    /// Parameters for --set:
    ///   d=100                latent dimensions
    ///   tolerance=0.001      residual, relative to the largest singular value, at which to stop
    ///   max_steps=300        products with the matrix at most
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    #[command(verbatim_doc_comment)]
    LsiDt(Common),
    /// LSI of the clicks: for queries that training saw, and no others
    ///
    /// Parameters for --set:
    ///   d=100                latent dimensions
    ///   tolerance=0.001      residual, relative to the largest singular value, at which to stop
    ///   max_steps=300        products with the matrix at most
    ///   click_tf=log         what a count of clicks becomes: count, log
    #[command(verbatim_doc_comment)]
    LsiQd(Common),
    /// Random walk on the clicks: documents that queries with the same clicks lead to
    ///
    /// Ranks documents that can be reached from the query over clicks, for queries that training saw.
    ///
    /// Parameters for --set:
    ///   self_transition=0.9  probability to stay in a step, from 0 to below 1
    ///   steps=5              steps, from 1
    #[command(verbatim_doc_comment)]
    RandomWalk(Common),
    /// Combination of two models: a * first + (1 - a) * second
    ///
    /// The scores of both are standardised for each query over the documents that are ranked. The weight a
    /// is the one of 0.1, 0.2, ... 0.9 that is best on the validation judgments, by NDCG@10, or as given. A
    /// combination may be combined again.
    Combination {
        #[command(flatten)]
        place: Place,
        /// The two model files
        #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"], required = true)]
        of: Vec<PathBuf>,
        /// a, the weight of the first model, from 0 to 1 [default: tuned on validation]
        #[arg(long, value_name = "A")]
        weight: Option<f32>,
    },
    /// SLAM perceptron: a ranker of feature lists, learned online, with a bound on its losses
    ///
    /// Learns from lists that are not in perfect order, one at a time, and ranks with the mean of its weights.
    ///
    /// Parameters for --set:
    ///   target=ndcg@10       the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K
    ///   rule=misordered      which documents move the weights: misordered, or printed (all within the margin delta,
    ///                        as the paper has it, for which its bound does not hold)
    ///   delta=1              the margin of the printed rule
    ///   epochs=100           passes over the lists at most
    ///   patience=20          passes without a better validation figure after which to stop
    ///   averaged=true        rank with the mean of all iterates, not with the last
    #[command(verbatim_doc_comment)]
    Perceptron(rankers::train::Args),
    /// SLAM in batch: a ranker of feature lists that minimises a bound on 1 - NDCG or 1 - MAP
    ///
    /// On data whose features order documents poorly the minimiser is w = 0; that is found out and reported.
    ///
    /// Parameters for --set:
    ///   target=ndcg@10       the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K
    ///   delta=1              the margin
    ///   solver=bundle        bundle: proves how near the minimum it is; pegasos: stochastic
    ///   lambda=[1,...,1e-5]  weight of the length of w, or several to choose from by validation
    ///   tolerance=0.001      gap, relative to the objective, at which bundle stops
    ///   max_iterations=500   iterations of bundle for each lambda, at most
    ///   epochs=20            passes of pegasos for each lambda
    #[command(verbatim_doc_comment)]
    Slam(rankers::train::Args),
    /// RankSVM: a ranker of feature lists that learns from all pairs of documents of different grades
    ///
    /// Pairs are never formed: a list of m documents costs m log m.
    ///
    /// Parameters for --set:
    ///   loss=squared_hinge   what a pair costs: squared_hinge, hinge
    ///   lambda=[10,...,1e-6] weight of the length of w, or several to choose from by validation
    ///   tolerance=0.001      gradient (squared_hinge) or gap (hinge), relative, at which to stop
    ///   max_iterations=500   iterations for each lambda, at most
    #[command(verbatim_doc_comment)]
    Ranksvm(rankers::train::Args),
    /// ListNet: a ranker of feature lists that learns the probability of each document to be the best
    ///
    /// Parameters for --set:
    ///   lambda=[1,...,1e-6]  weight of the length of w, or several to choose from by validation
    ///   tolerance=0.001      gradient, relative, at which to stop
    ///   max_iterations=500   iterations for each lambda, at most
    #[command(verbatim_doc_comment)]
    Listnet(rankers::train::Args),
}

#[derive(clap::Args)]
struct Place {
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: PathBuf,
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(clap::Args)]
struct Common {
    #[command(flatten)]
    place: Place,
    /// Set a parameter of the model
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Value)>,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let seed = global.seed;
    let model = match args.model {
        Model::Perceptron(args) => return rankers::train::run("perceptron", args, global),
        Model::Slam(args) => return rankers::train::run("slam", args, global),
        Model::Ranksvm(args) => return rankers::train::run("ranksvm", args, global),
        Model::Listnet(args) => return rankers::train::run("listnet", args, global),
        matching => matching,
    };
    // Parameters first: a wrong one should not wait for the data.
    let (place, model, dataset, seeded) = match model {
        Model::Bm25(Common { place, settings }) => {
            let params: Bm25Params = params_from(&settings)?;
            let dataset = Dataset::open(&place.data)?;
            let model = TextBm25::of_dataset(&params, &dataset)?;
            (place, MatchingModel::Bm25(model.into()), dataset, false)
        }
        Model::Rmls { common: Common { place, mut settings }, start } => {
            let start = start.as_deref().map(former).transpose()?;
            if let Some(former) = &start
                && !settings.iter().any(|(name, _)| name == "d")
            {
                settings.push(("d".into(), former.model.d().into()));
            }
            let (mut params, features): (RmlsParams, FeatureParams) = params_of_two(&settings)?;
            params.validate()?;
            let dataset = Dataset::open(&place.data)?;
            let chosen = settings.iter().any(|(name, _)| name == "iterations");
            if dataset.manifest.statistics.n_judged_queries[0] == 0 && !chosen {
                params.iterations = 1;
                terminal.note(
                    "there are no validation judgments to stop by, so one iteration is made, which is often the \
                     best (--set iterations=N for more)",
                );
            }
            let model = train_rmls(&params, &features, &dataset, start.as_ref(), seed, &terminal)?;
            (place, MatchingModel::Latent(Box::new(model)), dataset, true)
        }
        Model::Pls(Common { place, settings }) => {
            let (params, features): (PlsParams, FeatureParams) = params_of_two(&settings)?;
            params.validate()?;
            let dataset = Dataset::open(&place.data)?;
            let model = train_pls(&params, &features, &dataset, seed, &terminal)?;
            (place, MatchingModel::Latent(Box::new(model)), dataset, true)
        }
        Model::LsiDt(Common { place, settings }) => {
            let (params, words): (LsiParams, WordParams) = params_of_two(&settings)?;
            params.validate()?;
            let dataset = Dataset::open(&place.data)?;
            let model = train_lsi_dt(&params, &words, &dataset, seed, &terminal)?;
            (place, MatchingModel::Latent(Box::new(model)), dataset, true)
        }
        Model::LsiQd(Common { place, settings }) => {
            let (params, clicks): (LsiParams, ClickParams) = params_of_two(&settings)?;
            params.validate()?;
            let dataset = Dataset::open(&place.data)?;
            let model = train_lsi_qd(&params, &clicks, &dataset, seed, &terminal)?;
            (place, MatchingModel::Latent(Box::new(model)), dataset, true)
        }
        Model::RandomWalk(Common { place, settings }) => {
            let params: RandomWalkParams = params_from(&settings)?;
            params.validate()?;
            let dataset = Dataset::open(&place.data)?;
            let content_hash = dataset.manifest.content_hash.clone();
            (place, MatchingModel::RandomWalk(WalkModel { params, content_hash }), dataset, false)
        }
        Model::Perceptron(_) | Model::Slam(_) | Model::Ranksvm(_) | Model::Listnet(_) => {
            unreachable!("rankers of feature lists were dealt with")
        }
        Model::Combination { place, of, weight } => {
            if weight.is_some_and(|weight| !(0.0..=1.0).contains(&weight)) {
                bail!("--weight must be from 0 to 1");
            }
            let [first, second] = [&of[0], &of[1]].map(|path| model_file::load(path).map(|(model, _)| model));
            let (first, second) = (first?, second?);
            let dataset = Dataset::open(&place.data)?;
            let model = match weight {
                Some(weight) => Combination { weight, first, second, curve: Vec::new() },
                None => combine(first, second, &dataset, global, &terminal)?,
            };
            (place, MatchingModel::Combination(Box::new(model)), dataset, weight.is_none())
        }
    };
    model_file::save(&place.out, &model, &provenance(&dataset, seeded.then_some(seed)))?;
    terminal.finish();
    summary::print(&model, &dataset, &place, &terminal, started)?;
    Ok(Outcome::Clean)
}

/// A combination tuned on the validation judgments, of which there must be some.
pub(crate) fn combine(
    first: MatchingModel,
    second: MatchingModel,
    dataset: &Dataset,
    global: &Global,
    terminal: &Terminal,
) -> anyhow::Result<Combination> {
    let Some(validation) = Validation::of(dataset, global.seed, terminal)? else {
        bail!(
            "{}: there are no validation judgments to find the weight with; give --weight, or ingest with --judgments validation=QRELS or --split",
            dataset.folder().display()
        );
    };
    Ok(Combination::tune(first, second, dataset, &validation, terminal)?)
}

/// The model that training starts from.
fn former(path: &std::path::Path) -> anyhow::Result<LatentModel> {
    match model_file::load(path)?.0 {
        MatchingModel::Latent(model) => Ok(*model),
        other => bail!(
            "--start {}: a {} model has no latent rows to start from; give a model of rmls, pls or lsi-dt",
            path.display(),
            other.kind()
        ),
    }
}

/// Where a model comes from, for its file.
pub(crate) fn provenance(dataset: &Dataset, seed: Option<u64>) -> Provenance {
    let statistics = serde_json::to_value(&dataset.manifest.statistics).expect("statistics are plain data");
    let hash = Value::String(dataset.manifest.content_hash.clone());
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        data: [("content_hash".to_owned(), hash), ("statistics".to_owned(), statistics)].into(),
    }
}
