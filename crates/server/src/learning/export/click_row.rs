//! Rows of a click log, as `ingest` reads them by their names.

use foldhash::HashMap;
use matchrank_engine::ingest::EventKind;
use serde::Serialize;

use super::super::LearningError;
use super::super::event::{EventAction, LogEvent};
use crate::store::StoredEvent;

/// Clicks on a document, or its impression.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ClickRow<'a> {
    /// Time of the event, or the time at which it was received where it has none.
    pub(super) time: i64,
    pub(super) query: &'a str,
    pub(super) document: &'a str,
    pub(super) clicks: f64,
    pub(super) shown: u32,
    pub(super) position: Option<u32>,
    /// Type of the event, under a name that `ingest` does not take for one: the counts hold its weight already.
    pub(super) kind: &'a str,
    pub(super) search_id: Option<&'a str>,
    pub(super) session_id: Option<&'a str>,
    pub(super) user_id: Option<&'a str>,
    pub(super) sequence: u64,
}

/// Calls `each` with the rows of an event; `None` stands for one without a query.
pub(super) fn for_each_row<'a>(
    stored: &'a StoredEvent,
    event: &'a LogEvent,
    queries: &'a HashMap<String, String>,
    mut each: impl FnMut(Option<ClickRow<'a>>) -> Result<(), LearningError>,
) -> Result<(), LearningError> {
    let query_of = |query: &'a Option<String>, search: &Option<String>| {
        let of_search = search.as_ref().and_then(|search| queries.get(search));
        of_search.or(query.as_ref()).map(String::as_str)
    };
    let row = ClickRow {
        time: event.time.unwrap_or(stored.received),
        query: "",
        document: "",
        clicks: 0.0,
        shown: 0,
        position: None,
        kind: "search",
        search_id: None,
        session_id: event.session.as_deref(),
        user_id: event.user.as_deref(),
        sequence: stored.sequence,
    };
    match &event.action {
        EventAction::Search(action) => {
            let query = query_of(&action.query, &action.search);
            let search_id = action.search.as_deref();
            for shown in &action.shown {
                let (document, position) = (shown.document.as_str(), Some(shown.position));
                each(query.map(|query| ClickRow {
                    query,
                    document,
                    shown: 1,
                    position,
                    search_id,
                    ..row.clone()
                }))?;
            }
            Ok(())
        }
        EventAction::Document(action) => {
            let (clicks, shown) = match action.effect() {
                EventKind::Counts(clicks) => (clicks, 0),
                EventKind::Shown => (0.0, 1),
                EventKind::LeftOut => return Ok(()),
            };
            let query = query_of(&action.query, &action.search);
            each(query.map(|query| ClickRow {
                query,
                document: &action.document,
                clicks,
                shown,
                position: action.position,
                kind: &action.kind,
                search_id: action.search.as_deref(),
                ..row
            }))
        }
        EventAction::Preference(_) | EventAction::List(_) | EventAction::Description(_) => Ok(()),
    }
}
