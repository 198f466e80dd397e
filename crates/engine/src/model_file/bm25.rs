//! BM25 over text as arrays and metadata, and the vocabulary that every model over text carries.

use matchrank_core::matching::Bm25;
use matchrank_core::{Error, Result};

use super::container::Container;
use crate::matching::TextBm25;
use crate::text::{Analyser, AnalyserParams, BagOfWords, FieldWeights, Vocabulary};

pub(super) const KIND: &str = "bm25";

pub(super) fn to_container(model: &TextBm25) -> Result<Container<'static>> {
    let mut container = Container::new(KIND);
    let TextBm25 { words, bm25 } = model;
    if bm25.document_frequencies() != words.vocabulary.document_frequencies() {
        return Err(Error::Params("the document frequencies of BM25 are not those of its vocabulary".into()));
    }
    container.put_json("params", bm25.params())?;
    container.put_array("n_documents", &[bm25.n_documents()]);
    container.put_array("average_length", &[bm25.average_length()]);
    put_words(&mut container, words)?;
    Ok(container)
}

pub(super) fn from_container(container: &Container<'_>) -> Result<TextBm25> {
    let words = words(container)?;
    let bm25 = Bm25::new(
        &container.json("params")?,
        container.number("n_documents")?,
        container.number("average_length")?,
        words.vocabulary.document_frequencies().to_vec(),
    )?;
    Ok(TextBm25 { words, bm25 })
}

fn put_words(container: &mut Container<'_>, words: &BagOfWords) -> Result<()> {
    let BagOfWords { analyser, vocabulary, fields } = words;
    container.put_json("analyser", analyser.params())?;
    container.put_json("fields", fields)?;
    container.put("vocabulary_hash", vocabulary.hash());
    let (terms, offsets) = vocabulary.arena();
    container.put_array("vocabulary.terms", terms.as_bytes());
    container.put_array("vocabulary.offsets", offsets);
    container.put_array("vocabulary.document_frequencies", vocabulary.document_frequencies());
    container.put_array("vocabulary.collection_frequencies", vocabulary.collection_frequencies());
    Ok(())
}

fn words(container: &Container<'_>) -> Result<BagOfWords> {
    let fields: FieldWeights = container.json("fields")?;
    fields.validate()?;
    let analyser = Analyser::new(&container.json::<AnalyserParams>("analyser")?)?;
    let vocabulary = vocabulary(container)?;
    if vocabulary.hash() != container.metadata("vocabulary_hash")? {
        return Err(Error::Params("the vocabulary does not have the hash the file states".into()));
    }
    Ok(BagOfWords { analyser, vocabulary, fields })
}

fn vocabulary(container: &Container<'_>) -> Result<Vocabulary> {
    let wrong = |what: &str| Error::Params(format!("the vocabulary is inconsistent: {what}"));
    let terms = container.array::<u8>("vocabulary.terms")?;
    let terms = std::str::from_utf8(&terms).map_err(|_| wrong("its terms are not UTF-8"))?;
    let offsets: Vec<u64> = container.array("vocabulary.offsets")?;
    let dfs: Vec<u32> = container.array("vocabulary.document_frequencies")?;
    let cfs: Vec<u64> = container.array("vocabulary.collection_frequencies")?;
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
    Vocabulary::from_terms(container.number("n_documents")?, entries)
}
