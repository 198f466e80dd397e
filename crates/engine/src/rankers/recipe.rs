//! A ranker by its name and settings: what to train, before there are lists to train it on.

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::ScalingKind;
use matchrank_core::ranking::query_dependent::QueryDependentParams;
use matchrank_core::{Error, Result};
use serde::Serialize;
use serde_json::Value;

use super::boosted::{BoostedParams, Objective, train_boosted};
use super::query_dependent::{QueryInput, train_query_dependent};
use super::trained::TrainedRanker;
use super::{RankerParams, train_ranker};
use crate::settings::params_from;

/// The setting that names a scaling beside the parameters of a ranker.
const SCALING: &str = "scaling";

/// A ranker with its parameters, and the scalings of its features.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankerRecipe {
    /// Its parameters, and so its kind.
    pub params: RecipeParams,
    /// How features are scaled; of several, validation chooses. Trees take features as they are.
    pub scalings: Vec<ScalingKind>,
}

/// The parameters of any ranker.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipeParams {
    /// A weight for every feature.
    Linear(RankerParams),
    /// A function for every query, from features that never differ within one.
    QueryDependent(QueryDependentParams),
    /// Boosted trees.
    Boosted(Objective, BoostedParams),
}

/// What training needs beside lists and parameters.
#[derive(Debug, Clone, Copy)]
pub struct RankerTraining<'a> {
    /// Source of the query features, for query-dependent rankers.
    pub query: QueryInput<'a>,
    /// Seed of everything random.
    pub seed: u64,
}

impl RankerRecipe {
    /// The names of the rankers, as commands call them.
    pub const KINDS: [&'static str; 7] =
        ["perceptron", "slam", "ranksvm", "listnet", "mart", "lambdamart", "query-dependent"];

    /// The ranker of a name, with settings over its defaults. `query-dependent/knn` and the like have other weights.
    /// A setting `scaling` takes the place of `scalings`.
    pub fn new(name: &str, settings: &[(String, Value)], scalings: &[ScalingKind]) -> Result<Self> {
        let (kind, weights) =
            name.split_once('/').map_or((name, None), |(kind, weights)| (kind, Some(weights)));
        if let Some(objective) = Objective::ALL.into_iter().find(|objective| objective.name() == name) {
            let params = RecipeParams::Boosted(objective, params_from(settings)?);
            return Ok(Self { params, scalings: Vec::new() });
        }
        let (scaling, mut settings): (Vec<_>, Vec<_>) =
            settings.iter().cloned().partition(|(name, _)| name == SCALING);
        let scalings = match scaling.last() {
            Some((_, value)) => vec![scaling_of(value)?],
            None => scalings.to_vec(),
        };
        let params = match (kind, weights) {
            ("query-dependent", weights) => {
                settings.extend(weights.map(|weights| ("weights".to_owned(), weights.into())));
                RecipeParams::QueryDependent(params_from(&settings)?)
            }
            _ => RecipeParams::Linear(RankerParams::new(name, &settings)?),
        };
        Ok(Self { params, scalings })
    }

    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        match &self.params {
            RecipeParams::Linear(params) => params.validate(),
            RecipeParams::QueryDependent(params) => params.validate(),
            RecipeParams::Boosted(_, params) => params.validate(),
        }
    }

    /// The name of the ranker.
    pub fn kind(&self) -> &'static str {
        match &self.params {
            RecipeParams::Linear(params) => params.kind(),
            RecipeParams::QueryDependent(_) => "query-dependent",
            RecipeParams::Boosted(objective, _) => objective.name(),
        }
    }

    /// All parameters by their names, the scaling too where there is one to choose.
    pub fn params(&self) -> Value {
        let params = match &self.params {
            RecipeParams::Linear(params) => {
                serde_json::to_value(params).map(|value| value[params.kind()].clone())
            }
            RecipeParams::QueryDependent(params) => serde_json::to_value(params),
            RecipeParams::Boosted(_, params) => serde_json::to_value(params),
        };
        let mut params = params.expect("parameters are plain data");
        let names = || serde_json::to_value(&self.scalings).expect("names of scalings");
        match self.scalings.as_slice() {
            [] => {}
            [_] => params[SCALING] = names()[0].clone(),
            _ => params[SCALING] = names(),
        }
        params
    }

    /// Trains the ranker. Validation lists choose what is chosen: epochs, lambda, scaling, the number of trees.
    pub fn train(
        &self,
        how: RankerTraining<'_>,
        train: FeatureLists,
        validation: Option<(FeatureLists, Measure)>,
        progress: &dyn Progress,
    ) -> Result<TrainedRanker> {
        let RankerTraining { query, seed } = how;
        Ok(match &self.params {
            RecipeParams::Linear(params) => {
                let model = train_ranker(params, &self.scalings, train, None, validation, seed, progress)?;
                TrainedRanker::Linear(Box::new(model))
            }
            RecipeParams::QueryDependent(params) => {
                let &[scaling] = self.scalings.as_slice() else {
                    return Err(Error::Params(
                        "a query-dependent ranker does not choose among scalings; name one".into(),
                    ));
                };
                let model = train_query_dependent(params, scaling, train, query, validation, progress)?;
                TrainedRanker::QueryDependent(Box::new(model))
            }
            RecipeParams::Boosted(objective, params) => {
                let validation = validation.as_ref().map(|(lists, measure)| (lists, *measure));
                let model = train_boosted(*objective, params, &train, validation, seed, progress)?;
                TrainedRanker::Boosted(Box::new(model))
            }
        })
    }
}

fn scaling_of(value: &Value) -> Result<ScalingKind> {
    serde_json::from_value(value.clone()).map_err(|_| {
        Error::Params(format!(
            "scaling={}: scaling is one of none, z_score, min_max, query_z_score, query_min_max (default min_max)",
            crate::settings::plain(value)
        ))
    })
}
