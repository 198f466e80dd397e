//! Reading while the writer writes: every view is a snapshot of one transaction.

use std::collections::HashSet;
use std::ops::Bound;

use redb::{ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::tables::{
    DELETED_TO, DOCUMENT_BYTES, DOCUMENTS, DocumentRow, EVENT_BYTES, EVENT_IDS, EVENTS, EventRow,
    LAST_RECEIVED, LAST_SEQUENCE, LEARNERS, N_REMOVED, NUMBERS,
};
use super::{LearnerCheckpoint, NewEvent, Store, StoreError};

/// Events that are copied out of the file at a time.
const PAGE: usize = 1000;

/// Part of the log: everything behind one sequence, up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSpan {
    /// Sequence behind which it begins.
    pub after: u64,
    /// Last sequence that belongs to it.
    pub until: u64,
}

impl LogSpan {
    /// The whole log.
    pub const ALL: Self = Self::after(0);

    /// Everything behind a sequence.
    pub const fn after(sequence: u64) -> Self {
        Self { after: sequence, until: u64::MAX }
    }

    /// Returns true if a sequence belongs to it.
    pub fn contains(self, sequence: u64) -> bool {
        self.after < sequence && sequence <= self.until
    }
}

/// Event as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredEvent {
    /// Place in the order of all events and document changes.
    pub sequence: u64,
    /// Time at which it was received, in milliseconds since 1970. Never decreases with the sequence.
    pub received: i64,
    /// Id that makes a retry a duplicate.
    pub id: Option<String>,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Last state of a document that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredDocument {
    /// Sequence of the change.
    pub sequence: u64,
    /// Time at which the change was received, in milliseconds since 1970.
    pub received: i64,
    /// Document id.
    pub id: String,
    /// The document as a JSON object; `None` if it was removed.
    pub json: Option<String>,
}

/// Counts of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCounts {
    /// Events in the store.
    pub n_events: u64,
    /// Their bytes.
    pub event_bytes: u64,
    /// Documents that were put and not removed since.
    pub n_documents: u64,
    /// Documents that were removed.
    pub n_removed: u64,
    /// Bytes of the documents.
    pub document_bytes: u64,
    /// Sequence of the last event or document change.
    pub last_sequence: u64,
    /// Sequence of the last event that retention has deleted; 0 if none.
    pub deleted_to: u64,
    /// Time at which the last event or document change was received, in milliseconds since 1970.
    pub last_received: i64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Events and document changes that wait for the writer.
    pub n_waiting: usize,
}

impl Store {
    fn read(&self) -> Result<ReadTransaction, StoreError> {
        Ok(self.shared.database().begin_read()?)
    }

    /// Sequence of the last change in the file.
    pub(super) fn stored_last(&self) -> Result<u64, StoreError> {
        Ok(self.read()?.open_table(NUMBERS)?.get(LAST_SEQUENCE)?.map_or(0, |row| row.value()))
    }

    /// Counts of the store.
    pub fn counts(&self) -> Result<StoreCounts, StoreError> {
        let transaction = self.read()?;
        let numbers = transaction.open_table(NUMBERS)?;
        let number =
            |name: &str| -> Result<u64, StoreError> { Ok(numbers.get(name)?.map_or(0, |row| row.value())) };
        let n_removed = number(N_REMOVED)?;
        Ok(StoreCounts {
            n_events: transaction.open_table(EVENTS)?.len()?,
            event_bytes: number(EVENT_BYTES)?,
            n_documents: transaction.open_table(DOCUMENTS)?.len()?.saturating_sub(n_removed),
            n_removed,
            document_bytes: number(DOCUMENT_BYTES)?,
            last_sequence: number(LAST_SEQUENCE)?,
            deleted_to: number(DELETED_TO)?,
            last_received: number(LAST_RECEIVED)? as i64,
            file_bytes: self.file_bytes()?,
            n_waiting: self.shared.queue.n_waiting(),
        })
    }

    /// Returns the events after a sequence, at most about a thousand; none if there are no more.
    pub fn events_after(&self, sequence: u64) -> Result<Vec<StoredEvent>, StoreError> {
        let transaction = self.read()?;
        let events = transaction.open_table(EVENTS)?;
        let rows = events.range((Bound::Excluded(sequence), Bound::Unbounded))?;
        rows.take(PAGE)
            .map(|row| {
                let (sequence, row) = row?;
                let EventRow { received, id, bytes } = EventRow::decode(row.value())?;
                let id = id.map(str::to_owned);
                Ok(StoredEvent { sequence: sequence.value(), received, id, bytes: bytes.to_vec() })
            })
            .collect()
    }

    /// Calls `each` with every event of a part of the log, in order. No transaction is held between pages, so that a slow
    /// reader does not make the file grow.
    pub fn for_each_event<E: From<StoreError>>(
        &self,
        span: LogSpan,
        mut each: impl FnMut(StoredEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after = span.after;
        loop {
            let page = self.events_after(after)?;
            let Some(last) = page.last().map(|event| event.sequence) else { return Ok(()) };
            after = last;
            page.into_iter().filter(|event| span.contains(event.sequence)).try_for_each(&mut each)?;
            if last >= span.until {
                return Ok(());
            }
        }
    }

    /// Calls `each` with the last state of every document that was changed, in the order of their ids.
    pub fn for_each_document<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(StoredDocument) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after: Option<String> = None;
        loop {
            let page = self.documents_after(after.as_deref())?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            page.into_iter().try_for_each(&mut each)?;
        }
    }

    fn documents_after(&self, id: Option<&str>) -> Result<Vec<StoredDocument>, StoreError> {
        let transaction = self.read()?;
        let documents = transaction.open_table(DOCUMENTS)?;
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = documents.range::<&str>((from, Bound::Unbounded))?;
        rows.take(PAGE)
            .map(|row| row.map_err(StoreError::from).and_then(|(id, row)| document(id.value(), row.value())))
            .collect()
    }

    /// Returns the last state of a document; `None` if it was never changed.
    pub fn document(&self, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        let transaction = self.read()?;
        let row = transaction.open_table(DOCUMENTS)?.get(id)?;
        row.map(|row| document(id, row.value())).transpose()
    }

    /// Returns the ids of those of the events that are stored.
    pub fn known_events(&self, events: &[NewEvent]) -> Result<HashSet<String>, StoreError> {
        let mut known = HashSet::new();
        if events.iter().all(|event| event.id.is_none()) {
            return Ok(known);
        }
        let transaction = self.read()?;
        let ids = transaction.open_table(EVENT_IDS)?;
        for id in events.iter().filter_map(|event| event.id.as_deref()) {
            if ids.get(id)?.is_some() {
                known.insert(id.to_owned());
            }
        }
        Ok(known)
    }

    /// Returns the sequence of the last event that was received before a time; 0 if none was. Document changes that follow
    /// this event count as later.
    pub fn sequence_before(&self, time: i64) -> Result<u64, StoreError> {
        let transaction = self.read()?;
        let events = transaction.open_table(EVENTS)?;
        let first_from = |sequence: u64| -> Result<Option<(u64, i64)>, StoreError> {
            let Some(row) = events.range(sequence..)?.next().transpose()? else { return Ok(None) };
            Ok(Some((row.0.value(), EventRow::decode(row.1.value())?.received)))
        };
        let last = transaction.open_table(NUMBERS)?.get(LAST_SEQUENCE)?.map_or(0, |row| row.value());
        // The smallest sequence from which on all events were received at the time or later.
        let (mut low, mut high) = (0, last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match first_from(middle)? {
                Some((sequence, received)) if received < time => low = sequence + 1,
                _ => high = middle,
            }
        }
        Ok(low.saturating_sub(1))
    }

    /// Returns the last checkpoint of a learner; `None` if it is not registered.
    pub fn learner(&self, name: &str) -> Result<Option<LearnerCheckpoint>, StoreError> {
        let row = self.read()?.open_table(LEARNERS)?.get(name)?;
        row.map(|row| LearnerCheckpoint::decode(row.value())).transpose()
    }

    /// Returns all learners by name.
    pub fn learners(&self) -> Result<Vec<(String, LearnerCheckpoint)>, StoreError> {
        let learners = self.read()?.open_table(LEARNERS)?;
        learners
            .iter()?
            .map(|row| {
                let (name, row) = row?;
                Ok((name.value().to_owned(), LearnerCheckpoint::decode(row.value())?))
            })
            .collect()
    }
}

fn document(id: &str, row: &[u8]) -> Result<StoredDocument, StoreError> {
    let DocumentRow { sequence, received, json } = DocumentRow::decode(row)?;
    Ok(StoredDocument { sequence, received, id: id.to_owned(), json: json.map(str::to_owned) })
}
