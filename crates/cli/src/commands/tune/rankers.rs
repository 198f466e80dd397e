//! `tune RANKER --letor`: the parameters of a ranker that are best on validation lists.

use std::path::Path;
use std::time::Instant;

use matchrank_core::data::FeatureLists;
use matchrank_core::progress::Progress;
use matchrank_engine::files;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::rankers::query_dependent::QueryInput;
use matchrank_engine::rankers::{RankerRecipe, RankerTraining};
use matchrank_engine::tuning::{RankerTuner, Space};
use serde_json::json;

use super::{Args, finish, search};
use crate::commands::rankers::{
    read_table, read_training_lists, read_validation_lists, refuse_common_queries,
};
use crate::commands::train::settings::of_set;
use crate::terminal::Terminal;
use crate::{Global, Outcome, interrupt};

pub(super) fn run(
    args: &Args,
    global: &Global,
    terminal: &Terminal,
    started: Instant,
) -> anyhow::Result<Outcome> {
    let scalings = args.scaling.kinds();
    RankerRecipe::new(&args.model, &args.settings, scalings).map_err(of_set)?.validate()?;
    let train = read_training_lists(&args.letor, terminal)?;
    let validation = read_validation_lists(&args.validation, &train, terminal)?;
    refuse_common_queries(&train, &validation)?;
    let table = args.query_features.as_deref().map(read_table).transpose()?;
    let columns = args.query_columns.clone().unwrap_or_default();
    let query = table.as_ref().map_or(QueryInput::Columns(&columns), QueryInput::Table);
    let training = RankerTraining { query, seed: global.seed };
    let content = content_of(args, &format!("{columns:?}"))?;
    let space = if args.vary.is_empty() { Space::of_ranker(&args.model) } else { Space(args.vary.clone()) };
    let search = search(args, space);
    let tuner = RankerTuner {
        train: &train,
        validation: &validation,
        measure: args.measure,
        scalings,
        training,
        content: &content,
        trace: args.trace.as_deref(),
        replace: false,
        stop: &interrupt::asked,
    };
    interrupt::listen();
    let (mut recipe, tuned) = tuner.tune(&args.model, &args.settings, &search, terminal)?;
    if let Some(path) = args.out.as_ref().filter(|_| !tuned.stopped) {
        let lists = Some((validation.clone(), args.measure));
        let mut model = recipe.train(training.on(train.clone(), lists), terminal)?;
        let mut learned = train;
        if args.refit {
            recipe = model.settled();
            learned = FeatureLists::concatenate(&[&learned, &validation]);
            model = recipe.train(training.on(learned.clone(), None), terminal)?;
        }
        model_file::save(path, &*model, &provenance(&learned, global.seed))?;
        if let Some(remark) = model.remark() {
            terminal.note(remark);
        }
    }
    terminal.finish();
    finish(args, &recipe.params(), &tuned, &search, terminal, started)
}

/// Hash of all files that trials depend on.
fn content_of(args: &Args, columns: &str) -> anyhow::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for (role, paths) in [("train", &args.letor), ("validation", &args.validation)] {
        for path in paths {
            hasher.update(role.as_bytes());
            hasher.update(blake3::hash(&files::read_all(path)?).as_bytes());
        }
    }
    let table = args.query_features.as_deref().map(|path: &Path| files::read_all(path)).transpose()?;
    hasher.update(table.as_deref().unwrap_or_default());
    hasher.update(columns.as_bytes());
    Ok(hasher.finalize().to_hex().to_string())
}

fn provenance(lists: &FeatureLists, seed: u64) -> Provenance {
    let counts =
        [("lists", lists.n_queries()), ("documents", lists.n_rows()), ("features", lists.n_features())];
    Provenance {
        seed: Some(seed),
        data: counts.into_iter().map(|(name, n)| (name.to_owned(), json!(n))).collect(),
        ..Provenance::default()
    }
}
