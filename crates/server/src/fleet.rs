//! The documents and models that are served: one snapshot, replaced as a whole.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use serde::Serialize;
use utoipa::ToSchema;

use crate::failure::Failure;
use crate::settings::{ModelSetting, ServiceSettings};
use crate::version::{Scorer, Trial, Version, load, now};
use matchrank_engine::serving::{Collection, DocumentChange, Served};

/// Activations that are remembered for each model.
const REMEMBERED: usize = 50;

/// Documents and models at one moment.
pub(crate) struct Snapshot {
    /// The documents.
    pub(crate) collection: Arc<Collection>,
    /// Models by name.
    pub(crate) models: BTreeMap<String, Slot>,
    /// Name of the model for requests that name none.
    pub(crate) default_model: String,
    /// Names by alias.
    aliases: Arc<BTreeMap<String, String>>,
}

/// The versions of a model that are in memory.
#[derive(Clone)]
pub(crate) struct Slot {
    /// The version that takes traffic.
    pub(crate) current: Arc<Version>,
    /// The version before it.
    pub(crate) previous: Option<Arc<Version>>,
}

/// A model that a request named, with its name.
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a Version,
}

impl Named<'_> {
    /// Returns the matching model; a ranker is an error that says how to use it.
    pub(crate) fn matching(&self) -> Result<&Arc<Served>, Failure> {
        match &self.version.scorer {
            Scorer::Matching(served) => Ok(served),
            Scorer::Ranking(_) => Err(Failure::Unusable(format!(
                "the model {} is a {} ranker, which ranks feature lists; send candidates with features to /v1/rank",
                self.name, self.version.kind
            ))),
        }
    }
}

impl Snapshot {
    /// Returns a model by its name or alias, the default model without a name.
    pub(crate) fn model(&self, name: Option<&str>) -> Result<Named<'_>, Failure> {
        let name = name.unwrap_or(&self.default_model);
        self.find(name).ok_or_else(|| {
            let known: Vec<&str> = self.models.keys().map(String::as_str).collect();
            Failure::NotFound(format!("there is no model {name:?}; there are {}", known.join(", ")))
        })
    }

    /// Returns a model by its name or alias, and the default model for names that nobody knows: clients of other services
    /// send names of their own.
    pub(crate) fn model_or_default(&self, name: Option<&str>) -> Result<Named<'_>, Failure> {
        match name.and_then(|name| self.find(name)) {
            Some(named) => Ok(named),
            None => self.model(None),
        }
    }

    fn find(&self, name: &str) -> Option<Named<'_>> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.models.get_key_value(name).map(|(name, slot)| Named { name, version: &slot.current })
    }
}

/// What became of a version of a model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Activation {
    /// Number of the version, from 1; none for a file that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    /// Name of the file.
    pub(crate) file: String,
    /// `start`, `activate`, `rollback`, `learned` or `refused`.
    pub(crate) action: &'static str,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    /// Reason that was given, or why the file was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// Past of a model.
#[derive(Default)]
struct Past {
    n_versions: u32,
    activations: VecDeque<Activation>,
}

impl Past {
    fn add(&mut self, activation: Activation) {
        // Checkpoints come by the minute; the latest stands for all of a run.
        if activation.action == "learned"
            && self.activations.back().is_some_and(|last| last.action == "learned")
        {
            self.activations.pop_back();
        }
        if self.activations.len() == REMEMBERED {
            self.activations.pop_front();
        }
        self.activations.push_back(activation);
    }
}

/// The snapshot of the moment, and what changes it.
pub(crate) struct Fleet {
    live: ArcSwap<Snapshot>,
    /// Held by whoever replaces the snapshot, never while a model is loaded.
    change: Mutex<()>,
    past: Mutex<BTreeMap<String, Past>>,
    trial: Trial,
    /// Folders of the model files: those that may be activated lie there.
    folders: BTreeMap<String, PathBuf>,
    /// Names of the models that learn from events.
    learning: Vec<String>,
}

impl Fleet {
    /// Loads and tests the models.
    pub(crate) fn open(
        collection: Arc<Collection>,
        trial: Trial,
        settings: &ServiceSettings,
        aliases: BTreeMap<String, String>,
    ) -> matchrank_core::Result<Self> {
        let (mut slots, mut past, mut folders) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for ModelSetting { name, file } in &settings.model {
            let current = Arc::new(load(1, file, &collection, &trial)?);
            let mut history = Past { n_versions: 1, ..Past::default() };
            history.add(Activation::of(&current, "start", None));
            past.insert(name.clone(), history);
            folders.insert(name.clone(), file.parent().unwrap_or(Path::new("")).to_owned());
            if slots.insert(name.clone(), Slot { current, previous: None }).is_some() {
                return Err(matchrank_core::Error::Params(format!(
                    "two models have the name {name}; name one of them otherwise: NAME=FILE"
                )));
            }
        }
        if let Some((alias, name)) = aliases.iter().find(|(_, name)| !slots.contains_key(*name)) {
            return Err(matchrank_core::Error::Params(format!(
                "the alias {alias} stands for the model {name}, which is not served; name one of {}",
                slots.keys().cloned().collect::<Vec<_>>().join(", ")
            )));
        }
        let snapshot = Snapshot {
            collection,
            default_model: settings.model[0].name.clone(),
            models: slots,
            aliases: Arc::new(aliases),
        };
        Ok(Self {
            live: ArcSwap::from_pointee(snapshot),
            change: Mutex::new(()),
            past: Mutex::new(past),
            trial,
            folders,
            learning: settings.learn.clone(),
        })
    }

    /// Returns the snapshot of the moment.
    pub(crate) fn live(&self) -> Arc<Snapshot> {
        self.live.load_full()
    }

    /// Returns the activations of a model, the latest last.
    pub(crate) fn activations(&self, name: &str) -> Vec<Activation> {
        self.past().get(name).map_or(Vec::new(), |past| past.activations.iter().cloned().collect())
    }

    fn past(&self) -> MutexGuard<'_, BTreeMap<String, Past>> {
        self.past.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.change.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Applies document changes after `commit` has made them durable. The next query sees them.
    pub(crate) fn change_documents<T>(
        &self,
        changes: &[DocumentChange],
        commit: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _changing = self.changing();
        let live = self.live();
        let collection = Arc::new(live.collection.with(changes)?);
        let rebound = |version: &Arc<Version>| version.rebound(&collection).map(Arc::new);
        let slot = |slot: &Slot| -> matchrank_core::Result<Slot> {
            Ok(Slot {
                current: rebound(&slot.current)?,
                previous: slot.previous.as_ref().map(rebound).transpose()?,
            })
        };
        let models = live.models.iter().map(|(name, old)| Ok((name.clone(), slot(old)?)));
        let models = models.collect::<matchrank_core::Result<_>>()?;
        let (default_model, aliases) = (live.default_model.clone(), live.aliases.clone());
        let committed = commit()?;
        self.live.store(Arc::new(Snapshot { collection, models, default_model, aliases }));
        Ok(committed)
    }

    /// Loads a file of the folder of a model, tests it, and gives it the traffic. A file that fails takes no traffic, and the
    /// error says why.
    pub(crate) fn activate(
        &self,
        name: &str,
        file: Option<&str>,
        reason: Option<String>,
    ) -> Result<Arc<Version>, Failure> {
        let live = self.live();
        let name = live.model(Some(name))?.name;
        self.check_changeable(name)?;
        let slot = &live.models[name];
        let path = match file {
            None => slot.current.file.clone(),
            Some(file) if is_file_name(file) => self.folders[name].join(file),
            Some(file) => {
                return Err(Failure::Unusable(format!(
                    "{file:?} is no file name; put the file beside the model's first one, and give its name without folders"
                )));
            }
        };
        // A number is taken even by a file that is refused, so that no number means two things.
        let number = self.next_number(name);
        let version = match load(number, &path, &live.collection, &self.trial) {
            Ok(version) => version,
            Err(error) => {
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let why = error.to_string();
                self.past().entry(name.to_owned()).or_default().add(Activation {
                    version: None,
                    file,
                    action: "refused",
                    at: now(),
                    reason: Some(why.clone()),
                });
                return Err(Failure::Unusable(format!(
                    "{why}; {name} keeps version {}",
                    slot.current.number
                )));
            }
        };
        self.replace(name, "activate", reason, |_, collection| {
            if version.is_bound_to(collection) { Ok(version) } else { version.rebound(collection) }
        })
    }

    /// Gives the traffic back to the version before.
    pub(crate) fn roll_back(&self, name: &str, reason: Option<String>) -> Result<Arc<Version>, Failure> {
        let live = self.live();
        let name = live.model(Some(name))?.name;
        self.check_changeable(name)?;
        self.replace(name, "rollback", reason, |slot, collection| {
            let Some(previous) = &slot.previous else {
                return Err(matchrank_core::Error::Params(format!(
                    "the model {name} has no earlier version in memory"
                )));
            };
            previous.rebound(collection)
        })
    }

    /// Gives the traffic to a model that has learned from events, saved in a file.
    pub(crate) fn learned(&self, name: &str, file: &Path) -> Result<(), Failure> {
        let version = load(self.next_number(name), file, &self.live().collection, &self.trial)?;
        self.replace(name, "learned", None, |_, collection| {
            if version.is_bound_to(collection) { Ok(version) } else { version.rebound(collection) }
        })?;
        Ok(())
    }

    /// Returns an error for a model that learns: what it learned would be lost.
    fn check_changeable(&self, name: &str) -> Result<(), Failure> {
        if self.learning.iter().any(|learning| learning == name) {
            return Err(Failure::Conflict(format!(
                "the model {name} learns from events, so its versions are its checkpoints; to begin anew with another file, \
                 start the service with that file"
            )));
        }
        Ok(())
    }

    fn next_number(&self, name: &str) -> u32 {
        let mut past = self.past();
        let past = past.entry(name.to_owned()).or_default();
        past.n_versions += 1;
        past.n_versions
    }

    fn replace(
        &self,
        name: &str,
        action: &'static str,
        reason: Option<String>,
        next: impl FnOnce(&Slot, &Arc<Collection>) -> matchrank_core::Result<Version>,
    ) -> Result<Arc<Version>, Failure> {
        let _changing = self.changing();
        let live = self.live();
        let Some(slot) = live.models.get(name) else {
            return Err(Failure::NotFound(format!("there is no model {name:?}")));
        };
        let current = Arc::new(next(slot, &live.collection).map_err(|error| match error {
            matchrank_core::Error::Params(message) => Failure::Conflict(message),
            error => error.into(),
        })?);
        let mut models = live.models.clone();
        models
            .insert(name.to_owned(), Slot { current: current.clone(), previous: Some(slot.current.clone()) });
        let (collection, aliases) = (live.collection.clone(), live.aliases.clone());
        self.live.store(Arc::new(Snapshot {
            collection,
            models,
            default_model: live.default_model.clone(),
            aliases,
        }));
        self.past().entry(name.to_owned()).or_default().add(Activation::of(&current, action, reason));
        tracing::info!(model = name, version = current.number, action, "model changed");
        Ok(current)
    }
}

impl Activation {
    fn of(version: &Version, action: &'static str, reason: Option<String>) -> Self {
        let file = version.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { version: Some(version.number), file, action, at: now(), reason }
    }
}

/// Returns true if a text names a file, and no folder.
fn is_file_name(text: &str) -> bool {
    let mut components = Path::new(text).components();
    let is_plain = matches!(components.next(), Some(std::path::Component::Normal(name)) if name == text);
    is_plain && components.next().is_none() && !text.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_without_folders() {
        assert!(is_file_name("stack-2.model"));
        for path in ["", ".", "..", "../a", "/etc/passwd", "a/b", "a/", "./a", "a\\b", "a\0b"] {
            assert!(!is_file_name(path), "{path:?}");
        }
    }
}
