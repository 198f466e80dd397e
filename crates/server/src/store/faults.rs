//! A file whose syncs and writes fail on demand.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::{Store, StoreError, StoreOptions, open, tables};

/// Operations of a file that fail.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    pub(super) sync_fails: AtomicBool,
    pub(super) disk_is_full: AtomicBool,
    pub(super) n_syncs: AtomicU64,
}

#[derive(Debug)]
struct FaultyFile {
    file: FileBackend,
    plan: Arc<FaultPlan>,
}

impl FaultyFile {
    fn check_space(&self) -> io::Result<()> {
        let is_full = self.plan.disk_is_full.load(Ordering::SeqCst);
        if is_full { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }
}

impl StorageBackend for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_space()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.plan.n_syncs.fetch_add(1, Ordering::SeqCst);
        if self.plan.sync_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("input/output error"));
        }
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_space()?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

/// Opens the store of a folder, which [`Store::open`] has created, on a file that fails as planned.
pub(super) fn open_faulty(
    folder: &Path,
    options: StoreOptions,
    plan: &Arc<FaultPlan>,
) -> Result<Store, StoreError> {
    let path = folder.join(open::FILE);
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let file = FaultyFile { file: FileBackend::new(file).unwrap(), plan: Arc::clone(plan) };
    let database = open::builder(options.cache_bytes)
        .create_with_backend(file)
        .map_err(|e| StoreError::opening(&path, e))?;
    tables::check(&database, &path)?;
    Store::start(database, folder, options, None)
}
