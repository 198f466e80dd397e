//! Boosted trees in files: metadata `params` and `report` (JSON) and `trees`, the text that LightGBM reads and writes. Of the
//! parameters that the first version did not know, those that are not LightGBM's defaults.
//!
//! The text names every feature. Where there are more than [`MOST_NAMED`], it has the features that trees split, whose
//! columns are in `columns` (JSON, ascending), and `n_features` is the number of all.

use std::sync::Arc;

use matchrank_core::data::HIGHEST_FEATURE;
use matchrank_core::ranking::trees::Trees;
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::{BoostedModel, BoostedParams, Objective};
use crate::container::{Reader, Writer};
use crate::rankers::RankingModel;

/// Features that a text names.
const MOST_NAMED: usize = 100_000;

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a BoostedModel) -> Result<()> {
    file.put_json("params", &stored(&model.params))?;
    file.put_json("report", &model.report)?;
    let objective = model.objective.lightgbm();
    if model.trees.n_features() > MOST_NAMED {
        let (compact, columns) = model.trees.compacted();
        file.put_json("columns", &columns)?;
        file.put_json("n_features", &model.trees.n_features())?;
        file.put("trees", compact.lightgbm_text(objective));
    } else {
        file.put("trees", model.trees.lightgbm_text(objective));
    }
    Ok(())
}

/// Parameters that every version knows.
const FIRST: [&str; 5] = ["trees", "learning_rate", "leaves", "min_rows", "truncation"];

fn stored(params: &BoostedParams) -> Value {
    let json = |params: &BoostedParams| serde_json::to_value(params).expect("parameters are plain data");
    let (mut params, default) = (json(params), json(&BoostedParams::default()));
    let all = params.as_object_mut().expect("parameters are a struct");
    all.retain(|name, value| FIRST.contains(&name.as_str()) || *value != default[name]);
    params
}

pub(super) fn open(file: &Reader<'_>, objective: Objective) -> Result<Arc<dyn RankingModel>> {
    let params: BoostedParams = file.json("params")?;
    params.validate()?;
    let mut trees = Trees::parse_lightgbm("its trees", file.metadata("trees")?)
        .map_err(|error| Error::Params(error.to_string()))?;
    if file.has_metadata("columns") {
        let (columns, n_features): (Vec<u32>, usize) = (file.json("columns")?, file.json("n_features")?);
        let fits = columns.len() == trees.n_features()
            && columns.is_sorted_by(|a, b| a < b)
            && columns.last().is_none_or(|&last| (last as usize) < n_features)
            && n_features <= HIGHEST_FEATURE as usize;
        if !fits {
            return Err(Error::Shape("has trees that do not fit their columns".into()));
        }
        trees = trees.renumbered(&columns, n_features);
    }
    Ok(Arc::new(BoostedModel { objective, params, trees, report: file.json("report")? }))
}
