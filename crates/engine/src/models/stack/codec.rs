//! A ranker over the scores of models: metadata `names`, `depth` and `trials` (JSON); the ranker under names that start
//! with `ranker.`, and the models under those that start with `part0.`, `part1.`, ... Where training clicks are features
//! too, metadata `clicks` is true, and where attributes are, metadata `attributes` lists them (JSON); else these are not
//! there.

use matchrank_core::{Error, Result};

use super::Stack;
use crate::container::{Reader, Writer};
use crate::models::registry;
use crate::rankers;

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a Stack) -> Result<()> {
    let names: Vec<&str> = model.parts.iter().map(|(name, _)| name.as_str()).collect();
    file.put_json("names", &names)?;
    file.put_json("depth", &model.depth)?;
    file.put_json("trials", &model.trials)?;
    if model.clicks {
        file.put_json("clicks", &true)?;
    }
    if !model.attributes.is_empty() {
        file.put_json("attributes", &model.attributes)?;
    }
    rankers::registry::put(&mut file.inside("ranker"), &*model.ranker)?;
    for (i, (_, part)) in model.parts.iter().enumerate() {
        registry::put(&mut file.inside(&format!("part{i}")), &**part)?;
    }
    Ok(())
}

pub(super) fn get(file: &Reader<'_>) -> Result<Stack> {
    let names: Vec<String> = file.json("names")?;
    let ranker = rankers::registry::get(&file.inside("ranker"))?;
    // Scores of models are no query features.
    let Some(ranker) = ranker.filter(|ranker| !ranker.kind().takes.query_features) else {
        return Err(Error::Params("has a ranker that no stack takes".into()));
    };
    let n_features = ranker.n_features();
    let parts = names
        .into_iter()
        .enumerate()
        .map(|(i, name)| Ok((name, registry::get(&file.inside(&format!("part{i}")))?)));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let clicks = file.has_metadata("clicks").then(|| file.json("clicks")).transpose()?.unwrap_or(false);
    let attributes =
        file.has_metadata("attributes").then(|| file.json("attributes")).transpose()?.unwrap_or_default();
    let (depth, trials) = (file.json("depth")?, file.json("trials")?);
    let stack = Stack { parts, ranker, depth, clicks, attributes, trials };
    if stack.parts.is_empty() || stack.depth == 0 || n_features != stack.n_features() {
        return Err(Error::Shape(format!(
            "has {} models and a ranker of {n_features} features, where {} are expected",
            stack.parts.len(),
            stack.n_features()
        )));
    }
    Ok(stack)
}
