//! Half an iteration: all rows of one side from those of the other.
//!
//! Columns are worked on in blocks, so the norm of a row, and a threshold relative to its largest entry,
//! are known only after the last block. Dense rows keep the norm as a scale beside them. Sparse rows keep
//! every entry that may still pass: an entry below `share * (the largest so far)` is below `share` times
//! the largest of all, so a single pass over the blocks finds exactly the entries of the whole row.

use rayon::prelude::*;

use super::Threshold;
use super::latent::{Latent, Start};
use crate::matching::operator::{Block, Lanes, Operator, Scratch, Side, SparseBlock, WIDTH};

/// What half an iteration is made from.
pub(super) enum Input<'a> {
    Start(&'a Start<'a>),
    Latent(&'a Latent),
}

impl Input<'_> {
    /// A block of its columns, made in `made` where it is not stored.
    fn block<'b>(&'b self, block: usize, d: usize, features: &[u32], made: &'b mut Vec<Lanes>) -> Block<'b> {
        match self {
            Self::Start(start) => {
                start.block(block, d, features, made);
                Block::Dense(made)
            }
            Self::Latent(latent) => latent.block(block),
        }
    }
}

/// How rows are regularised.
pub(super) struct Rule {
    pub(super) threshold: Threshold,
    /// beta or gamma.
    pub(super) amount: f32,
    /// theta_x or theta_y.
    pub(super) theta: f32,
}

/// What half an iteration tells.
pub(super) struct Half {
    /// sum_u l_u . o_u.
    pub(super) trace: f64,
    /// sum_u t_u |l_u|_1, t_u the threshold of the row.
    pub(super) penalty: f64,
    /// Entries that are not zero.
    pub(super) nnz: u64,
}

/// Rows of one piece of work.
const PIECE: usize = 4096;

/// All rows of `to` from `input`. `former` gives its memory.
pub(super) fn half(
    operator: &impl Operator,
    to: Side,
    d: usize,
    input: &Input<'_>,
    rule: &Rule,
    scratch: &mut Scratch,
    former: Option<Latent>,
    advance: &dyn Fn(),
) -> (Latent, Half) {
    let scale = match input {
        Input::Start(_) => None,
        Input::Latent(latent) => latent.scale(),
    };
    let scaled = operator.scaled(to, scale);
    let n_blocks = d.div_ceil(WIDTH);
    let mut start = Vec::new();
    let (n_rows, features) = (operator.n_rows(to), operator.features(to.other()).0);
    if rule.amount == 0.0 && rule.threshold != Threshold::Density {
        let mut blocks = match former {
            Some(Latent::Dense { blocks, .. }) => blocks,
            _ => vec![vec![Lanes::ZERO; n_rows]; n_blocks],
        };
        let mut squares = vec![0f64; n_rows];
        for (block, out) in blocks.iter_mut().enumerate() {
            operator.multiply(
                &scaled,
                input.block(block, d, features, &mut start),
                scratch,
                out,
                &mut squares,
                |squares, rows| {
                    squares.iter_mut().zip(rows).for_each(|(sum, row)| *sum += f64::from(row.squares()));
                },
            );
            advance();
        }
        normalise(blocks, &squares, rule.theta, d)
    } else {
        drop(former);
        let mut candidates = Candidates::new(n_rows, d, rule);
        let mut out = vec![Lanes::ZERO; n_rows];
        for block in 0..n_blocks {
            let Candidates { largest, share, floor, .. } = &mut candidates;
            let (share, floor) = (*share, *floor);
            let pieces = operator.multiply(
                &scaled,
                input.block(block, d, features, &mut start),
                scratch,
                &mut out,
                largest,
                |largest, rows| select(largest, rows, share, floor),
            );
            candidates.push(pieces);
            advance();
        }
        candidates.finish(d, rule)
    }
}

/// l_u = theta o_u / |o_u|.
fn normalise(blocks: Vec<Vec<Lanes>>, squares: &[f64], theta: f32, d: usize) -> (Latent, Half) {
    let norm = |square: &f64| square.sqrt();
    let scale: Vec<f32> = squares
        .iter()
        .map(|square| if *square > 0.0 { (f64::from(theta) / norm(square)) as f32 } else { 0.0 })
        .collect();
    let half = Half {
        trace: f64::from(theta) * squares.iter().map(norm).sum::<f64>(),
        penalty: 0.0,
        nnz: squares.iter().filter(|square| **square > 0.0).count() as u64 * d as u64,
    };
    (Latent::Dense { blocks, scale }, half)
}

/// Entries that may pass the threshold of their row, block by block.
struct Candidates {
    blocks: Vec<SparseBlock>,
    /// The largest absolute entry of each row so far.
    largest: Vec<f32>,
    /// An entry must exceed `share` times the largest of its row, and `floor`.
    share: f32,
    floor: f32,
}

impl Candidates {
    fn new(n_rows: usize, d: usize, rule: &Rule) -> Self {
        let (share, floor) = match rule.threshold {
            Threshold::Relative => (rule.amount, 0.0),
            Threshold::Absolute => (0.0, rule.amount),
            Threshold::Density => (0.7 * expected_share(rule.amount, d), 0.0),
        };
        Self { blocks: Vec::new(), largest: vec![0.0; n_rows], share, floor }
    }

    fn push(&mut self, pieces: Vec<SparseBlock>) {
        let mut block = SparseBlock::default();
        let n: usize = pieces.iter().map(|piece| piece.columns.len()).sum();
        block.columns.reserve_exact(n);
        block.values.reserve_exact(n);
        block.offsets.reserve_exact(self.largest.len() + 1);
        block.offsets.push(0);
        for piece in pieces {
            let before = block.columns.len() as u32;
            block.offsets.extend(piece.offsets.iter().map(|end| before + end));
            block.columns.extend_from_slice(&piece.columns);
            block.values.extend_from_slice(&piece.values);
        }
        self.blocks.push(block);
    }

    /// l_u = theta S(o_u, t_u) / |S(o_u, t_u)|, with what is left of the candidates.
    fn finish(self, d: usize, rule: &Rule) -> (Latent, Half) {
        let Self { mut blocks, largest, .. } = self;
        let thresholds: Vec<f32> = match rule.threshold {
            Threshold::Relative => largest.iter().map(|largest| rule.amount * largest).collect(),
            Threshold::Absolute => vec![rule.amount; largest.len()],
            Threshold::Density => {
                let share = share_of_density(&blocks, &largest, rule.amount, d).max(self.share);
                largest.iter().map(|largest| share * largest).collect()
            }
        };
        // Per row: |S|^2, S . o, |S|_1 and entries.
        let mut sums = vec![[0f64; 3]; largest.len()];
        let mut counts = vec![0u32; largest.len()];
        sums.par_chunks_mut(PIECE).zip(counts.par_chunks_mut(PIECE)).enumerate().for_each(
            |(piece, (sums, counts))| {
                for block in &blocks {
                    for (k, (sum, count)) in sums.iter_mut().zip(counts.iter_mut()).enumerate() {
                        let row = piece * PIECE + k;
                        for at in block.offsets[row] as usize..block.offsets[row + 1] as usize {
                            let entry = f64::from(block.values[at].abs());
                            let left = entry - f64::from(thresholds[row]);
                            if left > 0.0 {
                                sum[0] += left * left;
                                sum[1] += left * entry;
                                sum[2] += left;
                                *count += 1;
                            }
                        }
                    }
                }
            },
        );
        let mut half = Half { trace: 0.0, penalty: 0.0, nnz: 0 };
        let mut scale = vec![0f32; largest.len()];
        for (row, [squares, product, absolute]) in sums.into_iter().enumerate() {
            if squares > 0.0 {
                let factor = f64::from(rule.theta) / squares.sqrt();
                scale[row] = factor as f32;
                half.trace += factor * product;
                half.penalty += f64::from(thresholds[row]) * factor * absolute;
                half.nnz += u64::from(counts[row]);
            }
        }
        blocks.par_iter_mut().for_each(|block| shrink(block, &thresholds, &scale));
        (Latent::Sparse { blocks }, half)
    }
}

/// Entries of a piece of rows that may pass, with `offsets` holding the end of each row.
fn select(largest: &mut [f32], rows: &[Lanes], share: f32, floor: f32) -> SparseBlock {
    let mut block = SparseBlock { offsets: Vec::with_capacity(rows.len()), ..Default::default() };
    for (largest, row) in largest.iter_mut().zip(rows) {
        let most = row.largest();
        if most > *largest {
            *largest = most;
        }
        let bar = (share * *largest).max(floor);
        if most > bar {
            for (column, &value) in (0u8..).zip(&row.0) {
                if value.abs() > bar {
                    block.columns.push(column);
                    block.values.push(value);
                }
            }
        }
        block.offsets.push(block.columns.len() as u32);
    }
    block
}

/// Replaces candidates by the scaled soft threshold S(o, t), in place.
fn shrink(block: &mut SparseBlock, thresholds: &[f32], scale: &[f32]) {
    let (mut kept, mut from) = (0, 0);
    for (row, (threshold, scale)) in thresholds.iter().zip(scale).enumerate() {
        let to = block.offsets[row + 1] as usize;
        for at in from..to {
            let value = block.values[at];
            let left = value.abs() - threshold;
            if left > 0.0 {
                block.columns[kept] = block.columns[at];
                block.values[kept] = left.copysign(value) * scale;
                kept += 1;
            }
        }
        from = to;
        block.offsets[row + 1] = kept as u32;
    }
    block.columns.truncate(kept);
    block.values.truncate(kept);
    block.columns.shrink_to_fit();
    block.values.shrink_to_fit();
}

/// The share of the largest of d normal numbers that `density * d` of them exceed.
fn expected_share(density: f32, d: usize) -> f32 {
    // P(|z| > t) = density, and the largest of d exceeds t with P(|z| > t) = 1 / d.
    let quantile = |p: f64| {
        let (mut low, mut high) = (0.0, 10.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if libm::erfc(middle / std::f64::consts::SQRT_2) > p { low = middle } else { high = middle }
        }
        low
    };
    (quantile(f64::from(density)) / quantile(1.0 / d.max(2) as f64).max(1e-3)).min(1.0) as f32
}

/// The share of its row's largest entry that `density` of all entries exceed.
fn share_of_density(blocks: &[SparseBlock], largest: &[f32], density: f32, d: usize) -> f32 {
    const BINS: usize = 1 << 12;
    let counts: Vec<[u64; BINS]> = blocks
        .par_iter()
        .map(|block| {
            let mut counts = [0; BINS];
            for (row, largest) in block.offsets.windows(2).zip(largest) {
                for value in &block.values[row[0] as usize..row[1] as usize] {
                    let bin = (value.abs() / largest * BINS as f32) as usize;
                    counts[bin.min(BINS - 1)] += 1;
                }
            }
            counts
        })
        .collect();
    let n_rows = largest.iter().filter(|largest| **largest > 0.0).count();
    let wanted = (f64::from(density) * d as f64 * n_rows as f64) as u64;
    let mut above = 0;
    for bin in (0..BINS).rev() {
        above += counts.iter().map(|counts| counts[bin]).sum::<u64>();
        if above > wanted {
            return (bin + 1) as f32 / BINS as f32;
        }
    }
    0.0
}
