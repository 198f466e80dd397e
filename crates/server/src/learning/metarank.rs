//! Metarank's events. Fields that are not used may be there.

use matchrank_engine::ingest::METARANK_QUERY;
use serde_json::Value;

use super::event::{DocumentAction, EventAction, LogEvent, SearchAction, ShownDocument};
use super::fields::{Fields, array, get, id, missing, required_id, required_text, required_time, text};

/// Names of the events.
pub(super) const EVENTS: [&str; 4] = ["item", "user", "ranking", "interaction"];

pub(super) fn event(object: &Fields) -> Result<LogEvent, String> {
    let name = get(object, "event").and_then(Value::as_str).unwrap_or_default();
    let time = Some(required_time(get(object, "timestamp"), "timestamp")?);
    let own_id = id(get(object, "id"), "id")?;
    let own = || own_id.clone().ok_or_else(|| missing("id", "the id of the event"));
    let action = match name {
        "ranking" => {
            let search = own()?;
            let items = get(object, "items").ok_or_else(|| missing("items", "an array of items"))?;
            let mut shown = Vec::new();
            for (item, position) in array(Some(items), "items")?.iter().zip(1..) {
                let document =
                    required_id(item.get("id"), "id").map_err(|e| format!("item {position}: {e}"))?;
                shown.push(ShownDocument { document, position });
            }
            EventAction::Search(SearchAction { search: Some(search), query: query(object)?, shown })
        }
        "interaction" => {
            own()?;
            let kind = required_text(get(object, "type"), "type")?;
            if kind.is_empty() {
                return Err("\"type\" is empty; the type of the interaction is expected".into());
            }
            EventAction::Document(DocumentAction {
                kind,
                query: None,
                search: id(get(object, "ranking"), "ranking")?,
                document: required_id(get(object, "item"), "item")?,
                position: None,
                weight: None,
            })
        }
        _ => {
            required_id(get(object, name), name)?;
            let mut content = object.clone();
            content.shift_remove("id");
            EventAction::Description(Value::Object(content).to_string())
        }
    };
    Ok(LogEvent {
        // A ranking and an interaction may have the same id and are two events.
        id: own_id.map(|id| format!("metarank-{name}:{id}")),
        time,
        user: text(get(object, "user"), "user")?,
        session: text(get(object, "session"), "session")?,
        action,
    })
}

/// Returns the query of a ranking: the first of its fields that holds one.
fn query(object: &Fields) -> Result<Option<String>, String> {
    let fields = array(get(object, "fields"), "fields")?;
    let named =
        |name: &&str| fields.iter().find(|field| field["name"] == **name).map(|field| &field["value"]);
    text(METARANK_QUERY.iter().find_map(named).filter(|value| value.is_string()), "query")
}
