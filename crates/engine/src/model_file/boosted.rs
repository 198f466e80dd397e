//! Boosted trees: metadata `params` and `report` (JSON) and `trees`, the text that LightGBM reads and writes. Of the
//! parameters that the first version did not know, those that are not LightGBM's defaults.

use matchrank_core::ranking::trees::Trees;
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::container::{Reader, Writer};
use crate::rankers::boosted::{BoostedModel, BoostedParams, Objective};

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a BoostedModel) -> Result<()> {
    file.put("kind", model.objective.name());
    file.put_json("params", &stored(&model.params))?;
    file.put_json("report", &model.report)?;
    file.put("trees", model.trees.lightgbm_text(model.objective.lightgbm()));
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

pub(super) fn get(file: &Reader<'_>) -> Result<BoostedModel> {
    let kind = file.metadata("kind")?;
    let objective = Objective::ALL.into_iter().find(|objective| objective.name() == kind);
    let objective = objective.ok_or_else(|| Error::Params(format!("{kind} is no kind of boosted trees")))?;
    let params: BoostedParams = file.json("params")?;
    params.validate()?;
    let trees = Trees::parse_lightgbm("its trees", file.metadata("trees")?)
        .map_err(|error| Error::Params(error.to_string()))?;
    Ok(BoostedModel { objective, params, trees, report: file.json("report")? })
}
