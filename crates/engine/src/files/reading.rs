//! Reads files, streamed or whole. Files are not memory-mapped: if another program truncates a file meanwhile, reading
//! returns an error, where a map would end the process with SIGBUS.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::name_of;

const BUFFER: usize = 1 << 18;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes of a large file that a thread reads at a time.
const PIECE: usize = 1 << 23;

/// A compressed file that is read whole may expand to this many times its size. Logs, runs and lists expand 10 to 100
/// times.
const EXPANSION: u64 = 200;
/// Any compressed file may expand to this many bytes.
const ALWAYS: u64 = 256 << 20;

/// Limit of the user for the expansion of compressed files, in bytes; 0 stands for the rule above.
static ALLOWED: AtomicU64 = AtomicU64::new(0);

/// Allows compressed files that are read whole to expand to `bytes`, from now on and in the whole process.
pub fn allow_expansion_to(bytes: u64) {
    ALLOWED.store(bytes.max(1), Ordering::Relaxed);
}

/// A compressed file expands to more than is allowed ([`allow_expansion_to`]): the source of an [`Error::Io`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpandsTooFar {
    limit: u64,
}

impl ExpandsTooFar {
    /// Returns the limit for a file of `compressed` bytes.
    fn limit(compressed: u64) -> u64 {
        match ALLOWED.load(Ordering::Relaxed) {
            0 => ALWAYS.max(compressed.saturating_mul(EXPANSION)),
            allowed => allowed,
        }
    }
}

impl std::fmt::Display for ExpandsTooFar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "expands to more than the limit of {} MiB (by default {EXPANSION} times the compressed size, and at least {} \
             MiB); ordinary data stays below it",
            self.limit.div_ceil(1 << 20),
            ALWAYS >> 20
        )
    }
}

impl std::error::Error for ExpandsTooFar {}

/// A file that is being read.
struct OpenFile {
    reader: Box<dyn BufRead + Send>,
    is_compressed: bool,
    /// Bytes read from the file so far, before decompression.
    taken: Arc<AtomicU64>,
}

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

fn begin(path: &Path) -> Result<OpenFile> {
    let io = |e| Error::io(name_of(path), e);
    let inner: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        let file = File::open(path).map_err(io)?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Error::format(name_of(path), "is a folder; a file is expected here"));
        }
        Box::new(file)
    };
    let taken = Arc::<AtomicU64>::default();
    let mut reader = BufReader::with_capacity(BUFFER, Counted { inner, taken: taken.clone() });
    let head = reader.fill_buf().map_err(io)?;
    let (is_gzip, is_zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    let reader: Box<dyn BufRead + Send> = if is_gzip {
        Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(reader)))
    } else if is_zstd {
        Box::new(BufReader::with_capacity(BUFFER, zstd::Decoder::with_buffer(reader).map_err(io)?))
    } else {
        Box::new(reader)
    };
    Ok(OpenFile { reader, is_compressed: is_gzip || is_zstd, taken })
}

/// Opens a file for streaming, and decompresses gzip and zstd. `-` is standard input. The size of a stream is not
/// limited, because it is never whole in memory.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    Ok(begin(path)?.reader)
}

/// Opens a file whose content will be kept in memory. A compressed file that expands further than ordinary data is an
/// error ([`ExpandsTooFar`]).
pub fn open_bounded(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let OpenFile { reader, is_compressed, taken } = begin(path)?;
    if !is_compressed {
        return Ok(reader);
    }
    let length = length_of(path);
    Ok(Box::new(BufReader::with_capacity(BUFFER, Bounded { reader, length, taken, expanded: 0 })))
}

/// Reader of a compressed file that may expand up to a limit.
struct Bounded {
    reader: Box<dyn BufRead + Send>,
    /// Bytes of the file; None for a stream, whose bytes are counted as they are read.
    length: Option<u64>,
    taken: Arc<AtomicU64>,
    expanded: u64,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.expanded += n as u64;
        let limit = ExpandsTooFar::limit(self.length.unwrap_or_else(|| self.taken.load(Ordering::Relaxed)));
        if self.expanded > limit { Err(std::io::Error::other(ExpandsTooFar { limit })) } else { Ok(n) }
    }
}

/// Returns the bytes of a file; None for standard input, pipes and devices.
fn length_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(|m| m.is_file() && path != Path::new("-")).map(|m| m.len())
}

/// Reads a whole file, and decompresses gzip and zstd as [`open_bounded`] does; `-` is standard input.
pub fn read_all(path: &Path) -> Result<Vec<u8>> {
    if let Some(length) = length_of(path).filter(|&length| length > 2 * PIECE as u64)
        && !begin(path)?.is_compressed
    {
        return read_in_pieces(path, length);
    }
    let mut reader = open_bounded(path)?;
    let mut bytes = Vec::new();
    loop {
        let piece = match reader.fill_buf() {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            piece => piece.map_err(|e| damaged(path, e))?,
        };
        if piece.is_empty() {
            return Ok(bytes);
        }
        // `read_to_end` would end the process if memory runs out.
        bytes.try_reserve(piece.len()).map_err(|_| too_large(path, bytes.len() as u64, " or more"))?;
        bytes.extend_from_slice(piece);
        let n = piece.len();
        reader.consume(n);
    }
}

/// Makes an error for content that does not fit into memory.
fn too_large(path: &Path, bytes: u64, more: &str) -> Error {
    Error::format(name_of(path), format!("has {bytes} bytes{more}, too many for this machine's memory"))
}

/// Reads a large plain file on all threads.
#[cfg(unix)]
fn read_in_pieces(path: &Path, length: u64) -> Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path).map_err(|e| Error::io(name_of(path), e))?;
    let size = usize::try_from(length).map_err(|_| too_large(path, length, ""))?;
    Vec::<u8>::new().try_reserve_exact(size).map_err(|_| too_large(path, length, ""))?;
    let mut bytes = vec![0; size];
    let read = |(i, piece): (usize, &mut [u8])| file.read_exact_at(piece, (i * PIECE) as u64);
    bytes.par_chunks_mut(PIECE).enumerate().try_for_each(read).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::format(
            name_of(path),
            "became shorter while it was read; wait until it is written, and try again",
        ),
        _ => Error::io(name_of(path), error),
    })?;
    Ok(bytes)
}

#[cfg(not(unix))]
fn read_in_pieces(path: &Path, _length: u64) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::io(name_of(path), e))
}

/// Explains a read error, which for compressed files mostly means a truncated download.
pub fn damaged(path: &Path, error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof
        | std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::InvalidInput => Error::format(
            name_of(path),
            format!("the compressed data is truncated or damaged ({error}); copy the file again"),
        ),
        _ => Error::io(name_of(path), error),
    }
}
