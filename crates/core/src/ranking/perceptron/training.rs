//! Epochs over the same lists; the best epoch is kept.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::curve::{self, CurvePoint};
use super::{Perceptron, PerceptronState, UpdateRule};
use crate::ranking::sample::Sample;
use crate::ranking::slam::{Goals, Target};
use crate::ranking::validation::Fitting;
use crate::{Error, Result};

/// Parameters of the perceptron.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerceptronParams {
    /// The measure whose loss is bounded.
    pub target: Target,
    /// Selects the documents that update the weights.
    pub rule: UpdateRule,
    /// Delta, the margin of the printed rule.
    pub delta: f64,
    /// Maximum number of passes over the lists, each in a new order.
    pub epochs: u32,
    /// Number of passes without a better validation value after which to stop.
    pub patience: u32,
    /// Rank with the mean of all iterates instead of the last.
    pub averaged: bool,
}

impl Default for PerceptronParams {
    fn default() -> Self {
        Self {
            target: Target::NdcgAt(10),
            rule: UpdateRule::Misordered,
            delta: 1.0,
            epochs: 100,
            patience: 20,
            averaged: true,
        }
    }
}

impl PerceptronParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        if self.epochs == 0 || self.patience == 0 {
            return Err(Error::Params("epochs and patience must be at least 1".into()));
        }
        Perceptron::new(0, self.target, self.rule, self.delta).map(|_| ())
    }
}

/// Report of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerceptronReport {
    /// All epochs that were run.
    pub epochs: Vec<EpochFigures>,
    /// The epoch whose weights were kept, counted from 1.
    pub kept: u32,
    /// Cumulative loss and its bound, up to the epoch that was kept.
    pub curve: Vec<CurvePoint>,
}

/// One pass over the lists.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochFigures {
    /// Weighted mean of 1 - measure over the lists, each computed before its update.
    pub loss: f64,
    /// Number of lists that were not in perfect order.
    pub updates: u64,
    /// Validation measure of the weights after the epoch.
    pub validation: Option<f64>,
}

/// Trains a perceptron on lists whose features are already scaled. With `validation`, keeps the best epoch on the
/// validation set, else the last. Returns the state after that epoch.
pub fn fit(
    params: &PerceptronParams,
    sample: &Sample<'_>,
    fitting: &Fitting<'_>,
) -> Result<(PerceptronState, PerceptronReport)> {
    let Fitting { validation, seed, progress } = *fitting;
    params.validate()?;
    let lists = sample.lists();
    params.target.check(lists.labels())?;
    let mut perceptron = Perceptron::new(lists.n_features(), params.target, params.rule, params.delta)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..lists.n_queries()).collect();
    let mut epochs: Vec<EpochFigures> = Vec::new();
    let mut history = curve::History::default();
    let mut best: Option<(f64, u32, PerceptronState)> = None;
    progress.begin("learning", Some(params.epochs.into()), "epochs");
    for epoch in 1..=params.epochs {
        order.shuffle(&mut random);
        let before = (perceptron.state().cumulative_loss, perceptron.state().updates);
        for &query in &order {
            let loss = perceptron.learn(&lists.list(query), sample.weight(query));
            history.add(query, loss);
        }
        let state = perceptron.state();
        let validated = validation
            .map(|validation| match params.averaged {
                true => validation.of_weights(&state.averaged()),
                false => validation.of_weights(&state.w),
            })
            .transpose()?;
        epochs.push(EpochFigures {
            loss: (state.cumulative_loss - before.0) / sample.total_weight(),
            updates: state.updates - before.1,
            validation: validated,
        });
        progress.advance(1);
        let figure = validated.unwrap_or(f64::from(epoch));
        if best.as_ref().is_none_or(|(best, ..)| figure > *best) {
            best = Some((figure, epoch, state.clone()));
        }
        let stale = best.as_ref().is_some_and(|(_, at, _)| epoch - at >= params.patience);
        let perfect = state.updates == before.1;
        if stale || perfect {
            break;
        }
    }
    let (_, kept, state) = best.expect("there is at least one epoch");
    let goals = Goals::new(params.target, lists)?;
    history.truncate(kept as usize * lists.n_queries());
    let curve = history.beside_bound(params, sample, &goals, &state.averaged());
    Ok((state, PerceptronReport { epochs, kept, curve }))
}
