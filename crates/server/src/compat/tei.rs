//! Reranking as Text Embeddings Inference does it; Elasticsearch's `hugging_face` service posts the same.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::body::Posted;
use crate::candidate::GivenDocument;
use crate::failure::Failure;
use crate::fleet::Snapshot;
use crate::listed::{Listed, MAX_LISTED};
use crate::ranking::rank;
use crate::relevance::relevance;
use crate::routes::Query;
use crate::service::{Service, json_response};

/// Texts to rerank.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TextsRequest {
    /// Text of the query.
    #[schema(value_type = String, example = "red hat")]
    query: Query,
    /// Texts, at most 10,000.
    #[schema(value_type = Vec<String>)]
    texts: Listed<String>,
    /// True for the scores of the model, false for relevance in [0, 1].
    #[serde(default)]
    raw_scores: bool,
    /// True to return the texts.
    #[serde(default)]
    return_text: bool,
}

/// A text with its score.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedText {
    /// Place in the request, from 0.
    index: usize,
    /// Relevance, or the score of the model.
    score: f64,
    /// The text, if the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Rerank texts: Text Embeddings Inference.
#[utoipa::path(
    post,
    path = "/rerank",
    tag = "compatible",
    request_body = TextsRequest,
    responses(
        (status = 200, body = Vec<RankedText>),
        (status = "4XX", description = "`{\"error\", \"error_type\"}`")
    )
)]
pub(crate) async fn rerank(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<TextsRequest>,
) -> Result<Response<Body>, Failure> {
    service.answer(memory, move |service, live| answer(service, live, request)).await
}

fn answer(service: &Service, live: &Snapshot, request: TextsRequest) -> Result<Vec<RankedText>, Failure> {
    let named = live.model(None)?;
    named.matching()?;
    let texts = request.texts.items("texts")?;
    let document = |text: String| GivenDocument { text: Some(text), ..GivenDocument::default() };
    let mut documents: Vec<GivenDocument> = texts.into_iter().map(document).collect();
    let ranked = rank(service, live, &named, request.query.as_str(), &documents)?;
    let results = ranked.iter().map(|of| RankedText {
        index: of.index,
        score: if request.raw_scores {
            of.value().into()
        } else {
            relevance(of.value(), named.version.scale)
        },
        text: if request.return_text { documents[of.index].text.take() } else { None },
    });
    Ok(results.collect())
}

/// Say what is served: Text Embeddings Inference.
#[utoipa::path(get, path = "/info", tag = "compatible", responses((status = 200, description = "Model and limits")))]
pub(crate) async fn info(State(service): State<Arc<Service>>) -> Result<Response<Body>, Failure> {
    let live = service.fleet.live();
    let named = live.model(None)?;
    json_response(&described(&service, named.name, &named.version.checksum))
}

/// `model_type` says that the model reranks: clients refuse others. Limits of tokens are those of the body.
fn described(service: &Service, name: &str, checksum: &str) -> Value {
    json!({
        "model_id": name,
        "model_sha": checksum,
        "model_dtype": "float32",
        "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
        "max_concurrent_requests": service.settings.max_queue,
        "max_input_length": service.settings.max_body,
        "max_batch_tokens": service.settings.max_body,
        "max_batch_requests": null,
        "max_client_batch_size": MAX_LISTED,
        "auto_truncate": false,
        "tokenization_workers": std::thread::available_parallelism().map_or(1, usize::from),
        "version": env!("CARGO_PKG_VERSION"),
        "sha": null,
        "docker_label": null,
    })
}

/// Say that requests are answered: Text Embeddings Inference.
#[utoipa::path(get, path = "/health", tag = "compatible", responses((status = 200, description = "Ready")))]
pub(crate) async fn health(State(service): State<Arc<Service>>) -> Result<StatusCode, Failure> {
    if service.is_draining() {
        return Err(Failure::Unavailable("unhealthy: the service is ending".into()));
    }
    Ok(StatusCode::OK)
}
