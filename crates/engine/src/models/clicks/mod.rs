//! Click counts: the documents that were clicked for a query, smoothed by those clicked for queries like it.
//!
//! ```text
//! P(d | q) = (n(q, d) + mu * B(d | q)) / (n(q) + mu)
//! B(d | q) = sum_q' a_q' n(q', d) / n(q')      smoothing=queries
//! B(d | q) = sum_w  a_w  n(w, d) / n(w)        smoothing=words
//! ```
//!
//! n(q, d) are the training responses of a pair, n(q) their sum, n(w, d) the responses of all queries that have the word w.
//! The weights a sum to 1.
//!
//! - `queries`: a_q' is proportional to the likeness (`similar_queries.rs`) of q', one of the `nearest` training queries.
//! - `words`: a_w is proportional to ln(1 + N / N_w), where N_w of the N training queries have w; words that no training query
//!   has are left out.
//!
//! A query that training never saw is ranked by B(d | q) alone. There is nothing to train: the counts are those of the dataset.

mod matcher;
mod similar_queries;
#[cfg(test)]
mod tests;
mod word_counts;

use std::sync::Arc;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::memory::PROGRAM;
use super::recipe::{NoFeatures, trainer};
use super::{Binding, MatchingKind, MatchingModel, UnseenDocuments};
use crate::container::{Reader, Writer};
use crate::dataset::Dataset;
use crate::description::Description;
use crate::json::Json;
use crate::prose::human;
use crate::scoring::Matcher;
use crate::settings::Parameter;

/// Click counts in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Clicks",
    help: "Ranks the documents of a query by its own training clicks. Clicks of the training queries most like it count as \
           mu further clicks, so that rare queries back off to their neighbours, and queries that training never saw are \
           ranked by their neighbours alone. Queries are alike by words, pairs of words and runs of letters, so that other \
           spellings are found. A baseline: fast, without training, and hard to beat on frequent queries.",
    parameters: &[
        Parameter::new("mu", "3", "clicks that other queries count as, above 0"),
        Parameter::new(
            "smoothing",
            "queries",
            "clicks to smooth with: queries (those of similar queries) or words (those of all queries with a word)",
        ),
        Parameter::new("nearest", "200", "of smoothing=queries: similar queries to look at, from 1"),
        Parameter::new(
            "power",
            "3",
            "of smoothing=queries: the cosine of a similar query counts to this power, above 0",
        ),
    ],
    is_seeded: false,
    space: &[("mu", "0.3,1,3,10,30,100,300"), ("power", "2,3,4,6,8")],
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
    // Training reads no counts; a matcher holds about 60 features of every query.
    memory: Some(|_| PROGRAM),
    cost: 0.2,
    ..MatchingKind::new(
        "clicks",
        "Click counts: a query's own clicks, smoothed by those of similar queries",
        open,
    )
};

/// Clicks that a query's own are smoothed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Smoothing {
    /// Those of similar queries.
    #[default]
    Queries,
    /// Those of all queries with a word.
    Words,
}

/// Parameters of click counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClickCountParams {
    /// Clicks that those of other queries count as. Default: 3.
    pub mu: f64,
    /// Clicks to smooth with. Default: those of similar queries.
    pub smoothing: Smoothing,
    /// Similar queries to look at. Default: 200.
    pub nearest: usize,
    /// Power of the cosine of a similar query. Default: 3.
    pub power: f64,
}

impl Default for ClickCountParams {
    fn default() -> Self {
        Self { mu: 3.0, smoothing: Smoothing::Queries, nearest: 200, power: 3.0 }
    }
}

impl ClickCountParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        for (name, value) in [("mu", self.mu), ("power", self.power)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::Params(format!("{name} must be above 0 and finite, not {value}")));
            }
        }
        if self.nearest == 0 {
            return Err(Error::Params("nearest must be at least 1".into()));
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
    let mut params: ClickCountParams = file.json("params")?;
    // Files without this field were written when words were the only smoothing.
    if file.json::<Json>("params")?.field("smoothing").is_none() {
        params.smoothing = Smoothing::Words;
    }
    params.validate()?;
    Ok(Arc::new(ClickCountModel { params, content_hash }))
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
        Ok(Box::new(matcher::ClickCountMatcher::new(self.params, binding.documents, clicks)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        file.put("content_hash", self.content_hash.as_str());
        file.put_json("params", &self.params)
    }

    fn describe(&self) -> Result<Description> {
        let mut description = Description::default();
        description.params(&self.params);
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
