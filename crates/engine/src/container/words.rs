//! The words that every model over text carries.

use matchrank_core::{Error, Result};

use super::{Reader, Writer};
use crate::text::{Analyser, AnalyserParams, BagOfWords, FieldWeights, Vocabulary};

pub(crate) fn put<'a>(file: &mut Writer<'_, 'a>, words: &'a BagOfWords) -> Result<()> {
    let BagOfWords { analyser, vocabulary, fields } = words;
    file.put_json("analyser", analyser.params())?;
    file.put_json("fields", fields)?;
    file.put("vocabulary_hash", vocabulary.hash());
    file.put_number("n_documents", vocabulary.n_documents());
    let (terms, offsets) = vocabulary.arena();
    file.put_array("vocabulary.terms", terms.as_bytes());
    file.put_array("vocabulary.offsets", offsets);
    file.put_array("vocabulary.document_frequencies", vocabulary.document_frequencies());
    file.put_array("vocabulary.collection_frequencies", vocabulary.collection_frequencies());
    Ok(())
}

pub(crate) fn get(file: &Reader<'_>) -> Result<BagOfWords> {
    let fields: FieldWeights = file.json("fields")?;
    fields.validate()?;
    let analyser = Analyser::new(&file.json::<AnalyserParams>("analyser")?)?;
    let vocabulary = vocabulary(file)?;
    if vocabulary.hash() != file.metadata("vocabulary_hash")? {
        return Err(Error::Params("the vocabulary does not have the hash the file states".into()));
    }
    Ok(BagOfWords { analyser, vocabulary, fields })
}

fn vocabulary(file: &Reader<'_>) -> Result<Vocabulary> {
    let wrong = |what: &str| Error::Params(format!("the vocabulary is inconsistent: {what}"));
    let terms = file.array::<u8>("vocabulary.terms")?;
    let terms = std::str::from_utf8(&terms).map_err(|_| wrong("its terms are not UTF-8"))?;
    let offsets: Vec<u64> = file.array("vocabulary.offsets")?;
    let dfs: Vec<u32> = file.array("vocabulary.document_frequencies")?;
    let cfs: Vec<u64> = file.array("vocabulary.collection_frequencies")?;
    if offsets.len() != dfs.len() + 1 || cfs.len() != dfs.len() {
        return Err(wrong("its arrays differ in length"));
    }
    if offsets[0] != 0 || offsets[dfs.len()] != terms.len() as u64 {
        return Err(wrong("its offsets do not cover its terms"));
    }
    let mut entries = Vec::with_capacity(dfs.len());
    for (id, pair) in offsets.windows(2).enumerate() {
        let term = terms.get(pair[0] as usize..pair[1] as usize);
        entries.push((term.ok_or_else(|| wrong("an offset cuts a character"))?, dfs[id], cfs[id]));
    }
    Vocabulary::with_query_terms(file.number("n_documents")?, entries)
}
