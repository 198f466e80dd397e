//! A row of W: what query word i makes of every document word.
//!
//! | entries | kept as |
//! |---|---|
//! | as at the start | nothing |
//! | few | [`List`]: 8 bytes an entry |
//! | more than [`LIST_AT_MOST`] | [`Table`]: 8 bytes an entry and room to spare |
//! | more than one column in six | [`Dense`]: 4 bytes a column |
//!
//! How entries are kept follows from what happened to the row alone, so that W does not depend on threads.

use super::dense::Dense;
use super::difference::Difference;
use super::list::List;
use super::shrinkage::Shrinkage;
use super::table::Table;

/// Entries beyond which reading all of a row takes longer than looking some of it up.
const LIST_AT_MOST: usize = if cfg!(test) { 8 } else { 4096 };
/// A row is dense once one column in so many has an entry.
const DENSE_FROM: usize = 6;

/// What a row needs to know of W as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) shrinkage: Shrinkage,
    /// What is stored for an entry that has been 1 since the start.
    pub(super) start: f32,
    pub(super) n_columns: usize,
    /// Whether only entries that are there may change.
    pub(super) restricted: bool,
    /// Number of the step among those that are averaged, from 0.
    pub(super) averaged: f32,
}

/// A row of W. Numbers in it are stored as [`Shrinkage`] says.
#[derive(Debug, Clone, Default)]
pub(super) enum Row {
    /// As it was at the start: 1 at the column that the row shares a word with.
    #[default]
    Start,
    /// Few entries.
    List(List),
    /// More.
    Table(Table),
    /// Many.
    Dense(Dense),
}

impl Whole {
    /// Entries of a row that is as it was at the start.
    fn starting(&self, shared: Option<u32>) -> usize {
        usize::from(shared.is_some() && self.shrinkage.leaves(self.start))
    }
}

impl Row {
    /// The row's sum of w_j difference_j.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Difference, shared: Option<u32>, whole: Whole) -> f64 {
        let s = whole.shrinkage;
        match self {
            Self::Start => shared.map_or(0.0, |shared| {
                f64::from(s.value(whole.start)) * f64::from(difference.spread()[shared as usize])
            }),
            Self::List(list) => list.dot(difference, s),
            Self::Table(table) => table.dot(difference, s),
            Self::Dense(dense) => dense.dot(difference, s),
        }
    }

    /// Asks for the memory that [`Self::dot`] will read.
    #[inline(always)]
    pub(super) fn fetch(&self, difference: &Difference) {
        if let Self::Dense(dense) = self {
            dense.fetch(difference);
        }
    }

    /// Adds `scale` times the difference.
    #[inline(always)]
    pub(super) fn add(&mut self, scale: f32, difference: &mut Difference, shared: Option<u32>, whole: Whole) {
        if let Self::Start = self {
            if whole.restricted && whole.starting(shared) == 0 {
                return;
            }
            *self = Self::begun(shared, whole);
        }
        let s = whole.shrinkage;
        match self {
            Self::Start => unreachable!("a row that has begun"),
            Self::List(list) => {
                let found = list.add(scale, difference, s, whole.averaged);
                let n_missing = difference.columns.len() - found;
                if n_missing > 0 && !whole.restricted {
                    self.add_missing(n_missing, scale, difference, whole);
                }
            }
            Self::Table(table) => {
                let mut n_missing = 0;
                for (&column, &value) in difference.columns.iter().zip(&difference.values) {
                    match table.get_mut(column) {
                        Some((stored, sum)) => {
                            let change = scale * value;
                            *stored = s.stored(s.value(*stored) + change);
                            sum.into_iter().for_each(|sum| *sum += whole.averaged * change);
                        }
                        None => n_missing += 1,
                    }
                }
                if n_missing > 0 && !whole.restricted {
                    self.add_missing(n_missing, scale, difference, whole);
                }
            }
            Self::Dense(dense) if whole.restricted => {
                dense.add_where_present(scale, difference, s, whole.averaged);
            }
            Self::Dense(dense) => dense.add(scale, difference, s),
        }
    }

    /// Adds `scale` times those entries of the difference that the row does not have.
    fn add_missing(&mut self, n_missing: usize, scale: f32, difference: &mut Difference, whole: Whole) {
        self.make_room(n_missing, difference, whole);
        let s = whole.shrinkage;
        match self {
            Self::Start => unreachable!("a row that has begun"),
            Self::List(list) => {
                let missing = difference.missing(list.columns());
                // The list cannot be read while it grows.
                let missing: Vec<(u32, f32)> = missing.collect();
                missing.into_iter().for_each(|(column, value)| list.push(column, s.stored(scale * value)));
            }
            Self::Table(table) => {
                for (&column, &value) in difference.columns.iter().zip(&difference.values) {
                    if table.get_mut(column).is_none() {
                        table.insert(column, s.stored(scale * value));
                    }
                }
            }
            Self::Dense(dense) => dense.add_where_missing(scale, difference, s),
        }
    }

    /// The row at the start, with its entry written out.
    fn begun(shared: Option<u32>, whole: Whole) -> Self {
        let left = shared.filter(|_| whole.shrinkage.leaves(whole.start));
        let mut list = List::new(1);
        left.into_iter().for_each(|column| list.push(column, whole.start));
        Self::List(list)
    }

    /// Sees to it that there is room for so many more entries. Dead ones are dropped first, but for those that
    /// the difference has just made so, and the row grows only if it is more than two thirds full without
    /// them.
    fn make_room(&mut self, more: usize, difference: &Difference, whole: Whole) {
        let has_room = match self {
            Self::List(list) => list.len() + more <= list.capacity(),
            Self::Table(table) => Table::buckets_for(table.occupied() + more) <= table.n_buckets(),
            Self::Start | Self::Dense(_) => true,
        };
        if has_room {
            return;
        }
        let stays = |column: u32, stored: f32| {
            whole.shrinkage.leaves(stored) || difference.spread()[column as usize] != 0.0
        };
        if let Self::List(list) = self {
            list.retain(stays);
            if 3 * (list.len() + more) <= 2 * list.capacity() {
                return;
            }
        }
        let entries: Vec<(u32, f32)> =
            self.entries().filter(|&(column, stored)| stays(column, stored)).collect();
        let needed = entries.len() + more;
        *self = Self::filled(needed + needed / 2, whole.n_columns, entries.into_iter());
    }

    /// A row of stored numbers, with room for so many, kept in the way that suits them.
    fn filled(capacity: usize, n_columns: usize, entries: impl Iterator<Item = (u32, f32)>) -> Self {
        if capacity * DENSE_FROM > n_columns {
            let mut dense = Dense::new(n_columns);
            entries.for_each(|(column, stored)| dense.set(column, stored));
            Self::Dense(dense)
        } else if capacity > LIST_AT_MOST {
            let mut table = Table::new(Table::buckets_for(capacity));
            entries.for_each(|(column, stored)| table.insert(column, stored));
            Self::Table(table)
        } else {
            let mut list = List::new(capacity);
            entries.for_each(|(column, stored)| list.push(column, stored));
            Self::List(list)
        }
    }

    /// Columns and stored numbers of a row that is not as at the start, in no order; dead ones among them.
    pub(super) fn entries(&self) -> Box<dyn Iterator<Item = (u32, f32)> + '_> {
        match self {
            Self::Start => Box::new(std::iter::empty()),
            Self::List(list) => Box::new(list.columns().iter().copied().zip(list.stored().iter().copied())),
            Self::Table(table) => Box::new(table.iter()),
            Self::Dense(dense) => Box::new(dense.iter()),
        }
    }

    /// The sums of those entries, in the same order; none where none are kept.
    pub(super) fn sums(&self) -> Box<dyn Iterator<Item = f32> + '_> {
        match self {
            Self::Start => Box::new(std::iter::empty()),
            Self::List(list) => Box::new(list.sums().iter().copied()),
            Self::Table(table) => Box::new(table.sums()),
            Self::Dense(dense) => Box::new(dense.sums()),
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
            Self::List(list) => list.set_sums(vec![0.0; list.len()]),
            Self::Table(table) => table.keep_sums(),
            Self::Dense(dense) => dense.keep_sums(),
        }
    }

    /// Entries that shrinkage has left something of.
    pub(super) fn live(&self, shared: Option<u32>, whole: Whole) -> usize {
        match self {
            Self::Start => whole.starting(shared),
            begun => begun.live_entries(whole.shrinkage),
        }
    }

    fn live_entries(&self, shrinkage: Shrinkage) -> usize {
        match self {
            Self::Start => 0,
            Self::List(list) => list.live(shrinkage),
            Self::Table(table) => table.live(shrinkage),
            Self::Dense(dense) => dense.live(shrinkage),
        }
    }

    /// Drops dead entries and memory that they took; with `settle`, stored numbers become the values
    /// themselves, as after a shrinkage of 0.
    pub(super) fn sweep(&mut self, shared: Option<u32>, whole: Whole, settle: bool) {
        if let Self::Start = self {
            return;
        }
        let live = self.live(shared, whole);
        let s = whole.shrinkage;
        let is_start = |(column, stored): (u32, f32)| Some(column) == shared && stored == whole.start;
        let mut left = self.entries().filter(|&(_, stored)| s.leaves(stored));
        if live == whole.starting(shared) && left.all(is_start) {
            drop(left);
            *self = Self::Start;
            return;
        }
        drop(left);
        let settled = |stored: f32| if settle { s.value(stored) } else { stored };
        match self {
            Self::Dense(dense) if 2 * live * DENSE_FROM > whole.n_columns => {
                dense.map(|stored| if s.leaves(stored) { settled(stored) } else { 0.0 });
            }
            _ => {
                let left = self.entries().filter(|&(_, stored)| s.leaves(stored));
                let settled = left.map(|(column, stored)| (column, settled(stored)));
                *self = Self::filled(live + live / 8, whole.n_columns, settled);
            }
        }
    }

    /// Memory beside the row itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Start => 0,
            Self::List(list) => list.bytes(),
            Self::Table(table) => table.bytes(),
            Self::Dense(dense) => dense.bytes(),
        }
    }
}
