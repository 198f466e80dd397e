//! Contributions to a score, one bar each.

use maud::{Markup, html};

use crate::report::html::numbers::short;

/// One part of a score.
pub(super) struct Strip {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) detail: String,
}

/// Draws bars from zero: positive parts to the right, negative ones to the left.
pub(super) fn strips(parts: impl Iterator<Item = Strip>, more: usize) -> Markup {
    let parts: Vec<Strip> = parts.collect();
    let most = parts.iter().map(|part| part.value.abs()).fold(0.0, f64::max);
    html! {
        ul.strips { @for part in &parts {
            li {
                span.name { (part.name) @if !part.detail.is_empty() { " " span.faint { (part.detail) } } }
                span.track { span class=(if part.value < 0.0 { "minus" } else { "plus" })
                    style={ "--s:" (if most > 0.0 { (100.0 * part.value.abs() / most).round() } else { 0.0 }) "%" } {} }
                span.value { (short(part.value)) }
            }
        } }
        @if more > 0 { p.note { "and " (more) " more" } }
    }
}
