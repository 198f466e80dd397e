//! `update --lists`: a perceptron goes on learning.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use matchrank_core::progress::Progress;
use matchrank_engine::files;
use matchrank_engine::model_file::{self, ModelRef};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::rankers::RankingModel;
use matchrank_engine::rankers::perceptron::online::{
    Learner, PerceptronModel, StreamRun, Streamed, learn_stream,
};
use serde_json::json;

use crate::terminal::{self, Format, Terminal, table};
use crate::{Outcome, interrupt};

pub(crate) fn run(
    model: &Path,
    lists: &Path,
    out: &Path,
    resume: bool,
    checkpoint: Duration,
    format: Format,
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    // The model may be the file that is written.
    check_outputs([lists], [out])?;
    let (ranker, provenance) = model_file::open_ranking(model)?;
    let mut learner = Learner::new(&*ranker).with_context(|| model.display().to_string())?;
    if resume && learner.model().state.stream.is_none() {
        terminal.note("the model has not learned from a stream yet, so it learns from all lines");
    }
    interrupt::listen();
    let mut save = |model: &PerceptronModel| model_file::save(out, ModelRef::Ranking(model), &provenance);
    let streamed = learn_stream(
        &mut learner,
        lists,
        StreamRun { resume, stop: &interrupt::asked, interval: checkpoint, progress: terminal },
        &mut save,
    )?;
    save(learner.model())?;
    let Streamed { learned, loss, left_out, skipped, interrupted, .. } = streamed;
    if interrupted {
        terminal.note("interrupted; what was learned is saved");
    }
    terminal.finish();
    let model = learner.model();
    let state = &model.state.state;
    let lines = model.state.stream.as_ref().map_or(0, |stream| stream.lines);
    let mean = if learned > 0 { loss / learned as f64 } else { 0.0 };
    match format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!({
            "model": model.kind().name, "file": files::name_of(out), "learned": learned, "left_out": left_out, "skipped": skipped, "stream_lines": lines, "mean_loss": mean,
            "lists": state.rounds, "updates": state.updates, "cumulative_loss": state.cumulative_loss, "interrupted": interrupted,
            "seconds": started.elapsed().as_secs_f64(),
        }))?)?,
        format => {
            let rows = [
                ("lists learned from", format.count(learned)),
                ("left out", format.count(left_out)),
                ("learned from before, skipped", format.count(skipped)),
                ("mean loss, before learning", format!("{mean:.4}")),
                ("lists in all", format.count(state.rounds)),
                ("of which changed the weights", format.count(state.updates)),
            ];
            let rows = rows.map(|(name, value)| vec![name.to_owned(), value]).to_vec();
            terminal::print(&table(&["", "value"], rows, format))?;
            terminal.done(&format!("wrote {}", out.display()), started);
        }
    }
    Ok(if left_out > 0 { Outcome::Problems } else { Outcome::Clean })
}
