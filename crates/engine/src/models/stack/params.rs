//! Parameters of the ranker of a stack.

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::StackKind;
use crate::rankers::boosted::BoostedParams;
use crate::settings::Parameter;

/// Documentation of the parameters.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("ranker", "auto", "auto (the best of listnet and lambdamart), listnet, mart, lambdamart"),
    Parameter::new("depth", "100", "best documents of every model that are candidates"),
    Parameter::new(
        "candidates",
        "auto",
        "documents of a query that are learned from: judged, all (the candidates), auto (judged where most queries \
         have irrelevant ones among them)",
    ),
    Parameter::new(
        "clicks",
        "true",
        "whether training clicks are features too: on the document, of the query, and of the query on the document, \
         each as log(1 + n)",
    ),
    Parameter::new(
        "attributes",
        "true",
        "whether attributes of documents are features too: numbers, ages by dates, the most frequent values of \
         categories, and whether the query contains the value",
    ),
    Parameter::new("queries", "2000", "validation queries that are learned from, at most"),
    Parameter::new("folds", "5", "folds of the validation queries"),
    Parameter::new(
        "bags",
        "5",
        "parts of the queries that trees are grown on; the mean of their values ranks",
    ),
    Parameter::new("trees", "200", "trees of a bag at most"),
    Parameter::new("learning_rate", "0.05", "factor that the values of each tree are multiplied by"),
    Parameter::new("min_rows", "100", "rows of a leaf at least"),
];

/// Leaves of trees that are tried.
pub(super) const LEAVES: [usize; 3] = [4, 7, 15];

/// Rankers to try. Default: auto.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackParams {
    /// The ranker. Default: auto.
    pub ranker: StackKind,
    /// Best documents of every model that are candidates. Default: 100.
    pub depth: usize,
    /// Documents of a validation query to learn from. Default: auto.
    pub candidates: StackCandidates,
    /// True if training clicks (on the document, of the query, and of the query on the document) are features too, as
    /// log(1 + n). With models trained again on more clicks they are larger than what the ranker learned from. That of
    /// the query is the same for a whole list, so it is nothing when standardised, and tells trees alone something.
    /// Default: true.
    pub clicks: bool,
    /// True if attributes of documents are features too, where the dataset has some. Default: true.
    pub attributes: bool,
    /// Validation queries that are learned from, at most; which, depends on the seed. Default: 2000.
    pub queries: usize,
    /// Folds of the validation queries. Default: 5.
    pub folds: usize,
    /// Parts of the queries that trees are grown on, each with four fifths of them; the mean of their values ranks. One has
    /// all queries. Default: 5.
    pub bags: usize,
    /// Trees of a bag at most. Default: 200.
    pub trees: usize,
    /// Factor of the values of each tree. Default: 0.05.
    pub learning_rate: f64,
    /// Rows of a leaf at least. Default: 100.
    pub min_rows: usize,
}

/// Documents of a validation query that a ranker learns from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StackCandidates {
    /// Those that suit the judgments.
    Auto,
    /// The judged ones: for rankings of given candidates.
    Judged,
    /// The best of every model: for rankings of the whole collection.
    All,
}

impl Default for StackParams {
    fn default() -> Self {
        Self {
            ranker: StackKind::Auto,
            depth: 100,
            candidates: StackCandidates::Auto,
            clicks: true,
            attributes: true,
            queries: 2000,
            folds: 5,
            bags: 5,
            trees: 200,
            learning_rate: 0.05,
            min_rows: 100,
        }
    }
}

impl StackParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(1..=100).contains(&self.bags) {
            return Err(Error::Params("bags must be from 1 to 100".into()));
        }
        if self.depth == 0 || !(2..=100).contains(&self.folds) || self.queries < self.folds {
            let message = "depth must be at least 1, folds from 2 to 100, and queries no fewer than folds";
            return Err(Error::Params(message.into()));
        }
        self.boosted(LEAVES[0], self.trees).validate()
    }

    pub(super) fn boosted(&self, leaves: usize, trees: usize) -> BoostedParams {
        let Self { learning_rate, min_rows, .. } = *self;
        BoostedParams { trees, learning_rate, leaves, min_rows, ..Default::default() }
    }
}
