//! What is said about a ranker over the scores of models.

use matchrank_core::message::shortest;
use matchrank_engine::matching::{Stack, StackRanker};

use crate::terminal::{Format, table};

/// The rankers that a stack could have had.
pub(super) fn trials(model: &Stack) -> String {
    let kept = model.kept();
    let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
    let rows = model.trials.iter().map(|trial| {
        vec![
            trial.ranker.clone(),
            trial.lambda.map_or(String::new(), shortest),
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
    let values = match &model.ranker {
        StackRanker::Linear(model) => model.ranker.weights.clone(),
        StackRanker::Boosted(model) => {
            let gains = model.trees.gains();
            let sum = gains.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            gains.into_iter().map(|gain| gain / sum).collect()
        }
    };
    model.columns().into_iter().zip(values).collect()
}

/// The same as a table.
pub(crate) fn importance_table(model: &Stack) -> String {
    let what = match model.ranker {
        StackRanker::Linear(_) => "weight",
        StackRanker::Boosted(_) => "share of the gain",
    };
    let rows = importances(model).into_iter().map(|(name, value)| vec![name, format!("{value:.4}")]);
    table(&["score of", what], rows.collect(), Format::Table)
}
