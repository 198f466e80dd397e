//! A row of W: what query word i makes of every document word.
//!
//! | entries | kept as |
//! |---|---|
//! | as at the start | nothing |
//! | few | [`List`]: 8 bytes an entry |
//! | more than one column in 32 | [`Packed`]: 4 bytes an entry, 1.5 bits a column |
//!
//! How entries are kept follows from what happened to the row alone, so that W does not depend on threads.

use super::change::{Change, Room};
use super::difference::Spread;
use super::list::List;
use super::packed::Packed;
use super::shrinkage::Shrinkage;
use super::violation::Part;

/// A row is packed once one column in so many has an entry.
const PACKED_FROM: usize = 32;

/// What a row needs to know of W as a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    /// s: all thresholds so far.
    pub(super) shrinkage: f64,
    /// What s is to be taken from for an entry that has been 1 since the start.
    pub(super) start: f32,
    pub(super) n_columns: usize,
    /// Number of the step among those that are averaged, from 0.
    pub(super) averaged: f32,
}

/// A row of W, as it was when it was last written.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// s at that time.
    pub(super) written_at: f64,
    pub(super) entries: Entries,
}

/// How the entries of a row are kept.
#[derive(Debug, Clone, Default)]
pub(super) enum Entries {
    /// As they were at the start: 1 at the column that the row shares a word with.
    #[default]
    Start,
    /// Few.
    List(List),
    /// Many.
    Packed(Packed),
}

impl Whole {
    /// What is left of the 1 of a row that is as it was at the start.
    pub(super) fn starting(&self) -> f32 {
        Shrinkage::between(0.0, self.shrinkage).value(self.start)
    }
}

impl Row {
    /// What s has grown by since the row was written.
    #[inline(always)]
    pub(super) fn due(&self, whole: Whole) -> Shrinkage {
        Shrinkage::between(self.written_at, whole.shrinkage)
    }

    /// The row's sum of w_j difference_j; none of a [packed](Self::packed) row, which is better read for several
    /// differences at once.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Spread, shared: Option<u32>, whole: Whole) -> Option<f64> {
        match &self.entries {
            Entries::Start => Some(shared.map_or(0.0, |shared| {
                f64::from(whole.starting()) * f64::from(difference.values()[shared as usize])
            })),
            Entries::List(list) => Some(list.dot(difference, self.due(whole))),
            Entries::Packed(_) => None,
        }
    }

    /// The entries of a long row.
    pub(super) fn packed(&self) -> Option<&Packed> {
        match &self.entries {
            Entries::Packed(packed) => Some(packed),
            _ => None,
        }
    }

    /// Asks for the memory that [`Self::dot`] will read.
    pub(super) fn fetch(&self) {
        if let Entries::Packed(packed) = &self.entries {
            packed.fetch();
        }
    }

    /// The entries of a long row, to be changed.
    pub(super) fn packed_mut(&mut self) -> Option<&mut Packed> {
        match &mut self.entries {
            Entries::Packed(packed) => Some(packed),
            _ => None,
        }
    }

    /// Adds `scale` times the difference to entries that are there, of a row that is not packed and that nothing is
    /// due of.
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
        if let Entries::List(list) = &mut self.entries {
            list.add_where_present(scale, difference, whole.averaged);
        }
    }

    /// Adds differences, each times a number, and shrinks the row by what s grows by until it is `next`. Where the
    /// row is packed and `n_reads` products with it are wanted next, it may be left spread out in the room; says
    /// whether it was.
    pub(super) fn apply(
        &mut self,
        parts: &[Part<'_>],
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
            Entries::Start => unreachable!("a row that has begun"),
            Entries::List(list) => {
                list.apply(change, room);
                if list.len() * PACKED_FROM > whole.n_columns {
                    self.entries = Entries::new(whole.n_columns, list.entries().collect());
                }
                false
            }
            Entries::Packed(packed) => packed.apply(change, room, n_reads),
        }
    }

    /// Writes out the entry of a row that is as it was at the start.
    fn begin(&mut self, shared: Option<u32>, whole: Whole) {
        let left = shared.map(|column| (column, whole.starting())).filter(|&(_, value)| value != 0.0);
        let mut list = List::new(1);
        left.into_iter().for_each(|(column, value)| list.push(column, value));
        *self = Self { written_at: whole.shrinkage, entries: Entries::List(list) };
    }

    /// Columns and numbers of a row that is not as at the start, in no order; dead ones among them.
    pub(super) fn entries(&self) -> Box<dyn Iterator<Item = (u32, f32)> + '_> {
        match &self.entries {
            Entries::Start => Box::new(std::iter::empty()),
            Entries::List(list) => Box::new(list.entries()),
            Entries::Packed(packed) => Box::new(packed.iter()),
        }
    }

    /// Columns and values of all entries, in the same order; those of dead ones are 0.
    pub(super) fn values(&self, shared: Option<u32>, whole: Whole) -> impl Iterator<Item = (u32, f32)> + '_ {
        let is_start = matches!(self.entries, Entries::Start);
        let start = shared.filter(|_| is_start).map(|column| (column, whole.starting()));
        let due = self.due(whole);
        start.into_iter().chain(self.entries().map(move |(column, number)| (column, due.value(number))))
    }

    /// The sums of the entries, in the same order; none where none are kept.
    pub(super) fn sums(&self) -> &[f32] {
        match &self.entries {
            Entries::Start => &[],
            Entries::List(list) => list.sums(),
            Entries::Packed(packed) => packed.sums(),
        }
    }

    /// From here on every entry has a sum, 0 now.
    pub(super) fn keep_sums(&mut self, shared: Option<u32>, whole: Whole) {
        if matches!(self.entries, Entries::Start) && shared.is_some() && whole.starting() != 0.0 {
            self.begin(shared, whole);
        }
        match &mut self.entries {
            Entries::Start => {}
            Entries::List(list) => list.set_sums(vec![0.0; list.len()]),
            Entries::Packed(packed) => packed.set_sums(vec![0.0; packed.numbers().len()]),
        }
    }

    /// Entries that shrinkage has left something of.
    pub(super) fn live(&self, shared: Option<u32>, whole: Whole) -> usize {
        let due = self.due(whole);
        let live = |numbers: &[f32]| numbers.iter().filter(|&&number| due.leaves(number)).count();
        match &self.entries {
            Entries::Start => usize::from(shared.is_some() && whole.starting() != 0.0),
            Entries::List(list) => live(list.numbers()),
            Entries::Packed(packed) => live(packed.numbers()),
        }
    }

    /// Shrinks the row by what is due, and drops dead entries and memory that they took.
    pub(super) fn sweep(&mut self, whole: Whole) {
        if let Entries::Start = self.entries {
            return;
        }
        let left = self.values(None, whole).filter(|&(_, value)| value != 0.0).collect();
        *self = Self { written_at: whole.shrinkage, entries: Entries::new(whole.n_columns, left) };
    }

    /// Memory beside the row itself.
    pub(super) fn bytes(&self) -> usize {
        match &self.entries {
            Entries::Start => 0,
            Entries::List(list) => list.bytes(),
            Entries::Packed(packed) => packed.bytes(),
        }
    }
}

impl Entries {
    /// Kept in the way that suits them.
    pub(super) fn new(n_columns: usize, mut entries: Vec<(u32, f32)>) -> Self {
        let capacity = entries.len() + entries.len() / 8;
        if entries.len() * PACKED_FROM > n_columns {
            return Self::Packed(Packed::new(n_columns, capacity, &mut entries));
        }
        let mut list = List::new(capacity);
        entries.into_iter().for_each(|(column, number)| list.push(column, number));
        Self::List(list)
    }

    /// Sets the sums of all entries.
    pub(super) fn set_sums(&mut self, sums: Vec<f32>) {
        match self {
            Self::Start => {}
            Self::List(list) => list.set_sums(sums),
            Self::Packed(packed) => packed.set_sums(sums),
        }
    }
}
