//! `train perceptron`, `slam`, `ranksvm` and `listnet`.

use std::path::PathBuf;
use std::time::Instant;

use clap::Subcommand;
use matchrank_core::progress::Progress;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::rankers::boosted::Objective;
use matchrank_engine::rankers::{RankerParams, RankerReport, train_ranker};
use matchrank_engine::{Error, files};
use serde_json::{Value, json};

use super::{ScalingName, TrainingLists, Weights, boosted, query_dependent, summary};
use crate::commands::train::settings::{of_set, parse_setting};
use crate::terminal::{self, Format, Terminal, to_json};
use crate::{Global, Outcome};

#[derive(Subcommand)]
pub(crate) enum Model {
    /// SLAM perceptron: a ranker of feature lists, learned online, with a bound on its losses
    ///
    /// Learns from lists that are not in perfect order, one at a time, and ranks with the mean of its weights.
    ///
    /// Parameters for --set:
    ///   target=ndcg@10       the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K
    ///   rule=misordered      which documents move the weights: misordered, or printed (all within
    ///                        the margin delta, as the paper has it; the bound of the paper does not
    ///                        hold for it, a larger one does)
    ///   delta=1              the margin of the printed rule
    ///   epochs=100           passes over the lists at most; the one that is best on validation is kept
    ///   patience=20          passes without a better validation figure after which to stop
    ///   averaged=true        rank with the mean of all iterates, not with the last
    #[command(verbatim_doc_comment, after_help = EXAMPLES)]
    Perceptron {
        #[command(flatten)]
        args: Args,
        /// Write cumulative loss and its bound, as learning went on, to this CSV file
        #[arg(long, value_name = "FILE")]
        curve: Option<PathBuf>,
    },
    /// SLAM in batch: a ranker of feature lists that minimises a bound on 1 - NDCG or 1 - MAP
    ///
    /// On data whose features order documents poorly the minimiser is w = 0, for every lambda. Where that is proved, the
    /// default keeps the mean iterate of Pegasos instead, which is not at the minimum and ranks well, and says so.
    ///
    /// Parameters for --set:
    ///   target=ndcg@10       the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K
    ///   delta=1              the margin
    ///   solver=auto          auto: bundle, and pegasos where that proves w = 0; bundle: proves how
    ///                        near the minimum it is; pegasos: stochastic
    ///   lambda=[1,...,1e-5]  weight of ||w||^2 / 2, or several, as in [1,0.1], of which
    ///                        validation chooses, beyond an end too if that is best; without
    ///                        --validation 0.01
    ///   tolerance=0.001      gap, relative to the objective, at which bundle stops
    ///   max_iterations=500   iterations of bundle for each lambda, at most
    ///   epochs=20            passes of pegasos for each lambda
    #[command(verbatim_doc_comment, after_help = EXAMPLES)]
    Slam(Args),
    /// RankSVM: a ranker of feature lists that learns from all pairs of documents of different grades
    ///
    /// Pairs are never formed: a list of m documents costs m log m.
    ///
    /// Parameters for --set:
    ///   loss=squared_hinge   what a pair costs: squared_hinge, hinge
    ///   lambda=[10,...,1e-6] weight of ||w||^2 / 2, or several, as in [1,0.1], of which
    ///                        validation chooses, beyond an end too if that is best; without
    ///                        --validation 0.01
    ///   tolerance=0.001      gradient (squared_hinge) or gap (hinge), relative, at which to stop
    ///   max_iterations=500   iterations for each lambda, at most
    #[command(verbatim_doc_comment, after_help = EXAMPLES)]
    Ranksvm(Args),
    /// ListNet: a ranker of feature lists that learns the probability of each document to be the best
    ///
    /// Parameters for --set:
    ///   lambda=[1,...,1e-6]  weight of ||w||^2 / 2, or several, as in [1,0.1], of which
    ///                        validation chooses, beyond an end too if that is best; without
    ///                        --validation 0.01
    ///   tolerance=0.001      gradient, relative, at which to stop
    ///   max_iterations=500   iterations for each lambda, at most
    #[command(verbatim_doc_comment, after_help = EXAMPLES)]
    Listnet(Args),
    /// Query-dependent ranking: a function for each query, learned from the training queries near to it
    ///
    /// Queries are compared by query features: features of the lists that never differ within a query, or a file of their
    /// own, such as latent vectors of a matching model. The model keeps its training lists; the function of a query is
    /// learned when it is first ranked, in milliseconds. A query that is far from all others gets one function learned
    /// from all of them, and rank and explain say so. Validation queries that are among the training are observed, the others
    /// novel.
    ///
    /// Parameters for --set:
    ///   neighbours=15        training queries that count, for a query that is one of them
    ///   novel_neighbours=15  the same for a query that is new
    ///   bandwidth=null       h of the weights; null for the median distance to the query
    ///   reach=3              a query is far if its nearest is farther than this many times the largest
    ///                        distance from a training query to its nearest
    ///   rankings=kendall     how query features that are rankings are compared: kendall, mallows
    ///   kernel=linear        how documents are compared: linear, gaussian (up to 5,000 documents)
    ///   width=null           sigma^2 of the Gaussian kernel; null for the median distance between documents
    ///   form=scoring         what is learned: scoring (a score for each document), ranking (a preference
    ///                        for each pair)
    ///   loss=hinge           what a pair costs: hinge, logistic, psi
    ///   lambda=[10,...,1e-6] weight of ||f||^2 / 2, or several, as in [1,0.1], of which
    ///                        validation chooses; without --validation 0.01
    ///   solver=auto          for the hinge: coordinate_descent, admm, inexact_admm (the paper's), newton
    ///                        (without pairs), or auto, which chooses
    ///   tolerance=0.001      duality gap, relative, at which to stop
    ///   max_iterations=1000  rounds for each lambda, at most
    #[command(verbatim_doc_comment, after_help = query_dependent::EXAMPLES)]
    QueryDependent(query_dependent::Args),
    /// MART: boosted trees that predict grades of feature lists
    ///
    /// Trees are grown by LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM); ranking does
    /// not need it. Features are not scaled.
    ///
    /// Parameters for --set:
    ///   trees=300            trees at most; with --validation as many as are best there
    ///   learning_rate=0.05   what the values of each tree are multiplied by
    ///   leaves=7             leaves of a tree
    ///   min_rows=50          rows of a leaf at least
    ///   max_depth=0          depth of a tree at most; 0 for no limit
    ///   feature_fraction=1   share of the features that each tree may split on
    ///   bagging_fraction=1   share of the rows that trees are grown on
    ///   bagging_freq=0       trees after which rows are drawn anew; at least 1 for bagging
    ///   lambda_l1=0          weight of the absolute values of leaves
    ///   lambda_l2=0          weight of the squares of leaves
    ///   min_gain_to_split=0  gain of a split at least
    ///   min_sum_hessian_in_leaf=0.001  sum of second derivatives of a leaf at least
    ///   max_bin=255          values that a feature is rounded to, at most
    #[command(verbatim_doc_comment, after_help = boosted::EXAMPLES)]
    Mart(boosted::Args),
    /// LambdaMART: boosted trees that learn which exchanges of documents would better NDCG
    ///
    /// Trees are grown by LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM); ranking does
    /// not need it. Features are not scaled.
    ///
    /// Parameters for --set:
    ///   trees=300            trees at most; with --validation as many as are best there
    ///   learning_rate=0.05   what the values of each tree are multiplied by
    ///   leaves=7             leaves of a tree
    ///   min_rows=50          rows of a leaf at least
    ///   max_depth=0          depth of a tree at most; 0 for no limit
    ///   feature_fraction=1   share of the features that each tree may split on
    ///   bagging_fraction=1   share of the rows that trees are grown on
    ///   bagging_freq=0       trees after which rows are drawn anew; at least 1 for bagging
    ///   lambda_l1=0          weight of the absolute values of leaves
    ///   lambda_l2=0          weight of the squares of leaves
    ///   min_gain_to_split=0  gain of a split at least
    ///   min_sum_hessian_in_leaf=0.001  sum of second derivatives of a leaf at least
    ///   max_bin=255          values that a feature is rounded to, at most
    ///   truncation=20        documents at the top of a list whose order counts
    #[command(verbatim_doc_comment, after_help = boosted::EXAMPLES)]
    Lambdamart(boosted::Args),
}

const EXAMPLES: &str = "\
Examples:
  matchrank train perceptron --letor train.txt --validation vali.txt --out online.model
  matchrank train perceptron --letor train.txt --validation vali.txt --set target=map --curve curve.csv --out p.model
  matchrank train listnet --letor s1.txt s2.txt s3.txt --validation s4.txt --out l.model
  matchrank train slam --letor train.txt --validation vali.txt --set solver=pegasos --out slam.model
  matchrank train ranksvm --letor train.txt --validation vali.txt --scaling auto --out svm.model
  matchrank train listnet --letor train.txt --set lambda=0.001 --query-weights weights.tsv --out l.model";

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lists: TrainingLists,
    /// How features are scaled
    #[arg(long, value_enum, value_name = "HOW", default_value = "min_max")]
    scaling: ScalingName,
    #[command(flatten)]
    weights: Weights,
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Set a parameter of the model
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Value)>,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// lambda where nothing says which is best: that of the middle of what validation chooses on real data.
pub(super) const LAMBDA: f64 = 0.01;

fn params_of(kind: &str, settings: &[(String, Value)]) -> anyhow::Result<RankerParams> {
    let params = RankerParams::new(kind, settings).map_err(of_set)?;
    params.validate()?;
    Ok(params)
}

pub(crate) fn run(model: Model, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let (kind, args, curve) = match model {
        Model::Perceptron { args, curve } => ("perceptron", args, curve),
        Model::Slam(args) => ("slam", args, None),
        Model::Ranksvm(args) => ("ranksvm", args, None),
        Model::Listnet(args) => ("listnet", args, None),
        Model::QueryDependent(args) => return query_dependent::train(args, global),
        Model::Mart(args) => return boosted::train(Objective::Mart, args, global),
        Model::Lambdamart(args) => return boosted::train(Objective::LambdaMart, args, global),
    };
    check_outputs(args.lists.files().chain(args.weights.files()), [&args.out].into_iter().chain(&curve))?;
    let mut params = params_of(kind, &args.settings)?;
    if !args.lists.has_validation()
        && kind != "perceptron"
        && !args.settings.iter().any(|(name, _)| name == "lambda")
    {
        params = params_of(kind, &[&args.settings[..], &[("lambda".to_owned(), json!(LAMBDA))]].concat())?;
        terminal.note(&format!(
            "there are no validation lists to choose lambda by, so it is {LAMBDA} (--set lambda=... for another)"
        ));
    }
    let (mut train, validation) = args.lists.read(&terminal)?;
    let weights = args.weights.of_queries(&train, &terminal)?;
    args.weights.weigh_documents(&mut train, &terminal)?;
    let counts =
        [("lists", train.n_queries()), ("documents", train.n_rows()), ("features", train.n_features())];
    let measure = args.lists.measure;
    let validation = validation.map(|lists| (lists, measure));
    let scalings = args.scaling.kinds();
    let model =
        train_ranker(&params, scalings, train, weights.as_deref(), validation, global.seed, &terminal)
            .map_err(|error| args.lists.blamed(error))?;
    let provenance = Provenance {
        seed: matches!(kind, "perceptron" | "slam").then_some(global.seed),
        data: counts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect(),
        ..Provenance::default()
    };
    model_file::save_ranker(&args.out, &model, &provenance)?;
    terminal.finish();
    if let (Some(path), RankerReport::Perceptron(report)) = (&curve, &model.report) {
        let text = summary::curve(report);
        files::write_atomically(path, |out| {
            out.write_all(text.as_bytes()).map_err(|e| Error::io(files::name_of(path), e))
        })?;
        terminal.say(&format!("wrote {}", path.display()));
    }
    summary::remark(&model, &terminal);
    let measure = measure.to_string();
    match args.format {
        Format::Json => {
            let data: serde_json::Map<String, Value> =
                counts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
            let summary = json!({
                "model": kind, "file": files::name_of(&args.out), "data": data, "validation_measure": measure,
                "scaling": to_json(&model.ranker.scaling.kind()), "scalings": to_json(&model.scalings),
                "params": to_json(&model.params), "report": to_json(&model.report),
                "seconds": started.elapsed().as_secs_f64(),
            });
            terminal::print(&serde_json::to_string_pretty(&summary)?)?;
        }
        format => {
            if format == Format::Table {
                terminal::print(&format!("{kind}: {}", summary::size(&counts)))?;
            }
            terminal::print(&summary::course(&model, &measure, format))?;
            terminal.done(&format!("wrote {}", args.out.display()), started);
        }
    }
    Ok(Outcome::Clean)
}
