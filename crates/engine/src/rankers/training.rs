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

use super::{RankerModel, RankerParams, RankerReport, ScalingTrial};

/// Trains a ranker with features scaled in one way, or in each of several, of which the best on validation is kept
/// (of equals the first). `weights` are those of the queries of `train`. Lists are scaled in place where possible: only
/// with several scalings there is a second copy of them.
pub fn train_ranker(
    params: &RankerParams,
    scalings: &[ScalingKind],
    train: FeatureLists,
    weights: Option<&[f64]>,
    validation: Option<(FeatureLists, Measure)>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<RankerModel> {
    params.validate()?;
    validation.as_ref().map_or(Ok(()), |(_, measure)| require_higher_is_better(*measure))?;
    for lists in [&train].into_iter().chain(validation.as_ref().map(|(lists, _)| lists)) {
        lists.require_complete(params.kind())?;
    }
    if train.weights().is_some() && !matches!(params, RankerParams::ListNet(_)) {
        return Err(without_document_weights(params.kind()));
    }
    let teaches = |labels: &[f32]| labels.iter().any(|label| *label != labels[0]);
    if !train.iter().any(|list| teaches(list.labels())) {
        return Err(Error::Params(
            "no training list has documents of different grades, so there is no order to learn".into(),
        ));
    }
    let Some((last, others)) = scalings.split_last() else {
        return Err(Error::Params("there is no scaling to train with; name at least one".into()));
    };
    if !others.is_empty() && validation.is_none() {
        return Err(Error::Params(
            "there are no validation lists to choose the scaling by; give some, or name one scaling".into(),
        ));
    }
    let mut best: Option<RankerModel> = None;
    let mut trials = Vec::new();
    let mut consider = |model: RankerModel| {
        let figure = model.report.validated();
        trials.extend(
            figure.map(|validation| ScalingTrial { scaling: model.ranker.scaling.kind(), validation }),
        );
        if best.as_ref().is_none_or(|best| figure > best.report.validated()) {
            best = Some(model);
        }
    };
    for &scaling in others {
        let (train, validation) = (train.clone(), validation.clone());
        consider(train_scaled(params, scaling, train, weights, validation, seed, progress)?);
    }
    consider(train_scaled(params, *last, train, weights, validation, seed, progress)?);
    let mut model = best.expect("there is a scaling");
    if !others.is_empty() {
        model.scalings = trials;
    }
    Ok(model)
}

/// Returns an error if a measure is better when smaller: epochs, lambdas and trees are chosen by the largest figure.
/// Query-dependent rankers choose their lambda by either kind of measure.
pub(super) fn require_higher_is_better(measure: Measure) -> Result<()> {
    if measure.higher_is_better() {
        return Ok(());
    }
    Err(Error::Params(format!(
        "{measure} is better when smaller; epochs, lambdas and trees are chosen by a measure that is better when larger, \
         such as ndcg@10"
    )))
}

/// An error for rankers that cannot weigh documents.
pub(super) fn without_document_weights(ranker: &str) -> Error {
    Error::Params(format!(
        "{ranker} does not take weights of documents; listnet, mart and lambdamart do, and {ranker} takes weights of queries"
    ))
}

/// Trains a ranker with lists that are scaled in place.
fn train_scaled(
    params: &RankerParams,
    scaling: ScalingKind,
    mut train: FeatureLists,
    weights: Option<&[f64]>,
    mut validation: Option<(FeatureLists, Measure)>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<RankerModel> {
    let scaling = Scaling::fit(scaling, &train);
    scaling.apply(&mut train);
    if let Some((lists, _)) = &mut validation {
        scaling.apply(lists);
    }
    let sample = match weights {
        Some(weights) => Sample::weighted(&train, weights.to_vec())?,
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
    Ok(RankerModel { params: params.clone(), ranker, report, state, scalings: Vec::new(), stream: None })
}
