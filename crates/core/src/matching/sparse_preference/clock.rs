use serde::{Deserialize, Serialize};

use super::row::Whole;
use super::{PreferenceParams, Step, WeightForm};

/// Phase of training: learning W or refitting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Entries may appear and disappear.
    #[default]
    Learn,
    /// Only entries that were non-zero when refitting began change, and nothing is shrunk.
    Refit,
}

/// Progress of training: all the state besides W that is needed to resume exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Current phase.
    pub phase: Phase,
    /// Number of steps of this phase.
    pub steps: u64,
    /// Number of tuples of this phase within the margin, which changed W.
    pub violations: u64,
    /// Sum of the hinge losses of this phase, each computed before its step.
    pub loss: f64,
    /// Number of steps of all phases.
    pub all_steps: u64,
    /// lambda times the steps since the last multiple of T.
    pub pending: f64,
    /// s: the sum of all thresholds so far.
    pub shrinkage: f64,
    /// Number from which s is subtracted for an entry that has been 1 since the start.
    pub start: f32,
    /// Memory of W in bytes when dead entries were last dropped.
    pub swept_bytes: u64,
    /// Number of times that the memory limit forced extra shrinkage of W.
    pub ceilings: u64,
    /// Sum of the extra thresholds.
    pub extra_shrinkage: f64,
}

impl Clock {
    /// Maximum number of steps between two writes of W.
    pub(super) const BLOCK: usize = if cfg!(test) { 5 } else { 512 };

    /// Returns the clock before the first step.
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Learn,
            steps: 0,
            violations: 0,
            loss: 0.0,
            all_steps: 0,
            pending: 0.0,
            shrinkage: 0.0,
            start: 1.0,
            swept_bytes: 0,
            ceilings: 0,
            extra_shrinkage: 0.0,
        }
    }

    /// Returns eta of the next step.
    pub(super) fn eta(&self, params: &PreferenceParams) -> f64 {
        match params.step {
            Step::Fixed => params.c,
            Step::Decaying => params.c / ((self.steps + 1) as f64).sqrt(),
        }
    }

    /// Records a step at a tuple whose documents were `gap` apart.
    pub(super) fn tick(&mut self, params: &PreferenceParams, gap: f64) {
        let eta = self.eta(params);
        self.steps += 1;
        self.all_steps += 1;
        if gap < params.margin {
            self.violations += 1;
            self.loss += params.margin - gap;
        }
        if self.restricted(params) {
            return;
        }
        if params.form == WeightForm::Sparse {
            self.pending += params.lambda * eta;
        }
        if self.steps.is_multiple_of(params.shrink_every as u64) {
            self.shrinkage += self.pending;
            self.pending = 0.0;
        }
    }

    /// Number of steps of the next block, or of the rest of the current block. Blocks end at multiples of T, where
    /// shrinkage is due. If only existing entries may change, each step is a block.
    pub(super) fn block(&self, params: &PreferenceParams) -> usize {
        if self.restricted(params) {
            return 1;
        }
        let period = params.shrink_every as u64;
        let at = self.steps % period;
        (Self::BLOCK as u64 - at % Self::BLOCK as u64).min(period - at) as usize
    }

    /// Number of steps of a whole block.
    pub(super) fn whole_block(&self, params: &PreferenceParams) -> usize {
        if self.restricted(params) { 1 } else { Self::BLOCK.min(params.shrink_every) }
    }

    /// Returns true if the last step ended a block.
    pub(super) fn ends_block(&self, params: &PreferenceParams) -> bool {
        self.restricted(params)
            || (self.steps % params.shrink_every as u64).is_multiple_of(Self::BLOCK as u64)
    }

    /// Returns true if only existing entries may change.
    pub(super) fn restricted(&self, params: &PreferenceParams) -> bool {
        self.phase == Phase::Refit || params.form == WeightForm::Diagonal
    }

    /// Returns the state of W as a whole during the next block.
    pub(super) fn whole(&self, n_columns: usize) -> Whole {
        Whole { shrinkage: self.shrinkage, start: self.start, n_columns, averaged: self.steps as f32 }
    }
}
