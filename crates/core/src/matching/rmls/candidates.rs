//! Builds sparse rows from blocks of columns in one pass.
//!
//! A threshold relative to the largest entry of a row is known only after the last block. Until then, every entry that
//! may still pass is kept. An entry below `share * (the largest so far)` is below `share` times the final largest, so
//! nothing is lost and few entries are kept in vain.

use rayon::prelude::*;

use super::Threshold;
use super::half::{Half, Regulariser};
use super::latent::Latent;
use crate::linalg::simd::vectorised;
use crate::matching::SparseRows;
use crate::matching::operator::{Lanes, WIDTH};

/// Threshold of an entry: `share` times the largest of its row, and `floor`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    share: f32,
    floor: f32,
}

/// Entries that may pass the threshold of their row.
pub(super) struct Candidates {
    /// Candidates block by block, split into the same pieces of rows.
    blocks: Vec<Vec<CandidatePiece>>,
    /// The largest absolute entry of each row so far.
    pub(super) largest: Vec<f32>,
    pub(super) bar: Bar,
}

/// Candidates of some rows in one block of columns; those of the i-th row end at `ends[i]`.
#[derive(Default)]
pub(super) struct CandidatePiece {
    ends: Vec<u32>,
    columns: Vec<u8>,
    values: Vec<f32>,
}

impl CandidatePiece {
    /// Creates an empty piece with room for two candidates per row.
    fn of(n_rows: usize) -> Self {
        let (ends, columns) = (Vec::with_capacity(n_rows), Vec::with_capacity(2 * n_rows));
        Self { ends, columns, values: Vec::with_capacity(2 * n_rows) }
    }

    /// Returns the range of the candidates of each row.
    fn rows(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut from = 0;
        self.ends.iter().map(move |&to| std::mem::replace(&mut from, to as usize)..to as usize)
    }
}

impl Candidates {
    pub(super) fn new(n_rows: usize, d: usize, rule: &Regulariser) -> Self {
        let bar = match rule.threshold {
            Threshold::Relative => Bar { share: rule.amount, floor: 0.0 },
            Threshold::Absolute => Bar { share: 0.0, floor: rule.amount },
            Threshold::Density => Bar { share: least_share(rule.amount, d), floor: 0.0 },
        };
        Self { blocks: Vec::new(), largest: vec![0.0; n_rows], bar }
    }

    /// Adds the candidates that [`select`] found in the rows of the next block.
    pub(super) fn push(&mut self, pieces: Vec<CandidatePiece>) {
        self.blocks.push(pieces);
    }

    /// Returns the candidates of one piece of rows, block by block, with the first column of the block.
    fn piece(&self, piece: usize) -> impl Iterator<Item = (u16, &CandidatePiece)> {
        (0u16..).step_by(WIDTH).zip(self.blocks.iter().map(move |block| &block[piece]))
    }

    /// Computes l_u = theta S(o_u, t_u) / |S(o_u, t_u)| from the candidates that pass.
    pub(super) fn finish(self, d: usize, rule: &Regulariser) -> (Latent, Half) {
        let cuts: Vec<usize> = self.blocks[0].iter().map(|piece| piece.ends.len()).collect();
        let share = match rule.threshold {
            Threshold::Density => {
                let counts = pieces_of(&cuts, &self.largest).into_par_iter().enumerate();
                let counts = counts.map(|(piece, largest)| {
                    let mut counts = ShareCounts::default();
                    largest.iter().for_each(|largest| counts.add_row(*largest));
                    for (_, block) in self.piece(piece) {
                        for (at, &largest) in block.rows().zip(largest) {
                            counts.add(&block.values[at], largest);
                        }
                    }
                    counts
                });
                ShareCounts::share(counts.collect(), rule.amount, d).max(self.bar.share)
            }
            _ => self.bar.share,
        };
        let thresholds: Vec<f32> =
            self.largest.iter().map(|largest| (share * largest).max(self.bar.floor)).collect();
        let thresholds = pieces_of(&cuts, &thresholds);
        // Count first, so that every row can be written directly to its place.
        let counts: Vec<Vec<u32>> = thresholds
            .par_iter()
            .enumerate()
            .map(|(piece, thresholds)| {
                let mut counts = vec![0u32; thresholds.len()];
                for (_, block) in self.piece(piece) {
                    for ((at, threshold), count) in block.rows().zip(*thresholds).zip(&mut counts) {
                        *count +=
                            block.values[at].iter().filter(|value| value.abs() > *threshold).count() as u32;
                    }
                }
                counts
            })
            .collect();
        let mut rows = SparseRows::of_counts(&counts.concat());
        let halves: Vec<Half> = rows
            .pieces(&cuts)
            .into_par_iter()
            .zip(&thresholds)
            .enumerate()
            .map(|(piece, ((offsets, columns, values), thresholds))| {
                let begin = offsets[0];
                let mut next: Vec<usize> = offsets.iter().map(|offset| (offset - begin) as usize).collect();
                for (first, block) in self.piece(piece) {
                    for ((at, threshold), next) in block.rows().zip(*thresholds).zip(&mut next) {
                        for at in at {
                            if block.values[at].abs() > *threshold {
                                columns[*next] = first + u16::from(block.columns[at]);
                                values[*next] = block.values[at];
                                *next += 1;
                            }
                        }
                    }
                }
                let mut half = Half::default();
                for (ends, threshold) in offsets.windows(2).zip(*thresholds) {
                    let values = &mut values[(ends[0] - begin) as usize..(ends[1] - begin) as usize];
                    shrink(values, *threshold, rule.theta, &mut half);
                }
                half
            })
            .collect();
        (Latent::Sparse(rows.into()), Half::sum(halves))
    }
}

/// Splits a slice that has an entry per row.
fn pieces_of<'a>(cuts: &[usize], mut all: &'a [f32]) -> Vec<&'a [f32]> {
    cuts.iter().map(|&n| all.split_off(..n).expect("as many entries as rows")).collect()
}

/// Replaces the entries o of one row that exceed the threshold by theta S(o, t) / |S(o, t)|.
pub(super) fn shrink(row: &mut [f32], threshold: f32, theta: f32, half: &mut Half) {
    let (mut squares, mut product, mut absolute) = (0f64, 0f64, 0f64);
    for entry in row.iter_mut() {
        let size = entry.abs();
        let left = size - threshold;
        squares += f64::from(left) * f64::from(left);
        product += f64::from(left) * f64::from(size);
        absolute += f64::from(left);
        *entry = left.copysign(*entry);
    }
    if squares > 0.0 {
        let scale = f64::from(theta) / squares.sqrt();
        row.iter_mut().for_each(|entry| *entry = (f64::from(*entry) * scale) as f32);
        half.trace += scale * product;
        half.penalty += f64::from(threshold) * scale * absolute;
        half.nnz += row.len() as u64;
    }
}

/// Selects the entries of a piece of rows that may pass, and updates the largest entry of each row.
pub(super) fn select(largest: &mut [f32], rows: &[Lanes], bar: Bar) -> CandidatePiece {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has these instructions.
        return unsafe { select_avx512(largest, rows, bar) };
    }
    select_plain(largest, rows, bar)
}

vectorised! {
    fn select_plain(largest: &mut [f32], rows: &[Lanes], bar: Bar) -> CandidatePiece {
        let mut piece = CandidatePiece::of(rows.len());
        for (largest, row) in largest.iter_mut().zip(rows) {
            let most = row.largest();
            if most > *largest {
                *largest = most;
            }
            let bar = (bar.share * *largest).max(bar.floor);
            if most > bar {
                let passing = |(_, value): &(u8, &f32)| value.abs() > bar;
                for (lane, &value) in (0..).zip(&row.0).filter(passing) {
                    piece.columns.push(lane);
                    piece.values.push(value);
                }
            }
            piece.ends.push(piece.columns.len() as u32);
        }
        piece.columns.shrink_to_fit();
        piece.values.shrink_to_fit();
        piece
    }
}

/// Selects sixteen lanes at a time; the lanes that pass are compressed.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
fn select_avx512(largest: &mut [f32], rows: &[Lanes], bar: Bar) -> CandidatePiece {
    use std::arch::x86_64::*;
    const { assert!(WIDTH == 32) };
    let mut piece = CandidatePiece::of(rows.len());
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (largest, row) in largest.iter_mut().zip(rows) {
        // SAFETY: a row has 32 values.
        let halves = unsafe { [_mm512_loadu_ps(row.0.as_ptr()), _mm512_loadu_ps(row.0.as_ptr().add(16))] };
        let sizes = halves.map(|half| _mm512_abs_ps(half));
        let most = _mm512_reduce_max_ps(_mm512_max_ps(sizes[0], sizes[1]));
        if most > *largest {
            *largest = most;
        }
        let bar = (bar.share * *largest).max(bar.floor);
        if most > bar {
            piece.columns.reserve(WIDTH);
            piece.values.reserve(WIDTH);
            let bar = _mm512_set1_ps(bar);
            for (half, first) in [0, 16].into_iter().enumerate() {
                let passing = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(sizes[half], bar);
                let columns = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
                let n = piece.columns.len();
                // SAFETY: there is room for sixteen more entries than have been written so far; only those that pass
                // are counted, after they have been written.
                unsafe {
                    let columns = _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(passing, columns));
                    _mm_storeu_si128(piece.columns.as_mut_ptr().add(n).cast(), columns);
                    let values = _mm512_maskz_compress_ps(passing, halves[half]);
                    _mm512_storeu_ps(piece.values.as_mut_ptr().add(n), values);
                    let n = n + passing.count_ones() as usize;
                    piece.columns.set_len(n);
                    piece.values.set_len(n);
                }
            }
        }
        piece.ends.push(piece.columns.len() as u32);
    }
    piece.columns.shrink_to_fit();
    piece.values.shrink_to_fit();
    piece
}

/// Lower bound of the share that a density can correspond to, so that not all entries must be kept until the share is
/// known. It is 0.7 of the share of the largest of d normal numbers that `density * d` of them exceed.
pub(super) fn least_share(density: f32, d: usize) -> f32 {
    // P(|z| > t) = density, and the largest of d exceeds t with P(|z| > t) = 1 / d.
    let quantile = |p: f64| {
        let (mut low, mut high) = (0.0, 10.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if libm::erfc(middle / std::f64::consts::SQRT_2) > p { low = middle } else { high = middle }
        }
        low
    };
    let share = quantile(f64::from(density)) / quantile(1.0 / d.max(2) as f64).max(1e-3);
    0.7 * share.min(1.0) as f32
}

/// Histogram of entries by their share of the largest entry of their row.
pub(super) struct ShareCounts {
    counts: Vec<u64>,
    n_rows: u64,
}

impl Default for ShareCounts {
    fn default() -> Self {
        Self { counts: vec![0; Self::BINS], n_rows: 0 }
    }
}

impl ShareCounts {
    const BINS: usize = 1 << 12;

    /// Counts a row.
    pub(super) fn add_row(&mut self, largest: f32) {
        self.n_rows += u64::from(largest > 0.0);
    }

    /// Counts entries of a row.
    pub(super) fn add(&mut self, entries: &[f32], largest: f32) {
        if largest > 0.0 {
            for value in entries {
                let bin = (value.abs() / largest * Self::BINS as f32) as usize;
                self.counts[bin.min(Self::BINS - 1)] += 1;
            }
        }
    }

    /// Returns the share that `density` of all entries exceed.
    pub(super) fn share(pieces: Vec<Self>, density: f32, d: usize) -> f32 {
        let n_rows: u64 = pieces.iter().map(|piece| piece.n_rows).sum();
        let wanted = (f64::from(density) * d as f64 * n_rows as f64) as u64;
        let mut above = 0;
        for bin in (0..Self::BINS).rev() {
            above += pieces.iter().map(|piece| piece.counts[bin]).sum::<u64>();
            if above > wanted {
                return (bin + 1) as f32 / Self::BINS as f32;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_do_what_the_plain_loop_does() {
        let value = |at: usize| ((at * at) as f32 * 0.37).sin() * (1 + at % 5) as f32;
        let rows: Vec<Lanes> = (0..50)
            .map(|row| Lanes(std::array::from_fn(|lane| if row == 7 { 0.0 } else { value(32 * row + lane) })))
            .collect();
        for bar in
            [Bar { share: 0.5, floor: 0.0 }, Bar { share: 0.0, floor: 2.0 }, Bar { share: 0.0, floor: 0.0 }]
        {
            let (mut largest, mut plain_largest) = (vec![1.0; 50], vec![1.0; 50]);
            let found = select(&mut largest, &rows, bar);
            let expected = select_plain(&mut plain_largest, &rows, bar);
            assert_eq!(largest, plain_largest);
            assert_eq!((found.ends, found.columns), (expected.ends, expected.columns));
            assert_eq!(found.values, expected.values);
            assert!(expected.values.len() > 50);
        }
    }
}
