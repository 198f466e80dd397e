//! A row of W: the weights of query word i with every document word.
//!
//! | entries | stored as |
//! |---|---|
//! | as at the start | nothing |
//! | few | [`ListRow`]: 8 bytes an entry |
//! | more than one column in 32 | [`Packed`]: 4 bytes an entry, 1.5 bits a column |
//!
//! The storage depends only on the history of the row, so W does not depend on the number of threads.

use super::change::{Change, Room};
use super::difference::Spread;
use super::list::ListRow;
use super::packed::Packed;
use super::shrinkage::Shrinkage;
use super::violation::RowChange;

/// A row is packed once at least one column in `PACKED_FROM` has an entry.
const PACKED_FROM: usize = 32;

/// State of W as a whole that a row needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    /// s: the sum of all thresholds so far.
    pub(super) shrinkage: f64,
    /// Number from which s is subtracted for an entry that has been 1 since the start.
    pub(super) start: f32,
    pub(super) n_columns: usize,
    /// Number of the step among the averaged steps, from 0.
    pub(super) averaged: f32,
}

/// A row of W as of its last write.
#[derive(Debug, Clone, Default)]
pub(super) struct WeightRow {
    /// Value of s at the last write.
    pub(super) written_at: f64,
    pub(super) entries: Entries,
}

/// Storage of the entries of a row.
#[derive(Debug, Clone, Default)]
pub(super) enum Entries {
    /// Initial entries: 1 at the column that shares its word with the row.
    #[default]
    Start,
    /// Few.
    ListRow(ListRow),
    /// Many.
    Packed(Packed),
}

impl Whole {
    /// Remainder of the initial 1 of a row that was never written.
    pub(super) fn starting(&self) -> f32 {
        Shrinkage::between(0.0, self.shrinkage).value(self.start)
    }
}

impl WeightRow {
    /// Returns the increase of s since the row was written.
    #[inline(always)]
    pub(super) fn due(&self, whole: Whole) -> Shrinkage {
        Shrinkage::between(self.written_at, whole.shrinkage)
    }

    /// Returns the row's sum of w_j difference_j; `None` for a [packed](Self::packed) row, which is better read for
    /// several differences at once.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Spread, shared: Option<u32>, whole: Whole) -> Option<f64> {
        match &self.entries {
            Entries::Start => Some(shared.map_or(0.0, |shared| {
                f64::from(whole.starting()) * f64::from(difference.values()[shared as usize])
            })),
            Entries::ListRow(list) => Some(list.dot(difference, self.due(whole))),
            Entries::Packed(_) => None,
        }
    }

    /// Returns the entries of a long row.
    pub(super) fn packed(&self) -> Option<&Packed> {
        match &self.entries {
            Entries::Packed(packed) => Some(packed),
            _ => None,
        }
    }

    /// Prefetches the memory that [`Self::dot`] will read.
    pub(super) fn fetch(&self) {
        if let Entries::Packed(packed) = &self.entries {
            packed.fetch();
        }
    }

    /// Returns the entries of a long row for changes.
    pub(super) fn packed_mut(&mut self) -> Option<&mut Packed> {
        match &mut self.entries {
            Entries::Packed(packed) => Some(packed),
            _ => None,
        }
    }

    /// Adds `scale` times the difference to existing entries. The row must not be packed and must have no shrinkage
    /// due.
    pub(super) fn add_where_present(
        &mut self,
        scale: f32,
        difference: &Spread,
        shared: Option<u32>,
        whole: Whole,
    ) {
        if let Entries::Start = self.entries {
            if shared.is_none() || whole.starting() == 0.0 {
                return;
            }
            self.begin(shared, whole);
        }
        if let Entries::ListRow(list) = &mut self.entries {
            list.add_where_present(scale, difference, whole.averaged);
        }
    }

    /// Adds weighted differences, and shrinks the row by the increase of s up to `next`. If the row is packed and
    /// `n_reads` products with it follow, the row may be left expanded in `room`. Returns true if it was.
    pub(super) fn apply(
        &mut self,
        parts: &[RowChange<'_>],
        room: &mut Room,
        shared: Option<u32>,
        whole: Whole,
        next: f64,
        n_reads: usize,
    ) -> bool {
        if let Entries::Start = self.entries {
            self.begin(shared, whole);
        }
        let change = Change { due: self.due(whole), parts, next: Shrinkage::between(whole.shrinkage, next) };
        self.written_at = next;
        match &mut self.entries {
            Entries::Start => unreachable!("the row was written before"),
            Entries::ListRow(list) => {
                list.apply(change, room);
                if list.len() * PACKED_FROM > whole.n_columns {
                    self.entries = Entries::new(whole.n_columns, list.entries().collect());
                }
                false
            }
            Entries::Packed(packed) => packed.apply(change, room, n_reads),
        }
    }

    /// Stores the initial entry of a row that was never written.
    fn begin(&mut self, shared: Option<u32>, whole: Whole) {
        let left = shared.map(|column| (column, whole.starting())).filter(|&(_, value)| value != 0.0);
        let mut list = ListRow::new(1);
        left.into_iter().for_each(|(column, value)| list.push(column, value));
        *self = Self { written_at: whole.shrinkage, entries: Entries::ListRow(list) };
    }

    /// Iterates over columns and numbers of a row that was written, in no particular order, including dead entries.
    pub(super) fn entries(&self) -> Box<dyn Iterator<Item = (u32, f32)> + '_> {
        match &self.entries {
            Entries::Start => Box::new(std::iter::empty()),
            Entries::ListRow(list) => Box::new(list.entries()),
            Entries::Packed(packed) => Box::new(packed.iter()),
        }
    }

    /// Iterates over columns and values of all entries, in the same order; values of dead entries are 0.
    pub(super) fn values(&self, shared: Option<u32>, whole: Whole) -> impl Iterator<Item = (u32, f32)> + '_ {
        let is_start = matches!(self.entries, Entries::Start);
        let start = shared.filter(|_| is_start).map(|column| (column, whole.starting()));
        let due = self.due(whole);
        start.into_iter().chain(self.entries().map(move |(column, number)| (column, due.value(number))))
    }

    /// Sums of the entries, in the same order; empty if none are kept.
    pub(super) fn sums(&self) -> &[f32] {
        match &self.entries {
            Entries::Start => &[],
            Entries::ListRow(list) => list.sums(),
            Entries::Packed(packed) => packed.sums(),
        }
    }

    /// Starts keeping a sum per entry, initially 0.
    pub(super) fn keep_sums(&mut self, shared: Option<u32>, whole: Whole) {
        if matches!(self.entries, Entries::Start) && shared.is_some() && whole.starting() != 0.0 {
            self.begin(shared, whole);
        }
        match &mut self.entries {
            Entries::Start => {}
            Entries::ListRow(list) => list.set_sums(vec![0.0; list.len()]),
            Entries::Packed(packed) => packed.set_sums(vec![0.0; packed.numbers().len()]),
        }
    }

    /// Number of entries that are non-zero after shrinkage.
    pub(super) fn live(&self, shared: Option<u32>, whole: Whole) -> usize {
        let due = self.due(whole);
        let live = |numbers: &[f32]| numbers.iter().filter(|&&number| due.leaves(number)).count();
        match &self.entries {
            Entries::Start => usize::from(shared.is_some() && whole.starting() != 0.0),
            Entries::ListRow(list) => live(list.numbers()),
            Entries::Packed(packed) => live(packed.numbers()),
        }
    }

    /// Applies the pending shrinkage, and frees dead entries and their memory.
    pub(super) fn sweep(&mut self, whole: Whole) {
        if let Entries::Start = self.entries {
            return;
        }
        let left = self.values(None, whole).filter(|&(_, value)| value != 0.0).collect();
        *self = Self { written_at: whole.shrinkage, entries: Entries::new(whole.n_columns, left) };
    }

    /// Memory in bytes, without the row itself.
    pub(super) fn bytes(&self) -> usize {
        match &self.entries {
            Entries::Start => 0,
            Entries::ListRow(list) => list.bytes(),
            Entries::Packed(packed) => packed.bytes(),
        }
    }
}

impl Entries {
    /// Stores entries in the form that suits their number.
    pub(super) fn new(n_columns: usize, mut entries: Vec<(u32, f32)>) -> Self {
        let capacity = entries.len() + entries.len() / 8;
        if entries.len() * PACKED_FROM > n_columns {
            return Self::Packed(Packed::new(n_columns, capacity, &mut entries));
        }
        let mut list = ListRow::new(capacity);
        entries.into_iter().for_each(|(column, number)| list.push(column, number));
        Self::ListRow(list)
    }

    /// Sets the sums of all entries.
    pub(super) fn set_sums(&mut self, sums: Vec<f32>) {
        match self {
            Self::Start => {}
            Self::ListRow(list) => list.set_sums(sums),
            Self::Packed(packed) => packed.set_sums(sums),
        }
    }
}
