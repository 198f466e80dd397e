//! L of one side while it is learned: blocks of latent columns, dense or sparse.

use rayon::prelude::*;

use crate::Result;
use crate::matching::operator::{Block, Lanes, SparseBlock, WIDTH};
use crate::matching::{Factor, Rows};

/// Rows of one side, by blocks of columns.
pub(super) enum Latent {
    /// Row i is `scale[i]` times what the blocks hold.
    Dense { blocks: Vec<Vec<Lanes>>, scale: Vec<f32> },
    /// Rows as they are.
    Sparse { blocks: Vec<SparseBlock> },
}

impl Latent {
    pub(super) fn scale(&self) -> Option<&[f32]> {
        match self {
            Self::Dense { scale, .. } => Some(scale),
            Self::Sparse { .. } => None,
        }
    }

    pub(super) fn block(&self, block: usize) -> Block<'_> {
        match self {
            Self::Dense { blocks, .. } => Block::Dense(&blocks[block]),
            Self::Sparse { blocks } => Block::Sparse(&blocks[block]),
        }
    }

    /// One row, d numbers.
    pub(super) fn row(&self, row: usize, d: usize) -> Vec<f32> {
        let mut values = vec![0.0; d];
        self.row_into(row, &mut values);
        values
    }

    fn row_into(&self, row: usize, values: &mut [f32]) {
        match self {
            Self::Dense { blocks, scale } => {
                for (part, block) in values.chunks_mut(WIDTH).zip(blocks) {
                    for (value, lane) in part.iter_mut().zip(block[row].0) {
                        *value = lane * scale[row];
                    }
                }
            }
            Self::Sparse { blocks } => {
                for (part, block) in values.chunks_mut(WIDTH).zip(blocks) {
                    for at in block.offsets[row] as usize..block.offsets[row + 1] as usize {
                        part[usize::from(block.columns[at])] = block.values[at];
                    }
                }
            }
        }
    }

    /// As a factor: `features` names the feature of each row, of `n_features`.
    pub(super) fn to_factor(&self, d: usize, features: &[u32], n_features: usize) -> Result<Factor> {
        let mut row_of = vec![Factor::NONE; n_features];
        features.iter().zip(0..).for_each(|(&feature, row)| row_of[feature as usize] = row);
        let rows = match self {
            Self::Dense { .. } => {
                let mut values = vec![0.0; features.len() * d];
                values.par_chunks_mut(d).enumerate().for_each(|(row, values)| self.row_into(row, values));
                Rows::Dense(values)
            }
            Self::Sparse { blocks } => {
                let mut offsets = vec![0u64];
                let n: usize = blocks.iter().map(|block| block.columns.len()).sum();
                let (mut columns, mut values) = (Vec::with_capacity(n), Vec::with_capacity(n));
                for row in 0..features.len() {
                    for (first, block) in (0..).step_by(WIDTH).zip(blocks) {
                        let at = block.offsets[row] as usize..block.offsets[row + 1] as usize;
                        columns.extend(
                            block.columns[at.clone()].iter().map(|&column| first + u16::from(column)),
                        );
                        values.extend_from_slice(&block.values[at]);
                    }
                    offsets.push(columns.len() as u64);
                }
                Rows::Sparse { offsets, columns, values }
            }
        };
        Factor::new(d, row_of, rows)
    }
}

/// Where L_y starts.
pub(super) enum Start<'a> {
    /// Independent uniform numbers from -1 to 1, made when a block is needed and never stored.
    Random { seed: u64 },
    /// The rows of a factor; features it does not have start at zero.
    Given(&'a Factor),
}

impl Start<'_> {
    /// A block of the start for the rows of these features.
    pub(super) fn block(&self, block: usize, d: usize, features: &[u32], out: &mut Vec<Lanes>) {
        out.resize(features.len(), Lanes::ZERO);
        let width = WIDTH.min(d - block * WIDTH);
        match self {
            Self::Random { seed } => {
                let seed = mix(seed ^ mix(block as u64));
                out.par_iter_mut().zip(features).with_min_len(4096).for_each(|(lanes, &feature)| {
                    let mut state = mix(seed ^ u64::from(feature));
                    for pair in lanes.0.chunks_exact_mut(2) {
                        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                        let bits = mix(state);
                        pair[0] = (bits as i32) as f32 / (1u32 << 31) as f32;
                        pair[1] = ((bits >> 32) as i32) as f32 / (1u32 << 31) as f32;
                    }
                    lanes.0[width..].fill(0.0);
                });
            }
            Self::Given(factor) => {
                let mut row = vec![0.0; factor.d()];
                for (lanes, &feature) in out.iter_mut().zip(features) {
                    row.fill(0.0);
                    factor.add(feature, 1.0, &mut row);
                    *lanes = Lanes::ZERO;
                    lanes.0[..width].copy_from_slice(&row[block * WIDTH..][..width]);
                }
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
