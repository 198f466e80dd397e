//! The heavy parts of matchrank, one deep module each.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | reading plain, gzip and zstd files; writing through a temporary name |
//! | [`matching`] | models that score text against text: core's models with the words they know |
//! | [`model_file`] | models in safetensors files, checked and versioned |
//! | [`retrieval`] | the best documents of a whole collection for a query, by BM25 |
//! | [`text`] | text into tokens, tokens into sparse vectors; the same code in training and serving |

pub mod files;
pub mod matching;
pub mod model_file;
pub mod retrieval;
pub mod text;

pub use matchrank_core::{Error, Result};
