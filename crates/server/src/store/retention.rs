//! Deletes old events, by age and by size, in small transactions.
//!
//! No event is deleted that a learner has not passed with a checkpoint. The id of a deleted event is forgotten, so a
//! retry that comes later than the retention is a new event.

use redb::{ReadableTable, WriteTransaction};

use super::tables::{DELETED_TO, EVENT_BYTES, EVENT_IDS, EVENTS, EventRow, LEARNERS, NUMBERS};
use super::{LearnerCheckpoint, SharedStore, StoreError};

/// Events that are deleted in one transaction.
pub(super) const SLICE: u64 = 1000;
const DAY: f64 = 86_400_000.0;

/// Limits on the events that are kept. Document changes are always kept.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Retention {
    /// Delete events that were received more days ago.
    pub keep_days: Option<f64>,
    /// Delete the oldest events beyond this many bytes.
    pub keep_bytes: Option<u64>,
}

impl Retention {
    /// Retention by age, by size, or both.
    pub fn new(keep_days: Option<f64>, keep_bytes: Option<u64>) -> Self {
        Self { keep_days, keep_bytes }
    }

    pub(super) fn is_limited(self) -> bool {
        self.keep_days.is_some() || self.keep_bytes.is_some()
    }

    pub(super) fn check(self) -> Result<(), StoreError> {
        match self.keep_days {
            Some(days) if !(days > 0.0 && days.is_finite()) => Err(StoreError::Refused(format!(
                "the number of days to keep events is {days}; a number above 0 is expected"
            ))),
            _ => Ok(()),
        }
    }
}

/// Deletes all expired events; returns their number.
pub(super) fn trim_all(shared: &SharedStore) -> Result<u64, StoreError> {
    let mut total = 0;
    loop {
        let deleted = trim(shared)?;
        total += deleted;
        if deleted < SLICE {
            return Ok(total);
        }
    }
}

/// Deletes a slice of the expired events; returns their number.
pub(super) fn trim(shared: &SharedStore) -> Result<u64, StoreError> {
    if !shared.retention.is_limited() {
        return Ok(0);
    }
    let database = shared.database();
    let transaction = database.begin_write()?;
    let expired = expired(shared, &transaction)?;
    if expired.is_empty() {
        transaction.abort()?;
        return Ok(0);
    }
    {
        let mut events = transaction.open_table(EVENTS)?;
        let mut ids = transaction.open_table(EVENT_IDS)?;
        let mut numbers = transaction.open_table(NUMBERS)?;
        let mut bytes = 0;
        for &sequence in &expired {
            let row = events.remove(sequence)?;
            let row = row.as_ref().map(|row| row.value()).unwrap_or_default();
            bytes += row.len() as u64;
            if let Some(id) = EventRow::decode(row)?.id {
                ids.remove(id)?;
            }
        }
        let before = numbers.get(EVENT_BYTES)?.map_or(0, |row| row.value());
        numbers.insert(EVENT_BYTES, before.saturating_sub(bytes))?;
        numbers.insert(DELETED_TO, *expired.last().expect("there is one"))?;
    }
    transaction.commit()?;
    Ok(expired.len() as u64)
}

/// Returns the sequences of the first expired events.
fn expired(shared: &SharedStore, transaction: &WriteTransaction) -> Result<Vec<u64>, StoreError> {
    let retention = shared.retention;
    let mut passed = u64::MAX;
    for row in transaction.open_table(LEARNERS)?.iter()? {
        passed = passed.min(LearnerCheckpoint::decode(row?.1.value())?.sequence);
    }
    let cutoff = retention.keep_days.map_or(i64::MIN, |days| (shared.clock)() - (days * DAY) as i64);
    let stored = transaction.open_table(NUMBERS)?.get(EVENT_BYTES)?.map_or(0, |row| row.value());
    let mut excess = retention.keep_bytes.map_or(0, |keep| stored.saturating_sub(keep));
    let mut sequences = Vec::new();
    for row in transaction.open_table(EVENTS)?.iter()? {
        let (sequence, row) = row?;
        let is_old = EventRow::decode(row.value())?.received < cutoff;
        if sequence.value() > passed || !(is_old || excess > 0) || sequences.len() as u64 == SLICE {
            break;
        }
        excess = excess.saturating_sub(row.value().len() as u64);
        sequences.push(sequence.value());
    }
    Ok(sequences)
}
