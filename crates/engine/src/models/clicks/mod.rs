//! Click counts: the documents that were clicked for a query, smoothed by those clicked for its words.
//!
//! ```text
//! P(d | q) = (n(q, d) + mu * B(d | q)) / (n(q) + mu)
//! B(d | q) = sum_w a_w n(w, d) / n(w)
//! ```
//!
//! n(q, d) are the training responses of a pair, n(q) their sum, n(w, d) the responses of all queries that have the word
//! w. The weights a_w of the words of q sum to 1 and are proportional to ln(1 + N / N_w), where N_w of the N training
//! queries have w; words that no training query has are left out. A query that training never saw is ranked by its words
//! alone, B(d | q). There is nothing to train: the counts are those of the dataset.

mod matcher;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::memory::PROGRAM;
use super::recipe::{NoFeatures, trainer};
use super::{Binding, MatchingKind, MatchingModel, UnseenDocuments};
use crate::container::{Reader, Writer};
use crate::dataset::Dataset;
use crate::description::Description;
use crate::prose::human;
use crate::scoring::Matcher;
use crate::settings::Parameter;

/// Click counts in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    help: "Ranks the documents of a query by its own training clicks. Clicks of other queries with the same words count \
           as mu further clicks, so that rare queries back off to their words, and queries that training never saw are \
           ranked by their words alone. A baseline: fast, without training, and hard to beat on frequent queries.",
    parameters: &[Parameter::new("mu", "1", "clicks that the words of a query count as, above 0")],
    is_seeded: false,
    space: &[("mu", "0.1,0.3,1,3,10,30,100")],
    unseen_documents: UnseenDocuments::Unscored,
    trainer: Some(|settings| {
        trainer::<ClickCountParams, NoFeatures>(
            settings,
            |params, _| params.validate(),
            |params, _, training| {
                let content_hash = training.dataset.manifest.content_hash.clone();
                Ok(Arc::new(ClickCountModel { params: *params, content_hash }))
            },
        )
    }),
    memory: Some(|_| PROGRAM),
    ..MatchingKind::new(
        "clicks",
        "Click counts: a query's own clicks, smoothed by those of other queries with its words",
        open,
    )
};

/// Parameters of click counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClickCountParams {
    /// Clicks that the words of a query count as. Default: 1.
    pub mu: f64,
}

impl Default for ClickCountParams {
    fn default() -> Self {
        Self { mu: 1.0 }
    }
}

impl ClickCountParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.mu > 0.0 && self.mu.is_finite()) {
            return Err(Error::Params(format!("mu must be above 0 and finite, not {}", self.mu)));
        }
        Ok(())
    }
}

/// Click counts of a dataset, which are all that the model knows.
#[derive(Debug, Clone, PartialEq)]
pub struct ClickCountModel {
    /// Parameters of the smoothing.
    pub params: ClickCountParams,
    /// Hash of the dataset it was made for.
    pub content_hash: String,
}

fn open(file: &Reader<'_>) -> Result<Arc<dyn MatchingModel>> {
    let content_hash = file.metadata("content_hash")?.to_owned();
    let model = ClickCountModel { params: file.json("params")?, content_hash };
    model.params.validate()?;
    Ok(Arc::new(model))
}

impl MatchingModel for ClickCountModel {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        if self.content_hash != binding.documents.dataset.manifest.content_hash {
            binding
                .progress
                .note("click counts were made for another dataset; the clicks of this one are used");
        }
        let clicks = binding.clicks()?;
        Ok(Box::new(matcher::ClickCountMatcher::new(self.params.mu, binding.documents, clicks)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        file.put("content_hash", self.content_hash.as_str());
        file.put_json("params", &self.params)
    }

    fn describe(&self) -> Result<Description> {
        let mut description = Description::default();
        description.fact("clicks that the words of a query count as", self.params.mu.to_string());
        description.details.set("params", &self.params);
        Ok(description)
    }

    fn summary(&self, dataset: &Dataset) -> Description {
        let s = &dataset.manifest.statistics;
        let mut description = Description::default();
        description.params(&self.params);
        description.details.set("params", &self.params);
        description.fact("queries with clicks", human(s.n_x));
        description.fact("pairs", human(s.n_pairs));
        description.details.set("queries", &s.n_x);
        description.details.set("pairs", &s.n_pairs);
        description
    }
}
