//! Curves of training and tuning: one small chart each, with the kept model marked.

use maud::{Markup, html};

use super::numbers::{measure, short};
use crate::description::Curve;
use crate::report::Page;

/// Points that a curve is drawn with, at most.
const POINTS: usize = 300;
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 200.0;
const MARGIN: f64 = 14.0;

/// Returns true if any model has a curve.
pub(super) fn any(page: &Page) -> bool {
    page.comparison.models.iter().any(|model| model.curves.iter().any(|curve| !curve.points.is_empty()))
}

/// Curves of all models, for the appendix.
pub(super) fn curves(page: &Page) -> Markup {
    html! {
        p { "The ring marks what was kept: the iteration, weight or trial that is best on the validation queries. "
            "Of trials each dot is one, and the line is the best so far." }
        div.curves {
            @for model in &page.comparison.models {
                @for curve in model.curves.iter().filter(|curve| !curve.points.is_empty()) { (chart(&model.name, curve)) }
            }
        }
    }
}

fn chart(model: &str, curve: &Curve) -> Markup {
    let points = thinned(curve);
    if points.is_empty() {
        return html! {};
    }
    let (x, y) = (range(points.iter().map(|p| p[0])), range(points.iter().map(|p| p[1])));
    let place = |value: f64, [low, high]: [f64; 2], size: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        (MARGIN + share * (size - 2.0 * MARGIN)).round()
    };
    let at = |p: &[f64; 2]| (place(p[0], x, WIDTH), HEIGHT - place(p[1], y, HEIGHT));
    let trials = curve.x.starts_with("trial");
    let line = if trials { best_so_far(&points) } else { points.clone() };
    let path = |points: &[[f64; 2]], first: char, next: char| {
        let steps = points.iter().enumerate().map(|(i, p)| {
            let (x, y) = at(p);
            format!("{}{x} {y}", if i == 0 { first } else { next })
        });
        steps.collect::<String>()
    };
    // A line of no length with round ends is a dot that stays round however the chart is stretched.
    let dots = |points: &[[f64; 2]]| {
        points
            .iter()
            .map(|p| {
                let (x, y) = at(p);
                format!("M{x} {y}h0")
            })
            .collect::<String>()
    };
    let kept = curve.kept.and_then(|kept| points.iter().find(|p| p[0] == kept)).copied();
    let y_label = label(&curve.y);
    let said = match kept {
        Some(kept) => format!("{y_label} {} kept at {} {}", short(kept[1]), curve.x, short(kept[0])),
        None => y_label.clone(),
    };
    html! {
        figure.curve {
            figcaption { strong { (model) } " " (y_label) " by " (curve.x) }
            div.plot {
                div.y aria-hidden="true" { span { (short(y[1])) } span { (short(y[0])) } }
                svg viewBox="0 0 400 200" preserveAspectRatio="none" role="img"
                    aria-label={ (model) ": " (said) "; from " (short(y[0])) " to " (short(y[1])) } {
                    path.line d=(path(&line, 'M', 'L')) {}
                    @if trials || points.len() <= 40 { path.dots d=(dots(&points)) {} }
                    @if let Some(kept) = kept {
                        path.ring d=(dots(&[kept])) {}
                        path.hole d=(dots(&[kept])) {}
                    }
                }
            }
            div.x { span { (short(x[0])) } @if curve.x.len() < 12 { span { (curve.x) } } span { (short(x[1])) } }
            p.kept { @if let Some(kept) = kept { "kept at " (short(kept[0])) ": " (short(kept[1])) } }
        }
    }
}

/// Names of measures inside a label as everywhere.
fn label(text: &str) -> String {
    text.split(' ')
        .map(|word| if word.contains('@') || word == "map" { measure(word) } else { word.to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Finite points by x, no more than are worth drawing; the ends and what was kept stay.
fn thinned(curve: &Curve) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> =
        curve.points.iter().copied().filter(|p| p.iter().all(|v| v.is_finite())).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (n, step) = (points.len(), points.len().div_ceil(POINTS).max(1));
    let stays = |i: usize, p: &[f64; 2]| i.is_multiple_of(step) || i + 1 == n || Some(p[0]) == curve.kept;
    points.into_iter().enumerate().filter(|(i, p)| stays(*i, p)).map(|(_, p)| p).collect()
}

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
}

/// The best of the trials so far, as steps.
fn best_so_far(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut steps: Vec<[f64; 2]> = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for &[x, y] in points {
        if best.is_finite() {
            steps.push([x, best]);
        }
        best = best.max(y);
        steps.push([x, best]);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Vec<[f64; 2]>, kept: Option<f64>) -> Curve {
        Curve { x: "iteration".into(), y: "validation ndcg@10".into(), points, kept }
    }

    #[test]
    fn long_curves_keep_their_ends_and_what_was_kept() {
        let points = thinned(&curve((0..10_000).map(|i| [f64::from(i), 0.5]).collect(), Some(4321.0)));
        assert!(points.len() <= POINTS + 2);
        assert!(points.iter().any(|p| p[0] == 4321.0) && points.last().unwrap()[0] == 9999.0);
    }

    #[test]
    fn odd_curves_are_drawn() {
        assert_eq!(chart("m", &curve(vec![[1.0, f64::NAN]], None)).into_string(), "");
        let one = chart("m", &curve(vec![[3.0, 0.25]], Some(3.0))).into_string();
        assert!(one.contains("kept at 3: 0.25") && one.contains("validation NDCG@10"));
        assert!(!one.contains("NaN") && !one.contains("inf"));
        assert_eq!(
            best_so_far(&[[1.0, 0.2], [2.0, 0.1], [3.0, 0.4]]),
            [[1.0, 0.2], [2.0, 0.2], [2.0, 0.2], [3.0, 0.2], [3.0, 0.4]]
        );
    }
}
