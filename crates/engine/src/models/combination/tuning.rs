//! The search for weights on the validation judgments, and the rule that chooses among them.
//!
//! Weights are tenths that sum to 1. Two models have eleven choices, and all are tried. Of more models every one alone and
//! every pair is tried; then the best choice moves: tenths of one model go to another, all such moves are tried, and the
//! best one is made until none is better. Scores of the models are computed once. Every step is in a fixed order, so that
//! the result depends on the figures alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::remembered::RememberedScorer;
use super::scorer::CombinationScorer;
use super::{Combination, MOST_PARTS, WeightTrial};
use crate::dataset::Dataset;
use crate::models::{MatchingModel, bind_all, bm25};
use crate::scoring::Scorer;
use crate::validation::Validation;

/// Parts of a weight.
const TENTHS: u8 = 10;
/// Choices of weights that are measured in one pass over the documents.
const AT_A_TIME: usize = 16;
/// Most models of which every pair is tried.
const PAIRED: usize = 6;
/// Trials that a combination of more than two models keeps, beside that of every model alone.
const KEPT_TRIALS: usize = 20;

/// Rule that chooses among weights by their validation figures.
///
/// Weights are *within the band* if the mean of the paired differences of the queries, to the weights with the best figure,
/// is at most one standard error of this mean. Of the weights within the band the simplest are kept: a single model before
/// a sum, BM25 before other single models, fewer models before more; then the weights nearest to equal ones, the higher
/// figure, and the larger weights of the models that are named first. With fewer than two queries everything is within
/// the band.
///
/// [`WeightRule::Best`] has a band of width 0: only equal figures are compared by simplicity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightRule {
    /// The simplest weights within one standard error of the best.
    #[default]
    OneSe,
    /// The weights with the best figure.
    Best,
}

impl WeightRule {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::OneSe => "the simplest weights within one standard error of the best",
            Self::Best => "the weights with the best figure",
        }
    }
}

/// Parameters of the search for weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CombinationParams {
    /// Rule that chooses among weights.
    pub rule: WeightRule,
}

/// Weights in tenths, one for each model.
type Tenths = Vec<u8>;

/// Values of the validation queries for every choice that was tried.
type Tried = BTreeMap<Tenths, Vec<f64>>;

impl Combination {
    /// Combines models with weights that are chosen on the validation judgments; see [`WeightRule`].
    pub fn tune(
        models: Vec<Arc<dyn MatchingModel>>,
        params: &CombinationParams,
        data: (&Dataset, &Validation),
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (dataset, validation) = data;
        let n = models.len();
        if !(2..=MOST_PARTS).contains(&n) {
            return Err(Error::Params(format!(
                "a combination is made of 2 to {MOST_PARTS} models, not of {n}"
            )));
        }
        let higher_is_better = validation.measure().higher_is_better();
        let tried = {
            let plain: Vec<&dyn MatchingModel> = models.iter().map(|model| &**model).collect();
            let parts = bind_all(&plain, dataset, validation.wanted(), progress)?;
            let n_documents = parts[0].n_documents();
            let mut scorers: Vec<Box<dyn Scorer + '_>> = Vec::with_capacity(n);
            for part in &parts {
                let scorer = part.begin(&validation.queries())?;
                scorers.push(Box::new(RememberedScorer::new(scorer, n_documents, n)));
            }
            let mut scorer = CombinationScorer::new(scorers, false, n_documents);
            search(n, higher_is_better, |choices| {
                scorer.weights = choices.iter().map(|tenths| exact(&weights_of(tenths))).collect();
                validation.per_query(&mut scorer)
            })?
        };
        let is_bm25: Vec<bool> = models.iter().map(|model| model.kind() == bm25::KIND.name).collect();
        let kept = choose(&tried, params.rule, &is_bm25, higher_is_better);
        let trials = listed(&tried, kept, higher_is_better);
        Ok(Self {
            weights: weights_of(kept),
            models,
            trials,
            rule: Some(params.rule),
            tuned_on: Some(validation.ranked()),
        })
    }
}

/// Weights as the model keeps them.
fn weights_of(tenths: &Tenths) -> Vec<f32> {
    tenths.iter().map(|&tenth| f32::from(tenth) / f32::from(TENTHS)).collect()
}

/// Weights as scores are made of them. Of two, the second is what the first leaves, without the rounding of f32.
pub(super) fn exact(weights: &[f32]) -> Vec<f64> {
    match weights {
        [first, _] => vec![f64::from(*first), 1.0 - f64::from(*first)],
        _ => weights.iter().map(|&weight| f64::from(weight)).collect(),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Tries choices of weights for `n` models. `measure` returns the values of the queries for every choice.
fn search(
    n: usize,
    higher_is_better: bool,
    mut measure: impl FnMut(&[Tenths]) -> Result<Vec<Vec<f64>>>,
) -> Result<Tried> {
    let mut tried = Tried::new();
    let mut try_all = |choices: Vec<Tenths>, tried: &mut Tried| -> Result<()> {
        let mut new: Vec<Tenths> = choices.into_iter().filter(|choice| !tried.contains_key(choice)).collect();
        new.sort_unstable();
        new.dedup();
        for some in new.chunks(AT_A_TIME) {
            tried.extend(some.iter().cloned().zip(measure(some)?));
        }
        Ok(())
    };
    let mut start: Vec<Tenths> = (0..n).map(|i| unit(n, i)).collect();
    if n <= PAIRED {
        for i in 0..n {
            start.extend((0..i).flat_map(|j| moves(&unit(n, i), i, j)));
        }
    }
    try_all(start, &mut tried)?;
    if n > 2 {
        let mut best = best_of(&tried, higher_is_better).clone();
        loop {
            let pairs = (0..n).flat_map(|i| (0..n).filter(move |j| i != *j).map(move |j| (i, j)));
            try_all(pairs.flat_map(|(i, j)| moves(&best, i, j)).collect(), &mut tried)?;
            let next = best_of(&tried, higher_is_better);
            if *next == best {
                break;
            }
            best = next.clone();
        }
    }
    Ok(tried)
}

/// One model alone.
fn unit(n: usize, i: usize) -> Tenths {
    let mut tenths = vec![0; n];
    tenths[i] = TENTHS;
    tenths
}

/// Choices in which tenths of model `i` go to model `j`.
fn moves(from: &Tenths, i: usize, j: usize) -> Vec<Tenths> {
    (1..=from[i])
        .map(|moved| {
            let mut to = from.clone();
            to[i] -= moved;
            to[j] += moved;
            to
        })
        .collect()
}

/// The choice with the best figure; of equal ones the simplest.
fn best_of(tried: &Tried, higher_is_better: bool) -> &Tenths {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let best = tried.iter().min_by(|(a, of_a), (b, of_b)| {
        (sign * mean(of_b)).total_cmp(&(sign * mean(of_a))).then(shape(a).cmp(&shape(b))).then(b.cmp(a))
    });
    best.expect("every model alone was tried").0
}

/// Orders choices by simplicity: the number of models, then the distance to equal weights, which grows with the sum of
/// squares among equally many models.
fn shape(tenths: &Tenths) -> (usize, u32) {
    let squares = tenths.iter().map(|&tenth| u32::from(tenth).pow(2)).sum();
    (tenths.iter().filter(|tenth| **tenth > 0).count(), squares)
}

/// Chooses among the weights that were tried; see [`WeightRule`].
fn choose<'t>(tried: &'t Tried, rule: WeightRule, is_bm25: &[bool], higher_is_better: bool) -> &'t Tenths {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let best = &tried[best_of(tried, higher_is_better)];
    let is_within = |values: &[f64]| {
        let differences: Vec<f64> = best.iter().zip(values).map(|(best, own)| sign * (best - own)).collect();
        let behind = mean(&differences);
        match rule {
            WeightRule::Best => mean(values) == mean(best),
            WeightRule::OneSe => behind <= standard_error(&differences, behind),
        }
    };
    let is_bm25 =
        |tenths: &Tenths| tenths.iter().zip(is_bm25).any(|(&tenth, &is_bm25)| tenth == TENTHS && is_bm25);
    let simplest = tried.iter().filter(|(_, values)| is_within(values)).min_by(|(a, of_a), (b, of_b)| {
        let ((n_a, squares_a), (n_b, squares_b)) = (shape(a), shape(b));
        n_a.cmp(&n_b)
            .then(is_bm25(b).cmp(&is_bm25(a)))
            .then(squares_a.cmp(&squares_b))
            .then((sign * mean(of_b)).total_cmp(&(sign * mean(of_a))))
            .then(b.cmp(a))
    });
    simplest.expect("the best is within").0
}

/// Standard error of the mean of some differences; infinite for fewer than two.
fn standard_error(differences: &[f64], mean: f64) -> f64 {
    let n = differences.len() as f64;
    if n < 2.0 {
        return f64::INFINITY;
    }
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}

/// The trials that are kept: all of two models, by ascending weights of the first; of more models the best ones, the kept
/// one and every model alone, the best first.
fn listed(tried: &Tried, kept: &Tenths, higher_is_better: bool) -> Vec<WeightTrial> {
    let mut all: Vec<(&Tenths, f64)> = tried.iter().map(|(tenths, values)| (tenths, mean(values))).collect();
    if kept.len() > 2 {
        let sign = if higher_is_better { 1.0 } else { -1.0 };
        all.sort_by(|a, b| {
            (sign * b.1).total_cmp(&(sign * a.1)).then(shape(a.0).cmp(&shape(b.0))).then(b.0.cmp(a.0))
        });
        let (first, rest) = all.split_at(all.len().min(KEPT_TRIALS));
        let rest = rest.iter().filter(|(tenths, _)| *tenths == kept || tenths.contains(&TENTHS));
        all = first.iter().chain(rest).copied().collect();
    }
    all.into_iter()
        .map(|(tenths, validation)| WeightTrial { weights: weights_of(tenths), validation })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of queries that are concave in the weights, with their best at `at`.
    fn measured(at: &[f64], choices: &[Tenths]) -> Vec<Vec<f64>> {
        let value = |tenths: &Tenths, query: usize| {
            let away: f64 =
                tenths.iter().zip(at).map(|(&tenth, at)| (f64::from(tenth) / 10.0 - at).powi(2)).sum();
            1.0 - away + query as f64 * 0.01
        };
        choices.iter().map(|tenths| (0..5).map(|query| value(tenths, query)).collect()).collect()
    }

    #[test]
    fn two_models_have_eleven_choices() {
        let tried = search(2, true, |choices| Ok(measured(&[0.32, 0.68], choices))).unwrap();
        assert_eq!(tried.len(), 11);
        assert_eq!(best_of(&tried, true), &[3, 7]);
        assert_eq!(best_of(&tried, false), &[10, 0]);
    }

    proptest! {
        /// On a concave figure the search finds what all choices would.
        #[test]
        fn moves_find_the_best_of_all_choices(raw in prop::collection::vec(0.01f64..1.0, 3..5)) {
            let sum: f64 = raw.iter().sum();
            let at: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
            let n = at.len();
            let mut n_measured = 0;
            let tried = search(n, true, |choices| {
                n_measured += choices.len();
                Ok(measured(&at, choices))
            }).unwrap();
            prop_assert_eq!(n_measured, tried.len(), "nothing is measured twice");
            prop_assert!(tried.keys().all(|tenths| tenths.iter().sum::<u8>() == TENTHS));
            let mut all: Vec<Tenths> = vec![Vec::new()];
            for _ in 0..n {
                all = all.iter().flat_map(|some| (0..=TENTHS).map(|tenth| [&some[..], &[tenth]].concat())).collect();
            }
            all.retain(|tenths| tenths.iter().sum::<u8>() == TENTHS);
            let best = measured(&at, &all).iter().map(|values| mean(values)).fold(f64::MIN, f64::max);
            let found = mean(&tried[best_of(&tried, true)]);
            // Rounding to tenths has several best corners.
            prop_assert!(best - found < 0.005, "{best} {found}");
        }
    }

    fn tried(rows: &[(&[u8], &[f64])]) -> Tried {
        rows.iter().map(|(tenths, values)| (tenths.to_vec(), values.to_vec())).collect()
    }

    #[test]
    fn a_better_figure_counts_only_beyond_its_standard_error() {
        // The best sum is better than BM25 by 0.05 on average; the standard error of that is 0.065.
        let noisy = tried(&[
            (&[10, 0], &[0.1, 0.2, 0.3, 0.4]),
            (&[5, 5], &[0.2, 0.4, 0.5, 0.4]),
            (&[2, 8], &[0.5, 0.3, 0.4, 0.5]),
            (&[0, 10], &[0.5, 0.1, 0.3, 0.6]),
        ]);
        assert_eq!(choose(&noisy, WeightRule::Best, &[false, true], true), &[2, 8]);
        assert_eq!(choose(&noisy, WeightRule::OneSe, &[false, true], true), &[0, 10]);
        // Without BM25 the other single model is still simpler, if it is within the band.
        assert_eq!(choose(&noisy, WeightRule::OneSe, &[false, false], true), &[0, 10]);
        let clear = tried(&[
            (&[10, 0], &[0.1, 0.2, 0.3, 0.4]),
            (&[5, 5], &[0.49, 0.31, 0.4, 0.49]),
            (&[2, 8], &[0.5, 0.3, 0.4, 0.5]),
            (&[0, 10], &[0.4, 0.2, 0.3, 0.4]),
        ]);
        // Equal weights are within the band of the best sum; no single model is.
        assert_eq!(choose(&clear, WeightRule::OneSe, &[false, true], true), &[5, 5]);
        assert_eq!(choose(&clear, WeightRule::Best, &[false, true], true), &[2, 8]);
    }

    #[test]
    fn simpler_is_fewer_models_and_bm25_first() {
        let equal = tried(&[
            (&[10, 0, 0], &[0.5, 0.4]),
            (&[0, 10, 0], &[0.5, 0.4]),
            (&[0, 5, 5], &[0.5, 0.4]),
            (&[4, 3, 3], &[0.5, 0.4]),
        ]);
        for rule in [WeightRule::OneSe, WeightRule::Best] {
            assert_eq!(choose(&equal, rule, &[false, true, false], true), &[0, 10, 0]);
            assert_eq!(choose(&equal, rule, &[false, false, false], true), &[10, 0, 0]);
        }
        let sums = tried(&[
            (&[0, 0, 10], &[0.1, 0.2]),
            (&[0, 3, 7], &[0.5, 0.4]),
            (&[0, 6, 4], &[0.5, 0.4]),
            (&[4, 3, 3], &[0.5, 0.4]),
        ]);
        assert_eq!(choose(&sums, WeightRule::OneSe, &[false, true, false], true), &[0, 6, 4]);
        // One query says nothing about noise.
        let one = tried(&[(&[10, 0], &[0.1]), (&[5, 5], &[0.9]), (&[0, 10], &[0.2])]);
        assert_eq!(choose(&one, WeightRule::OneSe, &[true, false], true), &[10, 0]);
        assert_eq!(choose(&one, WeightRule::Best, &[true, false], true), &[5, 5]);
        // Lower is better.
        assert_eq!(choose(&one, WeightRule::Best, &[true, false], false), &[10, 0]);
    }

    /// A model whose validation figure is 0 gets no weight.
    #[test]
    fn a_model_that_ranks_nothing_gets_weight_0() {
        let tried = search(2, true, |choices| {
            Ok(choices.iter().map(|tenths| vec![0.5 * f64::from(tenths[1]) / 10.0; 30]).collect())
        })
        .unwrap();
        for rule in [WeightRule::OneSe, WeightRule::Best] {
            assert_eq!(choose(&tried, rule, &[false, true], true), &[0, 10]);
        }
    }
}
