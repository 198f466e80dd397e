//! The same table for rankers over folds of feature lists.
//!
//! Each fold is tested on once, by a ranker trained on the others but the one before it, which chooses epochs, lambdas
//! and numbers of trees ([`cross_validate_with`]). The figures are means over the folds; significance and intervals are
//! over the queries of all.

use std::path::Path;
use std::time::Instant;

use indexmap::IndexMap;
use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::progress::{Progress, WithoutNotes};
use matchrank_core::ranking::{Ranker, ScalingKind, evaluate_ranker};
use serde_json::json;

use super::Plan;
use super::course::{Cost, Course, Ground, hash, timed};
use super::measuring::interval;
use super::results::{
    BinFigures, Compared, Comparison, DataSummary, Entry, Figures, Latency, TestQuery, write,
};
use crate::rankers::{RankerRecipe, cross_validate_with};
use crate::validation::Ranked;

/// Lists of feature vectors in folds, and what names their content.
pub struct Folds {
    /// The folds, at least three.
    pub lists: Vec<FeatureLists>,
    /// Name of the whole, for the reader.
    pub name: String,
    /// Hash of the files.
    pub content_hash: String,
}

/// What to compare on folds.
pub struct Rankers {
    /// Rankers by their names.
    pub recipes: Vec<(String, RankerRecipe)>,
    /// How features are scaled; of several, the best on the validation fold, for linear rankers.
    pub scalings: Vec<ScalingKind>,
}

/// A trained ranker of a fold, with what it was worth on the fold that chose its parameters.
struct Chosen {
    ranker: Box<dyn Ranker>,
    validation: f64,
}

impl Ranker for Chosen {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        self.ranker.score(list, scores);
    }
}

/// Trains and measures rankers on folds, into a folder, as [`compare`](super::compare) does models on a dataset. Of the
/// plan the measures, the measure to choose by and the test of significance are used.
pub fn compare_folds(
    folds: &Folds,
    rankers: &Rankers,
    plan: &Plan,
    folder: &Path,
    seed: u64,
    stop: &dyn Fn() -> bool,
    progress: &dyn Progress,
) -> Result<Comparison> {
    let Rankers { recipes, scalings } = rankers;
    let queries = queries(folds);
    let ground = Ground {
        data: DataSummary {
            name: folds.name.clone(),
            folder: None,
            content_hash: folds.content_hash.clone(),
            statistics: None,
        },
        chosen_on: None,
        ranked: Ranked::Judged,
        validation_queries: folds.lists.iter().flat_map(|lists| lists.iter()).filter(is_measured).count(),
        test_queries: queries,
    };
    let course = Course { plan, folder, seed, stop, progress };
    course.run(ground, recipes.iter().map(|(name, recipe)| (name.as_str(), recipe)), |name, recipe, _| {
        let depends_on = [plan.tuned_by.to_string(), plan.measure_names().join(","), seed.to_string()];
        let version = env!("CARGO_PKG_VERSION");
        let key = hash(&json!(["folds", version, folds.content_hash, recipe, scalings, depends_on]));
        if let Some(entry) = Comparison::entry(folder, name).ok().filter(|entry| entry.key == key) {
            progress.note(&format!("{name}: kept from before"));
            return Ok(Some(entry));
        }
        progress.note(&format!("{name}: training and testing on {} folds", folds.lists.len()));
        let made = entry(name, recipe, folds, scalings, plan, seed, progress)?;
        let made = Entry { key: key.clone(), trained_key: key, ..made };
        write(&Comparison::entry_path(folder, name), &made)?;
        Ok(Some(made))
    })
}

/// Whether a list has a relevant document.
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
        })
        .collect()
}

fn entry(
    name: &str,
    recipe: &RankerRecipe,
    folds: &Folds,
    scalings: &[ScalingKind],
    plan: &Plan,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Entry> {
    let (figures, Cost { seconds, peak_mib }) = timed(|| {
        cross_validate_with(&folds.lists, &plan.measures, |train, validation| {
            let lists = (validation.clone(), plan.tuned_by);
            let ranker = recipe.train(scalings, train, lists, seed, &WithoutNotes(progress))?;
            let validation = evaluate_ranker(&*ranker, &validation, &[plan.tuned_by])?.mean(0);
            Ok(Chosen { ranker, validation })
        })
    })?;
    let n = figures.len() as f64;
    let mean = |m: usize| figures.iter().map(|fold| fold.means[m]).sum::<f64>() / n;
    let named = |value: &dyn Fn(usize) -> f64| -> Figures {
        plan.measures.iter().enumerate().map(|(m, measure)| (measure.to_string(), value(m))).collect()
    };
    let per_query: IndexMap<String, Vec<Option<f64>>> = plan
        .measures
        .iter()
        .enumerate()
        .map(|(m, measure)| {
            let values = figures.iter().flat_map(|fold| {
                (0..fold.evaluation.n_queries()).map(move |query| fold.evaluation.value(query, m))
            });
            (measure.to_string(), values.collect())
        })
        .collect();
    let by_fold: Vec<BinFigures> = (1..)
        .zip(&figures)
        .map(|(i, fold): (usize, _)| BinFigures {
            bin: format!("fold {i}"),
            queries: fold.queries as usize,
            figures: named(&|m| fold.means[m]),
        })
        .collect();
    let validation = figures.iter().map(|fold| fold.model.validation).sum::<f64>() / n;
    let row = Compared {
        name: name.to_owned(),
        kind: recipe.kind().to_owned(),
        params: recipe.params(),
        validation: Figures::from([(plan.tuned_by.to_string(), validation)]),
        test: named(&mean),
        intervals: per_query.iter().map(|(name, values)| (name.clone(), interval(values, seed))).collect(),
        bins: IndexMap::from([("fold".to_owned(), by_fold)]),
        seconds,
        tuning_seconds: 0.0,
        trials: 0,
        peak_mib,
        model_mib: 0.0,
        latency: latency(&figures[0].model, &folds.lists[0]),
        curves: Vec::new(),
        beats: Vec::new(),
        beats_by: IndexMap::new(),
    };
    Ok(Entry { key: String::new(), trained_key: String::new(), row, per_query, top: Vec::new() })
}

/// How long it takes to score one list after the other.
fn latency(ranker: &dyn Ranker, lists: &FeatureLists) -> Latency {
    let mut scores = Vec::new();
    let mut times: Vec<f64> = lists
        .iter()
        .take(100)
        .map(|list| {
            let begun = Instant::now();
            ranker.score(&list, &mut scores);
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    Latency::of(&mut times)
}
