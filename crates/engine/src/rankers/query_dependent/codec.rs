//! Query-dependent rankers in files: what their functions are learned from.
//!
//! Metadata `params`, `scaling`, `source` (where query features come from), `trials` (the lambdas that were tried),
//! `ids` (of the training queries) and `queries` (what is known of each, scaled; empty where weights need nothing), all JSON;
//! arrays `lambda` (f64), `factors` (f64, of scaling over all training rows), `query_factors` (f64, what numbers of queries
//! are multiplied by), `lengths` (u64, documents of each training query), `labels` (f32) and `values` (f32, the features of each
//! document, scaled, row by row).

use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_core::ranking::query_dependent::QueryFeatures;
use matchrank_core::ranking::{Scaling, ScalingKind};
use matchrank_core::{Error, Result};

use super::model::{Parts, QueryDependentModel};
use crate::container::{Reader, Writer};

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a QueryDependentModel) -> Result<()> {
    let lists = model.learner().lists();
    let ids: Vec<&str> = lists.iter().map(|list| list.query()).collect();
    file.put_json("params", model.learner().params())?;
    file.put_json("scaling", &model.scaling().kind())?;
    file.put_json("source", model.source())?;
    file.put_json("trials", &model.trials())?;
    file.put_json("ids", &ids)?;
    file.put_json("queries", &model.learner().queries())?;
    file.put_number("lambda", model.lambda());
    file.put_array("factors", model.scaling().factors());
    file.put_array("query_factors", model.factors());
    file.put_numbers("lengths", lists.iter().map(|list| list.len() as u64));
    file.put_array("labels", lists.labels());
    let mut cells = vec![0f32; lists.n_features()];
    let rows = (0..lists.n_rows()).flat_map(|row| {
        cells.fill(0.0);
        lists.features().row(row).entries().for_each(|(column, x)| cells[column as usize] = x);
        cells.clone()
    });
    file.put_numbers("values", rows);
    Ok(())
}

pub(super) fn get(file: &Reader<'_>) -> Result<QueryDependentModel> {
    let ids: Vec<String> = file.json("ids")?;
    let lengths: Vec<u64> = file.array("lengths")?;
    let labels: Vec<f32> = file.array("labels")?;
    let values: Vec<f32> = file.array("values")?;
    let n_rows = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length)).unwrap_or(u64::MAX);
    let fits = ids.len() == lengths.len()
        && n_rows == labels.len() as u64
        && !labels.is_empty()
        && values.len().is_multiple_of(labels.len())
        && !lengths.contains(&0);
    if !values.iter().all(|value| value.is_finite()) {
        return Err(Error::Params("has NaN or infinite values in its training lists".into()));
    }
    if !fits {
        return Err(Error::Shape("has training lists whose parts do not fit each other".into()));
    }
    let mut distinct: Vec<&String> = ids.iter().collect();
    distinct.sort_unstable();
    if distinct.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::Params("has a training query twice".into()));
    }
    let n = values.len() / labels.len();
    let mut rows = FeatureRows::default();
    let mut at = 0;
    for (id, &length) in ids.iter().zip(&lengths) {
        for _ in 0..length {
            let mut entries: Vec<(u32, f32)> =
                (0..).zip(values[at * n..(at + 1) * n].iter().copied()).collect();
            rows.push(id, None, labels[at], &mut entries).map_err(Error::Params)?;
            at += 1;
        }
    }
    let scaling: ScalingKind = file.json("scaling")?;
    let factors: Vec<f64> = file.array("factors")?;
    let global = matches!(scaling, ScalingKind::ZScore | ScalingKind::MinMax);
    if factors.len() != if global { n } else { 0 } {
        return Err(Error::Shape(format!("has {} factors of scaling for {n} features", factors.len())));
    }
    let queries: Vec<QueryFeatures> = file.json("queries")?;
    let query_factors: Vec<f64> = file.array("query_factors")?;
    let lambda: f64 = file.number("lambda")?;
    let finite = factors.iter().chain(&query_factors).all(|factor| factor.is_finite());
    if !(finite && lambda > 0.0 && lambda.is_finite()) {
        return Err(Error::Params("has a NaN or infinite lambda or factor".into()));
    }
    if queries.iter().any(|query| query.numbers.len() != query_factors.len()) {
        return Err(Error::Shape("has query features that do not fit their factors".into()));
    }
    QueryDependentModel::new(Parts {
        params: file.json("params")?,
        lambda,
        scaling: Scaling::with_factors(scaling, factors),
        source: file.json("source")?,
        factors: query_factors,
        lists: FeatureLists::from_rows(rows),
        queries,
        trials: file.json("trials")?,
    })
}
