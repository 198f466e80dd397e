//! Training data: Table 1 of the papers, and the findings of `doctor`.

use maud::{Markup, html};

use super::numbers::{counted, short, thousands, unbroken};
use crate::dataset::Statistics;
use crate::doctor::{Finding, Severity};
use crate::report::Page;

/// Statistics and findings, for the appendix.
pub(super) fn data(page: &Page) -> Markup {
    match &page.comparison.data.statistics {
        Some(known) => html! { (statistics(known)) (findings(page)) },
        None => html! { p {
            "Lists of feature vectors with grades, in folds: " (page.comparison.data.name) ", "
            (counted(page.queries.len(), "query")) " in total."
        } },
    }
}

fn statistics(s: &Statistics) -> Markup {
    let whole = |n: u64| thousands(n);
    let rows: [(&str, &str, String); 15] = [
        ("documents", "of the collection", whole(s.n_documents)),
        ("queries", "held-out ones included", whole(s.n_queries)),
        ("n_x", "queries with a training response", whole(s.n_x)),
        ("n_y", "documents with a training response", whole(s.n_y)),
        ("pairs", "of a query and a document with a response", whole(s.n_pairs)),
        ("responses", "sum of clicks or grades", short(s.n_clicks)),
        ("words", "different words of queries and documents", whole(s.n_words)),
        ("d_x", "features of queries", whole(s.d_x)),
        ("d_y", "features of documents", whole(s.d_y)),
        ("c_x", "mean nonzero features of a query", short(s.c_x)),
        ("c_y", "mean nonzero features of a document", short(s.c_y)),
        ("documents per query", "mean, of those with a response", short(s.documents_per_query)),
        ("queries per document", "mean, of those with a response", short(s.queries_per_document)),
        ("N_x", "mean queries of a query feature", short(s.n_per_x_feature)),
        ("N_y", "mean documents of a document feature", short(s.n_per_y_feature)),
    ];
    let judged = ["validation", "test"].into_iter().zip(s.n_judgments.iter().zip(&s.n_judged_queries));
    html! {
        h4 { "Statistics" }
        dl.statistics {
            @for (name, what, value) in rows { div { dt { (symbol(name)) span { (what) } } dd { (value) } } }
            @for (split, (pairs, queries)) in judged {
                div { dt { "judged for " (split) span { (counted(*queries, "query")) } }
                    dd { (counted(*pairs, "pair")) } }
            }
        }
    }
}

fn findings(page: &Page) -> Markup {
    let findings: Vec<&Finding> = page.findings.iter().flat_map(|report| &report.findings).collect();
    html! {
        h4 { "Findings of the doctor" }
        @if findings.is_empty() { p { "None: no damage, no empty texts, no test data in training." } }
        ul.findings { @for finding in findings {
            li class=(class(finding.severity)) {
                p { span.severity { (name(finding.severity)) } " " (unbroken(&finding.message)) }
                @if !finding.fix.is_empty() { p.fix { (finding.fix) } }
            }
        } }
    }
}

/// Writes a symbol of the papers with its index as a subscript.
fn symbol(name: &str) -> Markup {
    match name.split_once('_') {
        Some((letter, index)) => html! { i { (letter) } sub { (index) } },
        None => html! { (name) },
    }
}

fn name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Info => "Note",
    }
}

fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}
