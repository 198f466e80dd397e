//! Tables of the file, and the layout of their rows.
//!
//! | table | key | value |
//! |---|---|---|
//! | `numbers` | name | counters and the schema version |
//! | `events` | sequence | received (i64), length of the id (u16), id, bytes of the event |
//! | `event_ids` | event id | sequence |
//! | `documents` | document id | sequence (u64), received (i64), kind (u8: 0 removed, 1 put), JSON |
//! | `learners` | name | checkpoint as JSON |
//!
//! Numbers are little-endian. One sequence counts events and document changes, so that both have one order.

use std::path::Path;

use redb::{Database, ReadableDatabase, TableDefinition, TableError, TableHandle};

use super::StoreError;

/// Version of this layout.
pub(super) const SCHEMA: u64 = 1;

pub(super) const NUMBERS: TableDefinition<'static, &str, u64> = TableDefinition::new("numbers");
pub(super) const EVENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("events");
pub(super) const EVENT_IDS: TableDefinition<'static, &str, u64> = TableDefinition::new("event_ids");
pub(super) const DOCUMENTS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("documents");
pub(super) const LEARNERS: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("learners");

/// Names of the rows of `numbers`.
pub(super) const SCHEMA_VERSION: &str = "schema";
/// Sequence of the last event or document change.
pub(super) const LAST_SEQUENCE: &str = "last_sequence";
/// Largest time at which anything was received.
pub(super) const LAST_RECEIVED: &str = "last_received";
/// Bytes of all events that are stored.
pub(super) const EVENT_BYTES: &str = "event_bytes";
/// Bytes of all documents that are stored.
pub(super) const DOCUMENT_BYTES: &str = "document_bytes";
/// Number of documents that are removed.
pub(super) const N_REMOVED: &str = "removed_documents";
/// Sequence of the last event that retention has deleted.
pub(super) const DELETED_TO: &str = "deleted_to";

const RECEIVED: usize = 8;
const EVENT_HEADER: usize = RECEIVED + 2;
const DOCUMENT_HEADER: usize = 8 + RECEIVED + 1;

/// Longest id of an event or a document, in bytes.
pub(super) const LONGEST_ID: usize = 1024;

/// Row of `events`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EventRow<'a> {
    pub(super) received: i64,
    pub(super) id: Option<&'a str>,
    pub(super) bytes: &'a [u8],
}

impl<'a> EventRow<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let id = self.id.unwrap_or_default();
        let mut row = Vec::with_capacity(EVENT_HEADER + id.len() + self.bytes.len());
        row.extend_from_slice(&self.received.to_le_bytes());
        row.extend_from_slice(&(id.len() as u16).to_le_bytes());
        row.extend_from_slice(id.as_bytes());
        row.extend_from_slice(self.bytes);
        row
    }

    pub(super) fn decode(row: &'a [u8]) -> Result<Self, StoreError> {
        let (received, rest) = row.split_first_chunk::<RECEIVED>().ok_or_else(|| damaged("event"))?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(|| damaged("event"))?;
        let (id, bytes) =
            rest.split_at_checked(u16::from_le_bytes(*length) as usize).ok_or_else(|| damaged("event"))?;
        let id = std::str::from_utf8(id).map_err(|_| damaged("event"))?;
        let received = i64::from_le_bytes(*received);
        Ok(Self { received, id: (!id.is_empty()).then_some(id), bytes })
    }
}

/// Row of `documents`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DocumentRow<'a> {
    pub(super) sequence: u64,
    pub(super) received: i64,
    /// `None` for a document that was removed.
    pub(super) json: Option<&'a str>,
}

impl<'a> DocumentRow<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let json = self.json.unwrap_or_default();
        let mut row = Vec::with_capacity(DOCUMENT_HEADER + json.len());
        row.extend_from_slice(&self.sequence.to_le_bytes());
        row.extend_from_slice(&self.received.to_le_bytes());
        row.push(u8::from(self.json.is_some()));
        row.extend_from_slice(json.as_bytes());
        row
    }

    pub(super) fn decode(row: &'a [u8]) -> Result<Self, StoreError> {
        let (sequence, rest) = row.split_first_chunk::<8>().ok_or_else(|| damaged("document"))?;
        let (received, rest) = rest.split_first_chunk::<RECEIVED>().ok_or_else(|| damaged("document"))?;
        let (kind, json) = rest.split_first().ok_or_else(|| damaged("document"))?;
        let json = std::str::from_utf8(json).map_err(|_| damaged("document"))?;
        let json = match kind {
            0 => None,
            1 => Some(json),
            _ => return Err(damaged("document")),
        };
        Ok(Self { sequence: u64::from_le_bytes(*sequence), received: i64::from_le_bytes(*received), json })
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError::Failed(format!("a stored {what} is damaged"))
}

/// Creates all tables of a new file.
pub(super) fn create(database: &Database) -> Result<(), StoreError> {
    let transaction = database.begin_write()?;
    {
        transaction.open_table(NUMBERS)?.insert(SCHEMA_VERSION, SCHEMA)?;
        transaction.open_table(EVENTS)?;
        transaction.open_table(EVENT_IDS)?;
        transaction.open_table(DOCUMENTS)?;
        transaction.open_table(LEARNERS)?;
    }
    Ok(transaction.commit()?)
}

/// Returns an error if a file has not the tables of this version.
pub(super) fn check(database: &Database, file: &Path) -> Result<(), StoreError> {
    let foreign = |message: String| StoreError::Foreign { file: file.to_owned(), message };
    let other = |table: &str| {
        foreign(format!(
            "is a redb file without the table '{table}' of a matchrank store; choose the state folder of the service"
        ))
    };
    let transaction = database.begin_read()?;
    let numbers = match transaction.open_table(NUMBERS) {
        Ok(numbers) => numbers,
        Err(TableError::Storage(error)) => return Err(error.into()),
        Err(_) => return Err(other(NUMBERS.name())),
    };
    let found = numbers.get(SCHEMA_VERSION)?.map(|row| row.value());
    let found = found.ok_or_else(|| other(NUMBERS.name()))?;
    if found != SCHEMA {
        return Err(StoreError::Version { file: file.to_owned(), found, expected: SCHEMA });
    }
    let is_there = |result: Result<(), TableError>, name: &str| match result {
        Ok(()) => Ok(()),
        Err(TableError::Storage(error)) => Err(error.into()),
        Err(_) => Err(other(name)),
    };
    is_there(transaction.open_table(EVENTS).map(drop), EVENTS.name())?;
    is_there(transaction.open_table(EVENT_IDS).map(drop), EVENT_IDS.name())?;
    is_there(transaction.open_table(DOCUMENTS).map(drop), DOCUMENTS.name())?;
    is_there(transaction.open_table(LEARNERS).map(drop), LEARNERS.name())
}

/// Returns the number of bytes of events and documents.
pub(super) fn content_bytes(database: &Database) -> Result<u64, StoreError> {
    let numbers = database.begin_read()?.open_table(NUMBERS)?;
    let number =
        |name: &str| -> Result<u64, StoreError> { Ok(numbers.get(name)?.map_or(0, |row| row.value())) };
    Ok(number(EVENT_BYTES)? + number(DOCUMENT_BYTES)?)
}
