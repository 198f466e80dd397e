//! Differences from the baseline as a dot plot with 95 % confidence intervals, on an axis that shows the differences and
//! nothing else. Text is HTML, so that it stays readable on a phone; only the shapes are SVG, stretched to the width.

use maud::{Markup, html};

use super::axis::{place, ticks};
use super::numbers::{CONFIDENCE, measure, others, p, short, signed};
use crate::report::{Page, Paired};

pub(super) fn section(page: &Page) -> Markup {
    let measures = &page.comparison.split.measures;
    if page.comparison.models.len() < 2 {
        return html! {};
    }
    let baseline = &page.comparison.models[page.baseline].name;
    html! {
        section #differences aria-labelledby="differences-title" {
            h2 #differences-title { "Differences from " (baseline) }
            p { "A dot is the mean difference in " (measure(&measures[0])) " over the same test queries, the line its "
                (CONFIDENCE) " (bootstrap over queries). Right of 0 is better. A filled dot is a significant difference "
                "(corrected for the number of pairs), a hollow one may be chance." }
            (chart(page, 0))
            @if measures.len() > 1 {
                details.block { summary { "Also by " (others(measures)) }
                    @for (m, name) in measures.iter().enumerate().skip(1) { h3 { (measure(name)) } (chart(page, m)) }
                }
            }
        }
    }
}

fn chart(page: &Page, m: usize) -> Markup {
    let models = &page.comparison.models;
    let pairs: Vec<Paired> = (0..models.len()).map(|i| page.pairs.get(m, i, page.baseline)).collect();
    let ends = pairs.iter().flat_map(|pair| [pair.difference, pair.interval[0], pair.interval[1], 0.0]);
    let range = ends.fold([0.0, 0.0], |[low, high]: [f64; 2], end| [low.min(end), high.max(end)]);
    let ticks = ticks(range);
    html! {
        figure.dots {
            figcaption.hidden { "Differences of all models from " (models[page.baseline].name) " in "
                (measure(&page.comparison.split.measures[m])) ", with confidence intervals" }
            ul {
                @for (i, (model, pair)) in models.iter().zip(&pairs).enumerate() {
                    li.chosen[i == page.chosen].baseline[i == page.baseline] {
                        span.name { (model.name) @if i == page.chosen { " " span.tag { "chosen" } } }
                        span.value { @if i == page.baseline { span.faint { "baseline" } } @else {
                            (signed(pair.difference))
                            @if pair.queries > 1 { " " span.faint { (signed(pair.interval[0])) " to " (signed(pair.interval[1])) } }
                        } }
                        (row(pair, i == page.baseline, &ticks, page.comparison.split.level))
                    }
                }
                li.axis aria-hidden="true" { span.ticks { @for tick in &ticks {
                    span style=(format!("left:{:.1}%", 100.0 * place(*tick, &ticks))) { (short(*tick)) }
                } } }
            }
        }
    }
}

/// Draws one row, 1000 units wide and 20 high.
fn row(pair: &Paired, is_baseline: bool, ticks: &[f64], level: f64) -> Markup {
    let x = |value: f64| (1000.0 * place(value, ticks)).round();
    let is_real = pair.p < level;
    let label = match (is_baseline, is_real) {
        (true, _) => "the baseline".to_owned(),
        (false, true) => format!("significant, {}", p(pair.p)),
        (false, false) => format!("not significant, {}", p(pair.p)),
    };
    // A line of no length with round ends is a dot that stays round however the chart is stretched.
    let dot = format!("M{} 10h0", x(pair.difference));
    html! {
        svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label=(label) {
            @for tick in ticks { line.grid x1=(x(*tick)) x2=(x(*tick)) y1="0" y2="20" {} }
            line.zero x1=(x(0.0)) x2=(x(0.0)) y1="0" y2="20" {}
            @if !is_baseline {
                @if pair.queries > 1 { path.whisker d={ "M" (x(pair.interval[0])) " 10H" (x(pair.interval[1])) } {} }
                path.dot d=(dot) {}
                @if !is_real { path.hole d=(dot) {} }
            }
        }
    }
}
