//! Locks a folder for one process at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use matchrank_core::{Error, Result};

use super::name_of;

/// Exclusive lock on a folder, held until it is dropped. The system releases the lock when the process ends, however it
/// ends; the lock file, `.matchrank-lock`, stays.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a folder. Returns an error if another process has locked it.
    pub fn of(folder: &Path) -> Result<Self> {
        let path = folder.join(".matchrank-lock");
        let file = File::create(&path).map_err(|e| Error::io(name_of(&path), e))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::format(
                name_of(folder),
                "another process is writing to this folder; wait until it ends, or choose another folder",
            )),
            // On a file system without locks, the folder is used unlocked.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { _file: file }),
        }
    }
}
