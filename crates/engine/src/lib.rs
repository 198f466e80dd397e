//! The heavy parts of matchrank, one deep module each.
//!
//! | module | what it holds |
//! |---|---|
//! | [`doctor`] | what is wrong or suspicious with a file, with line numbers and a fix |
//! | [`files`] | reading plain, gzip and zstd files; writing through a temporary name |

pub mod doctor;
pub mod files;

pub use matchrank_core::{Error, Result};
