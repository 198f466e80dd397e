use matchrank_core::{Error, Result};
use serde::Serialize;

/// A question for the words that go with some words.
#[derive(Debug, Clone, Copy)]
pub struct RelatedQuery<'a> {
    /// One word or several.
    pub words: &'a str,
    /// Most words to return.
    pub top: usize,
    /// Leaves out document words of fewer documents, about which little is known.
    pub min_documents: u32,
    /// Asks for query words that go with document words, and not the other way round.
    pub is_reverse: bool,
}

impl RelatedQuery<'_> {
    /// Returns an error if the question is for query words.
    pub(crate) fn forward_only(&self, kind: &str) -> Result<()> {
        if self.is_reverse {
            return Err(Error::Params(format!(
                "a {kind} model relates query words to document words, and not the other way round"
            )));
        }
        Ok(())
    }
}

/// Words that go with others, by a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Related {
    /// Kind of the model.
    pub model: &'static str,
    /// Name of the value of a word, for programs: `cosine`, `weight`.
    pub value: &'static str,
    /// Name of the value for people.
    pub column: &'static str,
    /// The words, the strongest first.
    pub words: Vec<RelatedWord>,
    /// Words of the question that the model has learned nothing about; `None` where it does not say.
    pub unknown: Option<Vec<String>>,
    /// True for words of queries.
    pub is_reverse: bool,
}

/// A word that goes with others, or against them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RelatedWord {
    /// The word, as analysed.
    pub word: String,
    /// Cosine, weight or probability; below 0 the word speaks against a document.
    #[serde(rename = "weight")]
    pub value: f32,
    /// Documents with the word.
    pub n_documents: u32,
}
