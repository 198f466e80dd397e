//! Lessons of online models: lines of tuple files and of list files, made of the events in the order of the log.

use super::LearningError;
use super::event::{EventAction, EventReader};
use super::searches::{OpenSearches, SavedSearches, SearchWindow};
use crate::store::{LogSpan, Store, StoredEvent};

/// Line that an online model learns from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnlineLesson {
    /// Preference, as a line of `update --tuples`.
    Tuple(String),
    /// List of documents with grades and features, as a line of `update --lists`.
    List(String),
}

/// Makes lessons of events, one after the other. Events that cannot be read are skipped.
#[derive(Debug, Clone, Default)]
pub struct LessonMaker {
    searches: OpenSearches,
    reader: EventReader,
}

impl LessonMaker {
    /// Starts without open searches.
    pub fn new(window: SearchWindow) -> Self {
        Self { searches: OpenSearches::new(window), reader: EventReader::default() }
    }

    /// Starts after a sequence of a log, with the searches that are open there. The log is read from its beginning, because
    /// its whole past decides when a search opened.
    pub(super) fn open_at(store: &Store, after: u64, window: SearchWindow) -> Result<Self, LearningError> {
        let mut maker = Self::new(window);
        let mut past = Vec::new();
        store.for_each_event(LogSpan { after: 0, until: after }, |stored| {
            maker.add(&stored, &mut past);
            past.clear();
            Ok::<_, LearningError>(())
        })?;
        Ok(Self { reader: EventReader::default(), ..maker })
    }

    /// Appends the lessons that an event completes.
    pub fn add(&mut self, stored: &StoredEvent, lessons: &mut Vec<OnlineLesson>) {
        let mut tuples = Vec::new();
        self.searches.close_until(stored.received, &mut tuples);
        let mut own = None;
        match self.reader.read(stored).map(|event| event.action) {
            Some(EventAction::Search(action)) => {
                self.searches.add_search(stored.received, &action, &mut tuples);
            }
            Some(EventAction::Document(action)) => {
                self.searches.add_document(stored.received, &action, &mut tuples);
            }
            Some(EventAction::Preference(line)) => own = Some(OnlineLesson::Tuple(line)),
            Some(EventAction::List(line)) => own = Some(OnlineLesson::List(line)),
            Some(EventAction::Description(_)) | None => {}
        }
        lessons.extend(tuples.into_iter().map(OnlineLesson::Tuple).chain(own));
    }

    /// Number of events that could not be read.
    pub fn n_unreadable(&self) -> u64 {
        self.reader.n_unreadable()
    }

    pub(super) fn save(&self) -> SavedSearches {
        self.searches.save()
    }

    pub(super) fn restore(saved: SavedSearches) -> Self {
        Self { searches: OpenSearches::restore(saved), reader: EventReader::default() }
    }
}
