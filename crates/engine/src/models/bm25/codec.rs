//! BM25 over text as arrays and metadata.

use matchrank_core::matching::{Bm25, Bm25Params};
use matchrank_core::{Error, Result};

use super::TextBm25;
use crate::container::{Reader, Writer, words};

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a TextBm25) -> Result<()> {
    file.put_json("params", model.bm25.params())?;
    put_statistics(file, model)
}

/// Writes all but the parameters.
pub(in crate::models) fn put_statistics<'a>(file: &mut Writer<'_, 'a>, model: &'a TextBm25) -> Result<()> {
    let TextBm25 { words, bm25 } = model;
    if bm25.document_frequencies() != words.vocabulary.document_frequencies() {
        return Err(Error::Params("the document frequencies of BM25 are not those of its vocabulary".into()));
    }
    file.put_number("average_length", bm25.average_length());
    words::put(file, words)
}

pub(super) fn get(file: &Reader<'_>) -> Result<TextBm25> {
    get_statistics(file, &file.json("params")?)
}

/// Reads all but the parameters.
pub(in crate::models) fn get_statistics(file: &Reader<'_>, params: &Bm25Params) -> Result<TextBm25> {
    let words = words::get(file)?;
    let frequencies = words.vocabulary.document_frequencies();
    if let Some(id) = frequencies.iter().position(|&df| df == 0) {
        let term = words.vocabulary.term(id as u32);
        return Err(Error::Params(format!("the term {term:?} is in no document")));
    }
    let bm25 =
        Bm25::new(params, file.number("n_documents")?, file.number("average_length")?, frequencies.to_vec())?;
    Ok(TextBm25 { words, bm25 })
}
