//! Bodies of requests: read within limits of size, time and memory, and parsed as JSON whatever their content type says.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header;
use axum::http::request::Parts;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;
use crate::service::Service;

/// Bytes from which on a body is parsed on another thread.
const LARGE: usize = 64 << 10;
/// Bytes of a body that are logged.
const LOGGED: usize = 2000;

/// Bytes of a body.
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) memory: BodyMemory,
}

/// Share of a body in the memory for bodies. Whoever works on what the body holds keeps it until the work is done.
pub(crate) struct BodyMemory {
    _places: Option<OwnedSemaphorePermit>,
}

/// A part of the path.
pub(crate) struct InPath(pub(crate) String);

impl FromRequestParts<Arc<Service>> for InPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, Failure> {
        let path = Path::<String>::from_request_parts(parts, service).await;
        path.map(|Path(part)| Self(part)).map_err(|_| Failure::BadRequest("the path is not UTF-8".into()))
    }
}

/// A body that was parsed as JSON.
pub(crate) struct Posted<T>(pub(crate) T, pub(crate) BodyMemory);

impl FromRequest<Arc<Service>> for Bytes {
    type Rejection = Failure;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Self, Failure> {
        let limit = service.settings.max_body;
        let announced = request.headers().get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0);
        if announced > limit as u64 {
            return Err(too_large(limit));
        }
        let time = Duration::from_secs(service.settings.body_timeout);
        let read = read(request, limit, service.body_memory.clone());
        let body = tokio::time::timeout(time, read).await.unwrap_or(Err(Failure::Slow))?;
        if service.settings.log_bodies {
            let shown = &body.bytes[..body.bytes.len().min(LOGGED)];
            tracing::info!(body = %String::from_utf8_lossy(shown), "body");
        }
        Ok(body)
    }
}

async fn read(request: Request, limit: usize, memory: Arc<Semaphore>) -> Result<Bytes, Failure> {
    let mut body = request.into_body();
    let (mut bytes, mut held, mut taken) = (Vec::new(), None::<OwnedSemaphorePermit>, 0);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Failure::BadRequest("the body ended before its announced length".into()))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&data);
        let needed = bytes.len().div_ceil(1024);
        let more =
            memory.clone().try_acquire_many_owned((needed - taken) as u32).map_err(|_| Failure::Busy)?;
        match &mut held {
            Some(held) => held.merge(more),
            None => held = Some(more),
        }
        taken = needed;
    }
    Ok(Bytes { bytes, memory: BodyMemory { _places: held } })
}

fn too_large(limit: usize) -> Failure {
    Failure::TooLarge(format!(
        "the body is longer than {limit} bytes; send several requests, or raise `max-body`"
    ))
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<Service>> for Posted<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Self, Failure> {
        let body = Bytes::from_request(request, service).await?;
        if body.bytes.len() < LARGE {
            return Ok(Self(parse(&body.bytes)?, body.memory));
        }
        service.workers.run(move || Ok(Self(parse(&body.bytes)?, body.memory))).await
    }
}

/// Parses JSON, at most 128 levels deep.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(Failure::BadRequest(format!("the body is not UTF-8 at byte {}", error.valid_up_to())));
    }
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            Failure::Unusable(format!("the body does not fit the route: {error}"))
        }
        _ if bytes.is_empty() => Failure::BadRequest("the body is empty; JSON is expected".into()),
        _ => Failure::BadRequest(format!("the body is not valid JSON: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn malformed_bodies_are_refused() {
        let deep = "[".repeat(200_000);
        for (bytes, expected) in [
            (&b""[..], "the body is empty"),
            (b"{", "not valid JSON"),
            (b"\"\xff\"", "not UTF-8 at byte 1"),
            (deep.as_bytes(), "recursion limit exceeded"),
        ] {
            let failure = parse::<Value>(bytes).unwrap_err();
            assert!(
                matches!(&failure, Failure::BadRequest(message) if message.contains(expected)),
                "{failure:?}"
            );
        }
        let unfit = parse::<Vec<u8>>(b"{}").unwrap_err();
        assert!(matches!(unfit, Failure::Unusable(_)), "{unfit:?}");
    }
}
