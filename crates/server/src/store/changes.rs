//! Changes that a caller hands to the store, and what the store answers.

use super::StoreError;
use super::tables::LONGEST_ID;

/// Event to be stored. The store does not interpret its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Id that makes a retry a duplicate. Two events without an id are two events, even if their bytes are equal.
    pub id: Option<String>,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Change of the live catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentChange {
    /// Adds a document, or replaces it.
    Put {
        /// Document id.
        id: String,
        /// The document as a JSON object.
        json: String,
    },
    /// Removes a document. Removing one that is not there is no error.
    Remove {
        /// Document id.
        id: String,
    },
}

impl DocumentChange {
    /// Document id.
    pub fn id(&self) -> &str {
        match self {
            Self::Put { id, .. } | Self::Remove { id } => id,
        }
    }
}

/// Events and document changes of one request. All of a batch are stored, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteBatch {
    /// Events, in their order.
    pub events: Vec<NewEvent>,
    /// Document changes, in their order, after the events.
    pub documents: Vec<DocumentChange>,
}

impl WriteBatch {
    /// Batch of events.
    pub fn of_events(events: Vec<NewEvent>) -> Self {
        Self { events, documents: Vec::new() }
    }

    /// Batch of document changes.
    pub fn of_documents(documents: Vec<DocumentChange>) -> Self {
        Self { events: Vec::new(), documents }
    }

    pub(super) fn n_records(&self) -> usize {
        self.events.len() + self.documents.len()
    }

    pub(super) fn n_bytes(&self) -> usize {
        let events = self.events.iter().map(|e| e.bytes.len() + e.id.as_ref().map_or(0, String::len));
        let documents = self.documents.iter().map(|change| match change {
            DocumentChange::Put { id, json } => id.len() + json.len(),
            DocumentChange::Remove { id } => id.len(),
        });
        events.sum::<usize>() + documents.sum::<usize>()
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        let ids = self.events.iter().filter_map(|event| event.id.as_deref()).map(|id| ("event", id));
        if let Some(change) = self.documents.iter().find(|change| change.id().contains(char::is_control)) {
            return Err(StoreError::Refused(format!(
                "the document id {:?} has a control character; ids are texts of one line",
                change.id()
            )));
        }
        let mut ids = ids.chain(self.documents.iter().map(|change| ("document", change.id())));
        match ids.find(|(_, id)| id.is_empty() || id.len() > LONGEST_ID) {
            Some((what, "")) => {
                Err(StoreError::Refused(format!("the id of the {what} is empty; give it an id")))
            }
            Some((what, id)) => Err(StoreError::Refused(format!(
                "the id of the {what} has {} bytes; at most {LONGEST_ID} are stored",
                id.len()
            ))),
            None => Ok(()),
        }
    }
}

/// Acknowledgement of a batch, sent after its transaction was committed to disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReceipt {
    /// Sequence of every event, in the order of the batch; that of its first arrival for a duplicate.
    pub events: Vec<u64>,
    /// Sequence of every document change.
    pub documents: Vec<u64>,
    /// Number of events that had been stored before.
    pub n_duplicates: usize,
    /// Time at which the batch was received, in milliseconds since 1970.
    pub received: i64,
}
