//! Query-dependent rankers: core's functions with what is known of queries, learned when they are first asked for.
//!
//! | question | where |
//! |---|---|
//! | query features among the columns of the lists | [`QueryColumns`] |
//! | query features in a file of their own | [`QueryTable`] |
//! | how lambda is chosen | [`train_query_dependent`] |
//! | which training queries a query borrows from, and what it is served | [`QueryDependentModel`], [`Served`] |
//!
//! A model keeps its training lists. The function of a query is learned from the lists of its neighbours on first use,
//! which takes milliseconds, and kept. Query features are divided by their standard deviation over the training queries.

mod columns;
mod model;
mod table;
#[cfg(test)]
mod tests;
mod training;

pub use columns::{QueryColumns, standardised};
pub use model::{LambdaTrial, Parts, QueryDependentModel, QuerySource, Served, in_words};
pub use table::QueryTable;
pub use training::{QueryInput, train_query_dependent};
