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

pub(crate) use crate::linalg::{
    Block, Chain, Lanes, Operator, Scratch, Side, SparseBlock, WIDTH, add_squares,
};
pub(crate) use factored::{Factored, compact};
pub(crate) use formed::Formed;
