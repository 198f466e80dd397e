use std::path::PathBuf;

use anyhow::{bail, ensure};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::model_file;
use matchrank_engine::models::{Related, RelatedQuery, RelatedWord};
use serde_json::{Value, json};

use crate::terminal::{self, Format, Terminal, table, to_json};
use crate::{Global, Outcome};

/// List the document words that a model finds nearest to a query word
///
/// For models of rmls, pls and lsi-dt, and combinations with one of them: the word as queries use it is
/// compared with every word as documents use it, by the cosine in the latent space. For models of
/// sparse-preference: the document words with the strongest weight for it, for or (below 0) against a document.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A word, or several, as in a query
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    words: Vec<String>,
    /// Model file made by `train`
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Words to show
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Leave out words of fewer documents: little is known of them
    #[arg(long, default_value_t = 3, value_name = "N")]
    min_documents: u32,
    /// The other direction: query words for a document word (sparse-preference)
    #[arg(long)]
    reverse: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank related sneaker --model rmls.model
  matchrank related sneaker --model words.model --reverse
  matchrank related 'gears of war' --model rmls.model --top 10 --format json";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let (model, _) = model_file::load(&args.model)?;
    ensure!(args.top > 0, "--top 0 shows nothing; give at least 1");
    let words = args.words.join(" ");
    let query = RelatedQuery {
        words: &words,
        top: args.top,
        min_documents: args.min_documents,
        is_reverse: args.reverse,
    };
    let Some(related) = model.related(&query) else {
        bail!("{}: a {} model knows no words that could be related", args.model.display(), model.kind());
    };
    let related = related?;
    let terminal = Terminal::new(global.quiet);
    if related.words.is_empty() && related.unknown.is_some() {
        terminal
            .note(&format!("no word is in {} (--min-documents)", counted(args.min_documents, "document")));
    }
    if let Some(unknown) = related.unknown.as_ref().filter(|unknown| !unknown.is_empty()) {
        terminal.note(&format!(
            "the model has learned nothing about these words, and leaves them out: {}",
            unknown.join(", ")
        ));
    }
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json_of(&related, &words))?)?,
        format => terminal::print(&text(&related, format))?,
    }
    Ok(Outcome::Clean)
}

pub(crate) fn text(related: &Related, format: Format) -> String {
    let rows = related.words.iter().map(|word| {
        vec![word.word.clone(), format!("{:.4}", word.value), format.count(word.n_documents.into())]
    });
    let found = if related.is_reverse { "query word" } else { "document word" };
    table(&[found, related.column, "documents"], rows.collect(), format)
}

/// The words, with the value of each under its own name.
pub(crate) fn words_of(related: &Related) -> Value {
    let word = |word: &RelatedWord| {
        let mut json = json!({ "word": word.word });
        json[related.value] = to_json(&word.value);
        json["n_documents"] = word.n_documents.into();
        json
    };
    related.words.iter().map(word).collect()
}

fn json_of(related: &Related, words: &str) -> Value {
    let given = if related.is_reverse { "document" } else { "query" };
    let mut json = json!({ "model": related.model });
    json[given] = words.into();
    if let Some(unknown) = &related.unknown {
        json["unknown_words"] = json!(unknown);
    }
    json["related"] = words_of(related);
    json
}
