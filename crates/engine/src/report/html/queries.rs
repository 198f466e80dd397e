//! Wins and losses of a model, query by query, against another model that the reader picks. The script draws them;
//! without JavaScript there is a table of counts against the baseline.

use maud::{Markup, html};

use super::numbers::{counted, measure, p, signed};
use super::script;
use crate::report::Page;

pub(super) fn section(page: &Page) -> Markup {
    if page.comparison.models.len() < 2 {
        return html! { section #queries { h2 { "Query by query" } p { "There is only one model, and nothing to compare it with." } } };
    }
    // The chosen model first; if it is the baseline, the best of the others.
    let first = match page.chosen {
        chosen if chosen != page.baseline => chosen,
        _ => usize::from(page.baseline == 0),
    };
    html! {
        section #queries aria-labelledby="queries-title" {
            h2 #queries-title { "Query by query" }
            p { "Where does a model win, and where does it lose? Pick two, and open the queries on which they differ most." }
            div.controls.scripted {
                (select(page, "model", "Model ", first))
                (select(page, "against", "against ", page.baseline))
                label { "by " select #by { @for (i, name) in page.comparison.split.measures.iter().enumerate() {
                    option value=(i) { (measure(name)) }
                } } }
            }
            div.scripted {
                p #verdict aria-live="polite" {}
                div #share aria-hidden="true" {}
                figure #wins { div.plot {} figcaption.note {} }
                label.search { "Find a query " input #find type="search" autocomplete="off"; }
                div #lists {}
            }
            p.note.scripted { (left_out(page)) }
            noscript { p.note { "Opening queries needs JavaScript, which is off. These are the counts against the baseline." } }
            details.block { summary { "Every model against " (page.comparison.models[page.baseline].name) } (counts(page)) }
        }
    }
}

fn select(page: &Page, id: &str, name: &str, chosen: usize) -> Markup {
    html! {
        label { (name) select id=(id) {
            @for (i, model) in page.comparison.models.iter().enumerate() {
                option value=(i) selected[i == chosen] { (model.name) }
            }
        } }
    }
}

/// Describes what the page leaves out.
fn left_out(page: &Page) -> String {
    let (opened, queries) = (page.opened.len(), page.queries.len());
    let embedded = script::embedded(page).len();
    let mut said = if opened == 0 {
        "No results are kept for these queries, so none can be opened.".to_owned()
    } else if opened == queries {
        "Every query can be opened.".to_owned()
    } else {
        format!(
            "{} of {} can be opened: for every pair of models in turn, those on which the two differ most, up to the \
             limit of the page; then those on which the best and the worst model differ most.",
            opened,
            counted(queries, "query")
        )
    };
    if embedded < queries {
        said.push_str(&format!(
            " The chart and the search cover {} of them: an even sample, and those that can be opened. Counts and \
             means are over all.",
            counted(embedded, "query")
        ));
    }
    said
}

fn counts(page: &Page) -> Markup {
    let models = page.comparison.models.iter().enumerate().filter(|(i, _)| *i != page.baseline);
    html! {
        div.scroll.fits tabindex="0" role="region" aria-label="Wins and losses" {
            table.cards {
                thead { tr {
                    th scope="col" { "Model" }
                    th.number scope="col" { "won" } th.number scope="col" { "tied" } th.number scope="col" { "lost" }
                    th.number scope="col" { "difference" } th.number scope="col" { "95 % interval" } th.number scope="col" { "p (Holm)" }
                } }
                tbody { @for (i, model) in models {
                    @let pair = page.pairs.get(0, i, page.baseline);
                    tr {
                        th scope="row" { (model.name) }
                        td.number data-label="won" { (pair.won) } td.number data-label="tied" { (pair.tied) } td.number data-label="lost" { (pair.lost) }
                        td.number data-label="difference" { (signed(pair.difference)) }
                        td.number data-label="95 % interval" {
                            @if pair.queries > 1 { (signed(pair.interval[0])) " to " (signed(pair.interval[1])) } @else { "–" }
                        }
                        td.number data-label="p (Holm)" { (p(pair.p).trim_start_matches("p = ").trim_start_matches("p ")) }
                    }
                } }
            }
        }
    }
}
