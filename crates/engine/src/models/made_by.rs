//! How a model was made: its kind and settings, and those of its parts, so that it can be made again from other data.

use std::sync::Arc;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::combination::{Combination, CombinationParams};
use super::stack::{Stack, StackParams};
use super::{MatchingModel, Recipe, Training, combination, registry, stack};
use crate::json::Json;
use crate::settings::{Settings, params_from};
use crate::validation::{NDCG_10, Ranked, Validation};

/// How a model was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MadeBy {
    /// Name of its kind.
    pub kind: String,
    /// Settings that were given or tuned. The others have their defaults, or are chosen on the validation judgments when it
    /// is made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Settings,
    /// Weights that were given to the parts of a combination; absent where they were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f32>>,
    /// Documents that were ranked to choose the weights of a combination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranked: Option<Ranked>,
    /// The models that it is made of, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<(String, MadeBy)>,
}

impl MadeBy {
    /// A model that learns from a dataset alone.
    pub fn recipe(recipe: &Recipe) -> Self {
        let (kind, settings) = (recipe.kind().name.to_owned(), recipe.settings().clone());
        Self { kind, settings, weights: None, ranked: None, of: Vec::new() }
    }

    /// A stack of models, by name.
    pub fn stack(params: &StackParams, of: Vec<(String, Self)>) -> Self {
        let kind = stack::KIND.name.to_owned();
        Self { kind, settings: settings_of(params), weights: None, ranked: None, of }
    }

    /// A combination of models, by name.
    pub fn combination(
        params: &CombinationParams,
        combination: &Combination,
        of: Vec<(String, Self)>,
    ) -> Self {
        let is_given = combination.rule.is_none();
        Self {
            kind: combination::KIND.name.to_owned(),
            settings: settings_of(params),
            weights: is_given.then(|| combination.weights.clone()),
            ranked: combination.tuned_on,
            of,
        }
    }

    /// Returns true if the seed of the training changes the model.
    pub fn is_seeded(&self) -> bool {
        if self.of.is_empty() {
            return registry::find(&self.kind).is_none_or(|kind| kind.is_seeded);
        }
        self.weights.is_none()
    }

    /// Makes the model from a dataset.
    pub fn train(&self, training: &Training<'_>) -> Result<Arc<dyn MatchingModel>> {
        let Training { dataset, seed, progress, .. } = *training;
        if self.of.is_empty() {
            return Recipe::new(&self.kind, &self.settings)?.train(training);
        }
        let mut parts: Vec<(String, Arc<dyn MatchingModel>)> = Vec::new();
        for (name, part) in &self.of {
            progress.note(&format!("training {name}"));
            parts.push((name.clone(), part.train(training)?));
        }
        if self.kind == stack::KIND.name {
            let params: StackParams = params_from(&self.settings)?;
            return Ok(Arc::new(Stack::train(parts, &params, NDCG_10, training)?));
        }
        if self.kind != combination::KIND.name {
            return Err(Error::Params(format!("a {} model is not made of others", self.kind)));
        }
        let models: Vec<Arc<dyn MatchingModel>> = parts.into_iter().map(|(_, model)| model).collect();
        if let Some(weights) = &self.weights {
            return Ok(Arc::new(Combination::new(models, weights.clone())?));
        }
        let params: CombinationParams = params_from(&self.settings)?;
        let validation = Validation::ranking(self.ranked, dataset, seed, progress)?.ok_or_else(|| {
            Error::format(
                dataset.folder().display().to_string(),
                "there are no validation judgments to find the weights with; ingest with option `split`",
            )
        })?;
        Ok(Arc::new(Combination::tune(models, &params, (dataset, &validation), progress)?))
    }
}

fn settings_of(params: &impl Serialize) -> Settings {
    match Json::of(params).0 {
        serde_json::Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, Json(value))).collect()
        }
        _ => unreachable!("parameters are structs of plain data"),
    }
}
