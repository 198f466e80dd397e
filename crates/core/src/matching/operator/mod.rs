//! The matrix W of every bilinear model, as an operator to multiply with.
//!
//! W = (1/n) sum_i (1/n_i) sum_j r_ij x_i y_ij', over the n queries that have a response, n_i documents
//! answering query i; centered, W - mean(x) mean(y')' with y'_i = (1/n_i) sum_j r_ij y_ij.
//!
//! **Factored.** W = X' H R_n Y with R_n = diag(1/(n n_i)) R. H is I - 11'/n if W is centered and the identity if not:
//! centering only means subtracting the mean over the queries in the middle of the product. W itself, many times larger
//! than its factors, is never formed. Most documents answer one query only and are not worth a step of their own. Their
//! features go straight to that query: R_n Y = R_s Y_s + M, where s are the documents that several queries share.
//!
//! **Formed.** W as a sparse matrix, aggregated elsewhere from any number of clicks: Algorithm 1 of the papers.
//! Centering is the rank-one correction.
//!
//! Rows are renumbered internally. Features without a query (document) are left out. Queries and documents follow a
//! breadth-first walk over the click graph, and features are numbered in order of first use, so that data that is used
//! together is close in memory.

mod factored;
mod formed;

pub(crate) use crate::linalg::{
    Block, Chain, Lanes, Operator, Scratch, Side, SparseBlock, WIDTH, add_squares,
};
pub(crate) use factored::{Factored, compact};
pub(crate) use formed::Formed;
