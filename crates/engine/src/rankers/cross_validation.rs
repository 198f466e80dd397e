//! Folds: each is tested on once, by a model that has not seen it.
//!
//! As in LETOR: for fold k the fold before it (the last one for the first) is validated on, and all others are trained
//! on. The figure of a measure is the mean of its means on the folds. A query that is in two folds would be tested on by a
//! model that learned from it, so it is an error.

use std::collections::HashMap;
use std::sync::Arc;

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::{Evaluation, Measure};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::evaluate_ranker;
use matchrank_core::{Error, Result};

use super::{RankerRecipe, RankerTraining, RankingModel};

/// A ranker that is trained and tested on every fold.
#[derive(Debug, Clone)]
pub struct CrossValidation<'a> {
    /// The ranker.
    pub recipe: RankerRecipe,
    /// Query features and seed.
    pub training: RankerTraining<'a>,
    /// Chooses epochs, lambdas and scalings, in each fold anew.
    pub validated: Measure,
    /// What is tested.
    pub measures: Vec<Measure>,
}

/// Figures of one fold.
#[derive(Debug, Clone)]
pub struct FoldFigures {
    /// The means of the measures on its queries.
    pub means: Vec<f64>,
    /// Queries that count in them.
    pub queries: u64,
    /// The values of its queries.
    pub evaluation: Evaluation,
    /// The model that was tested.
    pub model: Arc<dyn RankingModel>,
}

impl CrossValidation<'_> {
    /// Trains and tests on every fold.
    pub fn run(&self, folds: &[FeatureLists], progress: &dyn Progress) -> Result<Vec<FoldFigures>> {
        let names: Vec<String> = (1..=folds.len()).map(|k| format!("fold {k}")).collect();
        check_folds(folds, &names)?;
        let test = |test: usize| {
            let (train, validation) = train_and_validation(folds, test);
            let lessons = self.training.on(train, Some((validation, self.validated)));
            let model = self.training.inform(self.recipe.train(lessons, progress)?, &folds[test])?;
            let evaluation = evaluate_ranker(&*model, &folds[test], &self.measures)?;
            Ok(FoldFigures {
                means: (0..self.measures.len()).map(|measure| evaluation.mean(measure)).collect(),
                queries: evaluation.audit.queries_in_mean,
                evaluation,
                model,
            })
        };
        (0..folds.len()).map(test).collect()
    }
}

/// The lists that fold `test` is trained on, and those it is validated on.
pub(crate) fn train_and_validation(folds: &[FeatureLists], test: usize) -> (FeatureLists, FeatureLists) {
    let validation = (test + folds.len() - 1) % folds.len();
    let others = folds.iter().enumerate().filter(|(i, _)| *i != test && *i != validation);
    let trained: Vec<&FeatureLists> = others.map(|(_, fold)| fold).collect();
    (FeatureLists::concatenate(&trained), folds[validation].clone())
}

/// Returns an error if there are too few folds, if two of them have a query in common, or if a query has a document
/// twice.
pub(crate) fn check_folds(folds: &[FeatureLists], names: &[String]) -> Result<()> {
    if folds.len() < 3 {
        return Err(Error::Params(format!(
            "there are {} folds; at least three are needed: one to test, one to validate, the others to train",
            folds.len()
        )));
    }
    let mut fold_of: HashMap<&str, usize> = HashMap::new();
    for (fold, lists) in folds.iter().enumerate() {
        lists.require_distinct_documents()?;
        for query in 0..lists.n_queries() {
            let id = lists.list(query).query();
            match fold_of.insert(id, fold) {
                Some(other) if other != fold => {
                    return Err(Error::Params(format!(
                        "query {id} is in two folds, {} and {}; a fold is tested on by rankers that have not seen its queries, \
                         so every query belongs to one fold",
                        names[other], names[fold]
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
