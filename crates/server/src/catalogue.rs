//! Document changes, one after the other: made durable, and visible to the next query.
//!
//! One thread takes changes in the order of their arrival. Requests that come while it works are taken together, so that
//! they share one write to the disk and one new snapshot.

use std::collections::HashMap;
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::body::BodyMemory;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::store::{NewEvent, Store, WriteBatch};
use crate::writing::stored;
use matchrank_engine::serving::{Collection, DocumentChange};

/// Requests with changes that may wait.
const MAX_WAITING: usize = 1024;
/// Changes and events that are applied together, at most one request more.
const TOGETHER: usize = 4096;

/// A change that a request asks for.
#[derive(Debug, Clone)]
pub(crate) enum DocumentUpdate {
    /// Adds, replaces or deletes a document.
    Change(DocumentChange),
    /// Sets some fields of a document and keeps its others, unless the event that says so was stored before.
    Merge {
        /// Document id.
        id: String,
        /// The fields.
        fields: Map<String, Value>,
        /// Index of the event in the request.
        event: usize,
    },
}

/// Takes document changes.
pub(crate) struct Catalogue {
    jobs: SyncSender<ChangeJob>,
}

/// Changes of one request, and the events that came with them.
struct ChangeJob {
    events: Vec<NewEvent>,
    updates: Vec<DocumentUpdate>,
    _memory: Option<BodyMemory>,
    done: oneshot::Sender<Result<ChangeReceipt, Failure>>,
}

/// Counts of the changes that a request made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeReceipt {
    /// Number of changes that were made.
    pub(crate) n_changed: usize,
    /// Number of events that had been stored before.
    pub(crate) n_duplicates: usize,
    /// Number of documents afterwards.
    pub(crate) n_documents: u32,
}

impl Catalogue {
    /// Starts the thread.
    pub(crate) fn start(fleet: Arc<Fleet>, store: Arc<Store>) -> std::io::Result<Self> {
        let (jobs, waiting) = sync_channel(MAX_WAITING);
        std::thread::Builder::new().name("catalogue".into()).spawn(move || run(&waiting, &fleet, &store))?;
        Ok(Self { jobs })
    }

    /// Makes changes and stores the events that came with them, in one transaction. All of them are applied, or none.
    pub(crate) async fn change(
        &self,
        events: Vec<NewEvent>,
        updates: Vec<DocumentUpdate>,
        memory: Option<BodyMemory>,
    ) -> Result<ChangeReceipt, Failure> {
        let (done, result) = oneshot::channel();
        self.jobs.try_send(ChangeJob { events, updates, _memory: memory, done }).map_err(
            |error| match error {
                TrySendError::Full(_) => Failure::Busy,
                TrySendError::Disconnected(_) => Failure::Internal,
            },
        )?;
        result.await.unwrap_or(Err(Failure::Internal))
    }
}

fn run(waiting: &Receiver<ChangeJob>, fleet: &Fleet, store: &Store) {
    while let Ok(first) = waiting.recv() {
        let mut n = first.events.len() + first.updates.len();
        let mut jobs = vec![first];
        while n < TOGETHER
            && let Ok(job) = waiting.try_recv()
        {
            n += job.events.len() + job.updates.len();
            jobs.push(job);
        }
        match apply(&jobs, fleet, store) {
            // One request may be wrong, and the others right.
            Err(Failure::Unusable(_)) if jobs.len() > 1 => {
                for job in jobs {
                    let receipts = apply(from_ref(&job), fleet, store);
                    let _ = job.done.send(receipts.map(|receipts| receipts[0]));
                }
            }
            Err(failure) => jobs.into_iter().for_each(|job| drop(job.done.send(Err(failure.clone())))),
            Ok(receipts) => {
                let answered = jobs.into_iter().zip(receipts);
                answered.for_each(|(job, receipt)| drop(job.done.send(Ok(receipt))));
            }
        }
    }
}

fn apply(jobs: &[ChangeJob], fleet: &Fleet, store: &Store) -> Result<Vec<ChangeReceipt>, Failure> {
    let events: Vec<NewEvent> = jobs.iter().flat_map(|job| job.events.iter().cloned()).collect();
    let mut known = store.known_events(&events)?;
    let mut updates = Vec::new();
    let mut receipts = Vec::with_capacity(jobs.len());
    for job in jobs {
        let mut is_new = |event: &NewEvent| event.id.as_ref().is_none_or(|id| known.insert(id.clone()));
        let is_new: Vec<bool> = job.events.iter().map(&mut is_new).collect();
        let before = updates.len();
        updates.extend(job.updates.iter().filter(|update| match update {
            DocumentUpdate::Merge { event, .. } => is_new[*event],
            DocumentUpdate::Change(_) => true,
        }));
        receipts.push(ChangeReceipt {
            n_changed: updates.len() - before,
            n_duplicates: is_new.iter().filter(|is_new| !**is_new).count(),
            n_documents: 0,
        });
    }
    let changes = merged(&updates, &fleet.live().collection);
    let commit = || store.append(WriteBatch { events, ..stored(&changes) }).map_err(Failure::from);
    // A panic must not end the thread, and with it all later changes.
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match changes.is_empty() {
        true => commit(),
        false => fleet.change_documents(&changes, commit),
    }));
    result.unwrap_or(Err(Failure::Internal))?;
    let n_documents = fleet.live().collection.n_documents();
    receipts.iter_mut().for_each(|receipt| receipt.n_documents = n_documents);
    Ok(receipts)
}

/// Completes the documents of which some fields were given. Only this thread changes documents, so none changes meanwhile.
fn merged(updates: &[&DocumentUpdate], collection: &Collection) -> Vec<DocumentChange> {
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
            DocumentUpdate::Merge { id, fields, .. } => {
                let all = latest.entry(id).or_insert_with(|| {
                    let stored = collection.find(id).map(|number| collection.stored(number));
                    stored
                        .into_iter()
                        .flatten()
                        .map(|(name, value)| (name.to_owned(), value.into()))
                        .collect()
                });
                all.extend(fields.clone());
                DocumentChange::Put { id: id.clone(), fields: all.clone() }
            }
        });
    }
    changes
}
