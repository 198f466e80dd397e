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
mod params;
mod training;

use std::ops::Range;

use foldhash::HashMap;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::ranking::{Ranker, Shapley};
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(super) use clicks::ClickCounts;
pub use columns::Columns;
pub use params::{StackCandidates, StackParams};
pub use training::StackTrial;

use super::{Explanation, Matcher, MatchingModel, Scorer, StackedCount, StackedPart, Why};
use crate::rankers::RankerModel;
use crate::rankers::boosted::BoostedModel;
use crate::retrieval::Hit;

/// Features that every model and every count of clicks gives.
pub(crate) const FEATURES: usize = 2;

/// Models and a ranker over their scores; see the module.
#[derive(Debug, Clone)]
pub struct Stack {
    /// The models, with the names by which they are told apart.
    pub parts: Vec<(String, MatchingModel)>,
    /// What their scores are ranked by.
    pub ranker: StackRanker,
    /// Best documents of every model that are candidates.
    pub depth: usize,
    /// Whether training clicks are features too.
    pub clicks: bool,
    /// The rankers that were tried, and what they were worth on the validation judgments.
    pub trials: Vec<StackTrial>,
}

/// The ranker of a stack.
#[derive(Debug, Clone, PartialEq)]
pub enum StackRanker {
    /// A weight for every standardised score.
    Linear(Box<RankerModel>),
    /// Boosted trees.
    Boosted(BoostedModel),
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

impl StackRanker {
    /// Its kind, as commands call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear(model) => model.kind(),
            Self::Boosted(model) => model.objective.name(),
        }
    }

    /// Which columns it ranks by: the standardised scores alone, or all.
    fn takes(&self, column: usize) -> bool {
        matches!(self, Self::Boosted(_)) || column % FEATURES == 1
    }

    /// What each feature adds to the score of the `i`-th document over the mean score of the list.
    fn shapley(&self, list: &List<'_>, i: usize) -> Shapley {
        match self {
            Self::Linear(model) => model.ranker.shapley(list, i),
            Self::Boosted(model) => model.trees.shapley(list, i, &(0..list.len()).collect::<Vec<_>>()),
        }
    }
}

impl Ranker for StackRanker {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        match self {
            Self::Linear(model) => model.score(list, scores),
            Self::Boosted(model) => model.score(list, scores),
        }
    }
}

impl Stack {
    /// What the columns of the features that its ranker takes are called.
    pub fn columns(&self) -> Vec<String> {
        let columns = Columns::names(self.parts.iter().map(|(name, _)| name.as_str()), self.clicks);
        columns
            .into_iter()
            .enumerate()
            .filter(|(column, _)| self.ranker.takes(*column))
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

/// Rows of features from the scores of every model, and counts, for the same documents.
fn features(scores: &[Vec<f32>]) -> Vec<f32> {
    let n = scores.first().map_or(0, Vec::len);
    let mut rows = vec![0.0; n * FEATURES * scores.len()];
    for (part, scores) in scores.iter().enumerate() {
        let value = |score: f32| if score.is_nan() { 0.0 } else { score };
        let mean = scores.iter().map(|&s| f64::from(value(s))).sum::<f64>() / n.max(1) as f64;
        let squares = scores.iter().map(|&s| (f64::from(value(s)) - mean).powi(2)).sum::<f64>();
        let deviation = (squares / n.max(1) as f64).sqrt();
        for (row, &score) in scores.iter().enumerate() {
            let score = value(score);
            let at = FEATURES * (row * (rows.len() / n / FEATURES) + part);
            rows[at] = score;
            // Scores are f32: what varies by less than their rounding does not vary.
            let varies = deviation > 1e-6 * mean.abs();
            rows[at + 1] = if varies { ((f64::from(score) - mean) / deviation) as f32 } else { 0.0 };
        }
    }
    rows
}

/// The models of a stack with their documents.
pub(super) struct StackMatcher<'a> {
    model: &'a Stack,
    parts: Vec<Box<dyn Matcher + 'a>>,
    counts: Option<ClickCounts<'a>>,
}

impl<'a> StackMatcher<'a> {
    pub(super) fn new(
        model: &'a Stack,
        parts: Vec<Box<dyn Matcher + 'a>>,
        counts: Option<ClickCounts<'a>>,
    ) -> Self {
        Self { model, parts, counts }
    }

    /// The counts of clicks that are features.
    fn counts(&self, query: &str, documents: &[u32]) -> Vec<Vec<f32>> {
        self.counts.iter().flat_map(|counts| counts.of(query, documents)).collect()
    }
}

/// The documents that one of the models has among its best for each query, ascending.
fn candidates(parts: &[Box<dyn Matcher + '_>], queries: &[&str], depth: usize) -> Result<Vec<Vec<u32>>> {
    let mut candidates = vec![Vec::new(); queries.len()];
    for part in parts {
        for (list, hits) in candidates.iter_mut().zip(part.top(queries, depth, &Silent)?) {
            list.extend(hits.iter().map(|hit| hit.document));
        }
    }
    candidates.iter_mut().for_each(|list| {
        list.sort_unstable();
        list.dedup();
    });
    Ok(candidates)
}

impl Matcher for StackMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.parts[0].n_documents()
    }

    fn batch_size(&self) -> usize {
        self.parts.iter().map(|part| part.batch_size()).min().unwrap_or(1)
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let parts = self.parts.iter().map(|part| part.begin(queries)).collect::<Result<_>>()?;
        let queries = queries.iter().map(|&query| query.to_owned()).collect();
        Ok(Box::new(StackScorer { matcher: self, queries, parts, known: Vec::new() }))
    }

    fn top(&self, queries: &[&str], k: usize, progress: &dyn Progress) -> Result<Vec<Vec<Hit>>> {
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        let mut all = Vec::with_capacity(queries.len());
        for batch in queries.chunks(self.batch_size().max(1)) {
            let candidates = candidates(&self.parts, batch, self.model.depth)?;
            let scorer = self.begin(batch)?;
            let hits = candidates.par_iter().enumerate().map(|(query, documents)| {
                let mut scores = vec![0.0; documents.len()];
                scorer.list(query, documents, &mut scores);
                let hits = documents.iter().zip(scores).map(|(&document, score)| Hit { document, score });
                let mut hits: Vec<Hit> = hits.collect();
                hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
                hits.truncate(k);
                progress.advance(1);
                hits
            });
            all.extend(hits.collect::<Vec<_>>());
        }
        Ok(all)
    }

    /// What each model adds to the mean score of the candidates: the Shapley values of its features, summed.
    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let mut documents = candidates(&self.parts, &[query], self.model.depth)?.remove(0);
        let place = documents.binary_search(&document).unwrap_or_else(|place| {
            documents.insert(place, document);
            place
        });
        let mut scores = scores_of(&self.parts, query, &documents)?;
        scores.extend(self.counts(query, &documents));
        let (rows, width) = (features(&scores), self.model.width());
        let score = self.model.score_rows(&rows)?[place];
        let why = self.model.ranker.shapley(&self.model.lists(&rows)?.list(0), place);
        let mut adds = vec![0.0; scores.len()];
        for (column, part) in (0..width).filter(|&column| self.model.ranker.takes(column)).zip(why.adds) {
            adds[column / FEATURES] += part;
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for (part, (name, _)) in self.model.parts.iter().enumerate() {
            parts.push(StackedPart {
                model: name.clone(),
                standardised: f64::from(rows[place * width + FEATURES * part + 1]),
                rank: (!scores[part][place].is_nan())
                    .then(|| 1 + scores[part].iter().filter(|&&other| other > scores[part][place]).count()),
                adds: adds[part],
                explanation: self.parts[part].explain(query, document)?,
            });
        }
        let counts = clicks::COUNTS.iter().zip(self.parts.len()..scores.len());
        let counts = counts.map(|(&count, source)| StackedCount {
            count,
            scaled: scores[source][place],
            adds: adds[source],
        });
        let known = parts.iter().any(|part| part.explanation.score.is_some());
        Ok(Explanation {
            score: known.then_some(score),
            why: Why::Stacked {
                ranker: self.model.ranker.kind().to_owned(),
                candidates: documents.len(),
                base: why.base,
                parts,
                counts: counts.collect(),
            },
        })
    }
}

fn scores_of(parts: &[Box<dyn Matcher + '_>], query: &str, documents: &[u32]) -> Result<Vec<Vec<f32>>> {
    let scores = parts.iter().map(|part| {
        let mut scores = vec![0.0; documents.len()];
        part.begin(&[query])?.list(0, documents, &mut scores);
        Ok(scores)
    });
    scores.collect()
}

impl Stack {
    /// Rows of features as a list, with the columns that the ranker takes; there is at least one row.
    fn lists(&self, rows: &[f32]) -> Result<FeatureLists> {
        let (width, n) = (self.width(), rows.len() / self.width());
        let taken = rows.iter().enumerate().filter(|(at, _)| self.ranker.takes(at % width));
        let taken: Vec<f32> = taken.map(|(_, &value)| value).collect();
        FeatureLists::from_dense(&[n], vec![0.0; n], (taken.len() / n) as u32, taken)
    }

    /// The scores of rows of features.
    fn score_rows(&self, rows: &[f32]) -> Result<Vec<f32>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut scores = Vec::new();
        self.ranker.score(&self.lists(rows)?.list(0), &mut scores);
        Ok(scores.into_iter().map(|score| score as f32).collect())
    }
}

/// The scores of a query's candidates, by document.
type Known = Vec<HashMap<u32, f32>>;

struct StackScorer<'a> {
    matcher: &'a StackMatcher<'a>,
    queries: Vec<String>,
    parts: Vec<Box<dyn Scorer + 'a>>,
    /// Filled by `prepare`.
    known: Known,
}

impl Scorer for StackScorer<'_> {
    fn n_queries(&self) -> usize {
        self.queries.len()
    }

    fn prepare(&mut self) {
        let queries: Vec<&str> = self.queries.iter().map(String::as_str).collect();
        let depth = self.matcher.model.depth * self.matcher.parts.len();
        let hits = self.matcher.top(&queries, depth, &Silent).expect("queries that were begun can be ranked");
        let by_document = |hits: Vec<Hit>| hits.into_iter().map(|hit| (hit.document, hit.score)).collect();
        self.known = hits.into_iter().map(by_document).collect();
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let parts = self.parts.iter().map(|part| {
            let mut scores = vec![0.0; documents.len()];
            part.list(query, documents, &mut scores);
            scores
        });
        let mut parts: Vec<Vec<f32>> = parts.collect();
        parts.extend(self.matcher.counts(&self.queries[query], documents));
        let found = self.matcher.model.score_rows(&features(&parts)).expect("scores are finite");
        parts.truncate(self.parts.len());
        scores.copy_from_slice(&found);
        for (i, score) in scores.iter_mut().enumerate() {
            if parts.iter().all(|part| part[i].is_nan()) {
                *score = f32::NAN;
            }
        }
    }

    /// Of the candidates; others have no score.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        for (scores, known) in scores.chunks_exact_mut(documents.len()).zip(&self.known) {
            for (document, score) in documents.clone().zip(scores) {
                *score = known.get(&document).copied().unwrap_or(f32::NAN);
            }
        }
    }
}
