//! `inspect` of a ranker: what it was trained by, how it went, and its weights.

use std::path::Path;

use matchrank_core::message::shortest;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::rankers::{RankerModel, RankerReport};
use serde_json::{Value, json};

use super::{boosted, query_dependent};
use crate::terminal::{human, to_json};

/// Features that are shown, those of the largest weights.
const SHOWN: usize = 10;

/// The rows of a table, and remarks below it.
pub(crate) fn describe(path: &Path) -> anyhow::Result<(Vec<Vec<String>>, Vec<String>, Provenance)> {
    if model_file::kind(path)? == model_file::QUERY_DEPENDENT {
        return query_dependent::describe(path);
    }
    if model_file::is_boosted(&model_file::kind(path)?) {
        return boosted::describe(path);
    }
    let (model, provenance) = model_file::load_ranker(path)?;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![row("kind", model.kind().to_owned())];
    for (name, value) in to_json(&model.params)[model.kind()].as_object().into_iter().flatten() {
        rows.push(row(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    let scaling = to_json(&model.ranker.scaling.kind());
    rows.push(row("scaling", scaling.as_str().unwrap_or_default().to_owned()));
    rows.push(row("features", human(model.ranker.weights.len() as u64)));
    let used = model.ranker.weights.iter().filter(|weight| **weight != 0.0).count();
    rows.push(row("of which with a weight", human(used as u64)));
    if let Some(state) = &model.state {
        rows.push(row(
            "lists seen, not in order",
            format!("{}, {}", human(state.rounds), human(state.updates)),
        ));
        rows.push(row("cumulative loss", format!("{:.3}", state.cumulative_loss)));
    }
    match &model.report {
        RankerReport::Perceptron(report) => {
            rows.push(row("kept epoch", format!("{} of {}", report.kept, report.epochs.len())));
        }
        RankerReport::Slam(report) => {
            rows.push(row("kept lambda", shortest(report.lambda)));
            rows.push(row(
                "objective, at w = 0",
                format!("{:.6}, {:.6}", report.objective, report.objective_at_zero),
            ));
        }
        RankerReport::Path(report) => rows.push(row("kept lambda", shortest(report.lambda))),
    }
    if let Some(figure) = model.report.validated() {
        rows.push(row("validation figure, when trained", format!("{figure:.4}")));
    }
    let count = |name: &str| provenance.data.get(name).and_then(Value::as_u64).map(human);
    if let (Some(lists), Some(documents)) = (count("lists"), count("documents")) {
        rows.push(row("trained on lists, documents", format!("{lists}, {documents}")));
    }
    Ok((rows, vec![weights(&model)], provenance))
}

fn weights(model: &RankerModel) -> String {
    let mut features: Vec<(usize, f64)> = (1..).zip(model.ranker.weights.iter().copied()).collect();
    features.retain(|(_, weight)| *weight != 0.0);
    if features.is_empty() {
        return "All weights are 0: nothing was learned, and all documents are level.".into();
    }
    features.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let shown: Vec<String> =
        features.iter().take(SHOWN).map(|(feature, weight)| format!("{feature} ({weight:.4})")).collect();
    format!("Features of the largest weights, as scaled: {}.", shown.join(", "))
}

/// All of it, for programs.
pub(crate) fn json_of(path: &Path) -> anyhow::Result<Value> {
    if model_file::kind(path)? == model_file::QUERY_DEPENDENT {
        return query_dependent::json_of(path);
    }
    if model_file::is_boosted(&model_file::kind(path)?) {
        return boosted::json_of(path);
    }
    let (model, provenance) = model_file::load_ranker(path)?;
    let state = model.state.as_ref().map(|state| {
        json!({ "rounds": state.rounds, "updates": state.updates, "cumulative_loss": state.cumulative_loss })
    });
    Ok(json!({
        "kind": model.kind(),
        "params": to_json(&model.params),
        "scaling": to_json(&model.ranker.scaling.kind()),
        "scalings": to_json(&model.scalings),
        "weights": model.ranker.weights,
        "factors": model.ranker.scaling.factors(),
        "state": state,
        "report": to_json(&model.report),
        "provenance": json!(provenance),
    }))
}
