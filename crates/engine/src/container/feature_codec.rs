//! Features of queries and documents in a model file: parameters, words, and BM25's weights where they are used.

use matchrank_core::Result;

use super::{Reader, Writer, words};
use crate::features::{FeatureParams, Features};

/// Writes features, except the dataset that their clicks stand for.
pub(crate) fn put<'a>(file: &mut Writer<'_, 'a>, features: &'a Features) -> Result<()> {
    file.put_json("features", features.params())?;
    if let Some(bm25) = features.bm25() {
        file.put_json("bm25", bm25)?;
    }
    words::put(file, features.words())
}

/// Reads features.
pub(crate) fn get(file: &Reader<'_>) -> Result<Features> {
    let params: FeatureParams = file.json("features")?;
    let features = Features::new(&params, words::get(file)?, file.json("source")?)?;
    if file.has_metadata("bm25") { features.with_bm25(file.json("bm25")?) } else { Ok(features) }
}
