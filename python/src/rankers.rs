//! Rankers of feature lists.

use std::sync::Arc;

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{Ranker, ScalingKind};
use matchrank_core::{Error, Result};
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryInput, QueryTable};
use matchrank_engine::rankers::{
    Cell, Importance, Lessons, RankerKind, RankerRecipe, RankingModel, Scalings, registry,
};
use matchrank_engine::ranking::check_finite;
use matchrank_engine::settings::Settings;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::errors::{Raise, parameter};
use crate::kinds::settings;
use crate::lists::NativeLists;
use crate::models::description;
use crate::running::run;

/// A trained ranker with its provenance.
#[pyclass(frozen, module = "matchrank._matchrank")]
#[derive(Clone)]
pub(crate) struct NativeRanker {
    pub(crate) model: Arc<dyn RankingModel>,
    pub(crate) provenance: Provenance,
}

/// Scalings that a name stands for.
pub(crate) fn scalings(py: Python<'_>, name: Option<&str>) -> PyResult<Vec<ScalingKind>> {
    use ScalingKind::{MinMax, None, QueryMinMax, QueryZScore, ZScore};
    Ok(match name {
        Option::None => Vec::new(),
        Some("auto") => vec![MinMax, ZScore, None, QueryMinMax, QueryZScore],
        Some("none") => vec![None],
        Some("z_score") => vec![ZScore],
        Some("min_max") => vec![MinMax],
        Some("query_z_score") => vec![QueryZScore],
        Some("query_min_max") => vec![QueryMinMax],
        Some(other) => {
            let message = format!(
                "scaling is '{other}'; expected auto, none, z_score, min_max, query_z_score or query_min_max"
            );
            return Err(parameter(py, message));
        }
    })
}

/// The ranker of a name with its settings. What validation would choose has a value of its own where there is none.
fn recipe(
    py: Python<'_>,
    (kind, mut given): (&str, Settings),
    scaling: Option<&str>,
    has_validation: bool,
) -> PyResult<RankerRecipe> {
    let found: Option<&RankerKind> = registry::find(kind);
    let scalings = scalings(py, scaling)?;
    if let Some(kind) = found {
        if kind.takes.scalings == Scalings::One && scalings.len() > 1 {
            return Err(parameter(py, "scaling='auto' is for rankers with one function; name one scaling"));
        }
        if let Some(chosen) = kind.chosen.filter(|_| !has_validation)
            && given.iter().all(|(name, _)| name != chosen.param)
            && let Some(value) = chosen.otherwise
        {
            given.push((chosen.param.to_owned(), Json::of(&value)));
        }
    }
    let recipe = RankerRecipe::new(kind, &given, &scalings).raise(py)?;
    recipe.validate().raise(py)?;
    Ok(recipe)
}

/// Trains a ranker. `query_features` is the name and the text of a table of query features.
#[pyfunction]
#[pyo3(signature = (kind, given, lists, seed, scaling=None, validation=None, measure="ndcg@10", query_weights=None, query_columns=None, query_features=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of Python have names")]
pub(crate) fn train_ranker(
    py: Python<'_>,
    kind: &str,
    given: &str,
    lists: &NativeLists,
    seed: u64,
    scaling: Option<&str>,
    validation: Option<&NativeLists>,
    measure: &str,
    query_weights: Option<Vec<f64>>,
    query_columns: Option<Vec<u32>>,
    query_features: Option<(String, String)>,
) -> PyResult<NativeRanker> {
    let recipe = recipe(py, (kind, settings(py, given)?), scaling, validation.is_some())?;
    let measure: Measure = measure.parse().raise(py)?;
    let table = query_features.map(|(name, text)| QueryTable::parse(&name, &text)).transpose().raise(py)?;
    let takes = &recipe.kind().takes;
    if query_weights.is_some() && !takes.query_weights {
        let others = registry::names_of(|kind| kind.takes.query_weights);
        return Err(parameter(py, format!("{kind} does not take weights of queries; {others} do")));
    }
    if (table.is_some() || query_columns.is_some()) && !takes.query_features {
        let others = registry::names_of(|kind| kind.takes.query_features);
        return Err(parameter(py, format!("{kind} does not take query features; {others} does")));
    }
    let (lists, validation) = (lists.0.clone(), validation.map(|validation| validation.0.clone()));
    run(py, move |progress| {
        if let Some(validation) = &validation {
            check_validation(validation, &lists, progress)?;
        }
        let counts =
            [("lists", lists.n_queries()), ("documents", lists.n_rows()), ("features", lists.n_features())];
        let columns = query_columns.map_or(QueryColumns::Automatic, QueryColumns::Named);
        let mut lessons = Lessons::new(Arc::unwrap_or_clone(lists));
        lessons.validation = validation.map(|validation| (Arc::unwrap_or_clone(validation), measure));
        lessons.query_weights = query_weights.as_deref();
        lessons.query = table.as_ref().map_or(QueryInput::Columns(&columns), QueryInput::Table);
        lessons.seed = seed;
        let model = recipe.train(lessons, progress)?;
        model.course(&measure.to_string()).notes.iter().for_each(|note| progress.note(note));
        let provenance = Provenance {
            seed: recipe.kind().is_seeded.then_some(seed),
            data: counts.into_iter().map(|(name, n)| (name.to_owned(), Json::of(&n))).collect(),
            ..Provenance::default()
        };
        Ok(NativeRanker { model, provenance })
    })
}

/// Returns an error if lists cannot tell which ranker is better.
fn check_validation(lists: &FeatureLists, train: &FeatureLists, progress: &dyn Progress) -> Result<()> {
    if !lists.labels().iter().any(|&grade| grade > 0.0) {
        return Err(Error::Params(
            "no document of the validation lists (eval_set) has a grade above 0".into(),
        ));
    }
    if lists.n_features() != train.n_features() {
        progress.note(&format!(
            "the validation lists have {} features, and the training lists {}",
            lists.n_features(),
            train.n_features()
        ));
    }
    Ok(())
}

#[pymethods]
impl NativeRanker {
    /// Name of its kind.
    fn kind(&self) -> &'static str {
        self.model.kind().name
    }

    /// Number of features that the ranker knows.
    fn n_features(&self) -> usize {
        self.model.n_features()
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let own = self.clone();
        let bytes = run(py, move |_| model_file::to_bytes(&*own.model, &own.provenance))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        let own = self.clone();
        run(py, move |_| model_file::save(&path, &*own.model, &own.provenance))
    }

    /// Provenance of the ranker, as JSON.
    fn provenance(&self) -> String {
        json!(self.provenance).to_string()
    }

    /// Facts, remarks and details, as JSON.
    fn describe(&self) -> String {
        description(&registry::describe(&*self.model))
    }

    /// All parameters with what validation chose, as JSON.
    fn settled(&self) -> String {
        json!(self.model.settled().params()).to_string()
    }

    /// Validation figure of what was kept; `None` without validation lists.
    fn validated(&self) -> Option<f64> {
        self.model.validated()
    }

    /// What training tried, as JSON: header and rows of a table.
    fn course(&self, measure: &str) -> String {
        let course = self.model.course(measure);
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => json!(text),
            Cell::Count(n) => json!(n),
        };
        let rows: Vec<Vec<Value>> =
            course.rows.iter().map(|row| row.cells.iter().map(cell).collect()).collect();
        json!({ "header": course.header, "rows": rows, "closing": course.closing, "details": course.details })
            .to_string()
    }

    /// Name and values of the importance of features inside the model; `None` where that differs from query to query.
    fn importance<'py>(&self, py: Python<'py>) -> Option<(&'static str, Bound<'py, PyArray1<f64>>)> {
        let (name, values) = match self.model.importance()? {
            Importance::Weights(values) => ("weights", values),
            Importance::Gains(values) => ("gains", values),
        };
        Some((name, values.into_pyarray(py)))
    }

    /// Scores of all rows of lists. `query_features` is the name and the text of a table of query features.
    #[pyo3(signature = (lists, query_features=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        lists: &NativeLists,
        query_features: Option<(String, String)>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (mut model, lists) = (self.model.clone(), lists.0.clone());
        let scores = run(py, move |progress| {
            model.kind().require_complete(&lists)?;
            if let Some((name, text)) = query_features {
                let informed = model.with_queries(&QueryTable::parse(&name, &text)?, &lists)?;
                model = informed.ok_or_else(|| {
                    Error::Params("the weights of this model need no query features".into())
                })?;
            }
            let scores = model.score_all(&lists);
            model.notes_on(&lists)?.iter().for_each(|note| progress.note(note));
            for list in lists.iter() {
                check_finite(list.query(), scores[list.rows()].iter().map(|&score| score as f32))?;
            }
            Ok(scores)
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// Contribution of each feature to the score of a row, beside a base: weights times values, or Shapley values over the
    /// list.
    fn contributions<'py>(
        &self,
        py: Python<'py>,
        lists: &NativeLists,
        row: usize,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let (model, lists) = (self.model.clone(), lists.0.clone());
        let (base, adds) = run(py, move |_| {
            let list = lists.iter().find(|list| list.rows().contains(&row));
            let list = list.ok_or_else(|| Error::Params(format!("there is no row {row}")))?;
            let place = row - list.rows().start;
            match model.contributions(&list, place)? {
                Some(contributions) => {
                    let mut adds = vec![0.0; model.n_features()];
                    contributions.iter().for_each(|part| adds[part.feature as usize] = part.adds);
                    Ok((0.0, adds))
                }
                None => {
                    let references: Vec<usize> = (0..list.len()).collect();
                    let shapley = model.shapley(&list, place, &references)?;
                    Ok((shapley.base, shapley.adds))
                }
            }
        })?;
        Ok((base, adds.into_pyarray(py)))
    }
}
