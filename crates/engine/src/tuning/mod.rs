//! The parameters of a model that are best on the validation judgments, within so many trials or so much time.
//!
//! | strategy | what is tried |
//! |---|---|
//! | grid | all combinations, in order |
//! | random | the settings as they are, then combinations drawn at random |
//! | halving | the same, with a share of the full effort first; the best third goes on with three times the effort, and the settings as they are always do |
//!
//! The effort is what training takes most of: dimensions, tuples, iterations ([`MatchingKind::effort`]). Rankers of feature lists are
//! tuned on validation lists in the same way ([`RankerTuner`]). Test judgments are never looked at. The same seed tries the same; a budget of time ends the sequence earlier or later.

mod rankers;
mod space;
#[cfg(test)]
mod tests;
mod trace;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use rankers::RankerTuner;
pub use space::{Axis, Space};
use trace::Trace;
pub use trace::Trial;

use crate::by_name::ByName;
use crate::dataset::Dataset;
use crate::json::Json;
use crate::memory::{Cost, timed};
use crate::model_file::TimeLimit;
use crate::models::folded::PooledQueries;
use crate::models::{MatchingKind, MatchingModel, Recipe, Sizes, Training, bind};
use crate::settings::Settings;
use crate::validation::Validation;

/// Reduction factor eta of successive halving: one in eta trials continues, with eta times the effort.
const ETA: usize = 3;
/// The smallest share of the full effort is 1 / ETA^2.
const MOST_ROUNDS: usize = 3;

/// Unit of progress of a search.
pub(crate) const TRIALS: &str = "trials";

/// Search strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// All combinations.
    Grid,
    /// Combinations drawn at random.
    Random,
    /// Random combinations, most of them with less effort.
    Halving,
}

/// Search space and budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Parameters that vary.
    pub space: Space,
    /// Search strategy.
    pub strategy: Strategy,
    /// Settings that are tried at most.
    pub trials: usize,
    /// Seconds after which no trial is begun, once one has a value.
    pub seconds: Option<f64>,
    /// True if more of the measure is better.
    pub higher_is_better: bool,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// Trials in order, including those of earlier runs.
    pub trials: Vec<Trial>,
    /// The best of the trials with the most effort, the earliest of equals.
    pub best: usize,
    /// True if time was up before all was tried.
    pub out_of_time: bool,
    /// True if it was stopped before all was tried.
    pub stopped: bool,
}

impl Tuned {
    /// The trial that won.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// The limit of time that the search had, if it had one.
    pub fn time_limit(&self, search: &Search) -> Option<TimeLimit> {
        search.seconds.map(|seconds| TimeLimit { seconds, is_shared: false, reached: self.out_of_time })
    }

    /// The settings of the trial that won over those the search started from.
    pub fn settings(&self, base: &[(String, Json)]) -> Settings {
        over(base, &self.best().settings)
    }
}

/// Result of [`Tuner::tune`].
#[derive(Debug)]
pub struct TunedModel {
    /// The settings that won, to train with.
    pub recipe: Recipe,
    /// The trials.
    pub tuned: Tuned,
    /// The model of the trial that won, exactly as `recipe` trains it; none where it was not held beside the other trials.
    pub(crate) model: Option<(Arc<dyn MatchingModel>, Cost)>,
}

impl TunedModel {
    /// The model of the trial that won; none if the trial is of an earlier run, or models are too large to be held beside the
    /// other trials.
    pub fn model(&self) -> Option<&Arc<dyn MatchingModel>> {
        self.model.as_ref().map(|(model, _)| model)
    }
}

/// Trace of a search, and its stop condition.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// Keeps the trials; those it has are not made again.
    pub trace: Option<&'a Path>,
    /// Discards a trace of other data or settings instead of returning an error.
    pub replace: bool,
    /// Asked before every trial; true ends the search, once a trial has a value.
    pub stop: &'a dyn Fn() -> bool,
}

impl Session<'_> {
    /// The trials that are kept already, if they depend on the same.
    fn open(&self, depends_on: &Value) -> Result<Trace> {
        self.trace.map_or_else(|| Ok(Trace::in_memory()), |path| Trace::open(path, depends_on, self.replace))
    }
}

/// Settings that differ from those that the search started from.
type Varied = ByName<Json>;

/// Settings with others in their place.
fn over(base: &[(String, Json)], varied: &Varied) -> Settings {
    let kept = base.iter().filter(|(name, _)| varied.get(name).is_none()).cloned();
    kept.chain(varied.iter().map(|(name, value)| (name.clone(), value.clone()))).collect()
}

/// Share of the full effort in a round.
fn share_of_round(round: usize, rounds: usize) -> f64 {
    (ETA as f64).powi(round as i32 + 1 - rounds as i32)
}

impl Strategy {
    /// Number of rounds of a search over so many candidates.
    fn rounds(self, candidates: usize) -> usize {
        match self {
            Self::Halving => (candidates.max(1).ilog(ETA) as usize + 1).clamp(1, MOST_ROUNDS),
            Self::Grid | Self::Random => 1,
        }
    }
}

impl Search {
    /// Returns true if there is more than one setting to try.
    pub(crate) fn tunes(&self) -> bool {
        self.trials > 1 && !self.space.0.is_empty() || self.strategy == Strategy::Grid
    }

    /// Returns the rounds of the search, each with its number of trials and its share of the full effort. A round has one
    /// trial fewer where the settings that the search started from are among the best.
    pub(crate) fn rounds(&self) -> Vec<(u64, f64)> {
        let mut left = match self.strategy {
            Strategy::Grid => self.space.grid(self.trials).len(),
            Strategy::Random | Strategy::Halving => self.trials,
        };
        let rounds = self.strategy.rounds(left);
        let mut planned = Vec::with_capacity(rounds);
        for round in 0..rounds {
            planned.push((left as u64, share_of_round(round, rounds)));
            left = (left.div_ceil(ETA) + 1).min(left);
        }
        planned
    }
}

/// Searches; `evaluate` says what settings are worth with a share of the full effort. Settings that a model cannot be
/// trained with are trials without a value; that all fail is an error.
fn search(
    search: &Search,
    seed: u64,
    mut trace: Trace,
    stop: &dyn Fn() -> bool,
    progress: &dyn Progress,
    evaluate: &mut dyn FnMut(&Varied, f64) -> Result<f64>,
) -> Result<Tuned> {
    let started = Instant::now();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let candidates: Vec<Varied> = match search.strategy {
        Strategy::Grid => search.space.grid(search.trials),
        Strategy::Random | Strategy::Halving => search.space.random(search.trials, &mut rng),
    }
    .into_iter()
    .map(|settings| settings.into_iter().collect())
    .collect();
    let rounds = search.strategy.rounds(candidates.len());

    let value = |trial: &Trial| match trial.validation {
        Some(value) if search.higher_is_better => value,
        Some(value) => -value,
        None => f64::NEG_INFINITY,
    };
    let mut tuned = Tuned { trials: Vec::new(), best: 0, out_of_time: false, stopped: false };
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    'rounds: for round in 0..rounds {
        let share = share_of_round(round, rounds);
        progress.begin("tuning", Some(left.len() as u64), TRIALS);
        let first = tuned.trials.len();
        for &candidate in &left {
            let settings = &candidates[candidate];
            if let Some(known) = trace.find(settings, share) {
                tuned.trials.push(known.clone());
            } else {
                let spent = started.elapsed().as_secs_f64();
                let (late, stopped) = (search.seconds.is_some_and(|seconds| spent >= seconds), stop());
                let has_value = tuned.trials.iter().any(|trial| trial.validation.is_some());
                if (late || stopped) && has_value {
                    (tuned.out_of_time, tuned.stopped) = (late, stopped);
                    break 'rounds;
                }
                let begun = Instant::now();
                let (validation, error) = match evaluate(settings, share) {
                    Ok(value) if value.is_finite() => (Some(value), None),
                    Ok(value) => (None, Some(format!("the measure is {value}"))),
                    Err(e @ (Error::Params(_) | Error::Shape(_) | Error::Diverged(_))) => {
                        (None, Some(e.to_string()))
                    }
                    Err(other) => return Err(other),
                };
                let seconds = begun.elapsed().as_secs_f64();
                let trial = Trial { settings: settings.clone(), share, validation, error, seconds };
                trace.add(trial.clone())?;
                tuned.trials.push(trial);
            }
            progress.advance(1);
        }
        let made = &tuned.trials[first..];
        let mut order: Vec<usize> = (0..made.len()).collect();
        order.sort_by(|&a, &b| value(&made[b]).total_cmp(&value(&made[a])).then(a.cmp(&b)));
        let go_on = left.len().div_ceil(ETA);
        // What the search started from always goes on: nothing that is worse than it is chosen.
        left = order.into_iter().take(go_on).map(|place| left[place]).chain([0]).collect();
        left.sort_unstable();
        left.dedup();
    }
    let most = tuned.trials.iter().filter(|trial| trial.validation.is_some()).map(|trial| trial.share);
    let most = most.fold(0.0, f64::max);
    let finalists =
        (0..).zip(&tuned.trials).filter(|(_, trial)| trial.share == most && trial.validation.is_some());
    let best = finalists.max_by(|(i, a), (j, b)| value(a).total_cmp(&value(b)).then(j.cmp(i)));
    match best {
        Some((best, _)) => tuned.best = best,
        None => {
            let why = tuned.trials.first().and_then(|trial| trial.error.clone()).unwrap_or_default();
            return Err(Error::Params(format!("none of the settings that were tried can be trained: {why}")));
        }
    }
    Ok(tuned)
}

/// The settings that a search starts from: `auto` becomes a number that can vary.
fn start(kind: &MatchingKind, settings: &[(String, Json)]) -> Settings {
    let mut base = settings.to_vec();
    for (name, value) in (kind.search_start)() {
        if !base.iter().any(|(other, value)| *other == name && value.as_f64().is_some()) {
            base.retain(|(other, _)| *other != name);
            base.push((name, value));
        }
    }
    base
}

/// Tunes parameters of matching models.
pub struct Tuner<'a> {
    dataset: &'a Dataset,
    validation: &'a Validation,
    seed: u64,
    session: Session<'a>,
    /// Folds to train on, where the dataset has the pooled queries of them.
    folds: Option<&'a Arc<PooledQueries>>,
}

impl<'a> Tuner<'a> {
    /// Trains on a dataset and measures on its validation judgments. The seed is that of the search and of every training.
    pub fn new(dataset: &'a Dataset, validation: &'a Validation, seed: u64, session: Session<'a>) -> Self {
        Self { dataset, validation, seed, session, folds: None }
    }

    /// Trains on folds, and measures over all their queries.
    pub(crate) fn over(self, folds: Option<&'a Arc<PooledQueries>>) -> Self {
        Self { folds, ..self }
    }

    /// Finds the parameters of a kind of model that are best on the validation judgments. `settings` hold where
    /// nothing varies.
    pub fn tune(
        &self,
        kind: &str,
        settings: &[(String, Json)],
        how: &Search,
        progress: &dyn Progress,
    ) -> Result<TunedModel> {
        let Self { dataset, validation, seed, session, folds } = *self;
        let kind = Recipe::new(kind, settings)?.kind();
        let base = start(kind, settings);
        let full = Recipe::new(kind.name, &base)?;
        full.validate()?;
        check(&how.space, &full.params(), &|varied| {
            Recipe::new(kind.name, &over(&base, varied)).map(|_| ())
        })?;
        let mut depends_on = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "dataset": dataset.manifest.content_hash,
            "model": kind.name,
            "params": full.params(),
            "measure": validation.measure().to_string(),
            "ranked": validation.ranked(),
            "seed": seed,
        });
        if let Some(folds) = folds {
            depends_on["folds"] = json!(folds.n_folds());
        }
        let trace = session.open(&depends_on)?;
        let hold =
            kind.memory.is_none_or(|memory| memory(&Sizes::of(&dataset.manifest.statistics)) <= MOST_HELD);
        let mut held: Option<HeldTrial> = None;
        let tuned = search(how, seed, trace, session.stop, progress, &mut |varied, share| {
            let recipe = with_effort(kind, over(&base, varied), share)?;
            recipe.validate()?;
            let (model, cost) = timed(|| match folds {
                Some(folds) => Ok(Arc::new(folds.train(&recipe, seed, &Silent)?) as Arc<_>),
                None => recipe.train(&Training::new(dataset, seed, &Silent)),
            })?;
            let value = measure(&*model, dataset, validation)?;
            let is_better =
                |held: &HeldTrial| if how.higher_is_better { value > held.value } else { value < held.value };
            if hold && share == 1.0 && value.is_finite() && held.as_ref().is_none_or(is_better) {
                held = Some(HeldTrial { varied: varied.clone(), value, trained: (model, cost) });
            }
            Ok(value)
        })?;
        let recipe = Recipe::new(kind.name, &tuned.settings(&base))?;
        let is_best = |held: &HeldTrial| tuned.best().share == 1.0 && tuned.best().settings == held.varied;
        let model = held.filter(is_best).map(|held| held.trained);
        Ok(TunedModel { recipe, tuned, model })
    }
}

/// Most bytes that training may take, by its estimate, for a model to be held beside the other trials.
const MOST_HELD: f64 = 2e9;

/// The best model with the full effort so far.
struct HeldTrial {
    varied: Varied,
    value: f64,
    trained: (Arc<dyn MatchingModel>, Cost),
}

/// Returns an error for a name or a value that the model does not have: it would fail in every trial. `params` are
/// those that the search starts from, `make` makes the model with others in their place.
fn check(space: &Space, params: &Json, make: &dyn Fn(&Varied) -> Result<()>) -> Result<()> {
    let with = |name: &String, value: &Json| make(&[(name.clone(), value.clone())].into_iter().collect());
    for (name, axis) in &space.0 {
        match axis {
            Axis::List(values) => values.iter().try_for_each(|value| with(name, value))?,
            Axis::Range { .. } => {
                // An array is a path of numbers, such as that of lambda.
                if params.0.get(name).is_some_and(|value| !value.is_number() && !value.is_array()) {
                    return Err(Error::Params(format!(
                        "{name}: a range is for a parameter that is a number"
                    )));
                }
                with(name, &params.field(name).unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

/// A model with a share of the effort that its settings ask for.
fn with_effort(kind: &MatchingKind, mut settings: Settings, share: f64) -> Result<Recipe> {
    if share < 1.0
        && let Some((name, least)) = kind.effort
    {
        let params = Recipe::new(kind.name, &settings)?.params();
        lessen(&mut settings, name, least, share, &params);
    }
    Recipe::new(kind.name, &settings)
}

/// Effort that `auto` stands for at least: [`FEWEST_TUPLES`](crate::models::sparse_preference::FEWEST_TUPLES).
const AUTO_EFFORT: u64 = 100_000;

/// Sets a parameter to a share of its value, and not below `least`.
fn lessen(settings: &mut Settings, name: &str, least: u64, share: f64, params: &Json) {
    let value = params.0[name].as_f64().map_or(AUTO_EFFORT.max(least), |value| value as u64);
    let less = ((value as f64 * share).round() as u64).clamp(least.min(value), value);
    settings.retain(|(other, _)| other != name);
    settings.push((name.to_owned(), Json::of(&less)));
}

/// Measures a model on the validation judgments.
pub fn measure(model: &dyn MatchingModel, dataset: &Dataset, validation: &Validation) -> Result<f64> {
    let matcher = bind(model, dataset, validation.wanted(), &Silent)?;
    let mut scorer = matcher.begin(&validation.queries())?;
    validation.value(&mut *scorer)
}
