//! Headline of the page: what changes for searchers with the model that validation chose, and whether that is significant.

use maud::{Markup, html};

use super::numbers::{
    CONFIDENCE, counted, day, measure, milliseconds, of_searches, p, signed, signed_whole, thousands,
};
use crate::evidence::too_few;
use crate::report::shown::shortened;
use crate::report::{Page, SearchChange};

/// Largest number of characters of the name of the data.
const NAME: usize = 60;

/// Returns the title of the document: the name of the data, and the day.
pub(super) fn document_title(page: &Page) -> String {
    let name = shortened(&page.comparison.data.name, NAME);
    match &page.comparison.made_on {
        Some(date) => format!("Models compared on {name}, {}", day(date)),
        None => format!("Models compared on {name}"),
    }
}

pub(super) fn section(page: &Page) -> Markup {
    let models = &page.comparison.models;
    html! {
        p.kicker { "Models compared on " strong { (shortened(&page.comparison.data.name, NAME)) }
            @if let Some(date) = &page.comparison.made_on { ", " time datetime=(date) { (day(date)) } } }
        h1 { (title(page)) }
        div.tiles {
            @if let Some(change) = &page.change { (first_results(page, change)) }
            @if page.chosen != page.baseline { (lead(page)) }
            div.tile {
                b { (milliseconds(models[page.chosen].latency.p50_ms)) }
                span { "median time of a query with " strong { (models[page.chosen].name) }
                    @if page.chosen != page.baseline {
                        "; " (milliseconds(models[page.baseline].latency.p50_ms)) " with " strong { (models[page.baseline].name) }
                    } }
            }
            div.tile {
                b { (thousands(page.n_measured() as u64)) }
                span { "test queries, " (page.comparison.split.ranked.describe()) "; measured once" }
            }
        }
        @for paragraph in paragraphs(page) { p.lead { (paragraph) } }
    }
}

/// Returns true if the chosen model is significantly better than the baseline by the first measure.
fn is_better(page: &Page) -> bool {
    let pair = page.pairs.get(0, page.chosen, page.baseline);
    pair.p < page.comparison.split.level && pair.difference > 0.0
}

/// A relevant document, in the words of the data.
fn relevant(page: &Page) -> &'static str {
    if page.is_clicked { "a clicked result" } else { "a relevant result" }
}

fn title(page: &Page) -> String {
    let models = &page.comparison.models;
    let (chosen, baseline) = (&models[page.chosen].name, &models[page.baseline].name);
    match &page.change {
        _ if models.len() == 1 => format!("{chosen} is the only model"),
        _ if too_few(page.n_measured()).is_some() => {
            "Too few test queries to tell the models apart".to_owned()
        }
        _ if page.chosen == page.baseline => format!("Keep {chosen}: no other model is reliably better"),
        Some(change) if change.is_clear() => {
            let (n, of) = of_searches(change.difference());
            let more = if change.difference() > 0.0 { "more" } else { "fewer" };
            format!("{n} {more} of {of} searches show {} first", relevant(page))
        }
        _ if is_better(page) && page.change.is_some() => {
            format!("{chosen} ranks better than {baseline}, but a change of the first results is not proven")
        }
        _ if is_better(page) => {
            format!("{chosen} is better than {baseline} by {}", measure(&page.comparison.split.measures[0]))
        }
        _ => format!("No proven gain: {chosen} may be no better than {baseline}"),
    }
}

/// Shows the share of queries with a relevant first result, before and after.
fn first_results(page: &Page, change: &SearchChange) -> Markup {
    let models = &page.comparison.models;
    let of_100 = |share: f64| (100.0 * share).round() as u64;
    html! {
        div class={ "tile " (class(change.is_clear())) } {
            b { (of_100(change.before)) " → " (of_100(change.after)) }
            span {
                "of 100 searches show " (relevant(page)) " first, with " strong { (models[page.baseline].name) } " and with "
                strong { (models[page.chosen].name) }
                @if let Some([low, high]) = change.interval {
                    "; " (CONFIDENCE) " of the difference " span.whole { (signed_whole(100.0 * low)) " to " (signed_whole(100.0 * high)) }
                }
                @if !change.is_clear() { "; may be chance" }
            }
        }
    }
}

/// Shows the lead of the chosen model over the baseline by the first measure.
fn lead(page: &Page) -> Markup {
    let pair = page.pairs.get(0, page.chosen, page.baseline);
    let real = pair.p < page.comparison.split.level;
    html! {
        div class={ "tile " (class(real)) } {
            b { (signed(pair.difference)) }
            span {
                (measure(&page.comparison.split.measures[0])) " over " strong { (page.comparison.models[page.baseline].name) }
                ": " @if real { "significant" } @else { "not significant" }
                " (" span.whole { (p(pair.p)) } ")"
                @if pair.queries > 1 {
                    ", " (CONFIDENCE) " " span.whole { (signed(pair.interval[0])) " to " (signed(pair.interval[1])) }
                }
            }
        }
    }
}

fn class(is_real: bool) -> &'static str {
    if is_real { "real" } else { "chance" }
}

/// Says in plain words what the figures mean, and what they do not.
fn paragraphs(page: &Page) -> Vec<String> {
    let models = &page.comparison.models;
    let (chosen, baseline) = (&models[page.chosen].name, &models[page.baseline].name);
    if models.len() == 1 {
        return Vec::new();
    }
    if page.chosen == page.baseline {
        return vec![format!(
            "On the validation queries none of the {} is better than {baseline} by more than chance, so nothing changes for \
             searchers.",
            counted(models.len() - 1, "other model")
        )];
    }
    let mut paragraphs = Vec::new();
    if let Some(change) = &page.change {
        paragraphs.push(format!(
            "Each of the {} counts as one search, however often it is asked. {chosen} puts {} first for {} where {baseline} \
             does not, and {baseline} for {} where {chosen} does not.",
            counted(change.queries, "test query"),
            relevant(page),
            counted(change.gained, "query"),
            counted(change.lost, "query"),
        ));
        if !change.is_clear() {
            paragraphs.push(format!(
                "The interval of this difference includes 0: these test queries do not show that {} comes first more often.",
                relevant(page)
            ));
        }
    }
    if !is_better(page) {
        let by = measure(&page.comparison.split.measures[0]);
        paragraphs.push(format!(
            "By {by} {chosen} is not significantly better than {baseline} on the test queries."
        ));
    }
    paragraphs
}
