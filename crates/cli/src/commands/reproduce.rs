mod errata;
mod matching;
mod papers;
mod query_dependent;
mod threads;

use std::path::PathBuf;
use std::time::Instant;

use clap::{Subcommand, ValueHint};
use matchrank_core::message::counted;
use matchrank_engine::reproduce::labelled::{self, TextParams};
use matchrank_engine::reproduce::preference::{self, DataSettings, PreferenceReproduction};

use super::simulate::Preset;
use crate::terminal::{self, Format, Terminal, human, table, to_json};
use crate::{Global, Outcome};

/// Reproduce the papers' tables and figures next to the published numbers
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    study: Study,
}

#[derive(Subcommand)]
enum Study {
    /// Compare every model of Table 2 on a log of one week
    ///
    /// Simulates a log with the statistics of the papers' one-week log, trains every model of Table 2 of Wu et al.,
    /// JMLR 2013, and ranks the judged documents of the test queries. The papers' figures are printed next to ours.
    /// Their log is not public, so only the order of the models can be compared.
    #[command(name = "one-week", after_help = matching::EXAMPLES)]
    OneWeek(matching::Args),
    /// Compare the models of Table 3 on a log of half a year
    ///
    /// The log has millions of queries and documents. Trains RMLS, PLS on words alone, and BM25; --models names others.
    /// RMLS alone takes 15 GiB of memory and five minutes on two cores.
    #[command(name = "half-year", after_help = matching::EXAMPLES)]
    HalfYear(matching::Args),
    /// Compare models by the number of clicks of a query: Tables 6 and 7
    #[command(name = "click-bins", after_help = matching::EXAMPLES)]
    ClickBins(matching::PresetArgs),
    /// Use models as features of boosted trees: Tables 4 and 5
    ///
    /// MART over the scores of all baselines (MART-baseline), with PLS, with RMLS, and with both (MART-all), trained on
    /// the validation queries. Needs LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM).
    #[command(name = "mart-features", after_help = matching::EXAMPLES)]
    MartFeatures(matching::PresetArgs),
    /// Measure training time by the number of threads: Figure 2
    #[command(name = "threads", after_help = threads::EXAMPLES)]
    Threads(threads::Args),
    /// Learn sparse preferences on 20 Newsgroups, or on classes of texts
    ///
    /// Table II (MAP over all test documents as queries, error on random test tuples, entries of W), Table III (related
    /// words) and, with --points, Figure 1 of Chen et al., ICDM 2010. The protocol is the paper's: 100,000 tuples, T =
    /// 100, refitting on exactly the same tuples; --refit-passes adds a row that the paper does not have. The last two
    /// rows start from ridge regression on the classes instead (Ridge), refitted with harder tuples (Ridge-R). PATH is
    /// the folder or the .tar.gz of the by-date version; or any folder of CLASS/DOCUMENT texts (in folders whose names end
    /// in train and test; otherwise every third document is for testing), or an SVMlight file.
    #[command(name = "preference-20news", after_help = TEXTS)]
    Preference20News(PreferenceArgs),
    /// Learn sparse preferences on MNIST, or on idx or SVMlight data
    ///
    /// Like preference-20news, with the lambda that keeps about half of the entries. PATH is a folder with
    /// train-images*, train-labels*, t10k-images* and t10k-labels*, gzip or plain, or an SVMlight file.
    #[command(name = "preference-mnist", after_help = IMAGES)]
    PreferenceMnist(PreferenceArgs),
    /// Test query-dependent ranking on simulated lists, or on your own
    ///
    /// Tables 1, 2, 3, 4, 5 and Figure 1 of Dai and Wang, EJS 2019, with the full grid of 61 lambdas: means over
    /// replicates with standard errors, next to the paper's. MRE is the mean over queries; pooled is over the pairs of
    /// all queries at once. Gap is the largest relative duality gap of any function. With --letor, the protocol of
    /// Table 6: the documents of each query are split 60 : 20 : 20, a tenth of the queries are novel, and observed and
    /// novel queries are reported separately.
    #[command(name = "query-dependent-tables", after_help = query_dependent::EXAMPLES)]
    QueryDependentTables(query_dependent::Args),
    /// Show corrections to the papers, each with a counterexample
    ///
    /// Runs the algorithm or formula in question on a few numbers and prints the statement as printed, the correction
    /// and the figures that decide between them. Takes about a second.
    #[command(name = "errata", after_help = errata::EXAMPLES)]
    Errata(errata::Args),
}

#[derive(clap::Args)]
struct PreferenceArgs {
    /// Data to train and test on
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    data: PathBuf,
    /// SVMlight rows for testing [default: every third row of the data]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    test: Option<PathBuf>,
    /// Number of most frequent words of texts to keep
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    words: usize,
    /// Weight the words of texts by 1 + ln(count) instead of their count
    #[arg(long)]
    log_counts: bool,
    /// Drop English stop words from texts
    #[arg(long)]
    drop_stop_words: bool,
    /// Tuples to learn from
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    tuples: usize,
    /// Add a row for N passes of refitting: one over the same tuples, as in the paper, N - 1 over new ones
    #[arg(long, default_value_t = 1, value_name = "N")]
    refit_passes: usize,
    /// Steps between two shrinkages; the paper uses 100
    #[arg(long, default_value_t = 100, value_name = "T")]
    t: usize,
    /// Length of the first step [default: 200]
    #[arg(long, value_name = "C")]
    c: Option<f64>,
    /// Strength of the shrinkage [default: 0.000007 for 20news, 0.000001 for mnist]
    #[arg(long, value_name = "X")]
    lambda: Option<f64>,
    /// Margin between the two documents of a tuple [default: 1]
    #[arg(long, value_name = "X")]
    margin: Option<f64>,
    /// Refit to the mean of W over all steps, instead of the last W as in the paper
    #[arg(long)]
    average: bool,
    /// Points of the learning curves of Figure 1; 0 for none
    #[arg(long, default_value_t = 0, value_name = "N")]
    points: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const TEXTS: &str = "\
Examples:
  matchrank reproduce preference-20news --data 20news-bydate.tar.gz
  matchrank reproduce preference-20news --data 20news-bydate.tar.gz --refit-passes 3
  matchrank reproduce preference-20news --data 20news-bydate.tar.gz --points 20 --format csv
  matchrank reproduce preference-20news --data my-folder-of-classes --words 20000";

const IMAGES: &str = "\
Examples:
  matchrank reproduce preference-mnist --data mnist
  matchrank reproduce preference-mnist --data train.svm --test test.svm --format json";

/// MAP and error in Table II of the paper.
type Paper = [(f64, f64); 6];
#[allow(clippy::approx_constant, reason = "an error of 0.318 is not 1 / pi")]
const PAPER_20NG: Paper =
    [(0.185, 0.323), (0.190, 0.318), (0.258, 0.197), (0.399, 0.099), (0.360, 0.114), (0.426, 0.090)];
#[allow(clippy::approx_constant, reason = "an error of 0.318 is not 1 / pi")]
const PAPER_MNIST: Paper =
    [(0.453, 0.221), (0.460, 0.318), (0.610, 0.096), (0.654, 0.082), (0.654, 0.083), (0.669, 0.075)];

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    match args.study {
        Study::OneWeek(args) => matching::relevance(Preset::OneWeek, &args, global),
        Study::HalfYear(args) => matching::relevance(Preset::HalfYear, &args, global),
        Study::ClickBins(args) => matching::bins(&args, global),
        Study::MartFeatures(args) => matching::features(&args, global),
        Study::Threads(args) => threads::run(&args, global),
        Study::Preference20News(args) => {
            preference(args, DataSettings::texts(global.seed), &PAPER_20NG, global)
        }
        Study::PreferenceMnist(args) => {
            preference(args, DataSettings::images(global.seed), &PAPER_MNIST, global)
        }
        Study::QueryDependentTables(args) => query_dependent::run(args, global),
        Study::Errata(args) => errata::run(&args),
    }
}

fn preference(
    args: PreferenceArgs,
    mut settings: DataSettings,
    paper: &Paper,
    global: &Global,
) -> anyhow::Result<Outcome> {
    let (terminal, started) = (Terminal::new(global.quiet), Instant::now());
    settings.n_tuples = args.tuples;
    settings.refit_passes = args.refit_passes;
    settings.n_points = args.points;
    let params = &mut settings.params;
    params.shrink_every = args.t;
    params.c = args.c.unwrap_or(params.c);
    params.lambda = args.lambda.unwrap_or(params.lambda);
    params.margin = args.margin.unwrap_or(params.margin);
    params.average = args.average;
    let texts = TextParams {
        n_words: args.words,
        log_counts: args.log_counts,
        drop_stop_words: args.drop_stop_words,
    };
    let split = labelled::read(&args.data, args.test.as_deref(), &texts)?;
    let found = preference::reproduce(&split, &settings, &terminal)?;
    terminal.done(
        &format!(
            "{} and {} of {}",
            counted(found.n_train, "training row"),
            counted(found.n_test, "test row"),
            counted(found.n_features, "feature")
        ),
        started,
    );
    terminal::print(&shown(&found, paper, args.format)?)?;
    Ok(Outcome::Clean)
}

fn shown(found: &PreferenceReproduction, paper: &Paper, format: Format) -> anyhow::Result<String> {
    if format == Format::Json {
        let mut json = to_json(found);
        for (method, (map, error)) in json["methods"].as_array_mut().into_iter().flatten().zip(paper) {
            method["paper_map"] = (*map).into();
            method["paper_error"] = (*error).into();
        }
        return Ok(serde_json::to_string_pretty(&json)?);
    }
    // The paper has no figures for the rows of more passes and of the ridge start.
    let papers = paper.iter().map(Some).chain(std::iter::repeat(None));
    let rows = found.methods.iter().zip(papers).map(|(method, paper)| {
        let of_paper = |figure: fn(&(f64, f64)) -> f64| {
            paper.map_or(String::new(), |paper| format!("{:.3}", figure(paper)))
        };
        vec![
            method.name.to_owned(),
            format.count(method.tuples as u64),
            format!("{:.3}", method.map),
            of_paper(|paper| paper.0),
            format!("{:.3}", method.error),
            of_paper(|paper| paper.1),
            format!("{:.2}%", 100.0 * method.density),
            format.count(method.nnz as u64),
            format!("{:.1}", method.seconds),
        ]
    });
    let header = ["method", "tuples", "MAP", "paper", "error", "paper", "density", "entries", "seconds"];
    let mut parts = vec![table(&header, rows.collect(), format)];
    if format == Format::Table {
        parts.insert(0, caption(found));
    }
    for (related, header) in [
        (&found.related, ["most related document words", "positive, in 1 % of the texts"]),
        (&found.ridge_related, ["most related document words, ridge start", "positive, in 1 % of the texts"]),
    ] {
        if !related.is_empty() {
            let rows =
                related.iter().map(|row| vec![row.word.clone(), row.related.join(" "), row.common.join(" ")]);
            parts.push(table(&["query word", header[0], header[1]], rows.collect(), format));
        }
    }
    if !found.curves.is_empty() {
        let rows = found.curves.iter().map(|point| {
            vec![
                point.method.to_owned(),
                format.count(point.iterations as u64),
                format!("{:.4}", point.error),
                format!("{:.2}%", 100.0 * point.density),
            ]
        });
        parts.push(table(&["method", "iterations", "error", "density"], rows.collect(), format));
    }
    Ok(parts.join("\n\n"))
}

/// Caption of the table: the settings that its figures depend on.
fn caption(found: &PreferenceReproduction) -> String {
    let DataSettings { params, n_tuples, n_test_tuples, .. } = &found.settings;
    format!(
        "{} tuples, margin {}, C = {}, lambda = {}, T = {}; MAP over {} queries, error over {} test tuples",
        human(*n_tuples as u64),
        params.margin,
        params.c,
        params.lambda,
        params.shrink_every,
        human(found.n_test as u64),
        human(*n_test_tuples as u64),
    )
}
