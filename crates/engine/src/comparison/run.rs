//! Carries a plan out: every model is tuned, trained and measured, or kept from before.

use std::path::Path;
use std::time::Instant;

use indexmap::IndexMap;
use matchrank_core::progress::{Progress, WithoutNotes};
use matchrank_core::{Error, Result};
use serde_json::{Value, json};

use super::curves::{of_model, of_trials};
use super::measuring::TestSet;
use super::plan::{Plan, Planned, What};
use super::results::{Compared, Comparison, DataSummary, Entry, Figures, Protocol, file_name, write};
use super::significance;
use crate::dataset::Dataset;
use crate::matching::{Combination, MatchingModel, Stack, StackCandidates, StackParams};
use crate::memory;
use crate::model_file::{self, Provenance};
use crate::training::Recipe;
use crate::tuning::{self, Search, Space, Strategy, Trial, Tuner};
use crate::validation::{Ranked, Validation};

/// Version of the results' format; a new one makes all results anew.
const FORMAT: u32 = 1;

/// A comparison that is being made.
struct Run<'a> {
    plan: &'a Plan,
    dataset: &'a Dataset,
    folder: &'a Path,
    validation: Validation,
    test: TestSet,
    seed: u64,
    progress: &'a dyn Progress,
}

/// A model with what choosing and training it took.
struct Made {
    model: MatchingModel,
    params: Value,
    validation: f64,
    trials: Vec<Trial>,
    seconds: f64,
    tuning_seconds: f64,
    peak_mib: Option<f64>,
}

/// Trains, tunes and measures the models of a plan on a dataset, into a folder. Results that the folder has, and that
/// depend on the same, are kept; each new one is written as soon as it is there. `stop` is asked between models.
pub fn compare(
    plan: &Plan,
    dataset: &Dataset,
    folder: &Path,
    seed: u64,
    stop: &dyn Fn() -> bool,
    progress: &dyn Progress,
) -> Result<Comparison> {
    let Some(validation) = Validation::ranking(plan.ranked, dataset, seed, progress)? else {
        return Err(missing(dataset, "validation"));
    };
    let validation = validation.by(plan.tuned_by);
    let test = TestSet::of(dataset, plan, validation.ranked())?;
    if test.n_queries() == 0 {
        return Err(missing(dataset, "test"));
    }
    for part in ["results", "models", "runs", "traces"] {
        let path = folder.join(part);
        std::fs::create_dir_all(&path).map_err(|e| Error::io(files_name(&path), e))?;
    }
    write(&folder.join("queries.json"), &test.queries())?;
    let run = Run { plan, dataset, folder, validation, test, seed, progress };
    let mut entries: IndexMap<String, Entry> = IndexMap::new();
    let mut left_out: IndexMap<String, String> = IndexMap::new();
    for (number, planned) in plan.models.iter().enumerate() {
        if stop() {
            progress.note(&format!(
                "interrupted: {number} of {} models are done; the same command goes on from here",
                plan.models.len()
            ));
            break;
        }
        let missing = planned.parts().into_iter().find(|part| !entries.contains_key(*part));
        let result = match missing {
            Some(part) => Err(Error::Params(format!("{part}, which it is made of, is missing"))),
            None => run.entry(planned, &entries),
        };
        match result {
            Ok(entry) => {
                entries.insert(planned.name.clone(), entry);
            }
            // What is wrong with one model says nothing about the others.
            Err(e @ (Error::Params(_) | Error::Shape(_) | Error::Diverged(_))) => {
                progress.note(&format!("{}: left out: {e}", planned.name));
                left_out.insert(planned.name.clone(), e.to_string());
            }
            Err(e) => return Err(e),
        }
    }
    let mut models: Vec<Compared> = entries.values().map(|entry| entry.row.clone()).collect();
    significance::mark(&mut models, &entries, plan, seed);
    let comparison = Comparison {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        data: DataSummary {
            name: dataset.folder().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            folder: std::path::absolute(dataset.folder()).ok(),
            content_hash: dataset.manifest.content_hash.clone(),
            statistics: dataset.manifest.statistics.clone(),
        },
        split: Protocol {
            validation_queries: run.validation.n_queries(),
            test_queries: run.test.n_queries(),
            ranked: run.validation.ranked(),
            measures: plan.measures.iter().map(ToString::to_string).collect(),
            tuned_by: plan.tuned_by.to_string(),
            test: plan.test.to_string(),
            level: plan.level,
            seed,
            threads: rayon::current_num_threads(),
        },
        models,
        left_out,
    };
    write(&folder.join("comparison.json"), &comparison)?;
    Ok(comparison)
}

fn files_name(path: &Path) -> String {
    crate::files::name_of(path)
}

fn missing(dataset: &Dataset, which: &str) -> Error {
    Error::Params(format!(
        "{}: there are no {which} judgments; a comparison tunes on validation and measures on test: ingest with \
         --judgments {which}=QRELS or --split",
        dataset.folder().display()
    ))
}

impl Run<'_> {
    /// The result of one model: kept, measured anew, or made.
    fn entry(&self, planned: &Planned, before: &IndexMap<String, Entry>) -> Result<Entry> {
        let name = &planned.name;
        let trained_key = self.trained_key(planned, before);
        let measures: Vec<String> = self.plan.measures.iter().map(ToString::to_string).collect();
        let key = hash(&json!([trained_key, measures]));
        let model_path = Comparison::model(self.folder, name);
        let kept = Comparison::entry(self.folder, name).ok().filter(|_| model_path.is_file());
        match kept {
            Some(entry) if entry.key == key => {
                self.progress.note(&format!("{name}: kept from before"));
                Ok(entry)
            }
            Some(entry) if entry.trained_key == trained_key => {
                self.progress.note(&format!("{name}: trained before, measured anew"));
                let (model, _) = model_file::load(&model_path)?;
                self.measure(&model, entry.row, key, trained_key)
            }
            _ => {
                let made = self.make(planned)?;
                let seeded = !matches!(made.model, MatchingModel::Bm25(_) | MatchingModel::RandomWalk(_));
                let provenance = Provenance::of_dataset(self.dataset, seeded.then_some(self.seed));
                model_file::save(&model_path, &made.model, &provenance)?;
                let mut curves = of_model(&made.model);
                curves.extend(of_trials(&made.trials, &self.plan.tuned_by.to_string()));
                let bytes = std::fs::metadata(&model_path).map_or(0, |metadata| metadata.len());
                let row = Compared {
                    name: name.clone(),
                    kind: made.model.kind().to_owned(),
                    params: made.params,
                    validation: Figures::from([(self.plan.tuned_by.to_string(), made.validation)]),
                    test: Figures::new(),
                    intervals: IndexMap::new(),
                    bins: IndexMap::new(),
                    seconds: made.seconds,
                    tuning_seconds: made.tuning_seconds,
                    trials: made.trials.len(),
                    peak_mib: made.peak_mib,
                    model_mib: bytes as f64 / f64::from(1 << 20),
                    latency: self.test.latency(&made.model, self.dataset)?,
                    curves,
                    beats: Vec::new(),
                    beats_by: IndexMap::new(),
                };
                self.measure(&made.model, row, key, trained_key)
            }
        }
    }

    fn measure(
        &self,
        model: &MatchingModel,
        row: Compared,
        key: String,
        trained_key: String,
    ) -> Result<Entry> {
        self.progress.begin(&format!("{}: ranking the test queries", row.name), None, "");
        let name = row.name.clone();
        let measured = self.test.measure(model, self.dataset, self.seed)?;
        let run = self.folder.join("runs").join(format!("{}.run", file_name(&name)));
        crate::ranking::write_run(&run, &measured.rankings, &name)?;
        let row =
            Compared { test: measured.means, intervals: measured.intervals, bins: measured.bins, ..row };
        let top = measured.rankings.into_iter().map(|(_, mut list)| {
            list.truncate(10);
            list
        });
        let entry = Entry { key, trained_key, row, per_query: measured.per_query, top: top.collect() };
        write(&Comparison::entry_path(self.folder, &name), &entry)?;
        Ok(entry)
    }

    /// Hash of all that a trained model depends on.
    fn trained_key(&self, planned: &Planned, before: &IndexMap<String, Entry>) -> String {
        let (what, search) = match &planned.what {
            What::Single { kind, settings } => {
                let search = self.search(planned, kind);
                let search = json!([search.space, search.strategy, search.trials, search.seconds]);
                (json!([kind, settings]), search)
            }
            What::Combination(of) => (json!(["combination", of]), Value::Null),
            What::Stack { of, params } => (json!(["stack", of, params]), Value::Null),
        };
        let parts: Vec<&str> = planned
            .parts()
            .into_iter()
            .filter_map(|part| Some(before.get(part)?.trained_key.as_str()))
            .collect();
        hash(&json!([
            FORMAT,
            env!("CARGO_PKG_VERSION"),
            self.dataset.manifest.content_hash,
            self.seed,
            self.plan.tuned_by.to_string(),
            self.validation.ranked(),
            what,
            search,
            parts,
        ]))
    }

    fn search(&self, planned: &Planned, kind: &str) -> Search {
        Search {
            space: planned.space.clone().unwrap_or_else(|| Space::of_kind(kind)),
            strategy: self.plan.strategy,
            trials: planned.trials.unwrap_or(self.plan.trials),
            seconds: self.plan.seconds,
            higher_is_better: self.plan.tuned_by.higher_is_better(),
        }
    }

    fn make(&self, planned: &Planned) -> Result<Made> {
        let Self { dataset, seed, progress, .. } = *self;
        let name = &planned.name;
        let training = &WithoutNotes(progress);
        match &planned.what {
            What::Single { kind, settings } => {
                let how = self.search(planned, kind);
                let begun = Instant::now();
                let (recipe, trials) = if how.trials > 1 && !how.space.0.is_empty()
                    || how.strategy == Strategy::Grid
                {
                    progress
                        .note(&format!("{name}: tuning by {} on the validation queries", self.plan.tuned_by));
                    let trace = self.folder.join("traces").join(format!("{}.jsonl", file_name(name)));
                    let (validation, trace) = (&self.validation, Some(trace.as_path()));
                    let tuner = Tuner { dataset, validation, seed, trace, replace: true };
                    let (recipe, tuned) = tuner.tune(kind, settings, &how, progress)?;
                    (recipe, tuned.trials)
                } else {
                    (Recipe::new(kind, settings)?, Vec::new())
                };
                let tuning_seconds = begun.elapsed().as_secs_f64();
                self.timed(recipe.params(), trials, tuning_seconds, || recipe.train(dataset, seed, training))
            }
            What::Combination(parts) => {
                progress.note(&format!("{name}: finding the weight on the validation queries"));
                let [first, second] = parts.each_ref().map(|part| self.load(part));
                let (first, second) = (first?, second?);
                let mut made = self.timed(Value::Null, Vec::new(), 0.0, || {
                    let combination = Combination::tune(first, second, dataset, &self.validation, training)?;
                    Ok(MatchingModel::Combination(Box::new(combination)))
                })?;
                if let MatchingModel::Combination(model) = &made.model {
                    made.params = json!({ "weight": model.weight, "of": parts });
                }
                Ok(made)
            }
            What::Stack { of: parts, params } => {
                progress.note(&format!("{name}: stacking {} models on the validation queries", parts.len()));
                let models: Vec<(String, MatchingModel)> =
                    parts.iter().map(|part| Ok((part.clone(), self.load(part)?))).collect::<Result<_>>()?;
                let candidates = match self.validation.ranked() {
                    Ranked::Judged => StackCandidates::Judged,
                    Ranked::All => StackCandidates::All,
                };
                let params = &StackParams { candidates, ..*params };
                let mut made = self.timed(Value::Null, Vec::new(), 0.0, || {
                    let stack = Stack::train(models, dataset, params, seed, training)?;
                    Ok(MatchingModel::Stack(Box::new(stack)))
                })?;
                if let MatchingModel::Stack(stack) = &made.model {
                    made.params = json!({ "of": parts, "kept": stack.kept(), "stack": params });
                    // Queries of the validation are ranked by rankers that have not seen them.
                    made.validation = stack.kept().map_or(made.validation, |kept| kept.validation);
                }
                Ok(made)
            }
        }
    }

    /// Trains, and says how long it took, how much memory, and what the model is worth on the validation queries.
    fn timed(
        &self,
        params: Value,
        trials: Vec<Trial>,
        tuning_seconds: f64,
        train: impl FnOnce() -> Result<MatchingModel>,
    ) -> Result<Made> {
        let counted = memory::reset_peak();
        let begun = Instant::now();
        let model = train()?;
        let seconds = begun.elapsed().as_secs_f64();
        let peak = counted.then(memory::peak).flatten();
        let peak_mib = peak.map(|bytes| bytes as f64 / f64::from(1 << 20));
        let validation = match &model {
            MatchingModel::Stack(_) => 0.0,
            _ => tuning::measure(&model, self.dataset, &self.validation)?,
        };
        Ok(Made { model, params, validation, trials, seconds, tuning_seconds, peak_mib })
    }

    fn load(&self, name: &str) -> Result<MatchingModel> {
        Ok(model_file::load(&Comparison::model(self.folder, name))?.0)
    }
}

fn hash(value: &Value) -> String {
    blake3::hash(value.to_string().as_bytes()).to_hex()[..32].to_owned()
}
