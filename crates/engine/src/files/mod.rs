//! Reads plain, gzip and zstd files, and writes files that are either complete or absent.
//!
//! Compression is recognised by the first bytes of the content, not by the name; when writing, by the
//! ending of the name (`.gz`, `.zst`).

mod lock;
mod reading;
mod temporary;
#[cfg(test)]
mod tests;
mod writing;

use std::path::{Path, PathBuf};

pub use lock::Lock;
pub use reading::{ExpandsTooFar, allow_expansion_to, damaged, open, open_bounded, read_all};
pub(crate) use temporary::TemporaryFolder;
pub use temporary::remove_own as remove_own_temporaries;
pub use writing::{check_folder, check_writable, followed, make_folder, write_atomically};

/// Returns the name of a file for messages.
pub fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the folder of a file.
pub(crate) fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
