//! Scores of models, and counts of clicks, as columns of features.
//!
//! Every source gives two columns: its score, and its score standardised over the documents of the query's list. What a
//! [`Stack`](super::Stack) learns from and ranks by, and what [`list_columns`](super::list_columns)
//! writes for any ranker, are the same columns. A document without a score counts as 0.

use matchrank_core::Result;
use matchrank_core::progress::{Progress, Silent};

use super::clicks::{COUNTS, ClickCounts};
use crate::dataset::{Dataset, GivenDocuments};
use crate::models::{MatchingModel, bind_all};
use crate::scoring::{Among, Matcher, Scorer};

/// Columns that every source gives.
pub(crate) const FEATURES: usize = 2;

/// Models bound to the documents of a dataset, and its clicks where they are asked for.
pub struct Columns<'a> {
    pub(super) matchers: Vec<Box<dyn Matcher + 'a>>,
    counts: Option<ClickCounts<'a>>,
}

impl<'a> Columns<'a> {
    /// Of models, at least one, with all documents of a dataset, and of its training clicks where `clicks` says so.
    pub fn bind(
        models: &[&'a dyn MatchingModel],
        dataset: &'a Dataset,
        clicks: bool,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let matchers = bind_all(models, dataset, None, progress)?;
        let counts = clicks.then(|| ClickCounts::of_dataset(dataset)).transpose()?;
        Ok(Self::new(matchers, counts))
    }

    pub(super) fn new(matchers: Vec<Box<dyn Matcher + 'a>>, counts: Option<ClickCounts<'a>>) -> Self {
        Self { matchers, counts }
    }

    /// The columns of other documents.
    pub(super) fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Columns<'s>> {
        let matchers = self.matchers.iter().map(|matcher| matcher.over(documents)).collect::<Result<_>>()?;
        Ok(Columns::new(matchers, self.counts.as_ref().map(|counts| counts.over(documents))))
    }

    /// Names of the columns, by the names of the models.
    pub fn names<'n>(models: impl Iterator<Item = &'n str>, clicks: bool) -> Vec<String> {
        let counts = COUNTS.iter().filter(|_| clicks).map(|count| format!("log(1 + {count})"));
        let names = models.map(str::to_owned).chain(counts);
        names.flat_map(|name| [name.clone(), format!("{name}, standardised")]).collect()
    }

    /// Queries that are worth scoring together.
    pub fn batch_size(&self) -> usize {
        self.matchers.iter().map(|matcher| matcher.batch_size()).min().unwrap_or(1).max(1)
    }

    /// The documents that one of the models has among its best for each query, ascending.
    pub fn candidates(&self, queries: &[&str], depth: usize) -> Result<Vec<Vec<u32>>> {
        self.candidates_among(queries, depth, None)
    }

    /// The candidates among some documents, or among all.
    pub(super) fn candidates_among(
        &self,
        queries: &[&str],
        depth: usize,
        among: Option<Among<'_>>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut candidates = vec![Vec::new(); queries.len()];
        for matcher in &self.matchers {
            for (list, hits) in candidates.iter_mut().zip(matcher.top_among(queries, depth, among, &Silent)?)
            {
                list.extend(hits.iter().map(|hit| hit.document));
            }
        }
        candidates.iter_mut().for_each(|list| {
            list.sort_unstable();
            list.dedup();
        });
        Ok(candidates)
    }

    /// Scores some queries.
    pub fn begin(&self, queries: &[&str]) -> Result<ColumnScorer<'_>> {
        let scorers = self.matchers.iter().map(|matcher| matcher.begin(queries)).collect::<Result<_>>()?;
        let queries = queries.iter().map(|&query| query.to_owned()).collect();
        Ok(ColumnScorer { scorers, counts: self.counts.as_ref(), queries })
    }
}

/// The columns of some queries.
pub struct ColumnScorer<'a> {
    scorers: Vec<Box<dyn Scorer + 'a>>,
    counts: Option<&'a ClickCounts<'a>>,
    pub(super) queries: Vec<String>,
}

impl ColumnScorer<'_> {
    /// The rows of documents for a query, given by its number, one after the other.
    pub fn rows(&self, query: usize, documents: &[u32]) -> Vec<f32> {
        features(&self.sources(query, documents))
    }

    /// Scores of every model, NaN for no score, and then every count of clicks.
    pub(super) fn sources(&self, query: usize, documents: &[u32]) -> Vec<Vec<f32>> {
        let scores = self.scorers.iter().map(|scorer| {
            let mut scores = vec![0.0; documents.len()];
            scorer.list(query, documents, &mut scores);
            scores
        });
        let counts = self.counts.iter().flat_map(|counts| counts.of(&self.queries[query], documents));
        scores.chain(counts).collect()
    }
}

/// Rows of features from what every source says of the same documents.
pub(super) fn features(sources: &[Vec<f32>]) -> Vec<f32> {
    let n = sources.first().map_or(0, Vec::len);
    let width = FEATURES * sources.len();
    let mut rows = vec![0.0; n * width];
    for (source, scores) in sources.iter().enumerate() {
        let value = |score: f32| if score.is_nan() { 0.0 } else { score };
        let mean = scores.iter().map(|&s| f64::from(value(s))).sum::<f64>() / n.max(1) as f64;
        let squares = scores.iter().map(|&s| (f64::from(value(s)) - mean).powi(2)).sum::<f64>();
        let deviation = (squares / n.max(1) as f64).sqrt();
        // Scores are f32: what varies by less than their rounding does not vary.
        let varies = deviation > 1e-6 * mean.abs();
        for (row, &score) in scores.iter().enumerate() {
            let (at, score) = (row * width + FEATURES * source, value(score));
            rows[at] = score;
            rows[at + 1] = if varies { ((f64::from(score) - mean) / deviation) as f32 } else { 0.0 };
        }
    }
    rows
}
