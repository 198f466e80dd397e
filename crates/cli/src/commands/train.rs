use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use clap::Subcommand;
use matchrank_core::matching::bm25::Bm25Params;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::matching::{MatchingModel, TextBm25};
use matchrank_engine::model_file::{self, Provenance};
use serde_json::{Value, json};

use crate::terminal::{self, Format, Terminal, figure, human, table};
use crate::{Global, Outcome};

/// Train a model on a dataset
#[derive(clap::Args)]
#[command(after_help = "Example:\n  matchrank train bm25 --data shop --set b=0.4 --out bm25.model")]
pub(crate) struct Args {
    #[command(subcommand)]
    model: Model,
}

#[derive(Subcommand)]
enum Model {
    /// BM25: matches words with words, weighing rare ones more and long documents less
    ///
    /// Parameters for --set:
    ///   k1=1.2   how soon repeating a word stops counting, from 0
    ///   b=0.75   how much long documents are held back, from 0 to 1
    #[command(verbatim_doc_comment)]
    Bm25(Common),
}

#[derive(clap::Args)]
struct Common {
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: PathBuf,
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

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    match args.model {
        Model::Bm25(common) => train_bm25(&common, global),
    }
}

fn train_bm25(args: &Common, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let params: Bm25Params = params_from(&args.settings)?;
    let dataset = Dataset::open(&args.data)?;
    let model = TextBm25::of_dataset(&params, &dataset)?;
    let (n_documents, n_words) = (model.bm25.n_documents(), model.words.vocabulary.len() as u64);
    let average_length = model.bm25.average_length();
    model_file::save(&args.out, &MatchingModel::Bm25(model.into()), &provenance(&dataset))?;
    let seconds = started.elapsed().as_secs_f64();
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!({
            "model": "bm25", "file": args.out, "params": params, "seconds": seconds,
            "documents": n_documents, "words": n_words, "average_length": average_length,
        }))?)?,
        format => {
            let rows = [
                ("model", "bm25".to_owned()),
                ("k1", params.k1.to_string()),
                ("b", params.b.to_string()),
                ("documents", human(n_documents)),
                ("words", human(n_words)),
                ("words per document", figure(average_length, 2)),
            ];
            let rows = rows.map(|(name, value)| vec![name.to_owned(), value]).into();
            terminal::print(&table(&["", "value"], rows, format))?;
            terminal.done(&format!("wrote {}", args.out.display()), started);
        }
    }
    Ok(Outcome::Clean)
}

/// Where a model comes from, for its file.
pub(crate) fn provenance(dataset: &Dataset) -> Provenance {
    let statistics = serde_json::to_value(&dataset.manifest.statistics).expect("statistics are plain data");
    let hash = Value::String(dataset.manifest.content_hash.clone());
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: None,
        data: [("content_hash".to_owned(), hash), ("statistics".to_owned(), statistics)].into(),
    }
}

/// Parameters with the settings of `--set` over their defaults; an unknown name is an error that lists
/// the known ones.
fn params_from<P: serde::de::DeserializeOwned + serde::Serialize + Default>(
    settings: &[(String, Value)],
) -> anyhow::Result<P> {
    let mut params = serde_json::to_value(P::default())?;
    for (name, value) in settings {
        let known = params.as_object().expect("parameters are a struct");
        anyhow::ensure!(
            known.contains_key(name),
            "--set {name}: the model has no such parameter; it has {}",
            known.keys().cloned().collect::<Vec<_>>().join(", ")
        );
        params[name] = value.clone();
        // One at a time, so that a value that does not fit is blamed on its parameter.
        serde_json::from_value::<P>(params.clone()).with_context(|| format!("--set {name}={value}"))?;
    }
    Ok(serde_json::from_value(params)?)
}

/// `name=value`, the value as JSON where it is JSON (numbers, true, false, null), else as text.
fn parse_setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example k1=0.9")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}
