//! Durable store of events and document changes, on one redb file.
//!
//! ```text
//! callers --append--> bounded queue --> writer thread: one transaction per group --commit--> callers are answered
//!                                                 |
//!                       events, event ids, documents, checkpoints of learners
//! ```
//!
//! - A batch is acknowledged after `commit` returned, that is after the file was synced. Batches that arrive while a
//!   commit is under way share the next one.
//! - An event whose id is known is a duplicate: it is acknowledged with the sequence of its first arrival and not stored
//!   again. Two equal events without ids are two events.
//! - A queue that is full answers [`StoreError::Full`]. A commit that fails answers [`StoreError::Failed`] to everyone who
//!   waits, and the store takes no more work: a failed sync may have lost pages, so nothing is retried on the same
//!   handle. Such a batch may or may not be on disk after the next start; a retry with the same event ids is safe.
//! - One process opens a state folder at a time.
//! - A killed process loses nothing that was acknowledged. redb checks its pages on the next start.
//!
//! The store knows nothing of what events mean; [`learning`](crate::learning) does.

mod changes;
mod checkpoint;
mod error;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod model_tests;
mod open;
mod queue;
mod reading;
mod retention;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use matchrank_engine::files::Lock;
use redb::{CompactionError, Database};

pub use changes::{DocumentChange, NewEvent, WriteBatch, WriteReceipt};
pub use checkpoint::LearnerCheckpoint;
pub use error::StoreError;
pub use open::{FILE, StoreOptions};
use queue::{ControlJob, Done, PendingWrite, WriteQueue};
pub use reading::{LogSpan, StoreCounts, StoredDocument, StoredEvent};
pub use retention::Retention;

/// State that the store shares with its writer.
struct SharedStore {
    /// Written to by the writer only; locked for writing while the file is compacted.
    database: RwLock<Database>,
    queue: WriteQueue,
    retention: Retention,
    retention_pause: Duration,
    clock: Box<dyn Fn() -> i64 + Send + Sync>,
    on_failure: Box<dyn Fn(&StoreError) + Send + Sync>,
    /// Sequence of the last commit, for those who follow the log.
    last: AtomicU64,
    followed: Mutex<()>,
    changed: Condvar,
    failure: Mutex<Option<StoreError>>,
}

impl SharedStore {
    fn database(&self) -> RwLockReadGuard<'_, Database> {
        self.database.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn committed(&self, last: u64) {
        self.last.store(last, Ordering::Release);
        let _followed = self.followed.lock();
        self.changed.notify_all();
    }

    /// Closes the store after a failure: everyone who waits, now or later, gets the error.
    fn refuse_all(&self, error: &StoreError) {
        *self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error.clone());
        self.queue.fail(error);
        let _followed = self.followed.lock();
        self.changed.notify_all();
    }

    /// Gives free pages back to the file system; returns the number of bytes.
    fn compact(&self) -> Result<u64, StoreError> {
        let mut database = self.database.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        match database.compact() {
            Ok(_) => Ok(0),
            Err(CompactionError::TransactionInProgress) => Err(StoreError::Refused(
                "the file is being read, so it is not compacted; try again later".into(),
            )),
            Err(error) => Err(error.into()),
        }
    }
}

/// Store of a state folder. Shared by reference or `Arc` between threads; dropping it finishes queued work.
pub struct Store {
    shared: Arc<SharedStore>,
    writer: Mutex<Option<JoinHandle<()>>>,
    folder: PathBuf,
    file: PathBuf,
    _lock: Option<Lock>,
}

impl Store {
    /// Stores a batch and waits until it is durable.
    pub fn append(&self, batch: WriteBatch) -> Result<WriteReceipt, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.append_then(batch, move |result| drop(sender.send(result)));
        receiver.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Stores a batch and calls `done` once it is durable, or with an error. Does not block: a batch that is refused is
    /// answered before the call returns, others from the writer thread. `done` must not wait for the store.
    ///
    /// Asynchronous code sends the answer through a oneshot channel, so no thread waits.
    pub fn append_then(
        &self,
        batch: WriteBatch,
        done: impl FnOnce(Result<WriteReceipt, StoreError>) + Send + 'static,
    ) {
        if let Err(error) = batch.check() {
            return done(Err(error));
        }
        if let Err((error, write)) = self.shared.queue.push(PendingWrite { batch, done: Box::new(done) }) {
            (write.done)(Err(error));
        }
    }

    /// Registers a learner or replaces its checkpoint, durably. Retention keeps the events after the checkpoint.
    pub fn set_learner(&self, name: &str, checkpoint: LearnerCheckpoint) -> Result<(), StoreError> {
        self.control(|done| ControlJob::Learner(name.to_owned(), Some(checkpoint), done))
    }

    /// Forgets a learner, so that retention no longer keeps events for it.
    pub fn forget_learner(&self, name: &str) -> Result<(), StoreError> {
        self.control(|done| ControlJob::Learner(name.to_owned(), None, done))
    }

    /// Deletes all events that retention has expired now; returns their number. Also done in the background.
    pub fn trim(&self) -> Result<u64, StoreError> {
        self.control(ControlJob::Trim)
    }

    /// Rewrites the file without free space and returns the number of bytes that were given back. Writes wait until it
    /// is done. Returns [`StoreError::Refused`] while the file is being read.
    pub fn compact(&self) -> Result<u64, StoreError> {
        let before = self.file_bytes()?;
        self.control(ControlJob::Compact)?;
        Ok(before.saturating_sub(self.file_bytes()?))
    }

    fn control<T: Send + 'static>(&self, job: impl FnOnce(Done<T>) -> ControlJob) -> Result<T, StoreError> {
        let (sender, receiver) = sync_channel(1);
        self.shared.queue.push_control(job(Box::new(move |result| drop(sender.send(result)))));
        receiver.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Sequence of the last event or document change that is durable.
    pub fn last_sequence(&self) -> u64 {
        self.shared.last.load(Ordering::Acquire)
    }

    /// Waits until there is something after a sequence, the store fails, or the time is over; returns the sequence of the
    /// last durable change.
    pub fn wait_after(&self, sequence: u64, patience: Duration) -> u64 {
        let guard = self.shared.followed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let waits = |(): &mut ()| self.last_sequence() <= sequence && self.failure().is_none();
        drop(self.shared.changed.wait_timeout_while(guard, patience, waits));
        self.last_sequence()
    }

    /// Wakes everyone who waits for changes.
    pub fn wake(&self) {
        let _followed = self.shared.followed.lock();
        self.shared.changed.notify_all();
    }

    /// Error that closed the store; `None` while it works.
    pub fn failure(&self) -> Option<StoreError> {
        self.shared.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The state folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Number of bytes of the file.
    pub fn file_bytes(&self) -> Result<u64, StoreError> {
        std::fs::metadata(&self.file).map(|file| file.len()).map_err(|e| StoreError::io(&self.file, &e))
    }

    /// Finishes queued work and ends the writer. Later calls return [`StoreError::Closed`]. Reading still works.
    pub fn close(&self) {
        self.shared.queue.close();
        let writer = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
