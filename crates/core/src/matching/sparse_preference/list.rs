//! Entries of a short row: columns and numbers in the order in which they were added.
//!
//! A list is read from start to end, and its columns are looked up in an expanded difference, sixteen at a time. For
//! the rows of most words this is faster than looking up the columns of the difference in the row, and takes half the
//! memory.

use super::change::{Change, Room};
use super::difference::Spread;
use super::shrinkage::Shrinkage;
use super::violation::RowChange;
use crate::linalg::simd::vectorised;

/// Columns with a number each; see the [module](self).
#[derive(Debug, Clone, Default)]
pub(super) struct ListRow {
    columns: Vec<u32>,
    numbers: Vec<f32>,
    /// A second number per entry, while averages are kept.
    sums: Vec<f32>,
}

impl ListRow {
    /// Creates an empty list with room for `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            columns: Vec::with_capacity(capacity),
            numbers: Vec::with_capacity(capacity),
            sums: Vec::new(),
        }
    }

    /// Memory in bytes of a list with room for `capacity` entries.
    pub(super) fn bytes_of(capacity: usize) -> usize {
        capacity * (size_of::<u32>() + size_of::<f32>())
    }

    pub(super) fn capacity(&self) -> usize {
        self.numbers.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn bytes(&self) -> usize {
        Self::bytes_of(self.capacity()) + self.sums.len() * size_of::<f32>()
    }

    pub(super) fn push(&mut self, column: u32, number: f32) {
        self.columns.push(column);
        self.numbers.push(number);
    }

    /// Columns and numbers.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.columns.iter().copied().zip(self.numbers.iter().copied())
    }

    pub(super) fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    pub(super) fn sums(&self) -> &[f32] {
        &self.sums
    }

    /// Sets the sums of all entries.
    pub(super) fn set_sums(&mut self, sums: Vec<f32>) {
        assert!(sums.is_empty() || sums.len() == self.len(), "a sum for every entry, or none");
        self.sums = sums;
    }

    /// Returns the sum of w_j difference_j.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Spread, shrinkage: Shrinkage) -> f64 {
        dot(&self.columns, &self.numbers, difference.values(), shrinkage)
    }

    /// Adds `scale` times the difference to existing entries, and `averaged` times as much to their sums.
    #[inline(always)]
    pub(super) fn add_where_present(&mut self, scale: f32, difference: &Spread, averaged: f32) {
        add(&self.columns, &mut self.numbers, difference.values(), scale);
        add(&self.columns, &mut self.sums, difference.values(), scale * averaged);
    }

    /// Changes a row without sums, and drops entries that become 0.
    pub(super) fn apply(&mut self, change: Change<'_>, room: &mut Room) {
        let Change { due, parts, next } = change;
        let Room { zeros: values, entries: new, .. } = room;
        for &RowChange { scale, difference, .. } in parts {
            for (&column, &value) in difference.columns.iter().zip(difference.values()) {
                values[column as usize] += scale * value;
            }
        }
        let mut kept = 0;
        for at in 0..self.len() {
            let column = self.columns[at];
            let added = std::mem::take(&mut values[column as usize]);
            let number = next.value(due.value(self.numbers[at]) + added);
            (self.columns[kept], self.numbers[kept]) = (column, number);
            kept += usize::from(number != 0.0);
        }
        self.columns.truncate(kept);
        self.numbers.truncate(kept);
        for &column in parts.iter().flat_map(|part| &part.difference.columns) {
            let number = next.value(std::mem::take(&mut values[column as usize]));
            if number != 0.0 {
                new.push((column, number));
            }
        }
        let needed = self.len() + new.len();
        if needed > self.capacity() || 4 * needed < self.capacity() {
            let mut moved = Self::new(needed + needed / 4);
            self.entries().for_each(|(column, number)| moved.push(column, number));
            *self = moved;
        }
        new.drain(..).for_each(|(column, number)| self.push(column, number));
    }
}

vectorised! {
    fn dot(columns: &[u32], numbers: &[f32], spread: &[f32], shrinkage: Shrinkage) -> f64 {
        let mask = spread.len() - 1;
        let mut lanes = [0f32; 16];
        let ((columns, columns_rest), (numbers, numbersrest)) =
            (columns.as_chunks::<16>(), numbers.as_chunks::<16>());
        for (columns, numbers) in columns.iter().zip(numbers) {
            for lane in 0..16 {
                lanes[lane] += shrinkage.value(numbers[lane]) * spread[columns[lane] as usize & mask];
            }
        }
        let rest = columns_rest.iter().zip(numbersrest);
        let rest: f32 = rest.map(|(&column, &u)| shrinkage.value(u) * spread[column as usize & mask]).sum();
        lanes.iter().fold(f64::from(rest), |sum, &lane| sum + f64::from(lane))
    }
}

vectorised! {
    fn add(columns: &[u32], numbers: &mut [f32], spread: &[f32], scale: f32) {
        let mask = spread.len() - 1;
        for (&column, number) in columns.iter().zip(numbers) {
            *number += scale * spread[column as usize & mask];
        }
    }
}
