//! What training and tuning looked like, as curves.

use super::results::Curve;
use crate::matching::MatchingModel;
use crate::tuning::Trial;

const VALIDATION: &str = "validation NDCG@10";

/// The figures that the training of a model reported on its way.
pub(super) fn of_model(model: &MatchingModel) -> Vec<Curve> {
    let curve = |x: &str, y: &str, points: Vec<(f64, Option<f64>)>, kept: Option<f64>| Curve {
        x: x.to_owned(),
        y: y.to_owned(),
        points: points.into_iter().filter_map(|(x, y)| Some([x, y?])).collect(),
        kept,
    };
    let curves = match model {
        MatchingModel::Latent(model) => {
            let report = &model.report;
            let kept = report.best.map(|best| best as f64);
            let number = |n: usize| n as f64;
            let iterations = report.iterations.iter().map(|row| (number(row.report.number), row.validation));
            let epochs = report.epochs.iter().map(|epoch| (number(epoch.number), epoch.validation));
            let losses = report.epochs.iter().map(|epoch| (number(epoch.number), Some(epoch.loss)));
            let spectrum = (1..).zip(&report.singular_values).map(|(i, s)| (f64::from(i), Some(*s)));
            vec![
                curve("iteration", VALIDATION, iterations.chain(epochs).collect(), kept),
                curve("iteration", "loss", losses.collect(), kept),
                curve("dimension", "singular value", spectrum.collect(), None),
            ]
        }
        MatchingModel::Bltm(model) => {
            let report = &model.report;
            let kept = report.best.map(|best| best as f64);
            let rows = || report.iterations.iter().map(|row| (row.number as f64, row));
            vec![
                curve("iteration", VALIDATION, rows().map(|(n, row)| (n, row.validation)).collect(), kept),
                curve(
                    "iteration",
                    "log-likelihood of a word",
                    rows().map(|(n, row)| (n, Some(row.log_likelihood))).collect(),
                    kept,
                ),
            ]
        }
        MatchingModel::Preference(model) => {
            // Refitting goes on where learning ended.
            let mut steps = 0.0;
            let mut before: Option<(_, u64)> = None;
            let mut points = Vec::new();
            for point in &model.report.curve {
                if let Some((phase, last)) = before
                    && phase != point.phase
                {
                    steps += last as f64;
                }
                before = Some((point.phase, point.steps));
                points.push((steps + point.steps as f64, point));
            }
            vec![
                curve(
                    "tuples",
                    VALIDATION,
                    points.iter().map(|(x, point)| (*x, point.validation)).collect(),
                    None,
                ),
                curve(
                    "tuples",
                    "share of weights that are not 0",
                    points.iter().map(|(x, point)| (*x, Some(point.density))).collect(),
                    None,
                ),
            ]
        }
        MatchingModel::Combination(model) => {
            let points = model.curve.iter().map(|(weight, ndcg)| (f64::from(*weight), Some(*ndcg)));
            vec![curve(
                "weight of the first model",
                VALIDATION,
                points.collect(),
                Some(f64::from(model.weight)),
            )]
        }
        MatchingModel::Bm25(_) | MatchingModel::RandomWalk(_) | MatchingModel::Stack(_) => Vec::new(),
    };
    curves.into_iter().filter(|curve| curve.points.len() > 1).collect()
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
