//! Blocks of latent columns, and the product of a sparse matrix with one.
//!
//! A block holds [`WIDTH`] latent columns of every row, 128 bytes a row: two cache lines, so that what a
//! sparse row gathers from is either there as a whole or not at all, and a block of 200,000 rows (26 MB)
//! still lies in a large cache. Rows to come are fetched ahead, because the order in which they are needed
//! is known and the hardware cannot guess it.

use rayon::prelude::*;

use crate::matching::Csr;

/// Latent columns of a block.
pub(crate) const WIDTH: usize = 32;

/// One row of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [f32; WIDTH]);

impl Lanes {
    pub(crate) const ZERO: Self = Self([0.0; WIDTH]);

    /// Sum of squares, in an order that vector instructions can follow.
    pub(crate) fn squares(&self) -> f32 {
        fold(std::array::from_fn(|i| self.0[i] * self.0[i]), |a, b| a + b)
    }

    /// The largest absolute value.
    pub(crate) fn largest(&self) -> f32 {
        fold(self.0.map(f32::abs), |a, b| if a > b { a } else { b })
    }
}

/// Folds halves onto each other until one number is left.
#[inline(always)]
fn fold(mut values: [f32; WIDTH], with: impl Fn(f32, f32) -> f32) -> f32 {
    let mut half = WIDTH / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = with(values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// A block with few entries: those of row i lie at `offsets[i]..offsets[i + 1]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SparseBlock {
    pub(crate) offsets: Vec<u32>,
    pub(crate) columns: Vec<u8>,
    pub(crate) values: Vec<f32>,
}

/// A block that is multiplied.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    Dense(&'a [Lanes]),
    Sparse(&'a SparseBlock),
}

/// A sparse matrix that multiplies blocks, its rows cut into pieces of about equal work.
#[derive(Debug, Clone)]
pub(crate) struct Multiplier {
    matrix: Csr,
    cuts: Vec<usize>,
}

/// What is subtracted from each row of a product: a weight for the row, times lanes.
pub(crate) type Shift<'a> = Option<(&'a [f32], Lanes)>;

/// Entries and rows of one piece of work.
const PIECE: usize = 1 << 12;
/// How many gathers ahead rows are fetched.
const AHEAD: usize = 12;

impl Multiplier {
    pub(crate) fn new(matrix: Csr) -> Self {
        let offsets = matrix.offsets();
        let mut cuts = vec![0];
        let mut start = 0;
        for row in 1..=matrix.n_rows() {
            if offsets[row] - offsets[start] + row - start >= PIECE || row == matrix.n_rows() {
                cuts.push(row);
                start = row;
            }
        }
        Self { matrix, cuts }
    }

    pub(crate) fn matrix(&self) -> &Csr {
        &self.matrix
    }

    pub(crate) fn values(&self) -> &[f32] {
        self.matrix.values()
    }

    /// `out = A block - shift`, with `values` in place of the matrix' own. As soon as a piece of the rows is
    /// done, while it is still in the cache, `look` sees it with the `state` of its rows; what it found is
    /// returned, piece after piece. The result does not depend on the number of threads.
    pub(crate) fn multiply<S: Send, T: Send>(
        &self,
        values: &[f32],
        block: Block<'_>,
        shift: Shift<'_>,
        out: &mut [Lanes],
        state: &mut [S],
        look: impl Fn(&mut [S], &[Lanes]) -> T + Sync,
    ) -> Vec<T> {
        assert_eq!(out.len(), self.matrix.n_rows());
        assert_eq!(state.len(), out.len());
        assert_eq!(values.len(), self.matrix.nnz());
        let mut pieces = Vec::with_capacity(self.cuts.len());
        let (mut rows, mut states) = (out, state);
        for cut in self.cuts.windows(2) {
            let (piece, rest) = rows.split_at_mut(cut[1] - cut[0]);
            let (state, rest_of_states) = states.split_at_mut(cut[1] - cut[0]);
            pieces.push((cut[0], piece, state));
            (rows, states) = (rest, rest_of_states);
        }
        pieces
            .into_par_iter()
            .map(|(first, out, state)| {
                multiply_rows(&self.matrix, values, block, shift, first, out);
                look(state, out)
            })
            .collect()
    }

    /// The same, returning the sums of the columns of `out`.
    pub(crate) fn multiply_summing(
        &self,
        values: &[f32],
        block: Block<'_>,
        shift: Shift<'_>,
        out: &mut [Lanes],
    ) -> [f64; WIDTH] {
        let mut nothing = vec![(); out.len()];
        let sums = self.multiply(values, block, shift, out, &mut nothing, |_, rows| {
            let mut sums = [0f32; WIDTH];
            rows.iter().for_each(|row| sums.iter_mut().zip(row.0).for_each(|(sum, value)| *sum += value));
            sums
        });
        let mut total = [0.0; WIDTH];
        for piece in sums {
            total.iter_mut().zip(piece).for_each(|(total, sum)| *total += f64::from(sum));
        }
        total
    }
}

fn multiply_rows(
    matrix: &Csr,
    values: &[f32],
    block: Block<'_>,
    shift: Shift<'_>,
    first: usize,
    out: &mut [Lanes],
) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has what the function needs.
            return unsafe { multiply_rows_avx512(matrix, values, block, shift, first, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function needs.
            return unsafe { multiply_rows_avx2(matrix, values, block, shift, first, out) };
        }
    }
    multiply_rows_plain(matrix, values, block, shift, first, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn multiply_rows_avx512(
    matrix: &Csr,
    values: &[f32],
    block: Block<'_>,
    shift: Shift<'_>,
    first: usize,
    out: &mut [Lanes],
) {
    multiply_rows_plain(matrix, values, block, shift, first, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn multiply_rows_avx2(
    matrix: &Csr,
    values: &[f32],
    block: Block<'_>,
    shift: Shift<'_>,
    first: usize,
    out: &mut [Lanes],
) {
    multiply_rows_plain(matrix, values, block, shift, first, out)
}

/// The rows from `first` on. Written in plain loops, which the compiler turns into vector instructions of
/// the caller's kind.
#[inline(always)]
fn multiply_rows_plain(
    matrix: &Csr,
    values: &[f32],
    block: Block<'_>,
    shift: Shift<'_>,
    first: usize,
    out: &mut [Lanes],
) {
    match block {
        Block::Dense(rows) => gather(matrix, values, rows, first, out),
        Block::Sparse(rows) => scatter(matrix, values, rows, first, out),
    }
    if let Some((weights, lanes)) = shift {
        for (out, weight) in out.iter_mut().zip(&weights[first..]) {
            out.0.iter_mut().zip(lanes.0).for_each(|(value, lane)| *value -= weight * lane);
        }
    }
}

/// Rows of the product with a dense block.
#[inline(always)]
fn gather(matrix: &Csr, values: &[f32], rows: &[Lanes], first: usize, out: &mut [Lanes]) {
    let (offsets, indices) = (matrix.offsets(), matrix.indices());
    for (row, out) in (first..).zip(out) {
        let mut sum = [0f32; WIDTH];
        for place in offsets[row]..offsets[row + 1] {
            if let Some(&later) = indices.get(place + AHEAD) {
                fetch(rows, later as usize);
            }
            let (value, row) = (values[place], &rows[indices[place] as usize].0);
            for lane in 0..WIDTH {
                sum[lane] += value * row[lane];
            }
        }
        out.0 = sum;
    }
}

/// Rows of the product with a sparse block.
#[inline(always)]
fn scatter(matrix: &Csr, values: &[f32], rows: &SparseBlock, first: usize, out: &mut [Lanes]) {
    let (offsets, indices) = (matrix.offsets(), matrix.indices());
    for (row, out) in (first..).zip(out) {
        out.0.fill(0.0);
        for place in offsets[row]..offsets[row + 1] {
            let (value, row) = (values[place], indices[place] as usize);
            let at = rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
            for (&column, &entry) in rows.columns[at.clone()].iter().zip(&rows.values[at]) {
                out.0[usize::from(column) % WIDTH] += value * entry;
            }
        }
    }
}

/// Asks for a row that will be needed soon.
#[inline(always)]
fn fetch(rows: &[Lanes], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(row) = rows.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about memory that belongs to `rows`; nothing is read.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(row.0.as_ptr().cast());
            _mm_prefetch::<_MM_HINT_T0>(row.0[WIDTH / 2..].as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, index);
}
