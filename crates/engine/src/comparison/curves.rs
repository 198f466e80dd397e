//! The course of training and tuning, as curves.

use crate::description::Curve;
use crate::models::MatchingModel;
use crate::tuning::Trial;

/// The figures that the training of a model reported on the way.
pub(super) fn of_model(model: &dyn MatchingModel) -> Vec<Curve> {
    model.curves().into_iter().filter(|curve| curve.points.len() > 1).collect()
}

/// The trials of a search, in their order.
pub(super) fn of_trials(trials: &[Trial], measure: &str) -> Option<Curve> {
    let points: Vec<[f64; 2]> =
        (1..).zip(trials).filter_map(|(i, trial)| Some([f64::from(i), trial.validation?])).collect();
    let full = (1..).zip(trials).filter(|(_, trial)| trial.share == 1.0 && trial.validation.is_some());
    let best = full.max_by(|(i, a), (j, b)| {
        a.validation.unwrap_or(0.0).total_cmp(&b.validation.unwrap_or(0.0)).then(j.cmp(i))
    });
    let kept = best.map(|(i, _): (u32, _)| f64::from(i));
    (points.len() > 1).then(|| Curve { x: "trial".into(), y: format!("validation {measure}"), points, kept })
}
