//! Puts a finished folder in its place in one step.
//!
//! An existing folder is exchanged with the new one: a process that is killed leaves one of the two, complete, at every
//! moment. File systems that cannot exchange get three renames instead. If the process is killed between them, the
//! former folder is next to its place, with `.former` at the end of its name.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::parent_of;

/// Moves the folder `new` to `place`, on the same file system. An existing folder at `place` is at `new` afterwards.
pub(crate) fn put_in_place(new: &Path, place: &Path) -> io::Result<()> {
    sync(new)?;
    if place.exists() {
        exchange(new, place)?;
    } else {
        std::fs::rename(new, place)?;
    }
    sync(&parent_of(place))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE) {
        Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => exchange_by_renames(a, b),
        done => Ok(done?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    exchange_by_renames(a, b)
}

/// Returns a free name for a folder that is kept next to its successor. Temporary names are not used: they are cleaned
/// up.
pub(crate) fn former_name(place: &Path) -> PathBuf {
    let named = |ending: String| {
        let mut former = OsString::from(place);
        former.push(ending);
        PathBuf::from(former)
    };
    let endings = std::iter::once(".former".to_owned()).chain((2..).map(|n: u32| format!(".former{n}")));
    endings.map(named).find(|path| !path.exists()).expect("some number is free")
}

fn exchange_by_renames(new: &Path, place: &Path) -> io::Result<()> {
    let former = former_name(place);
    std::fs::rename(place, &former)?;
    if let Err(error) = std::fs::rename(new, place) {
        std::fs::rename(&former, place)?;
        return Err(error);
    }
    std::fs::rename(&former, new)
}

/// Syncs a folder, if the system allows it, so that its names survive a power failure.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { std::fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn two_folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        let (new, place) = (parent.path().join("new"), parent.path().join("place"));
        std::fs::create_dir(&new).unwrap();
        std::fs::write(new.join("new"), "").unwrap();
        (parent, new, place)
    }

    #[test]
    fn folders_change_places() {
        for exchange in [exchange, exchange_by_renames] {
            let (_parent, new, place) = two_folders();
            put_in_place(&new, &place).unwrap();
            assert!(place.join("new").exists() && !new.exists());
            std::fs::create_dir(&new).unwrap();
            std::fs::write(new.join("newer"), "").unwrap();
            exchange(&new, &place).unwrap();
            assert!(place.join("newer").exists() && new.join("new").exists());
        }
    }

    #[test]
    fn a_former_folder_gets_a_name_that_is_free() {
        let (_parent, _, place) = two_folders();
        assert!(former_name(&place).ends_with("place.former"));
        std::fs::create_dir(former_name(&place)).unwrap();
        assert!(former_name(&place).ends_with("place.former2"));
    }

    #[test]
    fn a_failed_rename_puts_the_former_folder_back() {
        let (_parent, new, place) = two_folders();
        put_in_place(&new, &place).unwrap();
        assert!(exchange_by_renames(&new, &place).is_err());
        assert!(place.join("new").exists());
    }

    /// Without an atomic exchange there is a moment between two renames when nothing is in place.
    #[test]
    #[cfg(target_os = "linux")]
    fn there_is_a_folder_in_place_at_every_moment() {
        let (_parent, new, place) = two_folders();
        std::fs::create_dir(&place).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let missing = scope.spawn(|| {
                let mut missing = 0;
                while !done.load(Ordering::Relaxed) {
                    missing += usize::from(!place.exists());
                }
                missing
            });
            for _ in 0..20_000 {
                exchange(&new, &place).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(missing.join().unwrap(), 0);
        });
    }
}
