use crate::store::StoreError;

/// Error of learning from the log, or of its export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearningError {
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model or a file failed.
    #[error(transparent)]
    Engine(#[from] matchrank_engine::Error),
    /// The request cannot be met.
    #[error("{0}")]
    Refused(String),
}
