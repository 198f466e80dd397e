//! The table of matching models. Everything that lists, trains, tunes, compares, opens or fuzzes models goes through it.

use std::sync::Arc;

use matchrank_core::{Error, Result};

use super::{
    MatchingKind, MatchingModel, bltm, bm25, clicks, combination, lsi_dt, lsi_qd, pls, random_walk, rm3,
    rmls, sparse_preference, ssi, stack, svdfeature,
};
use crate::container::{Reader, Writer};
use crate::description::Description;
use crate::rankers;

/// All kinds of matching models, in the order in which they are listed.
pub const MATCHING: [&MatchingKind; 14] = [
    &bm25::KIND,
    &rm3::KIND,
    &clicks::KIND,
    &random_walk::KIND,
    &lsi_dt::KIND,
    &lsi_qd::KIND,
    &pls::KIND,
    &rmls::KIND,
    &ssi::KIND,
    &svdfeature::KIND,
    &bltm::KIND,
    &sparse_preference::KIND,
    &combination::KIND,
    &stack::KIND,
];

/// Models inside models, at most.
const DEEPEST: usize = 8;

/// Kinds that learn from a dataset alone.
pub fn trainable() -> impl Iterator<Item = &'static MatchingKind> {
    MATCHING.into_iter().filter(|kind| kind.trainer.is_some())
}

/// Finds a kind by its name.
pub fn find(name: &str) -> Option<&'static MatchingKind> {
    MATCHING.into_iter().find(|kind| kind.name == name)
}

/// The name that a kind has in this table, given by that name or another.
pub fn proper_name(name: &str) -> &str {
    MATCHING.into_iter().find(|kind| kind.aliases.contains(&name)).map_or(name, |kind| kind.name)
}

/// Names of the kinds that learn from a dataset alone, with commas between.
pub fn trainable_names() -> String {
    trainable().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// Writes a model: its kind, its metadata and arrays.
pub(crate) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a dyn MatchingModel) -> Result<()> {
    file.put("kind", model.kind());
    model.put(file)
}

/// Describes a model, its kind first.
pub fn describe(model: &dyn MatchingModel) -> Result<Description> {
    let mut description = model.describe()?;
    description.facts.insert(0, ("kind".to_owned(), model.kind().to_owned()));
    description.details.set("kind", &model.kind());
    Ok(description)
}

/// Reads a model of any kind.
pub(crate) fn get(file: &Reader<'_>) -> Result<Arc<dyn MatchingModel>> {
    let name = file.metadata("kind")?;
    let Some(kind) = find(name) else {
        let known = MATCHING.map(|kind| kind.name).join(", ");
        return Err(Error::Params(format!(
            "holds a model of the unknown kind {name:?}; this program knows: {known}, and the rankers of feature lists {}",
            rankers::registry::names()
        )));
    };
    if file.depth() >= DEEPEST && kind.trainer.is_none() {
        return Err(Error::Params("holds models within models, more than eight deep".into()));
    }
    (kind.open)(file)
}
