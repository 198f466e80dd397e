//! Rankers over feature lists.
//!
//! Metadata `params`, `scaling` and `report` (JSON), `scalings` where several were tried, and for perceptrons `clock`, and
//! `stream` where it has learned from one;
//! arrays `weights` (f64, one per feature),
//! `factors` (f64, of scaling over all training rows), and for perceptrons `last` and `sums` (f64), from which it goes on.

use matchrank_core::ranking::perceptron::PerceptronState;
use matchrank_core::ranking::{LinearRanker, Scaling, ScalingKind};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::container::{Reader, Writer};
use crate::rankers::{RankerModel, RankerParams};

/// The largest weight, scaling included.
const LARGEST_WEIGHT: f64 = 1e30;

#[derive(Serialize, Deserialize)]
struct Clock {
    rounds: u64,
    updates: u64,
    cumulative_loss: f64,
}

pub(crate) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a RankerModel) -> Result<()> {
    file.put("kind", model.kind());
    file.put_json("params", &model.params)?;
    file.put_json("report", &model.report)?;
    let LinearRanker { weights, scaling } = &model.ranker;
    file.put_json("scaling", &scaling.kind())?;
    if !model.scalings.is_empty() {
        file.put_json("scalings", &model.scalings)?;
    }
    file.put_array("weights", weights);
    file.put_array("factors", scaling.factors());
    if let Some(stream) = &model.stream {
        file.put_json("stream", stream)?;
    }
    if let Some(PerceptronState { w, sums, rounds, updates, cumulative_loss }) = &model.state {
        let clock = Clock { rounds: *rounds, updates: *updates, cumulative_loss: *cumulative_loss };
        file.put_json("clock", &clock)?;
        file.put_array("last", w);
        file.put_array("sums", sums);
    }
    Ok(())
}

pub(crate) fn get(file: &Reader<'_>) -> Result<RankerModel> {
    let kind = file.metadata("kind")?;
    let params: RankerParams = file.json("params")?;
    if params.kind() != kind {
        return Err(Error::Params(format!(
            "is called a {kind} and has the parameters of a {}",
            params.kind()
        )));
    }
    params.validate()?;
    let weights: Vec<f64> = file.array("weights")?;
    let factors: Vec<f64> = file.array("factors")?;
    let scaling: ScalingKind = file.json("scaling")?;
    let global = matches!(scaling, ScalingKind::ZScore | ScalingKind::MinMax);
    if factors.len() != if global { weights.len() } else { 0 } {
        let (factors, weights) = (factors.len(), weights.len());
        return Err(Error::Shape(format!("has {factors} factors of scaling for {weights} weights")));
    }
    let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
    if !finite(&weights) || !finite(&factors) {
        return Err(Error::Params("has weights that are no finite numbers".into()));
    }
    // Without factors features are taken as they are, or scaled within each list.
    let factors_or_one = factors.iter().copied().chain(std::iter::repeat(1.0));
    let mut scaled = weights.iter().zip(factors_or_one).map(|(weight, factor)| weight * factor);
    if let Some(weight) = scaled.find(|weight| weight.abs() > LARGEST_WEIGHT) {
        return Err(Error::Params(format!("has a weight of {weight:e}, with which scores overflow")));
    }
    let state = match params {
        RankerParams::Perceptron(_) => {
            let clock: Clock = file.json("clock")?;
            let (w, sums): (Vec<f64>, Vec<f64>) = (file.array("last")?, file.array("sums")?);
            if w.len() != weights.len() || sums.len() != weights.len() || !finite(&w) || !finite(&sums) {
                return Err(Error::Shape("has a perceptron's state that does not fit its weights".into()));
            }
            let Clock { rounds, updates, cumulative_loss } = clock;
            Some(PerceptronState { w, sums, rounds, updates, cumulative_loss })
        }
        _ => None,
    };
    let ranker = LinearRanker { weights, scaling: Scaling::with_factors(scaling, factors) };
    let scalings =
        file.has_metadata("scalings").then(|| file.json("scalings")).transpose()?.unwrap_or_default();
    let stream = file.has_metadata("stream").then(|| file.json("stream")).transpose()?;
    Ok(RankerModel { params, ranker, report: file.json("report")?, state, scalings, stream })
}
