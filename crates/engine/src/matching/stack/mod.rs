//! Models whose scores are the features of a ranker.
//!
//! ```text
//! query --> best documents of every model, together the candidates
//!       --> two features a model: its score, and its score standardised over the candidates
//!       --> a ranker: weights (ListNet) or boosted trees (MART, LambdaMART)
//! ```
//!
//! A document without a score counts as 0, as in a [combination](super::Combination). The ranker is trained on the
//! validation judgments, which the models have not learned from; see [`train`](Stack::train). Where candidates are
//! given, these are ranked; of the whole collection, those that a model has among its best. Training clicks may be
//! features too; see [`StackParams::clicks`].

mod clicks;
mod columns;
mod matcher;
mod params;
mod training;

use std::sync::Arc;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

pub(super) use clicks::ClickCounts;
pub(crate) use columns::FEATURES;
pub use columns::{ColumnScorer, Columns};
pub(super) use matcher::StackMatcher;
pub use params::{StackCandidates, StackParams};
pub use training::StackTrial;

use super::MatchingModel;
use crate::rankers::{RankerKind, RankingModel, Scalings};

/// Models and a ranker over their scores; see the module.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The models, with the names by which they are told apart.
    pub parts: Vec<(String, MatchingModel)>,
    /// What their scores are ranked by.
    pub ranker: Arc<dyn RankingModel>,
    /// Best documents of every model that are candidates.
    pub depth: usize,
    /// Whether training clicks are features too.
    pub clicks: bool,
    /// The rankers that were tried, and what they were worth on the validation judgments.
    pub trials: Vec<StackTrial>,
}

/// Which rankers are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StackKind {
    /// Those that can be trained here; the best on the validation judgments is kept.
    Auto,
    /// ListNet.
    ListNet,
    /// MART.
    Mart,
    /// LambdaMART.
    LambdaMart,
}

/// Rankers that take features as they are rank by all columns, the others by the standardised scores alone.
fn takes(ranker: &RankerKind, column: usize) -> bool {
    ranker.takes.scalings == Scalings::None || column % FEATURES == 1
}

impl Stack {
    /// What the columns of the features that its ranker takes are called.
    pub fn columns(&self) -> Vec<String> {
        let columns = Columns::names(self.parts.iter().map(|(name, _)| name.as_str()), self.clicks);
        columns
            .into_iter()
            .enumerate()
            .filter(|(column, _)| takes(self.ranker.kind(), *column))
            .map(|(_, name)| name)
            .collect()
    }

    /// Features that its ranker takes.
    pub(crate) fn n_features(&self) -> usize {
        self.columns().len()
    }

    /// All features of a document.
    fn width(&self) -> usize {
        FEATURES * (self.parts.len() + if self.clicks { clicks::COUNTS.len() } else { 0 })
    }

    /// The same ranker over other models, which must have the names and kinds of those it has learned from: these,
    /// trained again with more data.
    pub fn with_parts(self, parts: Vec<(String, MatchingModel)>) -> Result<Self> {
        let described = |parts: &[(String, MatchingModel)]| {
            let parts = parts.iter().map(|(name, model)| format!("{name} ({})", model.kind()));
            parts.collect::<Vec<_>>().join(", ")
        };
        let [own, others] = [described(&self.parts), described(&parts)];
        if own != others {
            return Err(Error::Params(format!(
                "the ranker ranks by {own}, in this order; the models given are {others}"
            )));
        }
        Ok(Self { parts, ..self })
    }
}
