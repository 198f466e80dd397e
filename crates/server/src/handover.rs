//! What the service hands to its durable log.

use crate::event::Event;
use crate::failure::Failure;
use crate::standin::DocumentChange;

/// Acknowledgement of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Events that are new.
    pub(crate) accepted: usize,
    /// Events that were known already.
    pub(crate) duplicates: usize,
}

/// Keeps events and document changes; returns when they are durable.
pub(crate) trait Log: Send + Sync {
    /// Adds events, in order.
    fn add_events(&self, events: Vec<Event>) -> Result<Acknowledged, Failure>;

    /// Adds document changes, in order.
    fn add_changes(&self, changes: &[DocumentChange]) -> Result<(), Failure>;
}
