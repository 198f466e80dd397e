//! How much of what was learned is kept, chosen on the validation judgments.
//!
//! W is (1 - blend) I + blend times what was learned. Nothing of it is kept, blend = 0, unless another share is better than
//! the base by more than one standard error ([`is_worth_it`]); of several such shares the best is taken, the smallest of
//! equals.

use matchrank_core::Result;
use matchrank_core::matching::Csr;

use super::PreferenceTraining;
use crate::models::sparse_preference::PreferenceReport;
use crate::validation::is_worth_it;

const BLENDS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0];

impl PreferenceTraining<'_> {
    /// The share of a learned W: as given, as chosen, or all of it where there is nothing to choose by.
    pub(super) fn choose_blend(&self, w: &Csr, report: &mut PreferenceReport) -> Result<f32> {
        if let Some(blend) = self.settings.blend.given() {
            return Ok(blend as f32);
        }
        let Some(judge) = self.judge else { return Ok(1.0) };
        let base = judge.per_query(w, 0.0)?;
        let mut best = (0.0, mean(&base));
        report.blends = vec![best];
        for blend in BLENDS {
            let values = judge.per_query(w, blend as f32)?;
            let figure = mean(&values);
            report.blends.push((blend, figure));
            if is_worth_it(&values, &base) && figure > best.1 {
                best = (blend, figure);
            }
        }
        let (blend, figure) = best;
        self.progress.note(&if blend == 0.0 {
            format!("nothing that was learned is kept: the base alone has validation NDCG@10 {figure:.4}, and no share of \
                     what was learned is better by more than one standard error")
        } else {
            format!("kept of what was learned: {blend}, validation NDCG@10 {figure:.4} (base alone {:.4})", mean(&base))
        });
        Ok(blend as f32)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
