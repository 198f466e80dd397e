//! The heavy parts of matchrank, one deep module each.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | reading plain, gzip and zstd files; writing through a temporary name |
//! | [`text`] | text into tokens, tokens into sparse vectors; the same code in training and serving |

pub mod files;
pub mod text;

pub use matchrank_core::{Error, Result};
