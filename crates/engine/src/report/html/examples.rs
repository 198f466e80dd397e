//! Three queries before and after, with the rule that picked them.

use maud::{Markup, html};

use super::numbers::{counted, grade, listed, measure, rounded};
use super::script::shown_query;
use crate::report::{Example, ExampleKind, Page};

/// Results that are shown of each list.
const SHOWN: usize = 5;

pub(super) fn section(page: &Page) -> Markup {
    if page.examples.is_empty() {
        return html! {};
    }
    html! {
        section #examples aria-labelledby="examples-title" {
            h2 #examples-title { "Before and after: " (counted(page.examples.len(), "query")) }
            p { (rule(page)) }
            @for example in &page.examples { (article(page, example)) }
        }
    }
}

/// States how the queries were picked.
fn rule(page: &Page) -> String {
    let (model, baseline) = (name(page, page.chosen), name(page, page.baseline));
    let by = measure(&page.comparison.split.measures[0]);
    let pair = page.pairs.get(0, page.chosen, page.baseline);
    let has = |kind: ExampleKind| page.examples.iter().any(|example| example.kind == kind);
    let shown: Vec<&str> = [
        (ExampleKind::TypicalWin, "the win in the middle"),
        (ExampleKind::LargestWin, "the largest win"),
        (ExampleKind::LargestLoss, "the largest loss"),
        (ExampleKind::TypicalLoss, "the loss in the middle"),
    ]
    .into_iter()
    .filter(|(kind, _)| has(*kind))
    .map(|(_, words)| words)
    .collect();
    let losses = if pair.lost == 0 { " There is no loss to show." } else { "" };
    format!(
        "Picked by a rule, not by hand. By {by}, {model} is better than {baseline} on {}, worse on {} and equal on {}. Sorted by \
         the difference, {} shown; of equal differences, the query that comes first in the data.{losses}",
        counted(pair.won, "query"),
        counted(pair.lost, "query"),
        counted(pair.tied, "query"),
        match shown.len() {
            1 => format!("{} is", shown[0]),
            _ => format!("{} are", listed(&shown)),
        },
    )
}

fn name(page: &Page, model: usize) -> &str {
    &page.comparison.models[model].name
}

fn article(page: &Page, example: &Example) -> Markup {
    let by = measure(&page.comparison.split.measures[0]);
    let [before, after] = example.values.map(rounded);
    let (kind, class) = match example.kind {
        ExampleKind::TypicalWin => ("A typical win", "won"),
        ExampleKind::LargestWin => ("The largest win", "won"),
        ExampleKind::LargestLoss => ("The largest loss", "lost"),
        ExampleKind::TypicalLoss => ("A typical loss", "lost"),
    };
    html! {
        article class={ "example " (class) } {
            h3 { span.kind { (kind) } " " q { (shown_query(&page.queries[example.query])) } }
            p.note { (by) " " (before) " before, " (after) " after" }
            div.sides {
                (side(page, example, 0, "Before", page.baseline))
                (side(page, example, 1, "After", page.chosen))
            }
        }
    }
}

fn side(page: &Page, example: &Example, which: usize, when: &str, model: usize) -> Markup {
    let list = &example.top[which];
    let found = if page.is_clicked { "clicked" } else { "relevant" };
    let is_relevant = |grade: &Option<f32>| grade.is_some_and(|grade| grade > 0.0);
    let first = list.iter().position(|(_, grade)| is_relevant(grade));
    // A grade of 1 says no more than that the document is relevant; clicks are counts.
    let is_graded =
        !page.is_clicked && page.queries[example.query].judged.iter().any(|(_, grade)| *grade > 1.0);
    html! {
        div {
            h4 { (when) ": " (name(page, model)) }
            @if list.is_empty() { p.note { "Nothing found." } } @else {
                ol { @for (document, value) in list.iter().take(SHOWN) {
                    li.relevant[is_relevant(value)] {
                        span.title { @let document = &page.documents[*document];
                            @if document.title.is_empty() { (document.id) } @else { (document.title) } }
                        @if let Some(value) = value.filter(|value| *value > 0.0) {
                            " " span.mark { "✓ " (found) @if is_graded { ", grade " (grade(value)) } }
                        }
                    }
                } }
                p.note { @match first {
                    Some(place) => { "First " (found) " result: place " (place + 1) "." }
                    None => { "No " (found) " result among the first " (list.len()) "." }
                } }
            }
        }
    }
}
