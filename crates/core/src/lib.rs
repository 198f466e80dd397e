//! The mathematics of matchrank.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bounds`] | how far a matching model's objective can be from its expectation |
//! | [`data`] | judgments, runs and feature lists, and the parsers of their bytes |
//! | [`matching`] | models that score a query against a document |
//! | [`measure`] | what a ranking is worth, in several dialects, and whether a difference is real |
//! | [`message`] | numbers in messages |
//! | [`ranking`] | models that order the documents of a query by their features |
//! | [`simulate`] | data with the statistics of the papers |
//! | [`progress`] | how long work tells its caller where it stands |
//!
//! Nothing here opens a file, prints, or starts a thread pool of its own.

pub mod bounds;
pub mod data;
mod error;
pub mod matching;
pub mod measure;
pub mod message;
pub mod progress;
pub mod ranking;
mod simd;
pub mod simulate;
mod solve;

pub use error::{Error, Result, explained};

/// Code of the book's page on the library, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/library.md")]
struct Book;
