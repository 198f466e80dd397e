use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::documents::check_id;
use crate::body::Bytes;
use crate::catalogue::DocumentUpdate;
use crate::event::{Given, objects, read_all};
use crate::failure::Failure;
use crate::handover::Acknowledged;
use crate::metrics::add;
use crate::service::{Service, json_response};

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

/// What became of the objects of a request.
pub(crate) struct Taken {
    pub(crate) acknowledged: Acknowledged,
    /// Document changes.
    pub(crate) n_changes: usize,
    /// Metadata of persons, which no model uses.
    pub(crate) n_people: usize,
}

/// Takes events of any format; returns when they are durable, and document changes visible.
pub(crate) async fn take_events(service: &Arc<Service>, body: Bytes) -> Result<Taken, Failure> {
    let writing = service.writing()?;
    let log = writing.log.clone();
    let given = service.workers.run(move || read_all(objects(&body.bytes)?)).await?;
    let (mut events, mut updates, mut n_people) = (Vec::new(), Vec::new(), 0);
    for given in given {
        match given {
            Given::Event(event) => events.push(event),
            Given::Item { id, fields } => {
                check_id(&id)?;
                updates.push(DocumentUpdate::Merge { id, fields });
            }
            Given::Person => n_people += 1,
        }
    }
    let n_changes = updates.len();
    if n_changes > 0 {
        writing.catalogue.change(updates).await?;
        add(&service.metrics.document_changes, n_changes as u64);
    }
    let acknowledged = match events.is_empty() {
        true => Acknowledged::default(),
        false => service.workers.run(move || log.add_events(events)).await?,
    };
    add(&service.metrics.events, acknowledged.accepted as u64);
    add(&service.metrics.duplicate_events, acknowledged.duplicates as u64);
    Ok(Taken { acknowledged, n_changes, n_people })
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
        "id": "e2", "type": "click", "time": 1763500003000u64, "query": "red hat", "document": "d7", "position": 2
    })),
    responses((status = 200, body = EventsResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn events(
    State(service): State<Arc<Service>>,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    let taken = take_events(&service, body).await?;
    let Acknowledged { accepted, duplicates } = taken.acknowledged;
    json_response(&EventsResponse { accepted, duplicates, documents: taken.n_changes })
}
