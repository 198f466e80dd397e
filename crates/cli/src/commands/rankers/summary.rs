//! What `train` says about a ranker.

use matchrank_core::message::{self, counted};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::PathPoint;
use matchrank_core::ranking::perceptron::PerceptronReport;
use matchrank_engine::rankers::{RankerModel, RankerReport};

use crate::terminal::{Format, Terminal, table, to_json};

/// What a user should know about the result.
pub(super) fn remark(model: &RankerModel, terminal: &Terminal) {
    if !model.scalings.is_empty() {
        let name = |kind| to_json(&kind).as_str().unwrap_or_default().to_owned();
        let trials = model.scalings.iter().map(|t| format!("{} {:.4}", name(t.scaling), t.validation));
        terminal.note(&format!(
            "scaling {}, chosen by validation: {}",
            name(model.ranker.scaling.kind()),
            trials.collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(remark) = model.remark() {
        terminal.note(remark);
    }
    let RankerReport::Slam(report) = &model.report else { return };
    let Some(bound) = &report.bound else { return };
    let says = match bound.lists_needed {
        _ if !bound.vacuous => "in expectation".to_owned(),
        Some(needed) => {
            format!("which says nothing with losses up to 1; it would from {} on", counted(needed, "list"))
        }
        None => "which says nothing with losses up to 1, however many lists there are".to_owned(),
    };
    terminal.note(&format!(
        "bound (23): at most {:.3} beyond the best weights of norm B, {says} (lambda = {}, n = {}, R_X = {:.3}, 2 sum v = \
         {:.3}; B = sqrt(2 Delta / lambda) = {:.3} is the ball that holds the minimiser of any lists, so the bound is above \
         Delta, which is at least the loss of w = 0, {:.3})",
        bound.excess,
        message::shortest(bound.lambda),
        bound.n,
        bound.radius,
        bound.lipschitz,
        bound.norm,
        report.objective_at_zero
    ));
}

/// Lists, documents and features that a ranker was trained on.
pub(super) fn size(counts: &[(&str, usize)]) -> String {
    counts.iter().map(|(name, n)| counted(*n, name.trim_end_matches('s'))).collect::<Vec<_>>().join(", ")
}

/// The epochs or lambdas that were tried.
pub(super) fn course(model: &RankerModel, measure: &str, format: Format) -> String {
    let figure = |figure: Option<f64>| figure.map_or(String::new(), |figure| format!("{figure:.4}"));
    match &model.report {
        RankerReport::Perceptron(report) => {
            let rows = (1..).zip(&report.epochs).filter(|(epoch, _)| {
                format != Format::Table || *epoch == report.kept || *epoch <= 5 || epoch % 10 == 0
            });
            let rows = rows.map(|(epoch, figures)| {
                let kept = if epoch == report.kept { "kept" } else { "" };
                let loss = format!("{:.4}", figures.loss);
                vec![
                    epoch.to_string(),
                    loss,
                    format.count(figures.updates),
                    figure(figures.validation),
                    kept.to_owned(),
                ]
            });
            let mut text = table(&["epoch", "loss", "updates", measure, ""], rows.collect(), format);
            if let (Format::Table, Some(last)) = (format, report.curve.last()) {
                text.push_str(&format!(
                    "\ncumulative loss {:.1} after {}; it cannot exceed {:.1} (--curve FILE has its course)",
                    last.loss,
                    counted(last.rounds, "list"),
                    last.bound
                ));
            }
            text
        }
        RankerReport::Slam(slam) => path_table(&slam.path, slam.lambda, measure, format),
        RankerReport::Path(report) => path_table(&report.path, report.lambda, measure, format),
    }
}

fn path_table(path: &[PathPoint], kept: f64, measure: &str, format: Format) -> String {
    let rows = path.iter().map(|point| {
        let proof = match (point.lower_bound, point.relative_gradient) {
            (Some(bound), _) => format!("{:.1e}", point.objective - bound),
            (None, Some(gradient)) => format!("{gradient:.1e}"),
            (None, None) => String::new(),
        };
        vec![
            message::shortest(point.lambda),
            format!("{:.6}", point.objective),
            proof,
            point.iterations.to_string(),
            point.validation.map_or(String::new(), |figure| format!("{figure:.4}")),
            if point.lambda == kept { "kept".to_owned() } else { String::new() },
        ]
    });
    let proof = if path.iter().any(|point| point.lower_bound.is_some()) { "gap" } else { "gradient" };
    table(&["lambda", "objective", proof, "iterations", measure, ""], rows.collect(), format)
}

/// Cumulative loss and its bound as CSV.
pub(super) fn curve(report: &PerceptronReport) -> String {
    let rows = report.curve.iter().map(|point| {
        vec![point.rounds.to_string(), format!("{:.6}", point.loss), format!("{:.6}", point.bound)]
    });
    table(&["lists", "loss", "bound"], rows.collect(), Format::Csv) + "\n"
}
