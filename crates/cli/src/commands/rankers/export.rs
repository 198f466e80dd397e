//! `export elasticsearch`: a linear ranker for the learning-to-rank plugin.

use std::path::PathBuf;

use anyhow::Context;
use matchrank_core::message::{IS, counted, counted_with};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::rankers::linear::elasticsearch::{check, linear_model, some_lists};
use matchrank_engine::{Error, files, model_file};

use super::{FeatureNames, read_lists};
use crate::terminal::Terminal;
use crate::{Global, Outcome};

#[derive(clap::Args)]
pub(crate) struct Elasticsearch {
    /// Model file of a linear ranker
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// File to write; `-` is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Name of the model in the plugin
    #[arg(long, default_value = "matchrank")]
    name: String,
    /// Names of the features in the feature set, one a line, from feature 1 on [default: feature_1, feature_2, ...]
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Lists to check with: the exported weights must give the same order, to single precision [default: simulated ones]
    #[arg(long, num_args = 1.., value_name = "FILE")]
    letor: Vec<PathBuf>,
}

pub(crate) fn run(args: &Elasticsearch, global: &Global) -> anyhow::Result<Outcome> {
    use matchrank_core::progress::Progress;
    let terminal = Terminal::new(global.quiet);
    check_outputs([&args.model].into_iter().chain(&args.features).chain(&args.letor), [&args.out])?;
    let (model, _) = model_file::open_ranking(&args.model)?;
    let kind = model.kind();
    let ranker = model.linear().with_context(|| {
        format!("{}: a {} model does not have one weight for each feature", args.model.display(), kind.name)
    })?;
    let n = ranker.weights.len();
    let features: Vec<String> = match &args.features {
        None => (1..=n).map(|i| format!("feature_{i}")).collect(),
        Some(path) => FeatureNames::read(path)?.all(n).with_context(|| {
            format!("{}: {} expected, one a line", path.display(), counted_with(n, "name", IS))
        })?,
    };
    let exported = linear_model(ranker, &args.name, &features)?;
    let lists = if args.letor.is_empty() { some_lists(ranker) } else { read_lists(&args.letor, &terminal)? };
    kind.require_complete(&lists)?;
    let near = check(ranker, &exported, &features, &lists)?;
    terminal.finish();
    terminal.note(&format!(
        "the exported weights give the same order for {}{}",
        counted(lists.n_queries(), if args.letor.is_empty() { "simulated list" } else { "list" }),
        if near > 0 {
            format!(", but for {} that single precision cannot tell apart", counted(near, "pair"))
        } else {
            String::new()
        }
    ));
    if let Some(remark) = model.remark() {
        terminal.note(&format!("{}: {remark}", args.model.display()));
    }
    let text = serde_json::to_string_pretty(&exported)?;
    files::write_atomically(&args.out, |out| {
        writeln!(out, "{text}").map_err(|e| Error::io(files::name_of(&args.out), e))
    })?;
    terminal.say(&format!("wrote {}: {}", args.out.display(), counted(features.len(), "weight")));
    Ok(Outcome::Clean)
}
