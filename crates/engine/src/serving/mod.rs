//! Documents and models that answer single queries: what a service holds in memory.
//!
//! ```text
//! Dataset -> Collection ------------- with(changes) --> Collection      a snapshot of the documents
//!               |                                          |
//! model  ->  Served ----------------- rebound ---------> Served         a model bound to a snapshot
//!               |-> top, score, explain
//! ```
//!
//! A [`Collection`] never changes: changes of documents make another one, which shares nearly everything with the first. Its
//! documents are those of a dataset and, after them, those that were added or changed since, in a few chunks. A chunk is
//! bound to a model once; a changed document hides its former version, and a removed one is hidden.
//!
//! Statistics, such as document frequencies, are those of the model, so a new document has the score that it would have in a
//! dataset. A document that changed keeps its clicks; one that is new has none. RM3 takes words from documents of the dataset
//! alone, and a combination takes means over hidden documents, too.

mod base;
mod collection;
mod filter;
mod served;
mod view;

pub use collection::{Collection, DocumentChange};
pub use filter::{Allowed, Filter};
pub use served::{Candidate, Served};
