use std::borrow::Cow;
use std::time::Instant;

use super::change::Room;
use super::clock::{Clock, Phase};
use super::pace::Pace;
use super::row::{WeightRow, Whole};
use super::violation::{self, RowChange, Violation};
use super::workers::{SHARDS, Stop, threads, work};
use super::{PreferenceParams, Tuple};
use crate::matching::{Csr, CsrBuilder};
use crate::progress::Progress;
use crate::{Error, Result};

/// Marks a query word that is no document word.
pub(super) const NOT_SHARED: u32 = u32::MAX;

/// Returns the document word that equals a query word, if any.
pub(super) fn shared_column(shared: u32) -> Option<u32> {
    Some(shared).filter(|&column| column != NOT_SHARED)
}

/// Largest feature value; larger values could make W overflow.
const LARGEST_VALUE: f32 = 1e6;
/// W is swept for dead entries when its memory has doubled, but not below this size.
const SWEEP_AT_LEAST: u64 = 64 << 20;

/// Returns the parts of violations sorted by row; parts of the same row keep the order of the tuples.
fn parts_by_row(violations: &[Violation]) -> Vec<RowChange<'_>> {
    let mut parts = violation::parts(violations, |_| true);
    parts.sort_by_key(|part| part.row);
    parts
}

/// W during training; see the [module](super).
#[derive(Debug, Clone)]
pub struct Learner {
    pub(super) params: PreferenceParams,
    pub(super) n_columns: usize,
    /// The document word that equals each query word, or [`NOT_SHARED`].
    pub(super) shared: Vec<u32>,
    /// Row i is row i / SHARDS of shard i % SHARDS.
    pub(super) shards: Vec<Vec<WeightRow>>,
    pub(super) clock: Clock,
    /// Violations of the current block, which are not yet written to the rows.
    pub(super) pending: Vec<Violation>,
}

impl Learner {
    /// Initialises W: 1 where a query word (row) and a document word (column) are the same, as `shared` states. With
    /// one dictionary these are all (i, i).
    pub fn new(
        params: &PreferenceParams,
        n_query_features: usize,
        n_document_features: usize,
        shared: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self> {
        params.validate()?;
        for (what, n) in [("query", n_query_features), ("document", n_document_features)] {
            if n >= u32::MAX as usize {
                return Err(Error::Shape(format!(
                    "there are {n} {what} features, but W supports at most 4294967294"
                )));
            }
        }
        let mut columns = vec![NOT_SHARED; n_query_features];
        for (row, column) in shared {
            if row as usize >= n_query_features || column as usize >= n_document_features {
                return Err(Error::Shape(format!(
                    "query feature {row} and document feature {column} cannot be shared: there are only \
                     {n_query_features} and {n_document_features}"
                )));
            }
            if columns[row as usize] != NOT_SHARED {
                return Err(Error::Shape(format!(
                    "query feature {row} is shared with more than one document feature"
                )));
            }
            columns[row as usize] = column;
        }
        let rows_of = |shard: usize| (n_query_features + SHARDS - 1 - shard) / SHARDS;
        let shards = (0..SHARDS).map(|shard| vec![WeightRow::default(); rows_of(shard)]).collect();
        let learner = Self {
            params: *params,
            n_columns: n_document_features,
            shared: columns,
            shards,
            clock: Clock::new(),
            pending: Vec::new(),
        };
        learner.check_ceiling()?;
        Ok(learner)
    }

    /// Returns an error if the memory limit has no room beyond rows without entries.
    pub(super) fn check_ceiling(&self) -> Result<()> {
        match self.params.max_mib {
            Some(max_mib) if (self.fixed_bytes() >> 20) >= max_mib as u64 => Err(Error::Params(format!(
                "max_mib is {max_mib}, but W takes {} MiB without any entry; a max_mib of {} is enough",
                self.fixed_bytes().div_ceil(1 << 20),
                2 * self.fixed_bytes().div_ceil(1 << 20)
            ))),
            _ => Ok(()),
        }
    }

    /// Takes a step for every tuple, in order. Tuples refer to rows of `queries` and `documents`. Tuples may be split
    /// over any number of calls, also with other rows; W is the same as after one call. Progress advances by one per
    /// tuple.
    ///
    /// After an error of divergence, W must not be used any more.
    pub fn learn(
        &mut self,
        queries: &Csr,
        documents: &Csr,
        tuples: &[Tuple],
        progress: &dyn Progress,
    ) -> Result<()> {
        self.check(queries, documents, tuples)?;
        let n_threads = threads(self, queries, documents, tuples);
        let mut pace = self.clock.restricted(&self.params).then(|| Pace::new(n_threads));
        let mut done = 0;
        loop {
            self.sweep_if_due();
            if done == tuples.len() {
                return Ok(());
            }
            let (n_threads, steps) = pace.as_ref().map_or((n_threads, usize::MAX), Pace::next);
            let portion = &tuples[done..][..steps.min(tuples.len() - done)];
            let started = Instant::now();
            let (n, stop) = work(self, queries, documents, portion, n_threads, progress);
            done += n;
            if let Some(pace) = &mut pace {
                pace.record(n, started.elapsed());
            }
            if stop == Stop::Diverged {
                return Err(Error::Diverged(format!(
                    "scores overflowed at step {}: use a smaller c than {}, or scale the \
                     rows to length 1",
                    self.clock.steps, self.params.c
                )));
            }
        }
    }

    fn check(&self, queries: &Csr, documents: &Csr, tuples: &[Tuple]) -> Result<()> {
        for (what, found, expected) in [
            ("queries", queries.n_columns(), self.n_query_features()),
            ("documents", documents.n_columns(), self.n_columns),
        ] {
            if found > expected {
                return Err(Error::Shape(format!("{what} have {found} features, but W has {expected}")));
            }
        }
        for (at, tuple) in tuples.iter().enumerate() {
            let Tuple { query, more, less } = *tuple;
            for (what, row, n) in [
                ("query", query, queries.n_rows()),
                ("document", more, documents.n_rows()),
                ("document", less, documents.n_rows()),
            ] {
                if row as usize >= n {
                    return Err(Error::Shape(format!(
                        "tuple {at} refers to {what} {row}, but there are only {n}"
                    )));
                }
            }
            let rows =
                [queries.row(query as usize), documents.row(more as usize), documents.row(less as usize)];
            let largest = rows.iter().flat_map(|row| row.values()).fold(0f32, |max, x| max.max(x.abs()));
            if largest > LARGEST_VALUE {
                return Err(Error::Shape(format!(
                    "tuple {at} has a feature of value {largest}; values must be at most {LARGEST_VALUE}, and \
                     rows are best scaled to length 1"
                )));
            }
        }
        Ok(())
    }

    /// Starts refitting: the step count restarts, nothing is shrunk, and only currently non-zero entries change.
    pub fn refit(&mut self) {
        self.sweep();
        let whole = self.whole();
        if self.params.average {
            self.for_each_row(|row, shared| row.keep_sums(shared, whole));
        }
        self.clock =
            Clock { phase: Phase::Refit, steps: 0, violations: 0, loss: 0.0, pending: 0.0, ..self.clock };
    }

    /// Drops dead entries if there may be many of them, and shrinks more strongly if W exceeds its memory limit. Called
    /// between two blocks.
    fn sweep_if_due(&mut self) {
        let is_large = self.sweep_above().is_some_and(|above| self.bytes() > above);
        if !is_large || !self.clock.ends_block(&self.params) {
            return;
        }
        self.sweep();
        if let Some(max_mib) = self.params.max_mib {
            self.shrink_below((max_mib as u64) << 20);
        }
        self.clock.swept_bytes = self.bytes();
    }

    /// Writes the violations of the current block to the rows.
    fn write_pending(&mut self) {
        let violations = std::mem::take(&mut self.pending);
        let (whole, mut room) = (self.whole(), Room::new(self.n_columns));
        for parts in parts_by_row(&violations).chunk_by(|a, b| a.row == b.row) {
            let i = parts[0].row as usize;
            let row = &mut self.shards[i % SHARDS][i / SHARDS];
            row.apply(parts, &mut room, shared_column(self.shared[i]), whole, whole.shrinkage, 0);
        }
    }

    /// Calls `each` with the number and the current state of every row.
    pub(super) fn visit(&self, mut each: impl FnMut(usize, &WeightRow)) {
        let parts = parts_by_row(&self.pending);
        let mut changing = parts.chunk_by(|a, b| a.row == b.row).peekable();
        let whole = self.whole();
        let mut room = Room::new(if parts.is_empty() { 0 } else { self.n_columns });
        for i in 0..self.n_query_features() {
            let mut row = Cow::Borrowed(&self.shards[i % SHARDS][i / SHARDS]);
            if let Some(parts) = changing.next_if(|parts| parts[0].row as usize == i) {
                row.to_mut().apply(parts, &mut room, self.shared_of(i), whole, whole.shrinkage, 0);
            }
            each(i, &row);
        }
    }

    /// Applies the pending shrinkage to every row, and drops dead entries.
    pub(super) fn sweep(&mut self) {
        self.write_pending();
        let whole = self.whole();
        self.for_each_row(|row, _| row.sweep(whole));
    }

    /// Increases s until W is reduced from above the memory limit to three quarters of it.
    fn shrink_below(&mut self, ceiling: u64) {
        let mut harder = false;
        let room = |bytes: u64, fixed: u64| bytes.saturating_sub(fixed) as f64;
        while self.bytes() > ceiling {
            let fixed = self.fixed_bytes();
            let kept = 0.75 * room(ceiling, fixed) / room(self.bytes(), fixed).max(1.0);
            let extra = f64::from(self.magnitude_above(kept));
            self.clock.shrinkage += extra;
            self.clock.extra_shrinkage += extra;
            self.sweep();
            harder = true;
        }
        self.clock.ceilings += u64::from(harder);
    }

    /// Returns a magnitude, to two digits, that at most the given share of the entries of touched rows exceed.
    fn magnitude_above(&self, share: f64) -> f32 {
        // Positive f32 sort like their bits; the upper 16 are the exponent and 7 more bits.
        let mut counts = vec![0u64; 1 << 16];
        let whole = self.whole();
        for (_, value) in self.shards.iter().flatten().flat_map(|row| row.values(None, whole)) {
            if value != 0.0 {
                counts[(value.abs().to_bits() >> 16) as usize] += 1;
            }
        }
        let keep = (share * counts.iter().sum::<u64>() as f64) as u64;
        let mut above = 0;
        let first_dropped = (0..counts.len()).rev().find(|&bin| {
            above += counts[bin];
            above > keep
        });
        first_dropped.map_or(f32::MIN_POSITIVE, |bin| f32::from_bits((bin as u32 + 1) << 16))
    }

    /// Calls `each` with every row and its shared column.
    fn for_each_row(&mut self, each: impl Fn(&mut WeightRow, Option<u32>)) {
        for (shard, rows) in self.shards.iter_mut().enumerate() {
            for (at, row) in rows.iter_mut().enumerate() {
                let shared = self.shared[at * SHARDS + shard];
                each(row, shared_column(shared));
            }
        }
    }

    /// Returns W with all shrinkage applied; while refitting with averages, the mean of W over the steps.
    pub fn matrix(&self) -> Csr {
        let mut builder = CsrBuilder::new(self.n_columns);
        let mut entries = Vec::new();
        self.visit(|i, row| {
            self.entries(i, row, &mut entries);
            entries.iter().for_each(|&(column, value)| builder.push(column, value));
            builder.end_row();
        });
        builder.finish().expect("rows in order, of finite numbers")
    }

    /// Returns the non-zero entries of a row, columns ascending.
    fn entries(&self, i: usize, row: &WeightRow, entries: &mut Vec<(u32, f32)>) {
        entries.clear();
        entries.extend(row.values(self.shared_of(i), self.whole()));
        for ((_, value), sum) in entries.iter_mut().zip(row.sums()) {
            *value -= sum / self.clock.steps.max(1) as f32;
        }
        entries.retain(|&(_, value)| value != 0.0);
        entries.sort_unstable_by_key(|&(column, _)| column);
    }

    pub(super) fn shared_of(&self, i: usize) -> Option<u32> {
        shared_column(self.shared[i])
    }

    pub(super) fn whole(&self) -> Whole {
        self.clock.whole(self.n_columns)
    }

    /// Memory in bytes above which W is swept at the end of a block, if entries can appear at all.
    pub(super) fn sweep_above(&self) -> Option<u64> {
        let doubled = (2 * self.clock.swept_bytes).max(SWEEP_AT_LEAST);
        let above = self.params.max_mib.map_or(doubled, |max_mib| doubled.min((max_mib as u64) << 20));
        (!self.clock.restricted(&self.params)).then_some(above)
    }

    /// The parameters.
    pub fn params(&self) -> &PreferenceParams {
        &self.params
    }

    /// Counts of steps, violations and other events.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Number of rows of W.
    pub fn n_query_features(&self) -> usize {
        self.shared.len()
    }

    /// Number of columns of W.
    pub fn n_document_features(&self) -> usize {
        self.n_columns
    }

    /// Number of non-zero entries of W.
    pub fn nnz(&self) -> usize {
        let (whole, mut nnz) = (self.whole(), 0);
        self.visit(|i, row| nnz += row.live(self.shared_of(i), whole));
        nnz
    }

    /// Share of non-zero entries of W.
    pub fn density(&self) -> f64 {
        self.nnz() as f64 / (self.n_query_features() as f64 * self.n_columns as f64).max(1.0)
    }

    /// Memory of W in bytes.
    pub fn bytes(&self) -> u64 {
        self.fixed_bytes() + self.shards.iter().flatten().map(|row| row.bytes() as u64).sum::<u64>()
    }

    /// Memory of W without any entry, in bytes.
    fn fixed_bytes(&self) -> u64 {
        (self.shared.len() * (size_of::<WeightRow>() + size_of::<u32>())) as u64
    }
}
