//! Conditions that are known before any model is trained: a stack that will be refused is refused first.

use matchrank_core::measure::Measure;
use matchrank_core::message::counted;
use matchrank_core::{Error, Result};

use super::{StackKind, StackParams};
use crate::dataset::{Dataset, Holdout};
use crate::rankers::boosted;

/// Returns an error if a stack with these parameters cannot be trained on a dataset, whatever its models are: parameters
/// out of range, a measure that is better when smaller, too few validation queries, or trees without LightGBM.
pub fn check_stack(params: &StackParams, measure: Measure, dataset: &Dataset) -> Result<()> {
    params.validate()?;
    check_measure(measure)?;
    let judgments = dataset.judgments(Holdout::Validation)?;
    let n_queries = judgments.chunk_by(|a, b| a.query == b.query).count();
    check_queries(n_queries, params, dataset)?;
    if matches!(params.ranker, StackKind::Mart | StackKind::LambdaMart) {
        boosted::check_installed()?;
    }
    Ok(())
}

pub(super) fn check_measure(measure: Measure) -> Result<()> {
    if !measure.higher_is_better() {
        return Err(Error::Params(format!(
            "a stack is chosen by a measure that is better when larger, not {measure}"
        )));
    }
    Ok(())
}

/// Returns an error if there are too few judged validation queries to learn from.
pub(super) fn check_queries(n_queries: usize, params: &StackParams, dataset: &Dataset) -> Result<()> {
    if n_queries < params.folds {
        return Err(Error::Params(format!(
            "{}: there {} {}, and a ranker over models needs at least {} to learn from; ingest with option `judgments \
             validation=QRELS` or option `split`",
            dataset.folder().display(),
            if n_queries == 1 { "is" } else { "are" },
            counted(n_queries, "judged validation query"),
            params.folds
        )));
    }
    Ok(())
}

/// Returns the error about a part that is a stack, which has learned from the validation judgments already.
pub(crate) fn learned_already() -> Error {
    Error::Params(
        "one of the models is a stack, which has learned from the validation judgments already; give its models"
            .into(),
    )
}
