//! Figures for Prometheus: counters and histograms of atomics, so that no request waits for another.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::service::Service;

/// Upper bounds of the buckets of latencies, in microseconds.
const BOUNDS: [u64; 15] = [
    250, 500, 1_000, 2_500, 5_000, 10_000, 15_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 10_000_000,
];

/// Routes that have figures of their own; all others share the last.
const ROUTES: [&str; 26] = [
    "/v1/search",
    "/v1/rank",
    "/v1/explain",
    "/v1/compare",
    "/v1/events",
    "/v1/events/export",
    "/v1/documents",
    "/v1/documents/{id}",
    "/v1/models",
    "/v1/models/{name}/activate",
    "/v1/models/{name}/rollback",
    "/v1/rerank",
    "/v2/rerank",
    "/rerank",
    "/rank/{model}",
    "/feedback",
    "/info",
    "/health",
    "/healthz",
    "/readyz",
    "/metrics",
    "/",
    "/docs",
    "/openapi.json",
    "/assets/{file}",
    "other",
];

/// Classes of statuses.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Figures of the service since its start.
#[derive(Default)]
pub(crate) struct Metrics {
    routes: [RouteFigures; ROUTES.len()],
    /// Requests that were refused with status 429.
    pub(crate) refused_busy: AtomicU64,
    /// Connections that were opened.
    pub(crate) connections_opened: AtomicU64,
    /// Connections that are open.
    pub(crate) connections_open: AtomicU64,
    /// Idle connections that were closed to make room.
    pub(crate) connections_evicted: AtomicU64,
    /// Events that were accepted.
    pub(crate) events: AtomicU64,
    /// Events that were known already.
    pub(crate) duplicate_events: AtomicU64,
    /// Document changes that were applied.
    pub(crate) document_changes: AtomicU64,
}

#[derive(Default)]
struct RouteFigures {
    by_class: [AtomicU64; CLASSES.len()],
    buckets: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Metrics {
    /// Counts a response.
    pub(crate) fn count(&self, route: Option<&str>, status: u16, time: Duration) {
        let known = route.and_then(|route| ROUTES.iter().position(|known| *known == route));
        let figures = &self.routes[known.unwrap_or(ROUTES.len() - 1)];
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        add(&figures.by_class[class], 1);
        add(&figures.buckets[BOUNDS.partition_point(|&bound| bound < micros)], 1);
        add(&figures.microseconds, micros);
        if status == 429 {
            add(&self.refused_busy, 1);
        }
    }
}

/// Returns the text that Prometheus reads.
pub(crate) fn render(service: &Service) -> String {
    let mut page = Page(String::new());
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (metrics, live) = (&service.metrics, service.fleet.live());
    let served =
        || ROUTES.iter().zip(&metrics.routes).filter(|(_, of)| of.by_class.iter().any(|n| get(n) > 0));
    page.head("matchrank_requests_total", "counter", "Requests by route and class of the status.");
    for (route, figures) in served() {
        for (class, n) in CLASSES.iter().zip(&figures.by_class).filter(|(_, n)| get(n) > 0) {
            page.line("matchrank_requests_total", &[("route", route), ("status", class)], get(n));
        }
    }
    page.head("matchrank_request_seconds", "histogram", "Time from the header of a request to its response.");
    for (route, figures) in served() {
        let mut sum = 0;
        for (bound, bucket) in BOUNDS.iter().map(Some).chain([None]).zip(&figures.buckets) {
            sum += get(bucket);
            let bound = bound.map_or("+Inf".to_owned(), |&micros| (micros as f64 / 1e6).to_string());
            page.line("matchrank_request_seconds_bucket", &[("route", route), ("le", &bound)], sum);
        }
        page.line(
            "matchrank_request_seconds_sum",
            &[("route", route)],
            get(&figures.microseconds) as f64 / 1e6,
        );
        page.line("matchrank_request_seconds_count", &[("route", route)], sum);
    }
    for (name, help, n) in [
        (
            "matchrank_refused_busy_total",
            "Requests that were refused with status 429.",
            &metrics.refused_busy,
        ),
        ("matchrank_connections_total", "Connections that were opened.", &metrics.connections_opened),
        (
            "matchrank_connections_evicted_total",
            "Idle connections closed to make room.",
            &metrics.connections_evicted,
        ),
        ("matchrank_events_total", "Events that were accepted.", &metrics.events),
        ("matchrank_duplicate_events_total", "Events that were known already.", &metrics.duplicate_events),
        (
            "matchrank_document_changes_total",
            "Document changes that were applied.",
            &metrics.document_changes,
        ),
    ] {
        page.head(name, "counter", help);
        page.line(name, &[], get(n));
    }
    for (name, help, n) in [
        ("matchrank_connections_open", "Connections that are open.", get(&metrics.connections_open)),
        ("matchrank_requests_computing", "Requests that compute.", service.workers.n_busy() as u64),
        (
            "matchrank_requests_waiting",
            "Requests that wait for a thread.",
            service.workers.n_waiting() as u64,
        ),
        ("matchrank_documents", "Documents that are served.", live.collection.n_documents().into()),
        ("matchrank_ready", "1 if the service takes requests.", u64::from(!service.is_draining())),
    ] {
        page.head(name, "gauge", help);
        page.line(name, &[], n);
    }
    page.head("matchrank_model_version", "gauge", "Version of each model that takes traffic.");
    for (name, slot) in &live.models {
        let labels = [("model", name.as_str()), ("kind", slot.current.kind)];
        page.line("matchrank_model_version", &labels, slot.current.number);
    }
    if let Some(writing) = &service.writing {
        let last = writing.state.store.last_sequence();
        page.head(
            "matchrank_log_sequence",
            "gauge",
            "Sequence of the last durable event or document change.",
        );
        page.line("matchrank_log_sequence", &[], last);
        page.head(
            "matchrank_learned_sequence",
            "gauge",
            "Sequence up to which each learning model has learned.",
        );
        for (name, sequence) in service.settings.learn.iter().zip(writing.learned()) {
            page.line("matchrank_learned_sequence", &[("model", name)], sequence);
        }
        page.head("matchrank_log_bytes", "gauge", "Bytes of the file of the log.");
        page.line("matchrank_log_bytes", &[], writing.state.store.file_bytes().unwrap_or(0));
    }
    page.head("matchrank_build_info", "gauge", "Version of the program.");
    page.line("matchrank_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.0
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Label values are names of routes and models, which need no escapes.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}
