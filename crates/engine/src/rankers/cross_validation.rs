//! Folds: each is tested on once, by a model that has not seen it.
//!
//! As in LETOR: for fold k the fold before it (the last one for the first) is validated on, and all others are trained
//! on. The figure of a measure is the mean of its means on the folds.

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{ScalingKind, evaluate_ranker};
use matchrank_core::{Error, Result};

use super::training::train_ranker;
use super::{RankerModel, RankerParams};

/// What came of one fold.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldFigures {
    /// The means of the measures on its queries.
    pub means: Vec<f64>,
    /// Queries that count in them.
    pub queries: u64,
    /// The model that was tested.
    pub model: RankerModel,
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
    if folds.len() < 3 {
        return Err(Error::Params(format!(
            "there are {} folds; at least three are needed: one to test, one to validate, the others to train",
            folds.len()
        )));
    }
    (0..folds.len())
        .map(|test| {
            let validation = (test + folds.len() - 1) % folds.len();
            let train: Vec<&FeatureLists> = folds
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != test && *i != validation)
                .map(|(_, f)| f)
                .collect();
            let train = FeatureLists::concatenate(&train);
            let validation = Some((folds[validation].clone(), validated));
            let model = train_ranker(params, scalings, train, None, validation, seed, progress)?;
            let evaluation = evaluate_ranker(&model, &folds[test], measures)?;
            Ok(FoldFigures {
                means: (0..measures.len()).map(|measure| evaluation.mean(measure)).collect(),
                queries: evaluation.audit.queries_in_mean,
                model,
            })
        })
        .collect()
}
