//! Matching models on a dataset: each is tuned, trained and measured, or kept from before.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use foldhash::HashSet;
use matchrank_core::message::counted;
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};
use serde_json::{Value, json};

use super::course::{Course, Entries, Ground, Overall, hash};
use super::making::Making;
use super::measuring::TestSet;
use super::plan::{FEW_QUERIES, FOLDS, Plan, Planned, What};
use super::refit::{check_refit, note_known_answers};
use super::results::{Compared, Comparison, DataSummary, Entry, Figures, MeanOver, write};
use crate::by_name::ByName;
use crate::dataset::{BinBy, Dataset};
use crate::files;
use crate::json::Json;
use crate::model_file;
use crate::models::folded::PooledQueries;
use crate::models::stack::{FEWEST_FOR_TREES, Stack, StackKind, check_stack, learned_already};
use crate::models::{MatchingModel, dependent_on_unseen, note_on_unseen, note_on_zero};
use crate::rankers::boosted;
use crate::validation::Validation;

/// Version of the results' format; a new one makes all results anew.
const FORMAT: u32 = 2;

/// The data of a comparison.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// Dataset on which everything is chosen, with validation and test judgments.
    pub dataset: &'a Dataset,
    /// Dataset with more to learn from once everything is chosen, including validation clicks: models are trained
    /// again on it, with what was chosen, and it is these that are measured. Its test judgments are the same.
    pub refit: Option<&'a Dataset>,
}

/// A comparison that is being made.
struct ComparisonRun<'a> {
    making: Making<'a>,
    test: TestSet,
    overall: &'a Overall<'a>,
}

/// Trains, tunes and measures the models of a plan on data, into a folder. Results that the folder has, and that
/// depend on the same, are kept; each new one is written as soon as it is there. `stop` is asked between models and
/// between trials of tuning.
pub fn compare(data: Data<'_>, course: Course<'_>) -> Result<Comparison> {
    let overall = Overall::of(course);
    let course = Course { progress: &overall, ..course };
    let (Data { dataset: given, refit }, Course { plan, folder, seed, progress, .. }) = (data, course);
    note_missing_trees(plan, given, progress);
    let Some(validation) = Validation::ranking(plan.ranked, given, seed, &Silent)? else {
        return Err(missing(given, "validation"));
    };
    let _lock = course.lock()?;
    let folds = folds_of(data, course)?.map(Arc::new);
    let (dataset, refit) = match &folds {
        Some(folds) => (&folds.pooled, Some(&folds.all)),
        None => (given, refit),
    };
    let Some(validation) = Validation::ranking(Some(validation.ranked()), dataset, seed, progress)? else {
        return Err(missing(given, "validation"));
    };
    let validation = validation.by(plan.tuned_by);
    let learned_from = refit.unwrap_or(dataset);
    let test = TestSet::of(learned_from, plan, validation.ranked())?;
    if test.n_queries() == 0 {
        return Err(missing(learned_from, "test"));
    }
    if let Some(more) = refit {
        check_refit(&test, given, more)?;
        files::make_folder(&folder.join("chosen"))?;
    }
    note_known_answers(learned_from, progress)?;
    let making = Making {
        course,
        dataset,
        validation: &validation,
        refit,
        folds: folds.as_ref(),
        started: Instant::now(),
    };
    overall.expect(plan.models.iter().map(|planned| making.expected(planned)).collect());
    let run = ComparisonRun { making, test, overall: &overall };
    let ground = Ground {
        data: DataSummary::of(making.learned_from()),
        chosen_on: data.refit.map(|_| DataSummary::of(dataset).name),
        folds: folds.as_ref().map(|folds| folds.n_folds()),
        ranked: validation.ranked(),
        mean_over: MeanOver::Queries,
        refit: false,
        validation_queries: validation.n_queries(),
        n_measured: run.test.n_measured(),
        held_out_clicks: run.test.held_out().held_out_clicks(),
        test_queries: run.test.queries(),
        unseen: dependent(dataset, &validation, folds.as_deref())?,
        refused: refused(course, dataset)?,
    };
    let models = plan.models.iter().map(|planned| (planned.name.as_str(), planned));
    course.run(ground, models, |planned, before, stopped| {
        overall.begin_model(&planned.name);
        match planned.parts().into_iter().find(|part| before.get(part).is_none()) {
            Some(_) if stopped => Ok(None),
            Some(part) => Err(is_missing(part)),
            None => run.entry(planned, before, stopped),
        }
    })
}

/// Says before any work that stacks will do without trees.
fn note_missing_trees(plan: &Plan, dataset: &Dataset, progress: &dyn Progress) {
    let tries_trees = |planned: &Planned| matches!(&planned.what, What::Stack { params, .. } if params.ranker == StackKind::Auto);
    let stacks: Vec<&str> = plan
        .models
        .iter()
        .filter(|planned| tries_trees(planned))
        .map(|planned| planned.name.as_str())
        .collect();
    let n_queries = dataset.manifest.statistics.n_judged_queries[0] as usize;
    if !stacks.is_empty() && n_queries >= FEWEST_FOR_TREES && !boosted::is_installed() {
        progress.note(&format!(
            "LightGBM is not installed (`pip install lightgbm`): {} will try ListNet only, without trees",
            stacks.join(" and ")
        ));
    }
}

/// Ids of the validation queries all of whose relevant documents have no response in the training data of the model that
/// ranks them: over folds, that of the query's fold.
pub(super) fn dependent(
    dataset: &Dataset,
    validation: &Validation,
    folds: Option<&PooledQueries>,
) -> Result<HashSet<String>> {
    let trained_on = folds.map_or(std::slice::from_ref(dataset), PooledQueries::datasets);
    let queries = validation.queries();
    let mut dependent = HashSet::default();
    for (fold, dataset) in trained_on.iter().enumerate() {
        let (_, depends) = dependent_on_unseen(dataset, Some(validation))?;
        for ((id, query), depends) in validation.ids().iter().zip(&queries).zip(depends) {
            if depends == Some(true) && folds.is_none_or(|folds| folds.fold(query) == fold) {
                dependent.insert(id.clone());
            }
        }
    }
    Ok(dependent)
}

/// Deals the training and validation queries to folds, if a plan asks for it, or if there are few validation queries.
fn folds_of(data: Data<'_>, course: Course<'_>) -> Result<Option<PooledQueries>> {
    let (Data { dataset, refit }, Course { plan, folder, seed, progress, .. }) = (data, course);
    let n_validation = dataset.manifest.statistics.n_judged_queries[0];
    let n_folds = match plan.folds {
        Some(n) if n > 0 && refit.is_some() => {
            return Err(Error::Params(
                "with folds, models are trained in the end on the training and the validation queries; a dataset to train \
                 on again leaves none to deal: give one of the two"
                    .into(),
            ));
        }
        Some(n) => n,
        None if n_validation < FEW_QUERIES && refit.is_none() => FOLDS,
        None => 0,
    };
    if n_folds == 0 {
        return Ok(None);
    }
    let all = folder.join("data");
    files::make_folder(&all)?;
    files::make_folder(&folder.join("folds"))?;
    let all = all.join(DataSummary::of(dataset).name);
    let folds = PooledQueries::of(dataset, n_folds, seed, [&folder.join("folds"), &all])?;
    match &folds {
        Some(folds) => progress.note(&format!(
            "{}: everything is chosen over {} of the training and validation queries, then trained on all of them, which are \
             in {}",
            counted(n_validation, "validation query"),
            counted(folds.n_folds(), "fold"),
            all.display()
        )),
        None if plan.folds.is_some() => {
            return Err(Error::Params(format!(
                "{}: its queries cannot be dealt to {n_folds} folds: that takes judged queries without clicks, none of them \
                 both in training and validation, two for each fold at least",
                dataset.folder().display()
            )));
        }
        None => progress.note(&format!(
            "{} choose everything, and cannot be dealt to folds, which takes judged queries without clicks: models are \
             preferred by chance where they are about as good; hold out more queries (option `split`)",
            counted(n_validation, "validation query")
        )),
    }
    Ok(folds)
}

/// Returns the models of a plan that cannot be made on a dataset, and why: stacks that would be refused after all their
/// models have been trained, and what is made of these. A model with a result in the folder is not refused: it may be
/// kept.
fn refused(course: Course<'_>, dataset: &Dataset) -> Result<ByName<String>> {
    let Course { plan, folder, .. } = course;
    let mut refused: ByName<String> = ByName::default();
    // Stacks, and combinations that have one among their parts; parts come before what is made of them.
    let mut learned: Vec<&str> = Vec::new();
    for planned in &plan.models {
        let parts = planned.parts();
        let has_learned = parts.iter().any(|part| learned.contains(part));
        let missing = parts.iter().find(|part| refused.get(part).is_some());
        let checked = match (&planned.what, missing) {
            (_, Some(part)) => Err(is_missing(part)),
            (What::Stack { .. }, None) if has_learned => Err(learned_already()),
            (What::Stack { params, .. }, None) => check_stack(params, plan.tuned_by, dataset),
            _ => Ok(()),
        };
        match checked {
            Ok(()) => {}
            Err(_) if Comparison::entry(folder, &planned.name).is_ok() => {}
            Err(why @ Error::Params(_)) => refused.insert(planned.name.clone(), why.to_string()),
            Err(error) => return Err(error),
        }
        if has_learned || matches!(planned.what, What::Stack { .. }) {
            learned.push(&planned.name);
        }
    }
    Ok(refused)
}

fn is_missing(part: &str) -> Error {
    Error::Params(format!("{part}, which it is made of, is missing"))
}

fn missing(dataset: &Dataset, which: &str) -> Error {
    Error::Params(format!(
        "{}: there are no {which} judgments; a comparison tunes on validation and measures on test: ingest with \
         option `judgments {which}=QRELS` or option `split`",
        dataset.folder().display()
    ))
}

impl ComparisonRun<'_> {
    /// The result of one model: kept, measured anew, or made; none where it was stopped, or is and there is none to keep.
    fn entry(&self, planned: &Planned, before: &Entries, stopped: bool) -> Result<Option<Entry>> {
        let Course { plan, folder, progress, .. } = self.making.course;
        let name = &planned.name;
        let trained_key = self.trained_key(planned, before);
        let key = hash(&json!([trained_key, plan.measure_names(), BinBy::ALL.map(BinBy::name)]));
        let model_path = Comparison::model(folder, name);
        let is_there =
            model_path.is_file() && self.making.chosen_files(planned).iter().all(|path| path.is_file());
        match Comparison::entry(folder, name).ok().filter(|_| is_there) {
            Some(entry) if entry.key == key && entry.has(&plan.measure_names(), self.test.n_queries()) => {
                self.overall.keep_model();
                progress.note(&format!("{name}: kept from before"));
                Ok(Some(entry))
            }
            _ if stopped => Ok(None),
            Some(entry) if entry.trained_key == trained_key => {
                self.overall.keep_model();
                progress.note(&format!("{name}: trained before, measured anew"));
                let (model, _) = model_file::load(&model_path)?;
                self.measure(&*model, (entry.row, entry.validation), [key, trained_key]).map(Some)
            }
            _ => {
                let Some(made) = self.making.make(planned)? else { return Ok(None) };
                let mut notes = self.notes(&*made.model, made.validation)?;
                let reached = made.time_limit.filter(|limit| limit.reached);
                notes.extend(reached.map(|limit| format!("limit of time: {}", limit.sentence())));
                let bytes = std::fs::metadata(&model_path).map_or(0, |metadata| metadata.len());
                let row = Compared {
                    name: name.clone(),
                    kind: made.model.kind().to_owned(),
                    params: Json(made.params),
                    validation: Figures::from([(plan.tuned_by.to_string(), made.validation)]),
                    test: Figures::default(),
                    by_traffic: Figures::default(),
                    intervals: ByName::default(),
                    bins: ByName::default(),
                    seconds: made.seconds,
                    tuning_seconds: made.tuning_seconds,
                    trials: made.n_trials,
                    peak_mib: made.peak_mib,
                    model_mib: bytes as f64 / f64::from(1 << 20),
                    latency: self.test.latency(&*made.model, self.making.learned_from())?,
                    curves: made.curves,
                    beats: Vec::new(),
                    beats_by: ByName::default(),
                    notes,
                };
                self.measure(&*made.model, (row, made.values), [key, trained_key]).map(Some)
            }
        }
    }

    /// Warnings for readers of the table.
    fn notes(&self, model: &dyn MatchingModel, figure: f64) -> Result<Vec<String>> {
        let Making { validation, refit, .. } = self.making;
        // With more data for the final training there are no validation judgments that it has not learned from.
        let own = refit.is_none().then_some(validation);
        let unseen = note_on_unseen(model, self.making.learned_from(), own)?;
        let stack = (model as &dyn Any).downcast_ref::<Stack>();
        let alone = stack.and_then(Stack::falls_back_to).map(|part| {
            format!("ranks its candidates as {part} alone, since no ranker was better by more than one standard error")
        });
        Ok(note_on_zero(validation, figure).into_iter().chain(unseen).chain(alone).collect())
    }

    fn measure(
        &self,
        model: &dyn MatchingModel,
        (row, validation): (Compared, Vec<(String, f64)>),
        [key, trained_key]: [String; 2],
    ) -> Result<Entry> {
        let Course { folder, seed, progress, .. } = self.making.course;
        progress.begin("ranking the test queries", None, "");
        let name = row.name.clone();
        let measured = self.test.measure(model, self.making.learned_from(), seed)?;
        Comparison::forget(folder, &name)?;
        let run = Comparison::run(folder, &name);
        crate::ranking::write_run(&run, &measured.rankings, &name)?;
        let row =
            Compared { test: measured.means, intervals: measured.intervals, bins: measured.bins, ..row };
        let per_query = measured.per_query;
        let top = measured.rankings.into_iter().map(|(_, mut list)| {
            list.truncate(10);
            list
        });
        let entry = Entry { key, trained_key, row, per_query, validation, top: top.collect() };
        write(&Comparison::entry_path(folder, &name), &entry)?;
        Ok(entry)
    }

    /// Hash of all that a trained model depends on.
    fn trained_key(&self, planned: &Planned, before: &Entries) -> String {
        let Making { course, dataset, validation, refit, folds, .. } = &self.making;
        let (what, search) = match &planned.what {
            What::Single { kind, settings } => {
                let search = self.making.search(planned, kind);
                let seconds = match course.plan.shared_seconds {
                    Some(shared) => json!({ "shared": shared }),
                    None => json!(search.seconds),
                };
                let search = json!([search.space, search.strategy, search.trials, seconds]);
                (json!([kind, settings]), search)
            }
            What::Combination { of, params } => (json!(["combination", of, params]), Value::Null),
            // What is best depends on what there is to try.
            What::Stack { of, params } if params.ranker == StackKind::Auto && !boosted::is_installed() => {
                (json!(["stack", of, params, "without trees"]), Value::Null)
            }
            What::Stack { of, params } => (json!(["stack", of, params]), Value::Null),
        };
        let parts: Vec<&str> = planned
            .parts()
            .into_iter()
            .filter_map(|part| Some(before.get(part)?.trained_key.as_str()))
            .collect();
        let content = &dataset.manifest.content_hash;
        hash(&json!([
            FORMAT,
            env!("CARGO_PKG_VERSION"),
            refit
                .map_or_else(|| content.clone(), |more| format!("{content}, {}", more.manifest.content_hash)),
            course.seed,
            course.plan.tuned_by.to_string(),
            validation.ranked(),
            what,
            search,
            parts,
            folds.map(|folds| folds.n_folds()),
        ]))
    }
}
