//! Feature rows of a line: those of a query and two documents, or the reason why it is left out.

use matchrank_core::Result;
use matchrank_core::matching::Csr;
use matchrank_core::progress::Progress;

use super::line::{Given, Preference, parse};
use crate::dataset::BoundDocuments;
use crate::dataset::{Dataset, Names};
use crate::features::{FeatureRow, Features, document_rows};
use crate::lines::Line;

/// The documents of a dataset, for lines that name documents by id.
pub struct NamedDocuments {
    ids: Names,
    rows: Csr,
}

impl NamedDocuments {
    /// The words of all documents of a dataset.
    pub fn of(features: &Features, dataset: &Dataset, progress: &dyn Progress) -> Result<Self> {
        let mut ids = Names::default();
        for id in dataset.document_ids()? {
            let _ = ids.insert(&id);
        }
        Ok(Self { ids, rows: document_rows(features, BoundDocuments::all(dataset), None, progress)? })
    }
}

/// Why a line is left out.
pub(super) enum LineSkip {
    /// It does not say what it should.
    Malformed(String),
    /// It says something that nothing can be learned from.
    Useless(&'static str),
}

/// Feature rows of the query and both documents, and the number of unknown words.
pub(super) type MadeTuple = Result<([FeatureRow; 3], u64), LineSkip>;

/// Makes rows of lines.
pub(crate) struct Maker<'a> {
    pub(crate) features: &'a Features,
    pub(crate) documents: Option<&'a NamedDocuments>,
    /// True if the documents of tab-separated lines are texts, not ids.
    pub(crate) texts: bool,
}

impl Maker<'_> {
    pub(super) fn make(&self, line: &Line) -> MadeTuple {
        let malformed = |message: &str| Err(LineSkip::Malformed(message.to_owned()));
        let Some(bytes) = &line.bytes else { return malformed("is longer than 8 MiB") };
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).filter(|_| line.number == 1).unwrap_or(bytes);
        let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return malformed("is not UTF-8") };
        if text.trim().is_empty() {
            return Err(LineSkip::Useless("empty lines"));
        }
        if !line.whole && !text.trim_start().starts_with('{') {
            return malformed(
                "has no line end, so it may have been cut; end it with a line end to have it learned",
            );
        }
        let Preference { query, better, worse } = parse(text, self.texts).map_err(LineSkip::Malformed)?;
        if better == worse {
            return Err(LineSkip::Useless("tuples of a document with itself"));
        }
        let unknown = self.unknown_words(&query);
        let query = self.query(query)?;
        let (better, worse) = (self.document(better)?, self.document(worse)?);
        if query.is_empty() {
            return Err(LineSkip::Useless("tuples whose query has no known word"));
        }
        if better.is_empty() || worse.is_empty() {
            return Err(LineSkip::Useless("tuples with a document without a known word"));
        }
        Ok(([query, better, worse], unknown))
    }

    fn unknown_words(&self, query: &Given) -> u64 {
        let words = self.features.words();
        match query {
            Given::Text(text) => {
                let bag = words.query(text);
                (bag.length - bag.counts.iter().sum::<f32>()) as u64
            }
            Given::Words(given) => {
                given.iter().filter(|(word, _)| words.vocabulary.id(word).is_none()).count() as u64
            }
            Given::Id(_) | Given::Fields(_) => 0,
        }
    }

    fn query(&self, given: Given) -> Result<FeatureRow, LineSkip> {
        match given {
            Given::Text(text) => Ok(self.features.query_to_learn_from(&text, None)),
            Given::Words(words) => Ok(self.features.weighted(&words)),
            Given::Id(_) | Given::Fields(_) => Err(LineSkip::Malformed(
                "the query has fields; a text, or words with weights, is expected".into(),
            )),
        }
    }

    fn document(&self, given: Given) -> Result<FeatureRow, LineSkip> {
        match given {
            Given::Text(text) => Ok(self.features.plain_document(&text)),
            Given::Words(words) => Ok(self.features.weighted(&words)),
            Given::Fields(given) => {
                let fields = &self.features.words().fields;
                let mut texts = vec![String::new(); fields.len()];
                for (name, text) in given {
                    let place = fields.position(&name).ok_or_else(|| {
                        let have: Vec<&str> = fields.iter().map(|(name, _)| name).collect();
                        LineSkip::Malformed(format!(
                            "there is no text field {name:?}; there are {}",
                            have.join(", ")
                        ))
                    })?;
                    texts[place] = text;
                }
                Ok(self.features.document(&texts, None))
            }
            Given::Id(id) => {
                let Some(documents) = self.documents else {
                    return Err(LineSkip::Malformed(
                        "names a document by its id; say with option `data` which dataset has it".into(),
                    ));
                };
                let number = documents.ids.find(&id);
                let number =
                    number.ok_or(LineSkip::Useless("tuples with a document that is not in the dataset"))?;
                let row = documents.rows.row(number as usize);
                Ok(FeatureRow { indices: row.indices().to_vec(), values: row.values().to_vec() })
            }
        }
    }
}
