//! Steps that all comparisons share. Models run one after the other, models that fail are skipped and reported, and the
//! table is written at the end.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use foldhash::HashSet;
use matchrank_core::measure::weighted_mean;
use matchrank_core::message::date;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::remaining::{Expected, Schedule};
use super::results::{Comparison, DataSummary, Entry, Figures, MeanOver, Protocol, TestQuery, write};
use super::{Plan, choice, significance};
use crate::by_name::ByName;
use crate::dataset::HeldOutClicks;
use crate::evidence::{SmallestDifference, too_few};
use crate::files;
use crate::tuning::TRIALS;
use crate::validation::Ranked;

/// Results so far, by the names of the models.
pub(super) type Entries = ByName<Entry>;

/// Shared context of a comparison: output folder, seed, cancellation.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    /// The models, and how they are tuned and measured.
    pub plan: &'a Plan,
    /// Output folder.
    pub folder: &'a Path,
    /// Seed of everything random.
    pub seed: u64,
    /// Checked between models and between trials of tuning; true stops the comparison.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
}

/// Names the model, and its place among all, before the stages of its making; estimates the time that is left for all.
pub(super) struct Overall<'a> {
    progress: &'a dyn Progress,
    plan: &'a Plan,
    model: Mutex<String>,
    /// True while trials are counted.
    in_trials: AtomicBool,
    schedule: Arc<Mutex<Schedule>>,
    started: Instant,
}

impl<'a> Overall<'a> {
    pub(super) fn of(course: Course<'a>) -> Self {
        Self {
            progress: course.progress,
            plan: course.plan,
            model: Mutex::default(),
            in_trials: AtomicBool::new(false),
            schedule: Arc::default(),
            started: Instant::now(),
        }
    }

    /// Announces the work of all models of the plan.
    pub(super) fn expect(&self, models: Vec<Expected>) {
        *self.schedule() = Schedule::new(models);
        let (schedule, started) = (Arc::clone(&self.schedule), self.started);
        self.progress.whole(Some(Arc::new(move || {
            let schedule = schedule.lock().expect("no panic while a schedule changes");
            let seconds = schedule.remaining(started.elapsed().as_secs_f64())?;
            Duration::try_from_secs_f64(seconds).ok()
        })));
    }

    pub(super) fn begin_model(&self, name: &str) {
        let models = &self.plan.models;
        let at = models.iter().position(|planned| planned.name == name);
        *self.model.lock().expect("no panic while a name is written") =
            format!("[{}/{} {name}] ", at.map_or(0, |at| at + 1), models.len());
        if let Some(at) = at {
            self.schedule().begin(at, self.started.elapsed().as_secs_f64());
        }
    }

    /// The model that began was made before.
    pub(super) fn keep_model(&self) {
        self.schedule().keep();
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().expect("no panic while a schedule changes")
    }
}

impl Drop for Overall<'_> {
    fn drop(&mut self) {
        self.progress.whole(None);
    }
}

impl Progress for Overall<'_> {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        let model = self.model.lock().expect("no panic while a name is written").clone();
        let trials = total.filter(|_| unit == TRIALS);
        self.in_trials.store(trials.is_some(), Ordering::Relaxed);
        if let Some(trials) = trials {
            self.schedule().begin_round(trials);
        }
        self.progress.begin(&format!("{model}{stage}"), total, unit);
    }
    fn advance(&self, n: u64) {
        if self.in_trials.load(Ordering::Relaxed) {
            self.schedule().advance(n, self.started.elapsed().as_secs_f64());
        }
        self.progress.advance(n);
    }
    fn note(&self, message: &str) {
        self.progress.note(message);
    }
}

/// Data and protocol of a comparison.
pub(super) struct Ground {
    pub(super) data: DataSummary,
    /// Dataset that the parameters were chosen on, if it is a different one.
    pub(super) chosen_on: Option<String>,
    /// Folds over which everything is chosen, if it is.
    pub(super) folds: Option<usize>,
    pub(super) ranked: Ranked,
    pub(super) mean_over: MeanOver,
    /// True if rankers of feature lists also learn from the validation lists once the parameters are chosen.
    pub(super) refit: bool,
    pub(super) validation_queries: usize,
    /// Test queries with a relevant document.
    pub(super) n_measured: usize,
    pub(super) test_queries: Vec<TestQuery>,
    /// Held-out clicks of the test queries, if they have any.
    pub(super) held_out_clicks: Option<HeldOutClicks>,
    /// Ids of the validation queries all of whose relevant documents have no training response.
    pub(super) unseen: HashSet<String>,
    /// Models that cannot be made, and why: left out before any work.
    pub(super) refused: ByName<String>,
}

impl Course<'_> {
    /// Makes the output folder and locks it.
    pub(super) fn lock(&self) -> Result<files::Lock> {
        files::make_folder(self.folder)?;
        files::Lock::of(self.folder)
    }

    /// Says before any work what will not be made, and what the test queries will be able to show.
    fn announce(&self, ground: &Ground, n_models: usize) {
        for (name, why) in ground.refused.iter() {
            self.progress.note(&format!("{name}: left out: {why}"));
        }
        let measure = self.plan.measures.first().map(ToString::to_string).unwrap_or_default();
        let n_models = n_models - ground.refused.len();
        let smallest = SmallestDifference::expected(ground.n_measured, n_models, self.plan.level);
        let forecast = smallest.filter(|_| n_models > 1).map(|smallest| smallest.forecast(&measure));
        match (too_few(ground.n_measured), forecast) {
            (Some(few), Some(forecast)) => self.progress.note(&format!("{few}: {forecast}")),
            (few, forecast) => few.or(forecast).iter().for_each(|line| self.progress.note(line)),
        }
    }

    /// Makes the entry of each model, and writes the table, while the folder is locked. The last argument of `make` is true once the comparison was
    /// stopped: `make` then returns existing entries only. None from `make` means that it was stopped.
    pub(super) fn run<'m, M>(
        &self,
        ground: Ground,
        models: impl ExactSizeIterator<Item = (&'m str, M)>,
        mut make: impl FnMut(M, &Entries, bool) -> Result<Option<Entry>>,
    ) -> Result<Comparison> {
        let Self { plan, folder, seed, stop, progress } = *self;
        for part in ["results", "models", "runs", "traces"] {
            files::make_folder(&folder.join(part))?;
        }
        if Comparison::queries(folder).ok().as_ref() != Some(&ground.test_queries) {
            Comparison::forget_rows(folder, |_| true)?;
            write(&folder.join("queries.json"), &ground.test_queries)?;
        }
        let (n_models, mut unfinished) = (models.len(), Vec::new());
        self.announce(&ground, n_models);
        let (mut entries, mut left_out) = (Entries::default(), ground.refused);
        for (name, model) in models {
            if left_out.get(name).is_some() {
                continue;
            }
            let is_stopped = stop() || !unfinished.is_empty();
            match make(model, &entries, is_stopped) {
                Ok(Some(entry)) => {
                    entries.insert(name.to_owned(), entry);
                }
                Ok(None) => unfinished.push(name.to_owned()),
                // A model that fails says nothing about the others.
                Err(e @ (Error::Params(_) | Error::Shape(_) | Error::Diverged(_))) => {
                    progress.note(&format!("{name}: left out: {e}"));
                    left_out.insert(name.to_owned(), e.to_string());
                }
                Err(e) => return Err(e),
            }
        }
        if !unfinished.is_empty() {
            let n_done = n_models - unfinished.len();
            progress.note(&format!(
                "interrupted: {n_done} of {n_models} models are done; run the same command again to continue"
            ));
        }
        let mut models: Vec<_> = entries.values().map(|entry| entry.row.clone()).collect();
        significance::mark(&mut models, &entries, plan, seed);
        for (row, entry) in models.iter_mut().zip(entries.values()) {
            row.by_traffic = by_traffic(entry, &ground.test_queries);
        }
        // Queries without a relevant document have no value and are in no mean.
        let measured = entries.values().next().and_then(|entry| entry.per_query.values().next());
        let split = Protocol {
            validation_queries: ground.validation_queries,
            test_queries: measured
                .map_or(ground.test_queries.len(), |values| values.iter().flatten().count()),
            held_out_clicks: ground.held_out_clicks,
            chosen_on: ground.chosen_on,
            folds: ground.folds,
            ranked: ground.ranked,
            mean_over: ground.mean_over,
            refit: ground.refit,
            measures: plan.measure_names(),
            tuned_by: plan.tuned_by.to_string(),
            test: plan.test.to_string(),
            level: plan.level,
            seconds: plan.seconds,
            shared_seconds: plan.shared_seconds,
            seed,
            threads: rayon::current_num_threads(),
        };
        let values: Vec<&[Option<f64>]> = entries
            .values()
            .filter_map(|entry| entry.per_query.get(split.measures.first()?).map(Vec::as_slice))
            .collect();
        let mut comparison = Comparison {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made_on: Some(today()),
            data: ground.data,
            smallest_difference: SmallestDifference::measured(&values, plan.level),
            split,
            chosen: choice::choose(plan, &entries, &ground.unseen, seed),
            models,
            left_out,
            unfinished,
        };
        comparison.sort_models()?;
        write(&folder.join("comparison.json"), &comparison)?;
        Ok(comparison)
    }
}

/// Returns today's date in UTC, as 2026-11-18.
fn today() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = date((since.as_secs() / 86_400) as u32);
    format!("{year}-{month:02}-{day:02}")
}

/// Returns the means of an entry's measures, weighted by the held-out clicks of the queries; none without clicks.
fn by_traffic(entry: &Entry, queries: &[TestQuery]) -> Figures {
    let means = entry.per_query.iter().filter_map(|(measure, values)| {
        let weighted = values.iter().copied().zip(queries.iter().map(|query| query.traffic));
        Some((measure.clone(), weighted_mean(weighted)?))
    });
    means.collect()
}

/// Returns the hash of everything that a result depends on.
pub(super) fn hash(value: &Value) -> String {
    blake3::hash(value.to_string().as_bytes()).to_hex()[..32].to_owned()
}
