//! Scores of models, and counts of clicks, as columns of features.
//!
//! Every source gives two columns: its score, and its score standardised over the documents of the query's list. What a
//! [`Stack`](super::Stack) learns from, and what [`list_columns`](crate::rankers::columns::list_columns) writes for any
//! ranker, are the same columns.

use matchrank_core::Result;
use matchrank_core::progress::Progress;

use super::clicks::{COUNTS, ClickCounts};
use super::{candidates, features};
use crate::dataset::Dataset;
use crate::matching::bind::bind_all;
use crate::matching::{Matcher, MatchingModel};

/// Models bound to all documents of a dataset, and its clicks where they are asked for.
pub struct Columns<'a> {
    matchers: Vec<Box<dyn Matcher + 'a>>,
    counts: Option<ClickCounts<'a>>,
}

impl<'a> Columns<'a> {
    /// Of models, and of training clicks where `clicks` says so.
    pub fn bind(
        models: &[&'a MatchingModel],
        dataset: &'a Dataset,
        clicks: bool,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let matchers = bind_all(models, dataset, None, progress)?;
        let counts = clicks.then(|| ClickCounts::of_dataset(dataset)).transpose()?;
        Ok(Self { matchers, counts })
    }

    /// What the columns are called, by the names of the models.
    pub fn names<'n>(models: impl Iterator<Item = &'n str>, clicks: bool) -> Vec<String> {
        let counts = COUNTS.into_iter().filter(|_| clicks);
        models.chain(counts).flat_map(|name| [name.to_owned(), format!("{name}, standardised")]).collect()
    }

    /// Queries that are worth scoring together.
    pub fn batch_size(&self) -> usize {
        self.matchers.iter().map(|matcher| matcher.batch_size()).min().unwrap_or(1).max(1)
    }

    /// The documents that one of the models has among its best for each query, ascending.
    pub fn candidates(&self, queries: &[&str], depth: usize) -> Result<Vec<Vec<u32>>> {
        candidates(&self.matchers, queries, depth)
    }

    /// The rows of each query's documents, one after the other.
    pub fn rows(&self, queries: &[&str], documents: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
        let scorers =
            self.matchers.iter().map(|matcher| matcher.begin(queries)).collect::<Result<Vec<_>>>()?;
        let rows = queries.iter().zip(documents).enumerate().map(|(query, (text, documents))| {
            let scores = scorers.iter().map(|scorer| {
                let mut scores = vec![0.0; documents.len()];
                scorer.list(query, documents, &mut scores);
                scores
            });
            let counts = self.counts.iter().flat_map(|counts| counts.of(text, documents));
            features(&scores.chain(counts).collect::<Vec<_>>())
        });
        Ok(rows.collect())
    }
}
