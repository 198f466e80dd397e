//! Means by kind of query: seen or unseen, with or without a relevant document that training saw, number of clicks
//! (Tables 6 and 7 of the papers), number of words. Each column is a small chart, with bars behind the numbers.

use maud::{Markup, html};

use super::axis::nice;
use super::numbers::{IS, counted, counted_with, figure, measure, others};
use crate::comparison::BinFigures;
use crate::report::Page;

/// Below this many queries a column says little.
const FEW: usize = 30;

/// Kinds that are shown unfolded.
const OPEN: usize = 2;
/// Tables with more columns become cards on a narrow screen.
const NARROW: usize = 3;

/// Returns true if there are kinds of queries to show.
pub(super) fn any(page: &Page) -> bool {
    page.comparison.models.iter().any(|model| model.bins.values().any(|bins| !bins.is_empty()))
}

pub(super) fn section(page: &Page) -> Markup {
    if !any(page) {
        return html! {};
    }
    let first = &page.comparison.split.measures[0];
    html! {
        section #kinds aria-labelledby="kinds-title" {
            h2 #kinds-title { "Results by kind of query" }
            p { (measure(first)) " by kind of query; the best of each column is bold. Columns with fewer than " (FEW)
                " queries are pale: their differences are mostly chance." }
            @let kinds = kinds(page);
            @for kind in kinds.iter().take(OPEN) { (group(page, kind)) }
            @if kinds.len() > OPEN {
                details.block { summary { "More kinds of queries" } @for kind in &kinds[OPEN..] { (group(page, kind)) } }
            }
        }
    }
}

/// Returns the kinds that any model was measured by, in the order of the first model.
fn kinds(page: &Page) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in page.comparison.models.iter().flat_map(|model| model.bins.names()) {
        if !kinds.contains(&kind.as_str()) {
            kinds.push(kind);
        }
    }
    kinds
}

fn title(kind: &str) -> String {
    match kind {
        "seen" => "Seen or unseen in training".to_owned(),
        "documents" => "With or without a relevant document seen in training".to_owned(),
        "duplicates" => "With or without a near-duplicate among the training queries".to_owned(),
        "clicks" => "By clicks in training".to_owned(),
        "length" => "By number of words".to_owned(),
        other => format!("By {other}"),
    }
}

fn group(page: &Page, kind: &str) -> Markup {
    let first: &[BinFigures] =
        page.comparison.models.iter().find_map(|model| model.bins.get(kind)).map_or(&[], Vec::as_slice);
    let measures = &page.comparison.split.measures;
    html! {
        h3 { (title(kind)) }
        @if let [only] = first {
            p { "All " (counted_with(only.queries, "test query", IS)) " of one kind: " (only.bin) "." }
        } @else {
            (table(page, kind, first, &measures[0]))
            @if measures.len() > 1 {
                details.block { summary { "Also by " (others(measures)) }
                    @for name in &measures[1..] { h4 { (measure(name)) } (table(page, kind, first, name)) }
                }
            }
        }
    }
}

fn table(page: &Page, kind: &str, bins: &[BinFigures], name: &str) -> Markup {
    let models = &page.comparison.models;
    let value = |model: usize, bin: &BinFigures| {
        let own = models[model].bins.get(kind)?.iter().find(|own| own.bin == bin.bin)?;
        own.figures.get(name).copied().filter(|value| value.is_finite())
    };
    let all = || (0..models.len()).flat_map(|model| bins.iter().filter_map(move |bin| value(model, bin)));
    let most = nice(all().fold(0.0, f64::max));
    let best: Vec<f64> = bins
        .iter()
        .map(|bin| (0..models.len()).filter_map(|model| value(model, bin)).fold(f64::MIN, f64::max))
        .collect();
    html! {
        div.scroll.fits tabindex="0" role="region" aria-label={ (title(kind)) ", " (measure(name)) } {
            table.bins.cards[bins.len() > NARROW] {
                thead { tr {
                    th scope="col" { "Model" }
                    @for bin in bins { th.number scope="col" { (bin.bin) span.count { (counted(bin.queries, "query")) } } }
                } }
                tbody { @for (i, model) in models.iter().enumerate() {
                    tr.baseline[i == page.baseline] {
                        th scope="row" { (model.name) }
                        @for (bin, best) in bins.iter().zip(&best) {
                            @match value(i, bin) {
                                Some(value) => {
                                    td.number.best[value == *best].few[bin.queries < FEW] data-label=(bin.bin)
                                        style={ "--share:" (format!("{:.1}%", 100.0 * (value / most).clamp(0.0, 1.0))) } { (figure(value)) }
                                }
                                None => { td.number data-label=(bin.bin) { "–" } }
                            }
                        }
                    }
                } }
            }
        }
    }
}
