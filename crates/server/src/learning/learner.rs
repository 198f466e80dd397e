//! A model that follows the log, and its checkpoints.
//!
//! A checkpoint is a model file and the sequence of the last event behind it. The file is written, synced and renamed
//! first, and the store then replaces its pointer in one transaction. So after a kill at any moment the pointer names a
//! complete file, and the events after its sequence are learned again. The model that results is, to the byte, the one
//! that `matchrank update` makes of the lessons of the same events.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use serde::{Deserialize, Serialize};

use super::LearningError;
use super::lessons::LessonMaker;
use super::online_model::{ModelPosition, OnlineModel};
use super::searches::{SavedSearches, SearchWindow};
use crate::store::{LearnerCheckpoint, Store};

/// Folder of model files in the state folder.
const FOLDER: &str = "learners";

/// Model that is to learn while serving.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LearnerSpec {
    /// Name of the learner in the store: letters, digits, `-` and `_`.
    pub name: String,
    /// Model file to begin with. Another file begins learning anew.
    pub base: PathBuf,
    /// Last sequence that is part of the base already. `None`: a new learner learns from the first event that the store
    /// has, and one with a new base from now on.
    pub after: Option<u64>,
    /// Time for which a search waits for clicks.
    pub window: SearchWindow,
}

impl LearnerSpec {
    /// Learner of a model file, with the usual window.
    pub fn new(name: impl Into<String>, base: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), base: base.into(), after: None, window: SearchWindow::default() }
    }
}

/// State of a learner beside its model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LearnerState {
    searches: SavedSearches,
    position: ModelPosition,
}

/// Model that follows the log of a store.
pub struct LogLearner {
    store: Arc<Store>,
    name: String,
    base: String,
    after: u64,
    model: OnlineModel,
    lessons: LessonMaker,
    sequence: u64,
    saved: Option<u64>,
}

impl LogLearner {
    /// Goes on from the last checkpoint, or begins with the base and registers the learner. `dataset` holds the documents
    /// that preferences name by id; documents that were only added while serving teach nothing until the next training.
    pub fn open(
        store: &Arc<Store>,
        spec: &LearnerSpec,
        dataset: Option<&Dataset>,
    ) -> Result<Self, LearningError> {
        check_name(&spec.name)?;
        let base = blake3::hash(&files::read_all(&spec.base)?).to_hex().to_string();
        let known = store.learner(&spec.name)?;
        let folder = store.folder().join(FOLDER);
        files::make_folder(&folder)?;
        if let Some(checkpoint) = known.as_ref().filter(|checkpoint| checkpoint.base == base) {
            let mut learner = match checkpoint.file.as_str() {
                "" => Self::begin(store, spec, (base, checkpoint.after), dataset)?,
                _ => Self::resume(store, spec, checkpoint, dataset)?,
            };
            learner.remove_others(&checkpoint.file)?;
            learner.saved = Some(checkpoint.sequence).filter(|_| !checkpoint.file.is_empty());
            return Ok(learner);
        }
        let deleted_to = store.counts()?.deleted_to;
        let after = spec.after.unwrap_or(if known.is_some() { store.last_sequence() } else { deleted_to });
        if after < deleted_to {
            return Err(LearningError::Refused(format!(
                "learner {}: the events up to {deleted_to} are deleted, and the base is said to know those up to {after} \
                 only; give a sequence of at least {deleted_to}",
                spec.name
            )));
        }
        let mut checkpoint = LearnerCheckpoint::default();
        (checkpoint.sequence, checkpoint.after, checkpoint.base) = (after, after, base.clone());
        let learner = Self::begin(store, spec, (base, after), dataset)?;
        store.set_learner(&spec.name, checkpoint)?;
        learner.remove_others("")?;
        Ok(learner)
    }

    fn begin(
        store: &Arc<Store>,
        spec: &LearnerSpec,
        (base, after): (String, u64),
        dataset: Option<&Dataset>,
    ) -> Result<Self, LearningError> {
        Ok(Self {
            store: Arc::clone(store),
            name: spec.name.clone(),
            base,
            after,
            model: OnlineModel::open(&spec.base, dataset, None)?,
            lessons: LessonMaker::open_at(store, after, spec.window)?,
            sequence: after,
            saved: None,
        })
    }

    fn resume(
        store: &Arc<Store>,
        spec: &LearnerSpec,
        checkpoint: &LearnerCheckpoint,
        dataset: Option<&Dataset>,
    ) -> Result<Self, LearningError> {
        let state: LearnerState = serde_json::from_str(&checkpoint.state).map_err(|e| {
            LearningError::Refused(format!(
                "learner {}: its checkpoint is damaged ({e}); restore a backup",
                spec.name
            ))
        })?;
        let path = store.folder().join(FOLDER).join(&checkpoint.file);
        Ok(Self {
            store: Arc::clone(store),
            name: spec.name.clone(),
            base: checkpoint.base.clone(),
            after: checkpoint.after,
            model: OnlineModel::open(&path, dataset, Some(&state.position))?,
            lessons: LessonMaker::restore(state.searches),
            sequence: checkpoint.sequence,
            saved: None,
        })
    }

    /// Learns from all events that are in the log now; returns their number.
    pub fn catch_up(&mut self) -> Result<u64, LearningError> {
        let mut n = 0;
        loop {
            let learned = self.learn_page()?;
            if learned == 0 {
                return Ok(n);
            }
            n += learned;
        }
    }

    /// Learns from the next events, about a thousand at most; returns their number.
    pub fn learn_page(&mut self) -> Result<u64, LearningError> {
        let page = self.store.events_after(self.sequence)?;
        let mut lessons = Vec::new();
        page.iter().for_each(|event| self.lessons.add(event, &mut lessons));
        self.model.learn(lessons)?;
        self.sequence = page.last().map_or(self.sequence, |event| event.sequence);
        Ok(page.len() as u64)
    }

    /// Saves a checkpoint if anything came since the last one; returns the path of the model file.
    pub fn checkpoint(&mut self) -> Result<PathBuf, LearningError> {
        let file = format!("{}-{:020}.model", self.name, self.sequence);
        let path = self.store.folder().join(FOLDER).join(&file);
        if self.saved == Some(self.sequence) {
            return Ok(path);
        }
        self.model.save(&path)?;
        let state = LearnerState { searches: self.lessons.save(), position: self.model.position() };
        let mut checkpoint = LearnerCheckpoint::default();
        (checkpoint.sequence, checkpoint.after) = (self.sequence, self.after);
        checkpoint.base.clone_from(&self.base);
        checkpoint.file.clone_from(&file);
        checkpoint.state = serde_json::to_string(&state).expect("plain data is JSON");
        self.store.set_learner(&self.name, checkpoint)?;
        self.saved = Some(self.sequence);
        self.remove_others(&file)?;
        Ok(path)
    }

    /// Returns true if the last checkpoint holds everything learned so far.
    pub fn is_saved(&self) -> bool {
        self.saved.unwrap_or(self.after) == self.sequence
    }

    /// Writes the model with everything learned so far to a file of the caller.
    pub fn save_model(&mut self, path: &Path) -> Result<(), LearningError> {
        self.model.save(path)
    }

    /// Name of the learner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sequence of the last event that the model has learned from.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Sequence after which learning began.
    pub fn after(&self) -> u64 {
        self.after
    }

    /// Number of lists since the start of the process that the model could not use.
    pub fn n_left_out(&self) -> u64 {
        self.model.n_left_out
    }

    /// Removes model files of this learner that no checkpoint names.
    fn remove_others(&self, kept: &str) -> Result<(), LearningError> {
        let folder = self.store.folder().join(FOLDER);
        let io = |e| LearningError::Engine(matchrank_engine::Error::io(files::name_of(&folder), e));
        for entry in fs::read_dir(&folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let file = entry.file_name();
            let Some(file) = file.to_str().filter(|file| *file != kept) else { continue };
            let sequence = file.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix('-'));
            let sequence = sequence.and_then(|rest| rest.strip_suffix(".model"));
            if sequence.is_some_and(|digits| digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit()))
            {
                fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), LearningError> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    match !name.is_empty() && name.len() <= 100 && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(LearningError::Refused(format!(
            "'{name}' is no name of a learner; up to 100 letters, digits, '-' and '_' are expected"
        ))),
    }
}
