use serde::{Deserialize, Serialize};

use super::row::Whole;
use super::{Form, PreferenceParams, Step};

/// Whether W is found or refitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Entries come and go.
    #[default]
    Learn,
    /// Only entries that were not 0 when refitting began change, and nothing is shrunk.
    Refit,
}

/// Where learning stands: every number it needs beside W to go on as if it had not stopped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Whether W is found or refitted.
    pub phase: Phase,
    /// Steps of this phase.
    pub steps: u64,
    /// Tuples of this phase that were less than the margin apart, so that W changed.
    pub violations: u64,
    /// Sum of the hinge losses of this phase, each taken before its step.
    pub loss: f64,
    /// Steps of all phases.
    pub all_steps: u64,
    /// lambda times the steps since the last multiple of T.
    pub pending: f64,
    /// s: all thresholds so far.
    pub shrinkage: f64,
    /// What s is to be taken from for an entry that has been 1 since the start.
    pub start: f32,
    /// Bytes of W when dead entries were last dropped.
    pub swept_bytes: u64,
    /// How often the ceiling of memory made W shrink harder.
    pub ceilings: u64,
    /// The thresholds that this added.
    pub extra_shrinkage: f64,
}

impl Clock {
    /// Steps after which W is written at the latest.
    pub(super) const BLOCK: usize = if cfg!(test) { 5 } else { 512 };

    /// Before the first step.
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

    /// eta of the step that comes next.
    pub(super) fn eta(&self, params: &PreferenceParams) -> f64 {
        match params.step {
            Step::Fixed => params.c,
            Step::Decaying => params.c / ((self.steps + 1) as f64).sqrt(),
        }
    }

    /// A step has been made, at a tuple whose documents were `gap` apart.
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
        if params.form == Form::Sparse {
            self.pending += params.lambda * eta;
        }
        if self.steps.is_multiple_of(params.shrink_every as u64) {
            self.shrinkage += self.pending;
            self.pending = 0.0;
        }
    }

    /// Steps of the block that comes next, or of the rest of one that has begun. Blocks end at multiples of T,
    /// where shrinkage is due; while entries stay what they are, each step is a block.
    pub(super) fn block(&self, params: &PreferenceParams) -> usize {
        if self.restricted(params) {
            return 1;
        }
        let period = params.shrink_every as u64;
        let at = self.steps % period;
        (Self::BLOCK as u64 - at % Self::BLOCK as u64).min(period - at) as usize
    }

    /// Steps of a whole block.
    pub(super) fn whole_block(&self, params: &PreferenceParams) -> usize {
        if self.restricted(params) { 1 } else { Self::BLOCK.min(params.shrink_every) }
    }

    /// Whether the last step ended a block.
    pub(super) fn ends_block(&self, params: &PreferenceParams) -> bool {
        self.restricted(params)
            || (self.steps % params.shrink_every as u64).is_multiple_of(Self::BLOCK as u64)
    }

    /// Whether only entries that are there may change.
    pub(super) fn restricted(&self, params: &PreferenceParams) -> bool {
        self.phase == Phase::Refit || params.form == Form::Diagonal
    }

    /// W as a whole, during the block that comes next.
    pub(super) fn whole(&self, n_columns: usize) -> Whole {
        Whole { shrinkage: self.shrinkage, start: self.start, n_columns, averaged: self.steps as f32 }
    }
}
