//! Models that score text against text: core's models together with the words they know.

mod text_bm25;

pub use text_bm25::{TermContribution, TextBm25};
