//! Linear rankers: a weight per feature.

use std::sync::Arc;

use rayon::prelude::*;

use super::products;
use super::scaling::Scaling;
use crate::data::{FeatureLists, List};

/// Scores the documents of one list; higher is better.
pub trait Ranker: Sync {
    /// Replaces `scores` by the score of every document.
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>);

    /// Returns the scores of the rows of all lists, on all threads.
    fn score_all(&self, lists: &FeatureLists) -> Vec<f64> {
        let of_query = |query| {
            let mut scores = Vec::new();
            self.score(&lists.list(query), &mut scores);
            scores
        };
        (0..lists.n_queries()).into_par_iter().flat_map_iter(of_query).collect()
    }
}

macro_rules! forwarded {
    ($($pointer:ty),*) => {
        $(impl<R: Ranker + Send + ?Sized> Ranker for $pointer {
            fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
                (**self).score(list, scores);
            }

            fn score_all(&self, lists: &FeatureLists) -> Vec<f64> {
                (**self).score_all(lists)
            }
        })*
    };
}

forwarded!(Box<R>, Arc<R>);

/// s = sum over features of weight * factor * value.
///
/// ```
/// use matchrank_core::data::letor;
/// use matchrank_core::progress::Silent;
/// use matchrank_core::ranking::{LinearRanker, Ranker, Scaling, ScalingKind};
///
/// let lists = letor::parse("x", b"1 qid:1 1:4 2:10\n0 qid:1 1:2 2:20\n", &Silent)?;
/// let scaling = Scaling::fit(ScalingKind::QueryMinMax, &lists);
/// let ranker = LinearRanker { weights: vec![1.0, -2.0], scaling };
/// // The ranges of the features are 2 and 10: 1 * 4 / 2 - 2 * 10 / 10 and 1 * 2 / 2 - 2 * 20 / 10.
/// assert_eq!(ranker.score_all(&lists), [0.0, -3.0]);
/// # Ok::<(), matchrank_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearRanker {
    /// w, one per feature.
    pub weights: Vec<f64>,
    /// Scaling that is applied to the features first.
    pub scaling: Scaling,
}

/// Contribution of one feature to the score of a document.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FeatureContribution {
    /// Column of the feature; its number in files is one higher.
    pub feature: u32,
    /// Value of the feature in the data.
    pub value: f32,
    /// Scaled value of the feature.
    pub scaled: f64,
    /// Weight of the feature.
    pub weight: f64,
    /// weight * scaled.
    pub adds: f64,
}

/// Shapley values: contributions of the features to the difference between a document's score and the mean score of its
/// references.
#[derive(Debug, Clone, PartialEq)]
pub struct Shapley {
    /// Mean score of the references.
    pub base: f64,
    /// Contribution of each feature, by column; together with `base` they sum to the score.
    pub adds: Vec<f64>,
}

impl LinearRanker {
    /// Weights of unscaled features in a list: w_j times the factor of feature j.
    pub fn effective_weights(&self, list: &List<'_>) -> Vec<f64> {
        match self.scaling.of_list(list) {
            None => self.weights.clone(),
            Some(factors) => self.weights.iter().zip(factors).map(|(w, factor)| w * factor).collect(),
        }
    }

    /// Returns the contribution of each feature to the score of the `i`-th document of a list, by column. Features that
    /// are 0 or unknown to the model contribute nothing and are left out.
    pub fn explain(&self, list: &List<'_>, i: usize) -> Vec<FeatureContribution> {
        self.contributions(self.scaling.of_list(list).as_deref(), list, i)
    }

    fn contributions(&self, factors: Option<&[f64]>, list: &List<'_>, i: usize) -> Vec<FeatureContribution> {
        let contribution = |(feature, value): (u32, f32)| {
            let weight = *self.weights.get(feature as usize)?;
            let factor = factors.map_or(Some(&1.0), |factors| factors.get(feature as usize))?;
            let scaled = f64::from(value) * factor;
            Some(FeatureContribution { feature, value, scaled, weight, adds: weight * scaled })
        };
        list.row(i).entries().filter_map(contribution).collect()
    }

    /// Returns the contribution of each feature to the difference between the score of the `i`-th document and the mean
    /// score of the `references`: the weight times the difference of the scaled value from its mean.
    pub fn shapley(&self, list: &List<'_>, i: usize, references: &[usize]) -> Shapley {
        let factors = self.scaling.of_list(list);
        let parts = |i: usize| self.contributions(factors.as_deref(), list, i);
        let (n, mut base, mut adds) = (references.len() as f64, 0.0, vec![0.0; self.weights.len()]);
        for part in references.iter().flat_map(|&reference| parts(reference)) {
            adds[part.feature as usize] += -1.0 / n * part.adds;
            base += part.adds;
        }
        parts(i).iter().for_each(|part| adds[part.feature as usize] += part.adds);
        Shapley { base: base / n, adds }
    }
}

impl Ranker for LinearRanker {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        products::scores(list, &self.effective_weights(list), scores);
    }

    fn score_all(&self, lists: &FeatureLists) -> Vec<f64> {
        // Weights that are the same for all lists are computed once.
        let common = (!self.scaling.kind().is_within_lists() && lists.n_queries() > 0)
            .then(|| self.effective_weights(&lists.list(0)));
        let of_query = |query| {
            let (list, mut scores) = (lists.list(query), Vec::new());
            match &common {
                Some(weights) => products::scores(&list, weights, &mut scores),
                None => self.score(&list, &mut scores),
            }
            scores
        };
        (0..lists.n_queries()).into_par_iter().flat_map_iter(of_query).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::ScalingKind;

    /// Weights 2 and -1 for ranges 4 and 10, and a third feature that the ranker does not know.
    #[test]
    fn what_features_add_over_the_mean() {
        let cells = vec![4.0, 10.0, 7.0, 0.0, 0.0, 9.0, 2.0, 5.0, 8.0];
        let lists = FeatureLists::from_dense(&[3], vec![0.0; 3], 3, cells).unwrap();
        let scaling = Scaling::fit(ScalingKind::QueryMinMax, &lists);
        let ranker = LinearRanker { weights: vec![2.0, -1.0], scaling };
        let (list, scores) = (lists.list(0), ranker.score_all(&lists));
        for (i, score) in scores.into_iter().enumerate() {
            let Shapley { base, adds } = ranker.shapley(&list, i, &[0, 1, 2]);
            assert!((base - 0.5).abs() < 1e-12);
            assert!((base + adds.iter().sum::<f64>() - score).abs() < 1e-12);
        }
        let adds = ranker.shapley(&list, 0, &[0, 1, 2]).adds;
        assert!((adds[0] - 1.0).abs() < 1e-12 && (adds[1] + 0.5).abs() < 1e-12, "{adds:?}");
    }

    /// A ranker that makes something once for all lists does so behind a pointer, too.
    #[test]
    fn all_lists_are_scored_at_once_behind_pointers() {
        struct AtOnce;
        impl Ranker for AtOnce {
            fn score(&self, _: &List<'_>, _: &mut Vec<f64>) {
                unreachable!("lists are not scored one by one")
            }
            fn score_all(&self, lists: &FeatureLists) -> Vec<f64> {
                vec![1.0; lists.n_rows()]
            }
        }
        let lists = FeatureLists::from_dense(&[1, 2], vec![0.0; 3], 1, vec![0.0; 3]).unwrap();
        let (boxed, shared): (Box<dyn Ranker + Send>, Arc<dyn Ranker + Send>) =
            (Box::new(AtOnce), Arc::new(AtOnce));
        assert_eq!(
            (boxed.score_all(&lists), Box::new(shared).score_all(&lists)),
            (vec![1.0; 3], vec![1.0; 3])
        );
    }
}
