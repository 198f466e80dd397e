//! Reading plain, gzip and zstd files, and writing files that are either whole or absent.
//!
//! Compression is recognised by the first bytes of the content, not by the name; when writing, by the
//! ending of the name (`.gz`, `.zst`).

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Deref;
use std::path::Path;

use matchrank_core::{Error, Result};

const BUFFER: usize = 1 << 18;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The name of a file in messages.
pub fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// Opens a file for streaming, decompressing gzip and zstd on the way. `-` is standard input.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        let file = File::open(path).map_err(|e| Error::io(name_of(path), e))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(Error::format(name_of(path), "is a folder; a file is expected here"));
        }
        Box::new(file)
    };
    let mut reader = BufReader::with_capacity(BUFFER, raw);
    let head = reader.fill_buf().map_err(|e| Error::io(name_of(path), e))?;
    if head.starts_with(&GZIP) {
        let inner = flate2::bufread::MultiGzDecoder::new(reader);
        Ok(Box::new(BufReader::with_capacity(BUFFER, inner)))
    } else if head.starts_with(&ZSTD) {
        let inner = zstd::Decoder::with_buffer(reader).map_err(|e| Error::io(name_of(path), e))?;
        Ok(Box::new(BufReader::with_capacity(BUFFER, inner)))
    } else {
        Ok(Box::new(reader))
    }
}

/// The whole content of a file: mapped when it is plain, decompressed into memory when it is not.
pub enum Bytes {
    /// A plain file, mapped.
    Mapped(memmap2::Mmap),
    /// A decompressed file, or standard input.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Reads or maps a whole file, decompressing gzip and zstd.
pub fn read_all(path: &Path) -> Result<Bytes> {
    let io = |e| damaged(path, e);
    let file = File::open(path).map_err(io);
    if path != Path::new("-") {
        let file = file?;
        let length = file.metadata().map_err(io)?.len();
        if length > 0 && file.metadata().is_ok_and(|m| m.is_file()) {
            // SAFETY: the map is read-only; a file that another process truncates while we read it is
            // outside what we can defend against, as for every program that maps its input.
            let map = unsafe { memmap2::Mmap::map(&file) }.map_err(io)?;
            if !map.starts_with(&GZIP) && !map.starts_with(&ZSTD) {
                return Ok(Bytes::Mapped(map));
            }
        }
    }
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(io)?;
    Ok(Bytes::Owned(bytes))
}

/// Explains an error met while reading, which for compressed files mostly means a truncated download.
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

/// Writes a file under a temporary name in the same folder, syncs it and renames it, so that a reader
/// (or a crash) never sees half of it. The ending of the name chooses gzip, zstd or plain.
///
/// A link is followed. A device or a pipe cannot be replaced and is written to directly; `-` is standard
/// output.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let io = |e| Error::io(name_of(path), e);
    if path == Path::new("-") {
        let mut out = std::io::stdout().lock();
        write(&mut out)?;
        return out.flush().map_err(io);
    }
    if path.is_dir() {
        return Err(Error::format(name_of(path), "is a folder; name a file to write"));
    }
    if path.exists() && !path.is_file() {
        let mut out = std::fs::OpenOptions::new().write(true).open(path).map_err(io)?;
        write(&mut out)?;
        return out.flush().map_err(io);
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let path = target.as_path();
    let temporary = temporary_beside(path)?;
    {
        let buffered = BufWriter::with_capacity(BUFFER, temporary.as_file());
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => {
                let mut encoder = flate2::write::GzEncoder::new(buffered, flate2::Compression::fast());
                write(&mut encoder)?;
                encoder.finish().map_err(io)?.flush().map_err(io)?;
            }
            Some("zst") => {
                let mut encoder = zstd::Encoder::new(buffered, 3).map_err(io)?;
                write(&mut encoder)?;
                encoder.finish().map_err(io)?.flush().map_err(io)?;
            }
            _ => {
                let mut plain = buffered;
                write(&mut plain)?;
                plain.flush().map_err(io)?;
            }
        }
    }
    set_default_permissions(&temporary).map_err(io)?;
    temporary.as_file().sync_all().map_err(io)?;
    temporary.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}

/// Whether [`write_atomically`] will find a place for the file: asked before long work, not found out after.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(Error::format(name_of(path), "is a folder; name a file to write"));
    }
    if path == Path::new("-") || path.exists() && !path.is_file() {
        return Ok(());
    }
    temporary_beside(&path.canonicalize().unwrap_or_else(|_| path.to_path_buf())).map(drop)
}

fn temporary_beside(path: &Path) -> Result<tempfile::NamedTempFile> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    tempfile::Builder::new().prefix(".matchrank-").tempfile_in(folder).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such folder; make it first".to_owned(),
            kind => kind.to_string(),
        };
        Error::format(name_of(path), format!("cannot be written in {}: {why}", folder.display()))
    })
}

/// Temporary files are private to their owner; a result should have the permissions of any new file.
#[cfg(unix)]
fn set_default_permissions(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_default_permissions(_file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    Ok(())
}
