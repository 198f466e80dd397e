//! Half an iteration: computes all rows of one side from those of the other.
//!
//! Three algorithms, which find the same rows:
//!
//! | case | algorithm |
//! |---|---|
//! | no threshold | dense blocks; the norm of a row is known after the last block and kept as its scale |
//! | thresholded rows | dense blocks; entries that may pass the threshold are kept ([`candidates`](super::candidates)) |
//! | input rows with few entries | row by row, everything sparse ([`sparse`](super::sparse)) |

use rayon::prelude::*;

use super::Threshold;
use super::candidates::{Candidates, select};
use super::latent::{Cursor, Latent, Start};
use super::sparse;
use crate::matching::SparseRows;
use crate::matching::operator::{Block, Lanes, Operator, Scratch, Side, WIDTH, add_squares};

/// Input of half an iteration.
pub(super) enum Input<'a> {
    Start(&'a Start<'a>),
    Latent(&'a Latent),
}

/// Regularisation of the rows.
pub(super) struct Regulariser {
    pub(super) threshold: Threshold,
    /// beta or gamma.
    pub(super) amount: f32,
    /// theta_x or theta_y.
    pub(super) theta: f32,
}

/// Statistics of half an iteration.
#[derive(Default)]
pub(super) struct Half {
    /// sum_u l_u . o_u.
    pub(super) trace: f64,
    /// sum_u t_u |l_u|_1, t_u the threshold of the row.
    pub(super) penalty: f64,
    /// Number of non-zero entries.
    pub(super) nnz: u64,
}

impl Half {
    pub(super) fn sum(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut total = Self::default();
        for part in parts {
            total.trace += part.trace;
            total.penalty += part.penalty;
            total.nnz += part.nnz;
        }
        total
    }
}

/// Computes all rows of `to` from `input`, reusing the memory of `former`.
#[allow(clippy::too_many_arguments, reason = "the state of the iteration, which lives in one place")]
pub(super) fn half(
    operator: &impl Operator,
    to: Side,
    d: usize,
    input: &Input<'_>,
    rule: &Regulariser,
    scratch: &mut Scratch,
    former: Option<Latent>,
    advance: &dyn Fn(u64),
) -> (Latent, Half) {
    let n_blocks = d.div_ceil(WIDTH);
    let dense = rule.amount == 0.0 && rule.threshold != Threshold::Density;
    if !dense
        && let Input::Latent(Latent::Sparse(rows)) = input
        && let Some(chain) = operator.chain(to)
        && sparse::pays(&chain, rows, d)
    {
        drop(former);
        let found = sparse::half(&chain, rows, d, rule);
        advance(n_blocks as u64);
        return found;
    }
    let (scale, sparse_rows) = match input {
        Input::Latent(latent @ Latent::Dense { .. }) => (latent.scale(), None),
        Input::Latent(Latent::Sparse(rows)) => (None, Some(rows)),
        Input::Start(_) => (None, None),
    };
    let scaled = operator.scaled(to, scale);
    let mut source = BlockSource {
        input,
        sparse: sparse_rows.map(|rows| Sparse {
            rows,
            cursor: Cursor::new(rows),
            expanded: expanded(rows, operator.n_rows(to.other()), d),
        }),
        made: Vec::new(),
        features: operator.features(to.other()).0,
        d,
    };
    let n_rows = operator.n_rows(to);
    if dense {
        let mut blocks = match former {
            Some(Latent::Dense { blocks, .. }) => blocks,
            _ => (0..n_blocks * n_rows).into_par_iter().with_min_len(4096).map(|_| Lanes::ZERO).collect(),
        };
        let mut squares = vec![0f64; n_rows];
        for (block, out) in blocks.chunks_exact_mut(n_rows.max(1)).enumerate() {
            operator.multiply(&scaled, source.block(block), scratch, Some(out), &mut squares, add_squares);
            advance(1);
        }
        normalise(blocks, &squares, rule.theta, d)
    } else {
        drop(former);
        let mut candidates = Candidates::new(n_rows, d, rule);
        for block in 0..n_blocks {
            let bar = candidates.bar;
            let largest = &mut candidates.largest;
            let look = |largest: &mut [f32], rows: &[Lanes]| select(largest, rows, bar);
            let pieces = operator.multiply(&scaled, source.block(block), scratch, None, largest, look);
            candidates.push(pieces);
            advance(1);
        }
        candidates.finish(d, rule)
    }
}

/// Iterates over the blocks of an input.
struct BlockSource<'a> {
    input: &'a Input<'a>,
    sparse: Option<Sparse<'a>>,
    made: Vec<Lanes>,
    features: &'a [u32],
    d: usize,
}

/// Share of non-zero entries above which it is faster to gather zeros as well.
const EXPAND: f64 = 0.02;
/// Memory limit for more than one expanded block.
const EXPANDED_BYTES: usize = 256 << 20;

struct Sparse<'a> {
    rows: &'a SparseRows,
    cursor: Cursor,
    /// The next blocks, expanded with their zeros; empty if rows stay sparse.
    expanded: Vec<Vec<Lanes>>,
}

/// Allocates expanded blocks, if the rows have enough entries.
fn expanded(rows: &SparseRows, n_rows: usize, d: usize) -> Vec<Vec<Lanes>> {
    let pays = rows.columns.len() as f64 > EXPAND * (n_rows * d) as f64;
    // Several blocks at a time, so that the rows are read less often.
    let n_blocks = (EXPANDED_BYTES / (n_rows * size_of::<Lanes>()).max(1)).clamp(1, 4);
    vec![Vec::new(); if pays { n_blocks } else { 0 }]
}

impl BlockSource<'_> {
    fn block(&mut self, block: usize) -> Block<'_> {
        match (self.input, &mut self.sparse) {
            (Input::Latent(Latent::Dense { blocks, scale }), _) => {
                Block::Dense(&blocks[block * scale.len()..][..scale.len()])
            }
            (Input::Start(start), _) => {
                start.block(block, self.d, self.features, &mut self.made);
                Block::Dense(&self.made)
            }
            (_, Some(Sparse { rows, cursor, expanded })) if !expanded.is_empty() => {
                let at = block % expanded.len();
                if at == 0 {
                    cursor.advance_dense(rows, block * WIDTH, expanded);
                }
                Block::Dense(&expanded[at])
            }
            (_, Some(Sparse { rows, cursor, .. })) => Block::Sparse(cursor.advance(rows, block * WIDTH)),
            (Input::Latent(Latent::Sparse(_)), None) => unreachable!("sparse rows have a cursor"),
        }
    }
}

/// Computes l_u = theta o_u / |o_u|.
fn normalise(blocks: Vec<Lanes>, squares: &[f64], theta: f32, d: usize) -> (Latent, Half) {
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
