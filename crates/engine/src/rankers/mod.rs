//! Rankers over feature lists: core's linear rankers with what they were trained by.
//!
//! | question | where |
//! |---|---|
//! | from lists to a model | [`train_ranker`] |
//! | any ranker by name and settings, and after training | [`RankerRecipe`], [`TrainedRanker`] |
//! | train on some folds, choose on one, test on another, for all | [`comparison`](crate::comparison) |
//! | boosted trees | [`boosted`] |
//! | scores of matching models as features | [`columns`] |
//! | what features are worth on lists | [`permutation_importance`] |
//! | go on learning, one list at a time | [`online`] |
//! | a function for each query | [`query_dependent`] |
//! | weights for a search engine's plugin | [`elasticsearch`] |

pub mod boosted;
pub mod columns;
pub mod elasticsearch;
mod importance;
pub mod online;
pub mod query_dependent;
mod recipe;
#[cfg(test)]
mod tests;
mod trained;
mod training;

use matchrank_core::data::List;
use matchrank_core::ranking::listnet::ListNetParams;
use matchrank_core::ranking::perceptron::{PerceptronParams, PerceptronReport, PerceptronState};
use matchrank_core::ranking::ranksvm::{PathReport, RankSvmParams};
use matchrank_core::ranking::slam::{SlamParams, SlamReport};
use matchrank_core::ranking::{LinearRanker, PathPoint, Ranker, ScalingKind};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use importance::{FeatureImportance, PermutationImportance, permutation_importance};
pub use recipe::{RankerRecipe, RankerTraining, RecipeParams};
pub use trained::TrainedRanker;
pub use training::train_ranker;

use self::online::StreamPosition;
use crate::training::settings::params_from;

/// The parameters of a ranker, and so its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RankerParams {
    /// The SLAM perceptron.
    Perceptron(PerceptronParams),
    /// SLAM in batch.
    Slam(SlamParams),
    /// RankSVM.
    RankSvm(RankSvmParams),
    /// ListNet.
    ListNet(ListNetParams),
}

impl RankerParams {
    /// The kinds there are.
    pub const KINDS: [&str; 4] = ["perceptron", "slam", "ranksvm", "listnet"];

    /// The name in files and on the command line.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Perceptron(_) => "perceptron",
            Self::Slam(_) => "slam",
            Self::RankSvm(_) => "ranksvm",
            Self::ListNet(_) => "listnet",
        }
    }

    /// The parameters of a kind, with settings over its defaults.
    pub fn new(kind: &str, settings: &[(String, Value)]) -> Result<Self> {
        Ok(match kind {
            "perceptron" => Self::Perceptron(params_from(settings)?),
            "slam" => Self::Slam(params_from(settings)?),
            "ranksvm" => Self::RankSvm(params_from(settings)?),
            "listnet" => Self::ListNet(params_from(settings)?),
            other => {
                let known = RankerRecipe::KINDS.join(", ");
                return Err(Error::Params(format!("there is no ranker called {other}; there are {known}")));
            }
        })
    }

    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Perceptron(params) => params.validate(),
            Self::Slam(params) => params.validate(),
            Self::RankSvm(params) => params.validate(),
            Self::ListNet(params) => params.validate(),
        }
    }
}

/// How training went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RankerReport {
    /// Of a perceptron.
    Perceptron(PerceptronReport),
    /// Of SLAM in batch.
    Slam(SlamReport),
    /// Of RankSVM and ListNet.
    Path(PathReport),
}

impl RankerReport {
    /// The validation figure of the weights that were kept.
    pub fn validated(&self) -> Option<f64> {
        let of_path = |path: &[PathPoint], lambda: f64| {
            path.iter().find(|point| point.lambda == lambda).and_then(|point| point.validation)
        };
        match self {
            Self::Perceptron(report) => report.epochs.get((report.kept as usize).checked_sub(1)?)?.validation,
            Self::Slam(report) => of_path(&report.path, report.lambda),
            Self::Path(report) => of_path(&report.path, report.lambda),
        }
    }
}

/// One of several ways of scaling that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalingTrial {
    /// How features were scaled.
    pub scaling: ScalingKind,
    /// The validation figure.
    pub validation: f64,
}

/// A ranker as a file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct RankerModel {
    /// What it was trained by.
    pub params: RankerParams,
    /// What it ranks with.
    pub ranker: LinearRanker,
    /// How training went.
    pub report: RankerReport,
    /// What a perceptron needs to go on; none for the others.
    pub state: Option<PerceptronState>,
    /// The scalings that were tried, where validation chose; else empty.
    pub scalings: Vec<ScalingTrial>,
    /// How far a perceptron has learned from the last stream of lists.
    pub stream: Option<StreamPosition>,
}

impl RankerModel {
    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        self.params.kind()
    }
}

impl Ranker for RankerModel {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        self.ranker.score(list, scores);
    }
}
