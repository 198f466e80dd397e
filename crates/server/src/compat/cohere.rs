//! Reranking as Cohere (v1 and v2) and Jina do it; Elasticsearch's `custom` service and OpenSearch's connector post the same.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::body::Posted;
use crate::candidate::GivenDocument;
use crate::failure::Failure;
use crate::fleet::Snapshot;
use crate::identity;
use crate::listed::Listed;
use crate::ranking::{RankExplanation, explain_ranked, rank};
use crate::relevance::relevance;
use crate::routes::Query;
use crate::service::Service;
use crate::spans::{RelevantSpan, relevant_spans};

/// Spans of a document where the request names no number.
const SPANS: usize = 5;
/// Documents with spans, the best: each is explained, which costs more than ranking it.
const WITH_SPANS: usize = 100;

/// Documents to rerank.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RerankRequest {
    /// Name or alias of a model; the default model for names that the service does not know.
    model: Option<String>,
    /// Text of the query.
    #[schema(value_type = String, example = "red hat")]
    query: Query,
    /// Texts, or objects with `id`, `text` or fields; at most 10,000. An id that the collection knows stands for the stored
    /// document with its clicks.
    #[schema(value_type = Vec<GivenDocument>, example = json!(["a red hat", {"id": "d7"}, {"id": "new", "text": "a blue cap"}]))]
    documents: Listed<GivenDocument>,
    /// Documents to return; all without it.
    top_n: Option<usize>,
    /// Fields of documents to use (v1); `text` and all fields of the dataset without it.
    rank_fields: Option<Vec<String>>,
    /// True to return the texts.
    return_documents: Option<bool>,
    /// Words of each document that make it relevant.
    relevant_spans: Option<SpansRequest>,
}

/// Whether to return spans.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SpansRequest {
    /// `enabled` for spans; any other value for none.
    mode: String,
    /// Spans of each document, at most.
    max_spans: Option<usize>,
}

/// Reranked documents.
#[derive(Serialize, ToSchema)]
pub(crate) struct RerankResponse {
    /// Id of the response.
    id: String,
    /// Name of the model that was used (Jina).
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Documents, the best first.
    results: Vec<RerankedDocument>,
    /// Version of the interface.
    #[schema(value_type = Object)]
    meta: Value,
    /// Numbers of tokens (Jina). The service bills nothing, so they are counts of blank-separated words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    usage: Option<Value>,
}

/// A reranked document.
#[derive(Serialize, ToSchema)]
pub(crate) struct RerankedDocument {
    /// Place in the request, from 0.
    index: usize,
    /// Relevance in [0, 1]: an increasing function of the score of the model.
    relevance_score: f64,
    /// The document, if the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    document: Option<Map<String, Value>>,
    /// Words that make it relevant, in code points of its text, the strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevant_spans: Option<Vec<RelevantSpan>>,
}

/// Rerank documents: Cohere v1, Jina.
#[utoipa::path(
    post,
    path = "/v1/rerank",
    tag = "compatible",
    request_body = RerankRequest,
    responses((status = 200, body = RerankResponse), (status = "4XX", description = "`{\"id\", \"message\", \"detail\"}`"))
)]
pub(crate) async fn rerank_v1(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<RerankRequest>,
) -> Result<Response<Body>, Failure> {
    service.answer(memory, move |service, live| answer(service, live, request, Interface::V1)).await
}

/// Rerank documents: Cohere v2.
#[utoipa::path(
    post,
    path = "/v2/rerank",
    tag = "compatible",
    request_body = RerankRequest,
    responses((status = 200, body = RerankResponse), (status = "4XX", description = "`{\"id\", \"message\", \"detail\"}`"))
)]
pub(crate) async fn rerank_v2(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<RerankRequest>,
) -> Result<Response<Body>, Failure> {
    service.answer(memory, move |service, live| answer(service, live, request, Interface::V2)).await
}

/// Version of Cohere's interface; Jina's is the first with fields of its own.
#[derive(Clone, Copy, PartialEq)]
enum Interface {
    V1,
    V2,
}

fn answer(
    service: &Service,
    live: &Snapshot,
    request: RerankRequest,
    interface: Interface,
) -> Result<RerankResponse, Failure> {
    let named = live.model_or_default(request.model.as_deref())?;
    named.matching()?;
    let mut documents = request.documents.items("documents")?;
    if let Some(fields) = &request.rank_fields {
        documents.iter_mut().for_each(|document| document.retain_fields(fields));
    }
    let query = request.query.as_str();
    let mut ranked = rank(service, live, &named, query, &documents)?;
    match request.top_n {
        Some(0) => return Err(Failure::Unusable("`top_n` is 0; give at least 1, or omit it".into())),
        Some(top) => ranked.truncate(top),
        None => {}
    }
    let spans = request.relevant_spans.filter(|spans| spans.mode.eq_ignore_ascii_case("enabled"));
    let returned = request.return_documents == Some(true);
    let places: Vec<usize> = ranked.iter().take(WITH_SPANS).map(|of| of.index).collect();
    let explained = match &spans {
        Some(_) => explain_ranked(service, live, (&named, query), (&documents, &places))?,
        None => Vec::new(),
    };
    let max_spans = spans.and_then(|spans| spans.max_spans).unwrap_or(SPANS);
    let relevant = |given: &GivenDocument, explanation: &RankExplanation| {
        let text = given.shown_text(service, live);
        relevant_spans(&text, &explanation.words(), &service.analyser, max_spans)
    };
    let reranked = ranked.iter().enumerate().map(|(place, of)| {
        let given = &documents[of.index];
        let explanation = explained.get(place).filter(|_| of.score.is_some());
        RerankedDocument {
            index: of.index,
            relevance_score: relevance(of.value(), named.version.scale),
            document: returned.then(|| shown(given, service, live)),
            relevant_spans: explanation
                .map(|explanation| relevant(given, explanation))
                .filter(|spans| !spans.is_empty()),
        }
    });
    let results = reranked.collect();
    let words = |text: &str| text.split_whitespace().count();
    let is_first = interface == Interface::V1;
    let usage = is_first.then(|| {
        let of_documents = documents.iter().map(|document| {
            document.text.as_deref().map_or(0, words)
                + document.fields.iter().map(|(_, text)| words(text)).sum::<usize>()
        });
        let total = words(query) + of_documents.sum::<usize>();
        json!({"total_tokens": total, "prompt_tokens": total})
    });
    let version = if is_first { "1" } else { "2" };
    Ok(RerankResponse {
        id: identity::next(),
        model: is_first.then(|| named.name.to_owned()),
        results,
        meta: json!({"api_version": {"version": version}, "billed_units": {"search_units": 0}}),
        usage,
    })
}

/// Returns a document as a response shows it: its fields, and `text` in any case, which clients of Cohere require.
fn shown(given: &GivenDocument, service: &Service, live: &Snapshot) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("text".into(), given.shown_text(service, live).into());
    shown.extend(given.id.iter().map(|id| ("id".to_owned(), id.clone().into())));
    shown.extend(given.fields.iter().map(|(name, text)| (name.clone(), text.clone().into())));
    shown
}
