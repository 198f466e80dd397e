//! Half an iteration with sparse input rows: row by row, everything sparse.
//!
//! A document's image is the sum of the few sparse rows of its features, a query's image is the sum of its documents'
//! images, and so on. Sums of sparse rows are formed in an array of d values that stays in the fastest cache. The mean
//! over the queries is subtracted at the end. Those sums are in f64, because the result can be much smaller than the
//! operands.

use std::ops::AddAssign;

use rayon::prelude::*;

use super::Threshold;
use super::candidates::{ShareCounts, least_share, shrink};
use super::half::{Half, Regulariser};
use super::latent::Latent;
use crate::matching::operator::Chain;
use crate::matching::{Csr, SparseRows};

/// Number of rows of one piece of work.
const PIECE: usize = 1024;
/// Memory limit of the intermediate images in bytes.
const ROOM: f64 = 4e9;

/// Returns true if this algorithm is faster than blocks of columns and fits into memory. A gathered block row of 32
/// values costs about as much as four entries here.
pub(super) fn pays(chain: &Chain<'_>, rows: &SparseRows, d: usize) -> bool {
    let nnz = |matrix: &Csr| matrix.nnz() as f64;
    let other = |matrix: Option<&Csr>| matrix.map_or(0.0, nnz);
    let of = |entries: f64, matrix: &Csr| entries / matrix.n_rows().max(1) as f64;
    // Estimated entries of a row of L, and of the results, as if no two rows had an entry in the same column.
    let row = rows.columns.len() as f64 / (rows.offsets.len() - 1).max(1) as f64;
    let first = of(row * nnz(chain.first), chain.first).min(d as f64);
    let work = first * nnz(chain.second.0) + row * other(chain.second.1);
    let second = of(work, chain.second.0).min(d as f64);
    let images = first * chain.first.n_rows() as f64 + second * chain.second.0.n_rows() as f64;
    let work = row * nnz(chain.first) + work + second * nnz(chain.third.0) + first * other(chain.third.1);
    let all = nnz(chain.first) + nnz(chain.second.0) + nnz(chain.third.0);
    let all = all + other(chain.second.1) + other(chain.third.1);
    work < d as f64 * all / 8.0 && images * 6.0 < ROOM
}

/// Computes all rows of one side from the sparse rows of the other.
pub(super) fn half(chain: &Chain<'_>, rows: &SparseRows, d: usize, rule: &Regulariser) -> (Latent, Half) {
    let first = multiply(&[(chain.first, rows)], d);
    let second = multiply(&terms(chain.second, &first, rows), d);
    let mean = chain.shift.map(|shift| (shift, mean(if chain.queries_first { &first } else { &second }, d)));
    let highest = mean.iter().flat_map(|(_, mean)| mean).fold(0f64, |most, value| most.max(value.abs()));
    let last = Last { terms: terms(chain.third, &second, &first), mean, highest, d };
    let (share, floor) = match rule.threshold {
        Threshold::Relative => (rule.amount, 0.0),
        Threshold::Absolute => (0.0, rule.amount),
        Threshold::Density => {
            let counts = last.pieces(|counts: &mut ShareCounts, work, row| {
                last.sum(row, &mut work.sums);
                last.fill(row, &mut work.sums);
                let entries: Vec<f32> = work.sums.sums.iter().map(|&sum| sum as f32).collect();
                let largest = entries.iter().fold(0f32, |most, entry| most.max(entry.abs()));
                counts.add_row(largest);
                counts.add(&entries, largest);
            });
            (ShareCounts::share(counts, rule.amount, d).max(least_share(rule.amount, d)), 0.0)
        }
    };
    let pieces = last.pieces(|(made, half): &mut (SparseRows, Half), work, row| {
        let threshold = last.passing(row, share, floor, work);
        let start = made.columns.len();
        made.columns.extend_from_slice(&work.columns);
        made.values.extend(work.columns.iter().map(|&column| work.sums.of(column) as f32));
        shrink(&mut made.values[start..], threshold, rule.theta, half);
        made.offsets.push(made.columns.len() as u64);
    });
    let (rows, halves): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
    (Latent::Sparse(SparseRows::concatenate(rows).into()), Half::sum(halves))
}

type SparseTerms<'a> = Vec<(&'a Csr, &'a SparseRows)>;

/// A sum of one or two products.
fn terms<'a>(
    (one, other): (&'a Csr, Option<&'a Csr>),
    with: &'a SparseRows,
    with_other: &'a SparseRows,
) -> SparseTerms<'a> {
    std::iter::once((one, with)).chain(other.map(|other| (other, with_other))).collect()
}

/// The last product, whose rows are thresholded as they are computed.
struct Last<'a> {
    terms: SparseTerms<'a>,
    mean: Option<(&'a [f32], Vec<f64>)>,
    /// Largest absolute entry of the mean.
    highest: f64,
    d: usize,
}

/// A sum of sparse rows with random access by column.
struct Sums<T> {
    sums: Vec<T>,
    met: Vec<bool>,
    /// Columns with an entry, the first `n_met` of the array.
    columns: Vec<u16>,
    n_met: usize,
}

impl<T: Copy + Default + AddAssign> Sums<T> {
    fn new(d: usize) -> Self {
        Self { sums: vec![T::default(); d], met: vec![false; d], columns: vec![0; d + 1], n_met: 0 }
    }

    fn columns(&self) -> &[u16] {
        &self.columns[..self.n_met]
    }

    fn of(&self, column: u16) -> T {
        self.sums[usize::from(column)]
    }

    fn clear(&mut self) {
        for &column in &self.columns[..self.n_met] {
            self.sums[usize::from(column)] = T::default();
            self.met[usize::from(column)] = false;
        }
        self.n_met = 0;
    }

    /// Adds a value. The code is branch-free: whether the column is new cannot be predicted.
    #[inline(always)]
    fn add(&mut self, column: u16, value: T) {
        let at = usize::from(column);
        self.sums[at] += value;
        self.columns[self.n_met] = column;
        self.n_met += usize::from(!self.met[at]);
        self.met[at] = true;
    }
}

/// Memory for one row.
struct Work {
    sums: Sums<f64>,
    /// Columns that pass.
    columns: Vec<u16>,
}

impl Last<'_> {
    /// Applies `each` to the rows, piece by piece.
    fn pieces<T: Default + Send>(&self, each: impl Fn(&mut T, &mut Work, usize) + Sync) -> Vec<T> {
        let n_rows = self.terms[0].0.n_rows();
        (0..n_rows.div_ceil(PIECE))
            .into_par_iter()
            .map(|piece| {
                let mut made = T::default();
                let mut work = Work { sums: Sums::new(self.d), columns: Vec::new() };
                let rows = piece * PIECE..((piece + 1) * PIECE).min(n_rows);
                rows.for_each(|row| each(&mut made, &mut work, row));
                made
            })
            .collect()
    }

    /// Computes the sums of a row, less the mean, in the columns of its images.
    fn sum(&self, row: usize, sums: &mut Sums<f64>) {
        sums.clear();
        for (matrix, images) in &self.terms {
            for (index, weight) in matrix.row(row).iter() {
                let (columns, values) = images.row(index as usize);
                for (&column, &value) in columns.iter().zip(values) {
                    sums.add(column, f64::from(weight * value));
                }
            }
        }
        if let Some((shift, mean)) = &self.mean {
            let shift = f64::from(shift[row]);
            for &column in &sums.columns[..sums.n_met] {
                sums.sums[usize::from(column)] -= shift * mean[usize::from(column)];
            }
        }
    }

    /// Fills the other columns, which have only the mean.
    fn fill(&self, row: usize, sums: &mut Sums<f64>) {
        let shift = self.mean.as_ref().map_or(0.0, |(shift, _)| f64::from(shift[row]));
        for column in (0..self.d).filter(|&column| !sums.met[column]).collect::<Vec<_>>() {
            sums.add(column as u16, self.mean.as_ref().map_or(0.0, |(_, mean)| -shift * mean[column]));
        }
    }

    /// Keeps the columns of a row that pass the threshold, ascending, and returns the threshold.
    fn passing(&self, row: usize, share: f32, floor: f32, work: &mut Work) -> f32 {
        let Work { sums, columns } = work;
        let threshold = |sums: &Sums<f64>| {
            let sizes = sums.columns().iter().map(|&column| sums.of(column).abs());
            (share * sizes.fold(0f64, f64::max) as f32).max(floor)
        };
        self.sum(row, sums);
        let mut bar = threshold(sums);
        let shift = self.mean.as_ref().map_or(0.0, |(shift, _)| f64::from(shift[row]).abs());
        // Columns without an image have only the mean, which hardly ever passes.
        if shift * self.highest > f64::from(bar) {
            self.fill(row, sums);
            bar = threshold(sums);
        }
        columns.clear();
        columns.extend(sums.columns().iter().filter(|&&column| sums.of(column).abs() as f32 > bar));
        columns.sort_unstable();
        bar
    }
}

/// Computes a sum of products; the columns of a row are in no particular order.
fn multiply(terms: &[(&Csr, &SparseRows)], d: usize) -> SparseRows {
    let n_rows = terms[0].0.n_rows();
    let pieces = (0..n_rows.div_ceil(PIECE))
        .into_par_iter()
        .map(|piece| {
            let mut made = SparseRows::default();
            let mut sums = Sums::new(d);
            for i in piece * PIECE..((piece + 1) * PIECE).min(n_rows) {
                sums.clear();
                for (matrix, rows) in terms {
                    for (index, weight) in matrix.row(i).iter() {
                        let (columns, values) = rows.row(index as usize);
                        columns
                            .iter()
                            .zip(values)
                            .for_each(|(&column, &value)| sums.add(column, weight * value));
                    }
                }
                made.columns.extend_from_slice(sums.columns());
                made.values.extend(sums.columns().iter().map(|&column| sums.of(column)));
                made.offsets.push(made.columns.len() as u64);
            }
            made
        })
        .collect();
    SparseRows::concatenate(pieces)
}

/// Computes the mean of all rows.
fn mean(rows: &SparseRows, d: usize) -> Vec<f64> {
    let n = (rows.offsets.len() - 1).max(1) as f64;
    let mut mean = vec![0f64; d];
    rows.columns
        .iter()
        .zip(&rows.values)
        .for_each(|(&column, &value)| mean[usize::from(column)] += f64::from(value));
    mean.iter_mut().for_each(|sum| *sum /= n);
    mean
}
