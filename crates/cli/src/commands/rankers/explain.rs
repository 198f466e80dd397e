//! `explain --letor`: what each feature adds, and why one document stands above another.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::ranking::{Contribution, Ranker};
use matchrank_engine::model_file;
use serde_json::json;

use super::{query_dependent, read_lists};
use crate::Outcome;
use crate::terminal::{self, Format, Terminal, table};

pub(crate) struct Question<'a> {
    pub(crate) model: &'a Path,
    pub(crate) letor: &'a Path,
    /// Query features of the lists, for query-dependent models.
    pub(crate) query_features: Option<&'a Path>,
    pub(crate) query: &'a str,
    pub(crate) document: &'a str,
    /// The document to compare with.
    pub(crate) against: Option<&'a str>,
    pub(crate) top: usize,
    pub(crate) format: Format,
}

pub(crate) fn run(question: &Question<'_>, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let Question { letor, query, document, against, top, format, .. } = *question;
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
    let Answer { kind, scores, parts: parts_of, borrowed } =
        answer(question.model, question.query_features, &lists, &list)?;
    let (borrowed_text, borrowed_json) = borrowed.unzip();
    let with_borrowed = |mut json: serde_json::Value| {
        if let Some(borrowed) = &borrowed_json {
            json["function"] = borrowed.clone();
        }
        json
    };
    if format == Format::Table
        && let Some(text) = &borrowed_text
    {
        terminal::print(&format!("{text}\n"))?;
    }
    let parts = parts_of(first);
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
                print_json(&with_borrowed(json!({
                    "model": kind, "query": query, "document": document, "score": score,
                    "features": parts, "others": others,
                })))
            }
            format => {
                let mut rows: Vec<Vec<String>> = parts[..shown].iter().map(row).collect();
                if parts.len() > shown {
                    rows.push(last_cell("all other features", others, 5));
                }
                rows.push(last_cell("score", score, 5));
                let header = ["feature", "value", "scaled", "weight", "adds"];
                let is_sum = scores[first] == 0.0 || !parts.is_empty();
                let title = if is_sum {
                    "the score is the sum over features of weight * scaled value"
                } else {
                    "the score is a sum over training documents, which has no parts by feature"
                };
                print_table(&format!("{kind}: {title}"), &header, rows, format)
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
    for part in parts_of(second) {
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
            print_json(&with_borrowed(json!({
                "model": kind, "query": query, "document": document, "score": scores[first],
                "against": against, "other_score": scores[second], "difference": gap,
                "features": parts, "others": others,
            })))
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
                &format!("{kind}: why {document} stands {order} {against}, feature by feature"),
                &["feature", document, against, "adds"],
                rows,
                format,
            )
        }
    }
}

/// What a model says of a list.
struct Answer<'a> {
    kind: &'static str,
    scores: Vec<f64>,
    /// What each feature adds to the score of a document; nothing where scores have no such parts.
    parts: Box<dyn Fn(usize) -> Vec<Contribution> + 'a>,
    /// Whom a query-dependent function was learned from.
    borrowed: Option<(String, serde_json::Value)>,
}

fn answer<'a>(
    path: &Path,
    query_features: Option<&Path>,
    lists: &FeatureLists,
    list: &'a List<'a>,
) -> anyhow::Result<Answer<'a>> {
    let mut scores = Vec::new();
    if model_file::kind(path)? == model_file::QUERY_DEPENDENT {
        let model = query_dependent::load(path, query_features, lists)?;
        let served = model.served(list)?;
        model.score_by(&served.function, list, &mut scores);
        let borrowed = Some(query_dependent::borrowed(&model, &served, list));
        let parts = move |i: usize| model.explain(&served.function, list, i).unwrap_or_default();
        return Ok(Answer { kind: model_file::QUERY_DEPENDENT, scores, parts: Box::new(parts), borrowed });
    }
    ensure!(query_features.is_none(), "--query-features is for query-dependent models");
    let (model, _) = model_file::load_ranker(path)?;
    model.score(list, &mut scores);
    let kind = model.kind();
    let parts = move |i: usize| model.ranker.explain(list, i);
    Ok(Answer { kind, scores, parts: Box::new(parts), borrowed: None })
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
