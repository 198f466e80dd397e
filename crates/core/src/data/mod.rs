//! Judgments, runs and feature lists, and the parsers of their bytes.

pub(crate) mod columns;
pub(crate) mod documents;
pub mod qrels;
pub mod run;
