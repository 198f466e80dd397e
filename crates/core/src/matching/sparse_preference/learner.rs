use super::clock::{Clock, Phase};
use super::row::{Row, Whole};
use super::workers::{SHARDS, Stop, work};
use super::{Form, PreferenceParams, Tuple};
use crate::matching::{Csr, CsrBuilder};
use crate::progress::Progress;
use crate::{Error, Result};

/// No document word is the query word.
pub(super) const NOT_SHARED: u32 = u32::MAX;

/// Values of features beyond which W might leave the range of numbers.
const LARGEST_VALUE: f32 = 1e6;
/// W is swept for dead entries when it has doubled, but not below this.
const SWEEP_AT_LEAST: u64 = 64 << 20;

/// W while it is learned; see the [module](super).
#[derive(Debug, Clone)]
pub struct Learner {
    pub(super) params: PreferenceParams,
    pub(super) n_columns: usize,
    /// The document word that each query word is, or [`NOT_SHARED`].
    pub(super) shared: Vec<u32>,
    /// Row i is at i / SHARDS of shard i % SHARDS.
    pub(super) shards: Vec<Vec<Row>>,
    pub(super) clock: Clock,
}

impl Learner {
    /// W at the start: 1 where a query word (row) and a document word (column) are the same, as `shared`
    /// says; for one dictionary these are all (i, i).
    pub fn new(
        params: &PreferenceParams,
        n_query_features: usize,
        n_document_features: usize,
        shared: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self> {
        params.validate()?;
        for (what, n) in [("query", n_query_features), ("document", n_document_features)] {
            if n >= u32::MAX as usize {
                return Err(Error::Shape(format!("{n} {what} features; W can have 4294967294")));
            }
        }
        let mut columns = vec![NOT_SHARED; n_query_features];
        for (row, column) in shared {
            if row as usize >= n_query_features || column as usize >= n_document_features {
                return Err(Error::Shape(format!(
                    "query feature {row} cannot be document feature {column}: there are \
                     {n_query_features} and {n_document_features}"
                )));
            }
            if columns[row as usize] != NOT_SHARED {
                return Err(Error::Shape(format!("query feature {row} is more than one document feature")));
            }
            columns[row as usize] = column;
        }
        let rows_of = |shard: usize| (n_query_features + SHARDS - 1 - shard) / SHARDS;
        let shards = (0..SHARDS).map(|shard| vec![Row::Start; rows_of(shard)]).collect();
        let learner = Self {
            params: *params,
            n_columns: n_document_features,
            shared: columns,
            shards,
            clock: Clock::new(),
        };
        learner.check_ceiling()?;
        Ok(learner)
    }

    /// A ceiling must leave room for more than rows without entries.
    pub(super) fn check_ceiling(&self) -> Result<()> {
        match self.params.max_mib {
            Some(max_mib) if (self.fixed_bytes() >> 20) >= max_mib as u64 => Err(Error::Params(format!(
                "max_mib is {max_mib}, but W takes {} MiB before its first entry; {} MiB would do",
                self.fixed_bytes().div_ceil(1 << 20),
                2 * self.fixed_bytes().div_ceil(1 << 20)
            ))),
            _ => Ok(()),
        }
    }

    /// Makes a step for every tuple, in their order. Rows of `queries` and `documents` are what the tuples
    /// name; tuples may be learned in any number of calls, also with other rows, and W is the same as after
    /// one call. Work is reported as one unit for every tuple.
    ///
    /// After an error of divergence W is of no use any more.
    pub fn learn(
        &mut self,
        queries: &Csr,
        documents: &Csr,
        tuples: &[Tuple],
        progress: &dyn Progress,
    ) -> Result<()> {
        self.check(queries, documents, tuples)?;
        let mut done = 0;
        while done < tuples.len() {
            let (n, stop) = work(self, queries, documents, &tuples[done..], progress);
            done += n;
            match stop {
                Stop::Done => {}
                Stop::Diverged => {
                    return Err(Error::Diverged(format!(
                        "scores left the range of numbers at step {}: take a smaller c than {}, or scale the \
                         rows to length 1",
                        self.clock.steps, self.params.c
                    )));
                }
                Stop::Sweep => self.sweep(),
            }
        }
        Ok(())
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
                    return Err(Error::Shape(format!("tuple {at} names {what} {row} of {n}")));
                }
            }
            let rows =
                [queries.row(query as usize), documents.row(more as usize), documents.row(less as usize)];
            let largest = rows.iter().flat_map(|row| row.values()).fold(0f32, |max, x| max.max(x.abs()));
            if largest > LARGEST_VALUE {
                return Err(Error::Shape(format!(
                    "tuple {at} has a feature of value {largest}; values may be {LARGEST_VALUE} at most, and \
                     rows are best scaled to length 1"
                )));
            }
        }
        Ok(())
    }

    /// Refitting begins: steps start anew, nothing is shrunk, and only entries that are not 0 now change.
    pub fn refit(&mut self) {
        self.settle();
        let whole = self.whole();
        if self.params.average {
            self.for_each_row(|row, shared| row.keep_sums(shared, whole));
        }
        self.clock = Clock {
            phase: Phase::Refit,
            steps: 0,
            violations: 0,
            loss: 0.0,
            pending: 0.0,
            settled_at: 0,
            ..self.clock
        };
    }

    /// Drops dead entries, and sets s back to 0 or shrinks harder where that is due.
    fn sweep(&mut self) {
        if self.clock.settling_is_due() {
            self.settle();
        } else {
            let whole = self.whole();
            self.for_each_row(|row, shared| row.sweep(shared, whole, false));
        }
        if let Some(max_mib) = self.params.max_mib {
            self.shrink_below((max_mib as u64) << 20);
        }
        self.clock.swept_bytes = self.bytes();
    }

    /// Drops dead entries and sets s back to 0.
    pub(super) fn settle(&mut self) {
        let whole = self.whole();
        self.for_each_row(|row, shared| row.sweep(shared, whole, true));
        self.clock.start = whole.shrinkage.value(whole.start);
        self.clock.shrinkage = 0.0;
        self.clock.settled_at = self.clock.steps;
    }

    /// Adds to s what it takes to bring W from above a ceiling to three quarters of it.
    fn shrink_below(&mut self, ceiling: u64) {
        let mut harder = false;
        let room = |bytes: u64, fixed: u64| bytes.saturating_sub(fixed) as f64;
        while self.bytes() > ceiling {
            let fixed = self.fixed_bytes();
            let kept = 0.75 * room(ceiling, fixed) / room(self.bytes(), fixed).max(1.0);
            let extra = f64::from(self.magnitude_above(kept));
            self.clock.shrinkage += extra;
            self.clock.extra_shrinkage += extra;
            let whole = self.whole();
            self.for_each_row(|row, shared| row.sweep(shared, whole, false));
            harder = true;
        }
        self.clock.ceilings += u64::from(harder);
    }

    /// A magnitude that at most the given share of the entries of touched rows exceed, to two digits.
    fn magnitude_above(&self, share: f64) -> f32 {
        // Positive f32 are in the order of their bits; the upper 16 give the exponent and 7 bits more.
        let mut counts = vec![0u64; 1 << 16];
        let whole = self.whole();
        for (_, stored) in self.shards.iter().flatten().flat_map(Row::entries) {
            let value = whole.shrinkage.value(stored).abs();
            if value > 0.0 {
                counts[(value.to_bits() >> 16) as usize] += 1;
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
    fn for_each_row(&mut self, each: impl Fn(&mut Row, Option<u32>)) {
        for (shard, rows) in self.shards.iter_mut().enumerate() {
            for (at, row) in rows.iter_mut().enumerate() {
                let shared = self.shared[at * SHARDS + shard];
                each(row, (shared != NOT_SHARED).then_some(shared));
            }
        }
    }

    /// W, all shrinkage applied; while refitting with averages, the mean of W over the steps.
    pub fn matrix(&self) -> Csr {
        let mut builder = CsrBuilder::new(self.n_columns);
        let mut entries = Vec::new();
        for i in 0..self.n_query_features() {
            self.row(i, &mut entries);
            entries.iter().for_each(|&(column, value)| builder.push(column, value));
            builder.end_row();
        }
        builder.finish().expect("rows in order, of finite numbers")
    }

    /// The entries of a row that are not 0, columns ascending.
    fn row(&self, i: usize, entries: &mut Vec<(u32, f32)>) {
        let whole = self.whole();
        let row = &self.shards[i % SHARDS][i / SHARDS];
        entries.clear();
        if let Row::Start = row {
            entries.extend(self.shared_of(i).map(|column| (column, whole.start)));
        } else {
            entries.extend(row.entries());
        }
        entries.iter_mut().for_each(|(_, number)| *number = whole.shrinkage.value(*number));
        for ((_, value), sum) in entries.iter_mut().zip(row.sums()) {
            *value -= sum / self.clock.steps.max(1) as f32;
        }
        entries.retain(|&(_, value)| value != 0.0);
        entries.sort_unstable_by_key(|&(column, _)| column);
    }

    pub(super) fn shared_of(&self, i: usize) -> Option<u32> {
        Some(self.shared[i]).filter(|&column| column != NOT_SHARED)
    }

    pub(super) fn whole(&self) -> Whole {
        self.clock.whole(&self.params, self.n_columns)
    }

    /// Bytes beyond which W is swept at the next multiple of T.
    pub(super) fn sweep_above(&self) -> u64 {
        let doubled = (2 * self.clock.swept_bytes).max(SWEEP_AT_LEAST);
        self.params.max_mib.map_or(doubled, |max_mib| doubled.min((max_mib as u64) << 20))
    }

    /// The parameters.
    pub fn params(&self) -> &PreferenceParams {
        &self.params
    }

    /// Steps, violations and what else is counted.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Rows of W.
    pub fn n_query_features(&self) -> usize {
        self.shared.len()
    }

    /// Columns of W.
    pub fn n_document_features(&self) -> usize {
        self.n_columns
    }

    /// Entries of W that are not 0.
    pub fn nnz(&self) -> usize {
        let whole = self.whole();
        let live = |i: usize| self.shards[i % SHARDS][i / SHARDS].live(self.shared_of(i), whole);
        (0..self.n_query_features()).map(live).sum()
    }

    /// The share of the entries of W that are not 0.
    pub fn density(&self) -> f64 {
        self.nnz() as f64 / (self.n_query_features() as f64 * self.n_columns as f64).max(1.0)
    }

    /// Memory that W takes.
    pub fn bytes(&self) -> u64 {
        self.fixed_bytes() + self.shards.iter().flatten().map(|row| row.bytes() as u64).sum::<u64>()
    }

    /// Memory that W takes without any entry.
    fn fixed_bytes(&self) -> u64 {
        (self.shared.len() * (size_of::<Row>() + size_of::<u32>())) as u64
    }

    /// Whether entries can come in this phase.
    pub(super) fn grows(&self) -> bool {
        self.clock.phase == Phase::Learn && self.params.form != Form::Diagonal
    }
}
