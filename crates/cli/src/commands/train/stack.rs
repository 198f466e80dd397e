//! What is said about a ranker over the scores of models.

use matchrank_engine::matching::Stack;
use matchrank_engine::rankers::Importance;

use crate::terminal::{Format, table};

/// The rankers that a stack could have had.
pub(super) fn trials(model: &Stack) -> String {
    let kept = model.kept();
    let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
    let rows = model.trials.iter().map(|trial| {
        vec![
            trial.ranker.clone(),
            trial.lambda.map_or(String::new(), |lambda| format!("{lambda:e}")),
            number(trial.leaves),
            number(trial.trees),
            format!("{:.4}", trial.validation),
            if kept == Some(trial) { "kept".to_owned() } else { String::new() },
        ]
    });
    let validation = format!("validation {}", kept.map_or("", |kept| &kept.measure));
    let header = ["ranker", "lambda", "leaves", "trees", &validation, ""];
    table(&header, rows.collect(), Format::Table)
}

/// What the scores of the models are worth to a ranker: weights, or gains of trees as shares.
pub(crate) fn importances(model: &Stack) -> Vec<(String, f64)> {
    let values = model.ranker.importance().map_or(Vec::new(), |importance| importance.values().to_vec());
    model.columns().into_iter().zip(values).collect()
}

/// The same as a table.
pub(crate) fn importance_table(model: &Stack) -> String {
    let what = match model.ranker.importance() {
        Some(Importance::Gains(_)) => "share of the gain",
        _ => "weight",
    };
    let rows = importances(model).into_iter().map(|(name, value)| vec![name, format!("{value:.4}")]);
    table(&["score of", what], rows.collect(), Format::Table)
}
