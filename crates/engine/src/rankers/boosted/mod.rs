//! Boosted trees: MART and LambdaMART, grown by LightGBM and scored without it.
//!
//! A tree is grown at a time. Where there are validation lists, the sum of the trees so far is measured on them after
//! each, and the number of trees that is best is kept; growing ends when 50 trees have not helped.
//!
//! NaN is a missing value, in training and in scoring, as LightGBM has it. Rows count by their weights, where the lists
//! have some ([`FeatureLists::weights`]): LightGBM multiplies what it learns from a row by its weight.

mod booster;
mod codec;
pub mod lambdamart;
mod library;
pub mod mart;
mod model;
mod params;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::trees::Trees;
use matchrank_core::ranking::{JudgedLists, Ranker, ScalingKind};
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use booster::Booster;
use library::Library;
pub use library::VARIABLE;
pub use model::{BoostedModel, BoostedReport};
pub use params::BoostedParams;

use super::kind::{Chosen, Scalings, Takes};
use super::recipe::{Lessons, RankerParams, require_higher_is_better};
use super::{RankerKind, RankingModel};
use crate::json::Json;
use crate::settings::{Parameter, params_from};

/// Trees that may come without a better figure before growing ends.
const PATIENCE: usize = 50;

/// Inputs that the training of trees takes.
const TAKES: Takes = Takes {
    scalings: Scalings::None,
    missing: true,
    query_weights: true,
    document_weights: true,
    query_features: false,
};

const TREES: Chosen = Chosen { param: "trees", what: "the number of trees", otherwise: None };

const HELP: &str = "Trees are grown by LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM); \
                    ranking does not need it. Features are not scaled.";

/// Parameters that both kinds have.
const PARAMETERS: [Parameter; 13] = [
    Parameter::new("trees", "300", "trees at most; with validation lists as many as are best there"),
    Parameter::new("learning_rate", "0.05", "what the values of each tree are multiplied by"),
    Parameter::new("leaves", "7", "leaves of a tree"),
    Parameter::new("min_rows", "50", "rows of a leaf at least"),
    Parameter::new("max_depth", "0", "depth of a tree at most; 0 for no limit"),
    Parameter::new("feature_fraction", "1", "share of the features that each tree may split on"),
    Parameter::new("bagging_fraction", "1", "share of the rows that trees are grown on"),
    Parameter::new("bagging_freq", "0", "trees after which rows are drawn anew; at least 1 for bagging"),
    Parameter::new("lambda_l1", "0", "weight of the absolute values of leaves"),
    Parameter::new("lambda_l2", "0", "weight of the squares of leaves"),
    Parameter::new("min_gain_to_split", "0", "gain of a split at least"),
    Parameter::new("min_sum_hessian_in_leaf", "0.001", "sum of second derivatives of a leaf at least"),
    Parameter::new("max_bin", "255", "values that a feature is rounded to, at most"),
];

/// Parameters that users of LightGBM tune.
const SPACE: [(&str, &str); 11] = [
    ("learning_rate", "0.02,0.05,0.1"),
    ("leaves", "4,7,15,31"),
    ("min_rows", "10,20,50,100"),
    ("max_depth", "0,4,6"),
    ("feature_fraction", "0.3,0.5,0.7,1"),
    ("bagging_fraction", "0.5,0.7,0.9,1"),
    ("bagging_freq", "1"),
    ("lambda_l1", "0,0.1,1"),
    ("lambda_l2", "0,1,10,100"),
    ("min_gain_to_split", "0,0.01,0.1"),
    ("max_bin", "63,255"),
];

/// Values with one more at the end.
const fn with<T: Copy, const N: usize, const M: usize>(values: [T; N], last: T) -> [T; M] {
    assert!(M == N + 1, "one more");
    let mut all = [last; M];
    let mut i = 0;
    while i < N {
        all[i] = values[i];
        i += 1;
    }
    all
}

/// Returns whether LightGBM is there to grow trees.
pub fn is_installed() -> bool {
    Library::load().is_ok()
}

/// Returns an error that says how to install LightGBM, if it is not there.
pub(crate) fn check_installed() -> Result<()> {
    Library::load().map(drop)
}

/// Says which library of LightGBM grows trees, once in a process, if there is one: before work whose own notes are not
/// shown.
fn note_library(progress: &dyn Progress) {
    if let Ok(library) = Library::load() {
        library.note(progress);
    }
}

/// Objective that trees are grown to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// MART: squared errors of the grades.
    Mart,
    /// LambdaMART: pairs in the wrong order, by what exchanging them would change NDCG.
    LambdaMart,
}

impl Objective {
    /// All objectives.
    pub const ALL: [Self; 2] = [Self::Mart, Self::LambdaMart];

    /// The kind of ranker.
    pub fn kind(self) -> &'static RankerKind {
        match self {
            Self::Mart => &mart::KIND,
            Self::LambdaMart => &lambdamart::KIND,
        }
    }

    fn lightgbm(self) -> &'static str {
        match self {
            Self::Mart => "regression",
            Self::LambdaMart => "lambdarank",
        }
    }
}

/// Grades that LambdaMART can take: it counts in gains of 2^grade - 1.
const HIGHEST_GRADE: f32 = 30.0;

/// An objective, and how trees are grown for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boosting {
    /// Objective that trees are grown to minimise.
    pub objective: Objective,
    /// Parameters of the growing.
    pub params: BoostedParams,
}

impl Boosting {
    fn parse(objective: Objective, settings: &[(String, Json)]) -> Result<Arc<dyn RankerParams>> {
        Ok(Arc::new(Self { objective, params: params_from(settings)? }))
    }

    /// Grows trees, as many as are best on the validation lists where there are any.
    pub fn train(&self, lessons: Lessons<'_>, progress: &dyn Progress) -> Result<BoostedModel> {
        let Lessons { mut train, validation, query_weights, seed, .. } = lessons;
        query_weights.map_or(Ok(()), |weights| weigh_rows(&mut train, weights))?;
        let validation = validation.as_ref().map(|(lists, measure)| (lists, *measure));
        let (trees, validation) = self.grow(&train, validation, seed, progress)?;
        let kept = if validation.is_empty() { trees.len() } else { best(&validation) };
        let Self { objective, params } = *self;
        let report = BoostedReport { validation };
        Ok(BoostedModel { objective, params, trees: trees.truncated(kept), report })
    }

    /// Grows trees and returns all of them, with the validation figure of the first 1, 2, ... of them.
    pub(crate) fn grow(
        &self,
        train: &FeatureLists,
        validation: Option<(&FeatureLists, Measure)>,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<(Trees, Vec<f64>)> {
        let Self { objective, params } = self;
        params.validate()?;
        validation.map_or(Ok(()), |(_, measure)| require_higher_is_better(measure))?;
        let library = Library::load()?;
        library.note(progress);
        if *objective == Objective::LambdaMart {
            let is_odd = |grade: &f32| grade.fract() != 0.0 || *grade > HIGHEST_GRADE;
            if let Some(row) = train.labels().iter().position(is_odd) {
                let grade = train.labels()[row];
                let message = format!(
                    "the grade is {grade}; LambdaMART takes whole grades from 0 to {HIGHEST_GRADE} (MART takes all)"
                );
                return Err(train.error_at(row, message));
            }
        }
        // Judgments are made once, and measure the trees so far after each.
        let validation = validation
            .map(|(lists, measure)| Ok::<_, Error>((lists, JudgedLists::new(lists)?, measure)))
            .transpose()?;
        progress.begin("growing trees", Some(params.trees as u64), "trees");
        let text = params.text(*objective, train, seed);
        let mut booster = Booster::new(&library, train, &text, params.min_rows)?;
        let mut figures = Vec::new();
        let mut scores = validation.as_ref().map_or(Vec::new(), |(lists, ..)| vec![0.0; lists.n_rows()]);
        for grown in 0..params.trees {
            if !booster.grow()? {
                break;
            }
            progress.advance(1);
            let Some((lists, judged, measure)) = &validation else { continue };
            let values = booster.trees(grown, 1)?.score_all(lists);
            scores.par_iter_mut().zip(values).for_each(|(score, value)| *score += value);
            figures.push(judged.evaluate(&scores, &[*measure])?.mean(0));
            if figures.len() >= best(&figures) + PATIENCE {
                break;
            }
        }
        Ok((booster.trees(0, 0)?, figures))
    }
}

impl RankerParams for Boosting {
    fn validate(&self) -> Result<()> {
        self.params.validate()
    }

    fn json(&self) -> Value {
        serde_json::to_value(self.params).expect("parameters are plain data")
    }

    fn train(
        &self,
        _: &[ScalingKind],
        lessons: Lessons<'_>,
        progress: &dyn Progress,
    ) -> Result<Arc<dyn RankingModel>> {
        Ok(Arc::new(self.train(lessons, progress)?))
    }
}

/// The smallest number of trees with the best figure.
fn best(figures: &[f64]) -> usize {
    let best = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    1 + figures.iter().position(|&figure| figure == best).unwrap_or(0)
}

/// Multiplies the weights of rows by those of their queries.
fn weigh_rows(lists: &mut FeatureLists, queries: &[f64]) -> Result<()> {
    if queries.len() != lists.n_queries() {
        let (given, needed) = (queries.len(), lists.n_queries());
        return Err(Error::Shape(format!("{given} query weights were given for {needed} queries")));
    }
    let rows = lists.iter().zip(queries);
    let weights = rows.flat_map(|(list, query)| {
        (0..list.len()).map(|i| *query as f32 * list.weight(i)).collect::<Vec<_>>()
    });
    let weights = weights.collect();
    lists.set_weights(weights)
}
