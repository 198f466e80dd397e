//! The entries of a long row that is not full: a hash table whose buckets are cache lines.
//!
//! A bucket holds eight columns and their eight numbers; a column that finds its bucket full is in the next
//! one that is not. Looking a column up compares eight at once and nearly always reads one line, present or
//! not. Buckets fill from the left and entries leave only when the table is made anew, so a bucket whose last
//! place is empty ends the search.

use super::difference::Difference;
use super::shrinkage::Shrinkage;

/// Entries of a bucket.
const WIDTH: usize = 8;
/// No column.
const EMPTY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    columns: [u32; WIDTH],
    stored: [f32; WIDTH],
}

const VACANT: Bucket = Bucket { columns: [EMPTY; WIDTH], stored: [0.0; WIDTH] };

/// Columns with a number each; see the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Table {
    buckets: Box<[Bucket]>,
    /// A second number of every place, while averages are kept.
    sums: Box<[[f32; WIDTH]]>,
    occupied: u32,
}

impl Table {
    /// An empty table of that many buckets.
    pub(super) fn new(n_buckets: usize) -> Self {
        Self { buckets: vec![VACANT; n_buckets.max(1)].into(), sums: [].into(), occupied: 0 }
    }

    /// Buckets that hold so many entries with room to spare, so that five in eight places are taken at most.
    pub(super) fn buckets_for(n_entries: usize) -> usize {
        (n_entries * 8).div_ceil(WIDTH * 5).max(1)
    }

    /// Bytes of a table of so many buckets.
    pub(super) fn bytes_of(n_buckets: usize) -> usize {
        n_buckets * size_of::<Bucket>()
    }

    pub(super) fn n_buckets(&self) -> usize {
        self.buckets.len()
    }

    pub(super) fn occupied(&self) -> usize {
        self.occupied as usize
    }

    pub(super) fn bytes(&self) -> usize {
        Self::bytes_of(self.buckets.len()) + size_of_val(&*self.sums)
    }

    fn home(&self, column: u32) -> usize {
        ((u64::from(column.wrapping_mul(0x9E37_79B1)) * self.buckets.len() as u64) >> 32) as usize
    }

    /// Where the column is.
    #[inline(always)]
    fn find(&self, column: u32) -> Option<(usize, usize)> {
        let mut at = self.home(column);
        loop {
            let bucket = &self.buckets[at];
            let mut found = 0u32;
            for place in 0..WIDTH {
                found |= u32::from(bucket.columns[place] == column) << place;
            }
            if found != 0 {
                return Some((at, found.trailing_zeros() as usize & (WIDTH - 1)));
            }
            if bucket.columns[WIDTH - 1] == EMPTY {
                return None;
            }
            at = if at + 1 == self.buckets.len() { 0 } else { at + 1 };
        }
    }

    /// The number of a column; 0 where there is none.
    #[inline(always)]
    fn get(&self, column: u32) -> f32 {
        self.find(column).map_or(0.0, |(at, place)| self.buckets[at].stored[place])
    }

    /// The sum of w_j difference_j, in eight lanes, so that its order is fixed and its terms need not wait for
    /// each other.
    pub(super) fn dot(&self, difference: &Difference, shrinkage: Shrinkage) -> f64 {
        let mut lanes = [0f32; 8];
        let (columns, columns_rest) = difference.columns.as_chunks::<8>();
        let (values, values_rest) = difference.values.as_chunks::<8>();
        for (columns, values) in columns.iter().zip(values) {
            for lane in 0..8 {
                lanes[lane] += shrinkage.value(self.get(columns[lane])) * values[lane];
            }
        }
        let rest = columns_rest.iter().zip(values_rest);
        let rest: f32 = rest.map(|(&column, value)| shrinkage.value(self.get(column)) * value).sum();
        lanes.iter().fold(f64::from(rest), |sum, &lane| sum + f64::from(lane))
    }

    /// The number of a column that is there, and its sum.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, column: u32) -> Option<(&mut f32, Option<&mut f32>)> {
        let (at, place) = self.find(column)?;
        Some((&mut self.buckets[at].stored[place], self.sums.get_mut(at).map(|sums| &mut sums[place])))
    }

    /// Adds a column that is not there; the caller sees to it that there is room.
    pub(super) fn insert(&mut self, column: u32, stored: f32) {
        debug_assert!(self.occupied() < self.buckets.len() * WIDTH, "a table with room");
        let mut at = self.home(column);
        while self.buckets[at].columns[WIDTH - 1] != EMPTY {
            at = if at + 1 == self.buckets.len() { 0 } else { at + 1 };
        }
        let bucket = &mut self.buckets[at];
        let place = bucket.columns.iter().position(|&column| column == EMPTY).expect("an empty place");
        (bucket.columns[place], bucket.stored[place]) = (column, stored);
        self.occupied += 1;
    }

    /// Columns and numbers, columns ascending: where an entry lies depends on when it came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        Self::sorted(self.buckets.iter().flat_map(|bucket| bucket.columns.into_iter().zip(bucket.stored)))
    }

    /// Sums in the order of [`Self::iter`], where they are kept.
    pub(super) fn sums(&self) -> impl Iterator<Item = f32> + '_ {
        let places = self.buckets.iter().zip(&self.sums);
        let pairs = places.flat_map(|(bucket, sums)| bucket.columns.into_iter().zip(*sums));
        Self::sorted(pairs).map(|(_, sum)| sum)
    }

    fn sorted(pairs: impl Iterator<Item = (u32, f32)>) -> impl Iterator<Item = (u32, f32)> {
        let mut pairs: Vec<(u32, f32)> = pairs.filter(|&(column, _)| column != EMPTY).collect();
        pairs.sort_unstable_by_key(|&(column, _)| column);
        pairs.into_iter()
    }

    /// From here on every place has a sum, 0 now.
    pub(super) fn keep_sums(&mut self) {
        self.sums = vec![[0.0; WIDTH]; self.buckets.len()].into();
    }

    /// Entries that shrinkage has left something of.
    pub(super) fn live(&self, shrinkage: Shrinkage) -> usize {
        let count = |bucket: &Bucket| bucket.stored.iter().filter(|&&u| shrinkage.leaves(u)).count();
        self.buckets.iter().map(count).sum()
    }
}
