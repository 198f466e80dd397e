//! Linear algebra below everything else: sparse matrices, products, vector instructions.

mod bytes;
mod csr;
mod dots;
mod lanes;
mod operator;
pub(crate) mod simd;
mod sparse_row;

pub use bytes::{ByteQuery, ByteRows};
pub use csr::{Csr, CsrBuilder};
pub(crate) use dots::dot_f64;
pub use dots::{dot, dots};
pub(crate) use lanes::{Block, Cuts, Lanes, SparseBlock, Term, WIDTH, add_squares};
pub(crate) use operator::{Chain, Operator, Scaled, Scratch, Side};
pub use sparse_row::SparseRow;
