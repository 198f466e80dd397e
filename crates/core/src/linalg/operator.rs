//! A matrix that is never formed, as something to multiply blocks of latent columns with.

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

/// W, to multiply blocks of latent columns with.
pub(crate) trait Operator: Sync {
    /// Rows of a side: its features that occur.
    fn n_rows(&self, side: Side) -> usize;

    /// The feature, as the data number them, of each row of a side, and how many features there are.
    fn features(&self, side: Side) -> (&[u32], usize);

    /// The factors of the product towards a side, where there are factors.
    fn chain(&self, to: Side) -> Option<Chain<'_>>;

    /// Gets ready for many products towards `to` with rows of the other side scaled: row v counts
    /// `scale[v]` times.
    fn scaled(&self, to: Side, scale: Option<&[f32]>) -> Scaled;

    /// `W block` (towards [`Side::X`]) or `W' block` (towards [`Side::Y`]), stored in `out` if there is one.
    /// As soon as some rows are done, `look` sees them with their `state`; what it found is returned in the
    /// order of the rows.
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

/// A product in three steps, each a sum of products with the results before it; less `shift[row]` times the
/// mean of the rows of the queries, where it is centered.
pub(crate) struct Chain<'a> {
    /// With L.
    pub(crate) first: &'a Csr,
    /// With the first result, and with L.
    pub(crate) second: (&'a Csr, Option<&'a Csr>),
    /// With the second result, and with the first.
    pub(crate) third: (&'a Csr, Option<&'a Csr>),
    pub(crate) shift: Option<&'a [f32]>,
    /// True if the rows of the first result are the queries; otherwise those of the second are.
    pub(crate) queries_first: bool,
}

/// See [`Operator::scaled`].
pub(crate) struct Scaled {
    pub(crate) to: Side,
    pub(crate) values: [Vec<f32>; 2],
}

/// Memory between the factors of a product, kept from one to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) queries: Vec<Lanes>,
    pub(crate) documents: Vec<Lanes>,
}
