//! Export to search engines: synonyms and weights of linear rankers.

use std::sync::Arc;

use matchrank_core::{Error, Result};
use matchrank_engine::models::find_part;
use matchrank_engine::models::sparse_preference::{
    PreferenceModel, SynonymFormat, strongest, whole_words, word_pairs, write_pairs,
};
use matchrank_engine::rankers::linear::elasticsearch::{check, linear_model, some_lists};
use pyo3::prelude::*;
use serde_json::json;

use crate::datasets::NativeDataset;
use crate::errors::parameter;
use crate::models::NativeModel;
use crate::rankers::NativeRanker;
use crate::running::run;

/// Pairs of words that a model relates, as the text of a file for search engines.
#[pyfunction]
#[pyo3(signature = (model, format, threshold, top, dataset=None, min_support=3))]
pub(crate) fn synonyms(
    py: Python<'_>,
    model: &NativeModel,
    format: &str,
    threshold: f32,
    top: usize,
    dataset: Option<&NativeDataset>,
    min_support: u32,
) -> PyResult<String> {
    let format = match format {
        "solr" => SynonymFormat::Solr,
        "csv" => SynonymFormat::Csv,
        other => return Err(parameter(py, format!("format is '{other}'; expected solr or csv"))),
    };
    if threshold.is_nan() || threshold < 0.0 {
        return Err(parameter(py, "threshold must be 0 or more"));
    }
    let (model, dataset) = (model.model.clone(), dataset.map(|dataset| dataset.0.clone()));
    run(py, move |_| {
        let Some(preference) = find_part::<PreferenceModel>(&*model) else {
            return Err(Error::Params(format!(
                "a {} model has no weights of pairs of words; models of sparse-preference have",
                model.kind()
            )));
        };
        let mut pairs = word_pairs(preference, threshold, format);
        match &dataset {
            Some(dataset) => pairs = whole_words(preference, pairs, dataset, min_support)?.pairs,
            None if format == SynonymFormat::Solr => {
                return Err(Error::Params(
                    "the words of a model are stems, which search engines do not know; give the dataset that the model was \
                     trained on to write whole words (format='csv' lists the stems without it)"
                        .into(),
                ));
            }
            None => {}
        }
        let pairs = strongest(pairs, top);
        if pairs.is_empty() {
            return Err(Error::Params(format!(
                "no pair of words is left with a weight of {threshold} or more; train with more clicks, or lower threshold \
                 or min_support"
            )));
        }
        Ok(write_pairs(&pairs, format))
    })
}

/// A linear ranker for the learning-to-rank plugin of Elasticsearch, as JSON.
#[pyfunction]
#[pyo3(signature = (ranker, name, features=None))]
pub(crate) fn elasticsearch(
    py: Python<'_>,
    ranker: &NativeRanker,
    name: String,
    features: Option<Vec<String>>,
) -> PyResult<String> {
    let model = Arc::clone(&ranker.model);
    run(py, move |_| -> Result<String> {
        let ranker = model.linear().ok_or_else(|| {
            Error::Params(format!("a {} model does not have one weight for each feature", model.kind().name))
        })?;
        let n = ranker.weights.len();
        let features = features.unwrap_or_else(|| (1..=n).map(|i| format!("feature_{i}")).collect());
        if features.len() != n {
            return Err(Error::Shape(format!(
                "{} names of features were given; {n} are expected",
                features.len()
            )));
        }
        let exported = linear_model(ranker, &name, &features)?;
        check(ranker, &exported, &features, &some_lists(ranker))?;
        serde_json::to_string_pretty(&json!(exported))
            .map_err(|error| Error::Params(format!("the model cannot be written: {error}")))
    })
}
