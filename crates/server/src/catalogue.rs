//! Document changes, one after the other: made durable, and visible to the next query.
//!
//! One thread takes changes in the order of their arrival. Requests that come while it works are taken together, so that
//! they share one write to the disk and one new snapshot.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::store::Store;
use crate::writing::stored;
use matchrank_engine::serving::{Collection, DocumentChange};

/// Requests with changes that may wait.
const MAX_WAITING: usize = 1024;
/// Changes that are applied together, at most one request more.
const TOGETHER: usize = 4096;

/// A change that a request asks for.
#[derive(Debug, Clone)]
pub(crate) enum DocumentUpdate {
    /// Adds, replaces or deletes a document.
    Change(DocumentChange),
    /// Sets some fields of a document and keeps its others.
    Merge {
        /// Document id.
        id: String,
        /// The fields.
        fields: Map<String, Value>,
    },
}

/// Takes document changes.
pub(crate) struct Catalogue {
    jobs: SyncSender<ChangeJob>,
}

/// Changes of one request.
struct ChangeJob {
    changes: Vec<DocumentUpdate>,
    done: oneshot::Sender<Result<u32, Failure>>,
}

impl Catalogue {
    /// Starts the thread.
    pub(crate) fn start(fleet: Arc<Fleet>, store: Arc<Store>) -> std::io::Result<Self> {
        let (jobs, waiting) = sync_channel(MAX_WAITING);
        std::thread::Builder::new().name("catalogue".into()).spawn(move || run(&waiting, &fleet, &store))?;
        Ok(Self { jobs })
    }

    /// Applies changes; returns the number of documents afterwards. All of them are applied, or none.
    pub(crate) async fn change(&self, changes: Vec<DocumentUpdate>) -> Result<u32, Failure> {
        let (done, result) = oneshot::channel();
        self.jobs.try_send(ChangeJob { changes, done }).map_err(|error| match error {
            TrySendError::Full(_) => Failure::Busy,
            TrySendError::Disconnected(_) => Failure::Internal,
        })?;
        result.await.unwrap_or(Err(Failure::Internal))
    }
}

fn run(waiting: &Receiver<ChangeJob>, fleet: &Fleet, store: &Store) {
    while let Ok(first) = waiting.recv() {
        let mut n = first.changes.len();
        let mut jobs = vec![first];
        while n < TOGETHER
            && let Ok(job) = waiting.try_recv()
        {
            n += job.changes.len();
            jobs.push(job);
        }
        let all: Vec<DocumentUpdate> = jobs.iter().flat_map(|job| job.changes.iter().cloned()).collect();
        match apply(&all, fleet, store) {
            // One request may be wrong, and the others right.
            Err(Failure::Unusable(_)) if jobs.len() > 1 => {
                for job in jobs {
                    let _ = job.done.send(apply(&job.changes, fleet, store));
                }
            }
            result => jobs.into_iter().for_each(|job| drop(job.done.send(result.clone()))),
        }
    }
}

fn apply(updates: &[DocumentUpdate], fleet: &Fleet, store: &Store) -> Result<u32, Failure> {
    let changes = &merged(updates, &fleet.live().collection)[..];
    // A panic must not end the thread, and with it all later changes.
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fleet.change_documents(changes, || store.append(stored(changes)).map_err(Failure::from))
    }));
    result.unwrap_or(Err(Failure::Internal))?;
    Ok(fleet.live().collection.n_documents())
}

/// Completes the documents of which some fields were given. Only this thread changes documents, so none changes meanwhile.
fn merged(updates: &[DocumentUpdate], collection: &Collection) -> Vec<DocumentChange> {
    // Fields of documents that earlier updates of the list put or deleted.
    let mut latest: HashMap<&str, Map<String, Value>> = HashMap::new();
    let mut changes = Vec::with_capacity(updates.len());
    for update in updates {
        changes.push(match update {
            DocumentUpdate::Change(change) => {
                match change {
                    DocumentChange::Put { id, fields } => latest.insert(id, fields.clone()),
                    DocumentChange::Delete { id } => latest.insert(id, Map::new()),
                };
                change.clone()
            }
            DocumentUpdate::Merge { id, fields } => {
                let all = latest.entry(id).or_insert_with(|| {
                    let stored = collection.find(id).map(|number| collection.stored(number));
                    stored.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect()
                });
                all.extend(fields.clone());
                DocumentChange::Put { id: id.clone(), fields: all.clone() }
            }
        });
    }
    changes
}
