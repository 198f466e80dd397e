//! Iterations of a model that learns by steps: each is measured, and the best one kept.

use std::time::Instant;

use matchrank_core::Result;
use matchrank_core::matching::{Bilinear, Csr, Mapping};
use matchrank_core::progress::Progress;

use super::{Epoch, Judge, LatentReport};

/// Statistics of one iteration: mean loss and share of tuples within the margin.
pub(in crate::models) type Learned = (f64, Option<f64>);

/// A model that learns by steps.
pub(in crate::models) trait Learns {
    /// Goes on for one iteration.
    fn learn(&mut self) -> Result<Learned>;

    /// The model as it is now, to be measured.
    fn mapping(&self) -> Result<Box<dyn Mapping + '_>>;

    /// A copy of the model as it is now.
    fn model(&self) -> Result<Bilinear>;
}

/// Iterations without a better validation figure after which training stops.
const PATIENCE: usize = 4;

/// Learns for at most `iterations`. With validation judgments the iteration with the best NDCG@10 is kept, and training
/// stops after four iterations without a better one; without them the last is kept.
pub(in crate::models) fn keep_best(
    mut learner: impl Learns,
    iterations: usize,
    judge: &Judge,
    y: &Csr,
    progress: &dyn Progress,
) -> Result<(Bilinear, LatentReport)> {
    let mut epochs: Vec<Epoch> = Vec::new();
    let mut kept: Option<(usize, Option<f64>, Bilinear)> = None;
    for number in 1..=iterations {
        let clock = Instant::now();
        let (loss, violations) = learner.learn()?;
        let seconds = clock.elapsed().as_secs_f64();
        let mut validation = None;
        if judge.can_measure() || number == iterations {
            validation = judge.ndcg(&*learner.mapping()?, y)?;
            if kept.as_ref().is_none_or(|(_, best, _)| validation > *best) {
                // The former best goes first: two copies of a large model may not fit.
                drop(kept.take());
                kept = Some((number, validation, learner.model()?));
            }
        }
        let epoch = Epoch { number, loss, violations, validation, seconds };
        progress.note(&line(&epoch));
        epochs.push(epoch);
        if kept.as_ref().is_some_and(|(best, ..)| number >= best + PATIENCE) {
            break;
        }
    }
    let (best, validation, model) = kept.expect("there is at least one iteration");
    Ok((model, LatentReport { validation, epochs, best: Some(best), ..LatentReport::default() }))
}

fn line(epoch: &Epoch) -> String {
    let Epoch { number, loss, violations, validation, seconds } = epoch;
    let within =
        violations.map_or(String::new(), |share| format!(", {:.1} % within the margin", 100.0 * share));
    let ndcg = validation.map_or(String::new(), |ndcg| format!(", validation NDCG@10 {ndcg:.4}"));
    format!("iteration {number} ({seconds:.1} s): loss {loss:.5}{within}{ndcg}")
}
