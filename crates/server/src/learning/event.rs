//! One event, whichever form a client sent, and its form in the log.
//!
//! The log holds our own form, a JSON object:
//!
//! ```text
//! {"event": "search", "search": "s1", "query": "red shoes", "shown": ["d1", {"document": "d2", "position": 4}]}
//! {"event": "click", "search": "s1", "document": "d2", "position": 4}
//! {"event": "purchase", "query": "red shoes", "document": "d2", "weight": 5}
//! {"event": "action", "action": "search", "document": "d2"}
//! {"event": "preference", "query": "red shoes", "better": "d2", "worse": "d1"}
//! {"event": "list", "query": "q1", "documents": [{"id": "d1", "grade": 2, "features": [0.5, 3]}]}
//! ```
//!
//! Every event may have an `id`, a `time` (or `time_ms`, exact milliseconds since 1970), a `user` and a `session`. An event
//! with an id that is known is a duplicate. Two equal events without ids are two events.
//!
//! The type of a client's event may be a name that has a meaning of its own here, such as `search` or `item`. Such an event
//! is an `action`, whose field `action` is its type.

use matchrank_engine::ingest::EventKind;
use serde_json::{Map, Value, json};

use super::LearningError;
use super::own_form::{ACTION, is_reserved};
use super::parsing::parse_value;
use crate::store::{NewEvent, StoredEvent, WriteBatch};

/// Event of a client.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogEvent {
    /// Id that makes a retry a duplicate.
    pub id: Option<String>,
    /// Time of the event by the client's clock, in milliseconds since 1970.
    pub time: Option<i64>,
    /// User, as the client names users.
    pub user: Option<String>,
    /// Session, as the client names sessions.
    pub session: Option<String>,
    /// The search, click, preference or list.
    pub action: EventAction,
}

/// Content of an event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventAction {
    /// A search and its results.
    Search(SearchAction),
    /// Something that a user did with a document, or that a document was shown.
    Document(DocumentAction),
    /// A preference between two documents, as the JSON line of a tuple file.
    Preference(String),
    /// A list of documents with grades and features, as the JSON line of a list file.
    List(String),
    /// Metarank's description of an item or a user, or an event of UBI without a document. It is kept, and nothing is
    /// learned from it.
    Description(String),
}

/// Search and its results.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SearchAction {
    /// Id of the search, to which later events refer.
    pub search: Option<String>,
    /// Text of the query.
    pub query: Option<String>,
    /// Documents in the order in which they were shown.
    pub shown: Vec<ShownDocument>,
}

/// Document in the results of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownDocument {
    /// Document id.
    pub document: String,
    /// Position on the result page.
    pub position: u32,
}

/// Something that a user did with a document.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct DocumentAction {
    /// Type of the event, for example `click`, `add_to_cart`, `purchase` or `impression`.
    pub kind: String,
    /// Text of the query.
    pub query: Option<String>,
    /// Id of the search.
    pub search: Option<String>,
    /// Document id.
    pub document: String,
    /// Position on the result page.
    pub position: Option<u32>,
    /// Number of clicks that the event counts, in place of the usual one of its type; 0: the document was shown.
    pub weight: Option<f64>,
}

impl DocumentAction {
    /// Effect of the event: the clicks that it counts, or that the document was shown.
    pub fn effect(&self) -> EventKind {
        self.weight.and_then(EventKind::of_weight).unwrap_or_else(|| EventKind::usual(&self.kind))
    }
}

impl LogEvent {
    /// Event without an id, a time, a user and a session.
    pub fn new(action: EventAction) -> Self {
        Self { id: None, time: None, user: None, session: None, action }
    }

    /// Decodes an event of the log.
    pub fn of_stored(stored: &StoredEvent) -> Result<Self, LearningError> {
        let damaged = |why: String| {
            LearningError::Refused(format!("event {} of the log cannot be read: {why}", stored.sequence))
        };
        let value = serde_json::from_slice(&stored.bytes).map_err(|e| damaged(e.to_string()))?;
        let event = parse_value(value).map_err(damaged)?;
        Ok(Self { id: stored.id.clone().or(event.id), ..event })
    }

    /// Our own form, without the id.
    pub(super) fn content(&self) -> Value {
        let mut object = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(name.to_owned(), value);
            }
        };
        let text = |text: &Option<String>| text.clone().map(Value::String);
        match &self.action {
            EventAction::Search(SearchAction { search, query, shown }) => {
                set("event", Some("search".into()));
                set("search", text(search));
                set("query", text(query));
                let shown = shown.iter().zip(1..).map(|(shown, place)| match shown {
                    ShownDocument { document, position } if *position == place => json!(document),
                    ShownDocument { document, position } => {
                        json!({ "document": document, "position": position })
                    }
                });
                set("shown", Some(shown.collect()));
            }
            EventAction::Document(DocumentAction { kind, query, search, document, position, weight }) => {
                let is_reserved = is_reserved(kind);
                set("event", Some(if is_reserved { ACTION } else { kind }.into()));
                set("action", is_reserved.then(|| kind.clone().into()));
                set("search", text(search));
                set("query", text(query));
                set("document", Some(document.clone().into()));
                set("position", position.map(Value::from));
                set("weight", weight.map(Value::from));
            }
            EventAction::Preference(line) => return self.around("preference", line),
            EventAction::List(line) => return self.around("list", line),
            EventAction::Description(line) => return serde_json::from_str(line).unwrap_or_default(),
        }
        self.put_origin(&mut object);
        Value::Object(object)
    }

    /// An event whose content is a line of JSON.
    fn around(&self, name: &str, line: &str) -> Value {
        let mut object = Map::new();
        object.insert("event".to_owned(), name.into());
        if let Ok(Value::Object(content)) = serde_json::from_str(line) {
            object.extend(content);
        }
        self.put_origin(&mut object);
        Value::Object(object)
    }

    fn put_origin(&self, object: &mut Map<String, Value>) {
        let texts = [("user", &self.user), ("session", &self.session)];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, Value::String(text.clone()?))));
        let time = self.time.map(|time| ("time_ms", Value::from(time)));
        object.extend(time.into_iter().chain(texts).map(|(name, value)| (name.to_owned(), value)));
    }

    /// The event as the store keeps it.
    pub fn to_stored(&self) -> NewEvent {
        NewEvent { id: self.id.clone(), bytes: self.content().to_string().into_bytes() }
    }
}

impl From<Vec<LogEvent>> for WriteBatch {
    fn from(events: Vec<LogEvent>) -> Self {
        Self::of_events(events.iter().map(LogEvent::to_stored).collect())
    }
}

/// Decodes the events of a log. An event that cannot be read is skipped and counted, and the first is logged.
#[derive(Debug, Clone, Default)]
pub(super) struct EventReader {
    n_unreadable: u64,
}

impl EventReader {
    /// Decodes an event; returns `None` for one that is skipped.
    pub(super) fn read(&mut self, stored: &StoredEvent) -> Option<LogEvent> {
        let error = match LogEvent::of_stored(stored) {
            Ok(event) => return Some(event),
            Err(error) => error,
        };
        if self.n_unreadable == 0 {
            tracing::warn!(
                sequence = stored.sequence,
                reason = %error,
                "an event of the log is skipped; further ones are counted and not logged"
            );
        }
        self.n_unreadable += 1;
        None
    }

    /// Number of events that were skipped.
    pub(super) fn n_unreadable(&self) -> u64 {
        self.n_unreadable
    }
}
