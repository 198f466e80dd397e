//! The script of the page, and its data.

use matchrank_core::measure::Measure;
use serde_json::{Value, json};

use super::numbers::measure;
use super::why::places;
use crate::comparison::TestQuery;
use crate::report::Page;
use crate::report::shown::shortened;

/// The script.
pub(super) const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("page.js"),
    include_str!("queries.js"),
    include_str!("opened.js"),
    "})();\n"
);

/// Largest number of characters of a query that are shown.
const QUERY: usize = 160;

/// Largest number of queries whose values are in a page.
const QUERIES: usize = 3000;

/// Returns the queries whose values the script has, ascending: all, or an even sample and those that can be opened.
pub(super) fn embedded(page: &Page) -> Vec<usize> {
    let n = page.queries.len();
    let mut chosen: Vec<usize> = (0..n.min(QUERIES)).map(|i| i * n / n.min(QUERIES)).collect();
    chosen.extend(page.opened.iter().map(|opened| opened.query));
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// Returns the data as JSON that is safe inside a script element: without `<`, `>` and `&`.
pub(super) fn data(page: &Page) -> String {
    let split = &page.comparison.split;
    let queries = embedded(page);
    let models: Vec<&str> = page.comparison.models.iter().map(|model| model.name.as_str()).collect();
    let higher = |name: &String| name.parse::<Measure>().map_or(true, |measure| measure.higher_is_better());
    let values = split.measures.iter().map(|name| {
        let of = |model: usize| {
            let values = page.values[model].get(name);
            queries
                .iter()
                .map(|&q| values.and_then(|values| values[q]).map(ten_thousandths))
                .collect::<Vec<_>>()
        };
        (0..models.len()).map(of).collect::<Vec<_>>()
    });
    let pairs = (0..page.pairs.n_measures()).map(|m| {
        let all = (0..models.len()).flat_map(|a| (a + 1..models.len()).map(move |b| (a, b)));
        let pair = |(a, b)| {
            let pair = page.pairs.get(m, a, b);
            json!([
                fine(pair.difference),
                fine(pair.interval[0]),
                fine(pair.interval[1]),
                fine(pair.p),
                pair.won,
                pair.tied,
                pair.lost
            ])
        };
        all.map(pair).collect::<Vec<Value>>()
    });
    let places = places(page);
    let opened = page.opened.iter().enumerate().map(|(i, opened)| {
        let top = opened.top.iter().map(|list| {
            list.iter().flat_map(|(document, grade)| [json!(document), json!(grade)]).collect::<Vec<Value>>()
        });
        let why: Vec<Value> = (0..models.len()).map(|model| json!(places.get(&(i, model)))).collect();
        let query = queries.binary_search(&opened.query).expect("what can be opened is embedded");
        json!({ "q": query, "top": top.collect::<Vec<_>>(), "judged": opened.judged, "why": why })
    });
    let data = json!({
        "models": models,
        "measures": split.measures.iter().map(|name| measure(name)).collect::<Vec<_>>(),
        "higher": split.measures.iter().map(higher).collect::<Vec<_>>(),
        "level": split.level,
        "queries": queries.iter().map(|&q| &page.queries[q]).map(|query| json!([shown_query(query), query.clicks, shortened(&query.id, QUERY)])).collect::<Vec<_>>(),
        "values": values.collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
        "opened": opened.collect::<Vec<_>>(),
        "documents": page.documents.iter().map(|document| json!([document.id, document.title, document.text])).collect::<Vec<_>>(),
    });
    embeddable(&data.to_string())
}

/// Returns a query as it is shown: its text, else its id.
pub(super) fn shown_query(query: &TestQuery) -> String {
    shortened(if query.text.is_empty() { &query.id } else { &query.text }, QUERY)
}

/// Converts a value of a query to ten-thousandths: short, and finer than anything that is drawn.
fn ten_thousandths(value: f64) -> i64 {
    (value * 1e4).round() as i64
}

fn fine(value: f64) -> f64 {
    (value * 1e5).round() / 1e5
}

/// Escapes JSON so that no string in it can end a script element.
fn embeddable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_script() {
        let hostile = json!({ "a": "</script><script>alert(1)</script><!-- & \u{2028} \" \\" });
        let embedded = embeddable(&hostile.to_string());
        assert!(!embedded.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(serde_json::from_str::<Value>(&embedded).unwrap(), hostile);
    }
}
