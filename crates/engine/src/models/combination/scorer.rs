//! The weighted sum of standardised scores.

use std::ops::Range;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::Combination;
use crate::dataset::GivenDocuments;
use crate::scoring::{Explanation, Matcher, Part, Scorer, Why, map_blocks, settle_all};

/// A combination bound to documents.
pub(super) struct CombinationMatcher<'a> {
    pub(super) model: &'a Combination,
    pub(super) parts: Vec<Box<dyn Matcher + 'a>>,
}

impl CombinationMatcher<'_> {
    /// Scores by some of the models.
    fn scorer<'s>(&'s self, of: &[usize], queries: &[&str]) -> Result<CombinationScorer<'s>> {
        let weights = self.model.exact_weights();
        let parts = of.iter().map(|&i| self.parts[i].begin(queries)).collect::<Result<_>>()?;
        let weights = of.iter().map(|&i| weights[i]).collect();
        let zeros_count = self.model.zeros_count();
        Ok(CombinationScorer::new(parts, zeros_count, self.n_documents()).with_weights(vec![weights]))
    }

    fn all(&self) -> Vec<usize> {
        (0..self.parts.len()).collect()
    }

    /// Sums the explanations of all parts, which come with the moments that standardise their scores.
    /// The sum is a score if one of the parts that count is known.
    fn sum(
        &self,
        parts: impl Iterator<Item = Result<(Moments, Explanation)>>,
        is_known: impl Fn(&Part) -> bool,
    ) -> Result<Explanation> {
        let exact = self.model.exact_weights();
        let part = |(i, explained): (usize, Result<(Moments, Explanation)>)| {
            let (moments, explanation) = explained?;
            let standardised = moments.standardise(explanation.score.unwrap_or(f32::NAN));
            Ok(Part {
                model: self.model.models[i].kind().to_owned(),
                weight: self.model.weights[i],
                mean: moments.mean,
                deviation: moments.deviation,
                standardised,
                contribution: exact[i] * standardised,
                explanation,
            })
        };
        let parts: Vec<Part> = parts.enumerate().map(part).collect::<Result<_>>()?;
        let counting = self.model.counting();
        if let Some(part) = counting.iter().map(|&i| &parts[i]).find(|part| !part.mean.is_finite()) {
            return Err(Error::Diverged(format!(
                "the mean score of {} is {}: its numbers are too large for the data; train it again",
                part.model, part.mean
            )));
        }
        let known = counting.iter().any(|&i| is_known(&parts[i]));
        let sum: f64 = counting.iter().map(|&i| parts[i].contribution).sum();
        Ok(Explanation { score: known.then_some(sum as f32), why: Why::Parts { parts } })
    }
}

impl Matcher for CombinationMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.parts[0].n_documents()
    }

    fn batch_size(&self) -> usize {
        self.parts.iter().map(|part| part.batch_size()).min().unwrap_or(1)
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        Ok(Box::new(self.scorer(&self.model.counting(), queries)?))
    }

    /// Standardised over the documents the matcher was bound to. Models that do not count are shown, too.
    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let mut scorer = self.scorer(&self.all(), &[query])?;
        scorer.prepare();
        let part = |i: usize| Ok((scorer.moments[i][0], self.parts[i].explain(query, document)?));
        self.sum((0..self.parts.len()).map(part), |part| part.deviation > 0.0)
    }

    /// Standardised over the documents of the list.
    fn explain_in_list(&self, query: &str, list: &[u32], places: &[usize]) -> Result<Vec<Explanation>> {
        let scorer = self.scorer(&self.all(), &[query])?;
        let mut column = vec![0.0; list.len()];
        let mut of_parts = Vec::with_capacity(self.parts.len());
        for (scorer, part) in scorer.parts.iter().zip(&self.parts) {
            scorer.list(0, list, &mut column);
            let explanations = part.explain_in_list(query, list, places)?;
            of_parts.push((Moments::of(&column), explanations.into_iter()));
        }
        let next = |(moments, explanations): &mut (Moments, std::vec::IntoIter<Explanation>)| {
            Ok((*moments, explanations.next().expect("an explanation for every place")))
        };
        let is_known = |part: &Part| part.deviation > 0.0 || part.explanation.score.is_some();
        places.iter().map(|_| self.sum(of_parts.iter_mut().map(next), is_known)).collect()
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let parts = self.parts.iter().map(|part| part.over(documents)).collect::<Result<_>>()?;
        Ok(Box::new(CombinationMatcher { model: self.model, parts }))
    }

    fn settle(&mut self, bytes: u64, progress: &dyn Progress) -> Result<()> {
        settle_all(&mut self.parts, bytes, progress)
    }
}

/// Mean and standard deviation of the scores of one query; a deviation of 0 where it is only rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    mean: f64,
    deviation: f64,
}

impl Moments {
    fn new(n: usize, sum: f64, squares: f64) -> Self {
        let mean = sum / n.max(1) as f64;
        let variance = squares / n.max(1) as f64 - mean * mean;
        // Scores are f32: what varies by less than their rounding does not vary.
        let deviation = if variance > 1e-12 * mean * mean { variance.sqrt() } else { 0.0 };
        Self { mean, deviation }
    }

    fn of(scores: &[f32]) -> Self {
        let (sum, squares) = sums(scores);
        Self::new(scores.len(), sum, squares)
    }

    /// NaN, no score, counts as 0.
    fn standardise(&self, score: f32) -> f64 {
        if self.deviation > 0.0 { (value(score) - self.mean) / self.deviation } else { 0.0 }
    }
}

fn value(score: f32) -> f64 {
    if score.is_nan() { 0.0 } else { f64::from(score) }
}

fn sums(scores: &[f32]) -> (f64, f64) {
    scores.iter().map(|&score| value(score)).fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v))
}

/// Mean and deviation of each query's scores over all documents, summed in the order of the documents.
fn moments_of(scorer: &dyn Scorer, n_documents: u32) -> Vec<Moments> {
    let blocks = map_blocks(scorer, n_documents, |block, scores| {
        scores.chunks_exact(block.len()).map(sums).collect::<Vec<_>>()
    });
    (0..scorer.n_queries())
        .map(|query| {
            let (sum, squares) = blocks
                .iter()
                .fold((0.0, 0.0), |(sum, squares), block| (sum + block[query].0, squares + block[query].1));
            Moments::new(n_documents as usize, sum, squares)
        })
        .collect()
}

/// Scores by weights, or by several choices of them: query i with choice j is query `i + j * n` of n.
pub(super) struct CombinationScorer<'a> {
    parts: Vec<Box<dyn Scorer + 'a>>,
    /// Choices of weights, one for each part.
    pub(super) weights: Vec<Vec<f64>>,
    /// True if parts of weight 0 count as models that give all documents the same score.
    zeros_count: bool,
    n_documents: u32,
    /// Over all documents, for every part and query; known once prepared.
    moments: Vec<Vec<Moments>>,
}

impl<'a> CombinationScorer<'a> {
    pub(super) fn new(parts: Vec<Box<dyn Scorer + 'a>>, zeros_count: bool, n_documents: u32) -> Self {
        Self { parts, weights: Vec::new(), zeros_count, n_documents, moments: Vec::new() }
    }

    pub(super) fn with_weights(self, weights: Vec<Vec<f64>>) -> Self {
        Self { weights, ..self }
    }

    /// Writes the sum over the parts that count; infinity where a score of one of them is infinite. Where no part varies,
    /// none says anything of the collection, and the documents of a list (`in_list`) that a part knows are all equal.
    fn combine<'s>(
        &self,
        (weights, in_list): (&[f64], bool),
        part: impl Fn(usize) -> (Moments, &'s [f32]),
        scores: &mut [f32],
    ) {
        let counting = weights.iter().enumerate().filter(|(_, weight)| self.zeros_count || **weight > 0.0);
        let parts: Vec<(f64, Moments, &[f32])> = counting
            .map(|(i, &weight)| {
                let (moments, column) = part(i);
                (weight, moments, column)
            })
            .collect();
        if parts.iter().any(|(_, moments, _)| !moments.mean.is_finite()) {
            return scores.fill(f32::INFINITY);
        }
        if parts.iter().all(|(_, moments, _)| moments.deviation == 0.0) {
            let is_known =
                |place: usize| in_list && parts.iter().any(|(_, _, column)| !column[place].is_nan());
            let score = |place| if is_known(place) { 0.0 } else { f32::NAN };
            return scores.iter_mut().enumerate().for_each(|(place, out)| *out = score(place));
        }
        for (place, score) in scores.iter_mut().enumerate() {
            let sum: f64 = parts
                .iter()
                .map(|(weight, moments, column)| weight * moments.standardise(column[place]))
                .sum();
            *score = sum as f32;
        }
    }
}

impl Scorer for CombinationScorer<'_> {
    fn n_queries(&self) -> usize {
        self.parts[0].n_queries() * self.weights.len()
    }

    fn prepare(&mut self) {
        if self.moments.is_empty() {
            self.parts.iter_mut().for_each(|part| part.prepare());
            self.moments = self.parts.iter().map(|part| moments_of(&**part, self.n_documents)).collect();
        }
    }

    /// Standardised over the documents of the list.
    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let n_queries = self.parts[0].n_queries();
        let (query, weights) = (query % n_queries, &self.weights[query / n_queries]);
        let columns: Vec<(Moments, Vec<f32>)> = self
            .parts
            .iter()
            .map(|part| {
                let mut column = vec![0.0; documents.len()];
                part.list(query, documents, &mut column);
                (Moments::of(&column), column)
            })
            .collect();
        self.combine((weights, true), |i| (columns[i].0, &columns[i].1), scores);
    }

    /// Standardised over all documents.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let (n, n_queries) = (documents.len(), self.parts[0].n_queries());
        assert_eq!(self.moments.len(), self.parts.len(), "prepare comes before block");
        let columns: Vec<Vec<f32>> = self
            .parts
            .iter()
            .map(|part| {
                let mut column = vec![0.0; n_queries * n];
                part.block(documents.clone(), &mut column);
                column
            })
            .collect();
        for (weights, scores) in self.weights.iter().zip(scores.chunks_exact_mut(n_queries * n)) {
            for (query, row) in scores.chunks_exact_mut(n).enumerate() {
                let column = |i: usize| (self.moments[i][query], &columns[i][query * n..][..n]);
                self.combine((weights, false), column, row);
            }
        }
    }
}
