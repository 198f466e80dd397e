//! Routes of other services, with their requests and responses, so that their clients work unchanged.

pub(crate) mod cohere;
pub(crate) mod metarank;
pub(crate) mod tei;
