use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::rank::query_for;
use super::search::{ModelUsed, Query};
use crate::body::Posted;
use crate::candidate::{GivenDocument, candidates, with_candidates};
use crate::failure::Failure;
use crate::finding::{Asked, Finding};
use crate::fleet::{Named, Snapshot};
use crate::listed::Listed;
use crate::parts::{PartDifference, ScorePart, differences};
use crate::ranking::{RankExplanation, explain_ranked};
use crate::service::Service;
use crate::version::Scorer;
use matchrank_engine::serving::{Candidate, Filter};

/// A document whose score is to be explained.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainRequest {
    /// Text of the query; rankers of feature lists need none.
    #[schema(value_type = Option<String>, example = "red hat")]
    query: Option<Query>,
    /// Id of a document of the collection, or an object with `text`, `fields` or `features`.
    #[schema(example = "d1")]
    document: GivenDocument,
    /// Another document: explains why the first stands above or below it.
    #[schema(example = "d7")]
    against: Option<GivenDocument>,
    /// Candidates of a request to `/v1/rank`: explains the scores of that ranking. Rankers of feature lists need them.
    #[schema(value_type = Option<Vec<GivenDocument>>)]
    candidates: Option<Listed<GivenDocument>>,
    /// Name or alias of the model; the default model without one.
    model: Option<String>,
    /// Conditions on stored fields, as for a search: scores of stacks are relative to the documents that are ranked.
    #[schema(value_type = Option<Object>)]
    filter: Option<Filter>,
    /// Models that propose the documents to rank, as for a search.
    first_stage: Option<Vec<String>>,
    /// Documents that each of them proposes, as for a search.
    depth: Option<usize>,
}

/// Why a document has its score.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExplainResponse {
    /// The model that was used.
    model: ModelUsed,
    #[serde(flatten)]
    why: RankExplanation,
    /// The reasons as a list, the strongest first.
    parts: Vec<ScorePart>,
    /// The other document.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<AgainstDocument>,
}

/// Why a document stands above or below another.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgainstDocument {
    #[serde(flatten)]
    why: RankExplanation,
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
    Posted(request, memory): Posted<ExplainRequest>,
) -> Result<Response<Body>, Failure> {
    service.answer(memory, move |service, live| answer(service, live, request)).await
}

fn answer(service: &Service, live: &Snapshot, request: ExplainRequest) -> Result<ExplainResponse, Failure> {
    let named = live.model(request.model.as_deref())?;
    let query = query_for(&named, request.query.as_ref())?;
    let documents = std::iter::once(request.document).chain(request.against);
    let documents: Vec<GivenDocument> = documents.map(GivenDocument::by_id).collect();
    let is_search = request.filter.is_some() || request.first_stage.is_some() || request.depth.is_some();
    let explained = match (request.candidates, &named.version.scorer) {
        (Some(_), _) if is_search => Err(Failure::Unusable(
            "`candidates` are ranked as they are; omit `filter`, `first_stage` and `depth`".into(),
        )),
        (Some(listed), _) => among(service, live, (&named, query), (candidates(listed)?, documents)),
        (None, Scorer::Ranking(_)) => Err(Failure::Unusable(format!(
            "`candidates` is missing: the model {} ranks feature lists, and explanations are relative to the list",
            named.name
        ))),
        (None, Scorer::Matching(_)) => {
            let asked = Asked {
                query,
                model: request.model.as_deref(),
                filter: request.filter.as_ref(),
                first_stage: request.first_stage.as_deref(),
                depth: request.depth,
            };
            searched(service, live, &asked, &documents)
        }
    };
    let mut explained = explained?.into_iter();
    let why = explained.next().ok_or(Failure::Internal)?;
    let parts = why.parts();
    let against = explained.next();
    let against = against.map(|why| AgainstDocument { differences: differences(&parts, &why.parts()), why });
    Ok(ExplainResponse { model: (&named).into(), why, parts, against })
}

/// Explains the scores of documents in a ranking of candidates. A document that is not among them is added.
fn among(
    service: &Service,
    live: &Snapshot,
    asked: (&Named<'_>, &str),
    (mut candidates, documents): (Vec<GivenDocument>, Vec<GivenDocument>),
) -> Result<Vec<RankExplanation>, Failure> {
    let mut places = Vec::with_capacity(documents.len());
    for document in documents {
        let place = candidates.iter().position(|candidate| candidate.is_same_as(&document));
        places.push(place.unwrap_or(candidates.len()));
        if place.is_none() {
            document.check_known(live)?;
            candidates.push(document);
        }
    }
    explain_ranked(service, live, asked, (&candidates, &places))
}

/// Explains the scores of documents in a search. Documents of the collection are explained together, relative to the same
/// documents, and others by themselves.
fn searched(
    service: &Service,
    live: &Snapshot,
    asked: &Asked<'_>,
    documents: &[GivenDocument],
) -> Result<Vec<RankExplanation>, Failure> {
    documents.iter().try_for_each(|document| document.check_known(live))?;
    let finding = Finding::begin(&service.settings, live, asked)?;
    with_candidates(service, live, documents, |candidates| {
        let number = |candidate: &Candidate<'_>| match candidate {
            Candidate::Known(number) => Some(*number),
            Candidate::Text(_) => None,
        };
        let known: Vec<u32> = candidates.iter().filter_map(number).collect();
        let mut of_known = finding.explain(&known)?.into_iter();
        let explain = |candidate: &Candidate<'_>| match candidate {
            Candidate::Known(_) => of_known.next().ok_or(Failure::Internal),
            Candidate::Text(_) => Ok(finding.served().explain(asked.query, candidate)?),
        };
        candidates.iter().map(explain).map(|explained| explained.map(RankExplanation::from)).collect()
    })
}
