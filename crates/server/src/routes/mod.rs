//! Routes of the service.

mod compare;
mod documents;
mod events;
mod explain;
mod export;
mod health;
mod models;
mod rank;
mod search;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::Response;
use axum::middleware;
use axum::response::IntoResponse;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use events::take_events;
pub(crate) use search::Query;

use crate::compat;
use crate::failure::Failure;
use crate::guard::guard;
use crate::openapi;
use crate::page;
use crate::service::Service;

/// Routes with their documentation.
pub(crate) fn documented() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::with_openapi(openapi::opening())
        .routes(routes!(search::search))
        .routes(routes!(rank::rank))
        .routes(routes!(explain::explain))
        .routes(routes!(compare::compare))
        .routes(routes!(events::events))
        .routes(routes!(export::export))
        .routes(routes!(documents::put, documents::delete, documents::get))
        .routes(routes!(documents::bulk))
        .routes(routes!(models::list))
        .routes(routes!(models::activate))
        .routes(routes!(models::roll_back))
        .routes(routes!(compat::cohere::rerank_v1))
        .routes(routes!(compat::cohere::rerank_v2))
        .routes(routes!(compat::tei::rerank))
        .routes(routes!(compat::tei::info))
        .routes(routes!(compat::tei::health))
        .routes(routes!(compat::metarank::rank))
        .routes(routes!(compat::metarank::feedback))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
}

/// Returns the service as one router.
pub(crate) fn router(service: Arc<Service>) -> Router {
    let (router, api) = documented().split_for_parts();
    router
        .merge(openapi::pages(&api))
        .merge(page::pages())
        .fallback(|| async { Failure::NotFound("there is no such route; see /openapi.json".into()) })
        .method_not_allowed_fallback(|| async { Failure::WrongMethod })
        .with_state(service.clone())
        .layer(CatchPanicLayer::custom(caught))
        // Bodies are limited where they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(service, guard))
}

fn caught(_: Box<dyn std::any::Any + Send>) -> Response<Body> {
    tracing::error!("a request panicked");
    Failure::Internal.into_response()
}
