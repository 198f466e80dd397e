//! Permutation importance: the value of features to any ranker.
//!
//! A feature whose values change places among all documents says nothing any more, while it is distributed as before. By
//! as much as a measure falls then, the ranker lives on the feature. Features that say the same stand in for each
//! other, so that each of them may look worth less than they are together. Gains of trees tell what training made of a
//! feature; falls on lists that training did not see tell what it is good for.

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{Ranker, Validation};
use matchrank_core::{Error, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Importance of features on some lists.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PermutationImportance {
    /// The mean of the measure on the lists as they are.
    pub figure: f64,
    /// The features, in the order asked for.
    pub features: Vec<FeatureImportance>,
}

/// Importance of one feature.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FeatureImportance {
    /// Its column.
    pub feature: u32,
    /// By how much the figure fell, exchange by exchange.
    pub falls: Vec<f64>,
}

impl FeatureImportance {
    /// The mean fall.
    pub fn mean(&self) -> f64 {
        self.falls.iter().sum::<f64>() / self.falls.len() as f64
    }

    /// The standard deviation of the falls; none of a single one.
    pub fn deviation(&self) -> Option<f64> {
        let (n, mean) = (self.falls.len(), self.mean());
        let squares: f64 = self.falls.iter().map(|fall| (fall - mean).powi(2)).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }
}

/// Exchanges of values that importance is measured by.
#[derive(Debug, Clone, Copy)]
pub struct Permutations<'a> {
    /// Columns whose values change places.
    pub features: &'a [u32],
    /// Measure that falls.
    pub measure: Measure,
    /// Exchanges for each feature.
    pub repeats: usize,
    /// Seed of the exchanges.
    pub seed: u64,
}

/// Measures by how much the measure falls when the values of a feature change places among all rows of the lists,
/// several times for each feature. What is not asked for, because the ranker does not know it, is worth 0.
/// The same seed gives the same falls, whichever features are asked for together.
pub fn permutation_importance(
    ranker: &dyn Ranker,
    lists: &FeatureLists,
    how: Permutations<'_>,
    progress: &dyn Progress,
) -> Result<PermutationImportance> {
    let Permutations { features, measure, repeats, seed } = how;
    if !(1..=10_000).contains(&repeats) {
        return Err(Error::Params("repeats must be from 1 to 10000".into()));
    }
    let validation = Validation::new(lists, measure)?;
    let figure = validation.of_scores(&ranker.score_all(lists))?;
    progress.begin("exchanging values", Some((features.len() * repeats) as u64), "exchanges");
    let mut changed = lists.clone();
    let mut importance = |feature: u32| -> Result<FeatureImportance> {
        let column: Vec<f32> =
            (0..lists.n_rows()).map(|row| lists.features().row(row).get(feature)).collect();
        let mut falls = vec![0.0; repeats];
        // What is the same in all rows has nothing to exchange.
        let varies = column.iter().any(|value| *value != column[0]);
        for (repeat, fall) in (0..).zip(&mut falls).take_while(|_| varies) {
            let stream = (u64::from(feature) << 20 | repeat).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut shuffled = column.clone();
            shuffled.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed ^ stream));
            changed.set_column(feature, &shuffled)?;
            *fall = figure - validation.of_scores(&ranker.score_all(&changed))?;
            progress.advance(1);
        }
        if varies {
            changed.set_column(feature, &column)?;
        } else {
            progress.advance(repeats as u64);
        }
        Ok(FeatureImportance { feature, falls })
    };
    let features = features.iter().map(|&feature| importance(feature)).collect::<Result<_>>()?;
    Ok(PermutationImportance { figure, features })
}

#[cfg(test)]
mod tests {
    use matchrank_core::data::letor;
    use matchrank_core::progress::Silent;
    use matchrank_core::ranking::{LinearRanker, Scaling, ScalingKind, evaluate_ranker};
    use rand::RngExt;

    use super::*;

    /// 30 lists of 10 documents, graded by the first of three features.
    fn lists() -> FeatureLists {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let values: Vec<f32> = (0..900).map(|_| rng.random_range(0.0..1.0)).collect();
        let labels = values.chunks(3).map(|row| (3.0 * row[0]).floor()).collect();
        FeatureLists::from_dense(&[10; 30], labels, 3, values).unwrap()
    }

    fn linear(lists: &FeatureLists, weights: [f64; 3]) -> LinearRanker {
        LinearRanker { weights: weights.to_vec(), scaling: Scaling::fit(ScalingKind::MinMax, lists) }
    }

    fn ndcg() -> Measure {
        Measure::parse_list("ndcg@10").unwrap().remove(0)
    }

    #[test]
    fn the_only_feature_is_worth_all_and_one_that_is_not_used_nothing() {
        let lists = lists();
        let ranker = linear(&lists, [1.0, 0.0, 0.0]);
        let found = permutation_importance(
            &ranker,
            &lists,
            Permutations { features: &[2, 0, 7], measure: ndcg(), repeats: 3, seed: 5 },
            &Silent,
        )
        .unwrap();
        assert_eq!(found.figure, evaluate_ranker(&ranker, &lists, &[ndcg()]).unwrap().mean(0));
        assert!((found.figure - 1.0).abs() < 1e-12);
        let falls: Vec<&[f64]> = found.features.iter().map(|feature| &feature.falls[..]).collect();
        assert_eq!((falls[0], falls[2]), (&[0.0; 3][..], &[0.0; 3][..]), "exactly");
        // With its only feature shuffled, it ranks like the feature that says nothing.
        let blind = evaluate_ranker(&linear(&lists, [0.0, 1.0, 0.0]), &lists, &[ndcg()]).unwrap().mean(0);
        let all = &found.features[1];
        assert!((all.mean() - (1.0 - blind)).abs() < 0.05, "{} {blind}", all.mean());
        assert!(all.deviation().unwrap() > 0.0 && all.deviation().unwrap() < 0.05);
        assert_eq!(FeatureImportance { feature: 0, falls: vec![1.0] }.deviation(), None);
        assert_eq!(FeatureImportance { feature: 0, falls: vec![1.0, 3.0] }.deviation(), Some(2f64.sqrt()));
    }

    /// Results depend neither on threads, nor on the form of the rows, nor on the other features.
    #[test]
    fn the_same_for_any_number_of_threads_and_for_sparse_rows() {
        let dense = lists();
        // An empty column far out makes rows sparse.
        let mut text = String::new();
        for list in dense.iter() {
            for i in 0..list.len() {
                let row: Vec<f32> = (0..3).map(|j| list.row(i).get(j)).collect();
                let (grade, query, document) = (list.labels()[i], list.query(), list.document(i));
                text += &format!(
                    "{grade} qid:{query} 1:{} 2:{} 3:{} 100:0 # docid = {document}\n",
                    row[0], row[1], row[2]
                );
            }
        }
        let sparse = letor::parse("x", text.as_bytes(), &Silent).unwrap();
        assert!(sparse.list(0).dense().is_none());
        let ranker = linear(&dense, [1.0, -0.5, 0.2]);
        let of = |lists: &FeatureLists, features: &[u32], threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = || {
                permutation_importance(
                    &ranker,
                    lists,
                    Permutations { features, measure: ndcg(), repeats: 2, seed: 5 },
                    &Silent,
                )
            };
            pool.install(found).unwrap()
        };
        let whole = of(&dense, &[0, 1, 2], 1);
        assert_eq!(of(&dense, &[0, 1, 2], 4), whole);
        assert_eq!(of(&sparse, &[0, 1, 2], 2), whole);
        assert_eq!(of(&dense, &[1], 2).features[0], whole.features[1]);
        assert!(whole.features[0].mean() > 5.0 * whole.features[2].mean().abs());
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let graded = lists();
        let ranker = linear(&graded, [1.0, 0.0, 0.0]);
        let level = FeatureLists::from_dense(&[2], vec![0.0; 2], 1, vec![1.0, 2.0]).unwrap();
        for (lists, repeats, expected) in [(&level, 1, "grade above 0"), (&graded, 0, "from 1 to 10000")] {
            let error = permutation_importance(
                &ranker,
                lists,
                Permutations { features: &[0], measure: ndcg(), repeats, seed: 5 },
                &Silent,
            )
            .unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
