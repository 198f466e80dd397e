//! Files and folders under a temporary name, from which they are renamed when they are whole.
//!
//! The name has the number of the process, as in `.matchrank-1234-x8Fq2k`, and the process holds a lock on it. What a
//! killed process left is removed by the next one that writes in the same folder: no process of that number is there
//! any more, and nobody holds the lock. A number that another program has got meanwhile only keeps it longer. On systems
//! without `/proc` nothing is removed.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use matchrank_core::{Error, Result, explained};
use tempfile::{Builder, NamedTempFile, TempDir};

use super::{name_of, parent_of};

const PREFIX: &str = ".matchrank-";

/// Temporary files and folders of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Folders that were searched for what others left.
static SWEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An entry of [`OWN`], and the lock that says that its process is alive.
struct Owned {
    path: PathBuf,
    _lock: Option<File>,
}

impl Owned {
    /// Makes something under a temporary name. A signal that comes meanwhile waits until it is in [`OWN`].
    fn make<T>(
        path: fn(&T) -> &Path,
        make: impl FnOnce() -> std::io::Result<T>,
    ) -> std::io::Result<(T, Self)> {
        let mut own = list(&OWN);
        let made = make()?;
        let path = path(&made);
        own.push(path.to_owned());
        // Where there are no locks, the number of the process must do.
        let lock = File::open(path).ok().filter(|file| file.try_lock().is_ok());
        let owned = Self { path: path.to_owned(), _lock: lock };
        Ok((made, owned))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        list(&OWN).retain(|path| *path != self.path);
    }
}

fn list(paths: &Mutex<Vec<PathBuf>>) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
    paths.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A file under a temporary name beside its place.
pub(super) struct TemporaryFile {
    pub(super) file: NamedTempFile,
    // Dropped after the file.
    _owned: Owned,
}

impl TemporaryFile {
    /// A file beside `place`: private if it is to replace one, whose permissions it will get, else as any new file.
    pub(super) fn beside(place: &Path) -> Result<Self> {
        let folder = parent_of(place);
        sweep(&folder);
        let mode = if place.exists() { 0o600 } else { 0o666 };
        let made = Owned::make(NamedTempFile::path, || builder(mode, |builder| builder.tempfile_in(&folder)));
        let (file, owned) = made.map_err(|e| cannot_write(place, &folder, &e))?;
        Ok(Self { file, _owned: owned })
    }
}

/// A folder under a temporary name beside its place; removed unless it is kept.
pub(crate) struct TemporaryFolder {
    folder: TempDir,
    _owned: Owned,
}

impl TemporaryFolder {
    /// A folder beside `place`, with the permissions of what is there, else those of any new folder.
    pub(crate) fn beside(place: &Path) -> Result<Self> {
        let parent = parent_of(place);
        sweep(&parent);
        let made = Owned::make(TempDir::path, || builder(0o777, |builder| builder.tempdir_in(&parent)));
        let (folder, owned) = made.map_err(|e| cannot_write(place, &parent, &e))?;
        let new = Self { folder, _owned: owned };
        if let Some(permissions) =
            std::fs::metadata(place).ok().filter(|m| m.is_dir()).map(|m| m.permissions())
        {
            std::fs::set_permissions(new.path(), permissions)
                .map_err(|e| Error::io(name_of(new.path()), e))?;
        }
        Ok(new)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The folder, which is not removed any more.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// Makes something under a temporary name; `mode` is what the permissions are before the umask.
fn builder<T>(mode: u32, make: impl FnOnce(&Builder<'_, '_>) -> std::io::Result<T>) -> std::io::Result<T> {
    let prefix = format!("{PREFIX}{}-", std::process::id());
    let mut builder = Builder::new();
    builder.prefix(&prefix);
    if let Some(permissions) = permissions(mode) {
        builder.permissions(permissions);
    }
    make(&builder)
}

#[cfg(unix)]
fn permissions(mode: u32) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn permissions(_mode: u32) -> Option<Permissions> {
    None
}

fn cannot_write(place: &Path, folder: &Path, error: &std::io::Error) -> Error {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such folder; make it first".to_owned(),
        _ => explained(error),
    };
    Error::format(name_of(place), format!("cannot be written in {}: {why}", folder.display()))
}

/// Removes what this process has under temporary names: for a program that is about to end at a signal. Threads that
/// would make more wait from now on.
pub fn remove_own() {
    let mut own = list(&OWN);
    for path in own.drain(..) {
        // Threads that still write into a folder can hold it up; a second time is enough for most.
        if !remove(&path) {
            remove(&path);
        }
    }
    std::mem::forget(own);
}

fn remove(path: &Path) -> bool {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path).is_ok(),
        Ok(metadata) if metadata.is_file() => std::fs::remove_file(path).is_ok(),
        _ => true,
    }
}

/// Removes what ended processes left in a folder. Each folder is searched once.
fn sweep(folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    let mut swept = list(&SWEPT);
    if swept.contains(&folder) {
        return;
    }
    if let Ok(entries) = folder.read_dir() {
        let left = entries.flatten().filter(|entry| process_of(&entry.file_name()).is_some_and(is_gone));
        for path in left.map(|entry| entry.path()) {
            if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                remove(&path);
            }
        }
    }
    swept.push(folder);
}

/// The process that a temporary name was made by.
fn process_of(name: &OsStr) -> Option<u32> {
    let (id, _) = name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
    id.parse().ok()
}

/// Returns true if the process that made a temporary name has ended. In a container a process often has the number of the one
/// before it: a name of our own number, found before this process made any in that folder, is that one's.
fn is_gone(process: u32) -> bool {
    let all = Path::new("/proc");
    all.join("self").exists() && (process == std::process::id() || !all.join(process.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_waits_until_a_temporary_file_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let make = || {
            assert!(OWN.try_lock().is_err(), "what removes temporary files waits");
            NamedTempFile::new_in(folder.path())
        };
        let (file, owned) = Owned::make(NamedTempFile::path, make).unwrap();
        assert!(list(&OWN).iter().any(|path| path == file.path()));
        drop(owned);
        assert!(!list(&OWN).iter().any(|path| path == file.path()));
    }
}
