//! Assigns folds to training, validation and test.
//!
//! As in LETOR, a model that is tested on fold k is validated on the fold before it (the last one for the first) and
//! trained on all others. The figure of a measure is the mean of its means on the folds. A query in two folds is an
//! error: a model would be tested on a query that it learned from.

use std::collections::HashMap;

use matchrank_core::data::FeatureLists;
use matchrank_core::message::counted_with;
use matchrank_core::{Error, Result};

/// Returns the training lists and the validation lists for the test fold `test`.
pub(super) fn train_and_validation(folds: &[FeatureLists], test: usize) -> (FeatureLists, FeatureLists) {
    let validation = (test + folds.len() - 1) % folds.len();
    let others = folds.iter().enumerate().filter(|(i, _)| *i != test && *i != validation);
    let trained: Vec<&FeatureLists> = others.map(|(_, fold)| fold).collect();
    (FeatureLists::concatenate(&trained), folds[validation].clone())
}

/// Returns an error if there are too few folds, if two of them have a query in common, or if a query has a document
/// twice.
pub(super) fn check_folds(folds: &[FeatureLists], names: &[String]) -> Result<()> {
    if folds.len() < 3 {
        return Err(Error::Params(format!(
            "{} given; at least three are needed: one to test, one to validate, the others to train",
            counted_with(folds.len(), "fold", ["is", "are"])
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
                        "query {id} is in two folds, {} and {}; rankers are tested on queries that they have not seen, \
                         so every query must be in one fold only",
                        names[other], names[fold]
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use matchrank_core::data::letor;
    use matchrank_core::progress::Silent;

    use super::*;

    /// Lists with the given query ids, one row each.
    fn fold(ids: &[&str]) -> FeatureLists {
        let rows: String = ids.iter().map(|id| format!("1 qid:{id} 1:1\n")).collect();
        letor::parse("lists", rows.as_bytes(), &Silent).unwrap()
    }

    fn queries(lists: &FeatureLists) -> Vec<&str> {
        lists.iter().map(|list| list.query()).collect()
    }

    #[test]
    fn folds_are_tested_by_models_that_have_not_seen_them() {
        let folds = [fold(&["a1", "a2"]), fold(&["b"]), fold(&["c"]), fold(&["d"])];
        for (test, trained, validated) in [(0, vec!["b", "c"], "d"), (2, vec!["a1", "a2", "d"], "b")] {
            let (train, validation) = train_and_validation(&folds, test);
            assert_eq!((queries(&train), queries(&validation)), (trained, vec![validated]));
        }
    }

    #[test]
    fn folds_share_no_query_and_are_at_least_three() {
        let names: Vec<String> = (1..=3).map(|k| format!("fold {k}")).collect();
        let refusal = |folds: &[FeatureLists]| check_folds(folds, &names).err().map(|e| e.to_string());
        assert_eq!(refusal(&[fold(&["a"]), fold(&["b"]), fold(&["c"])]), None);
        assert!(refusal(&[fold(&["a"]), fold(&["b"])]).unwrap().contains("at least three are needed"));
        // With copies of one file, rankers would be tested on their training data.
        let error = refusal(&[fold(&["a", "x"]), fold(&["b"]), fold(&["x"])]).unwrap();
        assert!(error.contains("query x is in two folds, fold 1 and fold 3"), "{error}");
    }
}
