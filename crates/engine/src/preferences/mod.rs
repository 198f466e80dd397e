//! Sources of preferences: responses of a dataset, or lines of text.

mod hard;
mod joachims;
mod line;
mod maker;
mod sampled;
mod stream;

use std::collections::BTreeMap;

use matchrank_core::matching::Csr;
use matchrank_core::matching::sparse_preference::Tuple;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

pub use joachims::{RuleCheck, ShownResult, passed_over};
pub use line::check_line;
pub(crate) use maker::Maker;
pub use maker::NamedDocuments;
pub(crate) use sampled::{Preferences, SampledTuples, Worse};
pub use stream::TupleFile;
pub(crate) use stream::{LineLessons, TupleStream};

use crate::settings::AutoNumber;

/// Returns an error if a number of tuples is neither `auto` nor a whole number from 1.
pub(crate) fn check_tuples(tuples: AutoNumber) -> Result<()> {
    match tuples.given() {
        Some(tuples) if !(tuples >= 1.0 && tuples.fract() == 0.0 && tuples < u64::MAX as f64) => {
            Err(Error::Params(format!("tuples must be auto or a whole number from 1, not {tuples}")))
        }
        _ => Ok(()),
    }
}

/// Some tuples, with the rows that they number.
pub(crate) struct Lesson<'a> {
    pub(crate) queries: &'a Csr,
    pub(crate) documents: &'a Csr,
    pub(crate) tuples: &'a [Tuple],
}

/// Tuples in the order they are to be learned from.
pub(crate) trait TupleLessons {
    /// The next ones, at most so many; there may be none yet. `None`: there are no more.
    fn next(&mut self, most: usize) -> Result<Option<Lesson<'_>>>;

    /// Starts again from the first, for refitting.
    fn rewind(&mut self) -> Result<()>;

    /// Lines that do not say what they should.
    fn n_malformed(&self) -> u64 {
        0
    }

    /// Lines that were left out, by reason.
    fn left_out(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    /// Tells the user what was left out.
    fn report(&self, _progress: &dyn Progress) {}
}

/// The first so many tuples of others.
pub(crate) struct First<'a> {
    lessons: Box<dyn TupleLessons + 'a>,
    n: u64,
    left: u64,
}

impl<'a> First<'a> {
    pub(crate) fn new(lessons: Box<dyn TupleLessons + 'a>, n: u64) -> Self {
        Self { lessons, n, left: n }
    }
}

impl TupleLessons for First<'_> {
    fn next(&mut self, most: usize) -> Result<Option<Lesson<'_>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let lesson = self.lessons.next(most.min(usize::try_from(self.left).unwrap_or(usize::MAX)))?;
        self.left -= lesson.as_ref().map_or(0, |lesson| lesson.tuples.len() as u64);
        Ok(lesson)
    }

    fn rewind(&mut self) -> Result<()> {
        self.left = self.n;
        self.lessons.rewind()
    }
}
