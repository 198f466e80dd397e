use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::body::{Bytes, InPath, parse};
use crate::failure::Failure;
use crate::fleet::Slot;
use crate::ledger::Activation;
use crate::service::{Service, json_response};
use crate::version::{Scorer, Version};

/// Models that are served.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelsResponse {
    /// Name of the model for requests that name none.
    default: String,
    /// The models.
    models: Vec<ModelState>,
}

/// A model with its versions.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModelState {
    /// Name in requests.
    name: String,
    /// `matching` or `ranking`.
    family: &'static str,
    /// The version that takes traffic.
    current: VersionState,
    /// The version that a rollback returns to.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<VersionState>,
    /// The latest activations, rollbacks and refusals, the latest last.
    history: Vec<Activation>,
}

/// A version of a model.
#[derive(Serialize, ToSchema)]
pub(crate) struct VersionState {
    /// Number, from 1.
    version: u32,
    /// Kind of the model.
    kind: &'static str,
    /// Name of the file.
    file: String,
    /// BLAKE3 of the file.
    checksum: String,
    /// Milliseconds since 1970.
    loaded_at: u64,
    /// Scale `c` of relevance (1 + s / (c + |s|)) / 2.
    scale: f64,
}

impl From<&Version> for VersionState {
    fn from(version: &Version) -> Self {
        Self {
            version: version.number,
            kind: version.kind,
            file: version.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            checksum: version.checksum.clone(),
            loaded_at: version.loaded_at,
            scale: version.scale,
        }
    }
}

/// A file to activate.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ActivateRequest {
    /// Name of a file beside the model's first one; the file of the current version, read again, without it.
    file: Option<String>,
    /// Reason, which the history keeps; at most 1,000 bytes.
    reason: Option<String>,
}

/// A rollback.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RollbackRequest {
    /// Reason, which the history keeps; at most 1,000 bytes.
    reason: Option<String>,
}

/// Longest reason, in bytes.
const LONGEST_REASON: usize = 1000;

fn check_reason(reason: Option<&str>) -> Result<(), Failure> {
    match reason.filter(|reason| reason.len() > LONGEST_REASON) {
        None => Ok(()),
        Some(reason) => Err(Failure::Unusable(format!(
            "the reason has {} bytes; at most {LONGEST_REASON} are kept",
            reason.len()
        ))),
    }
}

fn state(service: &Service, name: &str, slot: &Slot) -> ModelState {
    ModelState {
        name: name.to_owned(),
        family: match slot.current.scorer {
            Scorer::Matching(_) => "matching",
            Scorer::Ranking(_) => "ranking",
        },
        current: (&*slot.current).into(),
        previous: slot.previous.as_ref().map(|version| (&**version).into()),
        history: service.fleet.activations(name),
    }
}

/// List the models and their versions.
#[utoipa::path(get, path = "/v1/models", tag = "models", responses((status = 200, body = ModelsResponse)))]
pub(super) async fn list(State(service): State<Arc<Service>>) -> Result<Response<Body>, Failure> {
    let live = service.fleet.live();
    let models = live.models.iter().map(|(name, slot)| state(&service, name, slot)).collect();
    json_response(&ModelsResponse { default: live.default_model.clone(), models })
}

/// Load a model file, test it, and give it the traffic.
///
/// The model answers sample queries first. A file that fails is refused with the reason, and the version before keeps the
/// traffic. Requests in progress end with the version they began with.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/activate",
    tag = "models",
    params(("name" = String, Path, description = "Name of the model")),
    request_body = ActivateRequest,
    responses((status = 200, body = ModelState), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn activate(
    State(service): State<Arc<Service>>,
    InPath(name): InPath,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    let ActivateRequest { file, reason } = optional(&body)?;
    check_reason(reason.as_deref())?;
    changed(service, name, move |service, name| {
        service.fleet.activate(name, file.as_deref(), reason).map(drop)
    })
    .await
}

/// Give the traffic back to the version before.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/rollback",
    tag = "models",
    params(("name" = String, Path, description = "Name of the model")),
    request_body = RollbackRequest,
    responses((status = 200, body = ModelState), (status = "4XX", description = "See Errors"))
)]
pub(super) async fn roll_back(
    State(service): State<Arc<Service>>,
    InPath(name): InPath,
    body: Bytes,
) -> Result<Response<Body>, Failure> {
    let RollbackRequest { reason } = optional(&body)?;
    check_reason(reason.as_deref())?;
    changed(service, name, move |service, name| service.fleet.roll_back(name, reason).map(drop)).await
}

/// Parses a body that may be empty.
fn optional<T: serde::de::DeserializeOwned + Default>(body: &Bytes) -> Result<T, Failure> {
    if body.bytes.iter().all(u8::is_ascii_whitespace) { Ok(T::default()) } else { parse(&body.bytes) }
}

/// Changes a model on a thread of its own: loading takes seconds, and searches must not wait for it. One model is loaded at a
/// time, because each takes memory.
async fn changed(
    service: Arc<Service>,
    name: String,
    act: impl FnOnce(&Service, &str) -> Result<(), Failure> + Send + 'static,
) -> Result<Response<Body>, Failure> {
    let place = service.activations.clone().try_acquire_owned().map_err(|_| Failure::Busy)?;
    let work = tokio::task::spawn_blocking(move || {
        let _place = place;
        act(&service, &name)?;
        let live = service.fleet.live();
        let name = live.model(Some(&name))?.name;
        json_response(&state(&service, name, &live.models[name]))
    });
    work.await.unwrap_or_else(|error| {
        tracing::error!(error = %error, "a change of a model panicked");
        Err(Failure::Internal)
    })
}
