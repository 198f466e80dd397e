//! Share of what a latent model learned beside its base, chosen on the validation judgments.
//!
//! f(x, y) = x' y over the words + share x' L_x L_y' y. The rule is that of [`ShareTrials`].

use matchrank_core::Result;
use matchrank_core::matching::{Bilinear, Csr, Mapping};

use super::{Judge, LatentReport};
use crate::models::Training;
use crate::settings::AutoNumber;
use crate::validation::ShareTrials;

const SHARES: [f64; 10] = [0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0];

/// Scales a model with an identity by the share that is given or chosen, or leaves it as it is without validation
/// judgments. The report gets the shares that were tried and the figure of the model.
pub(in crate::models) fn choose_share(
    (model, given): (Bilinear, AutoNumber),
    report: &mut LatentReport,
    (judge, y): (&Judge, &Csr),
    training: &Training<'_>,
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
    let mut trials = ShareTrials::of_base(base, judge.on_new_documents(training.dataset)?);
    for share in SHARES {
        trials.push(share, judge.per_query(&model.clone().scaled(share as f32)?, y)?);
    }
    report.shares = trials.figures();
    let (base, (share, figure)) = (report.shares[0].1, trials.kept().expect("the base was measured"));
    report.validation = Some(figure);
    training.progress.note(&format!(
        "share of what was learned: {share}, validation NDCG@10 {figure:.4} (base alone {base:.4})"
    ));
    report.share_trials = trials;
    let share = share as f32;
    if share == 1.0 { Ok(model) } else { model.scaled(share) }
}
