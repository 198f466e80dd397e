//! State that all requests share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use matchrank_engine::dataset::Dataset;
use matchrank_engine::text::Analyser;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::body::BodyMemory;
use crate::failure::Failure;
use crate::fleet::{Fleet, Snapshot};
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::sample::sample_queries;
use crate::settings::{ServiceSettings, is_name};
use crate::store::Retention;
use crate::version::Trial;
use crate::workers::Workers;
use crate::writing::{OpenState, Writing};
use matchrank_engine::serving::Collection;

/// Memory for bodies of requests, in bytes: bodies beyond it are refused until others are done.
pub(crate) const BODY_MEMORY: usize = 256 << 20;

/// Everything that a request needs.
pub(crate) struct Service {
    pub(crate) settings: ServiceSettings,
    pub(crate) keys: Keys,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) workers: Workers,
    pub(crate) metrics: Metrics,
    /// Places for bodies in memory, one for each KiB.
    pub(crate) body_memory: Arc<Semaphore>,
    /// A place for one export of the log at a time.
    pub(crate) exports: Arc<Semaphore>,
    /// A place for one change of a model at a time.
    pub(crate) activations: Arc<Semaphore>,
    /// Writes events and document changes; none in a service that only reads.
    pub(crate) writing: Option<Writing>,
    /// Names of the text fields.
    pub(crate) fields: Vec<String>,
    /// The text field with the largest weight: texts without a field are taken for it.
    pub(crate) main_field: String,
    /// Analysis of the texts of the dataset.
    pub(crate) analyser: Analyser,
    draining: AtomicBool,
}

impl Service {
    /// Opens the dataset and the models.
    pub(crate) fn open(settings: ServiceSettings, keys: Keys, progress: &dyn Progress) -> Result<Self> {
        settings.validate(&keys)?;
        let dataset = Dataset::open(&settings.data)?;
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let weights: Vec<(String, f32)> =
            dataset.manifest.fields.iter().map(|(name, weight)| (name.to_owned(), weight)).collect();
        // The first of those with the largest weight.
        let main = weights.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name.clone());
        let trial = Trial { sample: sample_queries(&dataset)?, image_memory: settings.image_memory };
        let retention = Retention::new(settings.keep_days, settings.keep_bytes);
        let state = settings.state.as_deref().map(|folder| OpenState::open(folder, retention)).transpose()?;
        let mut collection = Collection::open(dataset, progress)?;
        if let Some(state) = &state {
            collection = state.restore(collection)?;
        }
        let aliases = aliases(&settings.alias)?;
        let fleet = Arc::new(Fleet::open(Arc::new(collection), trial, &settings, aliases)?);
        let writing = state.map(|state| Writing::start(state, &fleet, &settings)).transpose()?;
        Ok(Self {
            workers: Workers::new(settings.max_queue),
            metrics: Metrics::default(),
            body_memory: Arc::new(Semaphore::new(BODY_MEMORY >> 10)),
            exports: Arc::new(Semaphore::new(1)),
            activations: Arc::new(Semaphore::new(1)),
            writing,
            fields: weights.into_iter().map(|(name, _)| name).collect(),
            main_field: main.unwrap_or_default(),
            analyser,
            draining: AtomicBool::new(false),
            settings,
            keys,
            fleet,
        })
    }

    /// Tells load balancers to send no more requests.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Returns true once the service is ending.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Returns true once the disk has failed. The process ends then, because what was written last may be lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.state.failed.load(Ordering::SeqCst))
    }

    /// Saves what models learned and ends the writer. Returns an error if the disk has failed.
    pub(crate) fn close(&self) -> Result<()> {
        let Some(writing) = &self.writing else { return Ok(()) };
        writing.close();
        match writing.state.store.failure() {
            Some(error) => Err(Error::Params(error.to_string())),
            None => Ok(()),
        }
    }

    /// Returns the part that writes; a service that only reads is an error that says how to change that.
    pub(crate) fn writing(&self) -> std::result::Result<&Writing, Failure> {
        self.writing.as_ref().ok_or_else(|| {
            Failure::Conflict(
                "the service only reads: it was started without a state folder (option `state`)".into(),
            )
        })
    }

    /// Computes a response from the snapshot of the moment, on a thread that may block. The body counts as memory in use
    /// until then.
    pub(crate) async fn answer<T: Serialize>(
        self: &Arc<Self>,
        body: BodyMemory,
        compute: impl FnOnce(&Self, &Snapshot) -> std::result::Result<T, Failure> + Send + 'static,
    ) -> std::result::Result<Response<Body>, Failure> {
        let service = self.clone();
        self.workers
            .run(move || {
                let _body = body;
                let live = service.fleet.live();
                compute(&service, &live).and_then(|answer| json_response(&answer))
            })
            .await
    }
}

/// Returns the response with a JSON body.
pub(crate) fn json_response(answer: &impl Serialize) -> std::result::Result<Response<Body>, Failure> {
    let body = serde_json::to_vec(answer).map_err(|error| {
        tracing::error!(error = %error, "a response could not be written");
        Failure::Internal
    })?;
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Milliseconds since a moment, rounded to microseconds.
pub(crate) fn milliseconds_since(start: Instant) -> f64 {
    start.elapsed().as_micros() as f64 / 1000.0
}

fn aliases(settings: &[String]) -> Result<BTreeMap<String, String>> {
    let parse = |text: &String| {
        let parts = text.split_once('=').filter(|(alias, name)| is_name(alias) && is_name(name));
        parts.map(|(alias, name)| (alias.to_owned(), name.to_owned())).ok_or_else(|| {
            Error::Params(format!(
                "option `alias` is `{text}`; ALIAS=NAME is expected, as in rerank-v3.5=stack"
            ))
        })
    };
    settings.iter().map(parse).collect()
}
