use serde::{Deserialize, Serialize};

use super::StoreError;

/// Pointer to the last checkpoint of a learner: a model file, and the sequence up to which the model has learned.
///
/// The model file is complete and synced before the pointer is stored, and the pointer is replaced in one transaction.
/// A process that is killed in between leaves a file that nothing points to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LearnerCheckpoint {
    /// Sequence of the last event that the model has learned from.
    pub sequence: u64,
    /// Name of the model file in the state folder. Empty for a learner that has not saved yet.
    pub file: String,
    /// BLAKE3 of the model that learning began with.
    pub base: String,
    /// Sequence after which learning began.
    pub after: u64,
    /// State of the learner beside its model, as JSON.
    pub state: String,
}

impl LearnerCheckpoint {
    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }

    pub(super) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(row)
            .map_err(|e| StoreError::Failed(format!("a stored checkpoint is damaged: {e}")))
    }
}
