//! The table of rankers. Everything that lists, trains, tunes, compares, opens or fuzzes rankers goes through it.

use std::sync::Arc;

use matchrank_core::Result;

use super::boosted::{lambdamart, mart};
use super::{RankerKind, RankingModel, listnet, perceptron, query_dependent, ranksvm, ridge, slam};
use crate::container::{Reader, Writer};
use crate::description::Description;

/// All kinds of rankers, in the order in which they are listed.
pub static RANKERS: [&RankerKind; 8] = [
    &perceptron::KIND,
    &slam::KIND,
    &ranksvm::KIND,
    &listnet::KIND,
    &ridge::KIND,
    &mart::KIND,
    &lambdamart::KIND,
    &query_dependent::KIND,
];

/// Finds a kind by its name.
pub fn find(name: &str) -> Option<&'static RankerKind> {
    RANKERS.into_iter().find(|kind| kind.name == name)
}

/// Names of all kinds, with commas between.
pub fn names() -> String {
    RANKERS.map(|kind| kind.name).join(", ")
}

/// Names of the kinds of which `is_wanted` says so, as in `a, b and c`.
pub fn names_of(is_wanted: impl Fn(&RankerKind) -> bool) -> String {
    let names: Vec<&str> = RANKERS.iter().filter(|kind| is_wanted(kind)).map(|kind| kind.name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Describes a ranker, its kind first.
pub fn describe(model: &dyn RankingModel) -> Description {
    let mut description = model.describe();
    let name = model.kind().name;
    description.facts.insert(0, ("kind".to_owned(), name.to_owned()));
    description.details.set_first("kind", &name);
    description
}

/// Writes a ranker: its kind, its metadata and arrays.
pub(crate) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a dyn RankingModel) -> Result<()> {
    file.put("kind", model.kind().name);
    model.put(file)
}

/// Reads the ranker of a file; none if the file holds something else.
pub(crate) fn get(file: &Reader<'_>) -> Result<Option<Arc<dyn RankingModel>>> {
    find(file.metadata("kind")?).map(|kind| (kind.open)(file)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::registry::MATCHING;

    #[test]
    fn every_kind_has_a_class_of_its_own() {
        let kinds = MATCHING.map(|kind| (kind.name, kind.class));
        let kinds: Vec<_> = kinds.into_iter().chain(RANKERS.map(|kind| (kind.name, kind.class))).collect();
        for (i, (name, class)) in kinds.iter().enumerate() {
            let letters = name.replace('-', "");
            assert!(class.eq_ignore_ascii_case(&letters), "{name}: {class}");
            assert!(class.starts_with(|c: char| c.is_ascii_uppercase()), "{class}");
            assert!(kinds[..i].iter().all(|(_, other)| other != class), "{class}");
        }
    }
}
