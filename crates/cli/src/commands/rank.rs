use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use clap::{ArgGroup, ValueEnum};
use matchrank_core::data::{qrels, run};
use matchrank_core::message::counted;
use matchrank_engine::dataset::{Dataset, HeldOut, Holdout, Query};
use matchrank_engine::ingest::{NamedColumns, read_queries};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::ranking::{
    Candidates, RankRequest, Ranking, judged_candidates, rank_candidates, rank_collection, write_run,
};
use matchrank_engine::{Error, files};
use serde_json::json;

use crate::commands::rankers;
use crate::terminal::{self, Format, Terminal, to_json};
use crate::{Global, Outcome};

/// Rank documents of a dataset, or feature lists, with a trained model
///
/// Ranks the whole collection, or with --candidates the documents named there. The result is a TREC run.
/// An index of the documents is made in the dataset folder on first use.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("documents").required(true).args(["data", "letor"]))]
pub(crate) struct Args {
    /// Model file made by `train`
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Feature lists to rank, LETOR / SVMlight files, for models trained on such
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["queries", "split", "candidates"])]
    letor: Vec<PathBuf>,
    /// Query features of the lists, for query-dependent models that were trained with such a file
    #[arg(long, value_name = "FILE", requires = "letor", conflicts_with = "data")]
    query_features: Option<PathBuf>,
    /// Queries to rank for: id and text
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with = "split")]
    queries: Vec<PathBuf>,
    /// Text of a query to rank for; may be given many times
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["queries", "split", "letor"])]
    query: Vec<String>,
    /// Rank for the judged queries of the dataset
    #[arg(long, value_enum, default_value_t = SplitName::Test)]
    split: SplitName,
    /// Rank only these documents of each query: TREC qrels, a TREC run, or `judged` for the dataset's
    /// judgments of --split
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// Documents per query, at most [default: 1000 of a dataset; feature lists are ranked whole]
    #[arg(long, value_name = "K")]
    top: Option<usize>,
    /// Run file to write; .gz and .zst compress it, `-` is standard output, where --format json prints the rankings as JSON and
    /// marks documents without a click in the training data as `is_new`
    #[arg(long, value_name = "RUN")]
    out: PathBuf,
    /// Name of the run in its last column [default: the model's kind]
    #[arg(long)]
    tag: Option<String>,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank rank --model bm25.model --data shop --split test --out bm25.run
  matchrank rank --model bm25.model --data shop --queries new.tsv --top 10 --out new.run
  matchrank rank --model bm25.model --data shop --query 'gears of war' --top 10 --format json --out -
  matchrank rank --model bm25.model --data shop --candidates judged --out judged.run
  matchrank rank --model ranksvm.model --letor test.txt --out ranksvm.run";

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SplitName {
    Validation,
    Test,
}

impl From<SplitName> for Holdout {
    fn from(name: SplitName) -> Self {
        match name {
            SplitName::Validation => Self::Validation,
            SplitName::Test => Self::Test,
        }
    }
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    if args.top == Some(0) {
        bail!("--top 0 ranks nothing; give at least 1");
    }
    let named = args.candidates.iter().filter(|path| path.as_os_str() != "judged");
    let inputs = [&args.model].into_iter().chain(&args.data).chain(&args.letor).chain(&args.query_features);
    check_outputs(inputs.chain(&args.queries).chain(named), [&args.out])?;
    let (rankings, kind) = match &args.data {
        Some(data) => rank_documents(&args, data, &terminal)?,
        None => {
            let features = args.query_features.as_deref();
            rankers::rank::rank_lists(&args.model, &args.letor, features, args.top, &terminal)?
        }
    };
    let to_stdout = args.out.as_os_str() == "-";
    if to_stdout && args.format == Format::Json {
        let new_ids = args.data.as_deref().map(new_ids).transpose()?.unwrap_or_default();
        let rankings: Vec<_> = rankings
            .iter()
            .map(|(query, list)| {
                let documents: Vec<_> = list
                    .iter()
                    .map(|(id, score)| {
                        let mut document = json!({ "document": id, "score": to_json(score) });
                        if new_ids.contains(id) {
                            document["is_new"] = true.into();
                        }
                        document
                    })
                    .collect();
                json!({ "query": query, "documents": documents })
            })
            .collect();
        terminal::print(&serde_json::to_string_pretty(&json!({ "model": kind, "rankings": rankings }))?)?;
        return Ok(Outcome::Clean);
    }
    let tag = args.tag.as_deref().filter(|tag| !tag.trim().is_empty()).unwrap_or(kind);
    write_run(&args.out, &rankings, tag).map_err(|e| match e {
        // An id that no run file can hold is what these files say.
        Error::Params(message) => {
            let inputs = args.data.iter().chain(&args.queries).chain(&args.letor);
            Error::format(inputs.map(|path| files::name_of(path)).collect::<Vec<_>>().join(", "), message)
        }
        other => other,
    })?;
    if to_stdout {
        return Ok(Outcome::Clean);
    }
    let n_empty = rankings.iter().filter(|(_, list)| list.is_empty()).count();
    let n_ranked: usize = rankings.iter().map(|(_, list)| list.len()).sum();
    let seconds = started.elapsed().as_secs_f64();
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!({
            "queries": rankings.len(), "documents": n_ranked, "queries_without_a_document": n_empty,
            "file": files::name_of(&args.out), "seconds": seconds,
        }))?)?,
        Format::Csv => terminal::print(&format!(
            "queries,documents,queries_without_a_document,seconds\n{},{n_ranked},{n_empty},{seconds:.3}",
            rankings.len()
        ))?,
        Format::Table => {
            let empty = if n_empty > 0 {
                format!(" ({} found none)", counted(n_empty, "query"))
            } else {
                String::new()
            };
            let (queries, documents) =
                (counted(rankings.len(), "query"), counted(n_ranked, "ranked document"));
            terminal::print(&format!("{queries}, {documents}{empty}"))?;
            terminal.done(&format!("wrote {}", args.out.display()), started);
        }
    }
    Ok(Outcome::Clean)
}

/// Ids of the documents without a click in the training data.
fn new_ids(data: &Path) -> anyhow::Result<HashSet<String>> {
    let dataset = Dataset::open(data)?;
    let documents = dataset.document_ids()?.into_iter().zip(dataset.new_documents()?);
    Ok(documents.filter(|(_, is_new)| *is_new).map(|(id, _)| id).collect())
}

/// Rankings of the documents of a dataset, and the kind of the model.
fn rank_documents(
    args: &Args,
    data: &Path,
    terminal: &Terminal,
) -> anyhow::Result<(Vec<Ranking>, &'static str)> {
    let model = rankers::load_matching(&args.model)?;
    let dataset = Dataset::open(data)?;
    let top = args.top.unwrap_or(1000);
    let judged_only = args.candidates.as_deref() == Some(Path::new("judged"));
    let of_texts: Vec<Query> = args.query.iter().map(|text| Query::of_text(text)).collect();
    if of_texts.iter().any(|query| query.text.is_empty()) {
        bail!("--query is empty; give the text of a query");
    }
    let judged = if (args.queries.is_empty() && of_texts.is_empty()) || judged_only {
        Some(held_out(&dataset, args.split.into())?)
    } else {
        None
    };
    let queries = match &judged {
        _ if !of_texts.is_empty() => of_texts,
        Some(held_out) if args.queries.is_empty() => held_out.queries.clone(),
        _ => read_queries(&args.queries, &NamedColumns::new())?,
    };
    // Names the model's file where its numbers or its features are what is wrong.
    let of_model = |error: Error| match error {
        Error::Diverged(_) | Error::Params(_) | Error::Shape(_) => {
            anyhow::Error::from(error).context(args.model.display().to_string())
        }
        _ => error.into(),
    };
    let rankings = match &args.candidates {
        None => rank_collection(
            &RankRequest { model: &*model, dataset: &dataset, queries: &queries },
            top,
            terminal,
        )
        .map_err(of_model)?,
        Some(path) => {
            let candidates = match &judged {
                Some(held_out) if judged_only => judged_candidates(held_out),
                _ => read_candidates(path)?,
            };
            if !queries.iter().any(|query| candidates.contains_key(&query.id)) {
                bail!(
                    "{}: has no document for any of the queries; are the query ids the same?",
                    path.display()
                );
            }
            let rankings = rank_candidates(
                &RankRequest { model: &*model, dataset: &dataset, queries: &queries },
                &candidates,
                terminal,
            );
            let mut rankings = rankings.map_err(of_model)?;
            rankings.iter_mut().for_each(|(_, list)| list.truncate(top));
            rankings
        }
    };
    Ok((rankings, model.kind()))
}

/// The judged queries of a holdout; none at all is an error that says how to get some.
pub(crate) fn held_out(dataset: &Dataset, holdout: Holdout) -> anyhow::Result<HeldOut> {
    let held_out = HeldOut::of(dataset, holdout)?;
    if held_out.queries.is_empty() {
        bail!(
            "{}: there are no {} judgments; ingest with --judgments {}=QRELS or --split, or name queries with --queries",
            dataset.folder().display(),
            holdout.name(),
            holdout.name()
        );
    }
    Ok(held_out)
}

/// Documents by query from TREC qrels (four columns) or a TREC run (six).
fn read_candidates(path: &Path) -> anyhow::Result<Candidates> {
    let name = files::name_of(path);
    let bytes = files::read_all(path)?;
    let first = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut candidates = Candidates::default();
    if String::from_utf8_lossy(first).split_whitespace().count() == 6 {
        let run = run::parse(&name, &bytes)?;
        let mut list = Vec::new();
        for i in 0..run.n_queries() {
            run.read(i, &mut list)?;
            let ids =
                list.iter().map(|scored| String::from_utf8_lossy(scored.document).into_owned()).collect();
            candidates.insert(run.query(i).to_owned(), ids);
        }
    } else {
        for judgment in qrels::parse(&name, &bytes)?.iter() {
            candidates.entry(judgment.query.to_owned()).or_default().push(judgment.document.to_owned());
        }
    }
    Ok(candidates)
}
