//! Models in files: safetensors, so that any program that knows that format can open them.
//!
//! A file holds named arrays and metadata (all strings):
//!
//! | metadata | of | what |
//! |---|---|---|
//! | `format` | all | `matchrank` |
//! | `format_version` | all | 1; a program refuses files of a later version |
//! | `kind` | all | a name in the table of [matching models](crate::models::registry::MATCHING) or of [rankers](crate::rankers::registry::RANKERS) |
//! | `provenance` | all | [`Provenance`], JSON |
//! | `checksum` | all | BLAKE3 of the whole file with 64 zeros in this place, hexadecimal |
//! | `params` | all but combinations | parameters of the training, JSON |
//! | `analyser`, `fields` | models with words | [`AnalyserParams`](crate::text::AnalyserParams), [`FieldWeights`](crate::text::FieldWeights), JSON |
//! | `vocabulary_hash` | models with words | [`Vocabulary::hash`](crate::text::Vocabulary::hash) |
//! | `features` | RMLS, PLS, LSI of words, SSI, SVDFeature, sparse preferences | [`FeatureParams`](crate::features::FeatureParams), JSON |
//! | `source` | RMLS, PLS, LSI, SSI, SVDFeature, sparse preferences | the dataset its click features stand for ([`Source`](crate::features::Source)), JSON |
//! | `report` | all but BM25, RM3, clicks, random walk and combination | what the training reported, JSON |
//! | `settings`, `clock` | sparse preferences | what was asked for; where learning stands, JSON |
//! | `content_hash` | random walk | the dataset it was made for |
//! | `similarity` | LSI of words | `cosine` where scores are cosines; absent where they are dot products |
//! | `curve` | combination of two models | validation NDCG@10 by weight, JSON |
//! | `trials` | combination of more models | validation NDCG@10 of weights, JSON |
//! | `rule` | combination | rule that chose the weights, JSON; absent where they were given |
//!
//! | arrays | type | of | what |
//! |---|---|---|---|
//! | `vocabulary.terms`, `.offsets` | u8, u64 | models with words | all terms one after the other, UTF-8, and where each starts |
//! | `vocabulary.document_frequencies`, `.collection_frequencies` | u32, u64 | models with words | counts of each term; 0 for terms of queries alone |
//! | `n_documents` | u64 | models with words | documents that were counted |
//! | `average_length` | f64 | BM25, RM3 | mean length of the documents |
//! | `click_keys.seed` | u64 | models with click features | seed of the hashes that follow ([`ClickKeys`](crate::features::ClickKeys)); absent in files of former versions |
//! | `click_keys.queries.hashes`, `.rows`, `click_keys.documents.hashes`, `.rows` | u64, u32 | the same | hashes of query texts and document ids, ascending, and the row of each in the dataset of training |
//! | `d` | u64 | RMLS, PLS, LSI, SSI, SVDFeature | latent dimension |
//! | `lx.row`, `ly.row` | u32 | the same | the row of every feature; 4294967295 for none |
//! | `lx.values`, `ly.values` | f32 | the same | the rows, d numbers each, or |
//! | `lx.offsets`, `lx.columns`, `lx.values` | u64, u16, f32 | sparse RMLS | the entries of the rows that are not zero |
//! | `weights` | f32 | PLS, LSI | weights of the latent columns, where they are not all 1 |
//! | `identity` | u64 | SSI | words that count by themselves, the first ones |
//! | `biases.global`, `biases.x`, `biases.y` | f32 | SVDFeature | mu, and a number for every feature of queries and of documents |
//! | `queries.row`, `documents.row` | u32 | BLTM | the row of every word; 4294967295 for none |
//! | `queries.values`, `documents.values` | f32 | BLTM | p(word \| topic), a number for every topic in each row |
//! | `prior` | f32 | BLTM | mean share of every topic |
//! | `w.offsets`, `w.columns`, `w.numbers` | u64, u32, f32 | sparse preferences | the entries of the rows of W, one row for every word; W_ij has the sign of its number u, and the size of u less `shrinkage` of the clock, or 0 if that is more |
//! | `w.kinds`, `w.capacities` | u8, u32 | sparse preferences | how a row is kept in memory; kind 0: it is as at the start, its only number is `start` of the clock, at its own word |
//! | `w.sums` | f32 | sparse preferences | after refitting with averages: W_ij is what it is by the numbers less this divided by the steps of the clock |
//! | `weight` | f32 | combination of two models | weight of the first model |
//! | `weights` | f32 | combination of more models | weights of the models |
//!
//! The models of a combination have their metadata and arrays in the same file, under names that start
//! with `first.`, `second.`, `third.` and so on.
//!
//! A stack is described in `models/stack/codec.rs`; rankers over feature lists in their folders below `rankers`, linear
//! ones in `rankers/linear/codec.rs`.
//!
//! Metadata, and fields of `provenance` and `report`, that a later program adds are ignored. Parameters are not: a
//! parameter that this program does not know would change what the model means.
//!
//! The same model gives the same bytes. Files are written under a temporary name and renamed; every byte is covered by
//! the checksum, which is verified on every load.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::container::Container;
use crate::dataset::{Dataset, Split};
use crate::description::Description;
use crate::files;
use crate::json::Json;
use crate::models::{self, MadeBy, MatchingModel};
use crate::rankers::{self, RankingModel};

/// Name of the time from which on clicks were held out for the test, in [`Provenance::data`]: milliseconds since 1970.
pub(crate) const TEST_FROM: &str = "test_from";

/// Origin of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of matchrank that trained it.
    pub version: String,
    /// Seed of its random numbers, when it used any.
    pub seed: Option<u64>,
    /// Statistics of the data it was trained on, by name.
    pub data: BTreeMap<String, Json>,
    /// How it was made, if it can be made again from other data; absent in files of former versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
    /// Limit of the time for choosing its parameters; none where the choice counted work alone, so that the same seed
    /// makes the same model on any machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<TimeLimit>,
}

/// A limit of wall-clock time that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeLimit {
    /// Seconds for the model, or for all models of a comparison together.
    pub seconds: f64,
    /// True if the seconds are for all models of a comparison together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
    /// True if time was up before everything was tried: a faster or an idle machine may choose other parameters.
    pub reached: bool,
}

impl TimeLimit {
    /// Describes the limit and whether it was reached.
    pub fn sentence(&self) -> String {
        let all = if self.is_shared { " for all models" } else { "" };
        let reached = match self.reached {
            true => "reached before all settings were tried: another run may choose others",
            false => "not reached",
        };
        format!("{} s{all}, {reached}", self.seconds)
    }
}

impl Default for Provenance {
    /// This version, no seed, no statistics.
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            seed: None,
            data: BTreeMap::new(),
            made_by: None,
            time_limit: None,
        }
    }
}

impl Provenance {
    /// This version, and what the model was trained on.
    pub fn of_dataset(dataset: &Dataset, seed: Option<u64>) -> Self {
        let manifest = &dataset.manifest;
        let (hash, statistics) = (Json::of(&manifest.content_hash), Json::of(&manifest.statistics));
        let mut data: BTreeMap<String, Json> =
            [("content_hash".to_owned(), hash), ("statistics".to_owned(), statistics)].into();
        if let Split::Time { test_from, .. } = manifest.split {
            data.insert(TEST_FROM.to_owned(), Json::of(&test_from));
        }
        Self { seed, data, ..Self::default() }
    }

    /// The same, with how the model was made.
    pub fn made_by(self, made_by: Option<MadeBy>) -> Self {
        Self { made_by, ..self }
    }
}

/// A model of a file.
#[derive(Debug, Clone)]
pub enum Model {
    /// Matches the text of queries with documents.
    Matching(Arc<dyn MatchingModel>),
    /// Ranks feature lists.
    Ranking(Arc<dyn RankingModel>),
}

impl Model {
    /// Describes the model, its kind first.
    pub fn describe(&self) -> Result<Description> {
        match self {
            Self::Matching(model) => models::registry::describe(&**model),
            Self::Ranking(model) => Ok(rankers::registry::describe(&**model)),
        }
    }
}

/// A model to write to a file.
#[derive(Debug, Clone, Copy)]
pub enum ModelRef<'a> {
    /// Matches the text of queries with documents.
    Matching(&'a dyn MatchingModel),
    /// Ranks feature lists.
    Ranking(&'a dyn RankingModel),
}

impl<'a> From<&'a dyn MatchingModel> for ModelRef<'a> {
    fn from(model: &'a dyn MatchingModel) -> Self {
        Self::Matching(model)
    }
}

impl<'a> From<&'a dyn RankingModel> for ModelRef<'a> {
    fn from(model: &'a dyn RankingModel) -> Self {
        Self::Ranking(model)
    }
}

/// Gathers the content of a model file.
fn container_of<'a>(model: ModelRef<'a>, provenance: &Provenance) -> Result<Container<'a>> {
    let mut container = Container::new();
    let mut file = container.writer();
    match model {
        ModelRef::Matching(model) => models::registry::put(&mut file, model)?,
        ModelRef::Ranking(model) => rankers::registry::put(&mut file, model)?,
    }
    file.put_json("provenance", provenance)?;
    Ok(container)
}

/// Returns the bytes of a model file.
pub fn to_bytes<'a>(model: impl Into<ModelRef<'a>>, provenance: &Provenance) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let container = container_of(model.into(), provenance)?;
    container.write(&mut bytes).map_err(|error| Error::io("the bytes of a model", error))?;
    Ok(bytes)
}

/// Writes a model file, whole or not at all.
pub fn save<'a>(path: &Path, model: impl Into<ModelRef<'a>>, provenance: &Provenance) -> Result<()> {
    let container = container_of(model.into(), provenance)?;
    files::write_atomically(path, |out| container.write(out).map_err(|e| Error::io(files::name_of(path), e)))
}

/// Reads a model file, once. A file that is truncated, damaged, of a later version or of an unknown kind is an error that
/// says so.
pub fn open(path: &Path) -> Result<(Model, Provenance)> {
    from_bytes(&files::name_of(path), &files::read_all(path)?)
}

/// Reads the file of a matching model; a ranker is an error that says so.
pub fn load(path: &Path) -> Result<(Arc<dyn MatchingModel>, Provenance)> {
    match open(path)? {
        (Model::Matching(model), provenance) => Ok((model, provenance)),
        (Model::Ranking(model), _) => Err(Error::format(
            files::name_of(path),
            format!("holds a {} model, which ranks feature lists", model.kind().name),
        )),
    }
}

/// Reads the file of a ranker; a matching model is an error that says so.
pub fn open_ranking(path: &Path) -> Result<(Arc<dyn RankingModel>, Provenance)> {
    match open(path)? {
        (Model::Ranking(model), provenance) => Ok((model, provenance)),
        (Model::Matching(model), _) => Err(Error::format(
            files::name_of(path),
            format!(
                "holds a {} model; rankers of feature lists are {}",
                model.kind(),
                rankers::registry::names()
            ),
        )),
    }
}

/// Reads the model in the bytes of a file; `name` is that of messages.
pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<(Model, Provenance)> {
    let container = Container::read(bytes).map_err(|message| Error::format(name, message))?;
    let file = container.reader();
    let model = || match rankers::registry::get(&file)? {
        Some(model) => Ok(Model::Ranking(model)),
        None => models::registry::get(&file).map(Model::Matching),
    };
    model().and_then(|model| Ok((model, file.json("provenance")?))).map_err(|error| match error {
        Error::Params(message) | Error::Shape(message) => Error::format(name, message),
        other => other,
    })
}

#[cfg(test)]
mod tests;
