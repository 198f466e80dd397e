//! From feature lists to a ranker.

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::listnet::fit_listnet;
use matchrank_core::ranking::perceptron::fit_perceptron;
use matchrank_core::ranking::ranksvm::fit_ranksvm;
use matchrank_core::ranking::slam::fit_slam;
use matchrank_core::ranking::{LinearRanker, Sample, Scaling, ScalingKind, Validation};
use matchrank_core::{Error, Result};

use super::{RankerModel, RankerParams, RankerReport};

/// Trains a ranker. `train` and `validation` are scaled in place, so that no copy of them is made; `weights` are those
/// of the queries of `train`. Validation is by `measure`.
pub fn train_ranker(
    params: &RankerParams,
    scaling: ScalingKind,
    mut train: FeatureLists,
    weights: Option<Vec<f64>>,
    mut validation: Option<(FeatureLists, Measure)>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<RankerModel> {
    params.validate()?;
    let teaches = |labels: &[f32]| labels.iter().any(|label| *label != labels[0]);
    if !train.iter().any(|list| teaches(list.labels())) {
        return Err(Error::Params(
            "no training list has documents of different grades, so there is no order to learn".into(),
        ));
    }
    let scaling = Scaling::fit(scaling, &train);
    scaling.apply(&mut train);
    if let Some((lists, _)) = &mut validation {
        scaling.apply(lists);
    }
    let sample = match weights {
        Some(weights) => Sample::weighted(&train, weights)?,
        None => Sample::new(&train),
    };
    let validation =
        validation.as_ref().map(|(lists, measure)| Validation::new(lists, *measure)).transpose()?;
    let validation = validation.as_ref();
    let (weights, report, state) = match params {
        RankerParams::Perceptron(params) => {
            let (state, report) = fit_perceptron(params, &sample, validation, seed, progress)?;
            let weights = if params.averaged { state.averaged() } else { state.w.clone() };
            (weights, RankerReport::Perceptron(report), Some(state))
        }
        RankerParams::Slam(params) => {
            let (weights, report) = fit_slam(params, &sample, validation, seed, progress)?;
            (weights, RankerReport::Slam(report), None)
        }
        RankerParams::RankSvm(params) => {
            let (weights, report) = fit_ranksvm(params, &sample, validation, progress)?;
            (weights, RankerReport::Path(report), None)
        }
        RankerParams::ListNet(params) => {
            let (weights, report) = fit_listnet(params, &sample, validation, progress)?;
            (weights, RankerReport::Path(report), None)
        }
    };
    let ranker = LinearRanker { weights, scaling };
    Ok(RankerModel { params: params.clone(), ranker, report, state })
}
