//! Progress of long computations, reported to the caller without printing.

use std::sync::Arc;
use std::time::Duration;

/// Returns the estimated time until a computation of many stages is done, or `None` as long as too little is known.
pub type Remaining = Arc<dyn Fn() -> Option<Duration> + Send + Sync>;

/// Receives the stages of a long computation. The command line draws progress bars; [`Silent`] ignores everything.
///
/// Calls come from one thread at a time except [`Progress::advance`], which any worker may call.
pub trait Progress: Sync {
    /// Starts a stage: its name, its number of units if known, and the name of a unit.
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str);
    /// Reports that `n` more units of the current stage are done.
    fn advance(&self, n: u64);
    /// Reports something the user should read: an assumption that was made, a counted warning.
    fn note(&self, message: &str);
    /// Announces that the stages from now on belong to one computation, whose remaining time matters more than theirs; `None`
    /// ends that. Whoever draws progress asks for the time whenever it is drawn.
    fn whole(&self, _remaining: Option<Remaining>) {}
}

/// Ignores everything.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: &str) {}
    fn advance(&self, _n: u64) {}
    fn note(&self, _message: &str) {}
}

/// Forwards stages but no notes: for a computation that is one of many.
pub struct WithoutNotes<'a>(pub &'a dyn Progress);

impl Progress for WithoutNotes<'_> {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        self.0.begin(stage, total, unit);
    }
    fn advance(&self, n: u64) {
        self.0.advance(n);
    }
    fn note(&self, _message: &str) {}
}

/// Collects the notes.
#[derive(Default)]
pub struct Notes(std::sync::Mutex<Vec<String>>);

impl Notes {
    /// Takes the notes that have come so far, in their order.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no thread that adds a note panics"))
    }
}

impl Progress for Notes {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: &str) {}
    fn advance(&self, _n: u64) {}
    fn note(&self, message: &str) {
        self.0.lock().expect("no thread that adds a note panics").push(message.to_owned());
    }
}
