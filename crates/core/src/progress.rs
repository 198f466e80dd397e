//! How long work tells its caller where it stands, without printing anything itself.

/// Receives the stages of long work. The command line draws bars from it; [`Silent`] ignores it.
///
/// Calls come from one thread at a time except [`Progress::advance`], which any worker may call.
pub trait Progress: Sync {
    /// A stage starts: what it does, how many units it has if known, and what a unit is called.
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str);
    /// `n` more units of the current stage are done.
    fn advance(&self, n: u64);
    /// Something the user should read: a guess that was made, a counted warning.
    fn note(&self, message: &str);
}

/// Ignores everything.
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: &str) {}
    fn advance(&self, _n: u64) {}
    fn note(&self, _message: &str) {}
}

/// Passes stages on, and no notes: for work that is one of many of its kind.
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

/// Keeps the notes, for tests.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Notes(pub(crate) std::sync::Mutex<Vec<String>>);

#[cfg(test)]
impl Progress for Notes {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: &str) {}
    fn advance(&self, _n: u64) {}
    fn note(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}
