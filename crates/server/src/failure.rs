//! Requests that fail: the status of each failure, and its body in the format that the client of a route expects.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use matchrank_engine::Error;
use serde_json::{Value, json};

use crate::identity;

/// Why a request was not answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// The body or a parameter is malformed.
    BadRequest(String),
    /// The key is missing or wrong.
    Unauthorised,
    /// The key is right, and the request is still not allowed.
    Forbidden(String),
    /// No such route, model or document.
    NotFound(String),
    /// The route has other methods.
    WrongMethod,
    /// The client sent its body too slowly.
    Slow,
    /// The request does not fit the state of the service.
    Conflict(String),
    /// The body, or a list in it, is too long.
    TooLarge(String),
    /// The request names a host that is not served here.
    WrongHost(String),
    /// The body is well-formed, and its content cannot be used.
    Unusable(String),
    /// Too many requests wait already.
    Busy,
    /// The program has an error.
    Internal,
    /// The service starts, stops, or cannot write its state.
    Unavailable(String),
}

/// Seconds after which a refused client may come back.
const RETRY_AFTER: &str = "1";

impl Failure {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorised => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongHost(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::Unusable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Name of the failure for programs.
    fn code(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad_request",
            Self::Unauthorised => "unauthorised",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound(_) => "not_found",
            Self::WrongMethod => "method_not_allowed",
            Self::Slow => "timeout",
            Self::Conflict(_) => "conflict",
            Self::TooLarge(_) => "too_large",
            Self::WrongHost(_) => "wrong_host",
            Self::Unusable(_) => "unusable",
            Self::Busy => "busy",
            Self::Internal => "internal",
            Self::Unavailable(_) => "unavailable",
        }
    }

    pub(crate) fn message(&self) -> &str {
        match self {
            Self::BadRequest(message)
            | Self::Forbidden(message)
            | Self::NotFound(message)
            | Self::Conflict(message)
            | Self::TooLarge(message)
            | Self::WrongHost(message)
            | Self::Unusable(message)
            | Self::Unavailable(message) => message,
            Self::Unauthorised => "a key is needed: send the header `Authorization: Bearer KEY`",
            Self::WrongMethod => "this route has no such method; see /openapi.json",
            Self::Slow => {
                "the body came too slowly; send it at once, or raise the body timeout of the service"
            }
            Self::Busy => "too many requests are waiting; try again in a second",
            Self::Internal => "the service has an error; its log names the request by x-request-id",
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Params(message) | Error::Shape(message) => Self::Unusable(message),
            Error::Parse { .. } => Self::Unusable(error.to_string()),
            Error::Format { .. } | Error::Diverged(_) | Error::Io { .. } => {
                tracing::error!(error = %error, "request failed");
                Self::Internal
            }
            // A new kind of error is ours to look at before clients see it.
            error => {
                tracing::error!(error = %error, "request failed with an unknown kind of error");
                Self::Internal
            }
        }
    }
}

impl IntoResponse for Failure {
    /// The body is written by [`write_failure`], which knows the route.
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status();
        response.extensions_mut().insert(self);
        response
    }
}

/// Format of the errors of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ErrorFormat {
    /// `{"error": {"code", "message"}}`
    Own,
    /// Cohere and Jina: `{"id", "message", "detail"}`
    Cohere,
    /// Text Embeddings Inference: `{"error", "error_type"}`
    Tei,
}

impl ErrorFormat {
    /// Returns the format of a path, whether a route has it or not.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/v1/rerank" | "/v2/rerank" => Self::Cohere,
            "/rerank" | "/info" | "/health" => Self::Tei,
            _ => Self::Own,
        }
    }

    fn body(self, failure: &Failure) -> Value {
        let message = failure.message();
        match self {
            Self::Own => json!({"error": {"code": failure.code(), "message": message}}),
            Self::Cohere => json!({"id": identity::next(), "message": message, "detail": message}),
            Self::Tei => json!({"error": message, "error_type": tei_type(failure)}),
        }
    }
}

/// Returns the `error_type` that clients of Text Embeddings Inference know.
fn tei_type(failure: &Failure) -> &'static str {
    match failure {
        Failure::Busy => "Overloaded",
        Failure::Internal => "Backend",
        Failure::Unavailable(_) => "Unhealthy",
        Failure::BadRequest(_)
        | Failure::Unauthorised
        | Failure::Forbidden(_)
        | Failure::NotFound(_)
        | Failure::WrongMethod
        | Failure::Slow
        | Failure::Conflict(_)
        | Failure::TooLarge(_)
        | Failure::WrongHost(_)
        | Failure::Unusable(_) => "Validation",
    }
}

/// Writes the body of a failed response in a format.
pub(crate) fn write_failure(response: &mut Response<Body>, format: ErrorFormat) {
    let Some(failure) = response.extensions_mut().remove::<Failure>() else { return };
    // Text Embeddings Inference knows no status 400 for malformed JSON.
    let malformed = matches!(failure, Failure::BadRequest(_)) && format == ErrorFormat::Tei;
    *response.status_mut() = if malformed { StatusCode::UNPROCESSABLE_ENTITY } else { failure.status() };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.remove(header::CONTENT_LENGTH);
    if matches!(failure, Failure::Busy | Failure::Unavailable(_)) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
    }
    if failure == Failure::Unauthorised {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    *response.body_mut() = Body::from(format.body(&failure).to_string());
}
