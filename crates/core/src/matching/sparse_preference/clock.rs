use serde::{Deserialize, Serialize};

use super::row::Whole;
use super::shrinkage::Shrinkage;
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
#[serde(deny_unknown_fields)]
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
    /// s: the thresholds since W was settled.
    pub shrinkage: f64,
    /// What is stored for an entry that has been 1 since the start.
    pub start: f32,
    /// The step at which s was last set back to 0.
    pub settled_at: u64,
    /// Bytes of W when dead entries were last dropped.
    pub swept_bytes: u64,
    /// How often the ceiling of memory made W shrink harder.
    pub ceilings: u64,
    /// The thresholds that this added.
    pub extra_shrinkage: f64,
}

/// s is set back to 0 once it is this large: f32 keeps seven digits of |w| + s.
const SETTLE_AT: f64 = 1.0;
/// But not before so many steps: settling reads all of W.
const SETTLE_AFTER: u64 = if cfg!(test) { 16 } else { 8192 };

impl Clock {
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
            settled_at: 0,
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

    /// A step has been made, at a tuple whose documents were `gap` apart. Whether it was the last before a
    /// multiple of T.
    pub(super) fn tick(&mut self, params: &PreferenceParams, gap: f64) -> bool {
        let eta = self.eta(params);
        self.steps += 1;
        self.all_steps += 1;
        if gap < params.margin {
            self.violations += 1;
            self.loss += params.margin - gap;
        }
        if self.restricted(params) {
            return false;
        }
        if params.form == Form::Sparse {
            self.pending += params.lambda * eta;
        }
        let multiple = self.steps.is_multiple_of(params.shrink_every as u64);
        if multiple {
            self.shrinkage += self.pending;
            self.pending = 0.0;
        }
        multiple
    }

    /// Whether s should be set back to 0.
    pub(super) fn settling_is_due(&self) -> bool {
        self.shrinkage >= SETTLE_AT && self.steps - self.settled_at >= SETTLE_AFTER
    }

    /// Whether only entries that are there may change.
    pub(super) fn restricted(&self, params: &PreferenceParams) -> bool {
        self.phase == Phase::Refit || params.form == Form::Diagonal
    }

    /// W as a whole, during the step that comes next.
    pub(super) fn whole(&self, params: &PreferenceParams, n_columns: usize) -> Whole {
        Whole {
            shrinkage: Shrinkage(self.shrinkage as f32),
            start: self.start,
            n_columns,
            restricted: self.restricted(params),
            averaged: self.steps as f32,
        }
    }
}
