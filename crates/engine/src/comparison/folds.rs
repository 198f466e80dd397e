//! The same table for rankers over folds of feature lists.
//!
//! Each fold is tested on once, by a ranker trained on the others but the one before it, which chooses epochs, lambdas
//! and numbers of trees, and, where rankers are tuned, their parameters. The figures are means over the folds;
//! significance and intervals are over the queries of all.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use indexmap::IndexMap;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::measure::Evaluation;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{Ranker, ScalingKind, evaluate_ranker};
use matchrank_core::{Error, Result};
use serde_json::{Map, Value, json};

use super::Plan;
use super::course::{Cost, Course, Ground, hash, timed};
use super::measuring::interval;
use super::results::{
    BinFigures, Compared, Comparison, DataSummary, Entry, Figures, Latency, MeanOver, TestQuery, file_name,
    write,
};
use crate::model_file::{self, Provenance};
use crate::rankers::query_dependent::QueryInput;
use crate::rankers::{RankerRecipe, RankerTraining, check_folds, registry, train_and_validation};
use crate::ranking::{Ranking, write_run};
use crate::training::settings::Settings;
use crate::tuning::{RankerTuner, Search, Space, Strategy, Trial};
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

/// What to compare on folds.
pub struct Rankers<'a> {
    /// The rankers.
    pub rankers: Vec<PlannedRanker>,
    /// How features are scaled; of several, the best on the validation fold, for linear rankers.
    pub scalings: Vec<ScalingKind>,
    /// Where query features come from, for query-dependent rankers.
    pub query: QueryInput<'a>,
    /// Whether rankers are trained again on training and validation folds with what was chosen, and these are tested.
    pub refit: bool,
}

/// A ranker of a comparison over folds.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRanker {
    /// Its name in the comparison.
    pub name: String,
    /// Name of the [`RankerRecipe`].
    pub kind: String,
    /// Settings over its defaults.
    pub settings: Settings,
    /// What varies, where that is not the default of its kind.
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
pub fn compare_folds(
    folds: &Folds,
    rankers: &Rankers<'_>,
    plan: &Plan,
    folder: &Path,
    seed: u64,
    stop: &dyn Fn() -> bool,
    progress: &dyn Progress,
) -> Result<Comparison> {
    check_folds(&folds.lists, &folds.names)?;
    check_rankers(rankers)?;
    plan.check_level()?;
    let ground = Ground {
        data: DataSummary {
            name: folds.names.join(", "),
            folder: None,
            content_hash: folds.content_hash.clone(),
            statistics: None,
        },
        chosen_on: None,
        ranked: Ranked::Judged,
        mean_over: MeanOver::Folds,
        refit: rankers.refit,
        validation_queries: folds.lists.iter().flat_map(|lists| lists.iter()).filter(is_measured).count(),
        test_queries: queries(folds),
    };
    let course = Course { plan, folder, seed, stop, progress };
    let run = FoldRun { course, folds, rankers };
    let planned = rankers.rankers.iter().map(|planned| (planned.name.as_str(), planned));
    course.run(ground, planned, |planned, _, stopped| run.entry(planned, stopped))
}

/// Returns an error if there is no ranker, if one is not known, or if two would share a file.
fn check_rankers(rankers: &Rankers<'_>) -> Result<()> {
    if rankers.rankers.is_empty() {
        return Err(Error::Params(format!("no ranker is named; there are {}", registry::names())));
    }
    for (i, planned) in rankers.rankers.iter().enumerate() {
        let PlannedRanker { name, kind, settings, .. } = planned;
        let recipe = RankerRecipe::new(kind, settings, &rankers.scalings);
        recipe.and_then(|recipe| recipe.validate()).map_err(|e| Error::Params(format!("{name}: {e}")))?;
        if rankers.rankers[..i].iter().any(|other| file_name(&other.name) == file_name(name)) {
            return Err(Error::Params(format!(
                "two rankers are called {name}; give them names of their own"
            )));
        }
    }
    Ok(())
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

/// A comparison over folds that is being made.
struct FoldRun<'a> {
    course: Course<'a>,
    folds: &'a Folds,
    rankers: &'a Rankers<'a>,
}

/// A ranker of one fold, tested.
struct Tested {
    evaluation: Evaluation,
    validation: f64,
    rankings: Vec<Ranking>,
    trials: Vec<Trial>,
    /// What tuning chose over the settings of the plan.
    chosen: Map<String, Value>,
    cost: Cost,
    model_bytes: u64,
    latency: Option<Latency>,
    notes: Vec<String>,
}

/// Passes stages on, and keeps notes for the table.
struct KeepsNotes<'a>(&'a dyn Progress, Mutex<Vec<String>>);

impl Progress for KeepsNotes<'_> {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        self.0.begin(stage, total, unit);
    }
    fn advance(&self, n: u64) {
        self.0.advance(n);
    }
    fn note(&self, message: &str) {
        self.1.lock().expect("no panic while a note is kept").push(message.to_owned());
    }
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
        let Course { folder, progress, stop, .. } = self.course;
        let (name, key, n_folds) = (&planned.name, self.key(planned), self.folds.lists.len());
        let is_there = Comparison::run(folder, name).is_file()
            && (1..=n_folds).all(|fold| Comparison::fold_model(folder, name, fold).is_file());
        if let Ok(entry) = Comparison::entry(folder, name)
            && entry.key == key
            && is_there
        {
            progress.note(&format!("{name}: kept from before"));
            return Ok(Some(entry));
        }
        if stopped {
            return Ok(None);
        }
        progress.note(&format!("{name}: training and testing on {n_folds} folds"));
        // A result that is there is of other files than those to come.
        let _ = std::fs::remove_file(Comparison::entry_path(folder, name));
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
        write_run(&Comparison::run(folder, name), &rankings, name)?;
        let entry = self.of_folds(planned, &tested, key)?;
        write(&Comparison::entry_path(folder, name), &entry)?;
        Ok(Some(entry))
    }

    /// Tunes, trains and tests a ranker of one fold; none where tuning was stopped.
    fn test(&self, planned: &PlannedRanker, fold: usize) -> Result<Option<Tested>> {
        let Self { course, folds, rankers } = self;
        let Course { plan, folder, seed, stop, progress } = *course;
        let PlannedRanker { name, kind, settings, .. } = planned;
        let training = RankerTraining { query: rankers.query, seed };
        let (train, validation) = train_and_validation(&folds.lists, fold);
        let how = self.search(planned);
        let tunes = how.trials > 1 && !how.space.0.is_empty() || how.strategy == Strategy::Grid;
        let (recipe, trials, chosen) = if tunes {
            let trace = folder.join("traces").join(format!("{}.fold{}.jsonl", file_name(name), fold + 1));
            let tuner = RankerTuner {
                train: &train,
                validation: &validation,
                measure: plan.tuned_by,
                scalings: &rankers.scalings,
                training,
                content: &format!("{}, fold {}", folds.content_hash, fold + 1),
                trace: Some(&trace),
                replace: true,
                stop,
            };
            let (recipe, tuned) = tuner.tune(kind, settings, &how, progress)?;
            if tuned.stopped {
                return Ok(None);
            }
            let chosen = tuned.best().settings.clone();
            (recipe, tuned.trials, chosen)
        } else {
            (RankerRecipe::new(kind, settings, &rankers.scalings)?, Vec::new(), Map::new())
        };
        let notes = KeepsNotes(progress, Mutex::default());
        let (mut model, mut cost) = timed(|| {
            let validation = Some((validation.clone(), plan.tuned_by));
            recipe.train(training.on(train.clone(), validation), &notes)
        })?;
        let value = model.validated();
        if rankers.refit {
            let all = FeatureLists::concatenate(&[&train, &validation]);
            let settled = model.settled();
            (model, cost) = timed(|| settled.train(training.on(all, None), &notes))?;
        }
        let test = &folds.lists[fold];
        let model = training.inform(model, test)?;
        let mut notes = notes.1.into_inner().expect("no panic while a note is kept");
        notes.extend(model.remark().map(str::to_owned));
        let path = Comparison::fold_model(folder, name, fold + 1);
        model_file::save(&path, &*model, &self.provenance(fold, &train, &validation))?;
        Ok(Some(Tested {
            evaluation: evaluate_ranker(&*model, test, &plan.measures)?,
            validation: value.unwrap_or(f64::NAN),
            rankings: rankings(&*model, test),
            trials,
            chosen,
            cost,
            model_bytes: std::fs::metadata(&path).map_or(0, |metadata| metadata.len()),
            latency: (fold == 0).then(|| latency(&*model, test)),
            notes,
        }))
    }

    fn provenance(&self, fold: usize, train: &FeatureLists, validation: &FeatureLists) -> Provenance {
        let more = self.rankers.refit.then_some(validation);
        let count = |of: fn(&FeatureLists) -> usize| of(train) + more.map_or(0, of);
        let data = [
            ("lists", json!(count(FeatureLists::n_queries))),
            ("documents", json!(count(FeatureLists::n_rows))),
            ("features", json!(train.n_features())),
            ("tested_on", json!(self.folds.names[fold])),
        ];
        Provenance {
            seed: Some(self.course.seed),
            data: data.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            ..Provenance::default()
        }
    }

    /// The row of a ranker from its folds.
    fn of_folds(&self, planned: &PlannedRanker, tested: &[Tested], key: String) -> Result<Entry> {
        let Course { plan, seed, .. } = self.course;
        let n = tested.len() as f64;
        let named = |value: &dyn Fn(usize) -> f64| -> Figures {
            plan.measures.iter().enumerate().map(|(m, measure)| (measure.to_string(), value(m))).collect()
        };
        let mean = |of: &dyn Fn(&Tested) -> f64| tested.iter().map(of).sum::<f64>() / n;
        let per_query: IndexMap<String, Vec<Option<f64>>> = plan
            .measures
            .iter()
            .enumerate()
            .map(|(m, measure)| {
                let values = tested.iter().flat_map(|fold| {
                    (0..fold.evaluation.n_queries()).map(move |query| fold.evaluation.value(query, m))
                });
                (measure.to_string(), values.collect())
            })
            .collect();
        let by_fold: Vec<BinFigures> = (1..)
            .zip(tested)
            .map(|(i, fold): (usize, _)| BinFigures {
                bin: format!("fold {i}"),
                queries: fold.evaluation.audit.queries_in_mean as usize,
                figures: named(&|m| fold.evaluation.mean(m)),
            })
            .collect();
        let recipe = RankerRecipe::new(&planned.kind, &planned.settings, &self.rankers.scalings)?;
        let mut params = recipe.params();
        if tested.iter().any(|fold| !fold.chosen.is_empty()) {
            params["tuned_by_fold"] = tested.iter().map(|fold| Value::Object(fold.chosen.clone())).collect();
        }
        let peaks = tested.iter().filter_map(|fold| fold.cost.peak_mib);
        let row = Compared {
            name: planned.name.clone(),
            kind: recipe.kind().name.to_owned(),
            params,
            validation: Figures::from([(plan.tuned_by.to_string(), mean(&|fold| fold.validation))]),
            test: named(&|m| mean(&|fold| fold.evaluation.mean(m))),
            intervals: per_query
                .iter()
                .map(|(name, values)| (name.clone(), interval(values, seed)))
                .collect(),
            bins: IndexMap::from([("fold".to_owned(), by_fold)]),
            seconds: tested.iter().map(|fold| fold.cost.seconds).sum(),
            tuning_seconds: tested.iter().flat_map(|fold| &fold.trials).map(|trial| trial.seconds).sum(),
            trials: tested.iter().map(|fold| fold.trials.len()).sum(),
            peak_mib: peaks.reduce(f64::max),
            model_mib: mean(&|fold| fold.model_bytes as f64) / f64::from(1 << 20),
            latency: tested[0].latency.expect("the first fold is timed"),
            curves: Vec::new(),
            beats: Vec::new(),
            beats_by: IndexMap::new(),
            notes: notes(tested),
        };
        Ok(Entry { key: key.clone(), trained_key: key, row, per_query, top: Vec::new() })
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

/// Every note once, with the folds it is about.
fn notes(tested: &[Tested]) -> Vec<String> {
    let mut folds: IndexMap<&str, Vec<usize>> = IndexMap::new();
    for (fold, result) in (1..).zip(tested) {
        for note in &result.notes {
            let of_note = folds.entry(note.as_str()).or_default();
            if of_note.last() != Some(&fold) {
                of_note.push(fold);
            }
        }
    }
    let of = |(note, of): (&str, Vec<usize>)| {
        let numbers: Vec<String> = of.iter().map(ToString::to_string).collect();
        match of.len() {
            n if n == tested.len() => format!("in all folds: {note}"),
            1 => format!("in fold {}: {note}", numbers[0]),
            _ => format!("in folds {}: {note}", numbers.join(", ")),
        }
    };
    folds.into_iter().map(of).collect()
}

/// The rankings of all lists. Documents of equal score stand by id.
fn rankings(model: &dyn Ranker, lists: &FeatureLists) -> Vec<Ranking> {
    let scores = model.score_all(lists);
    let ranking = |list: List<'_>| {
        let mut documents: Vec<(String, f32)> =
            list.rows().map(|row| (lists.document(row).to_owned(), scores[row] as f32)).collect();
        documents.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        (list.query().to_owned(), documents)
    };
    lists.iter().map(ranking).collect()
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
