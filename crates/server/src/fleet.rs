//! The documents and models that are served: one snapshot, replaced as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use matchrank_engine::files;

use crate::failure::Failure;
use crate::ledger::{Activation, Ledger, ModelAction, VersionFile};
use crate::settings::{ModelSetting, ServiceSettings};
use crate::version::{Scorer, Trial, Version, load};
use matchrank_engine::serving::{Collection, DocumentChange, Served};

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

impl<'a> Named<'a> {
    /// Returns the matching model; a ranker is an error that says how to use it.
    pub(crate) fn matching(&self) -> Result<&'a Arc<Served>, Failure> {
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

/// The snapshot of the moment, and what changes it.
pub(crate) struct Fleet {
    live: ArcSwap<Snapshot>,
    /// Held by whoever replaces the snapshot, never while a model is loaded.
    change: Mutex<()>,
    ledger: Ledger,
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
        let ledger = Ledger::open(settings.state.as_deref())?;
        let (mut slots, mut folders) = (BTreeMap::new(), BTreeMap::new());
        for ModelSetting { name, file } in &settings.model {
            if slots.contains_key(name) {
                return Err(matchrank_core::Error::Params(format!(
                    "two models have the name {name}; name one of them otherwise: NAME=FILE"
                )));
            }
            let active = if settings.learn.contains(name) { None } else { ledger.active(name, file)? };
            let folder = file.parent().unwrap_or(Path::new(""));
            let active = active.and_then(|active| {
                match load_again(&active, ledger.copy_of(&active), folder, (&collection, &trial)) {
                    Ok(version) => Some(version),
                    Err(error) => {
                        let error = error.to_string();
                        tracing::warn!(
                            model = name,
                            error,
                            "the active version is gone; the configured file is used"
                        );
                        None
                    }
                }
            });
            let is_new = active.is_none();
            let current = match active {
                Some(version) => version,
                None => load(ledger.next_number(name), file, &collection, &trial)?,
            };
            ledger.start(name, &current, is_new)?;
            folders.insert(name.clone(), folder.to_owned());
            slots.insert(name.clone(), Slot { current: Arc::new(current), previous: None });
        }
        if let Some((alias, name)) = aliases.iter().find(|(_, name)| !slots.contains_key(*name)) {
            return Err(matchrank_core::Error::Params(format!(
                "the alias {alias} stands for the model {name}, which is not served; name one of {}",
                slots.keys().cloned().collect::<Vec<_>>().join(", ")
            )));
        }
        for name in &settings.first_stage {
            let name = aliases.get(name).unwrap_or(name);
            let is_matching = |slot: &Slot| matches!(slot.current.scorer, Scorer::Matching(_));
            if !slots.get(name).is_some_and(is_matching) {
                return Err(matchrank_core::Error::Params(format!(
                    "option `first-stage` names {name}, which is no matching model that is served; name one of {}",
                    slots.keys().cloned().collect::<Vec<_>>().join(", ")
                )));
            }
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
            ledger,
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
        self.ledger.history(name)
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
        let number = self.ledger.next_number(name);
        let loaded = load(number, &path, &live.collection, &self.trial);
        let version = match loaded.and_then(|next| slot.current.check_successor(&next).map(|()| next)) {
            Ok(version) => version,
            Err(error) => {
                let why = error.to_string();
                self.ledger.refuse(name, &path, why.clone())?;
                return Err(Failure::Unusable(format!(
                    "{why}; {name} keeps version {}",
                    slot.current.number
                )));
            }
        };
        self.replace(name, ModelAction::Activate, reason, |_, collection| bound_to(version, collection))
    }

    /// Gives the traffic back to the version before.
    pub(crate) fn roll_back(&self, name: &str, reason: Option<String>) -> Result<Arc<Version>, Failure> {
        let live = self.live();
        let name = live.model(Some(name))?.name;
        self.check_changeable(name)?;
        // After a restart only the file of the version before is known.
        let kept = live.models[name].previous.clone();
        let loaded = match (&kept, self.ledger.previous(name)) {
            (None, Some(previous)) => {
                let copy = self.ledger.copy_of(&previous);
                let loaded =
                    load_again(&previous, copy, &self.folders[name], (&live.collection, &self.trial));
                Some(loaded.map_err(|error| Failure::Conflict(error.to_string()))?)
            }
            _ => None,
        };
        self.replace(name, ModelAction::Rollback, reason, |slot, collection| match (&slot.previous, loaded) {
            (Some(previous), _) => previous.rebound(collection),
            (None, Some(loaded)) => bound_to(loaded, collection),
            (None, None) => {
                Err(matchrank_core::Error::Params(format!("the model {name} has no earlier version")))
            }
        })
    }

    /// Gives the traffic to a model that has learned from events, saved in a file.
    pub(crate) fn learned(&self, name: &str, file: &Path) -> Result<(), Failure> {
        let version = load(self.ledger.next_number(name), file, &self.live().collection, &self.trial)?;
        self.replace(name, ModelAction::Learned, None, |_, collection| bound_to(version, collection))?;
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

    fn replace(
        &self,
        name: &str,
        action: ModelAction,
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
        self.ledger
            .replace(name, (&slot.current, &current), action, reason)
            .map_err(|error| Failure::Unavailable(error.to_string()))?;
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
        tracing::info!(model = name, version = current.number, action = ?action, "model changed");
        Ok(current)
    }
}

/// Loads a version of an earlier run: its copy, or the file in the folder of the model where there is none. Other content
/// than that of the version is an error.
fn load_again(
    kept: &VersionFile,
    copy: Option<PathBuf>,
    folder: &Path,
    (collection, trial): (&Arc<Collection>, &Trial),
) -> matchrank_core::Result<Version> {
    let original = folder.join(&kept.file);
    let file = copy.as_deref().unwrap_or(&original);
    let version = load(kept.number, file, collection, trial)?;
    if version.checksum != kept.checksum {
        let message = format!("is not the file of version {} any more; activate it to use it", kept.number);
        return Err(matchrank_core::Error::format(files::name_of(file), message));
    }
    Ok(Version { file: original, ..version })
}

fn bound_to(version: Version, collection: &Arc<Collection>) -> matchrank_core::Result<Version> {
    if version.is_bound_to(collection) { Ok(version) } else { version.rebound(collection) }
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
