//! One file per verb: its arguments, and `run`, which reads top-down.

pub(crate) mod eval;
pub(crate) mod ingest;
pub(crate) mod rank;
pub(crate) mod train;
pub(crate) mod simulate;
