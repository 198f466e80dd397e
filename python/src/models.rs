//! Matching models: trained, opened, saved, and bound to the documents of a dataset.

use std::any::Any;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use matchrank_engine::dataset::{Dataset, Query};
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Model, Provenance};
use matchrank_engine::models::combination::{Combination, CombinationParams};
use matchrank_engine::models::latent::LatentModel;
use matchrank_engine::models::stack::{Stack, StackParams, check_stack};
use matchrank_engine::models::{
    MadeBy, MatchingModel, Recipe, RelatedQuery, Training, bind, find_part, training_notes, validation_figure,
};
use matchrank_engine::ranking::{check_finite, rank_bound};
use matchrank_engine::scoring::Matcher;
use matchrank_engine::settings::params_from;
use matchrank_engine::text::normalise_query;
use matchrank_engine::validation::{NDCG_10, Ranked, Validation};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use self_cell::self_cell;
use serde_json::{Value, json};

use crate::datasets::{NativeDataset, unknown_document};
use crate::errors::{Raise, parameter};
use crate::kinds::settings;
use crate::rankers::NativeRanker;
use crate::rows::{Rows, counts, numbers, texts};
use crate::running::run;

/// A matching model with its provenance.
#[pyclass(frozen, module = "matchrank._matchrank")]
#[derive(Clone)]
pub(crate) struct NativeModel {
    pub(crate) model: Arc<dyn MatchingModel>,
    pub(crate) provenance: Provenance,
}

/// Makes a model with the provenance that the command line would write, and notes what the user should know.
fn finished(
    model: Arc<dyn MatchingModel>,
    (dataset, seed, is_seeded): (&Dataset, u64, bool),
    made_by: Option<MadeBy>,
    progress: &dyn Progress,
) -> Result<NativeModel> {
    training_notes(&*model, dataset, seed)?.iter().for_each(|note| progress.note(note));
    let provenance = Provenance::of_dataset(dataset, is_seeded.then_some(seed)).made_by(made_by);
    Ok(NativeModel { model, provenance })
}

/// Trains a model that learns from a dataset alone.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    kind: &str,
    given: &str,
    dataset: &NativeDataset,
    seed: u64,
) -> PyResult<NativeModel> {
    let recipe = Recipe::new(kind, &settings(py, given)?).raise(py)?;
    recipe.validate().raise(py)?;
    let dataset = dataset.0.clone();
    run(py, move |progress| {
        let model = recipe.train(&Training::new(&dataset, seed, progress))?;
        finished(model, (&dataset, seed, recipe.kind().is_seeded), Some(MadeBy::recipe(&recipe)), progress)
    })
}

type Parts = Vec<(String, NativeModel)>;

/// Returns how the parts were made, by name; `None` if that is not known of one.
fn made_parts(parts: &Parts) -> Option<Vec<(String, MadeBy)>> {
    parts.iter().map(|(name, part)| Some((name.clone(), part.provenance.made_by.clone()?))).collect()
}

fn note_other_datasets(parts: &Parts, dataset: &Dataset, progress: &dyn Progress) {
    for (name, part) in parts {
        let hash = part.provenance.data.get("content_hash").and_then(Json::as_str);
        if hash.is_some_and(|hash| hash != dataset.manifest.content_hash) {
            progress.note(&format!(
                "{name} was trained on another dataset; if that had clicks or judgments that are held out here, what is \
                 learned from its scores will be too good here, and worse elsewhere"
            ));
        }
    }
}

fn native_parts(parts: Vec<(String, Py<NativeModel>)>) -> Parts {
    parts.into_iter().map(|(name, part)| (name, part.get().clone())).collect()
}

/// Combines models with given weights, or with weights that are chosen on the validation judgments.
#[pyfunction]
#[pyo3(signature = (parts, given, dataset, seed, weights=None, candidates="all"))]
pub(crate) fn combine(
    py: Python<'_>,
    parts: Vec<(String, Py<NativeModel>)>,
    given: &str,
    dataset: &NativeDataset,
    seed: u64,
    weights: Option<Vec<f32>>,
    candidates: &str,
) -> PyResult<NativeModel> {
    let params: CombinationParams = params_from(&settings(py, given)?).raise(py)?;
    let parts = native_parts(parts);
    let ranked = ranked(py, candidates)?;
    let dataset = dataset.0.clone();
    run(py, move |progress| {
        let models: Vec<_> = parts.iter().map(|(_, part)| part.model.clone()).collect();
        let is_tuned = weights.is_none();
        let model = match weights {
            Some(weights) => Combination::new(models, weights)?,
            None => {
                let validation = Validation::ranking(Some(ranked), &dataset, seed, progress)?;
                let validation = validation.ok_or_else(|| {
                    Error::Params(
                        "the dataset has no validation judgments to find the weights with; give `weights`, or ingest \
                         with option `split` or option `validation`"
                            .into(),
                    )
                })?;
                Combination::tune(models, &params, (&dataset, &validation), progress)?
            }
        };
        let made_by = made_parts(&parts).map(|parts| MadeBy::combination(&params, &model, parts));
        finished(Arc::new(model), (&dataset, seed, is_tuned), made_by, progress)
    })
}

/// Returns the documents that a name stands for.
pub(crate) fn ranked(py: Python<'_>, name: &str) -> PyResult<Ranked> {
    match name {
        "all" => Ok(Ranked::All),
        "judged" => Ok(Ranked::Judged),
        _ => Err(parameter(py, format!("candidates is '{name}'; expected all or judged"))),
    }
}

/// Trains a ranker over the scores of models, or takes that of another stack of the same models.
#[pyfunction]
#[pyo3(signature = (parts, given, dataset, seed, ranker_of=None))]
pub(crate) fn stack(
    py: Python<'_>,
    parts: Vec<(String, Py<NativeModel>)>,
    given: &str,
    dataset: &NativeDataset,
    seed: u64,
    ranker_of: Option<&NativeModel>,
) -> PyResult<NativeModel> {
    let params: StackParams = params_from(&settings(py, given)?).raise(py)?;
    params.validate().raise(py)?;
    let parts = native_parts(parts);
    let dataset = dataset.0.clone();
    let former = ranker_of.map(|former| former.model.clone());
    run(py, move |progress| {
        note_other_datasets(&parts, &dataset, progress);
        let models = parts.iter().map(|(name, part)| (name.clone(), part.model.clone())).collect();
        let model = match &former {
            Some(former) => {
                let Some(stack) = (&**former as &dyn Any).downcast_ref::<Stack>() else {
                    return Err(Error::Params(format!(
                        "ranker_of is a {} model, not a stack",
                        former.kind()
                    )));
                };
                stack.clone().with_parts(models)?
            }
            None => {
                check_stack(&params, NDCG_10, &dataset)?;
                Stack::train(models, &params, NDCG_10, &Training::new(&dataset, seed, progress))?
            }
        };
        let made_by = made_parts(&parts).map(|parts| MadeBy::stack(&params, parts));
        finished(Arc::new(model), (&dataset, seed, former.is_none()), made_by, progress)
    })
}

fn opened(py: Python<'_>, (model, provenance): (Model, Provenance)) -> PyResult<Py<PyAny>> {
    match model {
        Model::Matching(model) => Ok(Py::new(py, NativeModel { model, provenance })?.into_any()),
        Model::Ranking(model) => Ok(Py::new(py, NativeRanker { model, provenance })?.into_any()),
    }
}

/// Opens a model file.
#[pyfunction]
pub(crate) fn open_model(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    let found = run(py, move |_| model_file::open(&path))?;
    opened(py, found)
}

/// Reads a model from the bytes of a file.
#[pyfunction]
pub(crate) fn from_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Py<PyAny>> {
    let found = run(py, move |_| model_file::from_bytes("the model", &bytes))?;
    opened(py, found)
}

#[pymethods]
impl NativeModel {
    /// Name of its kind.
    fn kind(&self) -> &'static str {
        self.model.kind()
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let own = self.clone();
        let bytes = run(py, move |_| model_file::to_bytes(&*own.model, &own.provenance))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let own = self.clone();
        run(py, move |_| model_file::save(&path, &*own.model, &own.provenance))
    }

    /// Provenance of the model, as JSON.
    fn provenance(&self) -> String {
        json!(self.provenance).to_string()
    }

    /// Facts, remarks and details, as JSON.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        let model = self.model.clone();
        run(py, move |_| Ok(description(&matchrank_engine::models::registry::describe(&*model)?)))
    }

    /// Settings that training chose on the validation judgments, as JSON.
    fn chosen(&self) -> String {
        let chosen: serde_json::Map<String, Value> =
            self.model.chosen().into_iter().map(|(name, value)| (name, json!(value))).collect();
        json!(chosen).to_string()
    }

    /// Figures that training reported on the way, as JSON.
    fn curves(&self) -> String {
        json!(self.model.curves()).to_string()
    }

    /// NDCG@10 on the validation judgments of a dataset; `None` without such judgments.
    fn validation(&self, py: Python<'_>, dataset: &NativeDataset, seed: u64) -> PyResult<Option<f64>> {
        let (model, dataset) = (self.model.clone(), dataset.0.clone());
        run(py, move |_| validation_figure(&*model, &dataset, seed))
    }

    /// The models that it is made of, by name.
    fn parts(&self) -> Vec<(String, Self)> {
        let part = |(name, part): (&str, &Arc<dyn MatchingModel>)| {
            (name.to_owned(), Self { model: part.clone(), provenance: Provenance::default() })
        };
        self.model.parts().into_iter().map(part).collect()
    }

    /// Words that go with some words: their table, the name of their value and the words that are not known.
    fn related(
        &self,
        py: Python<'_>,
        words: String,
        top: usize,
        min_documents: u32,
        is_reverse: bool,
    ) -> PyResult<(Rows, String, Option<Vec<String>>)> {
        let model = self.model.clone();
        run(py, move |_| {
            let query = RelatedQuery { words: &words, top, min_documents, is_reverse };
            let related = model.related(&query).ok_or_else(|| {
                Error::Params(format!("a {} model knows no words that could be related", model.kind()))
            })??;
            let words = &related.words;
            let rows = Rows::new(vec![
                ("word", texts(words.iter().map(|word| word.word.as_str()))),
                (related.value, numbers(words.iter().map(|word| word.value))),
                ("n_documents", counts(words.iter().map(|word| word.n_documents))),
            ])?;
            Ok((rows, related.value.to_owned(), related.unknown))
        })
    }

    /// Images of queries, one row each.
    #[pyo3(signature = (queries, dataset=None))]
    fn map_queries<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<String>,
        dataset: Option<&NativeDataset>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (model, dataset) = (self.model.clone(), dataset.map(|dataset| dataset.0.clone()));
        let n = queries.len();
        let (vectors, d) = run(py, move |progress| {
            let latent = latent(&*model)?;
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            Ok((latent.query_vectors(&queries, dataset.as_deref(), progress)?, latent.model.d()))
        })?;
        vectors.into_pyarray(py).reshape([n, d])
    }

    /// Images of all documents of a dataset, one row each.
    fn map_documents<'py>(
        &self,
        py: Python<'py>,
        dataset: &NativeDataset,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (model, dataset) = (self.model.clone(), dataset.0.clone());
        let (vectors, d) = run(py, move |progress| {
            let latent = latent(&*model)?;
            Ok((latent.document_vectors(&dataset, None, progress)?, latent.model.d()))
        })?;
        let n = vectors.len() / d.max(1);
        vectors.into_pyarray(py).reshape([n, d])
    }

    /// Binds the model to the documents of a dataset.
    fn bind(&self, py: Python<'_>, dataset: &NativeDataset) -> PyResult<NativeBound> {
        let (model, dataset) = (self.model.clone(), dataset.0.clone());
        run(py, move |progress| {
            let ids = dataset.document_ids()?;
            let matcher = BoundMatcher::try_new((model, dataset), |(model, dataset)| {
                bind(&**model, dataset, None, progress)
            })?;
            let numbers = ids.iter().cloned().zip(0..).collect();
            Ok(NativeBound(Arc::new(BoundModel { matcher, ids, numbers })))
        })
    }
}

fn latent(model: &dyn MatchingModel) -> Result<&LatentModel> {
    find_part::<LatentModel>(model).ok_or_else(|| {
        Error::Params(format!(
            "a {} model has no latent vectors; latent models such as rmls and pls have",
            model.kind()
        ))
    })
}

/// A description as JSON.
pub(crate) fn description(description: &matchrank_engine::description::Description) -> String {
    use matchrank_engine::description::Remark;
    let remark = |remark: &Remark| match remark {
        Remark::Text(text) => json!({ "text": text }),
        Remark::Table { title, header, rows } => json!({ "title": title, "header": header, "rows": rows }),
    };
    let remarks: Vec<Value> = description.remarks.iter().map(remark).collect();
    json!({ "facts": description.facts, "remarks": remarks, "details": description.details }).to_string()
}

type BoxedMatcher<'a> = Box<dyn Matcher + 'a>;

self_cell! {
    /// A model bound to a dataset, with both.
    struct BoundMatcher {
        owner: (Arc<dyn MatchingModel>, Arc<Dataset>),
        #[covariant]
        dependent: BoxedMatcher,
    }
}

struct BoundModel {
    matcher: BoundMatcher,
    ids: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl BoundModel {
    fn matcher(&self) -> &dyn Matcher {
        &**self.matcher.borrow_dependent()
    }
}

/// A model bound to the documents of a dataset.
#[pyclass(frozen, module = "matchrank._matchrank")]
pub(crate) struct NativeBound(Arc<BoundModel>);

#[pymethods]
impl NativeBound {
    /// The `k` best documents of each query, given by id and text.
    fn rank(&self, py: Python<'_>, queries: Vec<(String, String)>, k: usize) -> PyResult<Rows> {
        let bound = self.0.clone();
        run(py, move |progress| {
            let queries: Vec<Query> =
                queries.into_iter().map(|(id, text)| Query { id, text: normalise_query(&text) }).collect();
            let rankings = rank_bound(bound.matcher(), &bound.ids, (&queries, k), progress)?;
            let flat = || {
                rankings
                    .iter()
                    .flat_map(|(query, list)| (1..).zip(list).map(move |(rank, hit)| (query, rank, hit)))
            };
            Rows::new(vec![
                ("query", texts(flat().map(|(query, ..)| query.as_str()))),
                ("document", texts(flat().map(|(_, _, hit)| hit.0.as_str()))),
                ("rank", counts(flat().map(|(_, rank, _)| rank))),
                ("score", numbers(flat().map(|(_, _, hit)| hit.1))),
            ])
        })
    }

    /// Scores of documents, given by id, for each query, given by text: one list after the other. Documents that the
    /// model says nothing about get 0.
    fn score<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<String>,
        documents: Vec<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bound = self.0.clone();
        let scores: Vec<f32> = run(py, move |progress| {
            let matcher = bound.matcher();
            let number = |id: &String| {
                let found = bound.numbers.get(id).copied();
                found.ok_or_else(|| unknown_document(&bound.matcher.borrow_owner().1, id))
            };
            let numbers = documents.iter().map(|list| list.iter().map(number).collect::<Result<Vec<u32>>>());
            let numbers = numbers.collect::<Result<Vec<_>>>()?;
            let texts: Vec<String> = queries.iter().map(|text| normalise_query(text)).collect();
            progress.begin("scoring", Some(texts.len() as u64), "queries");
            let mut scores: Vec<f32> = Vec::with_capacity(numbers.iter().map(Vec::len).sum());
            let size = matcher.batch_size();
            for (texts, numbers) in texts.chunks(size).zip(numbers.chunks(size)) {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let scorer = matcher.begin(&texts)?;
                let of_lists: Vec<Vec<f32>> = numbers
                    .par_iter()
                    .enumerate()
                    .map(|(query, list)| {
                        let mut scores = vec![0.0; list.len()];
                        scorer.list(query, list, &mut scores);
                        scores.iter_mut().filter(|score| score.is_nan()).for_each(|score| *score = 0.0);
                        progress.advance(1);
                        scores
                    })
                    .collect();
                for (query, list) in texts.iter().zip(&of_lists) {
                    check_finite(query, list.iter().copied())?;
                }
                scores.extend(of_lists.into_iter().flatten());
            }
            Ok(scores)
        })?;
        Ok(scores.into_pyarray(py).into_any())
    }

    /// Explains the score of a document for a query, as JSON.
    fn explain(&self, py: Python<'_>, query: String, document: String) -> PyResult<String> {
        let bound = self.0.clone();
        run(py, move |_| {
            let Some(&number) = bound.numbers.get(&document) else {
                return Err(unknown_document(&bound.matcher.borrow_owner().1, &document));
            };
            let explanation = bound.matcher().explain(&query, number)?;
            Ok(json!(Json::of(&explanation)).to_string())
        })
    }
}
