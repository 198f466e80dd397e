//! A matrix that is never formed, multiplied with blocks of latent columns.

use super::Csr;
use super::lanes::{Block, Lanes};

/// Direction of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// W L_y: a row for every feature of a query.
    X,
    /// W' L_x: a row for every feature of a document.
    Y,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::X => Self::Y,
            Self::Y => Self::X,
        }
    }
}

/// W as an operator on blocks of latent columns.
pub(crate) trait Operator: Sync {
    /// Number of rows of a side: its features that occur.
    fn n_rows(&self, side: Side) -> usize;

    /// Returns the original feature number of each row of a side, and the total number of features.
    fn features(&self, side: Side) -> (&[u32], usize);

    /// Returns the factors of the product towards a side, if W is factored.
    fn chain(&self, to: Side) -> Option<Chain<'_>>;

    /// Prepares for many products towards `to` with scaled rows of the other side: row v counts `scale[v]` times.
    fn scaled(&self, to: Side, scale: Option<&[f32]>) -> Scaled;

    /// Computes `W block` (towards [`Side::X`]) or `W' block` (towards [`Side::Y`]) and stores it in `out`, if given.
    /// As soon as some rows are done, `look` sees them with their `state`; its results are returned in the order of the
    /// rows.
    fn multiply<S: Send, T: Send>(
        &self,
        scaled: &Scaled,
        block: Block<'_>,
        scratch: &mut Scratch,
        out: Option<&mut [Lanes]>,
        state: &mut [S],
        look: impl Fn(&mut [S], &[Lanes]) -> T + Sync,
    ) -> Vec<T>;
}

/// A product in three steps, each a sum of products with earlier results. If W is centered, `shift[row]` times the mean
/// of the rows of the queries is subtracted.
pub(crate) struct Chain<'a> {
    /// Factor applied to L.
    pub(crate) first: &'a Csr,
    /// Factors applied to the first result, and to L.
    pub(crate) second: (&'a Csr, Option<&'a Csr>),
    /// Factors applied to the second result, and to the first.
    pub(crate) third: (&'a Csr, Option<&'a Csr>),
    pub(crate) shift: Option<&'a [f32]>,
    /// True if the rows of the first result are the queries; otherwise those of the second are.
    pub(crate) queries_first: bool,
}

/// Scaled values for repeated products; see [`Operator::scaled`].
pub(crate) struct Scaled {
    pub(crate) to: Side,
    pub(crate) values: [Vec<f32>; 2],
}

/// Buffers between the factors of a product, reused by the next product.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) queries: Vec<Lanes>,
    pub(crate) documents: Vec<Lanes>,
}
