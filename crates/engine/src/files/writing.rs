//! Writing files that are either whole or absent.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use super::temporary::TemporaryFile;
use super::{name_of, parent_of};

const BUFFER: usize = 1 << 18;

/// How a path is written to.
enum Target {
    StandardOutput,
    /// A device or a pipe, which cannot be replaced.
    Direct,
    /// A file that is replaced, or a new one, once links are followed.
    File(PathBuf),
}

impl Target {
    fn of(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::StandardOutput);
        }
        if path.is_dir() {
            return Err(Error::format(name_of(path), "is a folder; name a file to write"));
        }
        // Before links are followed: /dev/stdout may be a link to a pipe, which has no path of its own.
        if path.exists() && !path.is_file() {
            return Ok(Self::Direct);
        }
        Ok(Self::File(followed(path)?))
    }
}

/// The place that a path leads to once links are followed; a link that leads nowhere is an error.
pub fn followed(path: &Path) -> Result<PathBuf> {
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    path.canonicalize().map_err(|_| {
        let to = std::fs::read_link(path).unwrap_or_default();
        let message =
            format!("is a link to {}, which is not there; make that, or remove the link", to.display());
        Error::format(name_of(path), message)
    })
}

/// Writes a file under a temporary name in the same folder, syncs it and renames it, so that a reader
/// (or a crash) never sees half of it. The ending of the name chooses gzip, zstd or plain.
///
/// A link is followed. The permissions of a file that is replaced are kept; a new one has those that the umask leaves. A
/// device or a pipe cannot be replaced and is written to directly; `-` is standard output.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let io = |e| Error::io(name_of(path), e);
    let place = match Target::of(path)? {
        Target::StandardOutput => {
            let mut out = std::io::stdout().lock();
            write(&mut out)?;
            return out.flush().map_err(io);
        }
        Target::Direct => {
            let mut out = std::fs::OpenOptions::new().write(true).open(path).map_err(io)?;
            write(&mut out)?;
            return out.flush().map_err(io);
        }
        Target::File(place) => place,
    };
    let temporary = TemporaryFile::beside(&place)?;
    {
        let buffered = BufWriter::with_capacity(BUFFER, temporary.file.as_file());
        match place.extension().and_then(|e| e.to_str()) {
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
    if let Ok(replaced) = std::fs::metadata(&place) {
        temporary.file.as_file().set_permissions(replaced.permissions()).map_err(io)?;
    }
    temporary.file.as_file().sync_all().map_err(io)?;
    let TemporaryFile { file, .. } = temporary;
    file.persist(&place).map_err(|e| io(e.error))?;
    // The name is on disk once its folder is; a file system that cannot do that has done its best.
    let _ = std::fs::File::open(parent_of(&place)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Makes a folder, and those it is in, where they are not there.
pub fn make_folder(path: &Path) -> Result<()> {
    check_is_no_file(path)?;
    std::fs::create_dir_all(path).map_err(|e| Error::io(name_of(path), e))
}

/// Returns an error if [`make_folder`] will find no place for a folder, or nothing can be written in it. Makes nothing.
pub fn check_folder(path: &Path) -> Result<()> {
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    check_is_no_file(there)?;
    TemporaryFile::beside(&there.join("new")).map(drop)
}

fn check_is_no_file(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() {
        let message = "is a file, and a folder is expected here; name another place, or move the file away";
        return Err(Error::format(name_of(path), message));
    }
    Ok(())
}

/// Whether [`write_atomically`] will find a place for the file: asked before long work, not found out after.
pub fn check_writable(path: &Path) -> Result<()> {
    match Target::of(path)? {
        Target::StandardOutput | Target::Direct => Ok(()),
        Target::File(place) => TemporaryFile::beside(&place).map(drop),
    }
}
