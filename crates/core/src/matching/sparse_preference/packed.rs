//! The entries of a full row: a bit for every column says whether it has one, and the numbers of those that
//! have follow each other without gaps.
//!
//! The number of a column is found by counting the bits before it: those of earlier words are counted once
//! and for all, those of its own word by one instruction. This takes 1.5 bits a column beside the numbers, so
//! that rows stay in the caches where a number for every column would not.

use super::change::{Change, Room};
use super::difference::{Difference, PADDING, Spread};
use super::merge::{Addition, merge_row};
use super::present::{Meeting, Present};
use super::shrinkage::Shrinkage;
use super::unpacked::{pack, unpack};
use super::violation::Part;
use crate::linalg::simd::vectorised;

/// Columns as bits, and their numbers; see the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Packed {
    words: Box<[Word]>,
    /// The numbers, and [`PADDING`] zeros.
    numbers: Vec<f32>,
    /// A second number of every entry, while averages are kept, and as many zeros.
    sums: Vec<f32>,
}

/// 64 columns, in 12 bytes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(4))]
pub(super) struct Word {
    /// A bit for every column that has an entry.
    pub(super) bits: u64,
    /// The bits of all words before.
    pub(super) rank: u32,
}

impl Packed {
    /// Entries in any order, with room for so many.
    pub(super) fn new(n_columns: usize, capacity: usize, entries: &mut [(u32, f32)]) -> Self {
        entries.sort_unstable_by_key(|&(column, _)| column);
        let mut words = vec![Word::default(); n_columns.div_ceil(64)].into_boxed_slice();
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

    /// Entries that there is room for.
    pub(super) fn capacity(&self) -> usize {
        self.numbers.capacity() - PADDING
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * size_of::<Word>() + (self.numbers.capacity() + self.sums.len()) * size_of::<f32>()
    }

    /// Columns and numbers, columns ascending.
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

    /// From here on every entry has a sum.
    pub(super) fn set_sums(&mut self, mut sums: Vec<f32>) {
        if !sums.is_empty() {
            assert_eq!(sums.len() + PADDING, self.numbers.len(), "a sum for every entry, or none");
            sums.resize(self.numbers.len(), 0.0);
        }
        self.sums = sums;
    }

    /// The sum of w_j difference_j; to the bit what it would be of the row spread out.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Difference, shrinkage: Shrinkage) -> f64 {
        let (columns, values) = (&difference.columns, difference.values());
        assert!(columns.last().is_none_or(|&last| (last as usize / 64) < self.words.len()));
        dot(columns, values, &self.words, &self.numbers, shrinkage)
    }

    /// Whether it pays to spread the row out for so many products.
    pub(super) fn is_worth_unpacking(&self, times: usize) -> bool {
        60 * times > self.words.len()
    }

    /// Spreads out what a shrinkage leaves of the row.
    pub(super) fn unpack(&self, due: Shrinkage, columns: &mut Spread) {
        unpack(&self.words, &self.numbers, due, columns.values_mut());
    }

    /// Finds the entries that a difference meets; see [`Present`].
    pub(super) fn meet(&self, difference: &Difference, present: &mut Present) -> (u32, u32) {
        present.find(&self.words, &self.numbers, difference)
    }

    /// Adds `scale` times the difference to entries that it meets, and `averaged` times as much to their sums.
    pub(super) fn add(&mut self, meeting: Meeting<'_>, scale: f32, averaged: f32) {
        meeting.add_to(&mut self.numbers, scale);
        if !self.sums.is_empty() {
            meeting.add_to(&mut self.sums, scale * averaged);
        }
    }

    /// Changes the row, and drops entries of which nothing is left; true if the row was left spread out in
    /// `room.columns`, as it may be where `n_reads` products with it are wanted next.
    pub(super) fn apply(&mut self, change: Change<'_>, room: &mut Room, n_reads: usize) -> bool {
        let Change { due, parts, next } = change;
        let is_spread = parts.len() > 1 || self.is_worth_unpacking(n_reads);
        let n = match *parts {
            [Part { scale, difference, .. }] if !is_spread => {
                let addition = Addition { due, scale, difference, next };
                merge_row(&mut self.words, &self.numbers, addition, room)
            }
            _ => {
                let Room { columns, numbers, .. } = room;
                let columns = columns.values_mut();
                unpack(&self.words, &self.numbers, due, columns);
                for &Part { scale, difference, .. } in parts {
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

/// The numbers of the bits of a word that are 1, ascending.
fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros());
        word &= word.wrapping_sub(1);
        bit
    })
}

/// Where the number of a column is, and whether it has one; the place is one in any case.
///
/// # Safety
/// The column must be one of the row.
#[inline(always)]
unsafe fn place(words: &[Word], column: u32) -> (usize, bool) {
    // SAFETY: as the caller says.
    let word = unsafe { words.get_unchecked(column as usize / 64) };
    let bits = word.bits;
    let from = bits >> (column % 64);
    let before = (bits ^ (from << (column % 64))).count_ones();
    (word.rank as usize + before as usize, from & 1 != 0)
}

impl Packed {
    /// Asks for the memory that [`Self::dot`] will read.
    pub(super) fn fetch(&self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let words = self.words.as_ptr().cast::<i8>();
            let numbers = self.numbers.as_ptr().cast::<i8>();
            let bytes = (size_of_val(&*self.words).min(4096), size_of_val(&*self.numbers).min(1024));
            // SAFETY: hints, which may be about any address; nothing is read.
            unsafe {
                (0..bytes.0).step_by(64).for_each(|at| _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(at)));
                (0..bytes.1).step_by(64).for_each(|at| _mm_prefetch::<_MM_HINT_T0>(numbers.wrapping_add(at)));
            }
        }
    }
}

vectorised! {
    /// Columns ascend, and the last must be one of the row.
    fn dot(
        columns: &[u32], values: &[f32], words: &[Word], numbers: &[f32], shrinkage: Shrinkage,
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
