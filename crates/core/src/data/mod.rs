//! Judgments, runs and feature lists, and the parsers of their bytes.

pub(crate) mod columns;
pub(crate) mod documents;
mod feature_lists;
mod feature_matrix;
mod feature_rows;
mod growing_matrix;
pub mod letor;
mod names;
pub mod qrels;
pub mod run;

pub use feature_lists::{FeatureLists, List};
pub use feature_matrix::{FeatureMatrix, FeatureRow};
pub use feature_rows::{FeatureRows, HIGHEST_FEATURE};
