//! Heat map of what every pair of a query word and a document word adds to a score.

use foldhash::HashMap;
use maud::{Markup, html};

use crate::report::html::numbers::{fixed, short};
use crate::report::shown::shortened;
use crate::scoring::Pair;

/// Features of the query (across) and of the document (down) that are shown.
const ACROSS: usize = 5;
const DOWN: usize = 8;
/// Characters of a feature.
const LONG: usize = 60;

/// Cells are shares of the score, where it is large enough for that to say something.
pub(super) fn heat_map(pairs: &[Pair], others: f64, score: f64) -> Markup {
    let across = strongest(pairs.iter(), |pair| &pair.query_feature, ACROSS);
    // Of the document what goes with the features of the query that are shown.
    let seen = pairs.iter().filter(|pair| across.contains(&pair.query_feature.as_str()));
    let down = strongest(seen, |pair| &pair.document_feature, DOWN);
    let cells: HashMap<(&str, &str), f32> = pairs
        .iter()
        .map(|pair| ((pair.query_feature.as_str(), pair.document_feature.as_str()), pair.score))
        .collect();
    let value = |q: &str, d: &str| cells.get(&(q, d)).copied().unwrap_or(0.0);
    let most = pairs.iter().map(|pair| pair.score.abs()).fold(0.0, f32::max);
    // Rows without a cell to see are left out.
    let down: Vec<&str> =
        down.into_iter().filter(|d| across.iter().any(|q| share(value(q, d), most) > 0)).collect();
    let shown: f64 = down.iter().flat_map(|d| across.iter().map(move |q| f64::from(value(q, d)))).sum();
    let all = others + pairs.iter().map(|pair| f64::from(pair.score)).sum::<f64>();
    let as_share = score > 0.0 && f64::from(most) < 2.0 * score;
    let number = |value: f64| if as_share { percent(value / score) } else { short(value) };
    if down.is_empty() {
        return html! { p.note { "No word of the query and none of the document that the model knows." } };
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="What pairs of words add" {
            table.heat {
                thead { tr { td {} @for q in &across { th scope="col" { (feature(q)) } } } }
                tbody { @for d in &down {
                    tr {
                        th scope="row" { (feature(d)) }
                        @for q in &across { (cell(value(q, d), most, &number)) }
                    }
                } }
            }
        }
        @if (all - shown).abs() > 5e-4 * all.abs() { p.note { "All other pairs together: " (number(all - shown)) @if as_share { " of the score" } "." } }
    }
}

fn cell(value: f32, most: f32, number: &dyn Fn(f64) -> String) -> Markup {
    let share = share(value, most);
    html! {
        @if share == 0 { td.nothing { "·" } }
        @else if value > 0.0 { td.plus style={ "--s:" (share) "%" } { (number(f64::from(value))) } }
        @else { td.minus style={ "--s:" (share) "%" } { (number(f64::from(value))) } }
    }
}

/// In percent of the strongest pair.
fn share(value: f32, most: f32) -> u32 {
    if most > 0.0 { (100.0 * value.abs() / most).round() as u32 } else { 0 }
}

fn percent(share: f64) -> String {
    let decimals = usize::from(share.abs() < 0.1);
    format!("{} %", fixed(100.0 * share, decimals))
}

/// The features that take part in most, by the sum of what their pairs add or take away.
fn strongest<'a>(
    pairs: impl Iterator<Item = &'a Pair>,
    name: impl Fn(&'a Pair) -> &'a String,
    most: usize,
) -> Vec<&'a str> {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::default();
    for pair in pairs {
        let name = name(pair).as_str();
        let place = *places.entry(name).or_insert_with(|| {
            sums.push((name, 0.0));
            sums.len() - 1
        });
        sums[place].1 += f64::from(pair.score.abs());
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums.into_iter().take(most).map(|(name, _)| name).collect()
}

/// A word, or a click.
fn feature(name: &str) -> Markup {
    match name.split_once(':') {
        Some(("document", id)) => {
            html! { span.click title="a document this query led to a click on" { "clicked " (shortened(id, LONG)) } }
        }
        Some(("query", text)) => {
            html! { span.click title="a query that led to a click on this document" { "“" (shortened(text, LONG)) "”" } }
        }
        _ => html! { (shortened(name, LONG)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(q: &str, d: &str, score: f32) -> Pair {
        Pair { query_feature: q.into(), document_feature: d.into(), x: 1.0, affinity: score, y: 1.0, score }
    }

    #[test]
    fn strong_pairs_are_strong_cells() {
        let pairs =
            [pair("cheap", "sale", 0.5), pair("cheap", "query:hat <b>", -0.1), pair("shoe", "sale", 0.001)];
        let map = heat_map(&pairs, 0.25, 0.0).into_string();
        assert!(map.contains(r#"<td class="plus" style="--s:100%">0.5</td>"#), "{map}");
        assert!(map.contains(r#"<td class="minus" style="--s:20%">−0.1</td>"#), "{map}");
        assert!(map.contains("“hat &lt;b&gt;”") && map.contains("<td class=\"nothing\">·</td>"), "{map}");
        assert!(map.contains("All other pairs together: 0.25."), "{map}");
        assert!(heat_map(&[], 0.0, 0.0).into_string().contains("No word"));
    }

    #[test]
    fn only_the_strongest_features_are_shown() {
        let pairs: Vec<Pair> =
            (0..40).map(|i| pair(&format!("q{}", i % 10), &format!("d{i}"), i as f32)).collect();
        let map = heat_map(&pairs, 0.0, 780.0).into_string();
        assert_eq!(map.matches("scope=\"col\"").count(), ACROSS);
        assert_eq!(map.matches("scope=\"row\"").count(), DOWN);
        assert!(map.contains(">d39<") && !map.contains(">d0<"));
        assert!(map.contains(">5.0 %<") && map.contains("of the score."), "{map}");
    }
}
