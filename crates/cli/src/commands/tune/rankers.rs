//! `tune RANKER --letor`: the parameters of a ranker that are best on validation lists.

use std::path::PathBuf;
use std::time::Instant;

use matchrank_core::data::FeatureLists;
use matchrank_core::progress::Progress;
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::rankers::{RankerRecipe, RankerTraining};
use matchrank_engine::tuning::{RankerTuner, Space};

use super::{Args, finish, search, session};
use crate::commands::rankers::{
    check_validation_lists, note_repeated_documents, read_hashed_lists, refuse_common_queries,
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
    let scalings = args.features.scalings();
    RankerRecipe::new(&args.model, &args.settings, scalings).map_err(of_set)?.validate()?;
    // Of all files that trials depend on.
    let mut hasher = blake3::Hasher::new();
    let mut read = |role: &str, paths: &[PathBuf]| {
        let (lists, hashes) = read_hashed_lists(0, paths, terminal)?;
        for hash in hashes {
            hasher.update(role.as_bytes()).update(hash.as_bytes());
        }
        anyhow::Ok(lists)
    };
    let train = read("train", &args.letor)?;
    note_repeated_documents(&train, terminal);
    let validation = read("validation", &args.validation)?;
    check_validation_lists(&validation, &args.validation, &train, terminal)?;
    refuse_common_queries(&train, &validation)?;
    let query = args.features.read(&mut hasher)?;
    let training = RankerTraining { query: query.input(), seed: global.seed };
    let content = hasher.finalize().to_hex();
    let space = if args.vary.is_empty() { Space::of_ranker(&args.model) } else { Space(args.vary.clone()) };
    let search = search(args, space);
    let tuner = RankerTuner {
        train: &train,
        validation: &validation,
        measure: args.measure,
        scalings,
        training,
        content: &content,
        session: session(args),
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
        let provenance =
            Provenance { time_limit: tuned.time_limit(&search), ..provenance(&learned, global.seed) };
        model_file::save(path, &*model, &provenance)?;
        if let Some(remark) = model.remark() {
            terminal.note(remark);
        }
    }
    terminal.finish();
    finish(args, &recipe.params(), &tuned, &search, terminal, started)
}

fn provenance(lists: &FeatureLists, seed: u64) -> Provenance {
    let counts =
        [("lists", lists.n_queries()), ("documents", lists.n_rows()), ("features", lists.n_features())];
    Provenance {
        seed: Some(seed),
        data: counts.into_iter().map(|(name, n)| (name.to_owned(), Json::of(&n))).collect(),
        ..Provenance::default()
    }
}
