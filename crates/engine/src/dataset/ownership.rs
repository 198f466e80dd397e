//! Tells files of a dataset folder from files that somebody else put there.

use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result, explained};

use super::checksums::LIST;
use super::{HISTORY, INDEX, MANIFEST};
use crate::files;

/// Name of the file next to the indexes that a process locks while it builds one.
pub(crate) const LOCK: &str = "lock";
/// Start of the names of unfinished files and folders.
const TEMPORARY: &str = ".matchrank-";

/// Finds a file in a dataset folder that this program did not write: one that the manifest does not list, and that is
/// not part of an index. A folder with such a file must not be replaced.
pub(crate) fn foreign_file(folder: &Path) -> Result<Option<PathBuf>> {
    let path = folder.join(MANIFEST);
    let unknown = |cause: String| {
        let message = format!(
            "cannot be read ({cause}), so it is not known which files belong to the dataset; \
             remove the folder, or choose another"
        );
        Error::format(files::name_of(&path), message)
    };
    let json = std::fs::read(&path).map_err(|e| unknown(explained(&e)))?;
    let manifest: serde_json::Value = serde_json::from_slice(&json).map_err(|e| unknown(e.to_string()))?;
    let tables = manifest["tables"].as_object().ok_or_else(|| unknown("it lists no tables".into()))?;
    for (name, path) in entries(folder)? {
        let is_listed = path.is_file() && (name == MANIFEST || tables.contains_key(&name));
        if name == INDEX && path.is_dir() && !path.is_symlink() {
            for (name, path) in entries(&path)? {
                if path.is_dir() && !name.starts_with(TEMPORARY) {
                    let foreign = entries(&path)?.into_iter().find(|(name, _)| !is_of_index(name));
                    if let Some((_, path)) = foreign {
                        return Ok(Some(path));
                    }
                } else if name != LOCK && !name.starts_with(TEMPORARY) {
                    return Ok(Some(path));
                }
            }
        } else if name == HISTORY && path.is_dir() && !path.is_symlink() {
            let parts = manifest["history"]["parts"].as_array();
            let is_part = |name: &str| parts.into_iter().flatten().any(|part| part["file"] == name);
            if let Some((_, path)) = entries(&path)?.into_iter().find(|(name, _)| !is_part(name)) {
                return Ok(Some(path));
            }
        } else if !is_listed && !name.starts_with(TEMPORARY) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Recognises the files of an index by their names: those of matchrank and those of tantivy.
fn is_of_index(name: &str) -> bool {
    let segment = name.split('.').next().unwrap_or_default();
    ["matchrank.json", LIST, "meta.json", ".managed.json"].contains(&name)
        || name.starts_with(".tantivy-")
        || segment.len() == 32 && segment.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let io = |e| Error::io(files::name_of(folder), e);
    let mut entries = Vec::new();
    for entry in folder.read_dir().map_err(io)? {
        let entry = entry.map_err(io)?;
        entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    entries.sort();
    Ok(entries)
}
