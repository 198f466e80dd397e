//! `explain --letor`: what each feature adds, and why one document stands above another.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use matchrank_core::ranking::{Contribution, Ranker};
use matchrank_engine::model_file;
use serde_json::json;

use super::read_lists;
use crate::Outcome;
use crate::terminal::{self, Format, Terminal, table};

pub(crate) struct Question<'a> {
    pub(crate) model: &'a Path,
    pub(crate) letor: &'a Path,
    pub(crate) query: &'a str,
    pub(crate) document: &'a str,
    /// The document to compare with.
    pub(crate) against: Option<&'a str>,
    pub(crate) top: usize,
    pub(crate) format: Format,
}

pub(crate) fn run(question: &Question<'_>, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let Question { letor, query, document, against, top, format, .. } = *question;
    let (model, _) = model_file::load_ranker(question.model)?;
    let lists = read_lists(letor, terminal)?;
    terminal.finish();
    let list = lists
        .iter()
        .find(|list| list.query() == query)
        .with_context(|| format!("{}: there is no query {query}", letor.display()))?;
    let place = |document: &str| {
        (0..list.len())
            .find(|&i| list.document(i) == document)
            .with_context(|| format!("{}: query {query} has no document {document}", letor.display()))
    };
    let first = place(document)?;
    let mut scores = Vec::new();
    model.score(&list, &mut scores);
    let parts = model.ranker.explain(&list, first);
    let Some(against) = against else {
        let mut parts = parts;
        parts.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then(a.feature.cmp(&b.feature)));
        let others: f64 = parts.iter().skip(top).map(|part| part.adds).sum();
        let shown = parts.len().min(top);
        let score = scores[first];
        return match format {
            Format::Json => {
                let parts: Vec<_> = parts[..shown]
                    .iter()
                    .map(|part| {
                        json!({ "feature": part.feature + 1, "value": part.value, "scaled": part.scaled,
                                "weight": part.weight, "adds": part.adds })
                    })
                    .collect();
                print_json(&json!({
                    "model": model.kind(), "query": query, "document": document, "score": score,
                    "features": parts, "others": others,
                }))
            }
            format => {
                let mut rows: Vec<Vec<String>> = parts[..shown].iter().map(row).collect();
                if parts.len() > shown {
                    rows.push(last_cell("all other features", others, 5));
                }
                rows.push(last_cell("score", score, 5));
                let header = ["feature", "value", "scaled", "weight", "adds"];
                print_table(
                    &format!("{}: the score is the sum over features of weight * scaled value", model.kind()),
                    &header,
                    rows,
                    format,
                )
            }
        };
    };
    let second = place(against)?;
    ensure!(first != second, "a document cannot stand above itself; name two");
    // The difference of the scores, feature by feature.
    let mut differences: BTreeMap<u32, [Option<Contribution>; 2]> = BTreeMap::new();
    for part in parts {
        differences.entry(part.feature).or_default()[0] = Some(part);
    }
    for part in model.ranker.explain(&list, second) {
        differences.entry(part.feature).or_default()[1] = Some(part);
    }
    let adds = |part: &Option<Contribution>| part.map_or(0.0, |part| part.adds);
    let mut differences: Vec<(u32, [Option<Contribution>; 2], f64)> = differences
        .into_iter()
        .map(|(feature, [a, b])| (feature, [a, b], adds(&a) - adds(&b)))
        .filter(|(.., difference)| *difference != 0.0)
        .collect();
    differences.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then(a.0.cmp(&b.0)));
    let others: f64 = differences.iter().skip(top).map(|(.., difference)| difference).sum();
    let shown = differences.len().min(top);
    let gap = scores[first] - scores[second];
    let value = |part: &Option<Contribution>| part.map_or(0.0, |part| part.value);
    match format {
        Format::Json => {
            let parts: Vec<_> = differences[..shown]
                .iter()
                .map(|(feature, [a, b], difference)| {
                    json!({ "feature": feature + 1, "value": value(a), "other_value": value(b), "adds": difference })
                })
                .collect();
            print_json(&json!({
                "model": model.kind(), "query": query, "document": document, "score": scores[first],
                "against": against, "other_score": scores[second], "difference": gap,
                "features": parts, "others": others,
            }))
        }
        format => {
            let mut rows: Vec<Vec<String>> = differences[..shown]
                .iter()
                .map(|(feature, [a, b], difference)| {
                    vec![
                        (feature + 1).to_string(),
                        value(a).to_string(),
                        value(b).to_string(),
                        format!("{difference:.6}"),
                    ]
                })
                .collect();
            if differences.len() > shown {
                rows.push(last_cell("all other features", others, 4));
            }
            rows.push(last_cell("difference of scores", gap, 4));
            let order = match gap.total_cmp(&0.0) {
                std::cmp::Ordering::Greater => "above",
                std::cmp::Ordering::Less => "below",
                std::cmp::Ordering::Equal => "level with",
            };
            print_table(
                &format!("{}: why {document} stands {order} {against}, feature by feature", model.kind()),
                &["feature", document, against, "adds"],
                rows,
                format,
            )
        }
    }
}

fn row(part: &Contribution) -> Vec<String> {
    vec![
        (part.feature + 1).to_string(),
        part.value.to_string(),
        format!("{:.6}", part.scaled),
        format!("{:.6}", part.weight),
        format!("{:.6}", part.adds),
    ]
}

fn last_cell(name: &str, value: f64, columns: usize) -> Vec<String> {
    let mut row = vec![String::new(); columns];
    row[0] = name.to_owned();
    row[columns - 1] = format!("{value:.6}");
    row
}

fn print_json(value: &serde_json::Value) -> anyhow::Result<Outcome> {
    terminal::print(&serde_json::to_string_pretty(value)?)?;
    Ok(Outcome::Clean)
}

fn print_table(
    title: &str,
    header: &[&str],
    rows: Vec<Vec<String>>,
    format: Format,
) -> anyhow::Result<Outcome> {
    let text = table(header, rows, format);
    terminal::print(&if format == Format::Table { format!("{title}\n{text}") } else { text })?;
    Ok(Outcome::Clean)
}
