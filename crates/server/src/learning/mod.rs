//! Events of clients, models that learn from them while serving, and the log as files.
//!
//! ```text
//! UBI, Metarank, our own form --parse_events--> LogEvent --> store --> LogLearner --> checkpoints
//!                                                              |
//!                                                              +--> export: clicks, documents, tuples, lists
//! ```
//!
//! - A search and its clicks become preferences by Joachims' rules once the search is over ([`SearchWindow`]). Sparse
//!   preferences learn from these, and from events that are preferences. Perceptrons learn from events that are lists.
//! - Everything that is learned follows from the log alone, in its order. No clock and no batch plays a part.

mod error;
mod event;
mod export;
mod fields;
mod following;
mod learner;
mod lessons;
mod metarank;
mod online_model;
mod own_form;
mod parsing;
mod searches;
#[cfg(test)]
mod tests;
mod ubi;

pub use error::LearningError;
pub use event::{DocumentAction, EventAction, LogEvent, SearchAction, ShownDocument};
pub use export::{
    ExportedClicks, ExportedDocuments, ExportedLessons, export_clicks, export_documents, export_lessons,
    export_removed, sequence_of, write_clicks,
};
pub use following::{FollowCourse, FollowingLearner};
pub use learner::{LearnerSpec, LogLearner};
pub use lessons::{LessonMaker, OnlineLesson};
pub use parsing::{EventError, parse_events};
pub use searches::SearchWindow;
