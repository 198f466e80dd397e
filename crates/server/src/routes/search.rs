use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use matchrank_engine::scoring::{Explanation, Hit};
use matchrank_engine::serving::{Collection, Filter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::body::Posted;
use crate::failure::Failure;
use crate::finding::{Asked, Finding};
use crate::fleet::{Named, Snapshot};
use crate::service::{Service, milliseconds_since};
use crate::settings::ServiceSettings;

/// Documents that a request may ask for.
const MAX_TOP: usize = 1000;
/// Hits that a request may have explained.
const MAX_EXPLAINED: usize = 100;
/// Longest query, in bytes.
const LONGEST_QUERY: usize = 8192;

/// A search of the collection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchRequest {
    /// Text of the query.
    #[schema(value_type = String, example = "red hat")]
    query: Query,
    /// Documents to return, at most 1,000.
    #[serde(default = "ten")]
    #[schema(default = 10)]
    top: usize,
    /// Name or alias of the model; the default model without one.
    model: Option<String>,
    /// Values that stored fields must have: one value, a list of values, or a range with `gt`, `gte`, `lt`, `lte`. All must hold.
    #[schema(value_type = Option<Object>, example = json!({"brand": "acme", "price": {"gte": 10, "lt": 50}}))]
    filter: Option<Filter>,
    /// Names or aliases of models that propose the documents to rank; `[]` to rank the whole collection. Without it, those of
    /// the settings (`first-stage`).
    #[schema(example = json!(["words", "clicks"]))]
    first_stage: Option<Vec<String>>,
    /// Documents that each of them proposes, at most 10,000. Without it, that of the settings (`depth`, 200).
    depth: Option<usize>,
    /// True to explain the score of each of the best 100 hits.
    #[serde(default)]
    explain: bool,
}

fn ten() -> usize {
    10
}

/// Text of a query, neither empty nor too long.
pub(crate) struct Query(String);

impl<'de> Deserialize<'de> for Query {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Err(serde::de::Error::custom("the query is empty"));
        }
        if text.len() > LONGEST_QUERY {
            return Err(serde::de::Error::custom(format!("the query has more than {LONGEST_QUERY} bytes")));
        }
        Ok(Self(text))
    }
}

impl Query {
    /// Returns the text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Query {
    type Error = Failure;

    fn try_from(text: String) -> Result<Self, Failure> {
        serde_json::from_value(Value::String(text)).map_err(|error| Failure::Unusable(error.to_string()))
    }
}

/// Result of a search.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchResponse {
    /// The model that was used.
    model: ModelUsed,
    /// Documents, the best first.
    hits: Vec<SearchHit>,
    /// Documents that the first stage proposed, in a search in two stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed: Option<usize>,
    /// Milliseconds that the search took.
    took_ms: f64,
}

/// A model with its version.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct ModelUsed {
    /// Name of the model.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: u32,
}

impl From<&Named<'_>> for ModelUsed {
    fn from(named: &Named<'_>) -> Self {
        Self { name: named.name.to_owned(), version: named.version.number }
    }
}

/// A document that a search found.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchHit {
    /// Id of the document.
    pub(crate) id: String,
    /// Its score.
    pub(crate) score: f32,
    /// True if the document has no click in the training data.
    pub(crate) is_new: bool,
    /// Its stored fields.
    #[schema(value_type = Object)]
    pub(crate) fields: Map<String, Value>,
    /// Why it has its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) explanation: Option<Explanation>,
}

impl SearchHit {
    pub(crate) fn new(collection: &Collection, hit: &Hit) -> Self {
        let stored = collection.stored(hit.document);
        Self {
            id: collection.id(hit.document).to_owned(),
            score: hit.score,
            is_new: collection.is_new(hit.document),
            fields: stored.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
            explanation: None,
        }
    }
}

/// Returns an error unless a request asks for a number of documents that it may have.
pub(crate) fn check_top(top: usize) -> Result<(), Failure> {
    if (1..=MAX_TOP).contains(&top) {
        return Ok(());
    }
    Err(Failure::Unusable(format!("`top` is {top}; 1 to {MAX_TOP} documents can be returned")))
}

/// Search the collection.
#[utoipa::path(
    post,
    path = "/v1/search",
    tag = "search",
    request_body = SearchRequest,
    responses((status = 200, body = SearchResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn search(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<SearchRequest>,
) -> Result<Response<Body>, Failure> {
    check_top(request.top)?;
    service.answer(memory, move |service, live| answer(&service.settings, live, &request)).await
}

fn answer(
    settings: &ServiceSettings,
    live: &Snapshot,
    request: &SearchRequest,
) -> Result<SearchResponse, Failure> {
    let start = Instant::now();
    let asked = Asked {
        query: request.query.as_str(),
        model: request.model.as_deref(),
        filter: request.filter.as_ref(),
        first_stage: request.first_stage.as_deref(),
        depth: request.depth,
    };
    let finding = Finding::begin(settings, live, &asked)?;
    let found = finding.top(request.top)?;
    let mut hits: Vec<SearchHit> = found.iter().map(|hit| SearchHit::new(&live.collection, hit)).collect();
    if request.explain {
        let documents: Vec<u32> = found.iter().take(MAX_EXPLAINED).map(|hit| hit.document).collect();
        for (hit, explanation) in hits.iter_mut().zip(finding.explain(&documents)?) {
            hit.explanation = Some(explanation);
        }
    }
    Ok(SearchResponse {
        model: (&finding.named).into(),
        hits,
        proposed: finding.n_proposed(),
        took_ms: milliseconds_since(start),
    })
}
