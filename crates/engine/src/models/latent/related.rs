//! The words of documents that a bilinear model finds near to words of queries.

use matchrank_core::matching::dot;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::{Inputs, LatentModel};
use crate::models::{Related, RelatedQuery, RelatedWord};
use crate::text::Vocabulary;

/// The document words nearest to the words of a query, and the words that the model knows nothing about.
pub(super) fn related(model: &LatentModel, query: &RelatedQuery<'_>) -> Result<Related> {
    query.forward_only(model.kind.name)?;
    Ok(Related {
        model: model.kind.name,
        value: "cosine",
        column: "cosine",
        words: model.related(query.words, query.top, query.min_documents)?,
        unknown: Some(model.unknown_words(query.words)),
        is_reverse: false,
    })
}

impl LatentModel {
    /// The words of a query, as analysed, of which the model knows nothing: those that it has never seen, and
    /// those that no training query with a response has. Each once.
    pub fn unknown_words(&self, query: &str) -> Vec<String> {
        let Inputs::Features(features) = &self.inputs else { return Vec::new() };
        let words = features.words();
        let known = |id: u32| {
            let mut row = vec![0.0; self.model.d()];
            self.model.lx().add(id, 1.0, &mut row);
            row.iter().any(|&value| value != 0.0)
        };
        let mut unknown: Vec<String> = Vec::new();
        words.analyser.tokens(query, |token| {
            let is_known = words.vocabulary.id(token).is_some_and(known);
            if !is_known && !unknown.iter().any(|word| word == token) {
                unknown.push(token.to_owned());
            }
        });
        unknown
    }

    /// The document words nearest to a word (or several) of queries in the latent space, by the cosine;
    /// ties by the id of the word. Words of fewer than `min_documents` documents are left out: what little
    /// is known of them makes them look near to anything.
    pub fn related(&self, query: &str, top: usize, min_documents: u32) -> Result<Vec<RelatedWord>> {
        let Inputs::Features(features) = &self.inputs else {
            return Err(Error::Params(format!(
                "a {} model knows clicks and no words; ask a model that knows words, such as rmls, pls or lsi-dt",
                self.kind.name
            )));
        };
        let words = features.words();
        let x = features.query(query, None);
        if x.is_empty() {
            return Err(unknown(query, words));
        }
        let image = self.model.map_query(x.row());
        let length = dot(&image, &image).sqrt();
        if length == 0.0 {
            return Err(Error::Params(format!(
                "the model has learned nothing about {query:?}: no training query with a response has it"
            )));
        }
        let vocabulary = &words.vocabulary;
        let ly = self.model.ly();
        let mut near: Vec<(u32, f32)> = (0..vocabulary.len() as u32)
            .into_par_iter()
            .filter(|&word| vocabulary.document_frequency(word) >= min_documents.max(1))
            .map_init(
                || vec![0f32; ly.d()],
                |row, word| {
                    row.fill(0.0);
                    ly.add(word, 1.0, row);
                    let own = dot(row, row).sqrt();
                    (word, if own > 0.0 { dot(row, &image) / (own * length) } else { f32::NAN })
                },
            )
            .filter(|(_, cosine)| !cosine.is_nan())
            .collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        near.truncate(top);
        Ok(near
            .into_iter()
            .map(|(word, cosine)| RelatedWord {
                word: vocabulary.term(word).to_owned(),
                value: cosine,
                n_documents: vocabulary.document_frequency(word),
            })
            .collect())
    }
}

/// Says what became of the words, and which known words are spelled alike.
pub(in crate::models) fn unknown(query: &str, words: &crate::text::BagOfWords) -> Error {
    let mut tokens = Vec::new();
    words.analyser.tokens(query, |token| tokens.push(token.to_owned()));
    let Some(first) = tokens.first() else {
        return Error::Params(format!(
            "nothing is left of {query:?} after analysis: stop words and punctuation are dropped"
        ));
    };
    let alike = alike(first, &words.vocabulary);
    let hint = if alike.is_empty() {
        String::new()
    } else {
        format!("; known words that are spelled alike: {}", alike.join(", "))
    };
    Error::Params(format!(
        "the model does not know {query:?} (analysed: {}); it knows words of its documents and training queries{hint}",
        tokens.join(" ")
    ))
}

/// The most frequent words that share the longest beginning, of three letters at least.
fn alike<'a>(word: &str, vocabulary: &'a Vocabulary) -> Vec<&'a str> {
    let shared = |term: &str| term.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
    let mut terms: Vec<(usize, u32)> = vocabulary
        .iter()
        .zip(0..)
        .map(|((term, ..), id)| (shared(term), id))
        .filter(|(shared, _)| *shared >= 3)
        .collect();
    // Ids are in the order of frequency.
    terms.sort_by_key(|&(shared, id)| (std::cmp::Reverse(shared), id));
    terms.iter().take(5).map(|&(_, id)| vocabulary.term(id)).collect()
}
