//! L of one side during training: blocks of latent columns, dense or sparse.

use std::sync::Arc;

use rayon::prelude::*;

use crate::linalg::simd::vectorised;
use crate::matching::operator::{Lanes, SparseBlock, WIDTH};
use crate::matching::{Factor, Rows, SparseRow, SparseRows};

/// Number of rows of one piece of work.
const PIECE: usize = 4096;
/// Number of rows that are assembled from their blocks at once.
const TILE: usize = 64;

/// Rows of one side.
#[derive(Debug)]
pub(super) enum Latent {
    /// One block of columns after the other; row i is `scale[i]` times the values of the blocks. The blocks are one
    /// allocation, which is returned to the system as soon as it is no longer needed.
    Dense { blocks: Vec<Lanes>, scale: Vec<f32> },
    /// Non-zero entries, row after row.
    Sparse(Arc<SparseRows>),
}

/// Output buffers of rows: offsets, columns and values.
pub(super) type LatentPiece<'a> = (&'a [u64], &'a mut [u16], &'a mut [f32]);

impl SparseRows {
    /// Concatenates pieces that were computed in parallel; the `offsets` of a piece are the ends of its rows.
    pub(super) fn concatenate(pieces: Vec<Self>) -> Self {
        let n_rows: usize = pieces.iter().map(|piece| piece.offsets.len()).sum();
        let n: usize = pieces.iter().map(|piece| piece.columns.len()).sum();
        let mut all = Self {
            offsets: Vec::with_capacity(n_rows + 1),
            columns: Vec::with_capacity(n),
            values: Vec::with_capacity(n),
        };
        all.offsets.push(0);
        for piece in pieces {
            let before = all.columns.len() as u64;
            all.offsets.extend(piece.offsets.iter().map(|end| before + end));
            all.columns.extend_from_slice(&piece.columns);
            all.values.extend_from_slice(&piece.values);
        }
        all
    }

    /// Allocates rows with the given numbers of entries.
    pub(super) fn of_counts(counts: &[u32]) -> Self {
        let mut offsets = vec![0];
        let mut end = 0;
        offsets.extend(counts.iter().map(|&count| {
            end += u64::from(count);
            end
        }));
        Self { offsets, columns: vec![0; end as usize], values: vec![0.0; end as usize] }
    }

    /// Splits the rows into pieces with the given numbers of rows.
    pub(super) fn pieces(&mut self, n_rows: &[usize]) -> Vec<LatentPiece<'_>> {
        let (mut columns, mut values) = (&mut self.columns[..], &mut self.values[..]);
        let mut first = 0;
        let piece = |&n: &usize| {
            let offsets = &self.offsets[first..=first + n];
            first += n;
            let length = (offsets[n] - offsets[0]) as usize;
            let checked = "room for every entry";
            let columns = columns.split_off_mut(..length).expect(checked);
            (offsets, columns, values.split_off_mut(..length).expect(checked))
        };
        n_rows.iter().map(piece).collect()
    }
}

/// A position in every row of [`SparseRows`], advanced from block to block.
pub(super) struct Cursor {
    from: Vec<u64>,
    to: Vec<u64>,
}

impl Cursor {
    pub(super) fn new(rows: &SparseRows) -> Self {
        let starts = rows.offsets[..rows.offsets.len() - 1].to_vec();
        Self { from: starts.clone(), to: starts }
    }

    /// Advances to the next block, whose columns start with `first`.
    pub(super) fn advance<'a>(&'a mut self, rows: &'a SparseRows, first: usize) -> SparseBlock<'a> {
        std::mem::swap(&mut self.from, &mut self.to);
        let end = first + WIDTH;
        let ends = &rows.offsets[1..];
        self.to.par_iter_mut().zip(&self.from).zip(ends).with_min_len(4096).for_each(
            |((to, from), &row_end)| {
                let rest = &rows.columns[*from as usize..row_end as usize];
                let n = rest.iter().take_while(|&&column| usize::from(column) < end).count();
                *to = from + n as u64;
            },
        );
        SparseBlock {
            from: &self.from,
            to: &self.to,
            columns: &rows.columns,
            values: &rows.values,
            first: first as u16,
        }
    }

    /// Expands the next blocks with their zeros, as many as `out` has.
    pub(super) fn advance_dense(&mut self, rows: &SparseRows, first: usize, out: &mut [Vec<Lanes>]) {
        let n_rows = self.to.len();
        out.iter_mut().for_each(|block| block.resize(n_rows, Lanes::ZERO));
        let end = first + out.len() * WIDTH;
        let mut pieces: Vec<Vec<&mut [Lanes]>> = (0..n_rows.div_ceil(PIECE)).map(|_| Vec::new()).collect();
        for block in out {
            pieces.iter_mut().zip(block.chunks_mut(PIECE)).for_each(|(piece, block)| piece.push(block));
        }
        let ends = rows.offsets[1..].par_chunks(PIECE);
        self.to.par_chunks_mut(PIECE).zip(ends).zip(pieces).for_each(|((to, ends), mut blocks)| {
            blocks.iter_mut().for_each(|block| block.fill(Lanes::ZERO));
            for (row, (to, &row_end)) in to.iter_mut().zip(ends).enumerate() {
                let (from, row_end) = (*to as usize, row_end as usize);
                let entries = rows.columns[from..row_end].iter().zip(&rows.values[from..row_end]);
                for (&column, &value) in entries.take_while(|(column, _)| usize::from(**column) < end) {
                    let at = usize::from(column) - first;
                    blocks[at / WIDTH][row].0[at % WIDTH] = value;
                    *to += 1;
                }
            }
        });
    }
}

impl Latent {
    pub(super) fn scale(&self) -> Option<&[f32]> {
        match self {
            Self::Dense { scale, .. } => Some(scale),
            Self::Sparse(_) => None,
        }
    }

    /// Returns one row of d values.
    pub(super) fn row(&self, row: usize, d: usize) -> Vec<f32> {
        let mut values = vec![0.0; d];
        self.add_row(row, 1.0, &mut values);
        values
    }

    /// Computes L'x; `row_of` is the row of each feature.
    pub(super) fn map_into(&self, row_of: &[u32], x: SparseRow<'_>, image: &mut [f32]) {
        image.fill(0.0);
        for (feature, weight) in x.iter() {
            if let Some(&row) = row_of.get(feature as usize).filter(|&&row| row != Factor::NONE) {
                self.add_row(row as usize, weight, image);
            }
        }
    }

    /// Adds `weight` times a row to `sum`, which has d values.
    fn add_row(&self, row: usize, weight: f32, sum: &mut [f32]) {
        match self {
            Self::Dense { blocks, scale } => {
                let weight = weight * scale[row];
                for (part, block) in sum.chunks_mut(WIDTH).zip(blocks.chunks_exact(scale.len())) {
                    part.iter_mut().zip(block[row].0).for_each(|(sum, lane)| *sum += weight * lane);
                }
            }
            Self::Sparse(rows) => rows.add_row(row, weight, sum),
        }
    }

    /// Converts to the rows of a factor: dense rows are copied, sparse rows are shared.
    pub(super) fn to_rows(&self, d: usize) -> Rows {
        match self {
            Self::Dense { blocks, scale } => {
                let mut values = vec![0.0; scale.len() * d];
                // Assemble few rows at a time, so that they stay in the cache.
                values.par_chunks_mut(TILE * d).enumerate().for_each(|(tile, values)| {
                    for (n, block) in blocks.chunks_exact(scale.len()).enumerate() {
                        let width = WIDTH.min(d - n * WIDTH);
                        for (row, values) in (tile * TILE..).zip(values.chunks_exact_mut(d)) {
                            let lanes = &block[row].0[..width];
                            let part = &mut values[n * WIDTH..][..width];
                            part.iter_mut().zip(lanes).for_each(|(value, lane)| *value = lane * scale[row]);
                        }
                    }
                });
                Rows::Dense(values)
            }
            Self::Sparse(rows) => Rows::Sparse(Arc::clone(rows)),
        }
    }
}

/// Initial values of L_y.
pub(super) enum Start<'a> {
    /// Independent uniform numbers from -1 to 1, generated when a block is needed and never stored.
    Random { seed: u64 },
    /// The rows of a factor. Features without a row start at random with a norm of about 1.
    Given { factor: &'a Factor, seed: u64 },
}

impl Start<'_> {
    /// Computes a block of the initial values for the rows of these features.
    pub(super) fn block(&self, block: usize, d: usize, features: &[u32], out: &mut Vec<Lanes>) {
        out.resize(features.len(), Lanes::ZERO);
        let width = WIDTH.min(d - block * WIDTH);
        let (Self::Random { seed } | Self::Given { seed, .. }) = *self;
        let size = (3.0 / d as f32).sqrt();
        out.par_chunks_mut(PIECE).zip(features.par_chunks(PIECE)).for_each(|(out, features)| {
            random_rows(seed, block, features, out);
            if let Self::Given { factor, .. } = self {
                let mut row = vec![0.0; d];
                for (lanes, &feature) in out.iter_mut().zip(features) {
                    if factor.row_of()[feature as usize] == Factor::NONE {
                        lanes.0.iter_mut().for_each(|value| *value *= size);
                    } else {
                        row.fill(0.0);
                        factor.add(feature, 1.0, &mut row);
                        lanes.0[..width].copy_from_slice(&row[block * WIDTH..][..width]);
                    }
                }
            }
            out.iter_mut().for_each(|lanes| lanes.0[width..].fill(0.0));
        });
    }
}

vectorised! {
    /// Generates numbers that depend only on (seed, block, feature), one feature after the other.
    fn random_rows(seed: u64, block: usize, features: &[u32], out: &mut [Lanes]) {
        let seed = mix(seed ^ mix(block as u64));
        for (lanes, &feature) in out.iter_mut().zip(features) {
            let state = mix(seed ^ u64::from(feature));
            let (low, high) = (state as u32, (state >> 32) as u32);
            for lane in 0..WIDTH {
                let mut z = low.wrapping_add((lane as u32).wrapping_mul(0x9E37_79B9));
                z = (z ^ (z >> 16)).wrapping_mul(0x85EB_CA6B) ^ high;
                z = (z ^ (z >> 13)).wrapping_mul(0xC2B2_AE35);
                z ^= z >> 16;
                lanes.0[lane] = z as i32 as f32 * (1.0 / (1u32 << 31) as f32);
            }
        }
    }
}

/// The output function of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
