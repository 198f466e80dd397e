//! Linear rankers in files.
//!
//! Metadata `params`, `scaling` and `report` (JSON), and `scalings` where several were tried; arrays `weights` (f64, one
//! per feature) and `factors` (f64, of scaling over all training rows). Rankers that go on learning add their state.

use std::collections::BTreeMap;
use std::fmt::Debug;

use matchrank_core::ranking::{LinearRanker, Scaling, ScalingKind};
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::{LinearModel, LinearParams, LinearReport};
use crate::container::{Reader, Writer};
use crate::description::Description;

/// The largest weight, scaling included.
const LARGEST_WEIGHT: f64 = 1e30;

/// State of a linear ranker that goes on learning, beside its weights.
pub trait LinearState: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Writes it to a model file.
    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()>;

    /// Reads it from the file of a model with this many weights.
    fn get(file: &Reader<'_>, n_weights: usize) -> Result<Self>;

    /// Adds facts to a description.
    fn describe(&self, description: &mut Description);

    /// Describes it to programs.
    fn details(&self) -> Value;
}

impl LinearState for () {
    fn put<'a>(&'a self, _: &mut Writer<'_, 'a>) -> Result<()> {
        Ok(())
    }

    fn get(_: &Reader<'_>, _: usize) -> Result<Self> {
        Ok(())
    }

    fn describe(&self, _: &mut Description) {}

    fn details(&self) -> Value {
        Value::Null
    }
}

pub(super) fn put<'a, P: LinearParams>(file: &mut Writer<'_, 'a>, model: &'a LinearModel<P>) -> Result<()> {
    file.put_json("params", &BTreeMap::from([(P::KIND.name, &model.params)]))?;
    file.put_json("report", &BTreeMap::from([(P::Report::NAME, &model.report)]))?;
    let LinearRanker { weights, scaling } = &model.ranker;
    file.put_json("scaling", &scaling.kind())?;
    if !model.scalings.is_empty() {
        file.put_json("scalings", &model.scalings)?;
    }
    file.put_array("weights", weights);
    file.put_array("factors", scaling.factors());
    model.state.put(file)
}

pub(super) fn get<P: LinearParams>(file: &Reader<'_>) -> Result<LinearModel<P>> {
    let mut params: BTreeMap<String, Value> = file.json("params")?;
    let Some(params) = params.remove(P::KIND.name) else {
        let found: Vec<String> = params.into_keys().collect();
        return Err(Error::Params(format!(
            "is called a {} and has the parameters of a {}",
            P::KIND.name,
            found.join(", ")
        )));
    };
    let params: P = typed("params", params)?;
    params.validate()?;
    let weights: Vec<f64> = file.array("weights")?;
    let factors: Vec<f64> = file.array("factors")?;
    let scaling: ScalingKind = file.json("scaling")?;
    let global = matches!(scaling, ScalingKind::ZScore | ScalingKind::MinMax);
    if factors.len() != if global { weights.len() } else { 0 } {
        let (factors, weights) = (factors.len(), weights.len());
        return Err(Error::Shape(format!("has {factors} factors of scaling for {weights} weights")));
    }
    if !weights.iter().chain(&factors).all(|number| number.is_finite()) {
        return Err(Error::Params("has NaN or infinite weights".into()));
    }
    // Without factors features are taken as they are, or scaled within each list.
    let factors_or_one = factors.iter().copied().chain(std::iter::repeat(1.0));
    let mut scaled = weights.iter().zip(factors_or_one).map(|(weight, factor)| weight * factor);
    if let Some(weight) = scaled.find(|weight| weight.abs() > LARGEST_WEIGHT) {
        return Err(Error::Params(format!("has a weight of {weight:e}, with which scores overflow")));
    }
    let state = P::State::get(file, weights.len())?;
    let mut report: BTreeMap<String, Value> = file.json("report")?;
    let report = typed("report", report.remove(P::Report::NAME).unwrap_or_default())?;
    let scalings =
        file.has_metadata("scalings").then(|| file.json("scalings")).transpose()?.unwrap_or_default();
    let ranker = LinearRanker { weights, scaling: Scaling::with_factors(scaling, factors) };
    Ok(LinearModel { params, ranker, report, state, scalings })
}

fn typed<T: serde::de::DeserializeOwned>(key: &str, value: Value) -> Result<T> {
    serde_json::from_value(value)
        .map_err(|e| Error::Params(format!("the metadata {key:?} cannot be used: {e}")))
}
