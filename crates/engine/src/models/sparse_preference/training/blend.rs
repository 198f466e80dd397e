//! How much of what was learned is kept, chosen on the validation judgments.
//!
//! W is (1 - blend) I + blend times what was learned. The rule is that of [`ShareTrials`].

use matchrank_core::Result;
use matchrank_core::matching::Csr;

use super::PreferenceTraining;
use crate::models::sparse_preference::PreferenceReport;
use crate::validation::ShareTrials;

const BLENDS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0];

impl PreferenceTraining<'_> {
    /// The share of a learned W: as given, as chosen, or all of it where there is nothing to choose by.
    pub(super) fn choose_blend(&self, w: &Csr, report: &mut PreferenceReport) -> Result<f64> {
        if let Some(blend) = self.settings.blend.given() {
            return Ok(blend);
        }
        let Some(judge) = self.judge else { return Ok(1.0) };
        let mut trials = ShareTrials::of_base(judge.per_query(w, 0.0)?, judge.on_new_documents.clone());
        for blend in BLENDS {
            trials.push(blend, judge.per_query(w, blend as f32)?);
        }
        report.blends = trials.figures();
        let (base, (blend, figure)) = (report.blends[0].1, trials.kept().expect("the base was measured"));
        self.progress.note(&if blend == 0.0 {
            format!("nothing that was learned is kept: the base alone has validation NDCG@10 {figure:.4}, and no share of \
                     what was learned is better by more than one standard error")
        } else {
            format!("kept of what was learned: {blend}, validation NDCG@10 {figure:.4} (base alone {base:.4})")
        });
        report.blend_trials = trials;
        Ok(blend)
    }
}
