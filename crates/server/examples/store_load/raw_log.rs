//! The fastest durable log that one file allows, to compare with: append, one fdatasync for everyone who waits.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Condvar, Mutex};

/// File of records. Whoever finds no sync under way writes everything that waits.
pub(crate) struct RawLog {
    file: File,
    waiting: Mutex<RawQueue>,
    synced: Condvar,
}

#[derive(Default)]
struct RawQueue {
    bytes: Vec<u8>,
    /// Number of the last record that was added.
    added: u64,
    /// Number of the last record that was synced.
    done: u64,
    is_syncing: bool,
}

impl RawLog {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file, waiting: Mutex::default(), synced: Condvar::new() })
    }

    /// Appends a record and returns once it is on disk.
    pub(crate) fn append(&self, record: &[u8]) {
        let mut queue = self.waiting.lock().expect("no panic");
        queue.bytes.extend_from_slice(record);
        queue.bytes.push(b'\n');
        queue.added += 1;
        let own = queue.added;
        while queue.done < own {
            if queue.is_syncing {
                queue = self.synced.wait(queue).expect("no panic");
                continue;
            }
            queue.is_syncing = true;
            let (bytes, last) = (std::mem::take(&mut queue.bytes), queue.added);
            drop(queue);
            let mut file = &self.file;
            file.write_all(&bytes).and_then(|()| self.file.sync_data()).expect("the raw log can be written");
            queue = self.waiting.lock().expect("no panic");
            (queue.done, queue.is_syncing) = (last, false);
            self.synced.notify_all();
        }
    }
}
