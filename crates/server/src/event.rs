//! Events: what people searched for, saw and did. Three formats are read: our own, User Behavior Insights 1.3, and Metarank.
//!
//! | own | User Behavior Insights | Metarank |
//! |---|---|---|
//! | `"type": "search"` | has `user_query`, no `action_name` | `"event": "ranking"` |
//! | any other `"type"` | has `action_name` | `"event": "interaction"` |
//! | a document change | | `"event": "item"` |
//!
//! ```json
//! {"id": "e1", "type": "search", "time": 1763500000000, "search": "s1", "query": "red hat", "documents": ["d1", "d7"]}
//! {"id": "e2", "type": "click", "time": 1763500003000, "search": "s1", "document": "d7", "position": 2}
//! ```

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::listed::MAX_LISTED;
use crate::version::now;

/// Longest id or query of an event, in bytes.
const LONGEST: usize = 4096;

/// An event in our own form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// Id: an event with the id of an earlier one is a retry, and not counted again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// `search`, or an action such as `click` or `purchase`.
    #[serde(rename = "type")]
    pub(crate) action: String,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// Id of the search that an action belongs to, or of the search itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<String>,
    /// Text of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<String>,
    /// Document that the action is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<String>,
    /// Place of the document in the ranking that was shown, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<u32>,
    /// Documents that a search showed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) documents: Vec<String>,
    /// Person, as far as known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// Session of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

/// What an object of a request means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    /// An event for the log.
    Event(Event),
    /// Metarank's metadata of an item: fields to change.
    Item {
        /// Document id.
        id: String,
        /// Fields that it gets; others are kept.
        fields: Map<String, Value>,
    },
    /// Metarank's metadata of a person, which no model uses.
    Person,
}

/// Splits a body into objects: one, a list of them, or one a line.
pub(crate) fn objects(bytes: &[u8]) -> Result<Vec<Value>, Failure> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let objects = match first {
        None => return Err(Failure::BadRequest("the body is empty; events are expected as JSON".into())),
        Some(b'[') => crate::body::parse::<crate::listed::Listed<Value>>(bytes)?.items("events")?,
        Some(_) => {
            let mut all = Vec::new();
            for (number, value) in (1..).zip(serde_json::Deserializer::from_slice(bytes).into_iter()) {
                let value = value.map_err(|error| {
                    Failure::BadRequest(format!("event {number} is not valid JSON: {error}"))
                })?;
                if all.len() == MAX_LISTED {
                    return Err(Failure::TooLarge(format!(
                        "a request may have {MAX_LISTED} events; send several requests"
                    )));
                }
                all.push(value);
            }
            all
        }
    };
    Ok(objects)
}

/// Reads objects of any of the three formats.
pub(crate) fn read_all(objects: Vec<Value>) -> Result<Vec<Given>, Failure> {
    let read = |(number, value): (usize, Value)| {
        read_one(value).map_err(|why| Failure::Unusable(format!("event {number}: {why}")))
    };
    (1..).zip(objects).map(read).collect()
}

fn read_one(value: Value) -> Result<Given, String> {
    let Value::Object(fields) = value else { return Err("is no object".into()) };
    if fields.contains_key("event") {
        metarank(&fields)
    } else if fields.contains_key("action_name") || fields.contains_key("user_query") {
        behaviour(&fields).map(Given::Event)
    } else {
        own(fields).map(Given::Event)
    }
}

fn own(mut fields: Map<String, Value>) -> Result<Event, String> {
    let time = match fields.get("time") {
        None => now(),
        Some(time) => milliseconds(time)?,
    };
    fields.insert("time".into(), time.into());
    let event: Event = serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
    checked(event)
}

fn behaviour(fields: &Map<String, Value>) -> Result<Event, String> {
    let query = text(fields, "user_query");
    let mut event = Event {
        id: text(fields, "event_id"),
        search: text(fields, "query_id"),
        query,
        time: fields.get("timestamp").map_or(Ok(now()), milliseconds)?,
        user: text(fields, "client_id"),
        session: text(fields, "session_id"),
        ..Event::default()
    };
    match text(fields, "action_name") {
        None => {
            event.action = "search".into();
            let shown =
                fields.get("query_response_hit_ids").or_else(|| fields.get("query_response_object_ids"));
            event.documents = shown.map_or(Vec::new(), |shown| texts(shown, None));
        }
        Some(action) => {
            if !fields.contains_key("timestamp") {
                return Err("has no `timestamp`, which User Behavior Insights requires".into());
            }
            event.action = action;
            let attributes = fields.get("event_attributes");
            let of = |pointer: &str| attributes.and_then(|attributes| attributes.pointer(pointer));
            event.document = of("/object/object_id").and_then(plain);
            event.position =
                of("/position/ordinal").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        }
    }
    checked(event)
}

fn metarank(fields: &Map<String, Value>) -> Result<Given, String> {
    let time = fields.get("timestamp").ok_or("has no `timestamp`")?;
    let mut event = Event {
        id: text(fields, "id"),
        time: milliseconds(time)?,
        user: text(fields, "user"),
        session: text(fields, "session"),
        query: named(fields.get("fields"), "query").and_then(plain),
        ..Event::default()
    };
    match fields["event"].as_str() {
        Some("ranking") => {
            event.action = "search".into();
            event.search.clone_from(&event.id);
            event.documents = fields.get("items").map_or(Vec::new(), |items| texts(items, Some("id")));
            if event.id.is_none() {
                return Err("has no `id`, which interactions refer to".into());
            }
        }
        Some("interaction") => {
            event.action = text(fields, "type").ok_or("has no `type`")?;
            event.document = text(fields, "item");
            event.search = text(fields, "ranking");
            if event.document.is_none() {
                return Err("has no `item`".into());
            }
        }
        Some("item") => {
            let id = text(fields, "item").ok_or("has no `item`")?;
            let list = fields.get("fields").and_then(Value::as_array);
            let pairs = list
                .into_iter()
                .flatten()
                .filter_map(|field| Some((field["name"].as_str()?.to_owned(), field["value"].clone())));
            return Ok(Given::Item { id, fields: pairs.collect() });
        }
        Some("user") => return Ok(Given::Person),
        _ => return Err("`event` is none of item, user, ranking, interaction".into()),
    }
    checked(event).map(Given::Event)
}

/// Returns the value of a field in Metarank's list of names and values.
pub(crate) fn named<'a>(fields: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    fields?.as_array()?.iter().find(|field| field["name"] == name).map(|field| &field["value"])
}

fn checked(event: Event) -> Result<Event, String> {
    let ids = [&event.id, &event.search, &event.document, &event.user, &event.session, &event.query];
    let long = ids
        .into_iter()
        .flatten()
        .chain(&event.documents)
        .chain([&event.action])
        .any(|text| text.len() > LONGEST);
    if long {
        return Err(format!("an id, the query or the type has more than {LONGEST} bytes"));
    }
    if event.action.is_empty() {
        return Err("`type` is empty; give `search`, `click` or another action".into());
    }
    let is_search = event.action == "search";
    if is_search && event.query.as_deref().is_none_or(|query| query.trim().is_empty()) {
        return Err("is a search without a query; give its text in `query`".into());
    }
    if !is_search && event.document.is_none() && event.search.is_none() && event.query.is_none() {
        return Err(
            "is an action without a document and without a search; give `document`, `search` or both".into(),
        );
    }
    if event.documents.len() > MAX_LISTED {
        return Err(format!("shows more than {MAX_LISTED} documents"));
    }
    Ok(event)
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).and_then(plain)
}

/// Returns a text, or a number as a text: ids are often numbers.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn texts(list: &Value, name: Option<&str>) -> Vec<String> {
    let items = list.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| plain(name.map_or(item, |name| &item[name]))).collect()
}

/// Returns milliseconds since 1970: of a number, a number in a text, or a time such as `2026-11-18T21:15:01.5+01:00`.
fn milliseconds(value: &Value) -> Result<u64, String> {
    let wrong =
        || format!("the time {value} is neither milliseconds since 1970 nor like 2026-11-18T21:15:01Z");
    match value {
        Value::Number(number) => number.as_u64().ok_or_else(wrong),
        Value::String(text) => text.parse().ok().or_else(|| from_rfc3339(text)).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

fn from_rfc3339(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let is = |at: usize, wanted: &[u8]| text.as_bytes().get(at).is_some_and(|byte| wanted.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = text.get(19..)?;
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let fraction = rest.get(1..1 + digits).unwrap_or_default();
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let zone = if digits > 0 { rest.get(1 + digits..)? } else { rest };
    let offset = match zone.as_bytes() {
        b"" | b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), ..] => {
            let hours: i64 = zone.get(1..3)?.parse().ok()?;
            let minutes: i64 = zone.get(3..)?.trim_start_matches(':').parse().ok()?;
            (if *sign == b'+' { 1 } else { -1 }) * (60 * hours + minutes)
        }
        _ => return None,
    };
    // Days since 1970 of the proleptic Gregorian calendar, in years that begin in March.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day
        - 1
        - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second;
    u64::try_from(seconds * 1000 + millis).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(value: Value) -> Event {
        match read_one(value).unwrap() {
            Given::Event(event) => event,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00.25Z", 951_825_600_250),
            ("2026-11-18T21:15:01+01:00", 1_795_032_901_000),
            ("2026-11-18 20:15:01", 1_795_032_901_000),
            ("1661431894711", 1_661_431_894_711),
        ] {
            assert_eq!(milliseconds(&json!(text)), Ok(expected), "{text}");
        }
        for wrong in [
            json!("yesterday"),
            json!(-5),
            json!(null),
            json!("2026-13-01T00:00:00Z"),
            json!("2026-11-18T21:15:01+é1"),
        ] {
            assert!(milliseconds(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn three_formats_say_the_same() {
        let own = event(
            json!({"id": "e2", "type": "click", "time": 5, "search": "s1", "document": "d7", "position": 2}),
        );
        let ubi = event(json!({
            "event_id": "e2", "action_name": "click", "query_id": "s1", "timestamp": 5,
            "event_attributes": {"object": {"object_id": "d7"}, "position": {"ordinal": 2}}
        }));
        assert_eq!(own, ubi);
        let metarank = event(json!({
            "event": "interaction", "id": "e2", "type": "click", "timestamp": "5", "ranking": "s1", "item": "d7"
        }));
        assert_eq!(Event { position: None, ..own }, metarank);

        let search = event(
            json!({"id": "s1", "type": "search", "time": 5, "search": "s1", "query": "red hat", "documents": ["a", "b"]}),
        );
        let ranking = event(json!({
            "event": "ranking", "id": "s1", "timestamp": 5, "items": [{"id": "a"}, {"id": "b"}],
            "fields": [{"name": "query", "value": "red hat"}]
        }));
        assert_eq!(search, ranking);
        let query = event(
            json!({"query_id": "s1", "user_query": "red hat", "timestamp": 5, "query_response_hit_ids": ["a", "b"]}),
        );
        assert_eq!(Event { id: None, ..search }, query);
    }

    #[test]
    fn items_and_people() {
        let item = json!({"event": "item", "id": "e", "timestamp": 5, "item": "d1", "fields": [{"name": "title", "value": "hat"}]});
        let fields = [("title".to_owned(), json!("hat"))].into_iter().collect();
        assert_eq!(read_one(item), Ok(Given::Item { id: "d1".into(), fields }));
        assert_eq!(read_one(json!({"event": "user", "timestamp": 5, "user": "u"})), Ok(Given::Person));
    }

    #[test]
    fn wrong_events_say_why() {
        for (value, expected) in [
            (json!(3), "no object"),
            (json!({"type": "search"}), "without a query"),
            (json!({"type": "click"}), "without a document"),
            (json!({"type": "click", "document": "d", "time": "x"}), "neither milliseconds"),
            (json!({"document": "d"}), "missing field `type`"),
            (json!({"event": "ranking", "id": "x"}), "no `timestamp`"),
            (json!({"event": "what", "timestamp": 3}), "none of item"),
            (json!({"action_name": "click"}), "no `timestamp`"),
            (json!({"type": "click", "document": "d".repeat(5000)}), "more than 4096 bytes"),
        ] {
            let why = read_one(value).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn bodies_hold_one_or_many() {
        assert_eq!(objects(b" {\"a\":1}").unwrap().len(), 1);
        assert_eq!(objects(b"{\"a\":1}\n{\"a\":2}\n").unwrap().len(), 2);
        assert_eq!(objects(b"[{},{},{}]").unwrap().len(), 3);
        assert!(objects(b" ").is_err() && objects(b"{").is_err() && objects(b"{} x").is_err());
    }
}
