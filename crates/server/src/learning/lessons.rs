//! Lessons of online models: lines of tuple files and of list files, made of the events in the order of the log.

use super::LearningError;
use super::event::{EventAction, LogEvent};
use super::searches::{OpenSearches, SavedSearches, SearchWindow};
use crate::store::StoredEvent;

/// Line that an online model learns from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnlineLesson {
    /// Preference, as a line of `update --tuples`.
    Tuple(String),
    /// List of documents with grades and features, as a line of `update --lists`.
    List(String),
}

/// Makes lessons of events, one after the other.
#[derive(Debug, Clone, Default)]
pub struct LessonMaker {
    searches: OpenSearches,
}

impl LessonMaker {
    /// Starts without open searches.
    pub fn new(window: SearchWindow) -> Self {
        Self { searches: OpenSearches::new(window) }
    }

    /// Appends the lessons that an event completes.
    pub fn add(
        &mut self,
        stored: &StoredEvent,
        lessons: &mut Vec<OnlineLesson>,
    ) -> Result<(), LearningError> {
        let event = LogEvent::of_stored(stored)?;
        let mut tuples = Vec::new();
        self.searches.close_until(stored.received, &mut tuples);
        let mut own = None;
        match event.action {
            EventAction::Search(action) => self.searches.add_search(stored.received, &action, &mut tuples),
            EventAction::Document(action) => {
                self.searches.add_document(stored.received, &action, &mut tuples);
            }
            EventAction::Preference(line) => own = Some(OnlineLesson::Tuple(line)),
            EventAction::List(line) => own = Some(OnlineLesson::List(line)),
            EventAction::Description(_) => {}
        }
        lessons.extend(tuples.into_iter().map(OnlineLesson::Tuple).chain(own));
        Ok(())
    }

    pub(super) fn save(&self) -> SavedSearches {
        self.searches.save()
    }

    pub(super) fn restore(saved: SavedSearches) -> Self {
        Self { searches: OpenSearches::restore(saved) }
    }
}
