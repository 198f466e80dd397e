//! The SLAM perceptron as a ranker of feature lists; the mathematics is in [`matchrank_core::ranking::perceptron`].
//!
//! A file holds what the perceptron goes on from: metadata `clock` (JSON), and `stream` where it has learned from one;
//! arrays `last` and `sums` (f64).

pub mod online;

use matchrank_core::message::counted;
use matchrank_core::ranking::perceptron::{self, PerceptronParams, PerceptronReport, PerceptronState};
use matchrank_core::ranking::{Fitting, Sample};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::online::StreamPosition;
use super::RankerKind;
use super::kind::SCALINGS;
use super::linear::{self, LinearParams, LinearReport, LinearState};
use super::model::{Cell, CourseRow, TrainingCourse, figure};
use crate::container::{Reader, Writer};
use crate::description::Description;
use crate::prose::human;
use crate::settings::Parameter;

/// The SLAM perceptron.
pub static KIND: RankerKind = RankerKind {
    class: "Perceptron",
    help: "Learns from lists that are not in perfect order, one at a time, and ranks with the mean of its weights.",
    parameters: &[
        Parameter::new(
            "target",
            "ndcg@10",
            "the measure whose loss is bounded: map, ndcg, ndcg@K, tight_ndcg@K",
        ),
        Parameter::new(
            "rule",
            "misordered",
            "which documents move the weights: misordered, or printed (all within the margin delta, as the paper has it; \
             the bound of the paper does not hold for it, a larger one does)",
        ),
        Parameter::new("delta", "1", "the margin of the printed rule"),
        Parameter::new(
            "epochs",
            "100",
            "passes over the lists at most; the one that is best on validation is kept",
        ),
        Parameter::new("patience", "20", "passes without a better validation figure after which to stop"),
        Parameter::new("averaged", "true", "rank with the mean of all iterates, not with the last"),
    ],
    examples: &[
        "--letor train.txt --validation vali.txt --out online.model",
        "--letor train.txt --validation vali.txt --set target=map --curve curve.csv --out p.model",
        "--letor train.txt --validation vali.txt --query-weights weights.tsv --out p.model",
    ],
    curve: Some("cumulative loss and its bound, as learning went on"),
    is_seeded: true,
    chosen: None,
    space: &[("target", "ndcg@10,ndcg@20,tight_ndcg@10,ndcg,map"), ("rule", "misordered,printed"), SCALINGS],
    effort: Some(("epochs", 10)),
    ..linear::kind::<PerceptronParams>(
        "perceptron",
        "SLAM perceptron: a ranker of feature lists, learned online, with a bound on its losses",
    )
};

impl LinearParams for PerceptronParams {
    type Report = PerceptronReport;
    type State = Memory;
    const KIND: &'static RankerKind = &KIND;

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn fit(
        &self,
        sample: &Sample<'_>,
        fitting: &Fitting<'_>,
    ) -> Result<(Vec<f64>, PerceptronReport, Memory)> {
        let (state, report) = perceptron::fit(self, sample, fitting)?;
        let weights = if self.averaged { state.averaged() } else { state.w.clone() };
        Ok((weights, report, Memory { state, stream: None }))
    }

    fn settled(&self, report: &PerceptronReport) -> Self {
        Self { epochs: report.kept, ..self.clone() }
    }
}

impl LinearReport for PerceptronReport {
    const NAME: &'static str = "perceptron";

    fn validated(&self) -> Option<f64> {
        self.epochs.get((self.kept as usize).checked_sub(1)?)?.validation
    }

    fn describe(&self, description: &mut Description) {
        description.fact("kept epoch", format!("{} of {}", self.kept, self.epochs.len()));
    }

    fn course(&self, measure: &str, course: &mut TrainingCourse) {
        course.columns(&["epoch", "loss", "updates", measure, ""]);
        for (epoch, figures) in (1..).zip(&self.epochs) {
            let is_kept = epoch == self.kept;
            let cells = vec![
                Cell::Text(epoch.to_string()),
                Cell::Text(format!("{:.4}", figures.loss)),
                Cell::Count(figures.updates),
                Cell::Text(figure(figures.validation)),
                Cell::Text(if is_kept { "kept" } else { "" }.to_owned()),
            ];
            let is_brief = is_kept || epoch <= 5 || epoch % 10 == 0;
            course.rows.push(CourseRow { cells, is_brief });
        }
        if let Some(last) = self.curve.last() {
            course.closing = format!(
                "cumulative loss {:.1} after {}; it cannot exceed {:.1}",
                last.loss,
                counted(last.rounds, "list"),
                last.bound
            );
        }
    }

    fn curve(&self) -> Option<(Vec<&'static str>, Vec<Vec<String>>)> {
        let rows = self.curve.iter().map(|point| {
            vec![point.rounds.to_string(), format!("{:.6}", point.loss), format!("{:.6}", point.bound)]
        });
        Some((vec!["lists", "loss", "bound"], rows.collect()))
    }
}

/// State that a perceptron goes on learning from.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Iterates and counts.
    pub state: PerceptronState,
    /// Position in the last stream of lists.
    pub stream: Option<StreamPosition>,
}

#[derive(Serialize, Deserialize)]
struct Clock {
    rounds: u64,
    updates: u64,
    cumulative_loss: f64,
}

impl LinearState for Memory {
    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        let PerceptronState { w, sums, rounds, updates, cumulative_loss } = &self.state;
        let clock = Clock { rounds: *rounds, updates: *updates, cumulative_loss: *cumulative_loss };
        file.put_json("clock", &clock)?;
        file.put_array("last", w);
        file.put_array("sums", sums);
        self.stream.as_ref().map_or(Ok(()), |stream| file.put_json("stream", stream))
    }

    fn get(file: &Reader<'_>, n_weights: usize) -> Result<Self> {
        let Clock { rounds, updates, cumulative_loss } = file.json("clock")?;
        let (w, sums): (Vec<f64>, Vec<f64>) = (file.array("last")?, file.array("sums")?);
        let is_finite = w.iter().chain(&sums).all(|number| number.is_finite());
        if w.len() != n_weights || sums.len() != n_weights || !is_finite {
            return Err(Error::Shape("has a perceptron's state that does not fit its weights".into()));
        }
        let stream = file.has_metadata("stream").then(|| file.json("stream")).transpose()?;
        Ok(Self { state: PerceptronState { w, sums, rounds, updates, cumulative_loss }, stream })
    }

    fn describe(&self, description: &mut Description) {
        let PerceptronState { rounds, updates, cumulative_loss, .. } = &self.state;
        let counts = format!("{}, {}", human(*rounds), human(*updates));
        description.fact("lists seen, not in order", counts);
        description.fact("cumulative loss", format!("{cumulative_loss:.3}"));
    }

    fn details(&self) -> Value {
        let PerceptronState { rounds, updates, cumulative_loss, .. } = &self.state;
        json!({ "rounds": rounds, "updates": updates, "cumulative_loss": cumulative_loss })
    }
}
