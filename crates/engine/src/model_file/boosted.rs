//! Boosted trees: metadata `params` and `report` (JSON) and `trees`, the text that LightGBM reads and writes.

use matchrank_core::ranking::trees::Trees;
use matchrank_core::{Error, Result};

use super::container::{Reader, Writer};
use crate::rankers::boosted::{BoostedModel, BoostedParams, Objective};

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a BoostedModel) -> Result<()> {
    file.put("kind", model.objective.name());
    file.put_json("params", &model.params)?;
    file.put_json("report", &model.report)?;
    file.put("trees", model.trees.lightgbm_text(model.objective.lightgbm()));
    Ok(())
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
