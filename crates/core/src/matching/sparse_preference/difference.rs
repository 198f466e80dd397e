use crate::linalg::simd::vectorised;
use crate::matching::SparseRow;

/// d+ - d-: the columns where it is non-zero, ascending, with their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Difference {
    pub(super) columns: Vec<u32>,
    /// The values, and [`PADDING`] zeros.
    padded: Vec<f32>,
    words: Vec<DifferenceWord>,
}

/// Bits of the 64 columns from 64 `at` on that a vector has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DifferenceWord {
    pub(super) at: u32,
    /// Number of columns in all words before.
    pub(super) rank: u32,
    pub(super) bits: u64,
}

/// Number of zeros after values and numbers, so that sixteen can be read from any place.
pub(super) const PADDING: usize = 16;

impl Difference {
    /// Builds a difference from ascending columns.
    pub(super) fn new(columns: &[u32], values: &[f32]) -> Self {
        let mut difference = Self::default();
        columns.iter().zip(values).for_each(|(&column, &value)| difference.push(column, value));
        difference.finish();
        difference
    }

    /// Sets the difference to d+ - d-.
    pub(super) fn set(&mut self, more: SparseRow<'_>, less: SparseRow<'_>) {
        self.clear();
        let (mut i, mut j) = (0, 0);
        let (a, b) = (more.indices(), less.indices());
        while i < a.len() || j < b.len() {
            let (column, other) =
                (a.get(i).copied().unwrap_or(u32::MAX), b.get(j).copied().unwrap_or(u32::MAX));
            let mut value = 0.0;
            if column <= other {
                value = more.values()[i];
                i += 1;
            }
            if other <= column {
                value -= less.values()[j];
                j += 1;
            }
            if value != 0.0 {
                self.push(column.min(other), value);
            }
        }
        self.finish();
    }

    /// Clears the difference; entries may be pushed until [`Self::finish`].
    fn clear(&mut self) {
        self.columns.clear();
        self.padded.clear();
        self.words.clear();
    }

    fn finish(&mut self) {
        self.padded.resize(self.columns.len() + PADDING, 0.0);
    }

    fn push(&mut self, column: u32, value: f32) {
        let (at, bit) = (column / 64, 1 << (column % 64));
        match self.words.last_mut() {
            Some(word) if word.at == at => word.bits |= bit,
            _ => self.words.push(DifferenceWord { at, rank: self.columns.len() as u32, bits: bit }),
        }
        self.columns.push(column);
        self.padded.push(value);
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.padded[..self.columns.len()]
    }

    /// The values, and [`PADDING`] zeros.
    pub(super) fn padded(&self) -> &[f32] {
        &self.padded
    }

    /// The columns, by words of 64.
    pub(super) fn words(&self) -> &[DifferenceWord] {
        &self.words
    }
}

/// A sparse vector expanded over all columns, so that any of them can be looked up.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    /// Values; the length is a power of two, so that a mask brings any column into range.
    values: Box<[f32]>,
}

impl Spread {
    /// Creates a vector of zeros.
    pub(super) fn new(n_columns: usize) -> Self {
        Self { values: vec![0.0; n_columns.next_power_of_two().max(64)].into() }
    }

    pub(super) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Returns the value of every column, and zeros up to a power of two.
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// Expands a sparse vector into the zeros.
    pub(super) fn set(&mut self, columns: &[u32], values: &[f32]) {
        columns.iter().zip(values).for_each(|(&column, &value)| self.values[column as usize] = value);
    }

    /// Resets the given columns to zero.
    pub(super) fn clear(&mut self, columns: &[u32]) {
        columns.iter().for_each(|&column| self.values[column as usize] = 0.0);
    }

    /// Returns the inner product with a sparse vector.
    pub(super) fn dot(&self, columns: &[u32], values: &[f32]) -> f64 {
        dot(columns, values, &self.values)
    }
}

vectorised! {
    fn dot(columns: &[u32], values: &[f32], spread: &[f32]) -> f64 {
        let mask = spread.len() - 1;
        let mut lanes = [0f32; 16];
        let ((columns, columns_rest), (values, values_rest)) =
            (columns.as_chunks::<16>(), values.as_chunks::<16>());
        for (columns, values) in columns.iter().zip(values) {
            for lane in 0..16 {
                lanes[lane] += values[lane] * spread[columns[lane] as usize & mask];
            }
        }
        let rest = columns_rest.iter().zip(values_rest);
        let rest: f32 = rest.map(|(&column, &value)| value * spread[column as usize & mask]).sum();
        lanes.iter().fold(f64::from(rest), |sum, &lane| sum + f64::from(lane))
    }
}
