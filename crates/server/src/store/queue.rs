//! Bounded queue between callers and the writer.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::{LearnerCheckpoint, StoreError, WriteBatch, WriteReceipt};

/// Called once with the answer to a job.
pub(super) type Done<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// Batch and its waiter.
pub(super) struct PendingWrite {
    pub(super) batch: WriteBatch,
    pub(super) done: Done<WriteReceipt>,
}

/// Work that is not part of a group commit.
pub(super) enum ControlJob {
    /// Registers a learner, or replaces its checkpoint; `None` forgets the learner.
    Learner(String, Option<LearnerCheckpoint>, Done<()>),
    /// Deletes expired events; answers with their number.
    Trim(Done<u64>),
    /// Compacts the file; answers with the bytes that were given back.
    Compact(Done<u64>),
}

impl ControlJob {
    pub(super) fn refuse(self, error: StoreError) {
        match self {
            Self::Learner(_, _, done) => done(Err(error)),
            Self::Trim(done) | Self::Compact(done) => done(Err(error)),
        }
    }
}

/// Next work of the writer.
pub(super) enum NextWork {
    Writes(Vec<PendingWrite>),
    Control(ControlJob),
    /// Nothing arrived before the deadline.
    Idle,
    /// The queue is closed and empty.
    End,
}

/// Limits of the queue and of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    /// Records and bytes that may wait.
    pub(super) waiting: (usize, usize),
    /// Records and bytes of a transaction.
    pub(super) transaction: (usize, usize),
}

#[derive(Default)]
struct QueueContent {
    writes: VecDeque<PendingWrite>,
    controls: VecDeque<ControlJob>,
    n_records: usize,
    n_bytes: usize,
    closed: Option<StoreError>,
}

pub(super) struct WriteQueue {
    limits: QueueLimits,
    content: Mutex<QueueContent>,
    arrived: Condvar,
}

impl WriteQueue {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self { limits, content: Mutex::default(), arrived: Condvar::new() }
    }

    fn content(&self) -> MutexGuard<'_, QueueContent> {
        self.content.lock().expect("no code panics while it holds the queue")
    }

    /// Adds a write, or returns it with the reason. A batch that is larger than the queue is accepted when the queue is
    /// empty; the caller limits the size of requests.
    pub(super) fn push(&self, write: PendingWrite) -> Result<(), (StoreError, PendingWrite)> {
        let mut content = self.content();
        if let Some(error) = &content.closed {
            return Err((error.clone(), write));
        }
        let n_records = content.n_records + write.batch.n_records();
        let n_bytes = content.n_bytes + write.batch.n_bytes();
        let (most_records, most_bytes) = self.limits.waiting;
        if !content.writes.is_empty() && (n_records > most_records || n_bytes > most_bytes) {
            return Err((StoreError::Full, write));
        }
        (content.n_records, content.n_bytes) = (n_records, n_bytes);
        content.writes.push_back(write);
        drop(content);
        self.arrived.notify_one();
        Ok(())
    }

    /// Adds a control job, which takes precedence over writes. A closed queue refuses it.
    pub(super) fn push_control(&self, job: ControlJob) {
        let mut content = self.content();
        if let Some(error) = content.closed.clone() {
            drop(content);
            return job.refuse(error);
        }
        content.controls.push_back(job);
        drop(content);
        self.arrived.notify_one();
    }

    /// Waits for work until a deadline. Writes are taken up to the size of a transaction.
    pub(super) fn next(&self, deadline: Option<Instant>) -> NextWork {
        let mut content = self.content();
        loop {
            if let Some(job) = content.controls.pop_front() {
                return NextWork::Control(job);
            }
            if !content.writes.is_empty() {
                return NextWork::Writes(self.take_transaction(&mut content));
            }
            if content.closed.is_some() {
                return NextWork::End;
            }
            let patience = match deadline {
                Some(deadline) => deadline.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(3600),
            };
            if patience.is_zero() {
                return NextWork::Idle;
            }
            let waited = self.arrived.wait_timeout(content, patience);
            content = waited.expect("no code panics while it holds the queue").0;
        }
    }

    fn take_transaction(&self, content: &mut QueueContent) -> Vec<PendingWrite> {
        let (most_records, most_bytes) = self.limits.transaction;
        let (mut writes, mut n_records, mut n_bytes) = (Vec::new(), 0, 0);
        while let Some(write) = content.writes.front() {
            let (records, bytes) = (write.batch.n_records(), write.batch.n_bytes());
            if !writes.is_empty() && (n_records + records > most_records || n_bytes + bytes > most_bytes) {
                break;
            }
            (n_records, n_bytes) = (n_records + records, n_bytes + bytes);
            writes.extend(content.writes.pop_front());
        }
        content.n_records -= n_records;
        content.n_bytes -= n_bytes;
        writes
    }

    /// Takes no more work. Work that waits is still done.
    pub(super) fn close(&self) {
        self.content().closed.get_or_insert(StoreError::Closed);
        self.arrived.notify_all();
    }

    /// Takes no more work and answers everything that waits with an error.
    pub(super) fn fail(&self, error: &StoreError) {
        let (writes, controls) = {
            let mut content = self.content();
            content.closed = Some(error.clone());
            (content.n_records, content.n_bytes) = (0, 0);
            (std::mem::take(&mut content.writes), std::mem::take(&mut content.controls))
        };
        writes.into_iter().for_each(|write| (write.done)(Err(error.clone())));
        controls.into_iter().for_each(|job| job.refuse(error.clone()));
    }

    /// Number of records that wait.
    pub(super) fn n_waiting(&self) -> usize {
        self.content().n_records
    }
}
