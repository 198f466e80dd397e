//! Models in files: safetensors, so that any program that knows that format can open them.
//!
//! A file holds named arrays and metadata (all strings):
//!
//! | metadata | what |
//! |---|---|
//! | `format` | `matchrank` |
//! | `format_version` | 1; a program refuses files of a later version |
//! | `kind` | the model: `bm25` |
//! | `params` | parameters of the model, JSON |
//! | `analyser` | [`AnalyserParams`](crate::text::AnalyserParams), JSON |
//! | `fields` | [`FieldWeights`](crate::text::FieldWeights), JSON |
//! | `vocabulary_hash` | [`Vocabulary::hash`](crate::text::Vocabulary::hash) |
//! | `provenance` | [`Provenance`], JSON |
//! | `checksum` | BLAKE3 of the whole file with 64 zeros in this place, hexadecimal |
//!
//! Arrays of every model over text: `vocabulary.terms` (u8, all terms one after the other, UTF-8),
//! `vocabulary.offsets` (u64, one more than terms), `vocabulary.document_frequencies` (u32) and
//! `vocabulary.collection_frequencies` (u64). BM25 adds `n_documents` (u64) and `average_length` (f64).
//!
//! The same model gives the same bytes. Files are written under a temporary name and renamed, and read
//! through a memory map; every byte is covered by the checksum, which is verified on every load.

mod bm25;
mod container;

use std::collections::BTreeMap;
use std::path::Path;

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::matching::TextBm25;
use container::Container;

/// A model of any kind that a file may hold.
#[derive(Debug, Clone)]
pub enum MatchingModel {
    /// BM25 over text.
    Bm25(TextBm25),
}

/// Where a model comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of matchrank that trained it.
    pub version: String,
    /// Seed of its random numbers, when it used any.
    pub seed: Option<u64>,
    /// Statistics of the data it was trained on, by name.
    pub data: BTreeMap<String, serde_json::Value>,
}

impl Default for Provenance {
    /// This version, no seed, no statistics.
    fn default() -> Self {
        Self { version: env!("CARGO_PKG_VERSION").into(), seed: None, data: BTreeMap::new() }
    }
}

const KINDS: &str = "bm25";

/// Writes a model file, whole or not at all.
pub fn save(path: &Path, model: &MatchingModel, provenance: &Provenance) -> Result<()> {
    let mut container = match model {
        MatchingModel::Bm25(model) => bm25::to_container(model)?,
    };
    container.put_json("provenance", provenance)?;
    files::write_atomically(path, |out| container.write(out).map_err(|e| Error::io(files::name_of(path), e)))
}

/// Reads a model file. A file that is truncated, damaged, of a later version or of an unknown kind is an
/// error that says so.
pub fn load(path: &Path) -> Result<(MatchingModel, Provenance)> {
    from_bytes(&files::name_of(path), &files::read_all(path)?)
}

/// The model in the bytes of a file; `name` is for messages.
fn from_bytes(name: &str, bytes: &[u8]) -> Result<(MatchingModel, Provenance)> {
    let container = Container::read(bytes).map_err(|message| Error::format(name, message))?;
    parse(&container).map_err(|error| match error {
        Error::Params(message) | Error::Shape(message) => Error::format(name, message),
        other => other,
    })
}

fn parse(container: &Container<'_>) -> Result<(MatchingModel, Provenance)> {
    let model = match container.metadata("kind")? {
        bm25::KIND => MatchingModel::Bm25(bm25::from_container(container)?),
        other => {
            return Err(Error::Params(format!(
                "holds a model of the unknown kind {other:?}; this program knows: {KINDS}"
            )));
        }
    };
    Ok((model, container.json("provenance")?))
}

#[cfg(test)]
mod tests;
