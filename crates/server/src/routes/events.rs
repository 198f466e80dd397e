use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::documents::check_id;
use crate::body::Bytes;
use crate::catalogue::DocumentUpdate;
use crate::failure::Failure;
use crate::learning::{EventAction, LogEvent, parse_events};
use crate::listed::MAX_LISTED;
use crate::metrics::add;
use crate::service::{Service, json_response};
use crate::store::WriteBatch;

/// Acknowledgement of events.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventsResponse {
    /// Events that are new.
    accepted: usize,
    /// Events whose ids were known already; they are not counted again.
    duplicates: usize,
    /// Documents that were changed by metadata of items.
    documents: usize,
}

/// Takes events of any format; returns when they are durable, and document changes visible.
pub(crate) async fn take_events(service: &Arc<Service>, body: Bytes) -> Result<EventsResponse, Failure> {
    let writing = service.writing()?;
    let Bytes { bytes, memory } = body;
    let (events, updates) = service.workers.run(move || read(&bytes)).await?;
    let n = events.len();
    let (duplicates, documents) = if updates.is_empty() {
        (writing.append(WriteBatch::from(events)).await?.n_duplicates, 0)
    } else {
        let events = WriteBatch::from(events).events;
        let receipt = writing.catalogue.change(events, updates, Some(memory)).await?;
        (receipt.n_duplicates, receipt.n_changed)
    };
    add(&service.metrics.events, (n - duplicates) as u64);
    add(&service.metrics.duplicate_events, duplicates as u64);
    add(&service.metrics.document_changes, documents as u64);
    Ok(EventsResponse { accepted: n - duplicates, duplicates, documents })
}

/// Parses events, and the document changes that Metarank's metadata of items stand for.
fn read(bytes: &[u8]) -> Result<(Vec<LogEvent>, Vec<DocumentUpdate>), Failure> {
    let events = parse_events(bytes).map_err(|error| Failure::Unusable(error.to_string()))?;
    if events.len() > MAX_LISTED {
        let n = events.len();
        return Err(Failure::TooLarge(format!(
            "a request may have {MAX_LISTED} events, not {n}; send several"
        )));
    }
    let mut updates = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let EventAction::Description(line) = &event.action else { continue };
        let described: Value = crate::body::parse(line.as_bytes())?;
        if let ("item", Some(id)) =
            (described["event"].as_str().unwrap_or_default(), text(&described["item"]))
        {
            check_id(&id)?;
            let fields = fields(&described["fields"]);
            updates.push(DocumentUpdate::Merge { id, fields, event: index });
        }
    }
    Ok((events, updates))
}

/// Returns an id that may have been written as a number.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns Metarank's list of names and values as an object.
fn fields(list: &Value) -> Map<String, Value> {
    let fields = list.as_array().into_iter().flatten();
    fields.filter_map(|field| Some((field["name"].as_str()?.to_owned(), field["value"].clone()))).collect()
}

impl EventsResponse {
    /// Number of events that the log has now.
    pub(crate) fn n_known(&self) -> usize {
        self.accepted + self.duplicates
    }

    /// Number of documents that were changed.
    pub(crate) fn n_documents(&self) -> usize {
        self.documents
    }
}

/// Take events: searches, clicks and other actions.
///
/// One object, a list, or one object a line; in our own form, in that of User Behavior Insights 1.3, or in that of Metarank.
/// Acknowledged when durable. An event with the `id` of an earlier one is a retry, and not counted again.
#[utoipa::path(
    post,
    path = "/v1/events",
    tag = "learning",
    request_body(content = Object, description = "Events", example = json!({
        "id": "e2", "event": "click", "time": "2026-11-18T21:15:03Z", "query": "red hat", "document": "d7", "position": 2
    })),
    responses((status = 200, body = EventsResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn events(
    State(service): State<Arc<Service>>,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    json_response(&take_events(&service, body).await?)
}
