//! Lines of a file or of standard input, read by a thread of their own: whoever waits for them can stop
//! waiting, and lines that have come are worked on while others are awaited.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use matchrank_core::{Error, Result};

use crate::files;

/// A longer record is refused: it is a binary file, a missing line end or an unclosed quote.
pub const LONGEST_RECORD: usize = 8 << 20;

/// A line, without its end.
pub(crate) struct Line {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Its bytes; none where it is longer than [`LONGEST_RECORD`].
    pub(crate) bytes: Option<Vec<u8>>,
    /// True if a line end was there; without it the line may be cut.
    pub(crate) whole: bool,
}

/// Result of waiting for lines.
pub(crate) enum Arrival {
    /// Some lines, in order.
    Lines(Vec<Line>),
    /// None yet.
    Nothing,
    /// There are no more.
    End,
}

/// The lines of a file as they arrive.
pub(crate) struct Lines {
    receiver: Receiver<Result<Vec<Line>>>,
}

impl Lines {
    /// Starts to read a file; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Self {
        // Few pieces wait: a reader that is ahead is held back.
        let (sender, receiver) = sync_channel(4);
        let path = path.to_owned();
        std::thread::spawn(move || read(path, &sender));
        Self { receiver }
    }

    /// Waits for lines, but not for long.
    pub(crate) fn next(&self, patience: Duration) -> Result<Arrival> {
        match self.receiver.recv_timeout(patience) {
            Ok(lines) => lines.map(Arrival::Lines),
            Err(RecvTimeoutError::Timeout) => Ok(Arrival::Nothing),
            Err(RecvTimeoutError::Disconnected) => Ok(Arrival::End),
        }
    }
}

/// Sends the lines of every piece that the system gives, until there is no more or nobody listens.
fn read(path: PathBuf, sender: &SyncSender<Result<Vec<Line>>>) {
    let mut reader = match files::open(&path) {
        Ok(reader) => reader,
        Err(error) => return drop(sender.send(Err(error))),
    };
    let (mut rest, mut number, mut skipping) = (Vec::new(), 1, false);
    loop {
        let piece = match reader.fill_buf() {
            Ok(piece) => piece,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => {
                let error = match files::damaged(&path, e) {
                    Error::Format { file, message } => Error::parse(file, number, message),
                    other => other,
                };
                return drop(sender.send(Err(error)));
            }
        };
        if piece.is_empty() {
            break;
        }
        let mut lines = Vec::new();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', piece) {
            rest.extend_from_slice(&piece[start..end]);
            let bytes = std::mem::take(&mut rest);
            let fits = !skipping && bytes.len() <= LONGEST_RECORD;
            lines.push(Line { number, bytes: fits.then_some(bytes), whole: true });
            (number, start, skipping) = (number + 1, end + 1, false);
        }
        rest.extend_from_slice(&piece[start..]);
        if rest.len() > LONGEST_RECORD {
            skipping = true;
        }
        if skipping {
            rest.clear();
        }
        let n = piece.len();
        reader.consume(n);
        if !lines.is_empty() && sender.send(Ok(lines)).is_err() {
            return;
        }
    }
    if !rest.is_empty() || skipping {
        let bytes = (!skipping).then_some(rest);
        drop(sender.send(Ok(vec![Line { number, bytes, whole: false }])));
    }
}
