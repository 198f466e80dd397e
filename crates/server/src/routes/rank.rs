use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::search::{ModelUsed, Query};
use crate::body::Posted;
use crate::candidate::{GivenDocument, candidates};
use crate::failure::Failure;
use crate::fleet::{Named, Snapshot};
use crate::listed::Listed;
use crate::ranking::{RankExplanation, explain_ranked, rank as order};
use crate::service::{Service, milliseconds_since};
use crate::version::Scorer;

/// Candidates to rank.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RankRequest {
    /// Text of the query; rankers of feature lists need none.
    #[schema(value_type = Option<String>, example = "red hat")]
    query: Option<Query>,
    /// Ids, or objects with `id`, `text`, `fields` or `features`; at most 10,000. An id that the collection knows stands for
    /// the stored document with its clicks. Features are a list of numbers, or an object by number of the feature.
    #[schema(value_type = Vec<GivenDocument>, example = json!(["d1", {"text": "a red hat"}, {"id": "d9", "fields": {"title": "cap"}}]))]
    candidates: Listed<GivenDocument>,
    /// Name or alias of the model; the default model without one.
    model: Option<String>,
    /// Candidates to return; all without it.
    top: Option<usize>,
    /// True to explain the scores of the candidates that are returned, at most 100.
    #[serde(default)]
    explain: bool,
}

/// Ranked candidates.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankResponse {
    /// The model that was used.
    model: ModelUsed,
    /// Candidates, the best first.
    results: Vec<RankedCandidate>,
    /// Milliseconds that the ranking took.
    took_ms: f64,
}

/// A candidate with its score.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedCandidate {
    /// Place in the request, from 0.
    index: usize,
    /// Id, if the request gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Score; `null` where the model says nothing about the candidate, which is ranked as 0.
    score: Option<f32>,
    #[serde(flatten)]
    why: RankExplanation,
}

/// Rank given candidates.
#[utoipa::path(
    post,
    path = "/v1/rank",
    tag = "search",
    request_body = RankRequest,
    responses((status = 200, body = RankResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn rank(
    State(service): State<Arc<Service>>,
    Posted(request, memory): Posted<RankRequest>,
) -> Result<Response<Body>, Failure> {
    service.answer(memory, move |service, live| answer(service, live, request)).await
}

/// Candidates that a request may have explained.
const MAX_EXPLAINED: usize = 100;

/// Returns the text of the query; rankers of feature lists need none.
pub(super) fn query_for<'a>(named: &Named<'_>, query: Option<&'a Query>) -> Result<&'a str, Failure> {
    match (query, &named.version.scorer) {
        (Some(query), _) => Ok(query.as_str()),
        (None, Scorer::Ranking(_)) => Ok(""),
        (None, Scorer::Matching(_)) => {
            Err(Failure::Unusable(format!("`query` is missing, which the model {} needs", named.name)))
        }
    }
}

fn answer(service: &Service, live: &Snapshot, request: RankRequest) -> Result<RankResponse, Failure> {
    let start = Instant::now();
    let named = live.model(request.model.as_deref())?;
    let candidates = candidates(request.candidates)?;
    let query = query_for(&named, request.query.as_ref())?;
    let mut ranked = order(service, live, &named, query, &candidates)?;
    ranked.truncate(request.top.unwrap_or(usize::MAX));
    let mut results: Vec<RankedCandidate> = ranked
        .iter()
        .map(|of| RankedCandidate {
            index: of.index,
            id: candidates[of.index].id.clone(),
            score: of.score,
            why: RankExplanation::default(),
        })
        .collect();
    if request.explain {
        let places: Vec<usize> = results.iter().take(MAX_EXPLAINED).map(|result| result.index).collect();
        let explained = explain_ranked(service, live, (&named, query), (&candidates, &places))?;
        for (result, explanation) in results.iter_mut().zip(explained) {
            result.why = explanation;
        }
    }
    Ok(RankResponse { model: (&named).into(), results, took_ms: milliseconds_since(start) })
}
