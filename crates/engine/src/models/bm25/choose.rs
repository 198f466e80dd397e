//! k1 and b of BM25, chosen on the validation judgments.
//!
//! From the usual values, b is varied first, then k1. A value replaces the usual one only if it is better by more than one
//! standard error ([`is_worth_it`]); of several such values the best is taken.

use matchrank_core::Result;
use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Progress;

use super::{Bm25Scorer, Counts, TextBm25};
use crate::dataset::Dataset;
use crate::models::BoundDocuments;
use crate::validation::{Validation, is_worth_it};

const K1S: [f64; 5] = [0.6, 0.9, 1.6, 2.0, 3.0];
const BS: [f64; 6] = [0.1, 0.25, 0.4, 0.55, 0.9, 1.0];

/// Chooses k1 and b where they are not given; without validation judgments they have their usual values.
pub(crate) fn choose(
    (k1, b): (Option<f64>, Option<f64>),
    dataset: &Dataset,
    validation: Option<&Validation>,
    progress: &dyn Progress,
) -> Result<Bm25Params> {
    let usual = Bm25Params::default();
    let mut params = Bm25Params { k1: k1.unwrap_or(usual.k1), b: b.unwrap_or(usual.b) };
    let Some(validation) = validation else { return Ok(params) };
    let model = TextBm25::of_dataset(&params, dataset)?;
    let counts = Counts::read(&model.words, BoundDocuments { dataset, wanted: validation.wanted() })?;
    let measure = |params: &Bm25Params| -> Result<Vec<f64>> {
        let bm25 = model.bm25.clone().with_params(params)?;
        let bags = validation.queries().iter().map(|query| model.words.query(query)).collect();
        Ok(validation.per_query(&mut Bm25Scorer::new(&bm25, &counts, bags))?.remove(0))
    };
    let mut best = measure(&params)?;
    let mut vary = |values: &[f64], with: fn(Bm25Params, f64) -> Bm25Params| -> Result<()> {
        let (usual, its_values) = (params, best.clone());
        for &value in values {
            let tried = with(usual, value);
            let its_own = measure(&tried)?;
            if is_worth_it(&its_own, &its_values) && mean(&its_own) > mean(&best) {
                (params, best) = (tried, its_own);
            }
        }
        Ok(())
    };
    if b.is_none() {
        vary(&BS, |params, b| Bm25Params { b, ..params })?;
    }
    if k1.is_none() {
        vary(&K1S, |params, k1| Bm25Params { k1, ..params })?;
    }
    progress.note(&format!("base BM25: k1={}, b={}, validation NDCG@10 {:.4}", params.k1, params.b, mean(&best)));
    Ok(params)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
