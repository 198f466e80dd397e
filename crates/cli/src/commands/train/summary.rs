//! The summary that `train` prints of the model it made.

use std::time::Instant;

use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use matchrank_engine::models::MatchingModel;
use matchrank_engine::validation::NDCG_10;
use serde_json::json;

use super::Place;
use crate::terminal::{self, Format, Terminal, peak_memory, shown, to_json};

pub(super) fn print(
    (model, validation): (&dyn MatchingModel, Option<f64>),
    dataset: &Dataset,
    place: &Place,
    terminal: &Terminal,
    started: Instant,
) -> anyhow::Result<()> {
    let mut description = model.summary(dataset);
    // Models that measure nothing while they are trained do not have the figure in their summary.
    if let Some(figure) = validation.filter(|_| model.validation().is_none()) {
        description
            .fact(format!("validation {}", NDCG_10.to_string().to_uppercase()), format!("{figure:.4}"));
        description.details.set("validation", &figure);
    }
    match place.format {
        Format::Json | Format::Csv => {
            let seconds = started.elapsed().as_secs_f64();
            let mut summary =
                json!({ "model": model.kind(), "file": files::name_of(&place.out), "seconds": seconds });
            summary["peak_memory"] = json!(peak_memory());
            if let serde_json::Value::Object(details) = to_json(&description.details) {
                summary.as_object_mut().expect("an object").extend(details);
            }
            terminal::print_data(&summary, place.format)?;
        }
        Format::Table => {
            description.facts.insert(0, ("model".into(), model.kind().into()));
            terminal::print(&shown(&description))?;
            terminal.done(&format!("wrote {}", place.out.display()), started);
        }
    }
    Ok(())
}
