//! A row of W: what query word i makes of every document word.

use super::shrinkage::Shrinkage;
use super::table::Table;

/// d+ - d-, as the columns where it is not 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Difference {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
}

/// What a row needs to know of W as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) shrinkage: Shrinkage,
    /// What is stored, as a number, for an entry that has been 1 since the start.
    pub(super) start: f32,
    pub(super) n_columns: usize,
    /// Whether only entries that are there may change.
    pub(super) restricted: bool,
    /// Number of the step among those that are averaged, from 0.
    pub(super) averaged: f32,
}

impl Whole {
    /// Entries of a row that is as it was at the start.
    fn starting(&self, shared: Option<u32>) -> usize {
        usize::from(shared.is_some() && self.shrinkage.leaves(self.start))
    }
}

/// A row of W. Numbers in it are stored as [`Shrinkage`] says.
#[derive(Debug, Clone, Default)]
pub(super) enum Row {
    /// As it was at the start: 1 at the column that the row shares a word with.
    #[default]
    Start,
    /// Few of its columns have an entry.
    Sparse(Table),
    /// Many have.
    Dense(Dense),
}

/// A number for every column, and a second one while averages are kept.
#[derive(Debug, Clone)]
pub(super) struct Dense {
    pub(super) stored: Box<[f32]>,
    pub(super) sums: Box<[f32]>,
}

impl Row {
    /// The row's sum of w_j difference_j.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Difference, shared: Option<u32>, whole: Whole) -> f64 {
        let Difference { columns, values } = difference;
        let s = whole.shrinkage;
        match self {
            Self::Start => {
                let at = shared.and_then(|shared| columns.binary_search(&shared).ok());
                at.map_or(0.0, |at| f64::from(s.value(whole.start)) * f64::from(values[at]))
            }
            Self::Sparse(table) => in_lanes(columns, values, |column| s.value(table.get(column))),
            Self::Dense(Dense { stored, .. }) => {
                in_lanes(columns, values, |column| s.value(stored[column as usize]))
            }
        }
    }

    /// Adds `scale` times the difference; `missing` is working memory. Bytes may change.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        scale: f32,
        difference: &Difference,
        shared: Option<u32>,
        whole: Whole,
        missing: &mut Vec<u32>,
    ) {
        if let Self::Start = self {
            if whole.restricted && whole.starting(shared) == 0 {
                return;
            }
            *self = Self::begun(shared, whole);
        }
        let s = whole.shrinkage;
        let pairs = difference.columns.iter().zip(&difference.values);
        match self {
            Self::Start => unreachable!("a row that has begun"),
            Self::Sparse(table) if whole.restricted => {
                for (&column, &value) in pairs {
                    if let Some((stored, sum)) = table.get_with_sum(column) {
                        let change = scale * value;
                        *stored = s.stored(s.value(*stored) + change);
                        sum.into_iter().for_each(|sum| *sum += whole.averaged * change);
                    }
                }
            }
            Self::Sparse(table) => {
                missing.clear();
                for (at, (&column, &value)) in (0..).zip(pairs) {
                    match table.get_mut(column) {
                        Some(stored) => *stored = s.stored(s.value(*stored) + scale * value),
                        None => missing.push(at),
                    }
                }
                if !missing.is_empty() {
                    self.make_room(missing.len(), whole);
                    for &at in &*missing {
                        let at = at as usize;
                        let stored = s.stored(scale * difference.values[at]);
                        match self {
                            Self::Sparse(table) => table.insert(difference.columns[at], stored),
                            Self::Dense(dense) => dense.stored[difference.columns[at] as usize] = stored,
                            Self::Start => unreachable!("a row that has begun"),
                        }
                    }
                }
            }
            Self::Dense(Dense { stored, sums }) if whole.restricted => {
                for (&column, &value) in pairs {
                    let stored = &mut stored[column as usize];
                    if *stored != 0.0 {
                        let change = scale * value;
                        *stored = s.stored(s.value(*stored) + change);
                        let sum = sums.get_mut(column as usize);
                        sum.into_iter().for_each(|sum| *sum += whole.averaged * change);
                    }
                }
            }
            Self::Dense(Dense { stored, .. }) => {
                for (&column, &value) in pairs {
                    let stored = &mut stored[column as usize];
                    *stored = s.stored(s.value(*stored) + scale * value);
                }
            }
        }
    }

    /// The row at the start, with its entry written out.
    fn begun(shared: Option<u32>, whole: Whole) -> Self {
        let mut table = Table::new(1);
        let left = shared.filter(|_| whole.shrinkage.leaves(whole.start));
        left.into_iter().for_each(|column| table.insert(column, whole.start));
        Self::Sparse(table)
    }

    /// Sees to it that a table has room for so many more entries: dead ones are dropped first, and the table
    /// grows, or turns dense where that takes less memory, only if it is more than half full without them.
    fn make_room(&mut self, more: usize, whole: Whole) {
        let Self::Sparse(table) = self else { return };
        if Table::buckets_for(table.occupied() + more) <= table.n_buckets() {
            return;
        }
        let needed = Table::buckets_for(table.live(whole.shrinkage) + more);
        let n_buckets = if 2 * needed <= table.n_buckets() { table.n_buckets() } else { 2 * needed };
        *self = Self::filled(n_buckets, whole, table.iter());
    }

    /// A row of stored numbers: a table of so many buckets, or dense where that takes less memory.
    pub(super) fn filled(n_buckets: usize, whole: Whole, entries: impl Iterator<Item = (u32, f32)>) -> Self {
        let live = entries.filter(|&(_, stored)| whole.shrinkage.leaves(stored));
        if Table::bytes_of(n_buckets) > whole.n_columns * size_of::<f32>() {
            let mut stored = vec![0.0; whole.n_columns];
            live.for_each(|(column, number)| stored[column as usize] = number);
            Self::Dense(Dense { stored: stored.into(), sums: [].into() })
        } else {
            let mut table = Table::new(n_buckets);
            live.for_each(|(column, stored)| table.insert(column, stored));
            Self::Sparse(table)
        }
    }

    /// Columns and stored numbers of a row that is not as at the start, in no order; dead ones among them.
    pub(super) fn entries(&self) -> Box<dyn Iterator<Item = (u32, f32)> + '_> {
        match self {
            Self::Start => Box::new(std::iter::empty()),
            Self::Sparse(table) => Box::new(table.iter()),
            Self::Dense(dense) => {
                Box::new((0..).zip(dense.stored.iter().copied()).filter(|&(_, stored)| stored != 0.0))
            }
        }
    }

    /// The sums of those entries, in the same order; none where none are kept.
    pub(super) fn sums(&self) -> Box<dyn Iterator<Item = f32> + '_> {
        match self {
            Self::Start => Box::new(std::iter::empty()),
            Self::Sparse(table) => Box::new(table.sums()),
            Self::Dense(Dense { stored, sums }) => {
                let pairs = stored.iter().zip(sums);
                Box::new(pairs.filter(|(stored, _)| **stored != 0.0).map(|(_, &sum)| sum))
            }
        }
    }

    /// From here on every entry has a sum, 0 now.
    pub(super) fn keep_sums(&mut self, shared: Option<u32>, whole: Whole) {
        match self {
            Self::Start if whole.starting(shared) == 0 => {}
            Self::Start => {
                *self = Self::begun(shared, whole);
                self.keep_sums(shared, whole);
            }
            Self::Sparse(table) => table.keep_sums(),
            Self::Dense(dense) => dense.sums = vec![0.0; dense.stored.len()].into(),
        }
    }

    /// Entries that shrinkage has left something of.
    pub(super) fn live(&self, shared: Option<u32>, whole: Whole) -> usize {
        match self {
            Self::Start => whole.starting(shared),
            Self::Sparse(table) => table.live(whole.shrinkage),
            Self::Dense(dense) => dense.stored.iter().filter(|&&u| whole.shrinkage.leaves(u)).count(),
        }
    }

    /// Drops dead entries and memory that they took; with `settle`, stored numbers become the values
    /// themselves, as after a shrinkage of 0.
    pub(super) fn sweep(&mut self, shared: Option<u32>, whole: Whole, settle: bool) {
        let live = self.live(shared, whole);
        if let Self::Start = self {
            return;
        }
        let is_start = |(column, stored): (u32, f32)| Some(column) == shared && stored == whole.start;
        let s = whole.shrinkage;
        let unchanged = live == whole.starting(shared)
            && self.entries().filter(|&(_, stored)| s.leaves(stored)).all(is_start);
        if unchanged {
            *self = Self::Start;
            return;
        }
        let settled = |stored: f32| if settle { s.value(stored) } else { stored };
        let n_buckets = Table::buckets_for(live + live / 4);
        match self {
            Self::Dense(dense) if 2 * Table::bytes_of(n_buckets) > whole.n_columns * size_of::<f32>() => {
                for stored in &mut dense.stored {
                    *stored = if s.leaves(*stored) { settled(*stored) } else { 0.0 };
                }
            }
            _ => {
                let after = Whole { shrinkage: if settle { Shrinkage::NONE } else { s }, ..whole };
                let live = self.entries().filter(|&(_, stored)| s.leaves(stored));
                *self =
                    Self::filled(n_buckets, after, live.map(|(column, stored)| (column, settled(stored))));
            }
        }
    }

    /// Memory beside the row itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Start => 0,
            Self::Sparse(table) => table.bytes(),
            Self::Dense(Dense { stored, sums }) => size_of_val(&**stored) + size_of_val(&**sums),
        }
    }
}

/// The sum of values times what `entry` gives for their columns, in eight lanes, so that its order is fixed
/// and its terms need not wait for each other.
#[inline(always)]
fn in_lanes(columns: &[u32], values: &[f32], entry: impl Fn(u32) -> f32) -> f64 {
    let mut lanes = [0f32; 8];
    let ((columns, columns_rest), (values, values_rest)) =
        (columns.as_chunks::<8>(), values.as_chunks::<8>());
    for (columns, values) in columns.iter().zip(values) {
        for lane in 0..8 {
            lanes[lane] += entry(columns[lane]) * values[lane];
        }
    }
    let rest = columns_rest.iter().zip(values_rest);
    let rest: f64 = rest.map(|(&column, value)| f64::from(entry(column) * value)).sum();
    rest + lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>()
}
