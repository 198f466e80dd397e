//! The service of matchrank: a live, learning ranker that loses nothing.
//!
//! | module | content |
//! |---|---|
//! | [`store`] | events and document changes on disk, acknowledged when durable |
//! | [`learning`] | events of clients, models that learn from them while serving, and the export back to `ingest` |

pub mod learning;
pub mod store;
