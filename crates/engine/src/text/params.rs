use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::stop_words;

/// Everything that decides which tokens a text has. Stored in every model file.
///
/// The steps run in the order of the fields below; lower-casing is always on, since the stop words and
/// the stemmers are lower-case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnalyserParams {
    /// Bring compatible characters to one form (Unicode NFKC: full-width letters, ligatures, composed accents) before
    /// the text is split into words. Default: yes.
    pub nfkc: bool,
    /// Words with more characters than this are dropped: they are identifiers, encoded data or broken
    /// text, and would fill the vocabulary. Default: 64.
    pub max_token_length: usize,
    /// Leave out the stop words of this language (`english` or `en`, ...). Default: `english`.
    pub stop_words: Option<String>,
    /// Reduce words to stems by the Snowball algorithm of this language (`english` or `en`, ..., or
    /// `porter` for Porter's first stemmer). Default: `english`.
    pub stemmer: Option<String>,
    /// Besides single tokens, index sequences of up to this many kept tokens, joined by a space. A stop word that was
    /// left out does not interrupt a sequence. Default: 1, single tokens only.
    pub ngrams: usize,
    /// Remove accents, so that `café` matches `cafe`: accents of Latin and Greek letters, and a few letters such as `ø`
    /// and `ß`. Stop words are recognised as written. English stemmers see words without accents; the stemmers of other
    /// languages know accents and run first. Default: yes; off in files that do not name the field, which were
    /// written before it existed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fold_accents: bool,
}

impl Default for AnalyserParams {
    fn default() -> Self {
        Self {
            nfkc: true,
            max_token_length: 64,
            stop_words: Some("english".into()),
            stemmer: Some("english".into()),
            ngrams: 1,
            fold_accents: true,
        }
    }
}

impl AnalyserParams {
    /// Returns parameters without stop words, stemming and folding of accents, for languages that have neither stop
    /// words nor stemmer, and for comparisons.
    pub fn plain() -> Self {
        Self { stop_words: None, stemmer: None, fold_accents: false, ..Self::default() }
    }

    /// Returns parameters with the stop words and the stemmer of one language; whichever of the two does not exist is
    /// left out. Accents are folded for English only: in other languages they tell words apart. Returns an error if
    /// neither stop words nor stemmer exist.
    pub fn for_language(language: &str) -> Result<Self> {
        let stop_words = stop_words::of(language).map(|_| language.to_owned());
        let stemmer = frostem::Algorithm::from_name(language).ok().map(|a| a.name().to_owned());
        if stop_words.is_none() && stemmer.is_none() {
            return Err(Error::Params(format!(
                "no stop words and no stemmer for the language {language:?}; stop words exist for {}; stemmers for {}",
                stop_words::languages().join(", "),
                stemmers().join(", ")
            )));
        }
        let fold_accents = stemmer.as_deref().is_some_and(is_english);
        Ok(Self { stop_words, stemmer, fold_accents, ..Self::default() })
    }

    /// Checks every value; called first by [`Analyser::new`](super::Analyser::new).
    pub fn validate(&self) -> Result<()> {
        if !(1..=1000).contains(&self.max_token_length) {
            return Err(Error::Params(format!(
                "max_token_length must be between 1 and 1000, not {}",
                self.max_token_length
            )));
        }
        if !(1..=8).contains(&self.ngrams) {
            return Err(Error::Params(format!("ngrams must be between 1 and 8, not {}", self.ngrams)));
        }
        if let Some(language) = &self.stop_words
            && stop_words::of(language).is_none()
        {
            return Err(Error::Params(format!(
                "no stop words for {language:?}; there are lists for {}",
                stop_words::languages().join(", ")
            )));
        }
        self.frostem().map(|_| ())
    }

    pub(super) fn frostem(&self) -> Result<Option<frostem::Stemmer>> {
        let Some(name) = &self.stemmer else { return Ok(None) };
        frostem::Stemmer::try_from_name(name).map(Some).map_err(|_| {
            Error::Params(format!("no stemmer {name:?}; there are stemmers for {}", stemmers().join(", ")))
        })
    }
}

/// Returns true for the name of a stemmer whose rules know the letters a to z only.
pub(super) fn is_english(stemmer: &str) -> bool {
    let name = frostem::Algorithm::from_name(stemmer).map(|algorithm| algorithm.name());
    name.is_ok_and(|name| ["english", "earlymodernenglish", "lovins", "porter"].contains(&name))
}

fn stemmers() -> Vec<&'static str> {
    frostem::Algorithm::all().iter().map(|a| a.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_list_of_known_ones() {
        let params = AnalyserParams { stemmer: Some("klingon".into()), ..Default::default() };
        let message = params.validate().unwrap_err().to_string();
        assert!(message.contains("klingon") && message.contains("german"), "{message}");
        let params = AnalyserParams { stop_words: Some("xx".into()), ..Default::default() };
        assert!(params.validate().unwrap_err().to_string().contains("english"));
        assert!(AnalyserParams { ngrams: 0, ..Default::default() }.validate().is_err());
        assert!(AnalyserParams { max_token_length: 0, ..Default::default() }.validate().is_err());
        assert!(serde_json::from_str::<AnalyserParams>(r#"{"stemer": "english"}"#).is_err());
    }

    #[test]
    fn a_language_brings_what_exists_for_it() {
        let german = AnalyserParams::for_language("de").unwrap();
        assert_eq!((german.stop_words.as_deref(), german.stemmer.as_deref()), (Some("de"), Some("german")));
        let polish = AnalyserParams::for_language("polish").unwrap();
        assert_eq!((polish.stop_words, polish.stemmer.as_deref()), (None, Some("polish")));
        assert!(AnalyserParams::for_language("klingon").is_err());
        let folds = |language| AnalyserParams::for_language(language).unwrap().fold_accents;
        assert_eq!(["en", "english", "porter", "de", "french"].map(folds), [true, true, true, false, false]);
    }

    /// Datasets and models written before accents were folded do not name the field.
    #[test]
    fn parameters_of_former_versions_do_not_fold_and_keep_their_bytes() {
        let former =
            r#"{"nfkc":true,"max_token_length":64,"stop_words":"english","stemmer":"english","ngrams":1}"#;
        let params: AnalyserParams = serde_json::from_str(former).unwrap();
        assert_eq!(params, AnalyserParams { fold_accents: false, ..AnalyserParams::default() });
        assert_eq!(serde_json::to_string(&params).unwrap(), former);
        let folding = serde_json::to_string(&AnalyserParams::default()).unwrap();
        assert_eq!(serde_json::from_str::<AnalyserParams>(&folding).unwrap(), AnalyserParams::default());
    }
}
