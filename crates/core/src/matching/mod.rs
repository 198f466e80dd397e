//! Models that score a query against a document.
