//! The entries of a short row: columns and numbers, one after the other, in the order in which they came.
//!
//! A list is read from its start to its end, and each of its columns looked up in a difference that lies
//! spread out in memory, sixteen at a time. For the rows of most words this takes less time than to look up
//! the columns of the difference in the row, and half the memory.

use super::difference::Difference;
use super::shrinkage::Shrinkage;
use crate::simd::vectorised;

/// Columns with a number each; see the [module](self).
#[derive(Debug, Clone, Default)]
pub(super) struct List {
    columns: Vec<u32>,
    stored: Vec<f32>,
    /// A second number of every entry, while averages are kept.
    sums: Vec<f32>,
}

impl List {
    /// An empty list with room for so many entries.
    pub(super) fn new(capacity: usize) -> Self {
        Self { columns: Vec::with_capacity(capacity), stored: Vec::with_capacity(capacity), sums: Vec::new() }
    }

    /// Bytes of a list with room for so many entries.
    pub(super) fn bytes_of(capacity: usize) -> usize {
        capacity * (size_of::<u32>() + size_of::<f32>())
    }

    pub(super) fn capacity(&self) -> usize {
        self.stored.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn bytes(&self) -> usize {
        Self::bytes_of(self.capacity()) + self.sums.len() * size_of::<f32>()
    }

    pub(super) fn push(&mut self, column: u32, stored: f32) {
        self.columns.push(column);
        self.stored.push(stored);
    }

    pub(super) fn columns(&self) -> &[u32] {
        &self.columns
    }

    pub(super) fn stored(&self) -> &[f32] {
        &self.stored
    }

    pub(super) fn sums(&self) -> &[f32] {
        &self.sums
    }

    /// From here on every entry has a sum.
    pub(super) fn set_sums(&mut self, sums: Vec<f32>) {
        assert!(sums.is_empty() || sums.len() == self.len(), "a sum for every entry, or none");
        self.sums = sums;
    }

    /// The sum of w_j difference_j.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Difference, shrinkage: Shrinkage) -> f64 {
        dot(&self.columns, &self.stored, difference.spread(), shrinkage)
    }

    /// Adds `scale` times the difference to entries that are there, and `averaged` times as much to their
    /// sums; returns how many there were.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        scale: f32,
        difference: &Difference,
        shrinkage: Shrinkage,
        averaged: f32,
    ) -> usize {
        add_to_sums(&self.columns, &mut self.sums, difference.spread(), scale * averaged);
        add(&self.columns, &mut self.stored, difference.spread(), shrinkage, scale)
    }

    /// Entries that shrinkage has left something of.
    pub(super) fn live(&self, shrinkage: Shrinkage) -> usize {
        self.stored.iter().filter(|&&stored| shrinkage.leaves(stored)).count()
    }

    /// Drops entries that do not stay; of a list without sums.
    pub(super) fn retain(&mut self, stays: impl Fn(u32, f32) -> bool) {
        let mut kept = 0;
        for at in 0..self.len() {
            let (column, stored) = (self.columns[at], self.stored[at]);
            (self.columns[kept], self.stored[kept]) = (column, stored);
            kept += usize::from(stays(column, stored));
        }
        self.columns.truncate(kept);
        self.stored.truncate(kept);
    }
}

vectorised! {
    fn dot(columns: &[u32], stored: &[f32], spread: &[f32], shrinkage: Shrinkage) -> f64 {
        let mask = spread.len() - 1;
        let mut lanes = [0f32; 16];
        let ((columns, columns_rest), (stored, stored_rest)) =
            (columns.as_chunks::<16>(), stored.as_chunks::<16>());
        for (columns, stored) in columns.iter().zip(stored) {
            for lane in 0..16 {
                lanes[lane] += shrinkage.value(stored[lane]) * spread[columns[lane] as usize & mask];
            }
        }
        let rest = columns_rest.iter().zip(stored_rest);
        let rest: f32 = rest.map(|(&column, &u)| shrinkage.value(u) * spread[column as usize & mask]).sum();
        lanes.iter().fold(f64::from(rest), |sum, &lane| sum + f64::from(lane))
    }
}

vectorised! {
    fn add(columns: &[u32], stored: &mut [f32], spread: &[f32], shrinkage: Shrinkage, scale: f32) -> usize {
        let mask = spread.len() - 1;
        let mut found = 0u32;
        for (&column, stored) in columns.iter().zip(stored) {
            let value = spread[column as usize & mask];
            let new = shrinkage.stored(shrinkage.value(*stored) + scale * value);
            *stored = if value != 0.0 { new } else { *stored };
            found += u32::from(value != 0.0);
        }
        found as usize
    }
}

vectorised! {
    fn add_to_sums(columns: &[u32], sums: &mut [f32], spread: &[f32], scale: f32) {
        let mask = spread.len() - 1;
        for (&column, sum) in columns.iter().zip(sums) {
            *sum += scale * spread[column as usize & mask];
        }
    }
}
