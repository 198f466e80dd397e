//! `features`: the scores of models as columns of LETOR lists.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::ingest::{NamedColumns, read_queries};
use matchrank_engine::models::MatchingModel;
use matchrank_engine::models::stack::{
    Columns, JudgedQueries, MoreColumns, StackAttribute, join_columns, list_columns,
};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::validation::Ranked;
use matchrank_engine::{Error, files};
use serde_json::json;

use super::rank::{SplitName, held_out};
use super::rankers::{names_of, read_lists};
use super::train::named_models;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome};

/// Write the scores of models as features of lists, for any ranker
///
/// Every model gives two columns: its score, and its score standardised over the documents of the query's list. Lists
/// are those of the judged queries of a dataset, or those of a LETOR file, whose features stay in front. What comes out
/// is a LETOR file for `train mart`, `lambdamart`, `ranksvm`, ..., `rank --letor` and `compare --letor`.
///
/// Train the ranker on queries that the models have not learned from: on the validation queries, not on those of the
/// clicks. `train stack` does the same in one step, without features of your own.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: PathBuf,
    /// The model files; columns are called by their names without the ending
    #[arg(long, num_args = 1.., value_name = "MODEL", required = true)]
    of: Vec<PathBuf>,
    /// Columns for training clicks too: on the document, of the query, and of the query on the document
    #[arg(long)]
    clicks: bool,
    /// Columns for attributes of the documents too: numbers, ages by dates, categories
    #[arg(long)]
    attributes: bool,
    /// Join with these lists: LETOR / SVMlight files whose qid and docid are ids of queries and documents
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with_all = ["split", "candidates", "depth"])]
    letor: Vec<PathBuf>,
    /// Ids and texts of the queries of --letor; those that the dataset has need none
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "letor")]
    queries: Vec<PathBuf>,
    /// Lists for the judged queries of the dataset
    #[arg(long, value_enum, default_value_t = SplitName::Validation)]
    split: SplitName,
    /// Which documents are in the lists [default: the judged ones where most queries have irrelevant ones among them,
    /// else the best of every model]
    #[arg(long, value_enum, value_name = "WHICH")]
    candidates: Option<Documents>,
    /// With --candidates best: documents of each model [default: 100]
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// File to write; .gz and .zst compress it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write the names of the columns, one a line
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank features --data shop --of bm25.model rmls.model --split validation --out train.txt
  matchrank features --data shop --of bm25.model rmls.model --split test --out test.txt
  matchrank features --data shop --of rmls.model --letor our-features.txt --out joined.txt --names columns.txt
  matchrank train lambdamart --letor train.txt --out ranker.model
  matchrank rank --model ranker.model --letor test.txt --out ranker.run";

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Documents {
    /// The judged ones
    Judged,
    /// Those that one of the models has among its best; what nobody judged has the grade 0, and relevant ones that no
    /// model found are missing, so measure rankings of them by `eval --data`, not by the lists themselves
    Best,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let inputs = [&args.data].into_iter().chain(&args.of).chain(&args.letor).chain(&args.queries);
    check_outputs(inputs, [&args.out].into_iter().chain(&args.names))?;
    ensure!(args.depth != Some(0), "--depth 0 leaves no document; give at least 1");
    let dataset = Dataset::open(&args.data)?;
    let parts = named_models(&args.of, &dataset, &terminal)?;
    if let Some((name, _)) = parts.iter().find(|(_, model)| model.has_learned_from_validation()) {
        let learned = format!("{name} is a stack, which has learned from the validation judgments");
        match args.split {
            SplitName::Validation if args.letor.is_empty() => {
                bail!("--of: {learned}: its scores would tell a ranker their grades; give its models")
            }
            _ => terminal.note(&format!("{learned}; do not train on lists of these")),
        }
    }
    let models: Vec<&dyn MatchingModel> = parts.iter().map(|(_, model)| &**model).collect();
    let attributes = if args.attributes { StackAttribute::all_of(&dataset)? } else { Vec::new() };
    ensure!(
        !args.attributes || !attributes.is_empty(),
        "--attributes: the dataset has none; ingest documents with columns such as price and brand"
    );
    let more = MoreColumns { clicks: args.clicks, attributes: &attributes };
    let columns = Columns::bind(&models, &dataset, more, &terminal)?;
    let (lists, n_before) = match args.letor.is_empty() {
        false => {
            let lists = read_lists(&args.letor, &terminal)?;
            let mut texts: HashMap<String, String> =
                dataset.queries()?.into_iter().map(|query| (query.id, query.text)).collect();
            let more = if args.queries.is_empty() {
                Vec::new()
            } else {
                read_queries(&args.queries, &NamedColumns::new())?
            };
            texts.extend(more.into_iter().map(|query| (query.id, query.text)));
            let joined = join_columns(&columns, &dataset, (&lists, &texts), &terminal);
            (joined.with_context(|| names_of(&args.letor))?, lists.n_features())
        }
        true => {
            let held_out = held_out(&dataset, args.split.into())?;
            let ranked = match args.candidates {
                Some(Documents::Judged) => Ranked::Judged,
                Some(Documents::Best) => Ranked::All,
                None => Ranked::suiting_judgments(&held_out),
            };
            ensure!(
                args.depth.is_none() || ranked == Ranked::All,
                "--depth is for --candidates best; here the judged documents are taken, as they are"
            );
            let documents = match ranked {
                Ranked::Judged => "the judged documents of each query",
                Ranked::All => "the documents that one of the models has among its best",
            };
            terminal.note(&format!("in the lists: {documents} (--candidates)"));
            let judged = JudgedQueries { held_out: &held_out, ranked, depth: args.depth.unwrap_or(100) };
            (list_columns(&columns, &dataset, &judged, &terminal)?, 0)
        }
    };
    ensure!(lists.n_rows() > 0, "none of the queries has a document in its list; nothing is written");
    let own = (1..=n_before).map(|feature| format!("feature {feature}"));
    let names: Vec<String> =
        own.chain(Columns::names(parts.iter().map(|(name, _)| name.as_str()), more)).collect();
    write(&args, &lists, &names)?;
    terminal.finish();
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!({
            "queries": lists.n_queries(), "documents": lists.n_rows(), "columns": names, "file": files::name_of(&args.out),
            "seconds": started.elapsed().as_secs_f64(),
        }))?)?,
        format => {
            let rows = names.iter().enumerate().skip(n_before);
            let rows = rows.map(|(column, name)| vec![(column + 1).to_string(), name.clone()]).collect();
            terminal::print(&table(&["feature", "what"], rows, format))?;
            if format == Format::Table {
                let (queries, documents) =
                    (counted(lists.n_queries(), "query"), counted(lists.n_rows(), "document"));
                let kept = if n_before > 0 {
                    format!(", {} as before", counted(n_before, "feature"))
                } else {
                    String::new()
                };
                terminal::print(&format!("{queries}, {documents}{kept}"))?;
                let names =
                    args.names.as_ref().map_or(String::new(), |names| format!(" and {}", names.display()));
                terminal.done(&format!("wrote {}{names}", args.out.display()), started);
            }
        }
    }
    Ok(Outcome::Clean)
}

fn write(args: &Args, lists: &FeatureLists, names: &[String]) -> anyhow::Result<()> {
    let name = files::name_of(&args.out);
    files::write_atomically(&args.out, |out| letor::write(&name, lists, out))?;
    if let Some(path) = &args.names {
        files::write_atomically(path, |out| {
            names
                .iter()
                .try_for_each(|name| writeln!(out, "{name}"))
                .map_err(|e| Error::io(files::name_of(path), e))
        })?;
    }
    Ok(())
}
