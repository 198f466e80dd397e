//! One honest table: models trained and tuned on training and validation data, measured once on the test data.
//!
//! A comparison is a folder:
//!
//! ```text
//! comparison.json         the table: what was compared, and how it came out     Comparison
//! queries.json            the test queries                                      TestQuery
//! results/NAME.json       one model: its row, and its figures query by query    Entry
//! models/NAME.model       the model that was measured
//! chosen/NAME.model       the same before it was trained again, where that was asked for
//! runs/NAME.run           its ranking of the test queries, as a TREC run
//! traces/NAME.jsonl       what was tried on the validation data, one trial a line
//! ```
//!
//! Over folds of feature lists every fold has a model and a trace of its own, `models/NAME.fold1.model` and
//! `traces/NAME.fold1.jsonl`, and `runs/NAME.run` has the queries of all folds, each ranked by the model of its fold.
//!
//! A result is kept by a hash of all that it depends on (the content of the dataset, the model and its settings, what
//! to tune, the seed, the version of the program), so that a model is trained again only when one of these changes.

mod advice;
pub(crate) mod bootstrap;
mod choice;
mod course;
mod curves;
mod folds;
mod making;
mod measuring;
mod models;
mod plan;
mod plan_file;
mod refit;
mod remaining;
mod results;
mod significance;
#[cfg(test)]
mod tests;

pub use choice::{Choice, FasterModel, Lead, UnseenLoss};
pub use course::Course;
pub use folds::{Folds, PlannedRanker, Rankers, compare_folds};
pub use models::{Data, compare};
pub use plan::{FEW_QUERIES, FOLDS, Plan, Planned, What};
pub use results::{
    BinFigures, Compared, Comparison, DataSummary, Entry, Figures, Latency, MeanOver, Protocol, TestQuery,
};
