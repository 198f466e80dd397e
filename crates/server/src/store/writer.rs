//! The thread that writes: group commits, checkpoints, retention and compaction, one transaction at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use redb::{ReadableTable, Table, WriteTransaction};

use super::queue::{ControlJob, NextWork, PendingWrite};
use super::tables::{
    DOCUMENT_BYTES, DOCUMENTS, DocumentRow, EVENT_BYTES, EVENT_IDS, EVENTS, EventRow, LAST_RECEIVED,
    LAST_SEQUENCE, LEARNERS, N_REMOVED, NUMBERS,
};
use super::{DocumentChange, SharedStore, StoreError, WriteBatch, WriteReceipt, retention};

/// Runs until the queue is closed and empty, or until a transaction fails.
pub(super) fn run(shared: &Arc<SharedStore>) {
    let mut retained_at = Instant::now();
    loop {
        let worked = catch_unwind(AssertUnwindSafe(|| work(shared, &mut retained_at)));
        match worked.unwrap_or_else(|_| Err(StoreError::Failed("the writer panicked".into()))) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                shared.refuse_all(&error);
                return (shared.on_failure)(&error);
            }
        }
    }
}

/// Does what comes next; returns false at the end of the queue.
fn work(shared: &SharedStore, retained_at: &mut Instant) -> Result<bool, StoreError> {
    let deadline = shared.retention.is_limited().then(|| *retained_at + shared.retention_pause);
    match shared.queue.next(deadline) {
        NextWork::Writes(writes) => group_commit(shared, writes)?,
        NextWork::Control(job) => control(shared, job)?,
        NextWork::Idle => {}
        NextWork::End => return Ok(false),
    }
    // One slice at a time, so that writes never wait for long. A full slice is followed by another one.
    if deadline.is_some_and(|deadline| deadline <= Instant::now())
        && retention::trim(shared)? < retention::SLICE
    {
        *retained_at = Instant::now();
    }
    Ok(true)
}

/// Writes batches in one transaction and answers their waiters after the commit.
fn group_commit(shared: &SharedStore, writes: Vec<PendingWrite>) -> Result<(), StoreError> {
    let batches: Vec<&WriteBatch> = writes.iter().map(|write| &write.batch).collect();
    let written = catch_unwind(AssertUnwindSafe(|| write(shared, &batches)));
    let written = written.unwrap_or_else(|_| Err(StoreError::Failed("the writer panicked".into())));
    match written {
        Ok((receipts, last)) => {
            shared.committed(last);
            writes
                .into_iter()
                .zip(receipts)
                .for_each(|(write, receipt)| answer(|| (write.done)(Ok(receipt))));
            Ok(())
        }
        Err(error) => {
            // Later writes are refused before anyone learns of the failure.
            shared.refuse_all(&error);
            writes.into_iter().for_each(|write| answer(|| (write.done)(Err(error.clone()))));
            Err(error)
        }
    }
}

/// Calls a waiter. One that panics does not harm the others.
fn answer(call: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(call));
}

fn write(shared: &SharedStore, batches: &[&WriteBatch]) -> Result<(Vec<WriteReceipt>, u64), StoreError> {
    let database = shared.database();
    let transaction = database.begin_write()?;
    let (receipts, last) = {
        let mut tables = WriteTables::open(&transaction)?;
        let received = (shared.clock)().max(tables.number(LAST_RECEIVED)? as i64);
        let last = tables.number(LAST_SEQUENCE)?;
        let mut counters = WriteCounters { received, last, ..WriteCounters::default() };
        let receipts = batches.iter().map(|batch| tables.write_batch(batch, &mut counters));
        let receipts = receipts.collect::<Result<Vec<_>, StoreError>>()?;
        tables.finish(&counters)?;
        (receipts, counters.last)
    };
    transaction.commit()?;
    Ok((receipts, last))
}

/// Changes of the counters in a transaction.
#[derive(Default)]
struct WriteCounters {
    received: i64,
    last: u64,
    event_bytes: u64,
    document_bytes: i64,
    n_removed: i64,
}

/// Tables of a transaction that writes batches.
struct WriteTables<'t> {
    numbers: Table<'t, &'static str, u64>,
    events: Table<'t, u64, &'static [u8]>,
    ids: Table<'t, &'static str, u64>,
    documents: Table<'t, &'static str, &'static [u8]>,
}

impl<'t> WriteTables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            numbers: transaction.open_table(NUMBERS)?,
            events: transaction.open_table(EVENTS)?,
            ids: transaction.open_table(EVENT_IDS)?,
            documents: transaction.open_table(DOCUMENTS)?,
        })
    }

    fn number(&self, name: &str) -> Result<u64, StoreError> {
        Ok(self.numbers.get(name)?.map_or(0, |row| row.value()))
    }

    fn write_batch(
        &mut self,
        batch: &WriteBatch,
        counters: &mut WriteCounters,
    ) -> Result<WriteReceipt, StoreError> {
        let mut receipt = WriteReceipt { received: counters.received, ..WriteReceipt::default() };
        for event in &batch.events {
            let id = event.id.as_deref();
            let known = id.map(|id| self.ids.get(id)).transpose()?.flatten().map(|row| row.value());
            if let Some(sequence) = known {
                receipt.n_duplicates += 1;
                receipt.events.push(sequence);
                continue;
            }
            counters.last += 1;
            let row = EventRow { received: counters.received, id, bytes: &event.bytes }.encode();
            self.events.insert(counters.last, row.as_slice())?;
            if let Some(id) = id {
                self.ids.insert(id, counters.last)?;
            }
            counters.event_bytes += row.len() as u64;
            receipt.events.push(counters.last);
        }
        for change in &batch.documents {
            counters.last += 1;
            let json = match change {
                DocumentChange::Put { json, .. } => Some(json.as_str()),
                DocumentChange::Remove { .. } => None,
            };
            let row = DocumentRow { sequence: counters.last, received: counters.received, json }.encode();
            let former = self.documents.insert(change.id(), row.as_slice())?;
            let former = former.as_ref().map(|row| row.value());
            let was_removed =
                former.map(DocumentRow::decode).transpose()?.is_some_and(|row| row.json.is_none());
            counters.document_bytes += row.len() as i64 - former.map_or(0, |row| row.len() as i64);
            counters.n_removed += i64::from(json.is_none()) - i64::from(was_removed);
            receipt.documents.push(counters.last);
        }
        Ok(receipt)
    }

    fn finish(&mut self, counters: &WriteCounters) -> Result<(), StoreError> {
        let event_bytes = self.number(EVENT_BYTES)? + counters.event_bytes;
        let document_bytes = self.number(DOCUMENT_BYTES)?.saturating_add_signed(counters.document_bytes);
        let n_removed = self.number(N_REMOVED)?.saturating_add_signed(counters.n_removed);
        for (name, number) in [
            (LAST_SEQUENCE, counters.last),
            (LAST_RECEIVED, counters.received.max(0) as u64),
            (EVENT_BYTES, event_bytes),
            (DOCUMENT_BYTES, document_bytes),
            (N_REMOVED, n_removed),
        ] {
            self.numbers.insert(name, number)?;
        }
        Ok(())
    }
}

fn control(shared: &SharedStore, job: ControlJob) -> Result<(), StoreError> {
    match job {
        ControlJob::Learner(name, checkpoint, done) => {
            finish(shared, write_learner(shared, &name, checkpoint.as_ref()), done)
        }
        ControlJob::Trim(done) => finish(shared, retention::trim_all(shared), done),
        ControlJob::Compact(done) => match shared.compact() {
            // Readers that are busy are no failure of the disk.
            Err(error @ StoreError::Refused(_)) => {
                answer(|| done(Err(error)));
                Ok(())
            }
            result => finish(shared, result, done),
        },
    }
}

/// Answers a control job. An error closes the store.
fn finish<T>(
    shared: &SharedStore,
    result: Result<T, StoreError>,
    done: super::queue::Done<T>,
) -> Result<(), StoreError> {
    let failure = result.as_ref().err().cloned();
    if let Some(error) = &failure {
        shared.refuse_all(error);
    }
    answer(|| done(result));
    failure.map_or(Ok(()), Err)
}

fn write_learner(
    shared: &SharedStore,
    name: &str,
    checkpoint: Option<&super::LearnerCheckpoint>,
) -> Result<(), StoreError> {
    let database = shared.database();
    let transaction = database.begin_write()?;
    {
        let mut learners = transaction.open_table(LEARNERS)?;
        match checkpoint {
            Some(checkpoint) => drop(learners.insert(name, checkpoint.encode().as_slice())?),
            None => drop(learners.remove(name)?),
        }
    }
    Ok(transaction.commit()?)
}
