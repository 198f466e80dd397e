//! Parses a request of events: one JSON object, an array, or JSON lines, in any of three forms.
//!
//! | form | recognised by |
//! |---|---|
//! | User Behavior Insights 1.3 | `action_name` (an event) or `user_query` (a query) |
//! | Metarank | `event` is `item`, `user`, `ranking` or `interaction` |
//! | our own | `event` is anything else |
//!
//! A request is taken as a whole or refused as a whole; the message names the line of the event that is wrong.

use serde_json::Value;

use super::event::LogEvent;
use super::{metarank, own_form, ubi};

/// Reason for refusing a request of events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
#[non_exhaustive]
pub struct EventError {
    /// Line of the request, from 1; for an array, the number of the event.
    pub line: usize,
    /// The mistake, the expected value, and a fix.
    pub message: String,
}

/// Parses the events of a request body.
///
/// ```
/// use matchrank_server::learning::parse_events;
///
/// let body = br#"{"event": "click", "query": "shoes", "document": "d1"}
/// {"action_name": "click", "timestamp": "2026-05-01T10:00:00Z", "query_id": "q1",
///  "event_attributes": {"object": {"object_id": "d1"}, "position": {"ordinal": 3}}}"#;
/// assert_eq!(parse_events(body).unwrap().len(), 2);
///
/// let error = parse_events(b"{\"event\": \"click\", \"document\": \"d1\"}\n{\"event\": \"click\"}").unwrap_err();
/// assert_eq!(error.line, 2);
/// ```
pub fn parse_events(body: &[u8]) -> Result<Vec<LogEvent>, EventError> {
    let text = std::str::from_utf8(body).map_err(|e| EventError {
        line: line_at(body, e.valid_up_to()),
        message: "is not UTF-8; send JSON as UTF-8".into(),
    })?;
    let mut events = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    loop {
        let start = values.byte_offset();
        let start = start + text[start..].len() - text[start..].trim_start().len();
        let Some(value) = values.next() else { break };
        let value = value.map_err(|e| EventError {
            line: e.line().max(1),
            message: format!(
                "is not valid JSON ({e}); send one JSON object, an array of objects, or JSON lines"
            ),
        })?;
        let line = line_at(body, start);
        match value {
            Value::Array(list) => {
                let is_alone = events.is_empty() && text[values.byte_offset()..].trim().is_empty();
                if !is_alone {
                    let message = "is an array beside other events; send one array, or JSON lines of objects";
                    return Err(EventError { line, message: message.into() });
                }
                for (value, number) in list.into_iter().zip(1..) {
                    events.push(parse_value(value).map_err(|message| EventError { line: number, message })?);
                }
            }
            value => events.push(parse_value(value).map_err(|message| EventError { line, message })?),
        }
    }
    match events.is_empty() {
        true => Err(EventError { line: 1, message: "holds no event; send at least one".into() }),
        false => Ok(events),
    }
}

/// Parses one event.
pub(super) fn parse_value(value: Value) -> Result<LogEvent, String> {
    let Value::Object(object) = value else {
        return Err(format!("is {}; an object is expected", kind_of(&value)));
    };
    if object.contains_key("action_name") {
        return ubi::event(&object);
    }
    if object.contains_key("user_query") {
        return ubi::query(&object);
    }
    match object.get("event") {
        Some(Value::String(name)) if metarank::EVENTS.contains(&name.as_str()) => metarank::event(&object),
        Some(_) => own_form::event(object),
        None => Err("has neither \"event\" nor \"action_name\" (UBI) nor \"user_query\" (UBI); see the page on events for \
                     the three forms"
            .into()),
    }
}

fn line_at(body: &[u8], offset: usize) -> usize {
    1 + body[..offset].iter().filter(|byte| **byte == b'\n').count()
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
