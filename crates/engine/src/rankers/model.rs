//! Trained rankers of any kind: they rank and explain lists, describe themselves, and are saved.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::ranking::{FeatureContribution, LinearRanker, Ranker, Shapley};
use serde::Serialize;
use serde_json::Value;

use super::query_dependent::QueryTable;
use super::{RankerKind, RankerRecipe};
use crate::container::Writer;
use crate::description::{Description, Details};
use crate::prose::to_json;

/// A trained ranker of feature lists.
pub trait RankingModel: Ranker + Any + Debug + Send + Sync {
    /// Its kind.
    fn kind(&self) -> &'static RankerKind;

    /// Number of features that the model knows.
    fn n_features(&self) -> usize;

    /// Validation figure of the weights or trees that were kept.
    fn validated(&self) -> Option<f64>;

    /// Returns the recipe with what validation chose: epochs, lambda, scaling, the number of trees. It is for training
    /// again with the validation lists among those to learn from.
    fn settled(&self) -> RankerRecipe;

    /// Warns of weights or trees that rank nothing, or are not what was asked for.
    fn remark(&self) -> Option<&'static str> {
        None
    }

    /// Describes its training; `measure` is what validation measured.
    fn course(&self, measure: &str) -> TrainingCourse;

    /// Figures that training reported list by list, as the columns and rows of a table.
    fn curve(&self) -> Option<(Vec<&'static str>, Vec<Vec<String>>)> {
        None
    }

    /// Describes the model: parameters, sizes, features that count most.
    fn describe(&self) -> Description;

    /// Returns the importance of each feature inside the model; none where that differs from query to query.
    fn importance(&self) -> Option<Importance>;

    /// The weights of the features, of models with one weight for each.
    fn linear(&self) -> Option<&LinearRanker> {
        None
    }

    /// Returns the contribution of each feature to the score of the `i`-th document; none where scores are no sums over
    /// features, which [`shapley`](Self::shapley) explains.
    fn contributions(&self, list: &List<'_>, i: usize) -> Result<Option<Vec<FeatureContribution>>>;

    /// Returns the contribution of each feature to the score of the `i`-th document over the mean of the `references`.
    fn shapley(&self, list: &List<'_>, i: usize, references: &[usize]) -> Result<Shapley>;

    /// Describes how the function was made that ranks a list, where lists have functions of their own.
    fn describe_function(&self, _list: &List<'_>) -> Result<Option<Description>> {
        Ok(None)
    }

    /// Says which lists are ranked in another way than the model is meant to.
    fn notes_on(&self, _lists: &FeatureLists) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Returns the model with the query features of the lists that it is to rank; none if it needs no such table.
    fn with_queries(
        &self,
        _table: &QueryTable,
        _lists: &FeatureLists,
    ) -> Result<Option<Arc<dyn RankingModel>>> {
        Ok(None)
    }

    /// Writes its metadata and arrays to a model file.
    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()>;
}

/// Importance of the features inside a model, by column.
#[derive(Debug, Clone, PartialEq)]
pub enum Importance {
    /// Weights of the features, as scaled.
    Weights(Vec<f64>),
    /// Shares of the gain of all splits.
    Gains(Vec<f64>),
}

impl Importance {
    /// The numbers.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Weights(values) | Self::Gains(values) => values,
        }
    }
}

/// The course of a training: notes, a table of what was tried, and details for programs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TrainingCourse {
    /// Warnings and remarks for the user.
    pub notes: Vec<String>,
    /// Size of the model, to stand beside the sizes of the data; may be empty.
    pub size: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Epochs, lambdas or numbers of trees that were tried.
    pub rows: Vec<CourseRow>,
    /// A sentence below the table; may be empty.
    pub closing: String,
    /// Details for programs.
    pub details: Details,
}

/// One line of a [`TrainingCourse`].
#[derive(Debug, Clone)]
pub struct CourseRow {
    /// Its cells.
    pub cells: Vec<Cell>,
    /// True if a short table has the row.
    pub is_brief: bool,
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// Text, or a number in its final form.
    Text(String),
    /// A count.
    Count(u64),
}

impl TrainingCourse {
    pub(super) fn columns(&mut self, names: &[&str]) {
        self.header = names.iter().map(|&name| name.to_owned()).collect();
    }

    /// Adds a line of texts; the last cell marks what was kept.
    pub(super) fn row(&mut self, cells: Vec<String>, is_kept: bool) {
        let mark = if is_kept { "kept" } else { "" };
        let cells = cells.into_iter().chain([mark.to_owned()]).map(Cell::Text).collect();
        self.rows.push(CourseRow { cells, is_brief: true });
    }
}

/// A validation figure in a table.
pub(super) fn figure(figure: Option<f64>) -> String {
    figure.map_or(String::new(), |figure| format!("{figure:.4}"))
}

impl Description {
    /// Adds parameters by their names, as files have them.
    pub(super) fn exact_params(&mut self, params: &impl Serialize) {
        if let Value::Object(params) = to_json(params) {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.facts.extend(params.iter().map(|(name, value)| (name.clone(), text(value))));
        }
    }

    /// Adds the validation figure of a model, where it has one.
    pub(super) fn validated(&mut self, figure: Option<f64>) {
        self.facts.extend(
            figure.map(|figure| ("validation figure, when trained".to_owned(), format!("{figure:.4}"))),
        );
    }
}
