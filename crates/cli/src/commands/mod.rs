//! One file per command, with its arguments and `run`.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod features;
pub(crate) mod ingest;
pub(crate) mod inspect;
pub(crate) mod rank;
pub(crate) mod rankers;
pub(crate) mod reference;
pub(crate) mod refresh;
pub(crate) mod related;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod train;
pub(crate) mod tune;
pub(crate) mod update;
