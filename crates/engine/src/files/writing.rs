//! Writes files that are either complete or absent.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use super::temporary::TemporaryFile;
use super::{name_of, parent_of};

const BUFFER: usize = 1 << 18;

/// Way of writing to a path.
enum WriteTarget {
    StandardOutput,
    /// A device or a pipe, which cannot be replaced.
    Direct,
    /// A file that is replaced, or a new one, once links are followed.
    File(PathBuf),
}

impl WriteTarget {
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

/// Returns the path of a file once links are followed; a dangling link is an error.
pub fn followed(path: &Path) -> Result<PathBuf> {
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    path.canonicalize().map_err(|_| {
        let to = std::fs::read_link(path).unwrap_or_default();
        let message =
            format!("is a link to {}, which does not exist; create it, or remove the link", to.display());
        Error::format(name_of(path), message)
    })
}

/// Writes a file under a temporary name in the same folder, syncs it and renames it, so that neither a reader nor a
/// crash sees half of it. The ending of the name chooses gzip, zstd or plain.
///
/// Links are followed. A replaced file keeps its permissions; a new one gets those that the umask leaves. A device or a
/// pipe cannot be replaced and is written to directly; `-` is standard output.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let io = |e| Error::io(name_of(path), e);
    let place = match WriteTarget::of(path)? {
        WriteTarget::StandardOutput => {
            let mut out = std::io::stdout().lock();
            write(&mut out)?;
            return out.flush().map_err(io);
        }
        WriteTarget::Direct => {
            let mut out = std::fs::OpenOptions::new().write(true).open(path).map_err(io)?;
            write(&mut out)?;
            return out.flush().map_err(io);
        }
        WriteTarget::File(place) => place,
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
    // The name is on disk once its folder is synced; file systems that cannot sync folders return an error, which is
    // ignored.
    let _ = std::fs::File::open(parent_of(&place)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Creates a folder and its missing parents.
pub fn make_folder(path: &Path) -> Result<()> {
    check_is_no_file(path)?;
    std::fs::create_dir_all(path).map_err(|e| Error::io(name_of(path), e))
}

/// Returns an error if [`make_folder`] would fail or the folder would not be writable. Creates nothing.
pub fn check_folder(path: &Path) -> Result<()> {
    let there = path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    check_is_no_file(there)?;
    TemporaryFile::beside(&there.join("new")).map(drop)
}

fn check_is_no_file(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() {
        let message = "is a file, but a folder is expected here; choose another path, or move the file";
        return Err(Error::format(name_of(path), message));
    }
    Ok(())
}

/// Returns an error if [`write_atomically`] would fail. Call it before long work.
pub fn check_writable(path: &Path) -> Result<()> {
    match WriteTarget::of(path)? {
        WriteTarget::StandardOutput | WriteTarget::Direct => Ok(()),
        WriteTarget::File(place) => TemporaryFile::beside(&place).map(drop),
    }
}
