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
    /// Locks a folder that may be replaced while it is locked: the lock is a hidden file next to the folder, which stays.
    pub fn beside(folder: &Path) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Self::on(&super::parent_of(folder).join(format!(".{name}.matchrank-lock")), folder)
    }

    /// Locks a folder. Returns an error if another process has locked it.
    pub fn of(folder: &Path) -> Result<Self> {
        Self::on(&folder.join(".matchrank-lock"), folder)
    }

    fn on(path: &Path, folder: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io(name_of(path), e))?;
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
