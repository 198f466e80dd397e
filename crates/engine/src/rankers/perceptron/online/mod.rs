//! A perceptron that goes on learning, one list a line.
//!
//! A line is JSON: `{"query": "q1", "weight": 1, "documents": [{"id": "d1", "grade": 2, "features": ...}, ...]}`. Features
//! are an array, from feature 1 on, or an object from number to value, such as `{"1": 0.5, "17": 3}`; one that is not
//! there, or null, is 0. `query`, `weight` (from 0 to 1000) and `id` may be left out.
//!
//! A model keeps its position in the stream that it learned from last: the number of its lines, and a hash of them. A
//! stream that is started again with the lines of before can be gone on with where learning stopped, exactly.

mod line;
mod position;

use std::any::Any;
use std::path::Path;
use std::time::{Duration, Instant};

use matchrank_core::data::FeatureLists;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::perceptron::{Perceptron, PerceptronParams};
use matchrank_core::{Error, Result};
use rayon::prelude::*;

pub use self::line::check_list;
use self::position::Consumed;
pub use self::position::StreamPosition;
use crate::files;
use crate::lines::{Arrival, Lines};
use crate::rankers::RankingModel;
use crate::rankers::linear::LinearModel;
use crate::tally::Tally;

/// A scaled feature beyond this would outweigh everything that was learned.
const LARGEST_VALUE: f32 = 1e6;
/// Time to wait for lines before a stop is looked for.
const PATIENCE: Duration = Duration::from_millis(100);

/// A perceptron as a file holds it.
pub type PerceptronModel = LinearModel<PerceptronParams>;

/// Learns list after list; [`model`](Self::model) gives the model with all of them.
pub struct Learner {
    model: PerceptronModel,
    perceptron: Perceptron,
    /// Lines of the stream so far, if there is one.
    consumed: Option<Consumed>,
}

impl Learner {
    /// Goes on where a model stopped; only a perceptron's can.
    pub fn new(model: &dyn RankingModel) -> Result<Self> {
        let Some(model) = (model as &dyn Any).downcast_ref::<PerceptronModel>() else {
            return Err(Error::Params(format!(
                "a {} model cannot learn one list at a time; a {} can",
                model.kind().name,
                super::KIND.name
            )));
        };
        let PerceptronParams { target, rule, delta, .. } = model.params;
        let perceptron = Perceptron::from_state(model.state.state.clone(), target, rule, delta)?;
        Ok(Self { model: model.clone(), perceptron, consumed: None })
    }

    /// Learns a stream whose lines are given to [`learn_next`](Self::learn_next): from its first line, or, with `resume`,
    /// after the lines that the model has learned from.
    pub fn follow(model: &dyn RankingModel, resume: bool) -> Result<Self> {
        let mut learner = Self::new(model)?;
        let position = learner.model.state.stream.take().filter(|_| resume);
        learner.consumed = Some(match &position {
            Some(position) => Consumed::after(position).ok_or_else(|| {
                Error::Params("the model has a position in its stream that is damaged; train it again".into())
            })?,
            None => Consumed::default(),
        });
        Ok(learner)
    }

    /// Learns from the next line of a stream and returns 1 - measure of its list; says what is wrong with a line that
    /// cannot be used, which changes the position only.
    pub fn learn_next(&mut self, line: &[u8]) -> Result<f64, String> {
        if let Some(consumed) = &mut self.consumed {
            consumed.add(line);
        }
        self.learn(line)
    }

    /// Learns from a line and returns 1 - measure of its list, before learning; says what is wrong with a line that
    /// cannot be used, which changes nothing.
    pub fn learn(&mut self, line: &[u8]) -> Result<f64, String> {
        let (list, weight) = self.read(line)?;
        Ok(self.perceptron.learn(&list.list(0), weight))
    }

    /// The list of a line, scaled, and its weight.
    fn read(&self, line: &[u8]) -> Result<(FeatureLists, f64), String> {
        let (mut list, weight) = line::read(line, self.model.ranker.weights.len())?;
        self.model.params.target.check(list.labels()).map_err(|e| e.to_string())?;
        self.model.ranker.scaling.apply(&mut list);
        let only = list.list(0);
        let wild = (0..only.len())
            .flat_map(|i| only.row(i).entries())
            .find(|(_, value)| value.abs() > LARGEST_VALUE);
        if let Some((column, value)) = wild {
            return Err(format!(
                "feature {} is {value:e} after scaling, far beyond what the model was trained on; at most {LARGEST_VALUE} is \
                 learned from",
                column + 1
            ));
        }
        Ok((list, weight))
    }

    /// The model with everything learned so far.
    pub fn model(&mut self) -> &PerceptronModel {
        let state = self.perceptron.state();
        self.model.ranker.weights =
            if self.model.params.averaged { state.averaged() } else { state.w.clone() };
        self.model.state.state = state.clone();
        if let Some(consumed) = &self.consumed {
            self.model.state.stream = Some(consumed.position());
        }
        &self.model
    }
}

/// Results of learning from a stream of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Streamed {
    /// Lists that were learned from.
    pub learned: u64,
    /// Sum of their 1 - measure, each before it was learned from.
    pub loss: f64,
    /// Lines that could not be used.
    pub left_out: u64,
    /// Lines at its start that were learned from before.
    pub skipped: u64,
    /// True if learning was stopped before the end of the stream.
    pub interrupted: bool,
}

/// Course of learning from a stream.
#[derive(Clone, Copy)]
pub struct StreamRun<'a> {
    /// Skips the lines that the model has already learned from, which must be those at the start of the stream.
    pub resume: bool,
    /// Asked often; ends the learning when it returns true.
    pub stop: &'a dyn Fn() -> bool,
    /// Time between two saved models.
    pub interval: Duration,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
}

/// Learns from the lines of a file, or of standard input (`-`) for as long as it lasts. `save` is called after each interval
/// in which something was learned. Lines that cannot be used are counted and reported.
pub fn learn_stream(
    learner: &mut Learner,
    path: &Path,
    run: StreamRun<'_>,
    save: &mut dyn FnMut(&PerceptronModel) -> Result<()>,
) -> Result<Streamed> {
    let StreamRun { resume, stop, interval, progress } = run;
    let (name, lines) = (files::name_of(path), Lines::open(path));
    let known = learner.model.state.stream.take().filter(|_| resume);
    learner.consumed = Some(Consumed::default());
    let (mut streamed, mut tally) = (Streamed::default(), Tally::default());
    let (mut saved_at, mut saved) = (Instant::now(), 0);
    progress.begin("learning", None, "lists");
    loop {
        if stop() {
            streamed.interrupted = true;
            break;
        }
        match lines.next(PATIENCE)? {
            Arrival::End => break,
            Arrival::Nothing => {}
            Arrival::Lines(lines) => {
                let consumed = learner.consumed.as_mut().expect("a stream is learned from");
                let n_known =
                    consumed.skip(&lines, known.as_ref()).map_err(|why| Error::format(&name, why))?;
                streamed.skipped += n_known as u64;
                let lines = &lines[n_known..];
                let read = |line: &crate::lines::Line| match &line.bytes {
                    None => Err("the line is too long to be a list".to_owned()),
                    Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => Err("it is empty".to_owned()),
                    Some(bytes) => learner.read(bytes),
                };
                // Lines are read by all threads, and learned from in their order.
                let lists: Vec<Result<(FeatureLists, f64), String>> = lines.par_iter().map(read).collect();
                for (line, list) in lines.iter().zip(lists) {
                    // A last line that is cut may be whole the next time.
                    if line.whole || list.is_ok() {
                        let consumed = learner.consumed.as_mut().expect("a stream is learned from");
                        consumed.add(line.bytes.as_deref().unwrap_or_default());
                    }
                    match list {
                        Ok((list, weight)) => {
                            streamed.loss += learner.perceptron.learn(&list.list(0), weight);
                            streamed.learned += 1;
                        }
                        Err(message) => {
                            streamed.left_out += 1;
                            let example = || format!("{name}:{}: {message}", line.number);
                            tally.add("lines that are not lists", 1, example);
                        }
                    }
                }
                progress.advance(lines.len() as u64);
            }
        }
        if saved_at.elapsed() >= interval && streamed.learned > saved {
            save(learner.model())?;
            (saved_at, saved) = (Instant::now(), streamed.learned);
        }
    }
    tally.report(progress);
    if let Some(known) = known.filter(|known| streamed.skipped < known.lines) {
        if !streamed.interrupted {
            let consumed = learner.consumed.as_ref().expect("a stream is learned from");
            consumed.reached(&known).map_err(|why| Error::format(&name, why))?;
        }
        // Stopped before anything new came: the position is that of before.
        (learner.consumed, learner.model.state.stream) = (None, Some(known));
    }
    Ok(streamed)
}
