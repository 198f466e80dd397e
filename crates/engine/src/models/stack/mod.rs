//! Models whose scores are the features of a ranker.
//!
//! ```text
//! query --> best documents of every model, together the candidates
//!       --> two features a model: its score, and its score standardised over the candidates
//!       --> a ranker: weights (ListNet) or boosted trees (MART, LambdaMART)
//! ```
//!
//! A document without a score counts as 0, as in a [combination](super::combination::Combination). The ranker is trained on the
//! validation judgments, which the models have not learned from; see [`train`](Stack::train). Where candidates are
//! given, these are ranked; of the whole collection, those that a model has among its best. Training clicks and attributes
//! of documents may be features too; see [`StackParams::clicks`] and [`StackParams::attributes`].

mod attributes;
mod bagging;
mod clicks;
mod codec;
mod columns;
mod lists;
mod matcher;
mod params;
mod requirements;
mod training;

use std::sync::Arc;

use matchrank_core::message::shortest;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use attributes::AttributeColumns;
pub use attributes::StackAttribute;
use clicks::ClickCounts;
use columns::FEATURES;
pub use columns::{ColumnScorer, Columns, MoreColumns};
pub use lists::{JudgedQueries, join_columns, list_columns};
pub use params::{StackCandidates, StackParams};
pub use requirements::check_stack;
pub(crate) use requirements::learned_already;
pub use training::{FEWEST_FOR_TREES, StackTrial};

use super::{Binding, MatchingKind, MatchingModel, Related, RelatedQuery, registry};
use crate::container::Writer;
use crate::dataset::Dataset;
use crate::description::{Description, Remark};
use crate::prose::human;
use crate::rankers::{Importance, RankerKind, RankingModel, Scalings};
use crate::scoring::Matcher;

/// The stack in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Stack",
    help: "The best documents of every model are the candidates of a query; their scores, plain and standardised over the \
           candidates, are the features. The ranker learns from the validation judgments. Which ranker, and how large, is \
           chosen by folds of the validation queries, each ranked by what was learned from the others.",
    parameters: params::PARAMETERS,
    cost: 100.0,
    ..MatchingKind::new("stack", "Stack: a ranker whose features are the scores of several models", |file| {
        Ok(Arc::new(codec::get(file)?))
    })
};

/// Models and a ranker over their scores; see the module.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The models, with the names by which they are told apart.
    pub parts: Vec<(String, Arc<dyn MatchingModel>)>,
    /// Ranker over their scores.
    pub ranker: Arc<dyn RankingModel>,
    /// Best documents of every model that are candidates.
    pub depth: usize,
    /// True if training clicks are features too.
    pub clicks: bool,
    /// Attributes of documents that are features too.
    pub attributes: Vec<StackAttribute>,
    /// The rankers that were tried, and what they were worth on the validation judgments.
    pub trials: Vec<StackTrial>,
}

/// Rankers that are tried.
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
    /// Names of the columns that its ranker takes.
    pub fn columns(&self) -> Vec<String> {
        let columns = Columns::names(self.parts.iter().map(|(name, _)| name.as_str()), self.more());
        columns
            .into_iter()
            .enumerate()
            .filter(|(column, _)| takes(self.ranker.kind(), *column))
            .map(|(_, name)| name)
            .collect()
    }

    /// The model that the stack ranks by alone, where no ranker over all of them was better by more than one standard error.
    pub fn falls_back_to(&self) -> Option<&str> {
        self.kept().filter(|kept| kept.share == Some(0.0))?;
        // ListNet takes one column of each model, in their order.
        let weights = self.ranker.importance()?.values().to_vec();
        let part = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]))?;
        self.parts.get(part).map(|(name, _)| name.as_str())
    }

    /// Features that its ranker takes.
    pub(crate) fn n_features(&self) -> usize {
        self.columns().len()
    }

    /// All features of a document.
    fn width(&self) -> usize {
        FEATURES * (self.parts.len() + self.more().len())
    }

    /// Columns beside the scores of its models.
    fn more(&self) -> MoreColumns<'_> {
        MoreColumns { clicks: self.clicks, attributes: &self.attributes }
    }

    /// Replaces the models by others of the same names and kinds, such as those retrained with more data. The ranker
    /// stays as it is.
    pub fn with_parts(self, parts: Vec<(String, Arc<dyn MatchingModel>)>) -> Result<Self> {
        let described = |parts: &[(String, Arc<dyn MatchingModel>)]| {
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

impl MatchingModel for Stack {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        let parts = self.parts.iter().map(|(_, part)| part.bind(binding)).collect::<Result<_>>()?;
        self.bind_parts(parts, binding)
    }

    fn bind_parts<'a>(
        &'a self,
        parts: Vec<Box<dyn Matcher + 'a>>,
        binding: &mut Binding<'a, '_>,
    ) -> Result<Box<dyn Matcher + 'a>> {
        let counts =
            if self.clicks { Some(ClickCounts::new(binding.clicks()?, binding.documents)) } else { None };
        let attributes = AttributeColumns::bind(&self.attributes, binding.documents, binding.progress)?;
        Ok(Box::new(matcher::StackMatcher::new(self, Columns::new(parts, counts, attributes))))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }

    fn describe(&self) -> Result<Description> {
        let mut description = self.ranker_facts();
        if let Some(kept) = self.kept() {
            let name = format!("validation {}, in folds", kept.measure);
            description.fact(name, format!("{:.4}", kept.validation));
        }
        description.remarks.push(self.importance_table());
        let mut parts = Vec::new();
        for (name, part) in &self.parts {
            let part = registry::describe(&**part)?;
            parts.push(PartDetails { name, model: part.details.clone() });
            description.part(&format!("{name}: "), part);
        }
        let details = &mut description.details;
        details.set("ranker", &self.ranker.kind().name);
        details.set("depth", &self.depth);
        details.set("trials", &self.trials);
        details.set("importances", &self.importances());
        details.set("parts", &parts);
        Ok(description)
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        let mut description = self.ranker_facts();
        description.remarks.push(self.trial_table());
        description.remarks.push(self.importance_table());
        let details = &mut description.details;
        details.set("ranker", &self.ranker.kind().name);
        details.set("of", &self.parts.iter().map(|(name, _)| name).collect::<Vec<_>>());
        details.set("depth", &self.depth);
        details.set("trials", &self.trials);
        details.set("importances", &self.importances());
        description
    }

    fn parts(&self) -> Vec<(&str, &Arc<dyn MatchingModel>)> {
        self.parts.iter().map(|(name, part)| (name.as_str(), part)).collect()
    }

    fn validation(&self) -> Option<f64> {
        self.kept().map(|kept| kept.validation)
    }

    fn has_learned_from_validation(&self) -> bool {
        true
    }

    fn related(&self, query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        self.parts.iter().find_map(|(_, part)| part.related(query))
    }
}

/// A part of a stack, for programs.
#[derive(Serialize)]
struct PartDetails<'a> {
    name: &'a str,
    model: crate::description::Details,
}

impl Stack {
    fn ranker_facts(&self) -> Description {
        let mut description = Description::default();
        description.fact("ranker", self.ranker.kind().name);
        if let Some(part) = self.falls_back_to() {
            description
                .fact("ranks its candidates as", format!("{part} alone: no ranker was clearly better"));
        }
        description.fact("candidates of each model", human(self.depth as u64));
        description
    }

    /// The rankers that were tried.
    fn trial_table(&self) -> Remark {
        let kept = self.kept();
        let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
        let rows = self.trials.iter().map(|trial| {
            vec![
                trial.ranker.clone(),
                trial.lambda.map_or(String::new(), shortest),
                trial.share.map_or(String::new(), shortest),
                number(trial.leaves),
                number(trial.trees),
                format!("{:.4}", trial.validation),
                if kept == Some(trial) { "kept".to_owned() } else { String::new() },
            ]
        });
        let validation = format!("validation {}", kept.map_or("", |kept| &kept.measure));
        Remark::table(&["ranker", "lambda", "share", "leaves", "trees", &validation, ""], rows.collect())
    }

    /// Weights of the columns, or the shares of the gain that trees have from them.
    fn importances(&self) -> Vec<(String, f64)> {
        let values = self.ranker.importance().map_or(Vec::new(), |importance| importance.values().to_vec());
        self.columns().into_iter().zip(values).collect()
    }

    fn importance_table(&self) -> Remark {
        let column = match self.ranker.importance() {
            Some(Importance::Gains(_)) => "share of the gain",
            _ => "weight",
        };
        let rows = self.importances().into_iter().map(|(name, value)| vec![name, format!("{value:.4}")]);
        Remark::table(&["score of", column], rows.collect())
    }
}
