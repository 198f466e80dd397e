//! A stack with documents: candidates, scores, explanations.

use std::ops::Range;

use foldhash::HashMap;
use matchrank_core::data::FeatureLists;
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::clicks::COUNTS;
use super::columns::{ColumnScorer, FEATURES};
use super::{Columns, Stack, takes};
use crate::dataset::GivenDocuments;
use crate::scoring::{Among, Explanation, Hit, Matcher, Scorer, StackedCount, StackedPart, Why, settle_all};

/// The models of a stack with their documents.
pub(super) struct StackMatcher<'a> {
    model: &'a Stack,
    columns: Columns<'a>,
}

impl<'a> StackMatcher<'a> {
    pub(super) fn new(model: &'a Stack, columns: Columns<'a>) -> Self {
        Self { model, columns }
    }
}

impl Matcher for StackMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.columns.matchers[0].n_documents()
    }

    fn batch_size(&self) -> usize {
        self.columns.batch_size()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let columns = self.columns.begin(queries)?;
        Ok(Box::new(StackScorer { matcher: self, columns, known: Vec::new() }))
    }

    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        let mut all = Vec::with_capacity(queries.len());
        for batch in queries.chunks(self.batch_size()) {
            let candidates = self.columns.candidates_among(batch, self.model.depth, among)?;
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

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        Ok(Box::new(StackMatcher { model: self.model, columns: self.columns.over(documents)? }))
    }

    fn settle(&mut self, bytes: u64, progress: &dyn Progress) -> Result<()> {
        settle_all(&mut self.columns.matchers, bytes, progress)
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        Ok(self.explain_among(query, &[document], None)?.remove(0))
    }

    /// Over the candidates, together with the documents.
    fn explain_among(
        &self,
        query: &str,
        documents: &[u32],
        among: Option<Among<'_>>,
    ) -> Result<Vec<Explanation>> {
        let mut list = self.columns.candidates_among(&[query], self.model.depth, among)?.remove(0);
        list.extend(documents);
        list.sort_unstable();
        list.dedup();
        let place = |document| list.binary_search(document).expect("the list has the documents");
        let places: Vec<usize> = documents.iter().map(place).collect();
        self.explain_in_list(query, &list, &places)
    }

    /// Contribution of each model over the mean score of the list: the sum of the Shapley values of its features.
    fn explain_in_list(&self, query: &str, documents: &[u32], places: &[usize]) -> Result<Vec<Explanation>> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let columns = self.columns.begin(&[query])?;
        let sources = columns.sources(0, documents);
        let rows = columns.features(&sources);
        let explained = ExplainedList {
            query,
            documents,
            scores: self.model.score_rows(&rows)?,
            lists: self.model.lists(&rows)?,
            references: (0..documents.len()).step_by(documents.len().div_ceil(MOST_REFERENCES)).collect(),
            sources,
            rows,
        };
        let matchers = self.columns.matchers.iter();
        let of_parts = matchers.map(|matcher| matcher.explain_in_list(query, documents, places));
        let mut of_parts = of_parts.collect::<Result<Vec<_>>>()?;
        of_parts.iter_mut().for_each(|explanations| explanations.reverse());
        places
            .iter()
            .map(|&place| {
                let of_parts = of_parts.iter_mut().filter_map(Vec::pop).collect();
                self.explain_place(&explained, place, of_parts)
            })
            .collect()
    }
}

/// Documents whose mean score contributions are relative to, at most; of longer lists evenly spaced ones.
const MOST_REFERENCES: usize = 1000;

/// Documents of a query with everything that their explanations share.
struct ExplainedList<'a> {
    query: &'a str,
    documents: &'a [u32],
    /// Scores of the documents by each source.
    sources: Vec<Vec<f32>>,
    /// Features of each document, one row after the other.
    rows: Vec<f32>,
    lists: FeatureLists,
    scores: Vec<f32>,
    /// Places of the documents whose mean score contributions are relative to.
    references: Vec<usize>,
}

impl StackMatcher<'_> {
    /// Explains the score at a place of a list, given the explanations of the parts.
    fn explain_place(
        &self,
        list: &ExplainedList<'_>,
        place: usize,
        of_parts: Vec<Explanation>,
    ) -> Result<Explanation> {
        let (ranker, width, sources) = (&self.model.ranker, self.model.width(), &list.sources);
        let why = ranker.shapley(&list.lists.list(0), place, &list.references)?;
        let mut adds = vec![0.0; sources.len()];
        for (column, part) in (0..width).filter(|&column| takes(ranker.kind(), column)).zip(why.adds) {
            adds[column / FEATURES] += part;
        }
        let named = self.model.parts.iter().zip(of_parts).enumerate();
        let parts = named.map(|(part, ((name, _), explanation))| {
            let scores = &sources[part];
            StackedPart {
                model: name.clone(),
                standardised: f64::from(list.rows[place * width + FEATURES * part + 1]),
                rank: (!scores[place].is_nan())
                    .then(|| 1 + scores.iter().filter(|&&other| other > scores[place]).count()),
                adds: adds[part],
                explanation,
            }
        });
        let parts: Vec<StackedPart> = parts.collect();
        let n_counts = if self.model.clicks { COUNTS.len() } else { 0 };
        let counts = COUNTS[..n_counts].iter().zip(parts.len()..);
        let counts = counts.map(|(&count, source)| StackedCount {
            count,
            scaled: sources[source][place],
            adds: adds[source],
        });
        let counts: Vec<StackedCount> = counts.collect();
        let of_attributes = &adds[adds.len() - self.columns.attributes.len()..];
        let attributes = self.columns.attributes.explained(list.query, list.documents[place], of_attributes);
        let known = parts.iter().any(|part| part.explanation.score.is_some());
        Ok(Explanation {
            score: known.then_some(list.scores[place]),
            why: Why::Stacked {
                ranker: ranker.kind().name.to_owned(),
                candidates: list.documents.len(),
                base: why.base,
                counts,
                attributes,
                parts,
            },
        })
    }
}

impl Stack {
    /// Rows of features as a list, with the columns that the ranker takes; there is at least one row.
    fn lists(&self, rows: &[f32]) -> Result<FeatureLists> {
        let (width, n) = (self.width(), rows.len() / self.width());
        let taken = rows.iter().enumerate().filter(|(at, _)| takes(self.ranker.kind(), at % width));
        let taken: Vec<f32> = taken.map(|(_, &value)| value).collect();
        FeatureLists::from_dense(&[n], vec![0.0; n], (taken.len() / n) as u32, taken)
    }

    /// The scores of rows of features; an error where a model's score is infinite.
    fn score_rows(&self, rows: &[f32]) -> Result<Vec<f32>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        // Also in a column that the ranker does not take: its standardised scores mean nothing then.
        if let Some(at) = rows.iter().position(|value| value.is_infinite()) {
            let part = self.parts.get(at % self.width() / FEATURES).map_or("clicks", |(name, _)| name);
            return Err(Error::Diverged(format!(
                "a score of {part}, a model of the stack, is {}: its numbers are too large for the data; train it again",
                rows[at]
            )));
        }
        let mut scores = Vec::new();
        self.ranker.score(&self.lists(rows)?.list(0), &mut scores);
        Ok(scores.into_iter().map(|score| score as f32).collect())
    }
}

struct StackScorer<'a> {
    matcher: &'a StackMatcher<'a>,
    columns: ColumnScorer<'a>,
    /// The scores of every query's candidates, by document; filled by `prepare`.
    known: Vec<HashMap<u32, f32>>,
}

impl Scorer for StackScorer<'_> {
    fn n_queries(&self) -> usize {
        self.columns.queries.len()
    }

    fn prepare(&mut self) {
        let queries: Vec<&str> = self.columns.queries.iter().map(String::as_str).collect();
        let depth = self.matcher.model.depth * self.matcher.model.parts.len();
        let hits = self.matcher.top(&queries, depth, &Silent).expect("queries that were begun can be ranked");
        let by_document = |hits: Vec<Hit>| hits.into_iter().map(|hit| (hit.document, hit.score)).collect();
        self.known = hits.into_iter().map(by_document).collect();
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let sources = self.columns.sources(query, documents);
        let model = self.matcher.model;
        match model.score_rows(&self.columns.features(&sources)) {
            Ok(found) => scores.copy_from_slice(&found),
            // Rankings with infinite scores are refused.
            Err(_) => return scores.fill(f32::INFINITY),
        }
        for (i, score) in scores.iter_mut().enumerate() {
            if sources[..model.parts.len()].iter().all(|scores| scores[i].is_nan()) {
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
