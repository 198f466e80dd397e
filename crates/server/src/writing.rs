//! The part of the service that writes: the durable store, document changes, and models that learn.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use matchrank_core::{Error, Result};
use matchrank_engine::dataset::Dataset;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::learning::{FollowCourse, FollowingLearner, LearnerSpec, LearningError, LogLearner};
use crate::settings::ServiceSettings;
use crate::store::{self, Retention, Store, StoreError, StoreOptions, WriteBatch, WriteReceipt};
use matchrank_engine::serving::{Collection, DocumentChange};

/// Documents that are read from the store and applied together.
const TOGETHER: usize = 10_000;

/// A state folder that is open.
pub(crate) struct OpenState {
    pub(crate) store: Arc<Store>,
    /// True once the disk has failed: the process ends, because what was written last may be lost.
    pub(crate) failed: Arc<AtomicBool>,
}

impl OpenState {
    /// Opens the store of a state folder.
    pub(crate) fn open(folder: &Path, retention: Retention) -> Result<Self> {
        let failed = Arc::new(AtomicBool::new(false));
        let (sign, mut options) = (failed.clone(), StoreOptions::default());
        options.retention = retention;
        options.on_failure = Box::new(move |error| {
            tracing::error!(error = %error, "the store failed; the service ends");
            sign.store(true, Ordering::SeqCst);
        });
        let store = Store::open(folder, options).map_err(|error| wrong(folder, &error))?;
        Ok(Self { store: Arc::new(store), failed })
    }

    /// Applies the document changes of the store to the documents of a dataset.
    pub(crate) fn restore(&self, mut collection: Collection) -> Result<Collection> {
        let folder = self.store.folder().to_owned();
        let mut waiting = Vec::new();
        let mut changed = Ok(());
        let read = self.store.for_each_document(|document| -> std::result::Result<(), StoreError> {
            waiting.push(match document.json {
                None => DocumentChange::Delete { id: document.id },
                Some(json) => match serde_json::from_str::<Map<String, Value>>(&json) {
                    Ok(fields) => DocumentChange::Put { id: document.id, fields },
                    Err(error) => {
                        return Err(StoreError::Failed(format!("a stored document is damaged: {error}")));
                    }
                },
            });
            if waiting.len() == TOGETHER && changed.is_ok() {
                changed = collection.with(&std::mem::take(&mut waiting)).map(|new| collection = new);
            }
            Ok(())
        });
        read.map_err(|error| wrong(&folder, &error))?;
        changed?;
        if waiting.is_empty() { Ok(collection) } else { collection.with(&waiting) }
    }
}

/// What a service that writes has beside.
pub(crate) struct Writing {
    pub(crate) state: OpenState,
    pub(crate) catalogue: Catalogue,
    learners: Mutex<Vec<FollowingLearner>>,
}

impl Writing {
    /// Starts to take document changes, and has the models of the settings learn from the log.
    pub(crate) fn start(state: OpenState, fleet: &Arc<Fleet>, settings: &ServiceSettings) -> Result<Self> {
        let live = fleet.live();
        let dataset = live.collection.dataset();
        let catalogue = Catalogue::start(fleet.clone(), state.store.clone())
            .map_err(|error| Error::io("the thread of document changes", error))?;
        let learners = settings
            .learn
            .iter()
            .map(|name| {
                let Some(model) = settings.model.iter().find(|model| model.name == *name) else {
                    return Err(Error::Params(format!(
                        "option `learn` names the model {name}, which is not served; name it in option `model`"
                    )));
                };
                follow(&state.store, fleet, name, &model.file, dataset).map_err(|error| match error {
                    LearningError::Engine(error) => error,
                    other => Error::Params(format!("the model {name} cannot learn: {other}")),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { state, catalogue, learners: Mutex::new(learners) })
    }

    /// Stores events; returns when they are durable.
    pub(crate) async fn append(&self, batch: WriteBatch) -> std::result::Result<WriteReceipt, Failure> {
        let (sender, receiver) = oneshot::channel();
        self.state.store.append_then(batch, move |result| drop(sender.send(result)));
        receiver.await.unwrap_or(Err(StoreError::Closed)).map_err(Failure::from)
    }

    /// Sequence up to which each learning model has learned.
    pub(crate) fn learned(&self) -> Vec<u64> {
        self.learners().iter().map(FollowingLearner::sequence).collect()
    }

    fn learners(&self) -> MutexGuard<'_, Vec<FollowingLearner>> {
        self.learners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves what was learned, and ends the writer.
    pub(crate) fn close(&self) {
        let learners = std::mem::take(&mut *self.learners());
        for learner in learners {
            if let Err(error) = learner.stop() {
                tracing::error!(error = %error, "a model did not save what it learned; it will learn it again");
            }
        }
        self.state.store.close();
    }
}

/// Has a model learn from the log: first what is there, then what comes.
fn follow(
    store: &Arc<Store>,
    fleet: &Arc<Fleet>,
    name: &str,
    file: &Path,
    dataset: &Dataset,
) -> std::result::Result<FollowingLearner, LearningError> {
    let mut learner = LogLearner::open(store, &LearnerSpec::new(name, file), Some(dataset))?;
    let learned = learner.catch_up()?;
    if learned > 0 || learner.sequence() > learner.after() {
        let path = learner.checkpoint()?;
        fleet.learned(name, &path).map_err(|failure| LearningError::Refused(failure.message().to_owned()))?;
    }
    let (fleet, of_thread) = (fleet.clone(), name.to_owned());
    let on_checkpoint = Box::new(move |path: &Path| {
        if let Err(failure) = fleet.learned(&of_thread, path) {
            tracing::error!(
                model = of_thread,
                error = failure.message(),
                "a learned model failed its self-test"
            );
        }
    });
    let course = FollowCourse { on_checkpoint, ..FollowCourse::default() };
    FollowingLearner::start(store, learner, course)
        .map_err(|error| LearningError::Engine(Error::io("the thread of a learner", error)))
}

fn wrong(folder: &Path, error: &StoreError) -> Error {
    Error::format(folder.display().to_string(), error.to_string())
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::Busy,
            StoreError::Refused(message) => Self::Unusable(message),
            StoreError::Failed(_)
            | StoreError::Closed
            | StoreError::Locked(_)
            | StoreError::Foreign { .. }
            | StoreError::Version { .. }
            | StoreError::Io { .. } => Self::Unavailable(error.to_string()),
        }
    }
}

/// Returns document changes as the store keeps them.
pub(crate) fn stored(changes: &[DocumentChange]) -> WriteBatch {
    let stored = |change: &DocumentChange| match change {
        DocumentChange::Put { id, fields } => {
            let json = Value::Object(fields.clone()).to_string();
            store::DocumentChange::Put { id: id.clone(), json }
        }
        DocumentChange::Delete { id } => store::DocumentChange::Remove { id: id.clone() },
    };
    WriteBatch::of_documents(changes.iter().map(stored).collect())
}
