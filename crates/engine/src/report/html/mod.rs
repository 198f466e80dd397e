//! The page, with one file per section.

mod bars;
mod bins;
mod curves;
mod data;
mod headline;
mod letters;
mod made;
mod numbers;
mod queries;
mod script;
mod table;
mod why;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::Page;

const STYLE: [&str; 3] = [include_str!("page.css"), include_str!("charts.css"), include_str!("queries.css")];

/// Renders the whole page.
pub fn html(page: &Page) -> String {
    let data = &page.comparison.data.name;
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
                title { "Models compared on " (data) }
                style { @for style in STYLE { (PreEscaped(style)) } }
            }
            body {
                a.skip href="#models" { "Skip to the table" }
                header.top { (headline::section(page)) (contents(page)) }
                main {
                    (table::section(page))
                    (bars::section(page))
                    (bins::section(page))
                    (queries::section(page))
                    (why::section(page))
                    (curves::section(page))
                    (data::section(page))
                    (made::section(page))
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
    let mut links = vec![("models", "Models"), ("intervals", "Intervals")];
    if bins::any(page) {
        links.push(("kinds", "Kinds of queries"));
    }
    links.push(("queries", "Query by query"));
    if !page.explained.is_empty() {
        links.push(("why", "Why"));
    }
    if curves::any(page) {
        links.push(("training", "Training"));
    }
    links.extend([("data", "Data"), ("made", "How it was made")]);
    markup! {
        nav aria-label="Sections" { ul { @for (id, name) in links { li { a href={ "#" (id) } { (name) } } } } }
    }
}
