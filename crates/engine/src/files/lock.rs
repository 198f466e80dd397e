//! One process at a time in a folder.

use std::fs::{File, TryLockError};
use std::path::Path;

use matchrank_core::{Error, Result};

use super::name_of;

/// A folder that no other process locks while this lives. The system releases it when the process ends, however it does;
/// the file that stands for it, `.matchrank-lock`, stays.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a folder, or says that another process has.
    pub fn of(folder: &Path) -> Result<Self> {
        let path = folder.join(".matchrank-lock");
        let file = File::create(&path).map_err(|e| Error::io(name_of(&path), e))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(Error::format(
                name_of(folder),
                "another process is writing to this folder; wait until it ends, or choose another folder",
            )),
            // A file system without locks is used as before there were any.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { _file: file }),
        }
    }
}
