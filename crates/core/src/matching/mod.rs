//! Models that score a query against a document.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bm25`] | the probabilistic baseline every search engine starts from |
//! | [`random_walk`] | the backward walk on the click graph |
//! | [`tf_idf`] | weights of terms in sparse text vectors |
//! | [`bilinear`] | f(x, y) = x' L_x L_y' y, the form of PLS, RMLS and LSI |
//! | [`lsi`] | latent semantic indexing, of documents and words or of clicks |
//! | [`pls`] | partial least squares: the singular vectors of the covariance |
//! | [`rmls`] | regularized mapping to latent structures |
//! | [`ssi`] | supervised semantic indexing: latent rows and the identity, learned from preferences |
//! | [`svd_feature`] | feature-based matrix factorisation of the responses |
//! | [`sparse_preference`] | f(q, d) = q' W d, W sparse, learned from preferences |

pub mod bilinear;
pub mod bm25;
mod click_graph;
mod csr;
mod descent;
mod dots;
mod factor;
#[cfg(test)]
mod golden;
pub mod lsi;
pub(crate) mod operator;
pub mod pls;
pub mod random_walk;
pub mod rmls;
pub mod sparse_preference;
mod sparse_row;
pub mod ssi;
pub mod svd_feature;
pub mod tf_idf;

pub use bilinear::{Biases, Bilinear, Mapping, PairContribution};
pub use bm25::{Bm25, Bm25Params};
pub use click_graph::ClickGraph;
pub use csr::{Csr, CsrBuilder};
pub use dots::{dot, dots};
pub use factor::{Factor, Rows, SparseRows};
pub use lsi::LsiParams;
pub use pls::PlsParams;
pub use random_walk::{RandomWalk, RandomWalkParams, Walker};
pub use rmls::RmlsParams;
pub use sparse_preference::PreferenceParams;
pub use sparse_row::SparseRow;
pub use ssi::SsiParams;
pub use svd_feature::SvdFeatureParams;
pub use tf_idf::{TfIdf, TfIdfParams};
