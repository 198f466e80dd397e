use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use matchrank_engine::scoring::Explanation;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::search::{ModelUsed, Query};
use crate::body::Posted;
use crate::candidate::{GivenDocument, with_candidate};
use crate::failure::Failure;
use crate::finding::{Asked, Finding};
use crate::fleet::Snapshot;
use crate::parts::{PartDifference, ScorePart, differences, score_parts};
use crate::service::Service;
use matchrank_engine::serving::Candidate;

/// A document whose score is to be explained.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainRequest {
    /// Text of the query.
    #[schema(value_type = String)]
    query: Query,
    /// Id of a document of the collection, or an object with `text` or `fields`.
    #[schema(value_type = Object, example = "d1")]
    document: GivenDocument,
    /// Another document: explains why the first stands above or below it.
    #[schema(value_type = Option<Object>, example = "d7")]
    against: Option<GivenDocument>,
    /// Name or alias of the model; the default model without one.
    model: Option<String>,
    /// Models that propose the documents to rank, as for a search: scores of stacks are relative to them.
    first_stage: Option<Vec<String>>,
    /// Documents that each of them proposes, as for a search.
    depth: Option<usize>,
}

/// Why a document has its score.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExplainResponse {
    /// The model that was used.
    model: ModelUsed,
    /// Score and reasons, by the formula of the model.
    #[schema(value_type = Object)]
    explanation: Explanation,
    /// The reasons as a list, the strongest first.
    parts: Vec<ScorePart>,
    /// The other document.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<AgainstDocument>,
}

/// Why a document stands above or below another.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgainstDocument {
    /// Score and reasons of the other document.
    #[schema(value_type = Object)]
    explanation: Explanation,
    /// Parts whose contributions differ, the largest difference first.
    differences: Vec<PartDifference>,
}

/// Explain the score of a document.
#[utoipa::path(
    post,
    path = "/v1/explain",
    tag = "search",
    request_body = ExplainRequest,
    responses((status = 200, body = ExplainResponse), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn explain(
    State(service): State<Arc<Service>>,
    Posted(request): Posted<ExplainRequest>,
) -> Result<Response<Body>, Failure> {
    service.answer(move |service, live| answer(service, live, request)).await
}

fn answer(service: &Service, live: &Snapshot, request: ExplainRequest) -> Result<ExplainResponse, Failure> {
    let asked = Asked {
        query: request.query.as_str(),
        model: request.model.as_deref(),
        filter: None,
        first_stage: request.first_stage.as_deref(),
        depth: request.depth,
    };
    let finding = Finding::begin(&service.settings, live, &asked)?;
    let explained = |document: GivenDocument| {
        let document = document.by_id();
        with_candidate(service, live, &document, |candidate| match (candidate, &document.id) {
            (Candidate::Text([]), Some(id)) => Err(Failure::NotFound(format!("there is no document {id:?}"))),
            (Candidate::Known(number), _) => Ok(finding.explain(&[*number])?.remove(0)),
            _ => Ok(finding.served().explain(asked.query, candidate)?),
        })
    };
    let explanation = explained(request.document)?;
    let against = match request.against {
        None => None,
        Some(document) => {
            let other = explained(document)?;
            Some(AgainstDocument { differences: differences(&explanation, &other), explanation: other })
        }
    };
    Ok(ExplainResponse {
        model: (&finding.named).into(),
        parts: score_parts(&explanation),
        explanation,
        against,
    })
}
