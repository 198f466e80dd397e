//! The mathematics of matchrank.
//!
//! | module | contents |
//! |---|---|
//! | [`bounds`] | bounds on the gap between a matching model's objective and its expectation |
//! | [`data`] | judgments, runs and feature lists, and the parsers of their bytes |
//! | [`linalg`] | sparse matrices and their products |
//! | [`matching`] | models that score a query against a document |
//! | [`measure`] | ranking measures in several dialects, and significance tests |
//! | [`message`] | numbers in messages |
//! | [`ranking`] | models that order the documents of a query by their features |
//! | [`simulate`] | data with the statistics of the papers |
//! | [`progress`] | progress reports of long computations to their caller |
//!
//! Nothing here opens a file, prints, or starts a thread pool of its own.

pub mod bounds;
pub mod data;
mod error;
pub mod linalg;
pub mod matching;
pub mod measure;
pub mod message;
pub mod progress;
pub mod ranking;
pub mod simulate;
mod solve;

pub use error::{Error, Result, explained};

/// Code of the book's page on the library, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/library.md")]
struct Book;
