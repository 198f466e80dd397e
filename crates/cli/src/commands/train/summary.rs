//! What `train` prints about the model it made.

use std::time::Instant;

use matchrank_engine::dataset::Dataset;
use matchrank_engine::features::FeatureStatistics;
use matchrank_engine::files;
use matchrank_engine::matching::{
    BltmModel, Combination, Inputs, LatentModel, MatchingModel, PreferenceModel,
};
use serde_json::{Value, json};

use super::course::{bltm_iterations, counting, epochs, is_collapsed, iterations, rule_check, warning};
use super::{Place, preference, stack};
use crate::terminal::{self, Format, Terminal, figure, human, peak_memory, table, to_json};

pub(super) fn print(
    model: &MatchingModel,
    dataset: &Dataset,
    place: &Place,
    terminal: &Terminal,
    started: Instant,
) -> anyhow::Result<()> {
    match place.format {
        Format::Json | Format::Csv => {
            let seconds = started.elapsed().as_secs_f64();
            let mut summary =
                json!({ "model": model.kind(), "file": files::name_of(&place.out), "seconds": seconds });
            summary["peak_memory"] = json!(peak_memory());
            for (key, value) in details(model, dataset) {
                summary[key] = value;
            }
            terminal::print_data(&summary, place.format)?;
        }
        Format::Table => {
            terminal::print(&tables(model, dataset))?;
            terminal.done(&format!("wrote {}", place.out.display()), started);
        }
    }
    Ok(())
}

/// What there is to say about a model, for programs.
fn details(model: &MatchingModel, dataset: &Dataset) -> Vec<(&'static str, Value)> {
    match model {
        MatchingModel::Bm25(model) => vec![
            ("params", json!(model.bm25.params())),
            ("documents", json!(model.bm25.n_documents())),
            ("words", json!(model.words.vocabulary.len())),
            ("average_length", json!(model.bm25.average_length())),
        ],
        MatchingModel::Latent(model) => {
            let mut details = vec![("params", model.params.clone())];
            if let Inputs::Features(features) = &model.inputs {
                details.push(("features", to_json(features.params())));
            }
            details.push(("report", json!(model.report)));
            let report = &model.report;
            let iterations = report.iterations.iter().map(|row| row.seconds);
            let seconds: Vec<f64> =
                iterations.chain(report.epochs.iter().map(|epoch| epoch.seconds)).collect();
            details.push(("iteration_seconds", json!(seconds)));
            details.push(("collapsed", json!(is_collapsed(&model.report))));
            details
        }
        MatchingModel::Bltm(model) => {
            let mut params = to_json(&model.params);
            params["click_tf"] = to_json(&model.report.click_tf);
            let seconds: Vec<f64> = model.report.iterations.iter().map(|row| row.seconds).collect();
            vec![
                ("params", params),
                ("words", json!(model.words.vocabulary.len())),
                ("report", json!(model.report)),
                ("iteration_seconds", json!(seconds)),
            ]
        }
        MatchingModel::RandomWalk(model) => {
            let s = &dataset.manifest.statistics;
            vec![
                ("params", json!(model.params)),
                ("queries", json!(s.n_x)),
                ("documents", json!(s.n_y)),
                ("pairs", json!(s.n_pairs)),
            ]
        }
        MatchingModel::Preference(model) => vec![
            ("params", to_json(&model.settings)),
            ("features", to_json(model.features.params())),
            ("learned_with", to_json(&model.state.params)),
            ("words", json!(model.features.n_words())),
            ("tuples", json!(model.state.clock.steps)),
            ("nonzero", json!(model.w.nnz())),
            ("density", json!(model.density())),
            ("report", to_json(&model.report)),
        ],
        MatchingModel::Stack(model) => vec![
            ("ranker", json!(model.ranker.kind().name)),
            ("of", json!(model.parts.iter().map(|(name, _)| name).collect::<Vec<_>>())),
            ("depth", json!(model.depth)),
            ("trials", to_json(&model.trials)),
            (
                "importances",
                stack::importances(model).into_iter().map(|(name, value)| json!([name, value])).collect(),
            ),
        ],
        MatchingModel::Combination(model) => vec![
            ("weight", to_json(&model.weight)),
            ("of", json!([model.first.kind(), model.second.kind()])),
            ("tuned_on", json!(model.tuned_on)),
            (
                "curve",
                model
                    .curve
                    .iter()
                    .map(|(a, ndcg)| json!({ "a": to_json(a), "validation_ndcg@10": ndcg }))
                    .collect(),
            ),
        ],
    }
}

fn tables(model: &MatchingModel, dataset: &Dataset) -> String {
    let mut rows = vec![("model".to_owned(), model.kind().to_owned())];
    let mut more = Vec::new();
    match model {
        MatchingModel::Bm25(model) => {
            add_params(&mut rows, &json!(model.bm25.params()));
            rows.push(("documents".into(), human(model.bm25.n_documents())));
            rows.push(("words".into(), human(model.words.vocabulary.len() as u64)));
            rows.push(("words per document".into(), figure(model.bm25.average_length(), 2)));
        }
        MatchingModel::Latent(model) => {
            add_latent(&mut rows, model);
            more.extend(iterations(&model.report));
            more.extend(epochs(&model.report));
            more.extend(model.report.features.as_ref().and_then(|features| counting(features, dataset)));
            more.extend(warning(&model.report));
        }
        MatchingModel::Bltm(model) => {
            add_bltm(&mut rows, model);
            more.extend(bltm_iterations(&model.report));
        }
        MatchingModel::RandomWalk(model) => {
            add_params(&mut rows, &json!(model.params));
            let s = &dataset.manifest.statistics;
            rows.push(("queries with clicks".into(), human(s.n_x)));
            rows.push(("documents with clicks".into(), human(s.n_y)));
            rows.push(("pairs".into(), human(s.n_pairs)));
        }
        MatchingModel::Preference(model) => {
            add_preference(&mut rows, model);
            more.extend(preference::trials(model, Format::Table));
            more.push(preference::curve(model, Format::Table));
        }
        MatchingModel::Combination(model) => {
            let Combination { weight, first, second, curve, tuned_on } = &**model;
            for (part, weight) in [first, second].iter().zip(model.weights()) {
                rows.push((format!("weight of {}", part.kind()), weight.to_string()));
            }
            if let Some(ranked) = tuned_on {
                rows.push(("tuned on".into(), format!("validation queries, {}", ranked.describe())));
            }
            let curve = curve.iter().map(|(a, ndcg)| {
                let mark = if a == weight { "best" } else { "" };
                vec![a.to_string(), format!("{ndcg:.4}"), mark.to_owned()]
            });
            let first = format!("weight of {}", first.kind());
            if curve.len() > 0 {
                more.push(table(&[&first, "validation NDCG@10", ""], curve.collect(), Format::Table));
            }
        }
        MatchingModel::Stack(model) => {
            rows.push(("ranker".into(), model.ranker.kind().name.to_owned()));
            rows.push(("candidates of each model".into(), human(model.depth as u64)));
            more.push(stack::trials(model));
            more.push(stack::importance_table(model));
        }
    }
    let rows = rows.into_iter().map(|(name, value)| vec![name, value]).collect();
    let mut text = table(&["", "value"], rows, Format::Table);
    for part in more {
        text.push_str("\n\n");
        text.push_str(&part);
    }
    text
}

fn add_params(rows: &mut Vec<(String, String)>, params: &Value) {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or(number.to_string(), |n| (n as f32).to_string()),
        other => other.to_string(),
    };
    rows.extend(params.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), cell(value))));
}

fn add_latent(rows: &mut Vec<(String, String)>, model: &LatentModel) {
    add_params(rows, &model.params);
    if model.params["d"].as_u64().is_some_and(|d| d > model.model.d() as u64) {
        rows.push(("latent dimensions found".into(), human(model.model.d() as u64)));
    }
    if let Inputs::Features(features) = &model.inputs {
        let mut params = to_json(features.params());
        if !features.use_clicks() {
            params.as_object_mut().expect("a struct").retain(|name, _| name == "tf" || name == "idf");
        }
        add_params(rows, &params);
        rows.push(("words".into(), human(features.n_words() as u64)));
    }
    let report = &model.report;
    if let Some(statistics) = &report.features {
        let FeatureStatistics { n_x, n_y, n_words, d_x, d_y, c_x, c_y, n_pairs, .. } = statistics;
        rows.push(("queries with clicks".into(), human(*n_x as u64)));
        rows.push(("documents, with and without clicks".into(), human(*n_y as u64)));
        let made_of = |d: usize, of: &str| match d - n_words {
            0 => format!("{}: words", human(d as u64)),
            n => format!("{}: words and {} {of}", human(d as u64), human(n as u64)),
        };
        rows.push(("features of queries".into(), made_of(*d_x, "documents")));
        rows.push(("features of documents".into(), made_of(*d_y, "queries")));
        rows.push((
            "nonzero per query and document".into(),
            format!("{}, {}", figure(*c_x, 1), figure(*c_y, 1)),
        ));
        rows.push(("pairs".into(), human(*n_pairs as u64)));
    }
    if let (Some(first), Some(last)) = (report.singular_values.first(), report.singular_values.last()) {
        rows.push(("singular values".into(), format!("{first:.3e} to {last:.3e}")));
    }
    if let (Some(residual), Some(steps)) = (report.residual, report.steps) {
        rows.push(("residual".into(), format!("{residual:.1e} after {steps} steps")));
    }
    if let Some(rules) = &report.rules {
        rows.extend(rule_check(rules));
    }
    if let Some(best) = report.best.filter(|_| !report.epochs.is_empty()) {
        let why = if report.validation.is_some() { "best on validation" } else { "the last" };
        rows.push(("kept iteration".into(), format!("{best} ({why})")));
    }
    if let Some(kept) = report.kept() {
        let (x, y) = (100.0 * kept.report.density_x, 100.0 * kept.report.density_y);
        rows.push(("density of both sides".into(), format!("{x:.1} %, {y:.1} %")));
        let why = if kept.validation.is_some() { "best on validation" } else { "the last" };
        rows.push(("kept iteration".into(), format!("{} ({why})", kept.report.number)));
    }
    if let Some(ndcg) = report.validation {
        rows.push(("validation NDCG@10".into(), format!("{ndcg:.4}")));
    }
}

fn add_preference(rows: &mut Vec<(String, String)>, model: &PreferenceModel) {
    let PreferenceModel { settings, features, state, report, .. } = model;
    add_params(rows, &to_json(settings));
    for (name, value) in
        [("margin", state.params.margin), ("c", state.params.c), ("lambda", state.params.lambda)]
    {
        let row = rows.iter_mut().find(|(row, text)| row == name && text == "auto");
        row.into_iter().for_each(|(_, text)| *text = format!("auto: {value}"));
    }
    let mut params = to_json(features.params());
    params.as_object_mut().expect("a struct").retain(|name, _| name == "tf" || name == "idf");
    add_params(rows, &params);
    rows.push(("learned from".into(), report.source.clone()));
    rows.push(("words".into(), human(features.n_words() as u64)));
    rows.push(("weights".into(), human(model.w.nnz() as u64)));
    rows.push(("density".into(), format!("{:.4} %", 100.0 * model.density())));
    if let Some(ndcg) = report.validation {
        rows.push(("validation NDCG@10".into(), format!("{ndcg:.4}")));
    }
}

fn add_bltm(rows: &mut Vec<(String, String)>, model: &BltmModel) {
    let BltmModel { params, topics, report, .. } = model;
    add_params(rows, &to_json(params));
    add_params(rows, &json!({ "click_tf": report.click_tf }));
    rows.push(("pairs".into(), human(report.n_pairs as u64)));
    rows.push(("words of queries".into(), human(topics.queries().n_rows() as u64)));
    rows.push(("words of documents".into(), human(topics.documents().n_rows() as u64)));
    if let Some(best) = report.best {
        let why = if report.validation.is_some() { "best on validation" } else { "the last" };
        rows.push(("kept iteration".into(), format!("{best} ({why})")));
    }
    if let Some(ndcg) = report.validation {
        rows.push(("validation NDCG@10".into(), format!("{ndcg:.4}")));
    }
}
