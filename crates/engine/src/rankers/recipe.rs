//! Rankers by name and settings, before there are lists to train them on.

use std::fmt::Debug;
use std::sync::Arc;

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{ScalingKind, evaluate_ranker};
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::kind::Scalings;
use super::query_dependent::{QueryColumns, QueryInput};
use super::{RankerKind, RankingModel, registry};
use crate::json::Json;

/// The setting that names a scaling beside the parameters of a ranker.
const SCALING: &str = "scaling";

/// A ranker with its parameters, and the scalings of its features.
#[derive(Debug, Clone)]
pub struct RankerRecipe {
    kind: &'static RankerKind,
    params: Arc<dyn RankerParams>,
    /// Of several, validation chooses.
    scalings: Vec<ScalingKind>,
}

/// Parameters of a kind of ranker.
pub(crate) trait RankerParams: Debug + Send + Sync {
    /// Returns an error if a parameter is out of range.
    fn validate(&self) -> Result<()>;
    /// The parameters by their names.
    fn json(&self) -> Value;
    /// Trains a model.
    fn train(
        &self,
        scalings: &[ScalingKind],
        lessons: Lessons<'_>,
        progress: &dyn Progress,
    ) -> Result<Arc<dyn RankingModel>>;
}

/// Lists to learn from, and all else that training needs beside parameters.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Lessons<'a> {
    /// Lists to learn from.
    pub train: FeatureLists,
    /// Lists that choose what is chosen (epochs, lambda, scaling, the number of trees), and the measure they choose by.
    pub validation: Option<(FeatureLists, Measure)>,
    /// Weights of the queries of `train`.
    pub query_weights: Option<&'a [f64]>,
    /// Source of the query features, for rankers that take any.
    pub query: QueryInput<'a>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Lessons<'_> {
    /// Lists to learn from, without anything to choose by.
    pub fn new(train: FeatureLists) -> Self {
        let query = QueryInput::Columns(&QueryColumns::Automatic);
        Self { train, validation: None, query_weights: None, query, seed: 0 }
    }
}

/// Query features and seed of trainings on different lists.
#[derive(Debug, Clone, Copy)]
pub struct RankerTraining<'a> {
    /// Source of the query features, for rankers that take any.
    pub query: QueryInput<'a>,
    /// Seed of everything random.
    pub seed: u64,
}

impl<'a> RankerTraining<'a> {
    /// Takes lists to learn from and to choose by.
    pub fn on(self, train: FeatureLists, validation: Option<(FeatureLists, Measure)>) -> Lessons<'a> {
        Lessons { train, validation, query_weights: None, query: self.query, seed: self.seed }
    }

    /// Returns a model with the query features of lists that it is to rank, where it takes any.
    pub fn inform(self, model: Arc<dyn RankingModel>, lists: &FeatureLists) -> Result<Arc<dyn RankingModel>> {
        let QueryInput::Table(table) = self.query else { return Ok(model) };
        Ok(model.with_queries(table, lists)?.unwrap_or(model))
    }

    /// Validation figure of what was kept; where nothing was chosen, as by trees that split nothing, it is measured on the
    /// validation lists now.
    pub fn value_on(
        self,
        model: Arc<dyn RankingModel>,
        lists: &FeatureLists,
        measure: Measure,
    ) -> Result<f64> {
        if let Some(value) = model.validated() {
            return Ok(value);
        }
        Ok(evaluate_ranker(&*self.inform(model, lists)?, lists, &[measure])?.mean(0))
    }
}

impl RankerRecipe {
    /// The ranker of a name, with settings over its defaults; a [variant](super::Variants) is named after a slash. A
    /// setting `scaling` takes the place of `scalings`.
    pub fn new(name: &str, settings: &[(String, Json)], scalings: &[ScalingKind]) -> Result<Self> {
        let (kind_name, variant) =
            name.split_once('/').map_or((name, None), |(kind, variant)| (kind, Some(variant)));
        let kind = registry::find(kind_name).filter(|kind| variant.is_none() || kind.variants.is_some());
        let kind = kind.ok_or_else(|| {
            Error::Params(format!("there is no ranker called {name}; there are {}", registry::names()))
        })?;
        let takes_scaling = kind.takes.scalings != Scalings::None;
        let (scaling, mut settings): (Vec<_>, Vec<_>) =
            settings.iter().cloned().partition(|(name, _)| takes_scaling && name == SCALING);
        let scalings = match scaling.last() {
            Some((_, value)) => vec![scaling_of(value)?],
            None if takes_scaling => scalings.to_vec(),
            None => Vec::new(),
        };
        if let (Some(variants), Some(variant)) = (kind.variants, variant) {
            settings.push((variants.param.to_owned(), Json::of(&variant)));
        }
        Ok(Self { kind, params: (kind.parse)(&settings)?, scalings })
    }

    pub(super) fn of(
        kind: &'static RankerKind,
        params: impl RankerParams + 'static,
        scalings: Vec<ScalingKind>,
    ) -> Self {
        Self { kind, params: Arc::new(params), scalings }
    }

    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.params.validate()
    }

    /// Its kind.
    pub fn kind(&self) -> &'static RankerKind {
        self.kind
    }

    /// All parameters by their names, the scaling too where there is one to choose.
    pub fn params(&self) -> Json {
        let mut params = self.params.json();
        let names = || serde_json::to_value(&self.scalings).expect("names of scalings");
        match self.scalings.as_slice() {
            [] => {}
            [_] => params[SCALING] = names()[0].clone(),
            _ => params[SCALING] = names(),
        }
        Json(params)
    }

    /// Trains the ranker.
    pub fn train(&self, lessons: Lessons<'_>, progress: &dyn Progress) -> Result<Arc<dyn RankingModel>> {
        self.params.validate()?;
        self.params.train(&self.scalings, lessons, progress)
    }
}

/// Returns an error if a measure is better when smaller: epochs, lambdas and trees are chosen by the largest figure.
pub(super) fn require_higher_is_better(measure: Measure) -> Result<()> {
    if measure.higher_is_better() {
        return Ok(());
    }
    Err(Error::Params(format!(
        "{measure} is better when smaller; epochs, lambdas and trees are chosen by a measure that is better when larger, \
         such as ndcg@10"
    )))
}

fn scaling_of(value: &Json) -> Result<ScalingKind> {
    serde_json::from_value(value.0.clone()).map_err(|_| {
        Error::Params(format!(
            "scaling={}: scaling is one of none, z_score, min_max, query_z_score, query_min_max (default min_max)",
            value.plain()
        ))
    })
}
