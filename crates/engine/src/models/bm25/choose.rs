//! k1 and b of BM25, chosen on the validation judgments.
//!
//! From the usual values b is varied first, then k1, and both once more: two parameters cannot learn noise by heart, so the
//! best value is taken, the first of equals.

use matchrank_core::Result;
use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Progress;

use super::{Bm25Scorer, Counts, TextBm25};
use crate::dataset::BoundDocuments;
use crate::dataset::Dataset;
use crate::validation::Validation;

const K1S: [f64; 7] = [0.6, 0.9, 1.2, 1.6, 2.0, 3.0, 5.0];
const BS: [f64; 8] = [0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0];
/// Times that each of both is varied.
const ROUNDS: usize = 2;

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
    let counts = Counts::read(&model.words, BoundDocuments::rows(dataset, validation.wanted()))?;
    let measure = |params: &Bm25Params| -> Result<f64> {
        let bm25 = model.bm25.clone().with_params(params)?;
        let bags = validation.queries().iter().map(|query| model.words.query(query)).collect();
        validation.value(&mut Bm25Scorer::new(&bm25, &counts, bags))
    };
    let mut best = measure(&params)?;
    for _ in 0..ROUNDS {
        let vary_b =
            BS.iter().filter(|_| b.is_none()).map(|&b| Bm25Params { b, ..params }).collect::<Vec<_>>();
        keep_best(&vary_b, &mut params, &mut best, &measure)?;
        let vary_k1 = K1S.iter().filter(|_| k1.is_none()).map(|&k1| Bm25Params { k1, ..params });
        keep_best(&vary_k1.collect::<Vec<_>>(), &mut params, &mut best, &measure)?;
    }
    progress.note(&format!("base BM25: k1={}, b={}, validation NDCG@10 {best:.4}", params.k1, params.b));
    Ok(params)
}

/// Replaces parameters by the best of others, if one is better.
fn keep_best(
    tried: &[Bm25Params],
    params: &mut Bm25Params,
    best: &mut f64,
    measure: &dyn Fn(&Bm25Params) -> Result<f64>,
) -> Result<()> {
    for other in tried {
        let value = measure(other)?;
        if value > *best {
            (*params, *best) = (*other, value);
        }
    }
    Ok(())
}
