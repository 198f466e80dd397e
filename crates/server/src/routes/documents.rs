use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::body::{BodyMemory, InPath, Posted};
use crate::catalogue::DocumentUpdate;
use crate::failure::Failure;
use crate::listed::MAX_LISTED;
use crate::metrics::add;
use crate::service::{Service, json_response};
use matchrank_engine::serving::DocumentChange;

/// Longest id of a document, in bytes.
const LONGEST_ID: usize = 512;

/// Acknowledgement of document changes.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangedResponse {
    /// Changes that were applied.
    changed: usize,
    /// Documents that are served afterwards.
    documents: u32,
}

/// A stored document.
#[derive(Serialize, ToSchema)]
pub(crate) struct DocumentResponse {
    /// Id.
    id: String,
    /// True if it has no click in the training data.
    is_new: bool,
    /// Stored fields.
    #[schema(value_type = Object)]
    fields: Map<String, Value>,
}

/// Document changes, applied together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkRequest {
    /// Documents to add or replace.
    #[serde(default)]
    put: Vec<PutDocument>,
    /// Ids of documents to delete.
    #[serde(default)]
    delete: Vec<String>,
}

/// A document to add or replace.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutDocument {
    /// Id.
    id: String,
    /// Its fields.
    #[schema(value_type = Object)]
    fields: Map<String, Value>,
}

/// Add or replace a document; the next query sees it.
#[utoipa::path(
    put,
    path = "/v1/documents/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Id of the document")),
    request_body(content = Object, description = "Fields of the document", example = json!({"title": "red hat"})),
    responses((status = 200, body = ChangedResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn put(
    State(service): State<Arc<Service>>,
    InPath(id): InPath,
    Posted(fields, memory): Posted<Map<String, Value>>,
) -> Result<Response<Body>, Failure> {
    change(&service, vec![DocumentChange::Put { id, fields }], Some(memory)).await
}

/// Delete a document; the next query does not see it.
#[utoipa::path(
    delete,
    path = "/v1/documents/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Id of the document")),
    responses((status = 200, body = ChangedResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn delete(
    State(service): State<Arc<Service>>,
    InPath(id): InPath,
) -> Result<Response<Body>, Failure> {
    service.writing()?;
    if service.fleet.live().collection.find(&id).is_none() {
        return Err(Failure::NotFound(format!("there is no document {id:?}")));
    }
    change(&service, vec![DocumentChange::Delete { id }], None).await
}

/// Read a stored document.
#[utoipa::path(
    get,
    path = "/v1/documents/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Id of the document")),
    responses((status = 200, body = DocumentResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn get(
    State(service): State<Arc<Service>>,
    InPath(id): InPath,
) -> Result<Response<Body>, Failure> {
    let live = service.fleet.live();
    let Some(number) = live.collection.find(&id) else {
        return Err(Failure::NotFound(format!("there is no document {id:?}")));
    };
    let fields = live
        .collection
        .stored(number)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    json_response(&DocumentResponse { is_new: live.collection.is_new(number), id, fields })
}

/// Add, replace and delete many documents: all of them, or none.
#[utoipa::path(
    post,
    path = "/v1/documents",
    tag = "documents",
    request_body = BulkRequest,
    responses((status = 200, body = ChangedResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn bulk(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<BulkRequest>,
) -> Result<Response<Body>, Failure> {
    let put = request.put.into_iter().map(|PutDocument { id, fields }| DocumentChange::Put { id, fields });
    let delete = request.delete.into_iter().map(|id| DocumentChange::Delete { id });
    change(&service, put.chain(delete).collect(), Some(memory)).await
}

async fn change(
    service: &Service,
    changes: Vec<DocumentChange>,
    memory: Option<BodyMemory>,
) -> Result<Response<Body>, Failure> {
    let writing = service.writing()?;
    let changed = changes.len();
    if changed > MAX_LISTED {
        return Err(Failure::TooLarge(format!(
            "a request may have {MAX_LISTED} changes, not {changed}; send several"
        )));
    }
    if changed == 0 {
        return Err(Failure::Unusable("there is nothing to change; give `put`, `delete` or both".into()));
    }
    for change in &changes {
        let (DocumentChange::Put { id, .. } | DocumentChange::Delete { id }) = change;
        check_id(id)?;
    }
    let changes = changes.into_iter().map(DocumentUpdate::Change).collect();
    let receipt = writing.catalogue.change(Vec::new(), changes, memory).await?;
    add(&service.metrics.document_changes, changed as u64);
    json_response(&ChangedResponse { changed, documents: receipt.n_documents })
}

/// Returns an error if a text cannot be the id of a document.
pub(crate) fn check_id(id: &str) -> Result<(), Failure> {
    if !id.is_empty() && id.len() <= LONGEST_ID && !id.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Failure::Unusable(format!(
        "the id {id:?} cannot be used: 1 to {LONGEST_ID} bytes without control characters are expected"
    )))
}
