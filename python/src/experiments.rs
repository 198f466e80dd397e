//! Tuning, comparison and features of stacks.

use std::path::PathBuf;
use std::sync::Arc;

use matchrank_core::Error;
use matchrank_core::measure::Measure;
use matchrank_core::measure::significance::Test;
use matchrank_core::progress::Progress;
use matchrank_engine::comparison::{self, Comparison, Course, Data, Plan};
use matchrank_engine::dataset::{Dataset, HeldOut};
use matchrank_engine::json::Json;
use matchrank_engine::model_file::Provenance;
use matchrank_engine::models::stack::{Columns, JudgedQueries, MoreColumns, StackAttribute, list_columns};
use matchrank_engine::models::{MadeBy, MatchingModel, Recipe, Training};
use matchrank_engine::outputs::check_output_folder;
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryInput};
use matchrank_engine::rankers::{RankerRecipe, RankerTraining};
use matchrank_engine::report::{self as pages, ReportParams, ReportSource};
use matchrank_engine::settings::Settings;
use matchrank_engine::tuning::{Axis, RankerTuner, Search, Session, Space, Strategy, Tuned, Tuner};
use matchrank_engine::validation::{Ranked, Validation};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::datasets::{NativeDataset, holdout};
use crate::errors::{Raise, parameter};
use crate::kinds::settings;
use crate::lists::NativeLists;
use crate::models::NativeModel;
use crate::rankers::{NativeRanker, scalings};
use crate::running::run;

/// Arguments of a search, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    vary: Vec<(String, String)>,
    strategy: String,
    trials: usize,
    seconds: Option<f64>,
    measure: String,
    trace: Option<PathBuf>,
}

fn strategy(name: &str) -> matchrank_core::Result<Strategy> {
    match name {
        "grid" => Ok(Strategy::Grid),
        "random" => Ok(Strategy::Random),
        "halving" => Ok(Strategy::Halving),
        _ => Err(Error::Params(format!("strategy is '{name}'; expected grid, random or halving"))),
    }
}

impl SearchArguments {
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        let parsed: Self = serde_json::from_str(text).map_err(|error| {
            parameter(py, format!("an argument has a value that is not expected: {error}"))
        })?;
        if parsed.trials == 0 {
            return Err(parameter(py, "trials must be at least 1"));
        }
        Ok(parsed)
    }

    /// Builds the search: the axes that are named, or the usual ones of the parameters that are not given.
    fn search(&self, mut usual: Space, given: &Settings) -> matchrank_core::Result<(Search, Measure)> {
        let measure: Measure = self.measure.parse()?;
        let axes = self.vary.iter().map(|(name, values)| Ok((name.clone(), Axis::parse(values)?)));
        let axes = axes.collect::<matchrank_core::Result<Vec<_>>>()?;
        let n_usual = usual.0.len();
        usual.0.retain(|(name, _)| !given.iter().any(|(fixed, _)| fixed == name));
        if axes.is_empty() && usual.0.is_empty() && n_usual > 0 {
            return Err(Error::Params(
                "the model has a value for every parameter that is usually varied; name what varies with option `vary`".into(),
            ));
        }
        let search = Search {
            space: if axes.is_empty() { usual } else { Space(axes) },
            strategy: strategy(&self.strategy)?,
            trials: self.trials,
            seconds: self.seconds,
            higher_is_better: measure.higher_is_better(),
        };
        Ok((search, measure))
    }
}

fn tuned_json(params: &Json, measure: Measure, tuned: &Tuned) -> String {
    json!({
        "measure": measure.to_string(), "best": tuned.best(), "params": params, "trials": tuned.trials,
        "out_of_time": tuned.out_of_time,
    })
    .to_string()
}

/// Finds the parameters of a model that are best on the validation judgments, and trains it with them. Returns the trials
/// as JSON, and the model.
#[pyfunction]
#[pyo3(signature = (kind, given, dataset, arguments, seed, candidates=None))]
pub(crate) fn tune(
    py: Python<'_>,
    kind: String,
    given: &str,
    dataset: &NativeDataset,
    arguments: &str,
    seed: u64,
    candidates: Option<&str>,
) -> PyResult<(String, NativeModel)> {
    let given = settings(py, given)?;
    let arguments = SearchArguments::parse(py, arguments)?;
    let ranked = candidates.map(|name| crate::models::ranked(py, name)).transpose()?;
    let axes = Recipe::new(&kind, &given).raise(py)?.kind().space;
    let (search, measure) = arguments.search(Space::of_axes(axes), &given).raise(py)?;
    let dataset = dataset.0.clone();
    run(py, move |progress| {
        let validation = Validation::ranking(ranked, &dataset, seed, progress)?.ok_or_else(|| {
            Error::Params(
                "the dataset has no validation judgments; ingest with option `validation` or option `split`"
                    .into(),
            )
        })?;
        let validation = validation.by(measure);
        let stop = || progress.is_cancelled();
        let session = Session { trace: arguments.trace.as_deref(), replace: false, stop: &stop };
        let tuner = Tuner::new(&dataset, &validation, seed, session);
        let result = tuner.tune(&kind, &given, &search, progress)?;
        let recipe = &result.recipe;
        let model = match result.model() {
            Some(model) => model.clone(),
            None => recipe.train(&Training::new(&dataset, seed, progress))?,
        };
        let seeded = recipe.kind().is_seeded.then_some(seed);
        let time_limit = result.tuned.time_limit(&search);
        let provenance = Provenance { time_limit, ..Provenance::of_dataset(&dataset, seeded) };
        let provenance = provenance.made_by(Some(MadeBy::recipe(recipe)));
        Ok((tuned_json(&recipe.params(), measure, &result.tuned), NativeModel { model, provenance }))
    })
}

/// Finds the parameters of a ranker that are best on validation lists, and trains it with them.
#[pyfunction]
#[pyo3(signature = (kind, given, lists, validation, arguments, seed, scaling=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of Python have names")]
pub(crate) fn tune_ranker(
    py: Python<'_>,
    kind: String,
    given: &str,
    lists: &NativeLists,
    validation: &NativeLists,
    arguments: &str,
    seed: u64,
    scaling: Option<&str>,
) -> PyResult<(String, NativeRanker)> {
    let given = settings(py, given)?;
    let arguments = SearchArguments::parse(py, arguments)?;
    let scalings = scalings(py, scaling)?;
    RankerRecipe::new(&kind, &given, &scalings).and_then(|recipe| recipe.validate()).raise(py)?;
    let (search, measure) = arguments.search(Space::of_ranker(&kind), &given).raise(py)?;
    let (train, validation) = (lists.0.clone(), validation.0.clone());
    run(py, move |progress| {
        if arguments.trace.is_some() {
            return Err(Error::Params(
                "a trace is for models of a dataset; omit it for lists in memory".into(),
            ));
        }
        let columns = QueryColumns::Automatic;
        let training = RankerTraining { query: QueryInput::Columns(&columns), seed };
        let stop = || progress.is_cancelled();
        let tuner = RankerTuner {
            train: &train,
            validation: &validation,
            measure,
            scalings: &scalings,
            training,
            content: "",
            session: Session { trace: None, replace: false, stop: &stop },
        };
        let (recipe, tuned) = tuner.tune(&kind, &given, &search, progress)?;
        let chosen_by = Some(((*validation).clone(), measure));
        let model = recipe.train(training.on((*train).clone(), chosen_by), progress)?;
        let counts =
            [("lists", train.n_queries()), ("documents", train.n_rows()), ("features", train.n_features())];
        let provenance = Provenance {
            seed: Some(seed),
            data: counts.into_iter().map(|(name, n)| (name.to_owned(), Json::of(&n))).collect(),
            time_limit: tuned.time_limit(&search),
            ..Provenance::default()
        };
        Ok((tuned_json(&recipe.params(), measure, &tuned), NativeRanker { model, provenance }))
    })
}

/// A kind of model with its settings; a name alone stands for a kind, or for models made of others.
type KindWithSettings = (String, Settings);

/// Arguments of a comparison, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanArguments {
    models: Vec<(String, Option<KindWithSettings>)>,
    trials: Option<usize>,
    seconds: Option<f64>,
    minutes: Option<f64>,
    strategy: Option<String>,
    measures: Option<String>,
    tuned_by: Option<String>,
    candidates: Option<String>,
    folds: Option<usize>,
    significance: Option<String>,
}

impl PlanArguments {
    fn plan(self) -> matchrank_core::Result<Plan> {
        let mut plan = if self.models.is_empty() { Plan::usual() } else { Plan::default() };
        for (name, own) in self.models {
            match own {
                Some((kind, settings)) => plan.add_single(&name, &kind, settings)?,
                None => plan.add(&name)?,
            }
        }
        plan.trials = self.trials.unwrap_or(plan.trials);
        plan.seconds = self.seconds.or(plan.seconds);
        plan.shared_seconds = self.minutes.map(|minutes| 60.0 * minutes).or(plan.shared_seconds);
        if let Some(name) = self.strategy {
            plan.strategy = strategy(&name)?;
        }
        plan.ranked = match self.candidates.as_deref() {
            None => plan.ranked,
            Some("all") => Some(Ranked::All),
            Some("judged") => Some(Ranked::Judged),
            Some(other) => {
                return Err(Error::Params(format!("candidates is '{other}'; expected all or judged")));
            }
        };
        plan.folds = self.folds.or(plan.folds);
        if let Some(measures) = self.measures {
            plan.measures = Measure::parse_list(&measures)?;
        }
        if let Some(measure) = self.tuned_by {
            plan.tuned_by = measure.parse()?;
        }
        if let Some(test) = self.significance {
            plan.test = test.parse::<Test>()?;
        }
        plan.with_baseline().and_then(Plan::finish)
    }
}

/// Trains, tunes and measures models side by side. Returns the comparison as JSON.
#[pyfunction]
#[pyo3(signature = (dataset, arguments, out, seed, refit=None))]
pub(crate) fn compare(
    py: Python<'_>,
    dataset: &NativeDataset,
    arguments: &str,
    out: PathBuf,
    seed: u64,
    refit: Option<&NativeDataset>,
) -> PyResult<String> {
    let arguments: PlanArguments = serde_json::from_str(arguments)
        .map_err(|error| parameter(py, format!("an argument has a value that is not expected: {error}")))?;
    let plan = arguments.plan().raise(py)?;
    check_output_folder(&out).raise(py)?;
    let (dataset, refit) = (dataset.0.clone(), refit.map(|refit| refit.0.clone()));
    run(py, move |progress| {
        let data = Data { dataset: &dataset, refit: refit.as_deref() };
        let stop = || progress.is_cancelled();
        let course = Course { plan: &plan, folder: &out, seed, stop: &stop, progress };
        let comparison = comparison::compare(data, course)?;
        Ok(json!({ "comparison": comparison, "advice": comparison.advice() }).to_string())
    })
}

/// Opens the folder of a comparison. Returns the comparison as JSON.
#[pyfunction]
pub(crate) fn open_comparison(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    run(py, move |_| {
        let comparison = Comparison::open(&folder)?;
        Ok(json!({ "comparison": comparison, "advice": comparison.advice() }).to_string())
    })
}

/// Writes the report of a comparison. Returns the size of the page.
#[pyfunction]
#[pyo3(signature = (folder, out, dataset=None, baseline=None))]
pub(crate) fn report(
    py: Python<'_>,
    folder: PathBuf,
    out: PathBuf,
    dataset: Option<PathBuf>,
    baseline: Option<String>,
) -> PyResult<u64> {
    run(py, move |progress| {
        let comparison = Comparison::open(&folder)?;
        let of_dataset = dataset.or(comparison.data.folder);
        let dataset = of_dataset.as_deref().map(Dataset::open).transpose()?;
        let params = ReportParams { baseline, ..ReportParams::default() };
        pages::write(ReportSource { folder: &folder, dataset: dataset.as_ref() }, &out, &params, progress)
    })
}

/// Scores of models as columns of feature lists, for the judged queries of a split. Returns the lists and the names of the
/// columns.
#[pyfunction]
#[pyo3(signature = (dataset, parts, split, candidates=None, depth=None, clicks=false, attributes=false))]
#[allow(clippy::too_many_arguments, reason = "arguments of Python have names")]
pub(crate) fn features(
    py: Python<'_>,
    dataset: &NativeDataset,
    parts: Vec<(String, Py<NativeModel>)>,
    split: String,
    candidates: Option<&str>,
    depth: Option<usize>,
    clicks: bool,
    attributes: bool,
) -> PyResult<(NativeLists, Vec<String>)> {
    let ranked = match candidates {
        None => None,
        Some("judged") => Some(Ranked::Judged),
        Some("best") => Some(Ranked::All),
        Some(other) => {
            return Err(parameter(py, format!("candidates is '{other}'; expected judged or best")));
        }
    };
    if depth == Some(0) {
        return Err(parameter(py, "depth 0 leaves no document; give at least 1"));
    }
    let parts: Vec<(String, Arc<dyn MatchingModel>)> =
        parts.into_iter().map(|(name, part)| (name, part.get().model.clone())).collect();
    let dataset = dataset.0.clone();
    run(py, move |progress| {
        if split == "validation"
            && let Some((name, _)) = parts.iter().find(|(_, model)| model.has_learned_from_validation())
        {
            return Err(Error::Params(format!(
                "{name} is a stack, which has learned from the validation judgments: its scores would tell a ranker their \
                 grades; give its models"
            )));
        }
        let held_out = HeldOut::of(&dataset, holdout(&split)?)?;
        let models: Vec<&dyn MatchingModel> = parts.iter().map(|(_, model)| &**model).collect();
        let attributes = if attributes { StackAttribute::all_of(&dataset)? } else { Vec::new() };
        let more = MoreColumns { clicks, attributes: &attributes };
        let columns = Columns::bind(&models, &dataset, more, progress)?;
        let ranked = ranked.unwrap_or_else(|| Ranked::suiting_judgments(&held_out));
        if depth.is_some() && ranked == Ranked::Judged {
            return Err(Error::Params(
                "depth is for candidates='best'; here the judged documents are taken, as they are".into(),
            ));
        }
        let judged = JudgedQueries { held_out: &held_out, ranked, depth: depth.unwrap_or(100) };
        let lists = list_columns(&columns, &dataset, &judged, progress)?;
        if lists.n_rows() == 0 {
            return Err(Error::Params(format!(
                "none of the {split} queries has a document in its list; is the dataset split or judged?"
            )));
        }
        progress.note(match ranked {
            Ranked::Judged => "in the lists: the judged documents of each query",
            Ranked::All => "in the lists: the documents that one of the models has among its best",
        });
        let names = Columns::names(parts.iter().map(|(name, _)| name.as_str()), more);
        Ok((NativeLists(Arc::new(lists)), names))
    })
}
