use super::clock::Clock;
use super::difference::Difference;
use super::learner::{Learner, NOT_SHARED};
use super::list::ListRow;
use super::packed::Packed;
use super::row::{Entries, WeightRow};
use super::violation::Violation;
use super::workers::SHARDS;
use super::{Phase, PreferenceParams};
use crate::{Error, Result};

/// Largest absolute entry of a row. Learned weights are far below it; scores of larger ones would overflow.
pub(super) const LARGEST: f32 = 1e10;

/// A [`Learner`] as plain arrays, for a checkpoint file. Training resumes from it exactly as if it had not stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The parameters.
    pub params: PreferenceParams,
    /// Counts of steps and other events.
    pub clock: Clock,
    /// Number of columns of W.
    pub n_document_features: usize,
    /// For every row: the column of the same word, or 4294967295.
    pub shared: Vec<u32>,
    /// For every row, its storage: 0 initial, 1 list, 4 packed; 2 and 3 are storages of earlier versions.
    pub kinds: Vec<u8>,
    /// For every row: the capacity for entries; 0 for an initial row.
    pub capacities: Vec<u32>,
    /// For every row: [`Clock::shrinkage`] when it was last written.
    pub written_at: Vec<f64>,
    /// Start of the entries of each row; the last is the number of entries.
    pub offsets: Vec<u64>,
    /// Columns of the entries, in no particular order.
    pub columns: Vec<u32>,
    /// Numbers of the entries. The increase of [`Clock::shrinkage`] since the row was written is not yet applied.
    pub numbers: Vec<f32>,
    /// While refitting with averages, a second number for every entry; else empty.
    pub sums: Vec<f32>,
    /// Steps that are not yet written to the rows.
    pub pending: Pending,
}

/// Steps that are not yet written to the rows of W: eta, q and d+ - d- of each step.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// eta of every step.
    pub etas: Vec<f64>,
    /// Start of the entries of each vector, q and then d+ - d- of every step; the last is the number of entries.
    pub offsets: Vec<u64>,
    /// Columns of the vectors, ascending in each.
    pub columns: Vec<u32>,
    /// Values of the vectors.
    pub values: Vec<f32>,
}

impl Default for Pending {
    /// Returns no steps.
    fn default() -> Self {
        Self { etas: Vec::new(), offsets: vec![0], columns: Vec::new(), values: Vec::new() }
    }
}

impl Pending {
    fn new(violations: &[Violation]) -> Self {
        let mut pending = Self::default();
        for Violation { eta, query: (words, weights), difference } in violations {
            pending.etas.push(*eta);
            for (columns, values) in [(&words[..], &weights[..]), (&difference.columns, difference.values())]
            {
                pending.columns.extend(columns);
                pending.values.extend(values);
                pending.offsets.push(pending.columns.len() as u64);
            }
        }
        pending
    }

    /// Returns the violations, for a W with these numbers of rows and columns; `None` if the arrays are inconsistent.
    fn violations(&self, n_rows: usize, n_columns: usize) -> Option<Vec<Violation>> {
        let fits = self.offsets.len() == 2 * self.etas.len() + 1
            && self.offsets.last() == Some(&(self.columns.len() as u64))
            && self.columns.len() == self.values.len()
            && self.etas.iter().all(|eta| eta.is_finite())
            && self.values.iter().all(|value| value.is_finite());
        let vector = |at: usize, n: usize| {
            let range = self.offsets[at] as usize..self.offsets[at + 1] as usize;
            let columns = self.columns.get(range.clone())?;
            let are_columns = columns.windows(2).all(|pair| pair[0] < pair[1])
                && columns.last().is_none_or(|&last| (last as usize) < n);
            are_columns.then(|| (columns.to_vec(), self.values[range].to_vec()))
        };
        let violation = |(at, &eta): (usize, &f64)| {
            let (query, (columns, values)) = (vector(2 * at, n_rows)?, vector(2 * at + 1, n_columns)?);
            Some(Violation { eta, query, difference: Difference::new(&columns, &values) })
        };
        fits.then(|| self.etas.iter().enumerate().map(violation).collect())?
    }
}

impl Learner {
    /// Returns the complete state, from which training can resume.
    pub fn state(&self) -> State {
        let mut state = State {
            params: self.params,
            clock: self.clock,
            n_document_features: self.n_columns,
            shared: self.shared.clone(),
            kinds: Vec::with_capacity(self.n_query_features()),
            capacities: Vec::with_capacity(self.n_query_features()),
            written_at: Vec::with_capacity(self.n_query_features()),
            offsets: vec![0],
            columns: Vec::new(),
            numbers: Vec::new(),
            sums: Vec::new(),
            pending: Pending::new(&self.pending),
        };
        for i in 0..self.n_query_features() {
            let row = &self.shards[i % SHARDS][i / SHARDS];
            let (kind, capacity) = match &row.entries {
                Entries::Start => (0, 0),
                Entries::ListRow(list) => (1, list.capacity()),
                Entries::Packed(packed) => (4, packed.capacity()),
            };
            state.written_at.push(row.written_at);
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

    /// Resumes from a state. Returns an error if the state is inconsistent.
    pub fn from_state(state: &State) -> Result<Self> {
        let State { params, clock, n_document_features: n_columns, shared, .. } = state;
        let pairs = (0..).zip(shared).filter(|&(_, &column)| column != NOT_SHARED);
        let mut learner = Self::new(params, shared.len(), *n_columns, pairs.map(|(i, &column)| (i, column)))?;
        let broken = |what: String| Error::Shape(format!("the training state is corrupt: {what}"));
        if [clock.loss, clock.pending, clock.shrinkage, clock.extra_shrinkage, f64::from(clock.start)]
            .iter()
            .chain(&state.written_at)
            .any(|number| !(number.is_finite() && *number >= 0.0))
        {
            return Err(broken("its counters are out of range".into()));
        }
        let averaged = clock.phase == Phase::Refit && params.average;
        let (n_rows, n_entries) = (shared.len(), state.columns.len());
        if [state.kinds.len(), state.capacities.len(), state.written_at.len()] != [n_rows; 3]
            || state.offsets.len() != n_rows + 1
            || [state.numbers.len(), state.sums.len()] != [n_entries, if averaged { n_entries } else { 0 }]
            || state.offsets.last() != Some(&(n_entries as u64))
        {
            return Err(broken("the lengths of its arrays do not match".into()));
        }
        for (i, (&kind, &capacity)) in state.kinds.iter().zip(&state.capacities).enumerate() {
            let range = state.offsets[i] as usize..state.offsets[i + 1] as usize;
            let (Some(columns), Some(numbers)) =
                (state.columns.get(range.clone()), state.numbers.get(range.clone()))
            else {
                return Err(broken("its offsets do not ascend".into()));
            };
            let sums = if averaged { &state.sums[range] } else { &[] };
            if !(numbers.iter().all(|number| number.abs() <= LARGEST)
                && sums.iter().all(|sum| sum.is_finite()))
            {
                return Err(broken(format!(
                    "row {i} has an entry that is not finite, or exceeds {LARGEST:e}"
                )));
            }
            let entries =
                entries(*n_columns, (kind, capacity as usize), columns, numbers, sums).ok_or_else(|| {
                    broken(format!("the entries of row {i} do not match its storage or capacity"))
                })?;
            let written_at = state.written_at[i];
            learner.shards[i % SHARDS][i / SHARDS] = WeightRow { written_at, entries };
        }
        if clock.restricted(params) && !state.pending.etas.is_empty()
            || state.written_at.iter().any(|&at| at > clock.shrinkage)
        {
            return Err(broken("its rows are newer than its steps".into()));
        }
        let pending = state.pending.violations(n_rows, *n_columns);
        learner.pending = pending.ok_or_else(|| broken("its pending steps are inconsistent".into()))?;
        learner.clock = *clock;
        Ok(learner)
    }
}

/// Builds the entries of a row from their arrays; `None` if these are inconsistent.
fn entries(
    n_columns: usize,
    (kind, capacity): (u8, usize),
    columns: &[u32],
    numbers: &[f32],
    sums: &[f32],
) -> Option<Entries> {
    let mut sorted: Vec<(u32, usize)> = columns.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let are_columns = sorted.last().is_none_or(|&(last, _)| (last as usize) < n_columns)
        && sorted.windows(2).all(|pair| pair[0].0 < pair[1].0);
    // An implausibly large capacity means a corrupt file, too.
    let is_sane = capacity <= 2 * n_columns + 1;
    let mut entries: Vec<(u32, f32)> = sorted.iter().map(|&(column, at)| (column, numbers[at])).collect();
    let sorted_sums = || sorted.iter().filter_map(|&(_, at)| sums.get(at).copied()).collect();
    let fits = columns.len() <= capacity;
    match kind {
        _ if !(are_columns && is_sane) => None,
        0 => columns.is_empty().then_some(Entries::Start),
        1 => {
            let mut list = fits.then(|| ListRow::new(capacity))?;
            columns.iter().zip(numbers).for_each(|(&column, &number)| list.push(column, number));
            list.set_sums(sums.to_vec());
            Some(Entries::ListRow(list))
        }
        // A hash table, or a number per column.
        2 | 3 => {
            let mut entries = Entries::new(n_columns, entries);
            entries.set_sums(sorted_sums());
            Some(entries)
        }
        4 => {
            let mut packed = fits.then(|| Packed::new(n_columns, capacity, &mut entries))?;
            packed.set_sums(sorted_sums());
            Some(Entries::Packed(packed))
        }
        _ => None,
    }
}
