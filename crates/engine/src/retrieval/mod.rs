//! Search indexes: postings of every field and exact lengths, in a folder or in memory.
//!
//! A [`Retriever`](crate::models::bm25::Retriever) finds the best documents of an index by BM25.
//!
//! Postings are stored, compressed and mapped by tantivy, and scored here. Tantivy's own BM25 rounds the
//! length of a document to one byte and has k1 and b built in; scores that serve as features, and that a
//! person compares with an explanation, should be those of [`Bm25`](matchrank_core::matching::Bm25) for
//! any k1, b and field weights. They are, to the rounding of f32.
//!
//! The order is by score rounded to f32, descending, then by document number, ascending. Documents that
//! share no term with the query are not returned. A document's number is its place in the collection.

mod index;
mod of_dataset;
mod postings;
mod tokens;

pub use index::Index;
pub(crate) use index::Segment;
pub use of_dataset::index_of;
pub(crate) use postings::Postings;
