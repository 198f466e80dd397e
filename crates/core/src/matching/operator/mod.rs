//! W, the matrix every bilinear model shares, as something to multiply with.
//!
//! W = (1/n) sum_i (1/n_i) sum_j r_ij x_i y_ij', over the n queries that have a response, n_i documents
//! answering query i; centered, W - mean(x) mean(y')' with y'_i = (1/n_i) sum_j r_ij y_ij.
//!
//! **Factored.** W = X' H R_n Y with R_n = diag(1/(n n_i)) R, and H = I - 11'/n where it is centered, the
//! identity where it is not: subtracting the mean over the queries in the middle of the product is all
//! there is to centering. W itself, many times larger than its factors, is never formed. Documents that
//! answer one query only, which are most, are not worth a step of their own: their features go straight to
//! that query, R_n Y = R_s Y_s + M with the documents s that several queries share.
//!
//! **Formed.** W as a sparse matrix, summed up elsewhere from as many clicks as there are: Algorithm 1 of
//! the papers. Centering is the rank-one correction.
//!
//! Rows are renumbered inside: features without a query (document) are left out, queries and documents
//! come in the order of a breadth-first walk over the click graph and features in the order in which those
//! first need them, so that what is used together lies together.

mod factored;
mod formed;
mod lanes;

pub(crate) use factored::{Factored, compact};
pub(crate) use formed::Formed;
pub(crate) use lanes::{Block, Lanes, SparseBlock, WIDTH, add_squares};

use crate::matching::Csr;

/// Which product.
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
    /// Whether the rows of the first result are the queries, or those of the second.
    pub(crate) queries_first: bool,
}

/// See [`Operator::scaled`].
pub(crate) struct Scaled {
    pub(crate) to: Side,
    values: [Vec<f32>; 2],
}

/// Memory between the factors of a product, kept from one to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    queries: Vec<Lanes>,
    documents: Vec<Lanes>,
}
