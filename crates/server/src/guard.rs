//! Checks of every request before its route sees it, and headers of every response.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use tracing::Instrument;

use crate::failure::{ErrorFormat, Failure, write_failure};
use crate::identity;
use crate::keys::{Access, Verdict};
use crate::service::Service;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers of every response.
const SAFE_HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Checks host, origin and key; answers failures in the format of the route; counts and logs.
pub(crate) async fn guard(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let start = Instant::now();
    let id = request_id(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match check(&service, &request) {
        Ok(()) => {
            let span = tracing::info_span!("request", request_id = id);
            next.run(request).instrument(span).await
        }
        Err(failure) => failure.into_response(),
    };
    write_failure(&mut response, ErrorFormat::of(&path));
    let headers = response.headers_mut();
    for (name, value) in SAFE_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID.clone(), value);
    }
    let (route, status, time) =
        (route.as_ref().map(MatchedPath::as_str), response.status().as_u16(), start.elapsed());
    service.metrics.count(route, status, time);
    // The path may hold an id; the route does not.
    let (route, milliseconds) = (route.unwrap_or("other"), time.as_micros() as f64 / 1000.0);
    tracing::info!(request_id = id, method = %method, route, status, milliseconds, "request");
    response
}

/// Returns the client's id of the request if it is short and plain, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let plain = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    given.filter(plain).map_or_else(identity::next, str::to_owned)
}

fn check(service: &Service, request: &Request) -> Result<(), Failure> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(|authority| authority.as_str()));
    let host = host.ok_or_else(|| Failure::BadRequest("the header `Host` is missing".into()))?;
    if !is_served(host, service.settings.listen.ip(), &service.settings.host) {
        return Err(Failure::WrongHost(
            "the service does not answer under this host name; add the name to option `host`".into(),
        ));
    }
    if let Some(origin) = request.headers().get(header::ORIGIN) {
        let own =
            origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        if own != Some(host) {
            return Err(Failure::Forbidden("requests of pages of other origins are not allowed".into()));
        }
    }
    let needed = access(request.method(), request.uri().path());
    match service.keys.check(needed, bearer(request.headers())) {
        Verdict::Allowed => Ok(()),
        Verdict::WrongKey => Err(Failure::Unauthorised),
        Verdict::NoWriteKey => Err(Failure::Forbidden(
            "the service has no write key, so nothing may be changed; start it with one".into(),
        )),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Returns the access that a request needs. Unknown paths need the read key, so that nothing is told without it.
fn access(method: &Method, path: &str) -> Access {
    let is_open = matches!(path, "/" | "/docs" | "/openapi.json" | "/healthz" | "/readyz" | "/health");
    if is_open || path.starts_with("/assets/") {
        return Access::Open;
    }
    let writes = path == "/feedback"
        || ["/v1/events", "/v1/documents", "/v1/models/"].iter().any(|prefix| path.starts_with(prefix));
    let reads = method == Method::GET || method == Method::HEAD;
    // The log holds what people searched for.
    if writes && !reads || path == "/v1/events/export" { Access::Write } else { Access::Read }
}

/// Returns true if a `Host` header names this service: a name that was configured, a local name, or an address. A page of
/// a foreign site that resolves its own name to this machine does not pass.
fn is_served(host: &str, listening: IpAddr, names: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    if let Ok(address) = name.parse::<IpAddr>() {
        return address.is_loopback() || !listening.is_loopback();
    }
    name.eq_ignore_ascii_case("localhost") || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        let all: IpAddr = "0.0.0.0".parse().unwrap();
        let names = ["rank.example".to_owned()];
        for (host, listening, served) in [
            ("127.0.0.1:7878", local, true),
            ("localhost", local, true),
            ("[::1]:7878", local, true),
            ("Rank.Example:443", local, true),
            ("evil.example", local, false),
            ("10.0.0.7:80", local, false),
            ("10.0.0.7:80", all, true),
            ("localhost.evil.example", all, false),
            ("", local, false),
        ] {
            assert_eq!(is_served(host, listening, &names), served, "{host}");
        }
    }

    #[test]
    fn changes_need_the_write_key() {
        for (method, path, needed) in [
            (Method::GET, "/", Access::Open),
            (Method::GET, "/assets/page.js", Access::Open),
            (Method::GET, "/healthz", Access::Open),
            (Method::GET, "/metrics", Access::Read),
            (Method::POST, "/v1/search", Access::Read),
            (Method::POST, "/rank/x", Access::Read),
            (Method::GET, "/v1/models", Access::Read),
            (Method::POST, "/v1/models/x/activate", Access::Write),
            (Method::POST, "/v1/events", Access::Write),
            (Method::GET, "/v1/events/export", Access::Write),
            (Method::POST, "/feedback", Access::Write),
            (Method::PUT, "/v1/documents/1", Access::Write),
            (Method::DELETE, "/v1/documents/1", Access::Write),
            (Method::POST, "/v1/documents", Access::Write),
            (Method::GET, "/unknown", Access::Read),
        ] {
            assert_eq!(access(&method, path), needed, "{method} {path}");
        }
    }

    #[test]
    fn ids_of_clients_are_kept_if_plain() {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID.clone(), HeaderValue::from_static("abc-1"));
        assert_eq!(request_id(&headers), "abc-1");
        headers.insert(REQUEST_ID.clone(), HeaderValue::from_static("a\"b"));
        assert_ne!(request_id(&headers), "a\"b");
    }
}
