//! Features of queries and documents in a model file: parameters, words, BM25's weights where they are used, and the names of
//! what click features stand for.

use std::sync::Arc;

use matchrank_core::Result;

use super::{Reader, Writer, words};
use crate::features::{ClickKeys, FeatureParams, Features, Keys, Source};

/// Writes features and the dataset that their clicks stand for.
pub(crate) fn put<'a>(file: &mut Writer<'_, 'a>, features: &'a Features) -> Result<()> {
    put_source(file, features.source(), features.keys())?;
    file.put_json("features", features.params())?;
    if let Some(bm25) = features.bm25() {
        file.put_json("bm25", bm25)?;
    }
    words::put(file, features.words())
}

/// Reads features.
pub(crate) fn get(file: &Reader<'_>) -> Result<Features> {
    let params: FeatureParams = file.json("features")?;
    let (source, keys) = get_source(file)?;
    let mut features = Features::new(&params, words::get(file)?, source)?;
    if let Some(keys) = keys {
        features = features.with_keys(keys);
    }
    if file.has_metadata("bm25") { features.with_bm25(file.json("bm25")?) } else { Ok(features) }
}

/// Writes the dataset that click features stand for, and the names of its queries and documents.
pub(crate) fn put_source<'a>(
    file: &mut Writer<'_, 'a>,
    source: &Source,
    keys: Option<&'a ClickKeys>,
) -> Result<()> {
    file.put_json("source", source)?;
    if let Some(keys) = keys {
        let mut file = file.inside("click_keys");
        file.put_number("seed", keys.seed());
        for (name, Keys { hashes, rows }) in [("queries", keys.queries()), ("documents", keys.documents())] {
            let mut file = file.inside(name);
            file.put_array("hashes", hashes.as_slice());
            file.put_array("rows", rows.as_slice());
        }
    }
    Ok(())
}

/// Reads the dataset that click features stand for; files of former versions name nothing in it.
pub(crate) fn get_source(file: &Reader<'_>) -> Result<(Source, Option<Arc<ClickKeys>>)> {
    let source: Source = file.json("source")?;
    let file = file.inside("click_keys");
    if !file.has_array("seed") {
        return Ok((source, None));
    }
    let keys = |name: &str| -> Result<Keys> {
        let file = file.inside(name);
        Ok(Keys { hashes: file.array("hashes")?, rows: file.array("rows")? })
    };
    let keys = [keys("queries")?, keys("documents")?];
    let keys = ClickKeys::new(file.number("seed")?, keys, [source.n_queries, source.n_documents])?;
    Ok((source, Some(Arc::new(keys))))
}
