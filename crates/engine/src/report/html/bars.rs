//! Means as bars, with 95 % confidence intervals. Text is HTML, so that it stays readable on a phone; only the shapes
//! are SVG, stretched to the available width.

use maud::{Markup, html};

use super::numbers::{figure, measure, others, rounded};
use crate::report::Page;

pub(super) fn section(page: &Page) -> Markup {
    let measures = &page.comparison.split.measures;
    html! {
        section #intervals aria-labelledby="intervals-title" {
            h2 #intervals-title { "Confidence intervals" }
            p { "A bar is the mean over the test queries, the line its 95 % confidence interval (bootstrap over queries). "
                "Models are compared query by query, so one model may be significantly better than another although "
                "their intervals overlap; the letters of the table show that." }
            (chart(page, &measures[0]))
            @if measures.len() > 1 {
                details.block { summary { "Also by " (others(measures)) }
                    @for name in &measures[1..] { h4 { (measure(name)) } (chart(page, name)) }
                }
            }
        }
    }
}

fn chart(page: &Page, name: &str) -> Markup {
    let models = &page.comparison.models;
    let rows: Vec<(f64, Option<[f64; 2]>)> = models
        .iter()
        .map(|model| {
            let mean = model.test.get(name).copied().unwrap_or(f64::NAN);
            (mean, model.intervals.get(name).copied())
        })
        .collect();
    let most = nice(
        rows.iter()
            .map(|(mean, interval)| interval.map_or(*mean, |[_, high]| mean.max(high)))
            .fold(0.0, f64::max),
    );
    let ticks = 5;
    html! {
        figure.bars {
            figcaption.hidden { (measure(name)) " of every model, with 95 % confidence intervals" }
            ul { @for (i, (model, (mean, interval))) in models.iter().zip(&rows).enumerate() {
                li.best[i == 0].baseline[i == page.baseline] {
                    span.name { (model.name) }
                    span.value { (figure(*mean)) " " @if let Some([low, high]) = interval { span.faint { (rounded(*low)) " – " (rounded(*high)) } } }
                    (bar(*mean, *interval, most, ticks))
                }
            }
            li.axis aria-hidden="true" { span.ticks { @for tick in 0..=ticks { span { (axis(most * f64::from(tick) / f64::from(ticks))) } } } } }
        }
    }
}

/// Draws one bar, 1000 units wide and 20 high.
fn bar(mean: f64, interval: Option<[f64; 2]>, most: f64, ticks: i32) -> Markup {
    let x =
        |value: f64| if value.is_finite() { (1000.0 * value / most).clamp(0.0, 1000.0).round() } else { 0.0 };
    let ends = interval.map(|[low, high]| format!(", interval {} to {}", rounded(low), rounded(high)));
    let label = rounded(mean) + &ends.unwrap_or_default();
    html! {
        svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=(label) {
            @for tick in 0..=ticks {
                @let at = 1000 * tick / ticks;
                line.grid x1=(at) x2=(at) y1="0" y2="20" {}
            }
            rect.bar x="0" y="3" width=(x(mean)) height="14" {}
            @if let Some([low, high]) = interval {
                path.whisker d={ "M" (x(low)) " 10H" (x(high)) "M" (x(low)) " 6V14M" (x(high)) " 6V14" } {}
            }
        }
    }
}

/// Returns the next round number: 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1 times a power of ten.
pub(super) fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    power * steps.into_iter().find(|step| step * power >= value * (1.0 - 1e-9)).unwrap_or(10.0)
}

fn axis(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, end) in [(0.42, 0.5), (0.391, 0.4), (0.4, 0.4), (1.0, 1.0), (0.031, 0.04), (7.2, 8.0)] {
            assert!((nice(value) - end).abs() < 1e-12, "{value}");
        }
        assert_eq!((nice(0.0), nice(f64::NAN)), (1.0, 1.0));
        assert_eq!((axis(0.0), axis(0.08), axis(0.24)), ("0".into(), "0.08".into(), "0.24".into()));
    }
}
