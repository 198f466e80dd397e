//! BLAKE3 checksums of files, and the list of checksums that seals a folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::files;

/// Name of the list in a sealed folder.
pub(crate) const LIST: &str = "checksums.json";

/// Size and hash of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checksum {
    bytes: u64,
    blake3: String,
}

impl Checksum {
    /// Hashes a file. A memory map would be no faster, and would end the process if the file shrinks meanwhile.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let io = |e| Error::io(files::name_of(path), e);
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path).map_err(io)?).map_err(io)?;
        Ok(Self { bytes: hasher.count(), blake3: hasher.finalize().to_hex().to_string() })
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() }
    }

    /// Returns true if size and hash are those that a manifest lists.
    pub(crate) fn is(&self, bytes: u64, blake3: &str) -> bool {
        self.bytes == bytes && self.blake3 == blake3
    }
}

/// Writes the list of all files of a folder. Call it after the last file is written.
pub(crate) fn seal(folder: &Path) -> Result<()> {
    let list = checksums(folder, &names(folder)?)?;
    files::write_atomically(&folder.join(LIST), |out| {
        serde_json::to_writer_pretty(out, &list).map_err(|e| Error::io(files::name_of(folder), e.into()))
    })
}

/// Reads the files of a sealed folder that are in its list. Returns an error if one of them was changed; other files
/// are ignored.
pub(crate) fn verified(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let damaged =
        |name: &str, what: &str| Err(Error::format(files::name_of(&folder.join(name)), what.to_owned()));
    let Ok(text) = std::fs::read(folder.join(LIST)) else { return damaged(LIST, "is missing") };
    let Ok(expected) = serde_json::from_slice::<BTreeMap<String, Checksum>>(&text) else {
        return damaged(LIST, "is not a list of checksums");
    };
    let names = names(folder)?;
    if let Some(name) = expected.keys().find(|name| !names.contains(name)) {
        return damaged(name, "is missing");
    }
    let read = |name: &String| {
        let path = folder.join(name);
        Ok((name.clone(), std::fs::read(&path).map_err(|e| Error::io(files::name_of(&path), e))?))
    };
    let found: BTreeMap<String, Vec<u8>> =
        expected.par_iter().map(|(name, _)| name).map(read).collect::<Result<_>>()?;
    let differs = |(name, content): &(&String, &Vec<u8>)| Checksum::of_bytes(content) != expected[*name];
    match found.par_iter().find_first(differs) {
        Some((name, _)) => damaged(name, "was changed after it was written: its checksum differs"),
        None => Ok(found),
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let io = |e| Error::io(files::name_of(folder), e);
    let mut names = Vec::new();
    for entry in folder.read_dir().map_err(io)? {
        names.push(entry.map_err(io)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

fn checksums(folder: &Path, names: &[String]) -> Result<BTreeMap<String, Checksum>> {
    names.par_iter().map(|name| Ok((name.clone(), Checksum::of(&folder.join(name))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_sealed_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), "one").unwrap();
        std::fs::write(path("b"), "").unwrap();
        let problem = || verified(folder.path()).unwrap_err().to_string();
        assert!(problem().contains("checksums.json: is missing"), "{}", problem());
        seal(folder.path()).unwrap();
        verified(folder.path()).unwrap();
        for (name, content, expected) in [("a", "onE", "a: was changed"), ("b", "x", "b: was changed")] {
            let before = std::fs::read(path(name)).unwrap();
            std::fs::write(path(name), content).unwrap();
            assert!(problem().contains(expected), "{}", problem());
            std::fs::write(path(name), before).unwrap();
        }
        std::fs::write(path("of somebody"), "else").unwrap();
        let files: Vec<String> = verified(folder.path()).unwrap().into_keys().collect();
        assert_eq!(files, ["a", "b"], "other files are left alone");
        verified(folder.path()).unwrap();
        let list = std::fs::read(path(LIST)).unwrap();
        for at in 0..list.len() {
            let mut other = list.clone();
            other[at] ^= 1;
            std::fs::write(path(LIST), &other).unwrap();
            // White space may change.
            assert!(verified(folder.path()).is_err() || list[at].is_ascii_whitespace(), "byte {at}");
        }
        std::fs::write(path(LIST), list).unwrap();
        std::fs::remove_file(path("a")).unwrap();
        assert!(problem().contains("a: is missing"), "{}", problem());
    }
}
