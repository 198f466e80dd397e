//! Judgments, runs and feature lists, and the parsers of their bytes.

mod feature_lists;
mod feature_matrix;
mod feature_rows;
pub mod letor;
mod names;

pub use feature_lists::{FeatureLists, List};
pub use feature_matrix::{FeatureMatrix, FeatureRow};
pub use feature_rows::FeatureRows;
