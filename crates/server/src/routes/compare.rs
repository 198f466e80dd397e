use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::search::{ModelUsed, Query, SearchHit, check_top};
use crate::body::Posted;
use crate::failure::Failure;
use crate::finding::{Asked, Finding};
use crate::fleet::Snapshot;
use crate::service::{Service, milliseconds_since};
use crate::settings::ServiceSettings;
use matchrank_engine::serving::Filter;

/// Models to compare on one query.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareRequest {
    /// Text of the query.
    #[schema(value_type = String)]
    query: Query,
    /// Names or aliases of two to four models.
    models: Vec<String>,
    /// Documents of each model, at most 1,000.
    #[serde(default = "ten")]
    #[schema(default = 10)]
    top: usize,
    /// Values that stored fields must have, as for a search.
    #[schema(value_type = Option<Object>)]
    filter: Option<Filter>,
}

fn ten() -> usize {
    10
}

/// Rankings of several models.
#[derive(Serialize, ToSchema)]
pub(crate) struct CompareResponse {
    /// The models in the order of the request.
    models: Vec<ComparedModel>,
}

/// Ranking of one model.
#[derive(Serialize, ToSchema)]
pub(crate) struct ComparedModel {
    /// The model.
    model: ModelUsed,
    /// Documents, the best first.
    hits: Vec<ComparedHit>,
    /// Milliseconds that the search took.
    took_ms: f64,
}

/// A document with its ranks under all models.
#[derive(Serialize, ToSchema)]
pub(crate) struct ComparedHit {
    /// The document.
    #[serde(flatten)]
    hit: SearchHit,
    /// Its rank under each model, from 1; `null` where it is not among the best.
    ranks: Vec<Option<usize>>,
    /// Ranks that it moves up from the first model to this one, negative for down; `null` where one of them does not have it.
    moves: Option<i64>,
}

/// Compare two to four models on a query.
#[utoipa::path(
    post,
    path = "/v1/compare",
    tag = "search",
    request_body = CompareRequest,
    responses((status = 200, body = CompareResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn compare(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<CompareRequest>,
) -> Result<Response<Body>, Failure> {
    check_top(request.top)?;
    if !(2..=4).contains(&request.models.len()) {
        return Err(Failure::Unusable("`models` names two to four models".into()));
    }
    service.answer(memory, move |service, live| answer(&service.settings, live, &request)).await
}

fn answer(
    settings: &ServiceSettings,
    live: &Snapshot,
    request: &CompareRequest,
) -> Result<CompareResponse, Failure> {
    let mut found = Vec::new();
    for name in &request.models {
        let start = Instant::now();
        let (query, filter) = (request.query.as_str(), request.filter.as_ref());
        let asked = Asked { query, model: Some(name), filter, ..Asked::default() };
        let finding = Finding::begin(settings, live, &asked)?;
        let hits = finding.top(request.top)?;
        found.push((ModelUsed::from(&finding.named), hits, milliseconds_since(start)));
    }
    let ranks: Vec<HashMap<u32, usize>> =
        found.iter().map(|(_, hits, _)| hits.iter().map(|hit| hit.document).zip(1..).collect()).collect();
    let models = found.into_iter().enumerate().map(|(own, (model, hits, took_ms))| {
        let hits = hits.iter().map(|hit| {
            let ranks: Vec<Option<usize>> =
                ranks.iter().map(|ranks| ranks.get(&hit.document).copied()).collect();
            let moves = ranks[0].zip(ranks[own]).map(|(first, own)| first as i64 - own as i64);
            ComparedHit { hit: SearchHit::new(&live.collection, hit), ranks, moves }
        });
        ComparedModel { model, hits: hits.collect(), took_ms }
    });
    Ok(CompareResponse { models: models.collect() })
}
