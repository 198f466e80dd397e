//! Simulated data with the statistics of the papers.
//!
//! | module | output |
//! |---|---|
//! | [`clicks`] | a search engine's click log with texts, positions and graded judgments |
//! | [`query_dependent`] | feature lists that each query orders in its own way |

pub mod clicks;
pub mod query_dependent;
