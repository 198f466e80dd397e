//! Scores of the documents of a request, and the reasons for them.

use std::collections::HashMap;

use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_engine::rankers::RankingModel;
use matchrank_engine::ranking::check_finite;
use matchrank_engine::scoring::Explanation;
use matchrank_engine::serving::Candidate;
use serde::Serialize;
use utoipa::ToSchema;

use crate::candidate::{GivenDocument, with_candidates};
use crate::failure::Failure;
use crate::fleet::{Named, Snapshot};
use crate::parts::{ScorePart, score_parts, word_parts};
use crate::service::Service;
use crate::version::Scorer;

/// Candidates whose mean score the features of a ranker add to, at most.
const MOST_REFERENCES: usize = 1000;

/// A document of a request with its place there and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedDocument {
    /// Place in the request, from 0.
    pub(crate) index: usize,
    /// Score; none where the model says nothing about the document, which counts as 0.
    pub(crate) score: Option<f32>,
}

impl RankedDocument {
    /// The score by which the document is ordered.
    pub(crate) fn value(&self) -> f32 {
        self.score.unwrap_or(0.0)
    }
}

/// Scores documents and orders them, the best first. Documents of equal score keep their order.
pub(crate) fn rank(
    service: &Service,
    live: &Snapshot,
    model: &Named<'_>,
    query: &str,
    documents: &[GivenDocument],
) -> Result<Vec<RankedDocument>, Failure> {
    let scores = match &model.version.scorer {
        Scorer::Ranking(ranker) => {
            let scores = ranker_scores(&**ranker, &feature_lists(&**ranker, documents)?);
            scores.into_iter().map(Some).collect()
        }
        Scorer::Matching(served) => {
            with_candidates(service, live, documents, |candidates| served.score(query, candidates))?
        }
    };
    check_finite(model.name, scores.iter().copied().flatten())?;
    let mut ranked: Vec<RankedDocument> =
        scores.into_iter().enumerate().map(|(index, score)| RankedDocument { index, score }).collect();
    ranked.sort_by(|a, b| b.value().total_cmp(&a.value()).then(a.index.cmp(&b.index)));
    Ok(ranked)
}

/// Why a document has the score that [`rank`] gives it.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct RankExplanation {
    /// Score and reasons of a matching model, by its formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explanation: Option<Explanation>,
    /// Score of a ranker and what features add to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<FeatureSum>,
}

/// A score of a ranker as a sum over features.
#[derive(Serialize, ToSchema)]
pub(crate) struct FeatureSum {
    /// The score.
    score: f32,
    /// Mean score of the candidates (of long lists, of 1,000 of them).
    base: f64,
    /// Shapley values of the features, by decreasing absolute value. With `base` they sum to the score.
    features: Vec<FeatureAdds>,
}

/// A feature and what it adds to a score.
#[derive(Serialize, ToSchema)]
pub(crate) struct FeatureAdds {
    /// Number of the feature, from 1.
    feature: usize,
    /// Shapley value.
    adds: f64,
}

impl From<Explanation> for RankExplanation {
    fn from(explanation: Explanation) -> Self {
        Self { explanation: Some(explanation), features: None }
    }
}

impl From<FeatureSum> for RankExplanation {
    fn from(sum: FeatureSum) -> Self {
        Self { explanation: None, features: Some(sum) }
    }
}

impl RankExplanation {
    /// Returns the explanation as a list of what adds to the score.
    pub(crate) fn parts(&self) -> Vec<ScorePart> {
        let of_explanation = self.explanation.iter().flat_map(score_parts);
        of_explanation.chain(self.features.iter().flat_map(FeatureSum::parts)).collect()
    }

    /// Returns what each word of the document adds to the score; nothing for a ranker.
    pub(crate) fn words(&self) -> HashMap<String, f64> {
        self.explanation.as_ref().map(word_parts).unwrap_or_default()
    }
}

impl FeatureSum {
    fn parts(&self) -> Vec<ScorePart> {
        let part = |name: String, adds: f64| ScorePart { name, adds };
        let features = self.features.iter().map(|of| part(of.feature.to_string(), of.adds));
        std::iter::once(part("mean of the candidates".into(), self.base)).chain(features).collect()
    }
}

/// Explains the scores that [`rank`] gives the documents at some places of a request.
pub(crate) fn explain_ranked(
    service: &Service,
    live: &Snapshot,
    (model, query): (&Named<'_>, &str),
    (documents, places): (&[GivenDocument], &[usize]),
) -> Result<Vec<RankExplanation>, Failure> {
    match &model.version.scorer {
        Scorer::Matching(served) => {
            let explain = |candidates: &[Candidate<'_>]| served.explain_in_list(query, candidates, places);
            let explained = with_candidates(service, live, documents, explain)?;
            Ok(explained.into_iter().map(RankExplanation::from).collect())
        }
        Scorer::Ranking(ranker) => {
            let lists = feature_lists(&**ranker, documents)?;
            let scores = ranker_scores(&**ranker, &lists);
            check_finite(model.name, scores.iter().copied())?;
            let explain = |&place: &usize| Ok(feature_sum(&**ranker, &lists, place, scores[place])?.into());
            places.iter().map(explain).collect()
        }
    }
}

/// Explains the score of a ranker at a place of a list.
fn feature_sum(
    ranker: &dyn RankingModel,
    lists: &FeatureLists,
    place: usize,
    score: f32,
) -> Result<FeatureSum, Failure> {
    let list = lists.list(0);
    let step = list.len().div_ceil(MOST_REFERENCES);
    let references: Vec<usize> = (0..list.len()).step_by(step).collect();
    let why = ranker.shapley(&list, place, &references)?;
    let adds = why.adds.into_iter().zip(1..).filter(|(adds, _)| *adds != 0.0);
    let mut features: Vec<FeatureAdds> = adds.map(|(adds, feature)| FeatureAdds { feature, adds }).collect();
    features.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()));
    Ok(FeatureSum { score, base: why.base, features })
}

fn ranker_scores(ranker: &dyn RankingModel, lists: &FeatureLists) -> Vec<f32> {
    let mut scores = Vec::new();
    ranker.score(&lists.list(0), &mut scores);
    scores.into_iter().map(|score| score as f32).collect()
}

/// Returns the features of documents as one list that the ranker can score.
fn feature_lists(ranker: &dyn RankingModel, documents: &[GivenDocument]) -> Result<FeatureLists, Failure> {
    let mut rows = FeatureRows::default();
    for (index, document) in documents.iter().enumerate() {
        let Some(features) = &document.features else {
            return Err(Failure::Unusable(format!(
                "document {index} has no `features`, which a ranker needs"
            )));
        };
        let name = index.to_string();
        rows.push("request", Some(&name), 0.0, &mut features.clone())
            .map_err(|message| Failure::Unusable(format!("document {index}: {message}")))?;
    }
    let lists = FeatureLists::from_rows(rows);
    ranker.kind().require_complete(&lists)?;
    Ok(lists)
}
