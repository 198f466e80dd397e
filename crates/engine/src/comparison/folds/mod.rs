//! Comparison of rankers over folds of feature lists.
//!
//! Each fold is tested on once, by a ranker trained on the others but the one before it, which chooses epochs, lambdas
//! and numbers of trees, and, where rankers are tuned, their parameters. The figures are means over the folds;
//! significance and intervals are over the queries of all.

mod row;
mod split;
mod testing;

use matchrank_core::data::{FeatureLists, List};
use matchrank_core::ranking::ScalingKind;
use matchrank_core::{Error, Result};
use serde_json::json;

use self::split::check_folds;
use super::course::{Course, Ground, hash};
use super::results::{Comparison, DataSummary, Entry, MeanOver, TestQuery, check_name, file_name, write};
use crate::by_name::ByName;
use crate::model_file;
use crate::rankers::query_dependent::QueryInput;
use crate::rankers::{RankerRecipe, registry};
use crate::ranking::{Ranking, write_run};
use crate::settings::Settings;
use crate::tuning::{Search, Space};
use crate::validation::Ranked;

/// Version of the results' format; a new one makes all results anew.
const FORMAT: u32 = 3;

/// Lists of feature vectors in folds, and what names their content.
pub struct Folds {
    /// The folds, at least three; every query belongs to one.
    pub lists: Vec<FeatureLists>,
    /// Their names, for the reader.
    pub names: Vec<String>,
    /// Hash of the files, and of the query features that come beside them.
    pub content_hash: String,
}

/// Rankers to compare on folds, and how they are trained.
pub struct Rankers<'a> {
    /// The rankers.
    pub rankers: Vec<PlannedRanker>,
    /// Scalings of the features; of several, linear rankers take the best on the validation fold.
    pub scalings: Vec<ScalingKind>,
    /// Source of the query features, for query-dependent rankers.
    pub query: QueryInput<'a>,
    /// Trains rankers again on training and validation folds with the chosen parameters, and tests those.
    pub refit: bool,
}

/// A ranker of a comparison over folds.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRanker {
    /// Its name in the comparison.
    pub name: String,
    /// Kind of the [`RankerRecipe`].
    pub kind: String,
    /// Settings over its defaults.
    pub settings: Settings,
    /// Search space, unless it is the default of its kind.
    pub space: Option<Space>,
    /// Trials, where they are others than the plan's.
    pub trials: Option<usize>,
}

impl PlannedRanker {
    /// A ranker with its defaults, called by its kind.
    pub fn named(kind: &str) -> Self {
        Self { name: kind.to_owned(), kind: kind.to_owned(), settings: Vec::new(), space: None, trials: None }
    }
}

/// Trains and measures rankers on folds, into a folder, as [`compare`](super::compare) does models on a dataset. Of the
/// plan all but its models and candidates is used.
pub fn compare_folds(folds: &Folds, rankers: &Rankers<'_>, course: Course<'_>) -> Result<Comparison> {
    check_folds(&folds.lists, &folds.names)?;
    check_rankers(rankers)?;
    course.plan.check_level()?;
    let ground = Ground {
        data: DataSummary {
            name: folds.names.join(", "),
            folder: None,
            content_hash: folds.content_hash.clone(),
            statistics: None,
        },
        chosen_on: None,
        folds: None,
        ranked: Ranked::Judged,
        mean_over: MeanOver::Folds,
        refit: rankers.refit,
        validation_queries: folds.lists.iter().flat_map(|lists| lists.iter()).filter(is_measured).count(),
        n_measured: folds.lists.iter().flat_map(|lists| lists.iter()).filter(is_measured).count(),
        held_out_clicks: None,
        test_queries: queries(folds),
        unseen: Default::default(),
        refused: ByName::default(),
    };
    let _lock = course.lock()?;
    let run = FoldRun { course, folds, rankers };
    let planned = rankers.rankers.iter().map(|planned| (planned.name.as_str(), planned));
    course.run(ground, planned, |planned, _, stopped| run.entry(planned, stopped))
}

/// Returns an error if there is no ranker, if one is not known, or if two would share a file.
fn check_rankers(rankers: &Rankers<'_>) -> Result<()> {
    if rankers.rankers.is_empty() {
        return Err(Error::Params(format!("no ranker is named; there are {}", registry::names())));
    }
    check_planned(&rankers.rankers, &rankers.scalings)
}

/// Returns an error if a ranker is of no known kind, has settings out of range, or the name of another.
pub(super) fn check_planned(rankers: &[PlannedRanker], scalings: &[ScalingKind]) -> Result<()> {
    for (i, planned) in rankers.iter().enumerate() {
        let PlannedRanker { name, kind, settings, .. } = planned;
        check_name(name)?;
        let recipe = RankerRecipe::new(kind, settings, scalings);
        recipe.and_then(|recipe| recipe.validate()).map_err(|e| Error::Params(format!("{name}: {e}")))?;
        if rankers[..i].iter().any(|other| file_name(&other.name) == file_name(name)) {
            return Err(Error::Params(format!(
                "two rankers are called {name}; give them names of their own"
            )));
        }
    }
    Ok(())
}

/// Returns true for a list with a relevant document.
fn is_measured(list: &List<'_>) -> bool {
    list.labels().iter().any(|&grade| grade > 0.0)
}

/// The queries of all folds, in their order.
fn queries(folds: &Folds) -> Vec<TestQuery> {
    let lists = folds.lists.iter().flat_map(|lists| lists.iter());
    lists
        .map(|list| TestQuery {
            id: list.query().to_owned(),
            text: String::new(),
            clicks: 0.0,
            n_words: 0,
            judged: Vec::new(),
            traffic: 0.0,
        })
        .collect()
}

/// A comparison over folds that is being made.
struct FoldRun<'a> {
    course: Course<'a>,
    folds: &'a Folds,
    rankers: &'a Rankers<'a>,
}

impl FoldRun<'_> {
    fn search(&self, planned: &PlannedRanker) -> Search {
        let plan = self.course.plan;
        Search {
            space: planned.space.clone().unwrap_or_else(|| Space::of_ranker(&planned.kind)),
            strategy: plan.strategy,
            trials: planned.trials.unwrap_or(plan.trials),
            seconds: plan.seconds,
            higher_is_better: plan.tuned_by.higher_is_better(),
        }
    }

    /// Hash of all that a result depends on.
    fn key(&self, planned: &PlannedRanker) -> String {
        let Course { plan, seed, .. } = self.course;
        let Search { space, strategy, trials, seconds, .. } = self.search(planned);
        hash(&json!([
            "folds",
            FORMAT,
            env!("CARGO_PKG_VERSION"),
            self.folds.content_hash,
            [&planned.kind, &self.rankers.refit.to_string()],
            planned.settings,
            self.rankers.scalings,
            [json!(space), json!(strategy), json!(trials), json!(seconds)],
            [plan.tuned_by.to_string(), plan.measure_names().join(","), seed.to_string()],
        ]))
    }

    /// The result of one ranker, kept or made; none where it was stopped, or is and there is none to keep.
    fn entry(&self, planned: &PlannedRanker, stopped: bool) -> Result<Option<Entry>> {
        let Course { plan, folder, progress, stop, .. } = self.course;
        let (name, key, n_folds) = (&planned.name, self.key(planned), self.folds.lists.len());
        let is_there = Comparison::run(folder, name).is_file()
            && (1..=n_folds).all(|fold| Comparison::fold_model(folder, name, fold).is_file());
        if let Ok(entry) = Comparison::entry(folder, name)
            && entry.key == key
            && entry.has(&plan.measure_names(), self.folds.lists.iter().map(FeatureLists::n_queries).sum())
            && is_there
        {
            progress.note(&format!("{name}: kept from before"));
            return Ok(Some(entry));
        }
        if stopped {
            return Ok(None);
        }
        progress.note(&format!("{name}: training and testing on {n_folds} folds"));
        let mut tested = Vec::with_capacity(n_folds);
        for fold in 0..n_folds {
            if stop() {
                return Ok(None);
            }
            match self.test(planned, fold).map_err(of_one_ranker)? {
                Some(result) => tested.push(result),
                None => return Ok(None),
            }
        }
        let rankings: Vec<Ranking> =
            tested.iter_mut().flat_map(|fold| std::mem::take(&mut fold.rankings)).collect();
        Comparison::forget(folder, name)?;
        let mut bytes = 0;
        for (fold, tested) in tested.iter().enumerate() {
            let path = Comparison::fold_model(folder, name, fold + 1);
            model_file::save(&path, &*tested.model, &tested.provenance)?;
            bytes += std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        }
        write_run(&Comparison::run(folder, name), &rankings, name)?;
        let entry = self.of_folds(planned, &tested, bytes, key)?;
        write(&Comparison::entry_path(folder, name), &entry)?;
        Ok(Some(entry))
    }
}

/// Returns errors about values that a ranker cannot take, or about the library that it needs, as errors of its
/// parameters: the comparison goes on with the other rankers.
fn of_one_ranker(error: Error) -> Error {
    match error {
        Error::Parse { .. } | Error::Format { .. } => Error::Params(error.to_string()),
        other => other,
    }
}
