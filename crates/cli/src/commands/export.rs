use clap::Subcommand;

use crate::commands::rankers;
use crate::{Global, Outcome};

/// Write what a model has learned for other programs
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A linear ranker as `model/linear` for the learning-to-rank plugin of Elasticsearch and OpenSearch
    ///
    /// The file is the body of a request to _ltr/_featureset/SET/_createmodel. Factors of scaling are multiplied into
    /// the weights; a model whose features are scaled within each list cannot be exported.
    #[command(after_help = EXAMPLES)]
    Elasticsearch(rankers::export::Elasticsearch),
}

const EXAMPLES: &str = "\
Examples:
  matchrank train ranksvm --letor train.txt --validation vali.txt --out ranker.model
  matchrank export elasticsearch ranker.model --features names.txt --letor vali.txt --out model.json";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let What::Elasticsearch(args) = args.what;
    rankers::export::run(&args, global)
}
