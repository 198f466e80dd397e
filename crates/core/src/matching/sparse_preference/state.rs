use super::clock::Clock;
use super::dense::Dense;
use super::learner::{Learner, NOT_SHARED};
use super::list::List;
use super::row::Row;
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
    /// For every row, how it is kept: 0 as at the start, 1 as a list, 2 as a table, 3 dense.
    pub kinds: Vec<u8>,
    /// For every row: the entries that its list has room for, or the buckets of its table; else 0.
    pub capacities: Vec<u32>,
    /// Where the entries of each row start; the last is the number of entries.
    pub offsets: Vec<u64>,
    /// Columns of the entries, in no order.
    pub columns: Vec<u32>,
    /// Their numbers, from which [`Clock::shrinkage`] is still to be taken.
    pub numbers: Vec<f32>,
    /// While refitting with averages, a second number for every entry; else empty.
    pub sums: Vec<f32>,
}

impl Learner {
    /// Everything that is needed to go on.
    pub fn state(&self) -> State {
        let mut state = State {
            params: self.params,
            clock: self.clock,
            n_document_features: self.n_columns,
            shared: self.shared.clone(),
            kinds: Vec::with_capacity(self.n_query_features()),
            capacities: Vec::with_capacity(self.n_query_features()),
            offsets: vec![0],
            columns: Vec::new(),
            numbers: Vec::new(),
            sums: Vec::new(),
        };
        for i in 0..self.n_query_features() {
            let row = &self.shards[i % SHARDS][i / SHARDS];
            let (kind, capacity) = match row {
                Row::Start => (0, 0),
                Row::List(list) => (1, list.capacity()),
                Row::Table(table) => (2, table.n_buckets()),
                Row::Dense(_) => (3, 0),
            };
            state.kinds.push(kind);
            state.capacities.push(capacity as u32);
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
        let (n_rows, n_entries) = (shared.len(), state.columns.len());
        if [state.kinds.len(), state.capacities.len(), state.offsets.len()] != [n_rows, n_rows, n_rows + 1]
            || [state.numbers.len(), state.sums.len()] != [n_entries, if averaged { n_entries } else { 0 }]
            || state.offsets.last() != Some(&(n_entries as u64))
        {
            return Err(broken("its arrays do not have the lengths that belong together".into()));
        }
        for (i, (&kind, &capacity)) in state.kinds.iter().zip(&state.capacities).enumerate() {
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
            let row = row(*n_columns, (kind, capacity as usize), columns, numbers, sums)
                .ok_or_else(|| broken(format!("row {i} does not fit its memory")))?;
            learner.shards[i % SHARDS][i / SHARDS] = row;
        }
        learner.clock = *clock;
        Ok(learner)
    }
}

/// A row from its arrays; none if they do not go together.
fn row(
    n_columns: usize,
    (kind, capacity): (u8, usize),
    columns: &[u32],
    numbers: &[f32],
    sums: &[f32],
) -> Option<Row> {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    let are_columns = sorted.last().is_none_or(|&last| (last as usize) < n_columns)
        && sorted.windows(2).all(|pair| pair[0] < pair[1]);
    // More room than anything could need is a broken file too.
    let is_sane = capacity <= 2 * n_columns + 1;
    let entries = columns.iter().copied().zip(numbers.iter().copied());
    match kind {
        _ if !(are_columns && is_sane) => None,
        0 => columns.is_empty().then_some(Row::Start),
        1 => {
            let mut list = (columns.len() <= capacity).then(|| List::new(capacity))?;
            entries.for_each(|(column, number)| list.push(column, number));
            list.set_sums(sums.to_vec());
            Some(Row::List(list))
        }
        2 => {
            let fits = Table::buckets_for(columns.len()) <= capacity;
            let mut table = fits.then(|| Table::new(capacity))?;
            entries.for_each(|(column, number)| table.insert(column, number));
            if !sums.is_empty() {
                table.keep_sums();
                for (&column, &sum) in columns.iter().zip(sums) {
                    let (_, place) = table.get_mut(column)?;
                    *place? = sum;
                }
            }
            Some(Row::Table(table))
        }
        3 => {
            let mut dense = Dense::new(n_columns);
            entries.for_each(|(column, number)| dense.set(column, number));
            if !sums.is_empty() {
                dense.keep_sums();
                columns.iter().zip(sums).for_each(|(&column, &sum)| dense.set_sum(column, sum));
            }
            Some(Row::Dense(dense))
        }
        _ => None,
    }
}
