//! `explain --letor`: what each feature adds, and why one document stands above another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use matchrank_core::data::List;
use matchrank_core::ranking::{FeatureContribution, Ranker};
use matchrank_engine::model_file;
use matchrank_engine::rankers::RankingModel;
use serde_json::{Value, json};

use super::{FeatureNames, informed, names_of, read_lists};
use crate::Outcome;
use crate::terminal::{self, Format, Terminal, remark_text, table, to_json};

pub(crate) struct Question<'a> {
    pub(crate) model: &'a Path,
    pub(crate) letor: &'a [PathBuf],
    /// Query features of the lists, for models that take any.
    pub(crate) query_features: Option<&'a Path>,
    pub(crate) query: &'a str,
    pub(crate) document: &'a str,
    /// The document to compare with.
    pub(crate) against: Option<&'a str>,
    /// File with the names of the features.
    pub(crate) names: Option<&'a Path>,
    pub(crate) top: usize,
    pub(crate) format: Format,
}

pub(crate) fn run(question: &Question<'_>, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let Question { letor, query, document, against, format, .. } = *question;
    let lists = read_lists(letor, terminal)?;
    terminal.finish();
    let list = lists
        .iter()
        .find(|list| list.query() == query)
        .with_context(|| format!("{}: there is no query {query}", names_of(letor)))?;
    let place = |document: &str| {
        (0..list.len())
            .find(|&i| list.document(i) == document)
            .with_context(|| format!("{}: query {query} has no document {document}", names_of(letor)))
    };
    let first = place(document)?;
    let second = against.map(place).transpose()?;
    ensure!(second != Some(first), "a document cannot stand above itself; name two");
    let (model, _) = model_file::open_ranking(question.model)?;
    model.kind().require_complete(&lists)?;
    let model = informed(model, question.query_features, &lists)?;
    let (function, mut scores) = (model.describe_function(&list)?, Vec::new());
    model.score(&list, &mut scores);
    let names = FeatureNames::of_lists(question.names, [lists.n_features(), model.n_features()])?;
    if format == Format::Table {
        for remark in function.iter().flat_map(|function| &function.remarks) {
            terminal::print(&format!("{}\n", remark_text(remark, format)))?;
        }
    }
    let details = function.map(|function| to_json(&function.details));
    let answer = Answer { model, list, scores, names, details };
    match (second, answer.model.contributions(&answer.list, first)?) {
        (Some(second), parts) => print_differences(question, &answer, first, second, parts.is_none()),
        (None, Some(parts)) => print_sum(question, &answer, parts, first),
        (None, None) => print_over_mean(question, &answer, first),
    }
}

/// A list as a model ranks it.
struct Answer<'a> {
    model: Arc<dyn RankingModel>,
    list: List<'a>,
    scores: Vec<f64>,
    names: FeatureNames,
    /// Description of the function of the list, where the list has its own.
    details: Option<Value>,
}

/// The score as a sum over features.
fn print_sum(
    question: &Question<'_>,
    answer: &Answer<'_>,
    mut parts: Vec<FeatureContribution>,
    place: usize,
) -> anyhow::Result<Outcome> {
    let Question { query, document, top, format, .. } = *question;
    let names = &answer.names;
    let (kind, score) = (answer.model.kind().name, answer.scores[place]);
    parts.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then(a.feature.cmp(&b.feature)));
    let others: f64 = parts.iter().skip(top).map(|part| part.adds).sum();
    let shown = &parts[..parts.len().min(top)];
    if format == Format::Json {
        let parts = shown.iter().map(|part| {
            json!({ "feature": part.feature + 1, "name": names.get(part.feature), "value": to_json(&part.value), "scaled": part.scaled,
                    "weight": part.weight, "adds": part.adds })
        });
        return print_json(
            answer,
            json!({
                "model": kind, "query": query, "document": document, "score": score,
                "features": parts.collect::<Vec<_>>(), "others": others,
            }),
        );
    }
    let rows = shown.iter().map(|part| {
        let [scaled, weight, adds] = [part.scaled, part.weight, part.adds].map(|x| format!("{x:.6}"));
        vec![names.label(part.feature), part.value.to_string(), scaled, weight, adds]
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    if parts.len() > shown.len() {
        rows.push(last_cell("all other features", others, 5));
    }
    rows.push(last_cell("score", score, 5));
    let title = if score == 0.0 || !parts.is_empty() {
        "the score is the sum over features of weight * scaled value"
    } else {
        "the score is a sum over training documents, which has no parts by feature"
    };
    print_table(&format!("{kind}: {title}"), &["feature", "value", "scaled", "weight", "adds"], rows, format)
}

/// The score as the mean score of the list and what each feature adds to it.
fn print_over_mean(question: &Question<'_>, answer: &Answer<'_>, place: usize) -> anyhow::Result<Outcome> {
    let Question { query, document, top, format, .. } = *question;
    let Answer { model, list, names, .. } = answer;
    let (kind, score, n) = (model.kind().name, answer.scores[place], list.len());
    let why = model.shapley(list, place, &(0..n).collect::<Vec<_>>())?;
    let parts = (0..).zip(&why.adds).filter(|(_, adds)| **adds != 0.0);
    let parts = parts.map(|(feature, &adds)| {
        let sum: f64 = (0..n).map(|i| f64::from(list.row(i).get(feature))).sum();
        (feature, list.row(place).get(feature), sum / n as f64, adds)
    });
    let mut parts: Vec<(u32, f32, f64, f64)> = parts.collect();
    parts.sort_by(|a, b| b.3.abs().total_cmp(&a.3.abs()).then(a.0.cmp(&b.0)));
    let others: f64 = parts.iter().skip(top).map(|part| part.3).sum();
    let shown = &parts[..parts.len().min(top)];
    let rank = 1 + answer.scores.iter().filter(|&&other| other > score).count();
    if format == Format::Json {
        let parts = shown.iter().map(|(feature, value, mean, adds)| {
            json!({ "feature": feature + 1, "name": names.get(*feature), "value": to_json(value), "mean_value": mean, "adds": adds })
        });
        return print_json(
            answer,
            json!({
                "model": kind, "query": query, "document": document, "score": score, "rank": rank,
                "documents": n, "mean_score": why.base, "features": parts.collect::<Vec<_>>(), "others": others,
            }),
        );
    }
    let mut rows = vec![last_cell("mean score of the query", why.base, 4)];
    rows.extend(shown.iter().map(|(feature, value, mean, adds)| {
        vec![names.label(*feature), value.to_string(), format!("{mean:.6}"), format!("{adds:.6}")]
    }));
    if parts.len() > shown.len() {
        rows.push(last_cell("all other features", others, 4));
    }
    rows.push(last_cell("score", score, 4));
    let title = format!(
        "{kind}: {document} has rank {rank} of {n}; its score is the mean score of the documents of the query and what \
         each feature adds to it (Shapley values)"
    );
    print_table(&title, &["feature", "value", "mean value", "adds"], rows, format)
}

/// Contribution of one feature to the difference of two scores.
struct Difference {
    feature: u32,
    value: f32,
    other: f32,
    adds: f64,
}

/// The features that make a difference, the largest first.
fn differences(answer: &Answer<'_>, first: usize, second: usize) -> anyhow::Result<Vec<Difference>> {
    let Answer { model, list, .. } = answer;
    let adds = model.shapley(list, first, &[second])?.adds;
    let made = (0..).zip(adds).filter(|(_, adds)| *adds != 0.0).map(|(feature, adds)| {
        let [value, other] = [first, second].map(|document| list.row(document).get(feature));
        Difference { feature, value, other, adds }
    });
    let mut made: Vec<Difference> = made.collect();
    made.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then(a.feature.cmp(&b.feature)));
    Ok(made)
}

/// Why one document stands above another; `by_shapley` where scores are no sums over features.
fn print_differences(
    question: &Question<'_>,
    answer: &Answer<'_>,
    first: usize,
    second: usize,
    by_shapley: bool,
) -> anyhow::Result<Outcome> {
    let Question { query, document, against, top, format, .. } = *question;
    let differences = differences(answer, first, second)?;
    let names = &answer.names;
    let (kind, against) = (answer.model.kind().name, against.unwrap_or_default());
    let [score, other_score] = [first, second].map(|document| answer.scores[document]);
    let gap = score - other_score;
    let others: f64 = differences.iter().skip(top).map(|part| part.adds).sum();
    let shown = &differences[..differences.len().min(top)];
    if format == Format::Json {
        let parts = shown.iter().map(|part| {
            json!({ "feature": part.feature + 1, "name": names.get(part.feature), "value": to_json(&part.value), "other_value": to_json(&part.other),
                    "adds": part.adds })
        });
        return print_json(
            answer,
            json!({
                "model": kind, "query": query, "document": document, "score": score,
                "against": against, "other_score": other_score, "difference": gap,
                "features": parts.collect::<Vec<_>>(), "others": others,
            }),
        );
    }
    let rows = shown.iter().map(|part| {
        let [value, other] = [part.value, part.other].map(|value| value.to_string());
        vec![names.label(part.feature), value, other, format!("{:.6}", part.adds)]
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    if differences.len() > shown.len() {
        rows.push(last_cell("all other features", others, 4));
    }
    rows.push(last_cell("difference of scores", gap, 4));
    let order = match gap.total_cmp(&0.0) {
        std::cmp::Ordering::Greater => "above",
        std::cmp::Ordering::Less => "below",
        std::cmp::Ordering::Equal => "level with",
    };
    let by = if by_shapley { " (Shapley values)" } else { "" };
    print_table(
        &format!("{kind}: why {document} stands {order} {against}, feature by feature{by}"),
        &["feature", document, against, "adds"],
        rows,
        format,
    )
}

fn last_cell(name: &str, value: f64, columns: usize) -> Vec<String> {
    let mut row = vec![String::new(); columns];
    row[0] = name.to_owned();
    row[columns - 1] = format!("{value:.6}");
    row
}

/// With how the function of the list was made, where it has its own.
fn print_json(answer: &Answer<'_>, mut value: Value) -> anyhow::Result<Outcome> {
    if let Some(details) = &answer.details {
        value["function"] = details.clone();
    }
    terminal::print(&serde_json::to_string_pretty(&value)?)?;
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
