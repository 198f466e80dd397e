//! Data with the statistics of the papers.
//!
//! | module | what it makes |
//! |---|---|
//! | [`clicks`] | a search engine's click log with texts, positions and graded judgments |

pub mod clicks;
