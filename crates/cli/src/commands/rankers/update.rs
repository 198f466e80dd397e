//! `update --lists`: a perceptron goes on learning.

use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

use matchrank_core::progress::Progress;
use matchrank_engine::rankers::online::Learner;
use matchrank_engine::{Error, files, model_file};
use serde_json::json;

use crate::Outcome;
use crate::terminal::{self, Format, Terminal, human, table};

/// Longer lines are no lists but damage.
const LONGEST_LINE: usize = 64 << 20;

pub(crate) fn run(
    model: &Path,
    lists: &Path,
    out: &Path,
    checkpoint: Duration,
    format: Format,
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let name = files::name_of(lists);
    let (model, provenance) = model_file::load_ranker(model)?;
    let mut learner = Learner::new(model)?;
    let mut input = files::open(lists)?;
    terminal.begin("learning", None, "lists");
    let (mut line, mut number, mut learned, mut bad, mut loss) = (Vec::new(), 0u64, 0u64, 0u64, 0.0);
    let mut saved = Instant::now();
    loop {
        line.clear();
        let n = std::io::Read::take(&mut input, LONGEST_LINE as u64 + 1)
            .read_until(b'\n', &mut line)
            .map_err(|e| files::damaged(lists, e))?;
        if n == 0 {
            break;
        }
        number += 1;
        if n > LONGEST_LINE {
            return Err(Error::parse(
                name,
                number,
                "the line is longer than 64 MiB; one list a line is expected",
            )
            .into());
        }
        match learner.learn(&line) {
            Ok(None) => {}
            Ok(Some(lost)) => {
                learned += 1;
                loss += lost;
                terminal.advance(1);
            }
            Err(message) => {
                if bad < 5 {
                    terminal.note(&format!("{name}:{number}: left out: {message}"));
                }
                bad += 1;
            }
        }
        if saved.elapsed() >= checkpoint {
            model_file::save_ranker(out, learner.model(), &provenance)?;
            saved = Instant::now();
        }
    }
    model_file::save_ranker(out, learner.model(), &provenance)?;
    terminal.finish();
    let state = learner.model().state.as_ref().expect("a perceptron has a state");
    let mean = if learned > 0 { loss / learned as f64 } else { 0.0 };
    match format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&json!({
            "model": "perceptron", "file": out, "learned": learned, "left_out": bad, "mean_loss": mean,
            "lists": state.rounds, "updates": state.updates, "cumulative_loss": state.cumulative_loss,
            "seconds": started.elapsed().as_secs_f64(),
        }))?)?,
        format => {
            let rows = [
                ("lists learned from", human(learned)),
                ("left out", human(bad)),
                ("mean loss, before learning", format!("{mean:.4}")),
                ("lists in all", human(state.rounds)),
                ("of which changed the weights", human(state.updates)),
            ];
            let rows = rows.map(|(name, value)| vec![name.to_owned(), value]).to_vec();
            terminal::print(&table(&["", "value"], rows, format))?;
            terminal.done(&format!("wrote {}", out.display()), started);
        }
    }
    Ok(if bad > 0 { Outcome::Problems } else { Outcome::Clean })
}
