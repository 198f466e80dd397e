//! Folds: each is tested on once, by a model that has not seen it.
//!
//! As in LETOR: for fold k the fold before it (the last one for the first) is validated on, and all others are trained
//! on. The figure of a measure is the mean of its means on the folds.

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::{Evaluation, Measure};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{Ranker, ScalingKind, evaluate_ranker};
use matchrank_core::{Error, Result};

use super::training::train_ranker;
use super::{RankerModel, RankerParams};

/// What came of one fold.
#[derive(Debug, Clone)]
pub struct FoldFigures<M = RankerModel> {
    /// The means of the measures on its queries.
    pub means: Vec<f64>,
    /// Queries that count in them.
    pub queries: u64,
    /// The values of its queries.
    pub evaluation: Evaluation,
    /// The model that was tested.
    pub model: M,
}

/// Trains and tests on every fold. `validated` is what epochs, lambdas and scalings are chosen by, in each fold anew.
pub fn cross_validate(
    params: &RankerParams,
    scalings: &[ScalingKind],
    folds: &[FeatureLists],
    validated: Measure,
    measures: &[Measure],
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<FoldFigures>> {
    cross_validate_with(folds, measures, |train, validation| {
        train_ranker(params, scalings, train, None, Some((validation, validated)), seed, progress)
    })
}

/// Trains and tests any ranker on every fold. `train` gets the lists to train and those to validate on.
pub fn cross_validate_with<M: Ranker>(
    folds: &[FeatureLists],
    measures: &[Measure],
    train: impl Fn(FeatureLists, FeatureLists) -> Result<M>,
) -> Result<Vec<FoldFigures<M>>> {
    if folds.len() < 3 {
        return Err(Error::Params(format!(
            "there are {} folds; at least three are needed: one to test, one to validate, the others to train",
            folds.len()
        )));
    }
    (0..folds.len())
        .map(|test| {
            let validation = (test + folds.len() - 1) % folds.len();
            let others = folds.iter().enumerate().filter(|(i, _)| *i != test && *i != validation);
            let trained: Vec<&FeatureLists> = others.map(|(_, fold)| fold).collect();
            let model = train(FeatureLists::concatenate(&trained), folds[validation].clone())?;
            let evaluation = evaluate_ranker(&model, &folds[test], measures)?;
            Ok(FoldFigures {
                means: (0..measures.len()).map(|measure| evaluation.mean(measure)).collect(),
                queries: evaluation.audit.queries_in_mean,
                evaluation,
                model,
            })
        })
        .collect()
}
