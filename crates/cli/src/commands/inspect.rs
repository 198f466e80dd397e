use std::path::{Path, PathBuf};

use anyhow::Context;
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Provenance};
use serde_json::json;

use super::rankers;
use crate::terminal::{self, Format, human, remark_text, table, to_json};
use crate::{Global, Outcome};

/// Look into a model: sizes, density, norms, spectrum, collapse, bounds, where it comes from
///
/// With --letor also what the features of a ranker are worth on lists with grades: by how much a measure falls when the
/// values of a feature change places among all documents, beside the gains of trees or the weights of linear rankers.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model file made by `train`
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    importance: rankers::importance::Args,
    /// Output format; with --letor CSV is the table of features alone
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank inspect rmls.model
  matchrank inspect rmls.model --format json
  matchrank inspect lambdamart.model --letor test.txt --measure ndcg@10 --repeats 10";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let (model, provenance) = model_file::open(&args.model)?;
    let worth = args.importance.measure(&model, global)?;
    let description = model.describe()?;
    match args.format {
        Format::Csv if let Some(worth) = &worth => terminal::print(&worth.csv())?,
        Format::Json | Format::Csv => {
            let mut json = to_json(&description.details);
            json["provenance"] = json!(provenance);
            json["bytes"] = bytes(&args.model)?.into();
            if let Some(worth) = &worth {
                json["permutation"] = worth.json();
            }
            terminal::print_data(&json, args.format)?;
        }
        Format::Table => {
            let mut rows = vec![row("file", format!("{} bytes", human(bytes(&args.model)?)))];
            rows.extend(description.facts.into_iter().map(|(name, value)| vec![name, value]));
            let mut remarks = Vec::new();
            remarks.extend(description.remarks.iter().map(|remark| remark_text(remark, Format::Table)));
            rows.extend(origin(&provenance));
            terminal::print(&table(&["", "value"], rows, Format::Table))?;
            remarks.extend(worth.map(|worth| worth.text()));
            remarks.iter().try_for_each(|remark| terminal::print(&format!("\n{remark}")))?;
        }
    }
    Ok(Outcome::Clean)
}

fn bytes(path: &Path) -> anyhow::Result<u64> {
    Ok(std::fs::metadata(path).with_context(|| path.display().to_string())?.len())
}

fn row(name: &str, value: impl Into<String>) -> Vec<String> {
    vec![name.to_owned(), value.into()]
}

fn origin(provenance: &Provenance) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let count = |name: &str| provenance.data.get(name).and_then(Json::as_u64).map(human);
    if let (Some(lists), Some(documents)) = (count("lists"), count("documents")) {
        rows.push(row("trained on lists, documents", format!("{lists}, {documents}")));
    }
    rows.push(row("made by", format!("matchrank {}", provenance.version)));
    rows.extend(provenance.seed.map(|seed| row("seed", seed.to_string())));
    rows.extend(provenance.time_limit.map(|limit| row("limit of time for tuning", limit.sentence())));
    if let Some(hash) = provenance.data.get("content_hash").and_then(Json::as_str) {
        rows.push(row("dataset (hash)", hash.get(..16).unwrap_or(hash)));
    }
    let count = |name: &str| provenance.data.get("statistics").and_then(|s| s.field(name)?.as_u64());
    if let (Some(queries), Some(documents), Some(pairs)) =
        (count("n_queries"), count("n_documents"), count("n_pairs"))
    {
        rows.push(row(
            "its queries, documents, pairs",
            format!("{}, {}, {}", human(queries), human(documents), human(pairs)),
        ));
    }
    rows
}
