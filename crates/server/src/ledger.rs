//! Activations of models, kept in the state folder, so that a restart does not undo them.
//!
//! `models.json` is replaced in one step before the traffic moves, and `models/` keeps copies of the files that a restart or
//! a rollback needs, so that a retraining may write over them. The entry of a model counts as long as the file of option
//! `model` has the content that it had when it was last loaded. Once other content is there, the service starts with that,
//! and version numbers and the history go on. A service without a state folder remembers until it ends.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use matchrank_core::{Error, Result};
use matchrank_engine::files;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::version::{Version, checksum_of, now};

/// Name of the file.
const FILE: &str = "models.json";
/// Name of the folder of copies, each named by its checksum.
const COPIES: &str = "models";
/// Format of the file.
const FORMAT: u32 = 1;
/// Activations that are remembered for each model.
const REMEMBERED: usize = 50;

/// What was done to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelAction {
    /// The service started with the version.
    Start,
    /// A file was activated.
    Activate,
    /// The traffic went back to the version before.
    Rollback,
    /// The model was saved after it had learned from events.
    Learned,
    /// A file was refused.
    Refused,
}

/// What became of a version of a model.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct Activation {
    /// Number of the version, from 1; none for a file that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    /// Name of the file.
    pub(crate) file: String,
    /// What was done.
    pub(crate) action: ModelAction,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    /// Reason that was given, or why the file was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// A version as its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VersionFile {
    /// Number of the version.
    pub(crate) number: u32,
    /// Name of the file, in the folder of the first one.
    pub(crate) file: PathBuf,
    /// BLAKE3 of the file.
    pub(crate) checksum: String,
}

impl From<&Version> for VersionFile {
    fn from(version: &Version) -> Self {
        let file = version.file.file_name().unwrap_or_default().into();
        Self { number: version.number, file, checksum: version.checksum.clone() }
    }
}

/// Past of a model, and the versions that a restart needs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Entry {
    n_versions: u32,
    /// The file of option `model`, when it was last loaded.
    configured: Option<VersionFile>,
    current: Option<VersionFile>,
    previous: Option<VersionFile>,
    history: VecDeque<Activation>,
}

impl Entry {
    fn add(&mut self, activation: Activation) {
        // Checkpoints come by the minute; the latest stands for all of a run.
        let is_learned = |activation: &Activation| activation.action == ModelAction::Learned;
        if is_learned(&activation) && self.history.back().is_some_and(is_learned) {
            self.history.pop_back();
        }
        if self.history.len() == REMEMBERED {
            self.history.pop_front();
        }
        self.history.push_back(activation);
    }
}

#[derive(Serialize, Deserialize)]
struct LedgerFile {
    format: u32,
    models: BTreeMap<String, Entry>,
}

/// Activations of all models.
pub(crate) struct Ledger {
    /// The state folder.
    folder: Option<PathBuf>,
    entries: Mutex<BTreeMap<String, Entry>>,
}

impl Ledger {
    /// Reads the activations of a state folder, if there are some.
    pub(crate) fn open(state: Option<&Path>) -> Result<Self> {
        let file = state.map(|folder| folder.join(FILE));
        let models = match file.filter(|file| file.exists()) {
            Some(file) => read(&file)?,
            None => BTreeMap::new(),
        };
        Ok(Self { folder: state.map(Path::to_owned), entries: Mutex::new(models) })
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the version that took the traffic when the service ended, if it was activated beside this file.
    pub(crate) fn active(&self, name: &str, configured: &Path) -> Result<Option<VersionFile>> {
        let Some(entry) = self.entries().get(name).cloned() else { return Ok(None) };
        let (Some(first), Some(current)) = (entry.configured, entry.current) else { return Ok(None) };
        let is_same = configured.file_name() == Some(first.file.as_os_str())
            && checksum_of(configured)? == first.checksum;
        Ok(is_same.then_some(current))
    }

    /// Returns the version before the one that takes the traffic.
    pub(crate) fn previous(&self, name: &str) -> Option<VersionFile> {
        self.entries().get(name)?.previous.clone()
    }

    /// Returns the past of a model, the latest activation last.
    pub(crate) fn history(&self, name: &str) -> Vec<Activation> {
        self.entries().get(name).map_or(Vec::new(), |entry| entry.history.iter().cloned().collect())
    }

    /// Takes a number for a version. A file that is refused keeps its number, so that no number means two things.
    pub(crate) fn next_number(&self, name: &str) -> u32 {
        let mut entries = self.entries();
        let entry = entries.entry(name.to_owned()).or_default();
        entry.n_versions += 1;
        entry.n_versions
    }

    /// Returns the path of the copy of a file, or `None` if there is none.
    pub(crate) fn copy_of(&self, file: &VersionFile) -> Option<PathBuf> {
        self.copy_path(&file.checksum).filter(|copy| copy.is_file())
    }

    fn copy_path(&self, checksum: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(COPIES).join(format!("{checksum}.model")))
    }

    /// Copies the file of a version, which must still have the content that was loaded.
    fn keep(&self, version: &Version) -> Result<()> {
        let Some(copy) = self.copy_path(&version.checksum).filter(|copy| !copy.is_file()) else {
            return Ok(());
        };
        let content = files::read_all(&version.file)?;
        if blake3::hash(&content).to_hex().as_str() != version.checksum {
            return Err(Error::format(
                files::name_of(&version.file),
                "was written while it was loaded; try again when it is complete",
            ));
        }
        files::make_folder(copy.parent().unwrap_or(Path::new("")))?;
        files::write_atomically(&copy, |out| {
            out.write_all(&content).map_err(|error| Error::io(files::name_of(&copy), error))
        })
    }

    /// Removes copies that no entry names any more. One that cannot be removed takes room, and is in nobody's way.
    fn remove_copies(&self, models: &BTreeMap<String, Entry>) {
        let Some(folder) = self.folder.as_ref().map(|folder| folder.join(COPIES)) else { return };
        let named = models.values().flat_map(|entry| entry.current.iter().chain(&entry.previous));
        let named: HashSet<String> = named.map(|file| format!("{}.model", file.checksum)).collect();
        for copy in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = copy.file_name();
            let is_copy = Path::new(&name).extension().is_some_and(|extension| extension == "model");
            if is_copy && !name.to_str().is_some_and(|name| named.contains(name)) {
                let _ = std::fs::remove_file(copy.path());
            }
        }
    }

    /// Remembers the version that the service starts with. `is_new` is true for the file of option `model`, and false for
    /// the version of an earlier run.
    pub(crate) fn start(&self, name: &str, version: &Version, is_new: bool) -> Result<()> {
        self.keep(version)?;
        self.change(name, |entry| {
            let file = VersionFile::from(version);
            if is_new {
                (entry.configured, entry.previous) = (Some(file.clone()), None);
            }
            entry.current = Some(file);
            entry.add(Activation::of(version, ModelAction::Start, None));
        })
    }

    /// Remembers a file that was refused.
    pub(crate) fn refuse(&self, name: &str, file: &Path, why: String) -> Result<()> {
        let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (version, action, at) = (None, ModelAction::Refused, now());
        self.change(name, |entry| entry.add(Activation { version, file, action, at, reason: Some(why) }))
    }

    /// Remembers the version that takes the traffic from now on, and the one before.
    pub(crate) fn replace(
        &self,
        name: &str,
        (before, next): (&Version, &Version),
        action: ModelAction,
        reason: Option<String>,
    ) -> Result<()> {
        // The checkpoints of a model that learns are in the store.
        let is_learned = action == ModelAction::Learned;
        if action == ModelAction::Activate {
            self.keep(next)?;
        }
        self.change(name, |entry| {
            entry.add(Activation::of(next, action, reason));
            if is_learned {
                return;
            }
            let next = VersionFile::from(next);
            // A later restart must not take the file of the options for one that came since.
            let is_configured = |configured: &VersionFile| configured.file == next.file;
            if action == ModelAction::Activate && entry.configured.as_ref().is_some_and(is_configured) {
                entry.configured = Some(next.clone());
            }
            (entry.current, entry.previous) = (Some(next), Some(before.into()));
        })
    }

    /// Changes an entry on disk, and then in memory: an entry that cannot be written stays as it was.
    fn change(&self, name: &str, change: impl FnOnce(&mut Entry)) -> Result<()> {
        let mut entries = self.entries();
        let mut models = entries.clone();
        change(models.entry(name.to_owned()).or_default());
        if let Some(folder) = &self.folder {
            let file = folder.join(FILE);
            let content = LedgerFile { format: FORMAT, models };
            files::write_atomically(&file, |out| {
                serde_json::to_writer_pretty(&mut *out, &content)
                    .map_err(|error| Error::io(files::name_of(&file), error.into()))
            })?;
            models = content.models;
            self.remove_copies(&models);
        }
        *entries = models;
        Ok(())
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, Entry>> {
    let wrong = |what: String| {
        Error::format(
            files::name_of(file),
            format!("{what}; move the file away to start with the models of the options"),
        )
    };
    let content: LedgerFile = serde_json::from_slice(&files::read_all(file)?)
        .map_err(|error| wrong(format!("is no list of activations: {error}")))?;
    if content.format != FORMAT {
        return Err(wrong(format!("has format {}, and this program knows {FORMAT}", content.format)));
    }
    Ok(content.models)
}

impl Activation {
    fn of(version: &Version, action: ModelAction, reason: Option<String>) -> Self {
        let file = version.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { version: Some(version.number), file, action, at: now(), reason }
    }
}
