//! Blocks of latent columns, and the product of a sparse matrix with a block.
//!
//! A block holds [`WIDTH`] latent columns of every row, 128 bytes per row: two cache lines. So a gathered row is either
//! in the cache as a whole or not at all, and a block of 200,000 rows (26 MB) still fits into a large cache. Rows are
//! prefetched, because the order in which they are needed is known and the hardware cannot guess it.
#![allow(clippy::needless_range_loop, reason = "loops over lanes, which the compiler turns into vectors")]

use rayon::prelude::*;

use super::Csr;
use super::simd::vectorised;

/// Number of latent columns of a block.
pub(crate) const WIDTH: usize = 32;

/// One row of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [f32; WIDTH]);

impl Lanes {
    pub(crate) const ZERO: Self = Self([0.0; WIDTH]);

    /// The largest absolute value.
    #[inline(always)]
    pub(crate) fn largest(&self) -> f32 {
        let mut parts = [0f32; 8];
        for chunk in self.0.as_chunks::<8>().0 {
            for (part, value) in parts.iter_mut().zip(chunk) {
                let size = value.abs();
                *part = if size > *part { size } else { *part };
            }
        }
        parts.into_iter().fold(0.0, |most, part| if part > most { part } else { most })
    }
}

/// The columns of one block in sparse rows; the entries of row i lie at `from[i]..to[i]`.
#[derive(Clone, Copy)]
pub(crate) struct SparseBlock<'a> {
    pub(crate) from: &'a [u64],
    pub(crate) to: &'a [u64],
    pub(crate) columns: &'a [u16],
    pub(crate) values: &'a [f32],
    /// The first column of the block.
    pub(crate) first: u16,
}

/// A block to multiply with.
#[derive(Clone, Copy)]
pub(crate) enum Block<'a> {
    Dense(&'a [Lanes]),
    Sparse(SparseBlock<'a>),
}

/// One product of a sum of products.
#[derive(Clone, Copy)]
pub(crate) struct Term<'a> {
    pub(crate) matrix: &'a Csr,
    /// Values to use in place of the matrix's own.
    pub(crate) values: &'a [f32],
    pub(crate) block: Block<'a>,
}

impl<'a> Term<'a> {
    pub(crate) fn new(matrix: &'a Csr, rows: &'a [Lanes]) -> Self {
        Self { matrix, values: matrix.values(), block: Block::Dense(rows) }
    }
}

/// Amount to subtract from each row of a product: a weight per row, times lanes.
pub(crate) type Shift<'a> = Option<(&'a [f32], Lanes)>;

/// Splits the rows of a sum of products into pieces of about equal work.
#[derive(Debug, Clone)]
pub(crate) struct Cuts(Vec<usize>);

/// Number of entries and rows of one piece of work.
const PIECE: usize = 1 << 12;
/// Number of gathers to prefetch ahead.
const AHEAD: usize = 12;

impl Cuts {
    /// Splits a sum of products with these matrices, which have the same number of rows.
    pub(crate) fn new(matrices: &[&Csr]) -> Self {
        let n_rows = matrices[0].n_rows();
        let work = |row: usize| row + matrices.iter().map(|matrix| matrix.offsets()[row]).sum::<usize>();
        let mut cuts = vec![0];
        let mut start = 0;
        for row in 1..=n_rows {
            if work(row) - work(start) >= PIECE || row == n_rows {
                cuts.push(row);
                start = row;
            }
        }
        Self(cuts)
    }

    /// Splits a slice that has an entry per row.
    fn pieces<'a, S>(&self, mut all: &'a mut [S]) -> Vec<&'a mut [S]> {
        assert_eq!(Some(&all.len()), self.0.last());
        let mut pieces = Vec::with_capacity(self.0.len());
        for cut in self.0.windows(2) {
            let (piece, rest) = all.split_at_mut(cut[1] - cut[0]);
            pieces.push(piece);
            all = rest;
        }
        pieces
    }

    /// Computes the sum of the terms, less `shift`, piece by piece. `look` sees every piece of the rows while it is in
    /// the cache, with the `state` of its rows; the results are returned in order of the pieces. The piece is then
    /// stored in `out`, if given, bypassing the cache, because it will not be needed soon. The result does not depend
    /// on the number of threads.
    pub(crate) fn multiply<S: Send, T: Send>(
        &self,
        terms: &[Term<'_>],
        shift: Shift<'_>,
        out: Option<&mut [Lanes]>,
        state: &mut [S],
        look: impl Fn(&mut [S], &[Lanes]) -> T + Sync,
    ) -> Vec<T> {
        let outs = out.map(|out| self.pieces(out));
        let places = outs.into_iter().flatten().map(Some).chain(std::iter::repeat_with(|| None));
        let pieces: Vec<_> = self.0.windows(2).zip(self.pieces(state)).zip(places).collect();
        pieces
            .into_par_iter()
            .map_init(Vec::new, |buffer, ((cut, state), out)| {
                buffer.resize(cut[1] - cut[0], Lanes::ZERO);
                multiply_rows(terms, shift, cut[0], buffer);
                let found = look(state, buffer);
                if let Some(out) = out {
                    store_past_the_cache(buffer, out);
                }
                found
            })
            .collect()
    }

    /// Computes the sum of the terms, less `shift`, in `out` and in the cache. Returns the sums of its columns.
    pub(crate) fn multiply_summing(
        &self,
        terms: &[Term<'_>],
        shift: Shift<'_>,
        out: &mut [Lanes],
    ) -> [f64; WIDTH] {
        let pieces: Vec<_> = self.0.windows(2).zip(self.pieces(out)).collect();
        let sums: Vec<[f32; WIDTH]> = pieces
            .into_par_iter()
            .map(|(cut, out)| {
                multiply_rows(terms, shift, cut[0], out);
                column_sums(out)
            })
            .collect();
        let mut total = [0.0; WIDTH];
        for piece in sums {
            total.iter_mut().zip(piece).for_each(|(total, sum)| *total += f64::from(sum));
        }
        total
    }
}

vectorised! {
    /// Computes the rows of a sum of products from `first` on.
    fn multiply_rows(terms: &[Term<'_>], shift: Shift<'_>, first: usize, out: &mut [Lanes]) {
        for (n, term) in terms.iter().enumerate() {
            match term.block {
                Block::Dense(rows) if n > 0 => gather::<true>(term, rows, None, first, out),
                Block::Dense(rows) => gather::<false>(term, rows, shift, first, out),
                Block::Sparse(rows) => {
                    if n == 0 {
                        (first..).zip(out.iter_mut()).for_each(|(row, out)| out.0 = start(shift, row));
                    }
                    scatter(term, &rows, first, out);
                }
            }
        }
    }
}

/// Returns the initial value of a row.
#[inline(always)]
fn start(shift: Shift<'_>, row: usize) -> [f32; WIDTH] {
    let mut start = [0f32; WIDTH];
    if let Some((weights, lanes)) = shift {
        let weight = weights[row];
        for lane in 0..WIDTH {
            start[lane] = -weight * lanes.0[lane];
        }
    }
    start
}

vectorised! {
    /// Adds the squared norm of every row to its sum.
    pub(crate) fn add_squares(sums: &mut [f64], rows: &[Lanes]) {
        for (sum, row) in sums.iter_mut().zip(rows) {
            // Otherwise the compiler would vectorise across rows instead of lanes.
            let row = &std::hint::black_box(row).0;
            let sixteen: [f32; 16] = std::array::from_fn(|i| row[i] * row[i] + row[i + 16] * row[i + 16]);
            let eight: [f32; 8] = std::array::from_fn(|i| sixteen[i] + sixteen[i + 8]);
            let four: [f32; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
            *sum += f64::from((four[0] + four[2]) + (four[1] + four[3]));
        }
    }
}

vectorised! {
    /// Returns the sums of the columns.
    fn column_sums(rows: &[Lanes]) -> [f32; WIDTH] {
        let mut sums = [0f32; WIDTH];
        for row in rows {
            for lane in 0..WIDTH {
                sums[lane] += row.0[lane];
            }
        }
        sums
    }
}

/// Computes rows of the product with a dense block, overwriting `out` or adding to it.
#[inline(always)]
fn gather<const ADD: bool>(
    term: &Term<'_>,
    rows: &[Lanes],
    shift: Shift<'_>,
    first: usize,
    out: &mut [Lanes],
) {
    let (offsets, indices, values) = (term.matrix.offsets(), term.matrix.indices(), term.values);
    for (row, out) in (first..).zip(out) {
        let mut sum = if ADD { out.0 } else { start(shift, row) };
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

/// Adds rows of the product with a sparse block.
#[inline(always)]
fn scatter(term: &Term<'_>, rows: &SparseBlock<'_>, first: usize, out: &mut [Lanes]) {
    let (offsets, indices, values) = (term.matrix.offsets(), term.matrix.indices(), term.values);
    for (row, out) in (first..).zip(out) {
        for place in offsets[row]..offsets[row + 1] {
            let (value, row) = (values[place], indices[place] as usize);
            let at = rows.from[row] as usize..rows.to[row] as usize;
            for (&column, &entry) in rows.columns[at.clone()].iter().zip(&rows.values[at]) {
                out.0[usize::from(column - rows.first) % WIDTH] += value * entry;
            }
        }
    }
}

/// Copies rows without loading their destination into the cache.
fn store_past_the_cache(from: &[Lanes], to: &mut [Lanes]) {
    #[cfg(target_arch = "x86_64")]
    for (from, to) in from.iter().zip(to) {
        use std::arch::x86_64::{_mm_loadu_ps, _mm_stream_ps};
        for (from, to) in from.0.chunks_exact(4).zip(to.0.chunks_exact_mut(4)) {
            // SAFETY: four values are read and written; rows are aligned to 64 bytes.
            unsafe { _mm_stream_ps(to.as_mut_ptr(), _mm_loadu_ps(from.as_ptr())) };
        }
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Prefetches a row that will be needed soon.
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
