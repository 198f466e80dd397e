//! Preferences from lines of text: a file, or standard input for as long as it lasts.
//!
//! A line that cannot be used is left out, counted and reported with its number; one bad line of a day's
//! stream does not end the training. The last line of tab-separated text counts only with its line end:
//! without it nobody knows whether it was cut.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use matchrank_core::matching::sparse_preference::Tuple;
use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::message::thousands;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::maker::{LineSkip, MadeTuple, Maker, NamedDocuments};
use super::{Lesson, TupleLessons};
use crate::features::Features;
use crate::files;
use crate::lines::{Arrival, Line, Lines};
use crate::tally::Tally;

/// Time to wait for lines before control returns to the caller.
const PATIENCE: Duration = Duration::from_millis(100);

/// A file of preferences, one per line; see the [module](super::super) for its format.
pub struct TupleFile {
    /// Path; `-` is standard input.
    pub path: PathBuf,
    /// True if the documents of tab-separated lines are texts, not ids.
    pub texts: bool,
}

impl TupleFile {
    /// Returns true if the file can be read a second time.
    pub fn is_repeatable(&self) -> bool {
        self.path.is_file()
    }
}

/// Lines of preferences made into lessons, and the count of lines that were left out.
pub(crate) struct LineLessons {
    /// Name of their source, for messages.
    name: String,
    queries: Csr,
    rows: Csr,
    tuples: Vec<Tuple>,
    pub(crate) tally: Tally,
    pub(crate) n_malformed: u64,
    n_unknown_words: u64,
}

impl LineLessons {
    pub(crate) fn new(name: String, features: &Features) -> Result<Self> {
        let empty = || CsrBuilder::new(features.n_words()).finish();
        Ok(Self {
            name,
            queries: empty()?,
            rows: empty()?,
            tuples: Vec::new(),
            tally: Tally::default(),
            n_malformed: 0,
            n_unknown_words: 0,
        })
    }

    /// Makes the lesson of some lines.
    pub(crate) fn make(&mut self, maker: &Maker<'_>, lines: &[Line]) -> Result<Lesson<'_>> {
        let made: Vec<MadeTuple> = lines.par_iter().map(|line| maker.make(line)).collect();
        let n_words = maker.features.n_words();
        let (mut queries, mut rows) = (CsrBuilder::new(n_words), CsrBuilder::new(n_words));
        self.tuples.clear();
        let name = &self.name;
        for (line, made) in lines.iter().zip(made) {
            match made {
                Ok(([query, better, worse], unknown)) => {
                    let number = self.tuples.len() as u32;
                    queries.push_row(query.row());
                    rows.push_row(better.row());
                    rows.push_row(worse.row());
                    self.tuples.push(Tuple { query: number, more: 2 * number, less: 2 * number + 1 });
                    self.n_unknown_words += unknown;
                }
                Err(LineSkip::Malformed(message)) => {
                    self.n_malformed += 1;
                    let example = || format!("{name}:{}: {message}", line.number);
                    self.tally.add("lines that are not tuples", 1, example);
                }
                Err(LineSkip::Useless(reason)) => {
                    self.tally.add(reason, 1, || format!("{name}:{}", line.number));
                }
            }
        }
        (self.queries, self.rows) = (queries.finish()?, rows.finish()?);
        Ok(Lesson { queries: &self.queries, documents: &self.rows, tuples: &self.tuples })
    }

    fn forget_counts(&mut self) {
        (self.tally, self.n_malformed, self.n_unknown_words) = Default::default();
    }
}

/// The preferences of a file as they arrive.
pub(crate) struct TupleStream<'a> {
    file: &'a TupleFile,
    maker: Maker<'a>,
    lines: Lines,
    waiting: VecDeque<Line>,
    lessons: LineLessons,
}

impl<'a> TupleStream<'a> {
    pub(crate) fn new(
        file: &'a TupleFile,
        features: &'a Features,
        documents: Option<&'a NamedDocuments>,
    ) -> Result<Self> {
        Ok(Self {
            file,
            maker: Maker { features, documents, texts: file.texts },
            lines: Lines::open(&file.path),
            waiting: Default::default(),
            lessons: LineLessons::new(files::name_of(&file.path), features)?,
        })
    }
}

impl TupleLessons for TupleStream<'_> {
    /// At most so many lines; none of them, while no line has come.
    fn next(&mut self, most: usize) -> Result<Option<Lesson<'_>>> {
        let mut ended = false;
        while self.waiting.len() < most {
            match self.lines.next(if self.waiting.is_empty() { PATIENCE } else { Duration::ZERO })? {
                Arrival::Lines(lines) => self.waiting.extend(lines),
                Arrival::Nothing => break,
                Arrival::End => {
                    ended = true;
                    break;
                }
            }
        }
        if ended && self.waiting.is_empty() {
            return Ok(None);
        }
        let lines: Vec<Line> = self.waiting.drain(..most.min(self.waiting.len())).collect();
        self.lessons.make(&self.maker, &lines).map(Some)
    }

    fn rewind(&mut self) -> Result<()> {
        if !self.file.is_repeatable() {
            return Err(Error::Params("a stream cannot be read a second time".into()));
        }
        self.lines = Lines::open(Path::new(&self.file.path));
        self.waiting.clear();
        // Counted once.
        self.lessons.forget_counts();
        Ok(())
    }

    fn n_malformed(&self) -> u64 {
        self.lessons.n_malformed
    }

    fn left_out(&self) -> BTreeMap<String, u64> {
        self.lessons.tally.counts()
    }

    fn report(&self, progress: &dyn Progress) {
        self.lessons.tally.report(progress);
        if self.lessons.n_unknown_words > 0 {
            progress.note(&format!(
                "left out words of queries that the model does not know: {}",
                thousands(self.lessons.n_unknown_words)
            ));
        }
    }
}
