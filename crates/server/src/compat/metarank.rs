//! Ranking and feedback as Metarank does it.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::body::{Bytes, InPath, Posted};
use crate::candidate::GivenDocument;
use crate::failure::Failure;
use crate::fleet::Snapshot;
use crate::listed::Listed;
use crate::parts::ScorePart;
use crate::ranking::{RankExplanation, explain_ranked, rank as order};
use crate::routes::{Query, take_events};
use crate::service::{Service, json_response};
use crate::version::Scorer;

/// Items to rank.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ItemsRequest {
    /// Fields of the request; matching models read the text of `query`.
    #[schema(value_type = Option<Object>, example = json!([{"name": "query", "value": "red hat"}]))]
    fields: Option<Value>,
    /// Items by id, at most 10,000. Texts among their fields are used for items that the collection does not know; for rankers,
    /// fields whose names are numbers of features.
    #[schema(value_type = Vec<Object>, example = json!([{"id": "d1"}, {"id": "d7"}]))]
    items: Listed<GivenDocument>,
}

/// Ranked items.
#[derive(Serialize, ToSchema)]
pub(crate) struct ItemsResponse {
    /// Milliseconds that the ranking took.
    took: u64,
    /// Items, the best first.
    items: Vec<RankedItem>,
}

/// An item with its score.
#[derive(Serialize, ToSchema)]
pub(crate) struct RankedItem {
    /// Id.
    item: String,
    /// Score.
    score: f32,
    /// What adds to the score, if the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<Vec<FeatureValue>>,
}

/// A part of a score, as Metarank lists the values of features.
#[derive(Serialize, ToSchema)]
pub(crate) struct FeatureValue {
    /// Name of the part.
    name: String,
    /// Contribution to the score.
    value: f64,
}

impl From<ScorePart> for FeatureValue {
    fn from(part: ScorePart) -> Self {
        Self { name: part.name, value: part.adds }
    }
}

/// Rank items: Metarank.
#[utoipa::path(
    post,
    path = "/rank/{model}",
    tag = "compatible",
    params(
        ("model" = String, Path, description = "Name or alias of the model"),
        ("explain" = Option<bool>, Query, description = "True to explain scores")
    ),
    request_body = ItemsRequest,
    responses((status = 200, body = ItemsResponse), (status = "4XX", description = "See Errors"))
)]
pub(crate) async fn rank(
    State(service): State<Arc<Service>>,
    InPath(model): InPath,
    RawQuery(parameters): RawQuery,
    Posted(request, memory): Posted<ItemsRequest>,
) -> Result<Response<Body>, Failure> {
    let parameters = parameters.unwrap_or_default();
    let explain =
        parameters.split('&').any(|parameter| matches!(parameter, "explain" | "explain=true" | "explain=1"));
    service.answer(memory, move |service, live| answer(service, live, &model, request, explain)).await
}

/// Items that a request may have explained.
const MAX_EXPLAINED: usize = 100;

fn answer(
    service: &Service,
    live: &Snapshot,
    model: &str,
    request: ItemsRequest,
    explain: bool,
) -> Result<ItemsResponse, Failure> {
    let start = Instant::now();
    let model = live.model(Some(model))?;
    let text = named(request.fields.as_ref(), "query").and_then(Value::as_str);
    let query = match (text, &model.version.scorer) {
        (Some(text), _) => Some(Query::try_from(text.to_owned())?),
        (None, Scorer::Ranking(_)) => None,
        (None, Scorer::Matching(_)) => {
            return Err(Failure::Unusable(
                "the request has no field `query`, which a matching model needs: {\"fields\": [{\"name\": \"query\", \"value\": ...}]}".into(),
            ));
        }
    };
    let query = query.as_ref().map_or("", Query::as_str);
    let items = request.items.items("items")?;
    if let Some(index) = items.iter().position(|item| item.id.is_none()) {
        return Err(Failure::Unusable(format!("item {index} has no `id`")));
    }
    let ranked = order(service, live, &model, query, &items)?;
    let places: Vec<usize> = ranked.iter().take(MAX_EXPLAINED).map(|of| of.index).collect();
    let explained = match explain {
        true => explain_ranked(service, live, (&model, query), (&items, &places))?,
        false => Vec::new(),
    };
    let features =
        |explanation: &RankExplanation| explanation.parts().into_iter().map(FeatureValue::from).collect();
    let items = ranked.iter().enumerate().map(|(place, of)| RankedItem {
        item: items[of.index].id.clone().unwrap_or_default(),
        score: of.value(),
        features: explained.get(place).map(features),
    });
    Ok(ItemsResponse { took: start.elapsed().as_millis() as u64, items: items.collect() })
}

/// Acknowledgement of feedback.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedbackResponse {
    /// `ok`.
    status: &'static str,
    /// Events that were taken.
    accepted: usize,
    /// Documents that were changed by metadata of items.
    updated: usize,
    /// Milliseconds until everything was durable.
    took_millis: u64,
}

/// Take metadata of items, rankings and interactions: Metarank.
#[utoipa::path(
    post,
    path = "/feedback",
    tag = "compatible",
    request_body(content = Object, description = "One event, or a list of them"),
    responses((status = 200, body = FeedbackResponse), (status = "4XX", description = "See Errors"))
)]
pub(crate) async fn feedback(
    State(service): State<Arc<Service>>,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    let start = Instant::now();
    let taken = take_events(&service, body).await?;
    json_response(&FeedbackResponse {
        status: "ok",
        accepted: taken.n_known(),
        updated: taken.n_documents(),
        took_millis: start.elapsed().as_millis() as u64,
    })
}

/// Returns the value of a field in a list of names and values.
fn named<'a>(fields: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    fields?.as_array()?.iter().find(|field| field["name"] == name).map(|field| &field["value"])
}
