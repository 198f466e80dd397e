//! Table of all models: every measure, the models that each beats, and its cost.

use maud::{Markup, html};
use serde_json::Value;

use super::letters::{letter, letters};
use super::numbers::{counted, figure, fixed, measure, seconds, sentence, short};
use crate::comparison::Compared;
use crate::report::Page;

pub(super) fn section(page: &Page) -> Markup {
    let split = &page.comparison.split;
    let models = &page.comparison.models;
    html! {
        section #models aria-labelledby="models-title" {
            h2 #models-title { "The models" }
            p { "Means over " @if page.split.is_none() { "folds of " } (counted(page.n_measured(), "test query"))
                @if page.n_measured() < page.queries.len() { " (of " (page.queries.len()) "; the others have no relevant document)" }
                ", sorted by " (measure(&split.measures[0])) ". A letter means that the model is significantly better than the model with "
                "that letter (" (test(&split.test)) ", Holm-corrected p < " (split.level) ")." }
            @if let Some(evidence) = page.comparison.evidence() { p { (sentence(&evidence)) } }
            div.scroll tabindex="0" role="region" aria-labelledby="models-title" {
                table.models data-sortable="" {
                    thead { tr {
                        th scope="col" { "Model" }
                        @for name in &split.measures { th.number scope="col" { (measure(name)) } }
                        th.number scope="col" { "validation" }
                        th.number scope="col" title="Training with the parameters that were chosen" { "training" }
                        th.number scope="col" title="Settings tried on the validation queries, and the time it took" { "tuning" }
                        th.number scope="col" title="Peak memory of the process during training" { "memory, MiB" }
                        th.number scope="col" title="Time to rank one query: median and 95th percentile" { "query, ms" }
                        th.number scope="col" title="Size of the model file" { "file, MiB" }
                    } }
                    tbody { @for (i, model) in models.iter().enumerate() { (row(page, i, model)) } }
                }
            }
            p.note { "Bold: the best of a measure. Tuning: settings tried, and the time it took. Query: median and 95th percentile. "
                "Times and memory are those of the machine and the " (counted(split.threads, "thread"))
                " of the comparison; queries are ranked one after the other." }
            @if !page.comparison.unfinished.is_empty() { p.note { "Not finished, because the comparison was interrupted: " (page.comparison.unfinished.join(", ")) "." } }
            @for (name, why) in page.comparison.left_out.iter() { p.note { strong { (name) } " could not be compared: " (why) } }
            (parameters(models))
        }
    }
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
                @if i == page.baseline { " " span.tag { "baseline" } } }
            @for (m, name) in split.measures.iter().enumerate() {
                @let value = model.test.get(name).copied().unwrap_or(f64::NAN);
                td.number.best[best(m)] data-v=(value) { (figure(value)) sup { (marks(page, model, name)) } }
            }
            @let chosen = model.validation.get(&split.tuned_by).copied().unwrap_or(f64::NAN);
            td.number data-v=(chosen) { (figure(chosen)) }
            td.number data-v=(model.seconds) { (seconds(model.seconds)) }
            td.number data-v=(model.tuning_seconds) {
                @if model.trials > 0 { span.faint { (model.trials) " in " } (seconds(model.tuning_seconds)) }
                @else { span.faint { "–" } }
            }
            td.number data-v=(model.peak_mib.unwrap_or(f64::NAN)) {
                (model.peak_mib.map_or("–".to_owned(), |mib| fixed(mib, 0)))
            }
            td.number data-v=(model.latency.p50_ms) {
                (short(model.latency.p50_ms)) span.faint { " · " (short(model.latency.p95_ms)) }
            }
            td.number data-v=(model.model_mib) { @if model.model_mib < 0.1 { "< 0.1" } @else { (short(model.model_mib)) } }
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

fn parameters(models: &[Compared]) -> Markup {
    html! {
        details.block {
            summary { "Parameters of every model" }
            div.columns { @for model in models {
                div.parameters {
                    h3 { (model.name) @if model.name != model.kind { " " span.tag { (model.kind) } } }
                    @let settings = flat(&model.params.0);
                    @if settings.is_empty() { p.note { "none" } }
                    dl { @for (name, value) in settings { dt { (name) } dd { (value) } } }
                }
            } }
        }
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
