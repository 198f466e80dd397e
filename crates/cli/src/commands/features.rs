//! `features`: the scores of models as columns of LETOR lists.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::ValueEnum;
use matchrank_core::data::{FeatureLists, letor};
use matchrank_engine::dataset::Dataset;
use matchrank_engine::ingest::{Named, read_queries};
use matchrank_engine::matching::{Columns, MatchingModel};
use matchrank_engine::rankers::columns::{join_columns, list_columns};
use matchrank_engine::validation::Ranked;
use matchrank_engine::{Error, files};
use serde_json::json;

use super::rank::{SplitName, held_out};
use super::rankers::read_lists;
use super::train::named_models;
use crate::terminal::{self, Format, Terminal, human, table};
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
    /// Join with these lists: a LETOR / SVMlight file whose qid and docid are ids of queries and documents
    #[arg(long, value_name = "FILE", conflicts_with_all = ["split", "candidates", "depth"])]
    letor: Option<PathBuf>,
    /// Queries of --letor that are not in the dataset: id and text
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "letor")]
    queries: Vec<PathBuf>,
    /// Lists for the judged queries of the dataset
    #[arg(long, value_enum, default_value_t = SplitName::Validation)]
    split: SplitName,
    /// Which documents are in the lists
    #[arg(long, value_enum, default_value_t = Documents::Judged)]
    candidates: Documents,
    /// With --candidates best: documents of each model
    #[arg(long, default_value_t = 100, value_name = "N")]
    depth: usize,
    /// File to write; .gz and .zst compress it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Write the names of the columns, one a line
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// How to print the summary
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
    /// Those that one of the models has among its best; what nobody judged has the grade 0
    Best,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    files::check_writable(&args.out)?;
    if args.depth == 0 {
        bail!("--depth 0 leaves no document; give at least 1");
    }
    let parts = named_models(&args.of)?;
    let dataset = Dataset::open(&args.data)?;
    let models: Vec<&MatchingModel> = parts.iter().map(|(_, model)| model).collect();
    let columns = Columns::bind(&models, &dataset, args.clicks, &terminal)?;
    let (lists, n_before) = match &args.letor {
        Some(path) => {
            let lists = read_lists(path, &terminal)?;
            let mut texts: HashMap<String, String> =
                dataset.queries()?.into_iter().map(|query| (query.id, query.text)).collect();
            let more = if args.queries.is_empty() {
                Vec::new()
            } else {
                read_queries(&args.queries, &Named::new())?
            };
            texts.extend(more.into_iter().map(|query| (query.id, query.text)));
            (join_columns(&columns, &dataset, &lists, &texts, &terminal)?, lists.n_features())
        }
        None => {
            let ranked = match args.candidates {
                Documents::Judged => Ranked::Judged,
                Documents::Best => Ranked::All,
            };
            let held_out = held_out(&dataset, args.split.into())?;
            (list_columns(&columns, &dataset, &held_out, (ranked, args.depth), &terminal)?, 0)
        }
    };
    let own = (1..=n_before).map(|feature| format!("feature {feature}"));
    let names: Vec<String> =
        own.chain(Columns::names(parts.iter().map(|(name, _)| name.as_str()), args.clicks)).collect();
    write(&args, &lists, &names)?;
    terminal.finish();
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!({
            "queries": lists.n_queries(), "documents": lists.n_rows(), "columns": names, "file": args.out,
            "seconds": started.elapsed().as_secs_f64(),
        }))?)?,
        format => {
            let rows = names.iter().enumerate().skip(n_before);
            let rows = rows.map(|(column, name)| vec![(column + 1).to_string(), name.clone()]).collect();
            terminal::print(&table(&["feature", "what"], rows, format))?;
            if format == Format::Table {
                let (queries, documents) = (human(lists.n_queries() as u64), human(lists.n_rows() as u64));
                let kept =
                    if n_before > 0 { format!(", {n_before} features as they were") } else { String::new() };
                terminal::print(&format!("{queries} queries, {documents} documents{kept}"))?;
                terminal.done(&format!("wrote {}", args.out.display()), started);
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
