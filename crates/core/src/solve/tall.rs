//! Tall matrices: millions of rows, hundreds of columns, row after row.
//!
//! All operations work on pieces of rows that fit into a cache, in parallel. Sums over the rows are added in the order
//! of the pieces, so the result does not depend on the number of threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::{Error, Result};

/// `n` rows with room for `room` columns each.
#[derive(Debug, Clone)]
pub(crate) struct Tall {
    n: usize,
    room: usize,
    data: Vec<f32>,
}

/// Number of rows of a piece.
const PIECE: usize = 512;
/// Maximum number of parts in which sums over the rows are computed.
const SUMS: usize = 32;

impl Tall {
    pub(crate) fn zeros(n: usize, room: usize) -> Self {
        Self { n, room, data: vec![0.0; n * room] }
    }

    pub(crate) fn n(&self) -> usize {
        self.n
    }

    pub(crate) fn room(&self) -> usize {
        self.room
    }

    pub(crate) fn data(&self) -> &[f32] {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    pub(crate) fn into_data(self) -> Vec<f32> {
        self.data
    }

    fn pieces(&self) -> rayon::slice::Chunks<'_, f32> {
        self.data.par_chunks(PIECE * self.room.max(1))
    }

    /// Computes A'B for the first `a` columns of this matrix and the first `b` of another.
    pub(crate) fn product(&self, a: usize, other: &Self, b: usize) -> Mat<f64> {
        assert_eq!(self.n, other.n);
        let together = self.n.div_ceil(PIECE * SUMS).max(1);
        let (left, right) = (self.room.max(1), other.room.max(1));
        let sums: Vec<Mat<f64>> = self
            .data
            .par_chunks(together * PIECE * left)
            .zip(other.data.par_chunks(together * PIECE * right))
            .map(|(lefts, rights)| {
                let (mut sum, mut product) = (Mat::<f64>::zeros(a, b), Mat::<f32>::zeros(a, b));
                for (one, other) in lefts.chunks(PIECE * left).zip(rights.chunks(PIECE * right)) {
                    let (one, other) = (view(one, left, a), view(other, right, b));
                    matmul(product.as_mut(), Accum::Replace, one.transpose(), other, 1.0, Par::Seq);
                    faer::zip!(&mut sum, &product).for_each(|faer::unzip!(sum, x)| *sum += f64::from(*x));
                }
                sum
            })
            .collect();
        sums.into_iter().fold(Mat::zeros(a, b), |all, sum| all + sum)
    }

    /// Subtracts B H, B the first columns of another matrix, from the first columns of this one.
    pub(crate) fn subtract(&mut self, other: &Self, h: &Mat<f64>) {
        let h = single(h);
        let (room, columns) = (self.room, h.ncols());
        self.data.par_chunks_mut(PIECE * room.max(1)).zip(other.pieces()).for_each(|(left, right)| {
            let right = view(right, other.room, h.nrows());
            matmul(view_mut(left, room, columns), Accum::Add, right, h.as_ref(), -1.0, Par::Seq);
        });
    }

    /// Replaces the first columns by their product with `e`, which must not have more columns than rows.
    pub(crate) fn rotate(&mut self, e: &Mat<f64>) {
        let e = single(e);
        let (room, columns) = (self.room, e.ncols());
        self.data.par_chunks_mut(PIECE * room.max(1)).for_each_init(Vec::new, |product, rows| {
            let n = rows.len() / room;
            product.resize(n * columns, 0.0);
            let to = MatMut::from_row_major_slice_mut(product, n, columns);
            matmul(to, Accum::Replace, view(rows, room, e.nrows()), e.as_ref(), 1.0, Par::Seq);
            for (row, product) in rows.chunks_mut(room).zip(product.chunks(columns.max(1))) {
                row[..columns].copy_from_slice(product);
            }
        });
    }

    /// Orthonormalises the first `columns` (Cholesky QR, twice) and returns R; the former columns are the new ones
    /// times R. Returns an error if they are linearly dependent.
    pub(crate) fn orthonormalise(&mut self, columns: usize) -> Result<Mat<f64>> {
        let first = self.cholesky_qr(columns)?;
        let second = self.cholesky_qr(columns)?;
        Ok(&second * &first)
    }

    fn cholesky_qr(&mut self, columns: usize) -> Result<Mat<f64>> {
        let gram = self.product(columns, self, columns);
        let dependent = || {
            Error::Diverged("the columns are linearly dependent, so they cannot be orthonormalised".into())
        };
        let cholesky = gram.llt(faer::Side::Lower).map_err(|_| dependent())?;
        let r = cholesky.L().transpose().to_owned();
        let largest = (0..columns).map(|i| r[(i, i)]).fold(0.0, f64::max);
        if (0..columns).any(|i| r[(i, i)].is_nan() || r[(i, i)] <= 1e-6 * largest) {
            return Err(dependent());
        }
        let mut inverse = Mat::<f64>::identity(columns, columns);
        faer::linalg::triangular_solve::solve_upper_triangular_in_place(
            r.as_ref(),
            inverse.as_mut(),
            Par::Seq,
        );
        self.rotate(&inverse);
        Ok(r)
    }

    /// Keeps only the first `columns`.
    pub(crate) fn truncate(mut self, columns: usize) -> Self {
        for row in 0..self.n {
            self.data.copy_within(row * self.room..row * self.room + columns, row * columns);
        }
        self.data.truncate(self.n * columns);
        self.data.shrink_to_fit();
        Self { n: self.n, room: columns, data: self.data }
    }
}

fn view(rows: &[f32], room: usize, columns: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(rows, rows.len() / room, room).subcols(0, columns)
}

fn view_mut(rows: &mut [f32], room: usize, columns: usize) -> MatMut<'_, f32> {
    let n = rows.len() / room;
    MatMut::from_row_major_slice_mut(rows, n, room).subcols_mut(0, columns)
}

fn single(matrix: &Mat<f64>) -> Mat<f32> {
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] as f32)
}
