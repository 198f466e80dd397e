//! Choice of the analyser: the languages of the collection, given or detected, and the parts of its compounds.

use std::collections::BTreeMap;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::documents::CollectedDocuments;
use crate::text::{
    Analyser, AnalyserParams, CompoundParts, LanguageParams, MISMATCH_FIX, TermCounts, VocabularyParams,
    mismatch, stop_words,
};

/// Languages of texts, and changes of their usual analysis.
#[derive(Clone, Debug, Default)]
pub struct LanguageOptions {
    /// Languages of the documents, the main one first; empty detects them.
    pub languages: Vec<String>,
    /// Languages of text fields.
    pub field_languages: BTreeMap<String, String>,
    /// Keep words as they are instead of reducing them to stems.
    pub no_stemming: bool,
    /// Keep stop words.
    pub no_stop_words: bool,
    /// Do not split compounds.
    pub no_compounds: bool,
    /// Remove accents, or keep them; by the language if not given.
    pub fold_accents: Option<bool>,
    /// Index sequences of up to so many words; 0 means 1.
    pub ngrams: usize,
}

/// Name of the choice to analyse texts without any language.
const NONE: &str = "none";
/// Languages whose compounds are split.
const WITH_COMPOUNDS: [&str; 1] = ["german"];

impl LanguageOptions {
    /// Checks the names of languages.
    pub(super) fn validate(&self) -> Result<()> {
        if self.languages.len() > 1 && self.languages.iter().any(|name| name == NONE) {
            return Err(Error::Params("the language `none` stands alone; leave the others out".into()));
        }
        if self.languages.len() == 1 && self.languages[0] == NONE && !self.field_languages.is_empty() {
            return Err(Error::Params(
                "option `language none` analyses no language; name one beside option `field-language`".into(),
            ));
        }
        let named = if self.languages.is_empty() { vec!["english".into()] } else { self.languages.clone() };
        self.params(&named, &[]).map(|_| ())
    }

    /// Returns the analyser of some languages. Without a choice of languages, `fields` that have no language of their
    /// own are detected document by document, and so they are with several; a single language is that of all.
    fn params(&self, languages: &[String], fields: &[String]) -> Result<AnalyserParams> {
        let mut params = match languages {
            [only] if only == NONE => AnalyserParams::plain(),
            _ => {
                let of_fields = self.field_languages.values().cloned();
                let all: Vec<String> = languages.iter().cloned().chain(of_fields).collect();
                AnalyserParams::for_languages(&all)?
            }
        };
        if !params.languages.is_empty() {
            let name = |language: &str| -> Result<String> {
                // Chinese, Japanese and Korean characters are cut in any language.
                let named = AnalyserParams::for_languages(&[language])?.each_language().remove(0);
                Ok(named.language)
            };
            for (field, language) in &self.field_languages {
                params.field_languages.insert(field.clone(), name(language)?);
            }
            if let [only] = &self.languages[..] {
                for field in fields.iter().filter(|field| !self.field_languages.contains_key(*field)) {
                    params.field_languages.insert(field.clone(), name(only)?);
                }
            }
        }
        params.for_each_language(|language| {
            if self.no_stemming {
                language.stemmer = None;
            }
            if self.no_stop_words {
                language.stop_words = None;
            }
            language.fold_accents = self.fold_accents.unwrap_or(language.fold_accents);
            language.accent_variants &= language.fold_accents && language.stemmer.is_some();
        });
        params.ngrams = self.ngrams.max(1);
        Ok(params)
    }
}

/// Reads the documents by `read` with the analyser of the given languages, or of those that the documents are in; says
/// which they are, and warns if the given ones do not fit.
///
/// A given language is read once, and so is a collection that turns out to be English. Other detected languages are read
/// again. German is read once more before that, word by word as written, for the parts of compounds.
pub(super) fn read(
    given: &AnalyserParams,
    options: Option<&LanguageOptions>,
    progress: &dyn Progress,
    read: impl Fn(&Analyser, bool) -> Result<CollectedDocuments>,
) -> Result<(Analyser, CollectedDocuments)> {
    let Some(options) = options else {
        let analyser = Analyser::new(given)?;
        let collection = read(&analyser, true)?;
        return Ok((analyser, collection));
    };
    let splits =
        |params: &AnalyserParams| !options.no_compounds && params.each_language().iter().any(has_compounds);
    let first = match &options.languages[..] {
        [] => options.params(&["english".into()], &[])?,
        languages => match options.params(languages, &[])? {
            params if splits(&params) => as_written(&params),
            params => params,
        },
    };
    let analyser = Analyser::new(&first)?;
    let collection = read(&analyser, true)?;
    if let Some(field) = options.field_languages.keys().find(|field| !collection.fields.contains(field)) {
        return Err(Error::Params(format!(
            "a language is given for the field '{field}', and the text fields are {}",
            collection.fields.join(", ")
        )));
    }
    let shares = &collection.languages;
    let chosen = if options.languages.is_empty() { shares.choice() } else { options.languages.clone() };
    let mut params = options.params(&chosen, &collection.fields)?;
    if options.languages.is_empty() {
        let known = shares.sentence();
        if !known.is_empty() {
            progress.note(&format!("language: {known} (option `language` overrides)"));
        }
    } else if let Some(warning) = mismatch(&params, shares, "documents") {
        progress.note(&format!("{warning}; {MISMATCH_FIX}"));
    }
    if splits(&params) {
        let words = as_written(&params);
        let counts =
            if words == first { collection.counts } else { read(&Analyser::new(&words)?, false)?.counts };
        learn_compounds(&mut params, counts)?;
    } else if params == first {
        return Ok((analyser, collection));
    }
    let analyser = Analyser::new(&params)?;
    let collection = read(&analyser, false)?;
    Ok((analyser, collection))
}

fn has_compounds(language: &LanguageParams) -> bool {
    WITH_COMPOUNDS.contains(&language.language.as_str())
}

/// Returns parameters that leave words as they are written, in lower case.
fn as_written(params: &AnalyserParams) -> AnalyserParams {
    AnalyserParams { cjk: params.cjk, ..AnalyserParams::plain() }
}

/// Learns the parts of compounds from the words of the documents as they are written.
fn learn_compounds(params: &mut AnalyserParams, counts: TermCounts) -> Result<()> {
    let words = counts.into_vocabulary(&VocabularyParams::default())?;
    // Function words of every language, so that `the` is no part of a German compound.
    let stops: Vec<&str> = params
        .each_language()
        .iter()
        .flat_map(|language| stop_words(&language.language).unwrap_or_default())
        .copied()
        .collect();
    let parts = CompoundParts::learn(&words, &stops);
    params.for_each_language(|language| {
        if has_compounds(language) {
            language.compounds = Some(parts.clone());
        }
    });
    Ok(())
}
