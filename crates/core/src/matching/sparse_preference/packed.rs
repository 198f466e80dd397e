//! Entries of a full row: a bit per column states whether the column has an entry, and the numbers of the entries are
//! stored without gaps.
//!
//! The number of a column is found by counting the bits before it. The count of the earlier words is precomputed, and
//! one instruction counts those of its own word. This takes 1.5 bits per column besides the numbers, so that rows stay
//! in the caches where a number for every column would not.

use super::change::{Change, Room};
use super::difference::{Difference, PADDING, Spread};
use super::merge::{Addition, merge_row};
use super::present::{Meeting, Present};
use super::shrinkage::Shrinkage;
use super::unpacked::{pack, unpack};
use super::violation::RowChange;
use crate::linalg::simd::vectorised;

/// Columns as bits, and their numbers; see the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Packed {
    words: Box<[ColumnWord]>,
    /// The numbers, and [`PADDING`] zeros.
    numbers: Vec<f32>,
    /// A second number per entry, while averages are kept, and [`PADDING`] zeros.
    sums: Vec<f32>,
}

/// 64 columns, in 12 bytes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub(super) struct ColumnWord {
    /// A bit for every column that has an entry.
    pub(super) bits: u64,
    /// Number of bits of all words before.
    pub(super) rank: u32,
}

impl Packed {
    /// Builds a row from entries in any order, with room for `capacity` entries.
    pub(super) fn new(n_columns: usize, capacity: usize, entries: &mut [(u32, f32)]) -> Self {
        entries.sort_unstable_by_key(|&(column, _)| column);
        let mut words = vec![ColumnWord::default(); n_columns.div_ceil(64)].into_boxed_slice();
        entries.iter().for_each(|&(column, _)| words[column as usize / 64].bits |= 1 << (column % 64));
        let mut rank = 0;
        for word in &mut words {
            word.rank = rank;
            rank += { word.bits }.count_ones();
        }
        let mut numbers = Vec::with_capacity(capacity.max(entries.len()) + PADDING);
        numbers.extend(entries.iter().map(|&(_, number)| number));
        numbers.resize(entries.len() + PADDING, 0.0);
        Self { words, numbers, sums: Vec::new() }
    }

    /// Number of entries that there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.numbers.capacity() - PADDING
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<ColumnWord>()
            + (self.numbers.capacity() + self.sums.len()) * size_of::<f32>()
    }

    /// Iterates over columns and numbers, columns ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        let columns = (0..).zip(&self.words);
        let columns = columns.flat_map(|(at, word)| bits_of(word.bits).map(move |bit| 64 * at + bit));
        columns.zip(self.numbers.iter().copied())
    }

    pub(super) fn numbers(&self) -> &[f32] {
        &self.numbers[..self.numbers.len() - PADDING]
    }

    pub(super) fn sums(&self) -> &[f32] {
        &self.sums[..self.sums.len().saturating_sub(PADDING)]
    }

    /// Sets the sums of all entries.
    pub(super) fn set_sums(&mut self, mut sums: Vec<f32>) {
        if !sums.is_empty() {
            assert_eq!(sums.len() + PADDING, self.numbers.len(), "a sum for every entry, or none");
            sums.resize(self.numbers.len(), 0.0);
        }
        self.sums = sums;
    }

    /// Returns the sum of w_j difference_j, bit for bit equal to that of the expanded row.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Difference, shrinkage: Shrinkage) -> f64 {
        let (columns, values) = (&difference.columns, difference.values());
        assert!(columns.last().is_none_or(|&last| (last as usize / 64) < self.words.len()));
        dot(columns, values, &self.words, &self.numbers, shrinkage)
    }

    /// Returns true if it pays to expand the row for `times` products.
    pub(super) fn is_worth_unpacking(&self, times: usize) -> bool {
        60 * times > self.words.len()
    }

    /// Expands the row after a shrinkage.
    pub(super) fn unpack(&self, due: Shrinkage, columns: &mut Spread) {
        unpack(&self.words, &self.numbers, due, columns.values_mut());
    }

    /// Finds the entries that a difference shares with the row; see [`Present`].
    pub(super) fn meet(&self, difference: &Difference, present: &mut Present) -> (u32, u32) {
        present.find(&self.words, &self.numbers, difference)
    }

    /// Adds `scale` times the difference to the shared entries, and `averaged` times as much to their sums.
    pub(super) fn add(&mut self, meeting: Meeting<'_>, scale: f32, averaged: f32) {
        meeting.add_to(&mut self.numbers, scale);
        if !self.sums.is_empty() {
            meeting.add_to(&mut self.sums, scale * averaged);
        }
    }

    /// Changes the row, and drops entries that become 0. Returns true if the row was left expanded in `room.columns`,
    /// which may happen if `n_reads` products with it follow.
    pub(super) fn apply(&mut self, change: Change<'_>, room: &mut Room, n_reads: usize) -> bool {
        let Change { due, parts, next } = change;
        let is_spread = parts.len() > 1 || self.is_worth_unpacking(n_reads);
        let n = match *parts {
            [RowChange { scale, difference, .. }] if !is_spread => {
                let addition = Addition { due, scale, difference, next };
                merge_row(&mut self.words, &self.numbers, addition, room)
            }
            _ => {
                let Room { columns, numbers, .. } = room;
                let columns = columns.values_mut();
                unpack(&self.words, &self.numbers, due, columns);
                for &RowChange { scale, difference, .. } in parts {
                    for (&column, &value) in difference.columns.iter().zip(difference.values()) {
                        columns[column as usize] += scale * value;
                    }
                }
                numbers.resize(numbers.len().max(columns.len() + PADDING), 0.0);
                pack(columns, next, &mut self.words, numbers)
            }
        };
        if n + PADDING > self.numbers.capacity() || 2 * (n + PADDING) < self.numbers.capacity() {
            self.numbers = Vec::with_capacity(n + n / 8 + PADDING);
        }
        self.numbers.clear();
        self.numbers.extend_from_slice(&room.numbers[..n]);
        self.numbers.resize(n + PADDING, 0.0);
        is_spread
    }
}

/// Iterates over the numbers of the set bits of a word, ascending.
fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}

/// Returns the place of the number of a column, and whether the column has one; the place is valid in any case.
///
/// # Safety
/// The column must be a column of the row.
#[inline(always)]
unsafe fn place(words: &[ColumnWord], column: u32) -> (usize, bool) {
    // SAFETY: guaranteed by the caller.
    let word = unsafe { words.get_unchecked(column as usize / 64) };
    let bits = word.bits;
    let from = bits >> (column % 64);
    let before = (bits ^ (from << (column % 64))).count_ones();
    (word.rank as usize + before as usize, from & 1 != 0)
}

impl Packed {
    /// Prefetches the memory that [`Self::dot`] will read.
    pub(super) fn fetch(&self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let words = self.words.as_ptr().cast::<i8>();
            let numbers = self.numbers.as_ptr().cast::<i8>();
            let bytes = (size_of_val(&*self.words).min(4096), size_of_val(&*self.numbers).min(1024));
            // SAFETY: prefetches are hints and accept any address; nothing is read.
            unsafe {
                (0..bytes.0).step_by(64).for_each(|at| _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(at)));
                (0..bytes.1).step_by(64).for_each(|at| _mm_prefetch::<_MM_HINT_T0>(numbers.wrapping_add(at)));
            }
        }
    }
}

vectorised! {
    /// Computes a product; columns must ascend, and the last must be a column of the row.
    fn dot(
        columns: &[u32], values: &[f32], words: &[ColumnWord], numbers: &[f32], shrinkage: Shrinkage,
    ) -> f64 {
        let mut lanes = [0f32; 16];
        let ((columns, columns_rest), (values, values_rest)) =
            (columns.as_chunks::<16>(), values.as_chunks::<16>());
        for (columns, values) in columns.iter().zip(values) {
            for lane in 0..16 {
                // SAFETY: columns ascend, and the last is within the row; places have a number or are padding.
                let number = unsafe {
                    let (place, is_there) = place(words, columns[lane]);
                    let number = *numbers.get_unchecked(place);
                    if is_there { number } else { 0.0 }
                };
                lanes[lane] += shrinkage.value(number) * values[lane];
            }
        }
        let rest = columns_rest.iter().zip(values_rest).map(|(&column, value)| {
            // SAFETY: as above.
            let (place, is_there) = unsafe { place(words, column) };
            if is_there { shrinkage.value(numbers[place]) * value } else { 0.0 }
        });
        lanes.iter().fold(f64::from(rest.sum::<f32>()), |sum, &lane| sum + f64::from(lane))
    }
}
