//! The page, with one file per section.

mod advice;
mod axis;
mod bins;
mod curves;
mod data;
mod differences;
mod examples;
mod headline;
mod letters;
mod made;
mod numbers;
mod queries;
mod script;
mod speed;
mod table;
mod why;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::Page;

const STYLE: [&str; 3] = [include_str!("page.css"), include_str!("charts.css"), include_str!("queries.css")];

/// Renders the whole page.
pub fn html(page: &Page) -> String {
    let json = script::data(page);
    // Only the script with this nonce may run; no text inside the page can know it.
    let mark = blake3::hash(json.as_bytes()).to_hex();
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'nonce-{mark}'; base-uri 'none'; \
         form-action 'none'"
    );
    markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "matchrank " (page.comparison.version) };
                title { (headline::document_title(page)) }
                style { @for style in STYLE { (PreEscaped(style)) } }
            }
            body {
                a.skip href="#models" { "Skip to the table" }
                header.top { (headline::section(page)) (contents(page)) }
                main {
                    (advice::section(page))
                    (examples::section(page))
                    (table::section(page))
                    (differences::section(page))
                    (speed::section(page))
                    (bins::section(page))
                    (queries::section(page))
                    (why::section(page))
                    (appendix(page))
                }
                footer { p { "Made by matchrank " (page.comparison.version) ". Everything is in this file; it loads nothing." } }
                script type="application/json" id="page-data" { (PreEscaped(&json)) }
                script nonce=(mark.as_str()) { (PreEscaped(script::SCRIPT)) }
            }
        }
    }
    .into_string()
}

fn contents(page: &Page) -> Markup {
    let several = page.comparison.models.len() > 1;
    let links = [
        (true, "advice", "Advice"),
        (!page.examples.is_empty(), "examples", "Before and after"),
        (true, "models", "Models"),
        (several, "differences", "Differences"),
        (several, "speed", "Latency"),
        (bins::any(page), "kinds", "Kinds of queries"),
        (true, "queries", "Query by query"),
        (!page.explained.is_empty(), "why", "Why"),
        (true, "appendix", "Appendix"),
    ];
    markup! {
        nav aria-label="Sections" { ul {
            @for (_, id, name) in links.into_iter().filter(|(is_there, ..)| *is_there) { li { a href={ "#" (id) } { (name) } } }
        } }
    }
}

/// Details that few readers need, folded.
fn appendix(page: &Page) -> Markup {
    markup! {
        section #appendix aria-labelledby="appendix-title" {
            h2 #appendix-title { "Appendix" }
            (folded("made", "How it was made", &made::protocol(page)))
            (folded("data", "The data", &data::data(page)))
            (folded("costs", "Costs of training", &table::costs(page)))
            (folded("parameters", "Parameters of every model", &table::parameters(page)))
            @if curves::any(page) { (folded("training", "Training and tuning curves", &curves::curves(page))) }
        }
    }
}

fn folded(id: &str, title: &str, content: &Markup) -> Markup {
    markup! { details.folded id=(id) { summary { h3 { (title) } } div { (content) } } }
}
