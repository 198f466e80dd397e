use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, header};

use crate::failure::Failure;
use crate::metrics::render;
use crate::service::{Service, json_response};

/// Say that the process lives.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, description = "The process lives")))]
pub(super) async fn live() -> Result<Response<Body>, Failure> {
    json_response(&serde_json::json!({"status": "ok"}))
}

/// Say whether the service takes requests: models are loaded, and it does not end.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operation",
    responses((status = 200, description = "Ready"), (status = 503, description = "Ending"))
)]
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<Response<Body>, Failure> {
    if service.is_draining() {
        return Err(Failure::Unavailable("the service is ending".into()));
    }
    json_response(&serde_json::json!({"status": "ready"}))
}

/// Figures for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, description = "Text format 0.0.4")))]
pub(super) async fn metrics(State(service): State<Arc<Service>>) -> Response<Body> {
    let mut response = Response::new(Body::from(render(&service)));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
