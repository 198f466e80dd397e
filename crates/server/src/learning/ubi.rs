//! User Behavior Insights 1.3: queries and events. Fields that are not used may be there.
//!
//! A query is a search whose results are `query_response_hit_ids`. A retry of a query is recognised by its `query_id`; UBI
//! events have no id, so each that arrives is one, unless the client adds an `event_id`.

use matchrank_engine::ingest::{UBI_OBJECT, UBI_POSITION};

use super::event::{DocumentAction, EventAction, LogEvent, SearchAction, ShownDocument};
use super::fields::{
    Fields, array, at, get, id, position, required_id, required_text, required_time, text, time,
};

pub(super) fn query(object: &Fields) -> Result<LogEvent, String> {
    let query = required_text(get(object, "user_query"), "user_query")?;
    let search = id(get(object, "query_id"), "query_id")?;
    let hits = array(get(object, "query_response_hit_ids"), "query_response_hit_ids")?;
    let shown = hits.iter().zip(1..).map(|(hit, position)| {
        Ok(ShownDocument { document: required_id(Some(hit), "query_response_hit_ids")?, position })
    });
    let shown = shown.collect::<Result<_, String>>()?;
    Ok(LogEvent {
        // The ids of events and queries are apart.
        id: search.as_ref().map(|search| format!("ubi-query:{search}")),
        time: time(get(object, "timestamp"), "timestamp")?,
        user: text(get(object, "client_id"), "client_id")?,
        session: text(get(object, "session_id"), "session_id")?,
        action: EventAction::Search(SearchAction { search, query: Some(query), shown }),
    })
}

pub(super) fn event(object: &Fields) -> Result<LogEvent, String> {
    let kind = required_text(get(object, "action_name"), "action_name")?;
    if kind.is_empty() {
        return Err("\"action_name\" is empty; the type of the event is expected".into());
    }
    let place = |paths: &[&'static str]| paths.iter().find_map(|path| Some((*path, at(object, path)?)));
    let (document_path, document) = place(&UBI_OBJECT).unzip();
    let (position_path, ordinal) = place(&UBI_POSITION).unzip();
    let time = required_time(get(object, "timestamp"), "timestamp")?;
    let search = id(get(object, "query_id"), "query_id")?;
    let query = text(get(object, "user_query"), "user_query")?;
    let position = position(ordinal, position_path.unwrap_or_default())?;
    let action = match id(document, document_path.unwrap_or_default())? {
        Some(document) => {
            EventAction::Document(DocumentAction { kind, query, search, document, position, weight: None })
        }
        // An event of the page as a whole, such as `search` or `logout`.
        None => EventAction::Description(serde_json::Value::Object(object.clone()).to_string()),
    };
    Ok(LogEvent {
        id: id(get(object, "event_id"), "event_id")?,
        time: Some(time),
        user: text(get(object, "client_id"), "client_id")?,
        session: text(get(object, "session_id"), "session_id")?,
        action,
    })
}
