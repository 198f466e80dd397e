//! The largest entries of a product of low rank, which is never formed.
//!
//! Entry (i, j) of W = L_x L_y' has the size |l_xi . l_yj| a_i b_j = |s_i . t_j|, with scaled rows s_i = a_i l_xi and
//! t_j = b_j l_yj. It is at most |s_i| |t_j|. Columns are sorted by |t_j|, so the entries of row i that may exceed a
//! threshold t are those of the first columns, up to |t_j| = t / |s_i|. The others are not computed.
//!
//! 1. From the largest |s_i| |t_j| down, the threshold falls by factors of 16 until more entries than wanted exceed it.
//!    They are counted by the upper half of the bits of their size; positive f32 sort like their bits.
//! 2. The sizes in the bin where the wanted number is reached are counted by the lower half.
//! 3. The entries above the threshold that this determines exactly are collected, row by row.
//!
//! Counts are integers and rows are independent, so the result does not depend on the number of threads. Memory: the
//! two factors, and the result.

use rayon::prelude::*;

use crate::linalg::simd::vectorised;
use crate::matching::{Bilinear, Csr, CsrBuilder, Factor};
use crate::{Error, Result};

/// Columns whose products with a row are computed together.
const COLUMNS: usize = 512;
/// Rows of one piece of work.
const ROWS: usize = 64;
/// Factor by which the threshold falls until enough entries exceed it.
const FALL: f32 = 16.0;
/// Relative rounding error of a size and its bound, with a wide margin.
const ROUNDING: f32 = 1e-4;

/// Returns the entries of W = L_x diag(w) L_y' with the largest |W_ij| a_i b_j: at most `n_entries`, fewer if several
/// have the size of the next one. `sizes` are a and b: a number of at least 0 for every feature of queries and
/// documents. An identity or biases of the model are left out.
pub fn largest(model: &Bilinear, sizes: [&[f32]; 2], n_entries: usize) -> Result<Csr> {
    let n = [model.lx().n_features(), model.ly().n_features()];
    if n != sizes.map(<[f32]>::len) {
        return Err(Error::Shape(format!(
            "there are sizes of {} and {} features, but the model has {} and {}",
            sizes[0].len(),
            sizes[1].len(),
            n[0],
            n[1]
        )));
    }
    if !sizes.iter().flat_map(|sizes| sizes.iter()).all(|size| (0.0..=1e10).contains(size)) {
        return Err(Error::Shape("a size of a feature is negative, not finite, or exceeds 1e10".into()));
    }
    let product = Product::new(model, sizes);
    let Some(threshold) = product.threshold(n_entries as u64) else { return empty(n) };
    product.above(threshold, sizes)
}

fn empty(n: [usize; 2]) -> Result<Csr> {
    Csr::from_triples(n[0], n[1], [])
}

/// The scaled factors, with columns sorted by length.
struct Product {
    d: usize,
    /// s_i, row after row, and |s_i|.
    rows: Vec<f32>,
    row_lengths: Vec<f32>,
    /// Component k of all t_j, for every k; and |t_j|, descending.
    columns: Vec<f32>,
    column_lengths: Vec<f32>,
    /// Original numbers of the columns.
    numbers: Vec<u32>,
}

impl Product {
    fn new(model: &Bilinear, sizes: [&[f32]; 2]) -> Self {
        let d = model.d();
        let mut rows = scaled(model.lx(), sizes[0]);
        if let Some(weights) = model.weights() {
            rows.chunks_mut(d)
                .for_each(|row| row.iter_mut().zip(weights).for_each(|(x, weight)| *x *= weight));
        }
        let unsorted = scaled(model.ly(), sizes[1]);
        let lengths = lengths(&unsorted, d);
        let mut numbers: Vec<u32> = (0..lengths.len() as u32).collect();
        numbers.sort_by(|&a, &b| lengths[b as usize].total_cmp(&lengths[a as usize]).then(a.cmp(&b)));
        let mut columns = Vec::with_capacity(unsorted.len());
        for k in 0..d {
            columns.extend(numbers.iter().map(|&number| unsorted[number as usize * d + k]));
        }
        let column_lengths = numbers.iter().map(|&number| lengths[number as usize]).collect();
        Self { d, row_lengths: self::lengths(&rows, d), rows, columns, column_lengths, numbers }
    }

    /// Returns the smallest size that at most `n` entries exceed; `None` if no entry is wanted or all are 0.
    fn threshold(&self, n: u64) -> Option<f32> {
        let longest = self.row_lengths.iter().copied().fold(0.0, f32::max);
        let mut low = longest * self.column_lengths.first().copied().unwrap_or(0.0);
        if low == 0.0 || n == 0 {
            return None;
        }
        let (bins, bin, above) = loop {
            low = if low > f32::MIN_POSITIVE * FALL { low / FALL } else { 0.0 };
            let bins = self.count(low, |bits| Some(bits >> 16));
            if let Some((bin, above)) = reached(&bins, n) {
                break (bins, bin, above);
            }
            if low == 0.0 {
                return Some(0.0);
            }
        };
        debug_assert!(above + bins[bin] > n);
        let floor = f32::from_bits((bin as u32) << 16);
        let within = self
            .count(floor.next_down().max(0.0), |bits| (bits >> 16 == bin as u32).then_some(bits & 0xffff));
        let (place, _) = reached(&within, n - above)?;
        Some(f32::from_bits(((bin as u32) << 16) | place as u32))
    }

    /// Counts the entries whose size exceeds `low` by a number of 16 bits that `bin` makes of the bits of the size.
    fn count(&self, low: f32, bin: impl Fn(u32) -> Option<u32> + Sync) -> Vec<u64> {
        let none = || vec![0u64; 1 << 16];
        let of_piece = |mut bins: Vec<u64>, first: usize| {
            for i in self.piece(first) {
                self.visit(i, low, |_, value| {
                    if let Some(bin) = bin(value.abs().to_bits()) {
                        bins[bin as usize] += 1;
                    }
                });
            }
            bins
        };
        let add = |mut all: Vec<u64>, bins: Vec<u64>| {
            all.iter_mut().zip(bins).for_each(|(all, n)| *all += n);
            all
        };
        self.pieces().fold(none, of_piece).reduce(none, add)
    }

    /// Collects the entries whose size exceeds `threshold`, without the scale of the sizes.
    fn above(&self, threshold: f32, [a, b]: [&[f32]; 2]) -> Result<Csr> {
        let of_piece = |first: usize| {
            let (mut entries, mut ends) = (Vec::new(), Vec::new());
            for i in self.piece(first) {
                let start = entries.len();
                self.visit(i, threshold, |at, value| {
                    let column = self.numbers[at];
                    let scale = f64::from(a[i]) * f64::from(b[column as usize]);
                    entries.push((column, (f64::from(value) / scale) as f32));
                });
                entries[start..].sort_unstable_by_key(|&(column, _)| column);
                ends.push(entries.len());
            }
            (entries, ends)
        };
        let pieces: Vec<_> = self.pieces().map(of_piece).collect();
        let mut builder = CsrBuilder::new(self.numbers.len());
        for (entries, ends) in pieces {
            let mut start = 0;
            for end in ends {
                let row = entries[start..end].iter().filter(|(_, value)| *value != 0.0);
                row.for_each(|&(column, value)| builder.push(column, value));
                builder.end_row();
                start = end;
            }
        }
        builder.finish()
    }

    fn pieces(&self) -> impl IndexedParallelIterator<Item = usize> {
        (0..self.row_lengths.len().div_ceil(ROWS)).into_par_iter().map(|piece| piece * ROWS)
    }

    fn piece(&self, first: usize) -> std::ops::Range<usize> {
        first..(first + ROWS).min(self.row_lengths.len())
    }

    /// Calls `each` with the place and the scaled value of every entry of a row whose size exceeds `low`.
    fn visit(&self, i: usize, low: f32, mut each: impl FnMut(usize, f32)) {
        let reach = low * (1.0 - ROUNDING);
        let n = self.column_lengths.partition_point(|&length| length * self.row_lengths[i] > reach);
        let row = &self.rows[i * self.d..][..self.d];
        let mut values = [0f32; COLUMNS];
        for first in (0..n).step_by(COLUMNS) {
            let values = &mut values[..COLUMNS.min(n - first)];
            products(row, &self.columns, first, values);
            for (at, &value) in (first..).zip(&*values) {
                if value.abs() > low {
                    each(at, value);
                }
            }
        }
    }
}

/// Returns the bin from the top in which the count exceeds `n`, and the count above that bin.
fn reached(bins: &[u64], n: u64) -> Option<(usize, u64)> {
    let mut above = 0;
    for (bin, &count) in bins.iter().enumerate().rev() {
        if above + count > n {
            return Some((bin, above));
        }
        above += count;
    }
    None
}

vectorised! {
    /// Computes the dot products of a row with the columns from `first` on, component after component: the sum has the
    /// same order for every column, wherever it lies.
    fn products(row: &[f32], columns: &[f32], first: usize, values: &mut [f32]) {
        let n = columns.len() / row.len();
        values.fill(0.0);
        for (k, &x) in row.iter().enumerate() {
            let component = &columns[k * n + first..][..values.len()];
            for (value, y) in values.iter_mut().zip(component) {
                *value += x * y;
            }
        }
    }
}

/// Returns the rows of all features, scaled by their sizes.
fn scaled(factor: &Factor, sizes: &[f32]) -> Vec<f32> {
    let mut rows = vec![0f32; factor.n_features() * factor.d()];
    rows.par_chunks_mut(factor.d()).with_min_len(ROWS).zip(0..sizes.len() as u32).for_each(|(row, u)| {
        factor.add(u, sizes[u as usize], row);
    });
    rows
}

fn lengths(rows: &[f32], d: usize) -> Vec<f32> {
    let length = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt() as f32;
    rows.chunks(d).map(length).collect()
}
