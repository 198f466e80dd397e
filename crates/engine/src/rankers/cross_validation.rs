//! Folds: each is tested on once, by a model that has not seen it.
//!
//! As in LETOR: for fold k the fold before it (the last one for the first) is validated on, and all others are trained
//! on. The figure of a measure is the mean of its means on the folds. A query that is in two folds would be tested on by a
//! model that learned from it, so it is an error.

use std::collections::HashMap;

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::{Evaluation, Measure};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{ScalingKind, evaluate_ranker};
use matchrank_core::{Error, Result};

use super::training::train_ranker;
use super::{RankerModel, RankerParams};

/// Figures of one fold.
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
    let names: Vec<String> = (1..=folds.len()).map(|k| format!("fold {k}")).collect();
    check_folds(folds, &names)?;
    (0..folds.len())
        .map(|test| {
            let (train, validation) = train_and_validation(folds, test);
            let validation = Some((validation, validated));
            let model = train_ranker(params, scalings, train, None, validation, seed, progress)?;
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

/// The lists that fold `test` is trained on, and those it is validated on.
pub(crate) fn train_and_validation(folds: &[FeatureLists], test: usize) -> (FeatureLists, FeatureLists) {
    let validation = (test + folds.len() - 1) % folds.len();
    let others = folds.iter().enumerate().filter(|(i, _)| *i != test && *i != validation);
    let trained: Vec<&FeatureLists> = others.map(|(_, fold)| fold).collect();
    (FeatureLists::concatenate(&trained), folds[validation].clone())
}

/// Returns an error if there are too few folds, if two of them have a query in common, or if a query has a document
/// twice.
pub(crate) fn check_folds(folds: &[FeatureLists], names: &[String]) -> Result<()> {
    if folds.len() < 3 {
        return Err(Error::Params(format!(
            "there are {} folds; at least three are needed: one to test, one to validate, the others to train",
            folds.len()
        )));
    }
    let mut fold_of: HashMap<&str, usize> = HashMap::new();
    for (fold, lists) in folds.iter().enumerate() {
        lists.require_distinct_documents()?;
        for query in 0..lists.n_queries() {
            let id = lists.list(query).query();
            match fold_of.insert(id, fold) {
                Some(other) if other != fold => {
                    return Err(Error::Params(format!(
                        "query {id} is in two folds, {} and {}; a fold is tested on by rankers that have not seen its queries, \
                         so every query belongs to one fold",
                        names[other], names[fold]
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
