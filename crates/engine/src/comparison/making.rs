//! Making a model of a plan: tuned, trained, and retrained if there is more data.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use matchrank_core::message::counted;
use matchrank_core::progress::{Silent, WithoutNotes};
use matchrank_core::{Error, Result};
use serde_json::{Value, json};

use super::course::Course;
use super::curves::{of_model, of_trials};
use super::plan::{Planned, What};
use super::remaining::{Expected, work_of_trial};
use super::results::{Comparison, file_name};
use crate::dataset::Dataset;
use crate::description::Curve;
use crate::memory::{Cost, timed};
use crate::model_file::{self, Provenance, TimeLimit};
use crate::models::combination::Combination;
use crate::models::folded::{FoldedModel, PooledQueries};
use crate::models::stack::{Stack, StackCandidates, StackParams};
use crate::models::{MadeBy, MatchingModel, Recipe, Training, bind, combination, registry, stack};
use crate::tuning::{Search, Session, Space, Trial, TunedModel, Tuner};
use crate::validation::{Ranked, Validation};

/// Data on which models are chosen and trained.
#[derive(Clone, Copy)]
pub(super) struct Making<'a> {
    pub(super) course: Course<'a>,
    /// Dataset on which everything is chosen.
    pub(super) dataset: &'a Dataset,
    pub(super) validation: &'a Validation,
    /// Dataset for the final training, if it differs.
    pub(super) refit: Option<&'a Dataset>,
    /// Folds over which everything is chosen, if it is: `dataset` then has their queries for validation, and `refit` for
    /// training.
    pub(super) folds: Option<&'a Arc<PooledQueries>>,
    pub(super) started: Instant,
}

/// A model with what choosing and training it took.
pub(super) struct MadeModel {
    pub(super) model: Arc<dyn MatchingModel>,
    pub(super) params: Value,
    pub(super) validation: f64,
    /// The measure of every validation query, by its id.
    pub(super) values: Vec<(String, f64)>,
    pub(super) n_trials: usize,
    /// Curves of tuning and training.
    pub(super) curves: Vec<Curve>,
    pub(super) seconds: f64,
    pub(super) tuning_seconds: f64,
    pub(super) peak_mib: Option<f64>,
    /// Limit of the time for choosing it, if there was one.
    pub(super) time_limit: Option<TimeLimit>,
}

/// A model that learned from the training data alone, and how it learns from more.
struct ChosenModel {
    model: Arc<dyn MatchingModel>,
    /// None for combinations and stacks, which learned from the validation judgments.
    recipe: Option<Recipe>,
    params: Value,
    validation: f64,
    values: Vec<(String, f64)>,
    trials: Vec<Trial>,
    tuning_seconds: f64,
    time_limit: Option<TimeLimit>,
}

/// Recipe of a model, and the time limit of its tuning.
#[derive(Clone)]
struct ModelOrigin {
    made_by: Option<MadeBy>,
    time_limit: Option<TimeLimit>,
}

impl Making<'_> {
    /// Returns the search of a single model.
    pub(super) fn search(&self, planned: &Planned, kind: &str) -> Search {
        let plan = self.course.plan;
        Search {
            space: planned.space.clone().unwrap_or_else(|| default_space(kind)),
            strategy: plan.strategy,
            trials: planned.trials.unwrap_or(plan.trials),
            seconds: plan.seconds,
            higher_is_better: plan.tuned_by.higher_is_better(),
        }
    }

    /// Returns the work that a model is expected to take.
    pub(super) fn expected(&self, planned: &Planned) -> Expected {
        let plan = self.course.plan;
        let kind = match &planned.what {
            What::Single { kind, .. } => kind,
            What::Combination { .. } => combination::KIND.name,
            What::Stack { .. } => stack::KIND.name,
        };
        let known = registry::find(kind);
        let (rounds, limit) = match &planned.what {
            What::Single { kind, .. } => {
                let how = self.search(planned, kind);
                let work = |share: f64| {
                    if known.is_some_and(|kind| kind.effort.is_some()) { work_of_trial(share) } else { 1.0 }
                };
                let rounds = if how.tunes() { how.rounds() } else { vec![(1, 1.0)] };
                let rounds = rounds.into_iter().map(|(trials, share)| (trials, work(share))).collect();
                let is_tuned = |other: &&Planned| matches!(other.what, What::Single { .. });
                let n_tuned = plan.models.iter().filter(is_tuned).count().max(1);
                (rounds, plan.shared_seconds.map(|shared| shared / n_tuned as f64).or(how.seconds))
            }
            // Scores of every part.
            _ => (vec![(1, planned.parts().len() as f64 / 2.0)], None),
        };
        Expected { kind: kind.to_owned(), cost: known.map_or(1.0, |kind| kind.cost), rounds, limit }
    }

    /// Seconds for the tuning of a model, where all share a time: an equal part of what is left, for it and those after it.
    fn shared_seconds(&self, planned: &Planned) -> Option<f64> {
        let plan = self.course.plan;
        let left = (plan.shared_seconds? - self.started.elapsed().as_secs_f64()).max(0.0);
        let from = plan.models.iter().position(|other| other.name == planned.name).unwrap_or(0);
        let is_tuned = |other: &&Planned| matches!(other.what, What::Single { .. });
        Some(left / plan.models[from..].iter().filter(is_tuned).count().max(1) as f64)
    }

    /// The data that the models of the table learned from.
    pub(super) fn learned_from(&self) -> &Dataset {
        self.refit.unwrap_or(self.dataset)
    }

    /// Makes a model and its file; none where tuning was stopped.
    pub(super) fn make(&self, planned: &Planned) -> Result<Option<MadeModel>> {
        let Course { plan, folder, seed, progress, .. } = self.course;
        let name = &planned.name;
        let Some((choice, mut cost)) = self.choose(planned)? else { return Ok(None) };
        let ChosenModel {
            mut model,
            recipe,
            mut params,
            validation,
            values,
            trials,
            tuning_seconds,
            time_limit,
        } = choice;
        let mut curves = of_model(&*model);
        curves.extend(of_trials(&trials, &plan.tuned_by.to_string()));
        let origin = ModelOrigin { made_by: self.made_by(planned, &recipe, &*model), time_limit };
        if let Some(more) = self.refit {
            match recipe {
                Some(recipe) => {
                    progress.note(&format!("{name}: training again on {}", more.folder().display()));
                    let settled = recipe.settled(&*model)?;
                    params = settled.params().0;
                    let quiet = WithoutNotes(progress);
                    let (again, its_cost) = timed(|| settled.train(&Training::new(more, seed, &quiet)))?;
                    Comparison::forget(folder, name)?;
                    self.save_chosen(name, &*model, &origin)?;
                    (model, cost) = (again, its_cost);
                }
                None => {
                    Comparison::forget(folder, name)?;
                    self.save_chosen(name, &*model, &origin)?;
                    model = self.with_parts_again(&*model, planned)?;
                }
            }
        }
        Comparison::forget(folder, name)?;
        self.save(&Comparison::model(folder, name), &*model, self.learned_from(), &origin)?;
        let Cost { seconds, peak_mib } = cost;
        let n_trials = trials.len();
        Ok(Some(MadeModel {
            model,
            params,
            validation,
            values,
            n_trials,
            curves,
            seconds,
            tuning_seconds,
            peak_mib,
            time_limit,
        }))
    }

    fn save(
        &self,
        path: &Path,
        model: &dyn MatchingModel,
        dataset: &Dataset,
        origin: &ModelOrigin,
    ) -> Result<()> {
        let seeded = registry::find(model.kind()).is_none_or(|kind| kind.is_seeded);
        let provenance = Provenance::of_dataset(dataset, seeded.then_some(self.course.seed));
        let ModelOrigin { made_by, time_limit } = origin.clone();
        model_file::save(path, model, &Provenance { made_by, time_limit, ..provenance })
    }

    /// Returns the recipe from which `refresh` trains the model again; `None` if a part has no recipe.
    fn made_by(
        &self,
        planned: &Planned,
        recipe: &Option<Recipe>,
        model: &dyn MatchingModel,
    ) -> Option<MadeBy> {
        let parts = |of: &[String]| -> Option<Vec<(String, MadeBy)>> {
            let file = |name: &String| Comparison::model(self.course.folder, name);
            of.iter()
                .map(|name| Some((name.clone(), model_file::load(&file(name)).ok()?.1.made_by?)))
                .collect()
        };
        match &planned.what {
            What::Single { .. } => recipe.as_ref().map(MadeBy::recipe),
            What::Combination { of, params } => {
                let combination: &Combination = (model as &dyn Any).downcast_ref()?;
                Some(MadeBy::combination(params, combination, parts(of)?))
            }
            What::Stack { of, params } => Some(MadeBy::stack(params, parts(of)?)),
        }
    }

    /// The limit of time of the models that a sum or a stack is made of, reached if any of them reached it.
    fn limit_of(&self, parts: &[String]) -> Result<Option<TimeLimit>> {
        let mut limit: Option<TimeLimit> = None;
        for part in parts {
            let (_, provenance) = model_file::load(&Comparison::model(self.course.folder, part))?;
            let reached = limit.is_some_and(|limit| limit.reached);
            let own = provenance.time_limit.map(|own| TimeLimit { reached: own.reached || reached, ..own });
            limit = own.or(limit);
        }
        Ok(limit)
    }

    /// Saves a model as it was when everything was chosen; over folds, the model of each. What is made of these is made of
    /// them again where it is needed.
    fn save_chosen(&self, name: &str, model: &dyn MatchingModel, origin: &ModelOrigin) -> Result<()> {
        let folder = self.course.folder;
        let Some(folds) = self.folds else {
            return self.save(&Comparison::chosen_model(folder, name), model, self.dataset, origin);
        };
        if let Some(folded) = (model as &dyn Any).downcast_ref::<FoldedModel>() {
            for ((fold, model), dataset) in (1..).zip(&folded.models).zip(folds.datasets()) {
                self.save(&Comparison::chosen_fold(folder, name, fold), &**model, dataset, origin)?;
            }
        }
        Ok(())
    }

    /// Files of a model as it was when everything was chosen.
    pub(super) fn chosen_files(&self, planned: &Planned) -> Vec<PathBuf> {
        let (folder, name) = (self.course.folder, &planned.name);
        match (self.refit, self.folds, &planned.what) {
            (None, ..) => Vec::new(),
            (_, None, _) => vec![Comparison::chosen_model(folder, name)],
            (_, Some(folds), What::Single { .. }) => {
                (1..=folds.n_folds()).map(|fold| Comparison::chosen_fold(folder, name, fold)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A combination or a stack over its models as they are after learning from more data.
    fn with_parts_again(
        &self,
        model: &dyn MatchingModel,
        planned: &Planned,
    ) -> Result<Arc<dyn MatchingModel>> {
        let part = |name: &String| Ok(model_file::load(&Comparison::model(self.course.folder, name))?.0);
        let model: &dyn Any = model;
        Ok(match &planned.what {
            What::Combination { of, .. } => {
                let sum: &Combination = model.downcast_ref().expect("a combination was tuned");
                Arc::new(sum.clone().with_models(of.iter().map(part).collect::<Result<_>>()?)?)
            }
            What::Stack { of, .. } => {
                let stack: &Stack = model.downcast_ref().expect("a stack was trained");
                let parts = of.iter().map(|name| Ok((name.clone(), part(name)?))).collect::<Result<_>>()?;
                Arc::new(stack.clone().with_parts(parts)?)
            }
            What::Single { kind, .. } => unreachable!("a {kind} has a recipe"),
        })
    }

    fn choose(&self, planned: &Planned) -> Result<Option<(ChosenModel, Cost)>> {
        let Self { dataset, validation, .. } = *self;
        let Course { plan, seed, progress, .. } = self.course;
        let name = &planned.name;
        let training = &WithoutNotes(progress);
        match &planned.what {
            What::Single { kind, settings } => {
                let how = self.search(planned, kind);
                let how = Search { seconds: self.shared_seconds(planned).or(how.seconds), ..how };
                let (recipe, trials, trained, time_limit) = if how.tunes() {
                    progress.note(&format!("{name}: tuning by {} on the validation queries", plan.tuned_by));
                    let trace = self.trace(name);
                    let session =
                        Session { trace: Some(trace.as_path()), replace: true, stop: self.course.stop };
                    let tuner = Tuner::new(dataset, validation, seed, session).over(self.folds);
                    let TunedModel { recipe, tuned, model } = tuner.tune(kind, settings, &how, progress)?;
                    if tuned.stopped {
                        return Ok(None);
                    }
                    // A share of the time depends on what the models before it took; the whole was asked for.
                    let shared = plan.shared_seconds;
                    let limit = tuned.time_limit(&how).map(|own| TimeLimit {
                        seconds: shared.unwrap_or(own.seconds),
                        is_shared: shared.is_some(),
                        ..own
                    });
                    (recipe, tuned.trials, model, limit)
                } else {
                    (Recipe::new(kind, settings)?, Vec::new(), None, None)
                };
                // Trials that were made before an interruption count, too.
                let tuning_seconds = trials.iter().map(|trial| trial.seconds).sum();
                let (model, cost) = match trained {
                    Some(trained) => trained,
                    None => timed(|| match self.folds {
                        Some(folds) => Ok(Arc::new(folds.train(&recipe, seed, training)?) as Arc<_>),
                        None => recipe.train(&Training::new(dataset, seed, training)),
                    })?,
                };
                let (value, values) = measured(&*model, dataset, validation)?;
                let (params, recipe) = (recipe.params().0, Some(recipe));
                let choice = ChosenModel {
                    model,
                    recipe,
                    params,
                    validation: value,
                    values,
                    trials,
                    tuning_seconds,
                    time_limit,
                };
                Ok(Some((choice, cost)))
            }
            What::Combination { of, params } => {
                progress.note(&format!("{name}: finding the weights on the validation queries"));
                let models = of.iter().map(|part| self.load(part)).collect::<Result<_>>()?;
                let (sum, cost) =
                    timed(|| Combination::tune(models, params, (dataset, validation), training))?;
                let mut params = json!({ "weights": sum.weights, "of": of, "rule": sum.rule });
                if let [weight, _] = sum.weights[..] {
                    params["weight"] = json!(weight);
                }
                let model = Arc::new(sum);
                let measured = measured(&*model, dataset, validation)?;
                Ok(Some((ChosenModel::of_parts(model, params, measured, self.limit_of(of)?), cost)))
            }
            What::Stack { of: parts, params } => {
                progress.note(&format!(
                    "{name}: stacking {} on the validation queries",
                    counted(parts.len(), "model")
                ));
                let models: Vec<(String, Arc<dyn MatchingModel>)> =
                    parts.iter().map(|part| Ok((part.clone(), self.load(part)?))).collect::<Result<_>>()?;
                let candidates = match validation.ranked() {
                    Ranked::Judged => StackCandidates::Judged,
                    Ranked::All => StackCandidates::All,
                };
                let params = &StackParams { candidates, ..*params };
                let (stack, cost) = timed(|| {
                    Stack::train(models, params, plan.tuned_by, &Training::new(dataset, seed, training))
                })?;
                // Queries of the validation are ranked by rankers that have not seen them.
                let measured =
                    stack.kept().map_or((0.0, Vec::new()), |kept| (kept.validation, kept.values.clone()));
                let params = json!({ "of": parts, "kept": stack.kept(), "stack": params });
                let time_limit = self.limit_of(parts)?;
                Ok(Some((ChosenModel::of_parts(Arc::new(stack), params, measured, time_limit), cost)))
            }
        }
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.course.folder.join("traces").join(format!("{}.jsonl", file_name(name)))
    }

    /// A model as it was when everything was chosen.
    fn load(&self, name: &str) -> Result<Arc<dyn MatchingModel>> {
        let Course { folder, plan, .. } = self.course;
        let load = |path: &Path| Ok(model_file::load(path)?.0);
        let Some(folds) = self.folds else {
            return load(&match self.refit {
                Some(_) => Comparison::chosen_model(folder, name),
                None => Comparison::model(folder, name),
            });
        };
        let planned = plan.models.iter().find(|planned| planned.name == name).expect("parts are planned");
        if let What::Combination { of, .. } = &planned.what {
            let model = load(&Comparison::model(folder, name))?;
            let sum: &Combination = (&*model as &dyn Any)
                .downcast_ref()
                .ok_or_else(|| Error::Params(format!("{name} is no combination")))?;
            let parts = of.iter().map(|part| self.load(part)).collect::<Result<_>>()?;
            return Ok(Arc::new(sum.clone().with_models(parts)?));
        }
        let models = self.chosen_files(planned).iter().map(|path| load(path)).collect::<Result<_>>()?;
        Ok(Arc::new(FoldedModel::new(folds.clone(), models)?))
    }
}

/// The search space of a kind, where a plan has none of its own.
fn default_space(kind: &str) -> Space {
    Space::of_axes(registry::find(kind).map_or(&[], |kind| kind.space))
}

impl ChosenModel {
    fn of_parts(
        model: Arc<dyn MatchingModel>,
        params: Value,
        (validation, values): (f64, Vec<(String, f64)>),
        time_limit: Option<TimeLimit>,
    ) -> Self {
        Self {
            model,
            recipe: None,
            params,
            validation,
            values,
            trials: Vec::new(),
            tuning_seconds: 0.0,
            time_limit,
        }
    }
}

/// The figure of a model on the validation queries, and its value for every query by its id.
fn measured(
    model: &dyn MatchingModel,
    dataset: &Dataset,
    validation: &Validation,
) -> Result<(f64, Vec<(String, f64)>)> {
    let matcher = bind(model, dataset, validation.wanted(), &Silent)?;
    let mut scorer = matcher.begin(&validation.queries())?;
    let values = validation.by_query(&mut *scorer)?;
    let named = validation.ids().iter().zip(values).filter_map(|(id, value)| Some((id.clone(), value?)));
    Ok((validation.value(&mut *scorer)?, named.collect()))
}
