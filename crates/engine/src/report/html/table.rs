//! Table of all models: every measure, the models that each beats, the time of a query; a sentence on each model; and, for
//! the appendix, costs and parameters.

use maud::{Markup, html};
use serde_json::Value;

use super::letters::{letter, letters};
use super::numbers::{counted, figure, fixed, listed, measure, seconds, sentence, short};
use crate::comparison::Compared;
use crate::models::registry;
use crate::rankers;
use crate::report::Page;

pub(super) fn section(page: &Page) -> Markup {
    let split = &page.comparison.split;
    let models = &page.comparison.models;
    html! {
        section #models aria-labelledby="models-title" {
            h2 #models-title { "The models" }
            @if let Some(verdict) = verdict(page) { p { (verdict) } }
            p { "Means over " @if page.split.is_none() { "folds of " } (counted(page.n_measured(), "test query"))
                @if page.n_measured() < page.queries.len() { " (of " (page.queries.len()) "; the others have no relevant document)" }
                ", sorted by " (measure(&split.measures[0])) ". A letter means that the model is significantly better than the model with "
                "that letter (" (test(&split.test)) ", Holm-corrected p\u{a0}<\u{a0}" (split.level) ")." }
            @if let Some(evidence) = page.comparison.evidence() { p { (sentence(&evidence)) } }
            div.scroll.fits tabindex="0" role="region" aria-labelledby="models-title" {
                table.models.cards data-sortable="" {
                    thead { tr {
                        th scope="col" { "Model" }
                        @for name in &split.measures { th.number scope="col" { (measure(name)) } }
                        th.number scope="col" { "validation" }
                        th.number scope="col" title="Time to rank one query: median and 95th percentile" { "query, ms" }
                    } }
                    tbody { @for (i, model) in models.iter().enumerate() { (row(page, i, model)) } }
                }
            }
            p.note { "Bold: the best of a measure. Query: median and 95th percentile of the time of a query, alone, with "
                (counted(split.threads, "thread")) "." }
            @if !page.comparison.unfinished.is_empty() { p.note { "Not finished, because the comparison was interrupted: " (page.comparison.unfinished.join(", ")) "." } }
            @for (name, why) in page.comparison.left_out.iter() { p.note { strong { (name) } " could not be compared: " (why) } }
            h3 { "In one sentence" }
            dl.explained { @for (name, what) in sentences(models) { div { dt { (name) } dd { (what) } } } }
        }
    }
}

/// States which model is best on the test queries, and which others may be as good.
fn verdict(page: &Page) -> Option<String> {
    let models = &page.comparison.models;
    let best = &models.first().filter(|_| models.len() > 1)?.name;
    let is_near = |(_, model): &(usize, &Compared)| !models[0].beats.contains(&model.name);
    let near: Vec<&str> =
        models.iter().enumerate().skip(1).filter(is_near).map(|(_, model)| model.name.as_str()).collect();
    Some(match near.len() {
        0 => format!("{best} is significantly better than every other model."),
        _ => format!(
            "These test queries cannot distinguish {best} from {}; {best} is significantly better than {}.",
            listed(&near),
            match models.len() - 1 - near.len() {
                0 => "no other model".to_owned(),
                1 => "the other".to_owned(),
                n => format!("the other {n}"),
            }
        ),
    })
}

/// Explains every model by the summary of its kind; models of one kind share a line.
fn sentences(models: &[Compared]) -> Vec<(String, String)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for model in models {
        match found.iter_mut().find(|(kind, _)| *kind == model.kind) {
            Some((_, names)) => names.push(&model.name),
            None => found.push((&model.kind, vec![&model.name])),
        }
    }
    let summary = |kind: &str| {
        let matching = registry::find(kind).map(|kind| kind.summary);
        matching.or_else(|| rankers::registry::find(kind).map(|kind| kind.summary))
    };
    let explained =
        found.into_iter().filter_map(|(kind, names)| Some((names.join(", "), sentence(summary(kind)?))));
    explained.collect()
}

fn row(page: &Page, i: usize, model: &Compared) -> Markup {
    let models = &page.comparison.models;
    let split = &page.comparison.split;
    let best = |m: usize| {
        let better = |a: usize, b: usize| page.pairs.get(m, a, b).difference;
        (0..models.len()).all(|other| better(i, other) >= 0.0)
    };
    html! {
        tr.baseline[i == page.baseline] {
            th scope="row" { span.letter { (letter(i)) } " " (model.name)
                @if i == page.chosen { " " span.tag.chosen { "chosen" } }
                @if i == page.baseline { " " span.tag { "baseline" } } }
            @for (m, name) in split.measures.iter().enumerate() {
                @let value = model.test.get(name).copied().unwrap_or(f64::NAN);
                td.number.best[best(m)] data-v=(value) data-label=(measure(name)) { (figure(value)) sup { (marks(page, model, name)) } }
            }
            @let chosen = model.validation.get(&split.tuned_by).copied().unwrap_or(f64::NAN);
            td.number data-v=(chosen) data-label="validation" { (figure(chosen)) }
            td.number data-v=(model.latency.p50_ms) data-label="query, ms" {
                (short(model.latency.p50_ms)) span.faint { " · " (short(model.latency.p95_ms)) }
            }
        }
    }
}

/// Costs of every model, for the appendix.
pub(super) fn costs(page: &Page) -> Markup {
    html! {
        p { "Training with the chosen parameters; settings tried, and the time it took; peak memory of the process during training; size "
            "of the model file. Times and memory are those of the machine and the " (counted(page.comparison.split.threads, "thread"))
            " of the comparison." }
        div.scroll.fits tabindex="0" role="region" aria-label="Costs" {
            table.cards data-sortable="" {
                thead { tr {
                    th scope="col" { "Model" }
                    th.number scope="col" { "training" } th.number scope="col" { "tuning" }
                    th.number scope="col" { "memory, MiB" } th.number scope="col" { "file, MiB" }
                } }
                tbody { @for model in &page.comparison.models { tr {
                    th scope="row" { (model.name) }
                    td.number data-v=(model.seconds) data-label="training" { (seconds(model.seconds)) }
                    td.number data-v=(model.tuning_seconds) data-label="tuning" {
                        @if model.trials > 0 { span.faint { (model.trials) " in " } (seconds(model.tuning_seconds)) }
                        @else { span.faint { "–" } }
                    }
                    td.number data-v=(model.peak_mib.unwrap_or(f64::NAN)) data-label="memory, MiB" {
                        (model.peak_mib.map_or("–".to_owned(), |mib| fixed(mib, 0)))
                    }
                    td.number data-v=(model.model_mib) data-label="file, MiB" {
                        @if model.model_mib < 0.1 { "<\u{a0}0.1" } @else { (short(model.model_mib)) }
                    }
                } } }
            }
        }
    }
}

/// Returns the letters of the models that a model beats by a measure.
fn marks(page: &Page, model: &Compared, measure: &str) -> String {
    let Some(beaten) = model.beats_by.get(measure) else { return String::new() };
    let models = page.comparison.models.iter().enumerate();
    letters(&models.filter(|(_, other)| beaten.contains(&other.name)).map(|(i, _)| i).collect::<Vec<_>>())
}

pub(super) fn test(name: &str) -> &str {
    match name {
        "t" => "paired t-test",
        "sign" => "sign test",
        "fisher" => "Fisher's randomisation test",
        "wilcoxon" => "Wilcoxon's signed-rank test",
        other => other,
    }
}

/// Parameters of every model, for the appendix.
pub(super) fn parameters(page: &Page) -> Markup {
    html! {
        div.columns { @for model in &page.comparison.models {
            div.parameters {
                h4 { (model.name) @if model.name != model.kind { " " span.tag { (model.kind) } } }
                @let settings = flat(&model.params.0);
                @if settings.is_empty() { p.note { "none" } }
                dl { @for (name, value) in settings { dt { (name) } dd { (value) } } }
            }
        } }
    }
}

/// Flattens nested settings, named by their paths.
fn flat(value: &Value) -> Vec<(String, String)> {
    fn walk(name: &str, value: &Value, found: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(field, value)| {
                let path = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                walk(&path, value, found);
            }),
            Value::String(text) => found.push((name.to_owned(), text.clone())),
            Value::Null => found.push((name.to_owned(), "–".to_owned())),
            Value::Array(list) if list.iter().all(|v| !v.is_object() && !v.is_array()) => {
                let texts = list.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
                found.push((name.to_owned(), texts.collect::<Vec<_>>().join(", ")));
            }
            other => found.push((name.to_owned(), other.to_string())),
        }
    }
    let mut found = Vec::new();
    walk("", value, &mut found);
    found
}
