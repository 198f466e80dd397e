//! A weighted sum of two models: a * first + (1 - a) * second.
//!
//! Scores of different models have different scales, so both are standardised for each query over the
//! documents that are ranked, the candidates or the whole collection: (score - mean) / deviation. A
//! document without a score counts as 0 before that. A model that gives all documents the same score adds
//! nothing; where that is so of both, no document has a score.

use std::ops::Range;
use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::Serialize;

use super::{Binding, MatchingKind, MatchingModel, Related, RelatedQuery, bind_all, registry};
use crate::container::{Reader, Writer};
use crate::dataset::Dataset;
use crate::description::{Curve, Description, Remark};
use crate::scoring::{Explanation, Matcher, Part, Scorer, Why, map_blocks};
use crate::validation::{Ranked, Validation};

/// The combination in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    help: "The scores of both models are standardised for each query over the documents that are ranked. The weight a is \
           the one of 0.1, 0.2, ... 0.9 that is best on the validation judgments, or as given. A combination may be \
           combined again.",
    ..MatchingKind::new("combination", "Combination of two models: a * first + (1 - a) * second", open)
};

fn open(file: &Reader<'_>) -> Result<Arc<dyn MatchingModel>> {
    let weight: f32 = file.number("weight")?;
    if !(0.0..=1.0).contains(&weight) {
        return Err(Error::Params(format!("the weight of a combination is {weight}")));
    }
    Ok(Arc::new(Combination {
        weight,
        first: registry::get(&file.inside("first"))?,
        second: registry::get(&file.inside("second"))?,
        curve: file.json("curve")?,
        // Files of former versions do not say.
        tuned_on: file.has_metadata("tuned_on").then(|| file.json("tuned_on")).transpose()?,
    }))
}

impl MatchingModel for Combination {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        let parts = [self.first.bind(binding)?, self.second.bind(binding)?];
        Ok(Box::new(CombinationMatcher { model: self, parts }))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        file.put_number("weight", self.weight);
        file.put_json("curve", &self.curve)?;
        if let Some(ranked) = self.tuned_on {
            file.put_json("tuned_on", &ranked)?;
        }
        registry::put(&mut file.inside("first"), &*self.first)?;
        registry::put(&mut file.inside("second"), &*self.second)
    }

    fn describe(&self) -> Result<Description> {
        let mut description = Description::default();
        description.fact("weight of the first", self.weight.to_string());
        description.facts.extend(self.tuned_on());
        description.details.set("weight", &self.weight);
        description.details.set("curve", &self.curve);
        description.details.set("tuned_on", &self.tuned_on);
        for (name, part) in self.parts() {
            let part = registry::describe(&**part)?;
            description.details.set(name, &part.details);
            description.part(&format!("{name}: "), part);
        }
        Ok(description)
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        let Self { weight, first, second, curve, tuned_on } = self;
        let mut description = Description::default();
        for (part, weight) in [first, second].iter().zip(self.weights()) {
            description.fact(format!("weight of {}", part.kind()), weight.to_string());
        }
        description.facts.extend(self.tuned_on());
        let rows = curve.iter().map(|(a, ndcg)| {
            let mark = if a == weight { "best" } else { "" };
            vec![a.to_string(), format!("{ndcg:.4}"), mark.to_owned()]
        });
        if !curve.is_empty() {
            let header = [&format!("weight of {}", first.kind()), "validation NDCG@10", ""];
            description.remarks.push(Remark::table(&header, rows.collect()));
        }
        let details = &mut description.details;
        details.set("weight", weight);
        details.set("of", &[first.kind(), second.kind()]);
        details.set("tuned_on", tuned_on);
        let points: Vec<WeightPoint> = curve.iter().map(|&(a, ndcg)| WeightPoint { a, ndcg }).collect();
        details.set("curve", &points);
        description
    }

    fn validation(&self) -> Option<f64> {
        self.curve.iter().map(|(_, ndcg)| *ndcg).max_by(f64::total_cmp)
    }

    fn curves(&self) -> Vec<Curve> {
        let points = self.curve.iter().map(|(weight, ndcg)| (f64::from(*weight), Some(*ndcg)));
        let kept = Some(f64::from(self.weight));
        vec![Curve::new("weight of the first model", "validation NDCG@10", points, kept)]
    }

    fn parts(&self) -> Vec<(&str, &Arc<dyn MatchingModel>)> {
        vec![("first", &self.first), ("second", &self.second)]
    }

    fn related(&self, query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        self.first.related(query).or_else(|| self.second.related(query))
    }
}

/// The figure of a weight.
#[derive(Serialize)]
struct WeightPoint {
    a: f32,
    #[serde(rename = "validation_ndcg@10")]
    ndcg: f64,
}

/// Two models and the weight of the first; see the module.
#[derive(Debug, Clone)]
pub struct Combination {
    /// a: the weight of the first model; the second has 1 - a.
    pub weight: f32,
    /// The first model.
    pub first: Arc<dyn MatchingModel>,
    /// The second model.
    pub second: Arc<dyn MatchingModel>,
    /// Validation NDCG@10 for every weight that was tried.
    pub curve: Vec<(f32, f64)>,
    /// Documents that were ranked to tune the weight.
    pub tuned_on: Option<Ranked>,
}

struct CombinationMatcher<'a> {
    model: &'a Combination,
    parts: [Box<dyn Matcher + 'a>; 2],
}

impl CombinationMatcher<'_> {
    fn scorer<'s>(&'s self, queries: &[&str]) -> Result<CombinationScorer<'s>> {
        let [first, second] = &self.parts;
        CombinationScorer::new(vec![self.model.weight], [&**first, &**second], queries)
    }
}

impl Matcher for CombinationMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.parts[0].n_documents()
    }

    fn batch_size(&self) -> usize {
        self.parts[0].batch_size().min(self.parts[1].batch_size())
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        Ok(Box::new(self.scorer(queries)?))
    }

    /// Standardised over the documents the matcher was bound to.
    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let mut scorer = self.scorer(&[query])?;
        scorer.prepare();
        let models = [&self.model.first, &self.model.second];
        let weights = self.model.weights();
        let mut parts = Vec::with_capacity(2);
        for i in 0..2 {
            let explanation = self.parts[i].explain(query, document)?;
            let moments = scorer.moments[i][0];
            let standardised = moments.standardise(explanation.score.unwrap_or(f32::NAN));
            parts.push(Part {
                model: models[i].kind().to_owned(),
                weight: weights[i],
                mean: moments.mean,
                deviation: moments.deviation,
                standardised,
                contribution: f64::from(weights[i]) * standardised,
                explanation,
            });
        }
        if let Some(part) = parts.iter().find(|part| !part.mean.is_finite()) {
            return Err(Error::Diverged(format!(
                "the mean score of {} is {}: its numbers are too large for the data; train it again",
                part.model, part.mean
            )));
        }
        let known = parts.iter().any(|part| part.deviation > 0.0);
        let sum: f64 = parts.iter().map(|part| part.contribution).sum();
        Ok(Explanation { score: known.then_some(sum as f32), why: Why::Parts { parts } })
    }
}

impl Combination {
    /// Says what the weight was tuned on.
    fn tuned_on(&self) -> Option<(String, String)> {
        let ranked = self.tuned_on?;
        Some(("tuned on".into(), format!("validation queries, {}", ranked.describe())))
    }

    /// a and 1 - a, the latter without the rounding of f32.
    pub fn weights(&self) -> [f32; 2] {
        [self.weight, ((1.0 - f64::from(self.weight)) * 1e6).round() as f32 / 1e6]
    }

    /// Combines two models with the weight, of 0.1, 0.2, ... 0.9, that is best on the validation judgments;
    /// of equally good ones the one nearest to 0.5, and of two of those the smaller.
    pub fn tune(
        [first, second]: [Arc<dyn MatchingModel>; 2],
        dataset: &Dataset,
        validation: &Validation,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let weights: Vec<f32> = (1..10).map(|tenth| tenth as f32 / 10.0).collect();
        let curve = {
            let parts = bind_all(&[&*first, &*second], dataset, validation.wanted(), progress)?;
            let parts = [&*parts[0], &*parts[1]];
            let mut scorer = CombinationScorer::new(weights.clone(), parts, &validation.queries())?;
            validation.values(&mut scorer)?
        };
        let curve: Vec<(f32, f64)> = weights.into_iter().zip(curve).collect();
        let off = |weight: f32| (weight * 10.0).round() as i32 - 5;
        let sign = if validation.measure().higher_is_better() { 1.0 } else { -1.0 };
        let best = curve.iter().min_by(|a, b| {
            (sign * b.1)
                .total_cmp(&(sign * a.1))
                .then(off(a.0).abs().cmp(&off(b.0).abs()))
                .then(a.0.total_cmp(&b.0))
        });
        let weight = best.expect("nine weights were tried").0;
        Ok(Self { weight, first, second, curve, tuned_on: Some(validation.ranked()) })
    }
}

/// Mean and standard deviation of the scores of one query; a deviation of 0 where it is only rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moments {
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

/// a * first + (1 - a) * second, where at least one of them varies; infinite where a score of one of them is.
fn combine(weight: f32, moments: [Moments; 2], scores: [f32; 2]) -> f32 {
    if moments.iter().any(|moments| !moments.mean.is_finite()) {
        return f32::INFINITY;
    }
    if moments[0].deviation == 0.0 && moments[1].deviation == 0.0 {
        return f32::NAN;
    }
    let [first, second] = [0, 1].map(|i| moments[i].standardise(scores[i]));
    let weight = f64::from(weight);
    (weight * first + (1.0 - weight) * second) as f32
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

/// Scores by one weight or by several: query i with weight j is query `i + j * n` of n.
struct CombinationScorer<'a> {
    weights: Vec<f32>,
    n_documents: u32,
    parts: [Box<dyn Scorer + 'a>; 2],
    /// Over all documents, for every query; known once prepared.
    moments: [Vec<Moments>; 2],
}

impl<'a> CombinationScorer<'a> {
    fn new(weights: Vec<f32>, parts: [&'a dyn Matcher; 2], queries: &[&str]) -> Result<Self> {
        let n_documents = parts[0].n_documents();
        let parts = [parts[0].begin(queries)?, parts[1].begin(queries)?];
        Ok(Self { weights, n_documents, parts, moments: [Vec::new(), Vec::new()] })
    }
}

impl Scorer for CombinationScorer<'_> {
    fn n_queries(&self) -> usize {
        self.parts[0].n_queries() * self.weights.len()
    }

    fn prepare(&mut self) {
        for (part, moments) in self.parts.iter_mut().zip(&mut self.moments) {
            part.prepare();
            *moments = moments_of(&**part, self.n_documents);
        }
    }

    /// Standardised over the documents of the list.
    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let n_queries = self.parts[0].n_queries();
        let (query, weight) = (query % n_queries, self.weights[query / n_queries]);
        let mut second = vec![0.0; documents.len()];
        self.parts[0].list(query, documents, scores);
        self.parts[1].list(query, documents, &mut second);
        let moments = [Moments::of(scores), Moments::of(&second)];
        for (score, second) in scores.iter_mut().zip(second) {
            *score = combine(weight, moments, [*score, second]);
        }
    }

    /// Standardised over all documents.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let (n, n_queries) = (documents.len(), self.parts[0].n_queries());
        assert_eq!(self.moments[0].len(), n_queries, "prepare comes before block");
        let mut first = vec![0.0; n_queries * n];
        let mut second = first.clone();
        self.parts[0].block(documents.clone(), &mut first);
        self.parts[1].block(documents, &mut second);
        for (&weight, scores) in self.weights.iter().zip(scores.chunks_exact_mut(n_queries * n)) {
            let pairs = first.chunks_exact(n).zip(second.chunks_exact(n));
            for (query, (row, (first, second))) in scores.chunks_exact_mut(n).zip(pairs).enumerate() {
                let moments = [self.moments[0][query], self.moments[1][query]];
                for (score, (&first, &second)) in row.iter_mut().zip(first.iter().zip(second)) {
                    *score = combine(weight, moments, [first, second]);
                }
            }
        }
    }
}
