//! Share of what a latent model learned beside its base, chosen on the validation judgments.
//!
//! f(x, y) = x' y over the words + share x' L_x L_y' y. The share is 0, the base alone, unless another one is better by more
//! than one standard error ([`is_worth_it`]); of several such shares the best is taken.

use matchrank_core::Result;
use matchrank_core::matching::{Bilinear, Csr, Mapping};
use matchrank_core::progress::Progress;

use super::{Judge, LatentReport};
use crate::settings::AutoNumber;
use crate::validation::is_worth_it;

const SHARES: [f32; 6] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5];

/// Scales a model with an identity by the share that is given or chosen, or leaves it as it is without validation
/// judgments. The report gets the shares that were tried and the figure of the model.
pub(in crate::models) fn choose_share(
    (model, given): (Bilinear, AutoNumber),
    report: &mut LatentReport,
    (judge, y): (&Judge, &Csr),
    progress: &dyn Progress,
) -> Result<Bilinear> {
    if model.identity() == 0 {
        return Ok(model);
    }
    if let Some(share) = given.given() {
        let model = model.scaled(share as f32)?;
        report.validation = judge.ndcg(&model, y)?;
        return Ok(model);
    }
    if !judge.can_measure() {
        return Ok(model);
    }
    let base = judge.per_query(&model.clone().scaled(0.0)?, y)?;
    let mut best = (0.0, mean(&base));
    report.shares = vec![(0.0, best.1)];
    for share in SHARES {
        let values = judge.per_query(&model.clone().scaled(share)?, y)?;
        let figure = mean(&values);
        report.shares.push((f64::from(share), figure));
        if is_worth_it(&values, &base) && figure > best.1 {
            best = (share, figure);
        }
    }
    let (share, figure) = best;
    report.validation = Some(figure);
    progress.note(&format!(
        "share of what was learned: {share}, validation NDCG@10 {figure:.4} (base alone {:.4})",
        mean(&base)
    ));
    if share == 1.0 { Ok(model) } else { model.scaled(share) }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
