//! BLAKE3 of files, and the list of them that seals a folder.

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
    /// Reads a file through. A map would be no faster, and a file that shrinks meanwhile would end the
    /// process.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let io = |e| Error::io(files::name_of(path), e);
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path).map_err(io)?).map_err(io)?;
        Ok(Self { bytes: hasher.count(), blake3: hasher.finalize().to_hex().to_string() })
    }

    /// Compares with what a manifest says.
    pub(crate) fn is(&self, bytes: u64, blake3: &str) -> bool {
        self.bytes == bytes && self.blake3 == blake3
    }
}

/// Writes the list of all files of a folder, the last file to be written there.
pub(crate) fn seal(folder: &Path) -> Result<()> {
    let list = checksums(folder, &names(folder)?)?;
    files::write_atomically(&folder.join(LIST), |out| {
        serde_json::to_writer_pretty(out, &list).map_err(|e| Error::io(files::name_of(folder), e.into()))
    })
}

/// Returns an error unless a folder holds exactly the files of its list, as they were written.
pub(crate) fn verify(folder: &Path) -> Result<()> {
    let damaged =
        |name: &str, what: &str| Err(Error::format(files::name_of(&folder.join(name)), what.to_owned()));
    let Ok(text) = std::fs::read(folder.join(LIST)) else { return damaged(LIST, "is missing") };
    let Ok(expected) = serde_json::from_slice::<BTreeMap<String, Checksum>>(&text) else {
        return damaged(LIST, "is not a list of checksums");
    };
    let mut names = names(folder)?;
    names.retain(|name| name != LIST);
    if let Some(name) = names.iter().find(|name| !expected.contains_key(*name)) {
        return damaged(name, "is not in the list of checksums");
    }
    if let Some(name) = expected.keys().find(|name| !names.contains(name)) {
        return damaged(name, "is missing");
    }
    let found = checksums(folder, &names)?;
    match expected.iter().find(|(name, checksum)| found.get(*name) != Some(checksum)) {
        Some((name, _)) => damaged(name, "is not as it was written: its checksum differs"),
        None => Ok(()),
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
        let problem = || verify(folder.path()).unwrap_err().to_string();
        assert!(problem().contains("checksums.json: is missing"), "{}", problem());
        seal(folder.path()).unwrap();
        verify(folder.path()).unwrap();
        for (name, content, expected) in
            [("a", "onE", "a: is not as"), ("b", "x", "b: is not as"), ("c", "", "c: is not in the list")]
        {
            let before = std::fs::read(path(name)).ok();
            std::fs::write(path(name), content).unwrap();
            assert!(problem().contains(expected), "{}", problem());
            before
                .map_or_else(|| std::fs::remove_file(path(name)), |b| std::fs::write(path(name), b))
                .unwrap();
        }
        verify(folder.path()).unwrap();
        let list = std::fs::read(path(LIST)).unwrap();
        for at in 0..list.len() {
            let mut other = list.clone();
            other[at] ^= 1;
            std::fs::write(path(LIST), &other).unwrap();
            // White space may change.
            assert!(verify(folder.path()).is_err() || list[at].is_ascii_whitespace(), "byte {at}");
        }
        std::fs::write(path(LIST), list).unwrap();
        std::fs::remove_file(path("a")).unwrap();
        assert!(problem().contains("a: is missing"), "{}", problem());
    }
}
