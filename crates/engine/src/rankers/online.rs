//! A perceptron that goes on learning, one list a line.
//!
//! A line is JSON: `{"query": "q1", "weight": 1, "documents": [{"id": "d1", "grade": 2, "features": ...}, ...]}`. Features
//! are an array, from feature 1 on, or an object from number to value, such as `{"1": 0.5, "17": 3}`; one that is not
//! there, or null, is 0. `query`, `weight` and `id` may be left out.

use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_core::ranking::perceptron::Perceptron;
use matchrank_core::{Error, Result};
use serde::Deserialize;

use super::{RankerModel, RankerParams};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(default, borrow)]
    query: Option<std::borrow::Cow<'a, str>>,
    #[serde(default = "one")]
    weight: f64,
    documents: Vec<Document>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    id: Option<String>,
    grade: f32,
    features: Features,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Features {
    All(Vec<Option<f32>>),
    Some(std::collections::BTreeMap<String, Option<f32>>),
}

fn one() -> f64 {
    1.0
}

/// Learns list after list; [`model`](Self::model) gives the model with all of them.
pub struct Learner {
    model: RankerModel,
    perceptron: Perceptron,
    n_features: usize,
}

impl Learner {
    /// Goes on where a perceptron's model stopped.
    pub fn new(model: RankerModel) -> Result<Self> {
        let (RankerParams::Perceptron(params), Some(state)) = (&model.params, &model.state) else {
            return Err(Error::Params(format!(
                "a {} model cannot learn one list at a time; a perceptron can",
                model.kind()
            )));
        };
        let perceptron = Perceptron::from_state(state.clone(), params.target, params.rule, params.delta)?;
        let n_features = model.ranker.weights.len();
        Ok(Self { model, perceptron, n_features })
    }

    /// Learns from a line and returns 1 - measure of its list, before learning; says what is wrong with a line that
    /// cannot be used. A line without a document is none.
    pub fn learn(&mut self, line: &[u8]) -> Result<Option<f64>, String> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let line: Line<'_> = serde_json::from_slice(line).map_err(|e| format!("is no list in JSON: {e}"))?;
        if !(line.weight >= 0.0 && line.weight.is_finite()) {
            return Err(format!("the weight is {}; a number of at least 0 is expected", line.weight));
        }
        let mut rows = FeatureRows::default();
        let query = line.query.as_deref().unwrap_or("list");
        let mut entries = Vec::new();
        for (i, document) in line.documents.iter().enumerate() {
            let id = document.id.as_deref();
            let of =
                |what: String| format!("document {}: {what}", id.map_or((i + 1).to_string(), str::to_owned));
            read_features(&document.features, &mut entries).map_err(of)?;
            if let Some((column, _)) = entries.iter().find(|(column, _)| *column as usize >= self.n_features)
            {
                return Err(of(format!(
                    "feature {} is unknown; the model has {}",
                    u64::from(*column) + 1,
                    self.n_features
                )));
            }
            rows.push(query, id, document.grade, &mut entries).map_err(of)?;
        }
        if rows.is_empty() {
            return Err("the list has no document".into());
        }
        let RankerParams::Perceptron(params) = &self.model.params else {
            unreachable!("checked at the start")
        };
        let mut list = FeatureLists::from_rows(vec![rows]);
        params.target.check(list.labels()).map_err(|e| e.to_string())?;
        self.model.ranker.scaling.apply(&mut list);
        Ok(Some(self.perceptron.learn(&list.list(0), line.weight)))
    }

    /// The model with everything learned so far.
    pub fn model(&mut self) -> &RankerModel {
        let RankerParams::Perceptron(params) = &self.model.params else {
            unreachable!("checked at the start")
        };
        let state = self.perceptron.state();
        self.model.ranker.weights = if params.averaged { state.averaged() } else { state.w.clone() };
        self.model.state = Some(state.clone());
        &self.model
    }
}

fn read_features(features: &Features, entries: &mut Vec<(u32, f32)>) -> Result<(), String> {
    entries.clear();
    match features {
        Features::All(values) => {
            entries.extend((0..).zip(values).filter_map(|(column, value)| Some((column, (*value)?))));
        }
        Features::Some(values) => {
            for (name, value) in values {
                let number: u32 = name.parse().ok().filter(|&number| number > 0).ok_or_else(|| {
                    format!("the feature {name:?} is no number; features are numbered from 1")
                })?;
                entries.extend(value.map(|value| (number - 1, value)));
            }
        }
    }
    Ok(())
}
