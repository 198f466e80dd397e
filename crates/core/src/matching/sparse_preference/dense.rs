//! The entries of a row that is nearly full: a number for every column.

use super::difference::Difference;
use super::shrinkage::Shrinkage;
use crate::simd::vectorised;

/// A number for every column, 0 where there is no entry, and a second one while averages are kept.
#[derive(Debug, Clone)]
pub(super) struct Dense {
    stored: Box<[f32]>,
    sums: Box<[f32]>,
}

impl Dense {
    /// Of that many columns, none of which has an entry.
    pub(super) fn new(n_columns: usize) -> Self {
        Self { stored: vec![0.0; n_columns].into(), sums: [].into() }
    }

    pub(super) fn set(&mut self, column: u32, stored: f32) {
        self.stored[column as usize] = stored;
    }

    pub(super) fn set_sum(&mut self, column: u32, sum: f32) {
        self.sums[column as usize] = sum;
    }

    /// From here on every column has a sum, 0 now.
    pub(super) fn keep_sums(&mut self) {
        self.sums = vec![0.0; self.stored.len()].into();
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.stored) + size_of_val(&*self.sums)
    }

    /// Columns that have an entry, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        (0..).zip(self.stored.iter().copied()).filter(|&(_, stored)| stored != 0.0)
    }

    /// Sums in the order of [`Self::iter`], where they are kept.
    pub(super) fn sums(&self) -> impl Iterator<Item = f32> + '_ {
        let pairs = self.stored.iter().zip(&self.sums);
        pairs.filter(|(stored, _)| **stored != 0.0).map(|(_, &sum)| sum)
    }

    /// Every number becomes what is made of it.
    pub(super) fn map(&mut self, of: impl Fn(f32) -> f32) {
        self.stored.iter_mut().for_each(|stored| *stored = of(*stored));
    }

    /// Entries that shrinkage has left something of.
    pub(super) fn live(&self, shrinkage: Shrinkage) -> usize {
        self.stored.iter().filter(|&&stored| shrinkage.leaves(stored)).count()
    }

    /// The sum of w_j difference_j.
    #[inline(always)]
    pub(super) fn dot(&self, difference: &Difference, shrinkage: Shrinkage) -> f64 {
        assert!(difference.columns.last().is_none_or(|&last| (last as usize) < self.stored.len()));
        dot(&difference.columns, &difference.values, &self.stored, shrinkage)
    }

    /// Adds `scale` times the difference.
    #[inline(always)]
    pub(super) fn add(&mut self, scale: f32, difference: &Difference, shrinkage: Shrinkage) {
        assert!(difference.columns.last().is_none_or(|&last| (last as usize) < self.stored.len()));
        add(&difference.columns, &difference.values, &mut self.stored, shrinkage, scale);
    }

    /// Adds `scale` times the difference to columns that have an entry, and `averaged` times as much to their
    /// sums.
    #[inline(always)]
    pub(super) fn add_where_present(
        &mut self,
        scale: f32,
        difference: &Difference,
        shrinkage: Shrinkage,
        averaged: f32,
    ) {
        let Difference { columns, values, .. } = difference;
        assert!(columns.last().is_none_or(|&last| (last as usize) < self.stored.len()));
        if !self.sums.is_empty() {
            add_to_sums(columns, values, &self.stored, &mut self.sums, scale * averaged);
        }
        add_where_present(columns, values, &mut self.stored, shrinkage, scale);
    }

    /// Asks for the numbers that a difference will need.
    #[inline(always)]
    pub(super) fn fetch(&self, difference: &Difference) {
        #[cfg(target_arch = "x86_64")]
        for &column in &difference.columns {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint, which may be about any address; nothing is read.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.stored.as_ptr().wrapping_add(column as usize).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = difference;
    }

    /// Adds `scale` times the difference to columns that have no entry.
    pub(super) fn add_where_missing(&mut self, scale: f32, difference: &Difference, shrinkage: Shrinkage) {
        for (&column, &value) in difference.columns.iter().zip(&difference.values) {
            let stored = &mut self.stored[column as usize];
            if *stored == 0.0 {
                *stored = shrinkage.stored(scale * value);
            }
        }
    }
}

/// The numbers of sixteen columns.
///
/// # Safety
/// There must be a number for each of the columns.
#[inline(always)]
unsafe fn gather(stored: &[f32], columns: &[u32; 16]) -> [f32; 16] {
    // SAFETY: as the caller says.
    columns.map(|column| unsafe { *stored.get_unchecked(column as usize) })
}

vectorised! {
    /// The last of the columns, which ascend, must have a number.
    fn dot(columns: &[u32], values: &[f32], stored: &[f32], shrinkage: Shrinkage) -> f64 {
        let mut lanes = [0f32; 16];
        let ((columns, columns_rest), (values, values_rest)) =
            (columns.as_chunks::<16>(), values.as_chunks::<16>());
        for (columns, values) in columns.iter().zip(values) {
            // SAFETY: columns ascend, and the last is within the row.
            let stored = unsafe { gather(stored, columns) };
            for lane in 0..16 {
                lanes[lane] += shrinkage.value(stored[lane]) * values[lane];
            }
        }
        let rest = columns_rest.iter().zip(values_rest);
        let rest: f32 = rest.map(|(&column, value)| shrinkage.value(stored[column as usize]) * value).sum();
        lanes.iter().fold(f64::from(rest), |sum, &lane| sum + f64::from(lane))
    }
}

vectorised! {
    /// The last of the columns, which ascend, must have a number.
    fn add(columns: &[u32], values: &[f32], stored: &mut [f32], shrinkage: Shrinkage, scale: f32) {
        let ((columns, columns_rest), (values, values_rest)) =
            (columns.as_chunks::<16>(), values.as_chunks::<16>());
        for (columns, values) in columns.iter().zip(values) {
            // SAFETY: columns ascend, and the last is within the row.
            let mut new = unsafe { gather(stored, columns) };
            for lane in 0..16 {
                new[lane] = shrinkage.stored(shrinkage.value(new[lane]) + scale * values[lane]);
            }
            for lane in 0..16 {
                // SAFETY: as above.
                unsafe { *stored.get_unchecked_mut(columns[lane] as usize) = new[lane] };
            }
        }
        for (&column, &value) in columns_rest.iter().zip(values_rest) {
            let stored = &mut stored[column as usize];
            *stored = shrinkage.stored(shrinkage.value(*stored) + scale * value);
        }
    }
}

vectorised! {
    /// The last of the columns, which ascend, must have a number.
    fn add_where_present(
        columns: &[u32], values: &[f32], stored: &mut [f32], shrinkage: Shrinkage, scale: f32,
    ) {
        let ((columns, columns_rest), (values, values_rest)) =
            (columns.as_chunks::<16>(), values.as_chunks::<16>());
        for (columns, values) in columns.iter().zip(values) {
            // SAFETY: columns ascend, and the last is within the row.
            let mut new = unsafe { gather(stored, columns) };
            for lane in 0..16 {
                let old = new[lane];
                let added = shrinkage.stored(shrinkage.value(old) + scale * values[lane]);
                new[lane] = if old != 0.0 { added } else { 0.0 };
            }
            for lane in 0..16 {
                // SAFETY: as above.
                unsafe { *stored.get_unchecked_mut(columns[lane] as usize) = new[lane] };
            }
        }
        for (&column, &value) in columns_rest.iter().zip(values_rest) {
            let stored = &mut stored[column as usize];
            if *stored != 0.0 {
                *stored = shrinkage.stored(shrinkage.value(*stored) + scale * value);
            }
        }
    }
}

vectorised! {
    /// The last of the columns, which ascend, must have a number and a sum.
    fn add_to_sums(columns: &[u32], values: &[f32], stored: &[f32], sums: &mut [f32], scale: f32) {
        assert!(stored.len() == sums.len());
        let ((columns, columns_rest), (values, values_rest)) =
            (columns.as_chunks::<16>(), values.as_chunks::<16>());
        for (columns, values) in columns.iter().zip(values) {
            // SAFETY: columns ascend, and the last is within the row.
            let (present, mut new) = unsafe { (gather(stored, columns), gather(sums, columns)) };
            for lane in 0..16 {
                new[lane] += if present[lane] != 0.0 { scale * values[lane] } else { 0.0 };
            }
            for lane in 0..16 {
                // SAFETY: as above.
                unsafe { *sums.get_unchecked_mut(columns[lane] as usize) = new[lane] };
            }
        }
        for (&column, &value) in columns_rest.iter().zip(values_rest) {
            if stored[column as usize] != 0.0 {
                sums[column as usize] += scale * value;
            }
        }
    }
}
