//! Opens or creates the file of a state folder.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use matchrank_engine::Error;
use matchrank_engine::files::{self, Lock};
use redb::{Builder, Database};

use super::queue::{QueueLimits, WriteQueue};
use super::{Retention, SharedStore, Store, StoreError, tables, writer};

/// Name of the file in the state folder.
pub const FILE: &str = "store.redb";
/// Name of a file that is being created. A killed process may leave it.
const UNFINISHED: &str = ".store.redb.unfinished";

/// A smaller file is not compacted on opening.
const COMPACT_FROM: u64 = 64 << 20;
/// The file is compacted on opening if it is this many times larger than its content.
const COMPACT_AT: u64 = 5;

/// Settings of a store.
#[non_exhaustive]
pub struct StoreOptions {
    /// Events and document changes that may wait; more are refused with [`StoreError::Full`]. 65,536 by default, so that the
    /// largest requests of a service fit.
    pub queue_records: usize,
    /// Bytes of events and documents that may wait. 64 MiB by default.
    pub queue_bytes: usize,
    /// Memory for pages of the file, in bytes. 64 MiB by default.
    pub cache_bytes: usize,
    /// Limits on the events that are kept. Everything is kept by default.
    pub retention: Retention,
    /// Time between two looks for expired events. One minute by default.
    pub retention_pause: Duration,
    /// Called once, from the writer thread, after the disk failed and everyone who waited was answered. The service ends
    /// the process here. Does nothing by default.
    pub on_failure: Box<dyn Fn(&StoreError) + Send + Sync>,
    /// Clock of the times at which events are received, in milliseconds since 1970.
    pub(super) clock: Box<dyn Fn() -> i64 + Send + Sync>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            queue_records: 1 << 16,
            queue_bytes: 64 << 20,
            cache_bytes: 64 << 20,
            retention: Retention::default(),
            retention_pause: Duration::from_secs(60),
            on_failure: Box::new(|_| {}),
            clock: Box::new(|| {
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64)
            }),
        }
    }
}

impl StoreOptions {
    fn limits(&self) -> QueueLimits {
        QueueLimits {
            waiting: (self.queue_records.max(1), self.queue_bytes.max(1)),
            transaction: (1 << 14, 16 << 20),
        }
    }
}

impl Store {
    /// Opens the store of a state folder; creates the folder and the file if they are not there. Compacts a file that is
    /// mostly free space.
    pub fn open(folder: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        options.retention.check()?;
        let io = |e: &Error| StoreError::Io { file: folder.to_owned(), message: e.to_string() };
        files::make_folder(folder).map_err(|e| io(&e))?;
        let lock = Lock::of(folder).map_err(|error| match error {
            Error::Format { .. } => StoreError::Locked(folder.to_owned()),
            other => io(&other),
        })?;
        let file = folder.join(FILE);
        let builder = builder(options.cache_bytes);
        let mut database = match file.try_exists() {
            Ok(true) => builder.open(&file).map_err(|e| StoreError::opening(&file, e))?,
            Ok(false) => create(&builder, folder)?,
            Err(e) => return Err(StoreError::io(&file, &e)),
        };
        tables::check(&database, &file)?;
        compact_if_worthwhile(&mut database, &file)?;
        Self::start(database, folder, options, Some(lock))
    }

    /// Starts the writer of an open file.
    pub(super) fn start(
        database: Database,
        folder: &Path,
        options: StoreOptions,
        lock: Option<Lock>,
    ) -> Result<Self, StoreError> {
        let queue = WriteQueue::new(options.limits());
        let StoreOptions { retention, retention_pause, on_failure, clock, .. } = options;
        let shared = Arc::new(SharedStore {
            database: RwLock::new(database),
            queue,
            retention,
            retention_pause,
            clock,
            on_failure,
            last: AtomicU64::new(0),
            followed: Mutex::new(()),
            changed: Condvar::new(),
            failure: Mutex::new(None),
        });
        let of_writer = Arc::clone(&shared);
        let spawned =
            std::thread::Builder::new().name("store-writer".into()).spawn(move || writer::run(&of_writer));
        let writer = spawned.map_err(|e| StoreError::io(folder, &e))?;
        let file = folder.join(FILE);
        let store =
            Self { shared, writer: Mutex::new(Some(writer)), folder: folder.to_owned(), file, _lock: lock };
        let last = store.stored_last()?;
        store.shared.committed(last);
        Ok(store)
    }
}

pub(super) fn builder(cache_bytes: usize) -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(cache_bytes);
    builder
}

/// Creates the file under another name first, so that a file of the usual name is always complete.
fn create(builder: &Builder, folder: &Path) -> Result<Database, StoreError> {
    let (file, unfinished) = (folder.join(FILE), folder.join(UNFINISHED));
    match fs::remove_file(&unfinished) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::io(&unfinished, &e)),
        _ => {}
    }
    let database = builder.create(&unfinished).map_err(|e| StoreError::opening(&unfinished, e))?;
    tables::create(&database)?;
    drop(database);
    let io = |e: &std::io::Error| StoreError::io(&file, e);
    fs::File::open(&unfinished).and_then(|new| new.sync_all()).map_err(|e| io(&e))?;
    fs::rename(&unfinished, &file).map_err(|e| io(&e))?;
    // Acknowledged events are lost with the name of their file.
    #[cfg(unix)]
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| io(&e))?;
    builder.open(&file).map_err(|e| StoreError::opening(&file, e))
}

fn compact_if_worthwhile(database: &mut Database, file: &Path) -> Result<(), StoreError> {
    let size = fs::metadata(file).map_err(|e| StoreError::io(file, &e))?.len();
    if size >= COMPACT_FROM && size / COMPACT_AT > tables::content_bytes(database)? {
        database.compact()?;
    }
    Ok(())
}
