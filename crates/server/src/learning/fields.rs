//! Fields of JSON events, checked.

use matchrank_engine::ingest::parse_date;
use serde_json::{Map, Value};

use super::parsing::kind_of;

/// Object of an event.
pub(super) type Fields = Map<String, Value>;

/// Longest id, in bytes.
const LONGEST_ID: usize = 1024;
/// Largest position.
const LAST_POSITION: u64 = 1_000_000_000;

/// Returns a field, or `None` if it is not there or null.
pub(super) fn get<'a>(object: &'a Fields, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// Returns the value at a path of names with dots, or under a name with dots.
pub(super) fn at<'a>(object: &'a Fields, path: &str) -> Option<&'a Value> {
    if let Some(value) = get(object, path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    at(get(object, first)?.as_object()?, rest)
}

/// Returns an id: a text that is not empty, or a whole number.
pub(super) fn id(value: Option<&Value>, name: &str) -> Result<Option<String>, String> {
    let id = match value {
        None => return Ok(None),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) if id.is_u64() || id.is_i64() => id.to_string(),
        Some(other) => return Err(format!("\"{name}\" is {}; an id is expected", kind_of(other))),
    };
    match id.len() {
        0 => Err(format!("\"{name}\" is empty; an id is expected")),
        n if n > LONGEST_ID => Err(format!("\"{name}\" has {n} bytes; at most {LONGEST_ID} are expected")),
        _ => Ok(Some(id)),
    }
}

/// Returns an id that must be there.
pub(super) fn required_id(value: Option<&Value>, name: &str) -> Result<String, String> {
    id(value, name)?.ok_or_else(|| missing(name, "an id"))
}

/// Returns a text.
pub(super) fn text(value: Option<&Value>, name: &str) -> Result<Option<String>, String> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("\"{name}\" is {}; a text is expected", kind_of(other))),
    }
}

/// Returns a text that must be there.
pub(super) fn required_text(value: Option<&Value>, name: &str) -> Result<String, String> {
    text(value, name)?.ok_or_else(|| missing(name, "a text"))
}

/// Returns a time in milliseconds since 1970: a number, or a date as logs have it.
pub(super) fn time(value: Option<&Value>, name: &str) -> Result<Option<i64>, String> {
    let text = match value {
        None => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => return Err(format!("\"{name}\" is {}; a time is expected", kind_of(other))),
    };
    let time = parse_date(&text).ok_or_else(|| {
        format!(
            "\"{name}\" is '{text}'; seconds or milliseconds since 1970, or a date like 2026-05-01T10:00:00Z, is expected"
        )
    })?;
    Ok(Some(time))
}

/// Returns a time that must be there.
pub(super) fn required_time(value: Option<&Value>, name: &str) -> Result<i64, String> {
    time(value, name)?.ok_or_else(|| missing(name, "a time"))
}

/// Returns a position on a result page: a whole number, also as a text.
pub(super) fn position(value: Option<&Value>, name: &str) -> Result<Option<u32>, String> {
    let Some(value) = value else { return Ok(None) };
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    match number.filter(|number| *number <= LAST_POSITION) {
        Some(number) => Ok(Some(number as u32)),
        None => Err(format!("\"{name}\" is {value}; a whole number from 0 to {LAST_POSITION} is expected")),
    }
}

fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && number >= 0.0).then_some(number as u64)
}

/// Returns an array.
pub(super) fn array<'a>(value: Option<&'a Value>, name: &str) -> Result<&'a [Value], String> {
    match value {
        None => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(other) => Err(format!("\"{name}\" is {}; an array is expected", kind_of(other))),
    }
}

pub(super) fn missing(name: &str, expected: &str) -> String {
    format!("has no \"{name}\"; {expected} is expected")
}
