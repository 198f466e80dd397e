//! The folder of a live model: its versions, which of them is live, and the way back.
//!
//! ```text
//! live.json            which version is live, and what is known of each
//! current.model        the live model; always a complete file
//! versions/00003.model
//! ```
//!
//! `live.json` decides. A process that is killed leaves it either before or after a change, and the next `refresh` or
//! `rollback` puts `current.model` right.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::dataset::checksums::Checksum;
use crate::files::{self, Lock};
use crate::model_file::{self, Provenance};
use crate::models::MatchingModel;

/// Version of the layout.
const FORMAT_VERSION: u32 = 1;
const STATE: &str = "live.json";
const CURRENT: &str = "current.model";
const VERSIONS: &str = "versions";

/// State of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionState {
    /// Takes the traffic.
    Live,
    /// Was live before.
    Former,
    /// Was worse than the live one, and never took traffic.
    Refused,
    /// Was live, and was taken back.
    RolledBack,
}

/// A version of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelVersion {
    /// Number, from 1.
    pub number: u32,
    /// Kind of the model.
    pub kind: String,
    /// State.
    pub state: VersionState,
    /// Hash of the dataset that it was measured on.
    pub content_hash: String,
    /// NDCG@10 on the newest clicks of that dataset.
    pub figure: f64,
    /// Mean and standard deviation of the best scores of these queries.
    pub top_scores: Option<[f64; 2]>,
    /// Reason for its state.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
struct LiveState {
    format_version: u32,
    versions: Vec<ModelVersion>,
}

/// The folder of a live model.
#[derive(Debug)]
pub struct LiveFolder {
    folder: PathBuf,
    versions: Vec<ModelVersion>,
}

impl LiveFolder {
    /// Opens the folder of a live model.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(STATE);
        let name = files::name_of(&path);
        if !path.exists() {
            let message = "is not the folder of a live model (no live.json in it); `refresh` makes one";
            return Err(Error::format(files::name_of(folder), message));
        }
        let json = std::fs::read(&path).map_err(|e| Error::io(&name, e))?;
        let wrong = |cause: String| Error::format(&name, format!("{cause}; restore the file from a backup"));
        let state: LiveState =
            serde_json::from_slice(&json).map_err(|e| wrong(format!("cannot be read ({e})")))?;
        if state.format_version != FORMAT_VERSION {
            let message = format!(
                "has format version {}, but this program reads {FORMAT_VERSION}; use a newer one",
                state.format_version
            );
            return Err(Error::format(name, message));
        }
        let n_live = state.versions.iter().filter(|version| version.state == VersionState::Live).count();
        if n_live != 1 {
            return Err(wrong(format!("lists {n_live} live versions, where one is expected")));
        }
        Ok(Self { folder: folder.to_owned(), versions: state.versions })
    }

    /// Opens the folder, or begins a new one where there is nothing.
    pub(super) fn open_or_new(folder: &Path) -> Result<Self> {
        if folder.join(STATE).exists() {
            return Self::open(folder);
        }
        let is_free = match folder.read_dir() {
            // A first refresh that failed leaves hidden files and the folder of versions.
            Ok(entries) => entries.flatten().all(|entry| {
                let name = entry.file_name();
                name.to_string_lossy().starts_with('.') || name == VERSIONS
            }),
            Err(_) => !folder.exists(),
        };
        if !is_free {
            let message = "exists and is not the folder of a live model; choose another folder";
            return Err(Error::format(files::name_of(folder), message));
        }
        Ok(Self { folder: folder.to_owned(), versions: Vec::new() })
    }

    /// Creates the folder where there is none.
    pub(super) fn create(&self) -> Result<()> {
        files::make_folder(&self.folder.join(VERSIONS))
    }

    /// All versions, by number.
    pub fn versions(&self) -> &[ModelVersion] {
        &self.versions
    }

    /// The version that is live; none in a new folder.
    pub fn current(&self) -> Option<&ModelVersion> {
        self.versions.iter().find(|version| version.state == VersionState::Live)
    }

    /// File of the live model.
    pub fn current_file(&self) -> PathBuf {
        self.folder.join(CURRENT)
    }

    pub(super) fn next_number(&self) -> u32 {
        self.versions.iter().map(|version| version.number).max().unwrap_or(0) + 1
    }

    fn file(&self, number: u32) -> PathBuf {
        self.folder.join(VERSIONS).join(format!("{number:05}.model"))
    }

    /// Loads the model of a version.
    pub(super) fn load(&self, version: &ModelVersion) -> Result<(Arc<dyn MatchingModel>, Provenance)> {
        model_file::load(&self.file(version.number))
    }

    /// Adds a version whose file `save` writes, and removes others beyond `keep`. Returns false, and adds nothing, if the
    /// file is that of the live version.
    pub(super) fn add(
        &mut self,
        version: ModelVersion,
        save: impl FnOnce(&Path) -> Result<()>,
        keep: usize,
    ) -> Result<bool> {
        let path = self.file(version.number);
        save(&path)?;
        // A file that cannot be loaded takes no traffic.
        model_file::load(&path)?;
        if let Some(current) = self.current()
            && Checksum::of(&path)? == Checksum::of(&self.file(current.number))?
        {
            std::fs::remove_file(&path).map_err(|e| Error::io(files::name_of(&path), e))?;
            // Puts `current.model` right, if a process was killed before.
            return self.write().map(|()| false);
        }
        if version.state == VersionState::Live {
            self.retire(VersionState::Former);
        }
        self.versions.push(version);
        let gone = self.superfluous(keep);
        self.versions.retain(|version| !gone.contains(&version.number));
        self.write()?;
        for number in gone {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(self.file(number));
        }
        Ok(true)
    }

    /// Versions beyond those to keep: first those that were refused or taken back, then the oldest. The live one stays, and
    /// so does the last one that was live before it.
    fn superfluous(&self, keep: usize) -> Vec<u32> {
        let is_former = |version: &&ModelVersion| version.state == VersionState::Former;
        let way_back = self.versions.iter().filter(is_former).map(|version| version.number).max();
        let may_go =
            |version: &&ModelVersion| version.state != VersionState::Live && Some(version.number) != way_back;
        let mut gone: Vec<&ModelVersion> = self.versions.iter().filter(may_go).collect();
        gone.sort_by_key(|version| (version.state == VersionState::Former, version.number));
        // The last one was just made, and its file may be looked at.
        let newest = self.versions.last().map(|version| version.number);
        gone.sort_by_key(|version| Some(version.number) == newest);
        let excess = self.versions.len().saturating_sub(keep);
        gone.iter().take(excess).map(|version| version.number).collect()
    }

    fn retire(&mut self, state: VersionState) {
        let live = self.versions.iter_mut().filter(|version| version.state == VersionState::Live);
        live.for_each(|version| version.state = state);
    }

    /// Puts `current.model` right if it is not the file of the live version.
    pub(super) fn repair(&self) -> Result<()> {
        let Some(current) = self.current() else { return Ok(()) };
        let (file, served) = (self.file(current.number), self.current_file());
        if served.is_file() && Checksum::of(&served)? == Checksum::of(&file)? {
            return Ok(());
        }
        self.serve(current.number)
    }

    /// Writes the live model, and then the state: until that is written, the former version counts as live.
    fn write(&self) -> Result<()> {
        let current = self.current().expect("a folder that is written has a live version");
        self.serve(current.number)?;
        let state = LiveState { format_version: FORMAT_VERSION, versions: self.versions.clone() };
        let path = self.folder.join(STATE);
        files::write_atomically(&path, |out| {
            serde_json::to_writer_pretty(out, &state).map_err(|e| Error::io(files::name_of(&path), e.into()))
        })
    }

    /// Puts the file of a version in the place of `current.model`.
    fn serve(&self, number: u32) -> Result<()> {
        let (from, to) = (self.file(number), self.current_file());
        files::write_atomically(&to, |out| {
            let mut file = std::fs::File::open(&from).map_err(|e| Error::io(files::name_of(&from), e))?;
            std::io::copy(&mut file, out).map_err(|e| Error::io(files::name_of(&to), e))?;
            Ok(())
        })
    }
}

/// Makes a former version live again: the last one that was live before, or the one of a number. Returns the number.
pub fn rollback(folder: &Path, to: Option<u32>) -> Result<u32> {
    LiveFolder::open(folder)?;
    let _lock = Lock::of(folder)?;
    let mut live = LiveFolder::open(folder)?;
    live.repair()?;
    let name = files::name_of(folder);
    let current = live.current().expect("an open folder has a live version").number;
    let former = live.versions.iter().filter(|version| version.state == VersionState::Former);
    let number = match to {
        Some(number) if number == current => {
            return Err(Error::format(name, format!("version {number} is live already")));
        }
        Some(number) if live.versions.iter().any(|version| version.number == number) => number,
        Some(number) => {
            let known: Vec<String> = live.versions.iter().map(|version| version.number.to_string()).collect();
            let message = format!("there is no version {number}; there are {}", known.join(", "));
            return Err(Error::format(name, message));
        }
        None => former
            .map(|version| version.number)
            .filter(|number| *number < current)
            .max()
            .ok_or_else(|| Error::format(&name, "there is no former version to go back to"))?,
    };
    model_file::load(&live.file(number))?;
    live.retire(VersionState::RolledBack);
    // Versions that are skipped on the way back are no way back later.
    let skipped =
        |version: &&mut ModelVersion| version.state == VersionState::Former && version.number > number;
    live.versions.iter_mut().filter(skipped).for_each(|version| version.state = VersionState::RolledBack);
    for version in live.versions.iter_mut().filter(|version| version.number == number) {
        version.state = VersionState::Live;
        version.reason = format!("put back in the place of version {current}");
    }
    live.write()?;
    Ok(number)
}
