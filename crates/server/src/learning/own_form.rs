//! Our own form of events; see [`event`](super::event).

use matchrank_engine::ingest::EventKind;
use matchrank_engine::{preferences, rankers::perceptron::online};
use serde_json::Value;

use super::event::{DocumentAction, EventAction, LogEvent, SearchAction, ShownDocument};
use super::fields::{Fields, array, get, id, missing, position, required_id, text, time};
use super::metarank;
use super::parsing::kind_of;

/// Name of an event whose type is in its field `action`.
pub(super) const ACTION: &str = "action";
/// Names of events that are no types of actions.
const RESERVED: [&str; 4] = ["search", "preference", "list", ACTION];

/// Returns true if an event of this name is not read as an action of this type.
pub(super) fn is_reserved(kind: &str) -> bool {
    RESERVED.contains(&kind) || metarank::EVENTS.contains(&kind)
}

/// Fields that every event may have.
const ORIGIN: [&str; 6] = ["event", "id", "time", "time_ms", "user", "session"];

pub(super) fn event(mut object: Fields) -> Result<LogEvent, String> {
    let event = LogEvent {
        id: id(get(&object, "id"), "id")?,
        time: match get(&object, "time_ms") {
            Some(exact) => Some(exact.as_i64().ok_or_else(|| {
                format!("\"time_ms\" is {exact}; a whole number of milliseconds since 1970 is expected")
            })?),
            None => time(get(&object, "time"), "time")?,
        },
        user: text(get(&object, "user"), "user")?,
        session: text(get(&object, "session"), "session")?,
        action: EventAction::Search(SearchAction::default()),
    };
    let name = match object.get("event") {
        Some(Value::String(name)) if !name.is_empty() => name.clone(),
        Some(other) => return Err(format!("\"event\" is {other}; the type of the event is expected")),
        None => return Err(missing("event", "the type of the event")),
    };
    ORIGIN.iter().for_each(|field| drop(object.shift_remove(*field)));
    let action = match name.as_str() {
        "search" => search(&object)?,
        "preference" => {
            let line = Value::Object(object).to_string();
            preferences::check_line(&line)?;
            EventAction::Preference(line)
        }
        "list" => {
            let line = Value::Object(object).to_string();
            online::check_list(line.as_bytes())?;
            EventAction::List(line)
        }
        ACTION => {
            let kind = text(get(&object, "action"), "action")?.unwrap_or(name);
            object.shift_remove("action");
            document(kind, &object)?
        }
        _ => document(name, &object)?,
    };
    Ok(LogEvent { action, ..event })
}

fn search(object: &Fields) -> Result<EventAction, String> {
    known(object, &["search", "query", "shown"])?;
    let mut shown = Vec::new();
    for (entry, place) in array(get(object, "shown"), "shown")?.iter().zip(1..) {
        let of = |message: String| format!("document {place} of \"shown\": {message}");
        shown.push(match entry {
            Value::Object(entry) => {
                known(entry, &["document", "position"]).map_err(of)?;
                let document = required_id(get(entry, "document"), "document").map_err(of)?;
                let position = position(get(entry, "position"), "position").map_err(of)?;
                ShownDocument { document, position: position.unwrap_or(place) }
            }
            entry => {
                let document = required_id(Some(entry), "document").map_err(of)?;
                ShownDocument { document, position: place }
            }
        });
    }
    let search = id(get(object, "search"), "search")?;
    let query = text(get(object, "query"), "query")?;
    if search.is_none() && query.is_none() {
        return Err("has neither \"search\" (an id) nor \"query\" (a text)".into());
    }
    Ok(EventAction::Search(SearchAction { search, query, shown }))
}

fn document(kind: String, object: &Fields) -> Result<EventAction, String> {
    if kind.is_empty() {
        return Err("\"action\" is empty; the type of the event is expected".into());
    }
    known(object, &["search", "query", "document", "position", "weight"])?;
    let weight = match get(object, "weight") {
        None => None,
        Some(weight) => {
            let number = weight.as_f64().filter(|number| EventKind::of_weight(*number).is_some());
            Some(number.ok_or_else(|| {
                format!("\"weight\" is {weight}; 0, or a number from 1/65536 to 1,000,000, is expected")
            })?)
        }
    };
    Ok(EventAction::Document(DocumentAction {
        kind,
        query: text(get(object, "query"), "query")?,
        search: id(get(object, "search"), "search")?,
        document: required_id(get(object, "document"), "document")?,
        position: position(get(object, "position"), "position")?,
        weight,
    }))
}

/// Returns an error if a field has an unknown name, which is most often a wrong one.
fn known(object: &Fields, names: &[&str]) -> Result<(), String> {
    match object.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        Some((name, value)) => Err(format!(
            "has an unknown field \"{name}\" ({}); known are {} and {}",
            kind_of(value),
            ORIGIN.join(", "),
            names.join(", ")
        )),
        None => Ok(()),
    }
}
