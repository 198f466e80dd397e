//! The heavy parts of matchrank, one deep module each.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | reading plain, gzip and zstd files; writing through a temporary name |

pub mod files;

pub use matchrank_core::{Error, Result};
