//! From a dataset to a model: features, the solver of core, and what the validation judgments say.
//!
//! | model | function |
//! |---|---|
//! | RMLS | [`train_rmls`] |
//! | PLS | [`train_pls`] |
//! | LSI of the documents' words, of the clicks | [`train_lsi_dt`], [`train_lsi_qd`] |
//! | BLTM | [`train_bltm`] |
//! | SSI | [`train_ssi`] |
//! | SVDFeature | [`train_svd_feature`] |
//! | sparse preferences | [`train_preference`](preference::train_preference), [`update_preference`](preference::update_preference) |
//!
//! A [`Recipe`] is any of them by name and settings.
//!
//! BM25 and the random walk only count ([`TextBm25::of_dataset`](crate::matching::TextBm25::of_dataset),
//! [`WalkModel`](crate::matching::WalkModel)); combinations are
//! [tuned](crate::matching::Combination::tune).

mod bltm;
mod epochs;
mod judge;
pub mod preference;
mod recipe;
mod rmls;
pub mod settings;
mod singular;
mod ssi;
mod svd_feature;
#[cfg(test)]
mod tests;

pub use bltm::train_bltm;
pub use recipe::Recipe;
pub use rmls::train_rmls;
pub use singular::{train_lsi_dt, train_lsi_qd, train_pls};
pub use ssi::{SsiSettings, train_ssi};
pub use svd_feature::{SvdFeatureSettings, train_svd_feature};

fn plain<T: serde::Serialize>(params: &T) -> serde_json::Value {
    serde_json::to_value(params).expect("parameters are plain data")
}
