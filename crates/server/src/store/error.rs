use std::path::{Path, PathBuf};

use redb::{CommitError, CompactionError, DatabaseError, StorageError, TableError, TransactionError};

/// Error of the store. Cloned for every caller that waits for the same transaction.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The queue is full. The caller may retry after a pause (HTTP 429).
    #[error("the queue of the store is full; retry after a pause")]
    Full,
    /// The disk failed. The store takes no more work, and the process is expected to end (HTTP 503).
    #[error(
        "the store failed and takes no more work: {0}; free or repair the disk, then start the service again"
    )]
    Failed(String),
    /// The store was closed (HTTP 503).
    #[error("the store is closed")]
    Closed,
    /// A value was refused, and nothing was written (HTTP 400).
    #[error("{0}")]
    Refused(String),
    /// Another process has the state folder open.
    #[error("{}: another process uses this state folder; stop it, or choose another folder (a running service exports its log \
         at /v1/events/export)", .0.display())]
    Locked(PathBuf),
    /// The file is not a store, or it is damaged.
    #[error("{}: {message}", .file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// Expected content and advice.
        message: String,
    },
    /// The file was written by another version.
    #[error(
        "{}: has schema version {found}, and this program reads version {expected}; use the version of matchrank \
         that wrote it, or export its events there and start with a new state folder", .file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// Version of the file.
        found: u64,
        /// Version of this program.
        expected: u64,
    },
    /// A file or folder could not be opened.
    #[error("{}: {message}", .file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// Message of the system.
        message: String,
    },
}

impl StoreError {
    pub(super) fn io(file: &Path, error: &std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), message: error.to_string() }
    }

    /// Converts an error of opening a file.
    pub(super) fn opening(file: &Path, error: DatabaseError) -> Self {
        let file = file.to_owned();
        match error {
            DatabaseError::DatabaseAlreadyOpen => Self::Locked(file),
            DatabaseError::UpgradeRequired(found) => Self::Foreign {
                file,
                message: format!(
                    "has format {found} of redb, which this program does not read; use the version of matchrank that \
                     wrote it"
                ),
            },
            DatabaseError::Storage(StorageError::Corrupted(why)) => Self::Foreign {
                file,
                message: format!(
                    "is not a store of matchrank, or it is damaged ({why}); restore it from a backup, or move it away"
                ),
            },
            DatabaseError::Storage(StorageError::Io(error))
                if error.kind() != std::io::ErrorKind::InvalidData
                    && error.kind() != std::io::ErrorKind::UnexpectedEof =>
            {
                Self::Io { file, message: error.to_string() }
            }
            other => Self::Foreign {
                file,
                message: format!(
                    "is not a store of matchrank, or it is damaged ({other}); restore it from a backup, or move it away"
                ),
            },
        }
    }
}

macro_rules! failed_from {
    ($($error:ty),*) => {
        $(impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                Self::Failed(error.to_string())
            }
        })*
    };
}

failed_from!(CommitError, CompactionError, StorageError, TableError, TransactionError);
