//! Simulated data: logs and lists with the statistics of the papers, and a shop with English words.
//!
//! | module | output |
//! |---|---|
//! | [`clicks`] | a search engine's click log with texts, positions and graded judgments |
//! | [`query_dependent`] | feature lists that each query orders in its own way |
//! | [`shop`] | a shop's products and click log, in English words |

pub mod clicks;
mod log_lines;
pub mod query_dependent;
mod random;
pub mod shop;
