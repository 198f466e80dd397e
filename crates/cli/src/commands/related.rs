use std::path::PathBuf;

use anyhow::bail;
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::matching::{
    BltmModel, LatentModel, MatchingModel, PreferenceModel, RelatedWord, WeightedWord,
};
use matchrank_engine::model_file;
use serde_json::json;

use super::export::preference;
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
    /// How to print it
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
    if let Some(preference) = preference(&model) {
        return weighted(&args, preference);
    }
    anyhow::ensure!(!args.reverse, "--reverse is for models of sparse-preference");
    if args.top == 0 {
        bail!("--top 0 shows nothing; give at least 1");
    }
    if let (None, Some(topics)) = (latent(&model), bltm(&model)) {
        let words = args.words.join(" ");
        let related = topics.related(&words, args.top, args.min_documents)?;
        return print_weighted(&args, "bltm", ("query", &words), "document word", "probability", related);
    }
    let Some(latent) = latent(&model) else {
        bail!(
            "{}: a {} model has no latent space; words are related in models of rmls, pls, lsi-dt, ssi, svdfeature, bltm and sparse-preference",
            args.model.display(),
            model.kind()
        );
    };
    let query = args.words.join(" ");
    let related = latent.related(&query, args.top, args.min_documents)?;
    let unknown = latent.unknown_words(&query);
    let terminal = Terminal::new(global.quiet);
    if related.is_empty() {
        terminal
            .note(&format!("no word is in {} (--min-documents)", counted(args.min_documents, "document")));
    }
    if !unknown.is_empty() {
        terminal.note(&format!(
            "the model has learned nothing about these words, and leaves them out: {}",
            unknown.join(", ")
        ));
    }
    match args.format {
        Format::Json => {
            let related = to_json(&related);
            let json = json!({
                "query": query, "unknown_words": unknown, "model": latent.kind.name(), "related": related,
            });
            terminal::print(&serde_json::to_string_pretty(&json)?)?;
        }
        format => terminal::print(&text(related, format))?,
    }
    Ok(Outcome::Clean)
}

pub(crate) fn text(related: Vec<RelatedWord>, format: Format) -> String {
    let rows = related.into_iter().map(|related| {
        vec![related.word, format!("{:.4}", related.cosine), format.count(related.n_documents.into())]
    });
    table(&["document word", "cosine", "documents"], rows.collect(), format)
}

/// Words by their weights.
fn weighted(args: &Args, model: &PreferenceModel) -> anyhow::Result<Outcome> {
    let words = args.words.join(" ");
    let related = if args.reverse {
        model.related_queries(&words, args.top)?
    } else {
        model.related(&words, args.top, args.min_documents)?
    };
    let (given, found) = if args.reverse { ("document", "query word") } else { ("query", "document word") };
    print_weighted(args, "sparse-preference", (given, &words), found, "weight", related)
}

/// Words with their weights, which the table calls `weight`.
fn print_weighted(
    args: &Args,
    model: &str,
    (given, words): (&str, &str),
    found: &str,
    weight: &str,
    related: Vec<WeightedWord>,
) -> anyhow::Result<Outcome> {
    match args.format {
        Format::Json => {
            let mut json = json!({ "model": model, "related": to_json(&related) });
            json[given] = words.into();
            terminal::print(&serde_json::to_string_pretty(&json)?)?;
        }
        format => {
            let rows = related.into_iter().map(|related| {
                vec![related.word, format!("{:.4}", related.weight), format.count(related.n_documents.into())]
            });
            terminal::print(&table(&[found, weight, "documents"], rows.collect(), format))?;
        }
    }
    Ok(Outcome::Clean)
}

/// The bilinear model, or the first one in a combination or a stack.
pub(crate) fn latent(model: &MatchingModel) -> Option<&LatentModel> {
    match model {
        MatchingModel::Latent(model) => Some(model),
        MatchingModel::Combination(both) => latent(&both.first).or_else(|| latent(&both.second)),
        MatchingModel::Stack(stack) => stack.parts.iter().find_map(|(_, part)| latent(part)),
        MatchingModel::Bm25(_)
        | MatchingModel::Bltm(_)
        | MatchingModel::RandomWalk(_)
        | MatchingModel::Preference(_) => None,
    }
}

/// The topic model, or the first one in a combination or a stack.
fn bltm(model: &MatchingModel) -> Option<&BltmModel> {
    match model {
        MatchingModel::Bltm(model) => Some(model),
        MatchingModel::Combination(both) => bltm(&both.first).or_else(|| bltm(&both.second)),
        MatchingModel::Stack(stack) => stack.parts.iter().find_map(|(_, part)| bltm(part)),
        _ => None,
    }
}
