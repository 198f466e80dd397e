//! A model by its name and settings: what to train, before there is data to train it on.

use std::fmt::Debug;
use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::registry::{find, trainable_names};
use super::{MatchingKind, MatchingModel};
use crate::dataset::Dataset;
use crate::json::Json;
use crate::settings::{Settings, params_of_two};

/// A model that learns from a dataset alone, with its parameters.
#[derive(Debug, Clone)]
pub struct Recipe {
    kind: &'static MatchingKind,
    settings: Settings,
    trainer: Arc<dyn Trainer>,
}

/// Data and circumstances of a training.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The data.
    pub dataset: &'a Dataset,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
    /// Settings that were given; the others have their defaults.
    given: &'a [(String, Json)],
}

impl<'a> Training<'a> {
    /// A training with a seed.
    pub fn new(dataset: &'a Dataset, seed: u64, progress: &'a dyn Progress) -> Self {
        Self { dataset, seed, progress, given: &[] }
    }

    /// Returns true if a setting was given.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }
}

/// Trains one kind of model with fixed parameters.
pub(crate) trait Trainer: Debug + Send + Sync {
    fn validate(&self) -> Result<()>;
    fn params(&self) -> Value;
    fn train(&self, training: &Training<'_>) -> Result<Arc<dyn MatchingModel>>;
}

/// Checks the parameters of a model and of its features.
type Validate<P, Q> = fn(&P, &Q) -> Result<()>;
/// Trains a model with parameters of its own and of its features.
type Train<P, Q> = fn(&P, &Q, &Training<'_>) -> Result<Arc<dyn MatchingModel>>;

/// Makes a trainer of a model with two structs of parameters, its own and those of its features, whose fields have
/// different names. Names and types of settings are checked here, ranges by [`Recipe::validate`].
pub(crate) fn trainer<P, Q>(
    settings: &[(String, Json)],
    validate: Validate<P, Q>,
    train: Train<P, Q>,
) -> Result<Arc<dyn Trainer>>
where
    P: DeserializeOwned + Serialize + Default + Debug + Send + Sync + 'static,
    Q: DeserializeOwned + Serialize + Default + Debug + Send + Sync + 'static,
{
    let (params, features): (P, Q) = params_of_two(settings)?;
    Ok(Arc::new(Parametric { params, features, validate, train }))
}

/// Parameters of a model that has no features to set.
#[derive(Debug, Default, Serialize, serde::Deserialize)]
pub(crate) struct NoFeatures {}

#[derive(Debug)]
struct Parametric<P, Q> {
    params: P,
    features: Q,
    validate: Validate<P, Q>,
    train: Train<P, Q>,
}

impl<P, Q> Trainer for Parametric<P, Q>
where
    P: Serialize + Debug + Send + Sync,
    Q: Serialize + Debug + Send + Sync,
{
    fn validate(&self) -> Result<()> {
        (self.validate)(&self.params, &self.features)
    }

    fn params(&self) -> Value {
        let plain = |value| match value {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("parameters are structs of plain data"),
        };
        let mut all = plain(serde_json::to_value(&self.params));
        all.extend(plain(serde_json::to_value(&self.features)));
        Value::Object(all)
    }

    fn train(&self, training: &Training<'_>) -> Result<Arc<dyn MatchingModel>> {
        (self.train)(&self.params, &self.features, training)
    }
}

impl Recipe {
    /// The model of a name, with settings over its defaults. Names and types of values are checked here, ranges by
    /// [`Recipe::validate`].
    pub fn new(kind: &str, settings: &[(String, Json)]) -> Result<Self> {
        let Some((kind, trainer)) = find(kind).and_then(|kind| Some((kind, kind.trainer?))) else {
            return Err(Error::Params(format!(
                "there is no model called `{kind}`; there are {}",
                trainable_names()
            )));
        };
        let settings = settings.to_vec();
        Ok(Self { kind, trainer: trainer(&settings)?, settings })
    }

    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.trainer.validate()
    }

    /// The kind of the model.
    pub fn kind(&self) -> &'static MatchingKind {
        self.kind
    }

    /// Settings that were given; the other parameters have their defaults.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All parameters by their names, those of the features too.
    pub fn params(&self) -> Json {
        Json(self.trainer.params())
    }

    /// The recipe with the settings that training a model by it chose on the validation judgments.
    pub fn settled(&self, model: &dyn MatchingModel) -> Result<Self> {
        self.with(&model.chosen())
    }

    /// The recipe with other settings in the place of its own.
    pub(crate) fn with(&self, others: &[(String, Json)]) -> Result<Self> {
        let is_other = |name: &String| others.iter().any(|(other, _)| other == name);
        let mut settings = self.settings.clone();
        settings.retain(|(name, _)| !is_other(name));
        settings.extend_from_slice(others);
        Self::new(self.kind.name, &settings)
    }

    /// Settings that are chosen on the validation judgments before anything is trained, such as those of a base.
    pub(crate) fn chosen_untrained(&self, training: &Training<'_>) -> Result<Settings> {
        self.kind
            .choose_untrained
            .map_or_else(|| Ok(Settings::new()), |choose| choose(&self.params(), training))
    }

    /// Trains the model.
    pub fn train(&self, training: &Training<'_>) -> Result<Arc<dyn MatchingModel>> {
        self.trainer.train(&Training { given: &self.settings, ..*training })
    }
}

/// A setting that training chose.
pub(crate) fn chosen(name: &str, value: &impl Serialize) -> (String, Json) {
    (name.to_owned(), Json::of(value))
}
