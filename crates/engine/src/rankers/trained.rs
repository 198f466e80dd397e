//! A ranker of any kind after training: it ranks, is saved, and says what was chosen for it.

use std::path::Path;

use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::measure::Measure;
use matchrank_core::ranking::{LambdaPath, Ranker, evaluate_ranker};

use super::boosted::BoostedModel;
use super::query_dependent::{QueryDependentModel, QueryInput};
use super::recipe::RecipeParams;
use super::{RankerModel, RankerParams, RankerRecipe, RankerReport};
use crate::model_file::{self, Provenance};
use matchrank_core::ranking::slam::Solver;

/// A trained ranker.
#[derive(Debug)]
pub enum TrainedRanker {
    /// A weight for every feature.
    Linear(Box<RankerModel>),
    /// A function for every query.
    QueryDependent(Box<QueryDependentModel>),
    /// Boosted trees.
    Boosted(Box<BoostedModel>),
}

impl Ranker for TrainedRanker {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        match self {
            Self::Linear(model) => model.score(list, scores),
            Self::QueryDependent(model) => model.score(list, scores),
            Self::Boosted(model) => model.score(list, scores),
        }
    }
}

impl TrainedRanker {
    /// The validation figure of what was kept.
    pub fn validated(&self) -> Option<f64> {
        match self {
            Self::Linear(model) => model.report.validated(),
            Self::QueryDependent(model) => model.validated(),
            Self::Boosted(model) => model.report.validated(),
        }
    }

    /// The validation figure of what was kept; where nothing was chosen, as by trees that split nothing, it is measured on
    /// the validation lists now.
    pub fn value_on(&mut self, lists: &FeatureLists, measure: Measure, query: QueryInput<'_>) -> Result<f64> {
        if let Some(value) = self.validated() {
            return Ok(value);
        }
        self.know(query, lists)?;
        Ok(evaluate_ranker(self, lists, &[measure])?.mean(0))
    }

    /// Writes the model file.
    pub fn save(&self, path: &Path, provenance: &Provenance) -> Result<()> {
        match self {
            Self::Linear(model) => model_file::save_ranker(path, model, provenance),
            Self::QueryDependent(model) => model_file::save_query_dependent(path, model, provenance),
            Self::Boosted(model) => model_file::save_boosted(path, model, provenance),
        }
    }

    /// Tells a query-dependent ranker the query features of lists it is to rank; the others need none.
    pub fn know(&mut self, query: QueryInput<'_>, lists: &FeatureLists) -> Result<()> {
        if let (Self::QueryDependent(model), QueryInput::Table(table)) = (self, query)
            && model.learner().params().weights.are_local()
        {
            model.know(table, lists.iter().map(|list| list.query().to_owned()))?;
        }
        Ok(())
    }

    /// Returns the recipe with what validation chose: epochs, lambda, scaling, the number of trees. It is for training
    /// again with the validation lists among those to learn from.
    pub fn settled(&self) -> RankerRecipe {
        let (params, scalings) = match self {
            Self::Linear(model) => {
                let mut params = model.params.clone();
                match (&mut params, &model.report) {
                    (RankerParams::Perceptron(params), RankerReport::Perceptron(report)) => {
                        params.epochs = report.kept;
                    }
                    (RankerParams::Slam(params), RankerReport::Slam(report)) => {
                        params.lambda = LambdaPath::One(report.lambda);
                        if report.by_pegasos {
                            params.solver = Solver::Pegasos;
                        }
                    }
                    (RankerParams::RankSvm(params), RankerReport::Path(report)) => {
                        params.lambda = LambdaPath::One(report.lambda);
                    }
                    (RankerParams::ListNet(params), RankerReport::Path(report)) => {
                        params.lambda = LambdaPath::One(report.lambda);
                    }
                    _ => unreachable!("a report is of its ranker"),
                }
                (RecipeParams::Linear(params), vec![model.ranker.scaling.kind()])
            }
            Self::QueryDependent(model) => {
                let mut params = model.learner().params().clone();
                params.lambda = LambdaPath::One(model.lambda());
                (RecipeParams::QueryDependent(params), vec![model.scaling().kind()])
            }
            Self::Boosted(model) => {
                let mut params = model.params;
                params.trees = model.trees.len().max(1);
                (RecipeParams::Boosted(model.objective, params), Vec::new())
            }
        };
        RankerRecipe { params, scalings }
    }

    /// What a user should know about the weights or trees: that they rank nothing, or are not what was asked for.
    pub fn remark(&self) -> Option<&'static str> {
        match self {
            Self::Linear(model) => model.remark(),
            Self::Boosted(model) if model.trees.gains().iter().all(|&gain| gain == 0.0) => Some(
                "no tree splits anything, so every document gets the same score: there may be too few lists for leaves of \
                     min_rows rows, or one grade alone; set a smaller min_rows, or give more lists",
            ),
            Self::Boosted(_) | Self::QueryDependent(_) => None,
        }
    }
}

impl RankerModel {
    /// What a user should know about the weights: that they are all 0, or how SLAM left w = 0.
    pub fn remark(&self) -> Option<&'static str> {
        let is_zero = self.ranker.weights.iter().all(|weight| *weight == 0.0);
        match &self.report {
            RankerReport::Slam(report) if report.collapsed && is_zero => Some(
                "all weights are 0 and every document gets the same score: w = 0 minimises the objective, which is proved. \
                 The solver auto, the default, keeps the iterate of Pegasos instead; the perceptron learns from the same \
                 losses online",
            ),
            _ if is_zero => Some("all weights are 0: every document gets the same score"),
            RankerReport::Slam(report) if report.collapsed => Some(
                "w = 0 minimises the objective, which is proved, so the weights are the mean iterate of Pegasos, which is \
                 not at that minimum",
            ),
            RankerReport::Slam(report) if report.by_pegasos && self.is_slam_auto() => Some(
                "w = 0 minimises the objective for every lambda that was given, which is proved, so the weights are the \
                 mean iterate of Pegasos; validation chose a smaller lambda, for which nothing is proved",
            ),
            _ => None,
        }
    }

    fn is_slam_auto(&self) -> bool {
        matches!(&self.params, RankerParams::Slam(params) if params.solver == Solver::Auto)
    }
}
