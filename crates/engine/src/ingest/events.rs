//! Rows of event logs: "User Behavior Insights" (UBI) and Metarank.
//!
//! An action whose name contains `click` is a click. One that contains `impression` (or is `view` or `shown`) means
//! that a document was shown. Others are counted and left out.

use matchrank_core::Result;
use serde_json::Value;

use super::clicks::{ClickLog, LogRow, QueryName, Searches, Skip};
use super::table::TableRow;

const UBI_OBJECT: [&str; 3] =
    ["event_attributes.object.object_id", "event_attributes.object_id", "object_id"];
const UBI_POSITION: [&str; 2] = ["event_attributes.position.ordinal", "position"];

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
        let clicked = match action(field(&["action_name"]).unwrap_or_default()) {
            Some(clicked) => clicked,
            None => return Ok(Err(Skip::OtherAction)),
        };
        let search = field(&["query_id"]).and_then(|id| searches.get(id)).map(String::as_str);
        let Some(query) = search.or(field(&["user_query"])) else { return Ok(Err(Skip::UnknownSearch)) };
        let Some(document) = field(&UBI_OBJECT) else { return Ok(Err(Skip::EmptyDocument)) };
        let position = field(&UBI_POSITION).map(|text| self.position(row.line, text)).transpose()?;
        let time = field(&["timestamp"]).map(|text| self.time(row.line, text)).transpose()?;
        let (clicks, shown) = if clicked { (1.0, 0) } else { (0.0, 1) };
        Ok(Ok(LogRow {
            line: row.line,
            query: QueryName::Text(query),
            document,
            clicks,
            shown,
            position,
            time,
        }))
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
                if event["type"].as_str().is_none_or(|kind| action(kind) != Some(true)) {
                    return each(Err(Skip::OtherAction));
                }
                let Some(query) = event["ranking"].as_str().and_then(|id| searches.get(id)) else {
                    return each(Err(Skip::UnknownSearch));
                };
                let Some(document) = event["item"].as_str() else { return each(Err(Skip::EmptyDocument)) };
                let query = QueryName::Text(query);
                each(Ok(LogRow { line, query, document, clicks: 1.0, shown: 0, position: None, time }))
            }
            _ => Ok(()),
        }
    }
}

/// Returns true for a click, false for an impression, and None for other actions.
fn action(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    if name.contains("click") {
        Some(true)
    } else if name.contains("impression") || name == "view" || name == "shown" {
        Some(false)
    } else {
        None
    }
}

/// Returns the query of a Metarank ranking event: its field `query` (or `search`, `q`).
pub(super) fn metarank_query(event: &Value) -> Option<&str> {
    let fields = event["fields"].as_array()?;
    let named = |name: &str| fields.iter().find(|f| f["name"] == name).and_then(|f| f["value"].as_str());
    named("query").or_else(|| named("search")).or_else(|| named("q"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_clicks_impressions_or_neither() {
        assert_eq!(action("product_click"), Some(true));
        assert_eq!(action("impression"), Some(false));
        assert_eq!(action("add_to_cart"), None);
    }
}
