use super::clock::Clock;
use super::learner::{Learner, NOT_SHARED};
use super::row::{Dense, Row};
use super::table::Table;
use super::workers::SHARDS;
use super::{Phase, PreferenceParams};
use crate::{Error, Result};

/// A [`Learner`] as plain arrays, for a file: learning goes on from it exactly as if it had not stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The parameters.
    pub params: PreferenceParams,
    /// Steps and what else is counted.
    pub clock: Clock,
    /// Columns of W.
    pub n_document_features: usize,
    /// For every row: the column of the same word, or 4294967295.
    pub shared: Vec<u32>,
    /// For every row: 0 if it is as at the start, 4294967295 if it is dense, else the buckets of its table.
    pub buckets: Vec<u32>,
    /// Where the entries of each row start; the last is the number of entries.
    pub offsets: Vec<u64>,
    /// Columns of the entries, in no order.
    pub columns: Vec<u32>,
    /// Their numbers, from which [`Clock::shrinkage`] is still to be taken.
    pub numbers: Vec<f32>,
    /// While refitting with averages, a second number for every entry; else empty.
    pub sums: Vec<f32>,
}

/// In [`State::buckets`]: the row is dense.
const DENSE: u32 = u32::MAX;

impl Learner {
    /// Everything that is needed to go on.
    pub fn state(&self) -> State {
        let mut state = State {
            params: self.params,
            clock: self.clock,
            n_document_features: self.n_columns,
            shared: self.shared.clone(),
            buckets: Vec::with_capacity(self.n_query_features()),
            offsets: vec![0],
            columns: Vec::new(),
            numbers: Vec::new(),
            sums: Vec::new(),
        };
        for i in 0..self.n_query_features() {
            let row = &self.shards[i % SHARDS][i / SHARDS];
            state.buckets.push(match row {
                Row::Start => 0,
                Row::Sparse(table) => table.n_buckets() as u32,
                Row::Dense(_) => DENSE,
            });
            for (column, number) in row.entries() {
                state.columns.push(column);
                state.numbers.push(number);
            }
            state.sums.extend(row.sums());
            state.offsets.push(state.columns.len() as u64);
        }
        state
    }

    /// Goes on from a state; a state that cannot be is an error.
    pub fn from_state(state: &State) -> Result<Self> {
        let State { params, clock, n_document_features: n_columns, shared, .. } = state;
        let pairs = (0..).zip(shared).filter(|&(_, &column)| column != NOT_SHARED);
        let mut learner = Self::new(params, shared.len(), *n_columns, pairs.map(|(i, &column)| (i, column)))?;
        let broken = |what: String| Error::Shape(format!("the state of learning is broken: {what}"));
        if [clock.loss, clock.pending, clock.shrinkage, clock.extra_shrinkage, f64::from(clock.start)]
            .iter()
            .any(|number| !(number.is_finite() && *number >= 0.0))
            || clock.settled_at > clock.steps
        {
            return Err(broken("its counters are out of range".into()));
        }
        let averaged = clock.phase == Phase::Refit && params.average;
        let lengths = (state.buckets.len(), state.offsets.len(), state.numbers.len(), state.sums.len());
        let n_entries = state.columns.len();
        if lengths != (shared.len(), shared.len() + 1, n_entries, if averaged { n_entries } else { 0 })
            || state.offsets.last() != Some(&(n_entries as u64))
        {
            return Err(broken("its arrays do not have the lengths that belong together".into()));
        }
        for (i, &n_buckets) in state.buckets.iter().enumerate() {
            let range = state.offsets[i] as usize..state.offsets[i + 1] as usize;
            let (Some(columns), Some(numbers)) =
                (state.columns.get(range.clone()), state.numbers.get(range.clone()))
            else {
                return Err(broken("its offsets do not ascend".into()));
            };
            let sums = if averaged { &state.sums[range] } else { &[] };
            if numbers.iter().chain(sums).any(|number| !number.is_finite()) {
                return Err(broken(format!("row {i} has an entry that is no number")));
            }
            let row = row(*n_columns, n_buckets, columns, numbers, sums)
                .ok_or_else(|| broken(format!("row {i} does not fit its memory")))?;
            learner.shards[i % SHARDS][i / SHARDS] = row;
        }
        learner.clock = *clock;
        Ok(learner)
    }
}

/// A row from its arrays; none if they do not go together.
fn row(n_columns: usize, n_buckets: u32, columns: &[u32], numbers: &[f32], sums: &[f32]) -> Option<Row> {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    let are_columns = sorted.last().is_none_or(|&last| (last as usize) < n_columns)
        && sorted.windows(2).all(|pair| pair[0] < pair[1]);
    let entries = columns.iter().copied().zip(numbers.iter().copied());
    match n_buckets {
        _ if !are_columns => None,
        0 => columns.is_empty().then_some(Row::Start),
        DENSE => {
            let mut dense = Dense { stored: vec![0.0; n_columns].into(), sums: [].into() };
            entries.for_each(|(column, number)| dense.stored[column as usize] = number);
            if !sums.is_empty() {
                dense.sums = vec![0.0; n_columns].into();
                columns.iter().zip(sums).for_each(|(&column, &sum)| dense.sums[column as usize] = sum);
            }
            Some(Row::Dense(dense))
        }
        _ => {
            let n_buckets = n_buckets as usize;
            let fits = Table::buckets_for(columns.len()) <= n_buckets
                && Table::bytes_of(n_buckets) <= n_columns * size_of::<f32>() + Table::bytes_of(1);
            let mut table = fits.then(|| Table::new(n_buckets))?;
            entries.for_each(|(column, number)| table.insert(column, number));
            if !sums.is_empty() {
                table.keep_sums();
                for (&column, &sum) in columns.iter().zip(sums) {
                    let (_, place) = table.get_with_sum(column)?;
                    *place? = sum;
                }
            }
            Some(Row::Sparse(table))
        }
    }
}
