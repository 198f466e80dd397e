//! One file per verb: its arguments, and `run`, which reads top-down.

pub(crate) mod doctor;
pub(crate) mod eval;
