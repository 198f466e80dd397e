//! A ranker by its name and settings: what to train, before there are lists to train it on.

use matchrank_core::Result;
use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::query_dependent::QueryDependentParams;
use matchrank_core::ranking::{Ranker, ScalingKind};
use serde::Serialize;
use serde_json::Value;

use super::boosted::{BoostedParams, Objective, train_boosted};
use super::query_dependent::{QueryColumns, QueryInput, train_query_dependent};
use super::{RankerParams, train_ranker};
use crate::training::settings::params_from;

/// A ranker with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankerRecipe {
    /// A weight for every feature.
    Linear(RankerParams),
    /// A function for every query, from features that never differ within one.
    QueryDependent(QueryDependentParams),
    /// Boosted trees.
    Boosted(Objective, BoostedParams),
}

impl RankerRecipe {
    /// The names of the rankers, as commands call them.
    pub const KINDS: [&'static str; 7] =
        ["perceptron", "slam", "ranksvm", "listnet", "mart", "lambdamart", "query-dependent"];

    /// The ranker of a name, with settings over its defaults. `query-dependent/knn` and the like have other weights.
    pub fn new(name: &str, settings: &[(String, Value)]) -> Result<Self> {
        let (kind, weights) =
            name.split_once('/').map_or((name, None), |(kind, weights)| (kind, Some(weights)));
        let recipe = match (kind, weights) {
            ("query-dependent", weights) => {
                let mut settings = settings.to_vec();
                settings.extend(weights.map(|weights| ("weights".to_owned(), weights.into())));
                Self::QueryDependent(params_from(&settings)?)
            }
            _ => match Objective::ALL.into_iter().find(|objective| objective.name() == name) {
                Some(objective) => Self::Boosted(objective, params_from(settings)?),
                None => Self::Linear(RankerParams::new(name, settings)?),
            },
        };
        Ok(recipe)
    }

    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Linear(params) => params.validate(),
            Self::QueryDependent(params) => params.validate(),
            Self::Boosted(_, params) => params.validate(),
        }
    }

    /// The name of the ranker.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear(params) => params.kind(),
            Self::QueryDependent(_) => "query-dependent",
            Self::Boosted(objective, _) => objective.name(),
        }
    }

    /// All parameters by their names.
    pub fn params(&self) -> Value {
        let params = match self {
            Self::Linear(params) => serde_json::to_value(params).map(|value| value[params.kind()].clone()),
            Self::QueryDependent(params) => serde_json::to_value(params),
            Self::Boosted(_, params) => serde_json::to_value(params),
        };
        params.expect("parameters are plain data")
    }

    /// Trains the ranker. The validation lists choose what is chosen: epochs, lambda, scaling, the number of trees.
    pub fn train(
        &self,
        scalings: &[ScalingKind],
        train: FeatureLists,
        validation: (FeatureLists, Measure),
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Box<dyn Ranker>> {
        Ok(match self {
            Self::Linear(params) => {
                Box::new(train_ranker(params, scalings, train, None, Some(validation), seed, progress)?)
            }
            Self::QueryDependent(params) => {
                let (columns, scaling) = (QueryColumns::default(), scalings[0]);
                let input = QueryInput::Columns(&columns);
                Box::new(train_query_dependent(params, scaling, train, input, Some(validation), progress)?)
            }
            Self::Boosted(objective, params) => {
                let (lists, measure) = &validation;
                Box::new(train_boosted(*objective, params, &train, Some((lists, *measure)), seed, progress)?)
            }
        })
    }
}
