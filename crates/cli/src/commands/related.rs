use std::path::PathBuf;

use anyhow::bail;
use matchrank_core::progress::Progress;
use matchrank_engine::matching::{LatentModel, MatchingModel, RelatedWord};
use matchrank_engine::model_file;
use serde_json::json;

use crate::terminal::{self, Format, Terminal, human, table, to_json};
use crate::{Global, Outcome};

/// List the document words that a model finds nearest to a query word
///
/// For models of rmls, pls and lsi-dt, and combinations with one of them: the word as queries use it is
/// compared with every word as documents use it, by the cosine in the latent space.
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
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank related sneaker --model rmls.model
  matchrank related 'gears of war' --model rmls.model --top 10 --format json";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let (model, _) = model_file::load(&args.model)?;
    let Some(latent) = latent(&model) else {
        bail!(
            "{}: a {} model has no latent space; words are related in models of rmls, pls and lsi-dt",
            args.model.display(),
            model.kind()
        );
    };
    if args.top == 0 {
        bail!("--top 0 shows nothing; give at least 1");
    }
    let query = args.words.join(" ");
    let related = latent.related(&query, args.top, args.min_documents)?;
    let unknown = latent.unknown_words(&query);
    let terminal = Terminal::new(global.quiet);
    if related.is_empty() {
        terminal.note(&format!("no word is in {} documents (--min-documents)", args.min_documents));
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
        vec![related.word, format!("{:.4}", related.cosine), human(related.n_documents.into())]
    });
    table(&["document word", "cosine", "documents"], rows.collect(), format)
}

/// The bilinear model, or the first one in a combination.
pub(crate) fn latent(model: &MatchingModel) -> Option<&LatentModel> {
    match model {
        MatchingModel::Latent(model) => Some(model),
        MatchingModel::Combination(both) => latent(&both.first).or_else(|| latent(&both.second)),
        MatchingModel::Bm25(_) | MatchingModel::RandomWalk(_) => None,
    }
}
