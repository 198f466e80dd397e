//! Rows of event logs: "User Behavior Insights" (UBI) and Metarank.
//!
//! The type of an event tells what it counts, see [`super::event_types`].

use std::collections::BTreeMap;

use matchrank_core::Result;
use serde_json::Value;

use super::clicks::{ClickLog, LogRow, QueryName, SearchName, Searches, Skip};
use super::event_types::{EventKind, TypeCounts, merge_types};
use super::table::{Table, TableRow};

/// Events of Metarank; those that are no searches and no interactions describe documents and users.
const METARANK_EVENTS: [&str; 4] = ["ranking", "interaction", "item", "user"];
/// Fields of Metarank events that are used, lists of objects among them.
pub(super) const METARANK_FIELDS: [&str; 8] =
    ["event", "id", "timestamp", "items", "item", "fields", "ranking", "type"];

/// Paths at which a UBI event names its document, in the order of their precedence.
pub const UBI_OBJECT: [&str; 3] =
    ["event_attributes.object.object_id", "event_attributes.object_id", "object_id"];
/// Paths at which a UBI event has its position.
pub const UBI_POSITION: [&str; 2] = ["event_attributes.position.ordinal", "position"];
/// Fields of a Metarank ranking that hold its query.
pub const METARANK_QUERY: [&str; 3] = ["query", "search", "q"];

impl ClickLog {
    /// Returns the columns to read. Events of one log differ, so JSON lines are searched for every place that a field
    /// may have, whether or not the first events had it.
    pub(super) fn ubi_columns(&self) -> Vec<&str> {
        let all = ["action_name", "query_id", "timestamp", "user_query"]
            .iter()
            .chain(&UBI_OBJECT)
            .chain(&UBI_POSITION);
        let has = |column: &str| self.table.is_json() || self.table.columns().iter().any(|c| c == column);
        all.copied().filter(|column| has(column)).collect()
    }

    pub(super) fn ubi_row<'a>(
        &self,
        searches: &'a Searches,
        wanted: &[&str],
        row: &TableRow<'a>,
    ) -> Result<Result<LogRow<'a>, Skip>> {
        let field = |names: &[&str]| {
            wanted.iter().zip(row.fields).filter(|(w, _)| names.contains(w)).find_map(|(_, field)| *field)
        };
        let (clicks, shown) = match self.kind(field(&["action_name"]).unwrap_or_default()) {
            EventKind::Counts(weight) => (weight, 0),
            EventKind::Shown => (0.0, 1),
            EventKind::LeftOut => return Ok(Err(Skip::OtherAction)),
        };
        let Some((query, search)) = named_query(searches, field(&["query_id"]), field(&["user_query"]))
        else {
            return Ok(Err(Skip::UnknownSearch));
        };
        let Some(document) = field(&UBI_OBJECT) else { return Ok(Err(Skip::EmptyDocument)) };
        let position = field(&UBI_POSITION).map(|text| self.position(row.line, text)).transpose()?;
        let time = field(&["timestamp"]).map(|text| self.time(row.line, text)).transpose()?;
        Ok(Ok(LogRow { line: row.line, query, search, document, clicks, shown, position, time }))
    }

    fn kind(&self, name: &str) -> EventKind {
        self.events.as_ref().map_or(EventKind::LeftOut, |events| events.kind(name))
    }

    pub(super) fn metarank_rows(
        &self,
        searches: &Searches,
        line: u64,
        event: &Value,
        mut each: impl FnMut(Result<LogRow<'_>, Skip>) -> Result<()>,
    ) -> Result<()> {
        let time = match &event["timestamp"] {
            Value::String(text) => Some(self.time(line, text)?),
            Value::Number(number) => Some(self.time(line, &number.to_string())?),
            _ => None,
        };
        match event["event"].as_str() {
            Some("ranking") => {
                let Some(query) = metarank_query(event) else { return each(Err(Skip::EmptyQuery)) };
                for (i, item) in event["items"].as_array().into_iter().flatten().enumerate() {
                    let query = QueryName::Text(query);
                    let position = Some(i as u32 + 1);
                    match item["id"].as_str() {
                        Some(document) => {
                            each(Ok(LogRow {
                                line,
                                query,
                                search: None,
                                document,
                                clicks: 0.0,
                                shown: 1,
                                position,
                                time,
                            }))?;
                        }
                        None => each(Err(Skip::EmptyDocument))?,
                    }
                }
                Ok(())
            }
            Some("interaction") => {
                let (clicks, shown) = match self.kind(event["type"].as_str().unwrap_or_default()) {
                    EventKind::Counts(weight) => (weight, 0),
                    EventKind::Shown => (0.0, 1),
                    EventKind::LeftOut => return each(Err(Skip::OtherAction)),
                };
                let Some((query, search)) = named_query(searches, event["ranking"].as_str(), None) else {
                    return each(Err(Skip::UnknownSearch));
                };
                let Some(document) = event["item"].as_str() else { return each(Err(Skip::EmptyDocument)) };
                each(Ok(LogRow { line, query, search, document, clicks, shown, position: None, time }))
            }
            // Items and users are no rows of a log.
            Some(other) if METARANK_EVENTS.contains(&other) => Ok(()),
            _ => each(Err(Skip::OtherAction)),
        }
    }
}

/// Returns the query of an event and its search: the query of the search, else the text in the event itself.
fn named_query<'a>(
    searches: &'a Searches,
    id: Option<&'a str>,
    text: Option<&'a str>,
) -> Option<(QueryName<'a>, Option<SearchName<'a>>)> {
    match id {
        Some(id) => {
            let search = SearchName { id, text };
            Some((search.query(searches), Some(search)))
        }
        None => Some((QueryName::Text(text?), None)),
    }
}

/// Returns true if the first rows of a table are events of Metarank.
pub(super) fn is_metarank(table: &Table) -> Result<bool> {
    let has = |column: &str| table.columns().iter().any(|c| c == column);
    if !(table.is_json() && has("event") && has("timestamp")) {
        return Ok(false);
    }
    let mut is_known = false;
    let work = |rows: &super::table::TableRows<'_>| {
        let mut part = false;
        rows.for_each_json(|_, event| {
            part |= event["event"].as_str().is_some_and(|name| METARANK_EVENTS.contains(&name));
            Ok(())
        })?;
        Ok(part)
    };
    table.read_until(&[], work, |part| {
        is_known = part;
        Ok(true)
    })?;
    Ok(is_known)
}

/// Counts the types of Metarank's interactions. Returns `None` if there are too many.
pub(super) fn count_interactions(table: &Table) -> Result<Option<BTreeMap<String, u64>>> {
    let work = |rows: &super::table::TableRows<'_>| {
        let mut part = TypeCounts::default();
        rows.for_each_json(|_, event| {
            if event["event"] == "interaction" {
                part.add(event["type"].as_str().unwrap_or_default());
            }
            Ok(())
        })?;
        Ok(part)
    };
    merge_types(table, &[], work)
}

/// Returns the query of a Metarank ranking event.
pub(super) fn metarank_query(event: &Value) -> Option<&str> {
    let fields = event["fields"].as_array()?;
    let named = |name: &str| fields.iter().find(|f| f["name"] == name).and_then(|f| f["value"].as_str());
    METARANK_QUERY.into_iter().find_map(named)
}
