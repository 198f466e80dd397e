use std::collections::{BTreeMap, BTreeSet};

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{CompoundParts, stop_words};

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
    /// A word whose accents change its stem has the stem of the word without accents as a second token, so that
    /// `bateria` finds `batería`, whose stem is `bat`. Needs `fold_accents` and a stemmer that knows accents. Default:
    /// no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accent_variants: bool,
    /// Words that compounds are split into; their stems are tokens besides that of the compound. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compounds: Option<CompoundParts>,
    /// Cut runs of Chinese, Japanese and Korean characters into pairs, and Chinese ones into single characters, too.
    /// Default: no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cjk: bool,
    /// Languages of a collection that has several, the main one first; the fields above that a language has of its own
    /// are then unset. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<LanguageParams>,
    /// Languages of text fields, by the name of the field. Documents are in one of `languages` in all other fields,
    /// which their function words tell. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub field_languages: BTreeMap<String, String>,
}

/// Analysis of one language of several: the fields of [`AnalyserParams`] with the same names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LanguageParams {
    /// Name of the language.
    pub language: String,
    /// Leave out the stop words of this language. Words that are common words of another language are kept.
    pub stop_words: Option<String>,
    /// Reduce words to stems by the algorithm of this language.
    pub stemmer: Option<String>,
    /// Remove accents.
    pub fold_accents: bool,
    /// Add the stem of the word without accents.
    pub accent_variants: bool,
    /// Words that compounds are split into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compounds: Option<CompoundParts>,
}

/// Languages whose stemmer or stop words exist and whose writers set accents in print but often not in a search box.
/// In the Nordic languages, Hungarian and Turkish, `ö` is a letter of its own and is typed.
const TYPED_WITHOUT_ACCENTS: [&str; 12] = [
    "catalan",
    "czech",
    "dutch",
    "french",
    "german",
    "greek",
    "italian",
    "lithuanian",
    "polish",
    "portuguese",
    "romanian",
    "spanish",
];

/// Names of languages whose script has no blanks between words, and of all of them together.
const CJK: [(&str, &str); 4] = [("chinese", "zh"), ("japanese", "ja"), ("korean", "ko"), ("cjk", "cjk")];

fn is_cjk_language(language: &str) -> bool {
    let language = language.trim();
    CJK.iter().any(|(name, code)| name.eq_ignore_ascii_case(language) || code.eq_ignore_ascii_case(language))
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
            accent_variants: false,
            compounds: None,
            cjk: false,
            languages: Vec::new(),
            field_languages: BTreeMap::new(),
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
    /// left out. Accents are folded where people often omit them in queries. Chinese, Japanese and Korean cut runs of
    /// their characters into pairs, and analyse other words as English. Returns an error if nothing is known of the
    /// language.
    pub fn for_language(language: &str) -> Result<Self> {
        if is_cjk_language(language) {
            return Ok(Self { cjk: true, ..Self::default() });
        }
        let LanguageParams { stop_words, stemmer, fold_accents, accent_variants, .. } =
            LanguageParams::of(language)?;
        Ok(Self { stop_words, stemmer, fold_accents, accent_variants, ..Self::default() })
    }

    /// Returns parameters for a collection of several languages, the main one first.
    pub fn for_languages(languages: &[impl AsRef<str>]) -> Result<Self> {
        let names: Vec<&str> = languages.iter().map(|name| name.as_ref().trim()).collect();
        let (cjk, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_cjk_language(name));
        match &others[..] {
            [] if cjk.is_empty() => return Err(Error::Params("at least one language is needed".into())),
            [] => return Self::for_language(cjk[0]),
            [one] => return Ok(Self { cjk: !cjk.is_empty(), ..Self::for_language(one)? }),
            _ => {}
        }
        let mut languages: Vec<LanguageParams> = Vec::new();
        for name in others {
            let language = LanguageParams::of(name)?;
            if !languages.iter().any(|other| other.language == language.language) {
                languages.push(language);
            }
        }
        if languages.len() == 1 {
            return Ok(Self { cjk: !cjk.is_empty(), ..Self::for_language(&languages[0].language)? });
        }
        Ok(Self { cjk: !cjk.is_empty(), languages, ..Self::plain() })
    }

    /// Returns the languages with their analysis: [`languages`](Self::languages), or the only one.
    pub fn each_language(&self) -> Vec<LanguageParams> {
        if !self.languages.is_empty() {
            return self.languages.clone();
        }
        vec![LanguageParams {
            language: self.stemmer.clone().or_else(|| self.stop_words.clone()).unwrap_or_default(),
            stop_words: self.stop_words.clone(),
            stemmer: self.stemmer.clone(),
            fold_accents: self.fold_accents,
            accent_variants: self.accent_variants,
            compounds: self.compounds.clone(),
        }]
    }

    /// Changes the analysis of every language.
    pub fn for_each_language(&mut self, mut change: impl FnMut(&mut LanguageParams)) {
        if !self.languages.is_empty() {
            return self.languages.iter_mut().for_each(change);
        }
        let mut only = self.each_language().remove(0);
        change(&mut only);
        let LanguageParams { stop_words, stemmer, fold_accents, accent_variants, compounds, .. } = only;
        (self.stop_words, self.stemmer, self.compounds) = (stop_words, stemmer, compounds);
        (self.fold_accents, self.accent_variants) = (fold_accents, accent_variants);
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
        if self.languages.is_empty() {
            if !self.field_languages.is_empty() {
                return Err(Error::Params("languages of fields need a list of languages".into()));
            }
            return self.each_language().iter().try_for_each(LanguageParams::validate);
        }
        self.validate_languages()
    }

    fn validate_languages(&self) -> Result<()> {
        let fail = |message: String| Err(Error::Params(message));
        let LanguageParams { stop_words, stemmer, compounds, fold_accents, accent_variants, .. } =
            Self { languages: Vec::new(), ..self.clone() }.each_language().remove(0);
        if stop_words.is_some() || stemmer.is_some() || compounds.is_some() || fold_accents || accent_variants
        {
            return fail(
                "several languages have their own stop words, stemmers, accents and compounds".into(),
            );
        }
        if !(2..=MOST_LANGUAGES).contains(&self.languages.len()) {
            return fail(format!(
                "from 2 to {MOST_LANGUAGES} languages are possible, not {}",
                self.languages.len()
            ));
        }
        let mut names = BTreeSet::new();
        for language in &self.languages {
            language.validate()?;
            if language.language.is_empty() || !names.insert(language.language.as_str()) {
                return fail(format!("the language {:?} is not named once", language.language));
            }
        }
        match self.field_languages.iter().find(|(_, language)| !names.contains(language.as_str())) {
            Some((field, language)) => {
                fail(format!("field {field:?} is in {language:?}, which is none of the languages"))
            }
            None => Ok(()),
        }
    }
}

/// Most languages of one collection.
pub(super) const MOST_LANGUAGES: usize = 8;

impl LanguageParams {
    /// Returns the stop words, the stemmer and the accents of a language, by name or code.
    fn of(language: &str) -> Result<Self> {
        let language = language.trim();
        let stop_words = stop_words::of(language).map(|_| language.to_owned());
        let stemmer = frostem::Algorithm::from_name(language).ok().map(|a| a.name().to_owned());
        let Some(name) = stemmer.as_deref().or(stop_words::name_of(language)).map(str::to_owned) else {
            return Err(Error::Params(format!(
                "no stop words and no stemmer for the language {language:?}; stop words exist for {}; stemmers for {}; \
                 chinese, japanese and korean are cut into pairs of characters",
                stop_words::languages().join(", "),
                stemmers().join(", ")
            )));
        };
        let is_english = is_english(&name);
        let fold_accents = is_english || TYPED_WITHOUT_ACCENTS.contains(&name.as_str());
        let accent_variants = fold_accents && !is_english && stemmer.is_some();
        Ok(Self { language: name, stop_words, stemmer, fold_accents, accent_variants, compounds: None })
    }

    fn validate(&self) -> Result<()> {
        if let Some(language) = &self.stop_words
            && stop_words::of(language).is_none()
        {
            return Err(Error::Params(format!(
                "no stop words for {language:?}; there are lists for {}",
                stop_words::languages().join(", ")
            )));
        }
        if let Some(compounds) = &self.compounds {
            compounds.validate()?;
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
        assert_eq!(["en", "english", "porter", "de", "french"].map(folds), [true; 5]);
        assert_eq!(["swedish", "finnish", "turkish", "hungarian"].map(folds), [false; 4]);
        let japanese = AnalyserParams::for_language("ja").unwrap();
        assert_eq!(japanese, AnalyserParams { cjk: true, ..Default::default() });
    }

    #[test]
    fn several_languages() {
        let params = AnalyserParams::for_languages(&["en", "german", "es", "chinese", "de"]).unwrap();
        let names: Vec<&str> = params.languages.iter().map(|l| l.language.as_str()).collect();
        assert_eq!((names, params.cjk), (vec!["english", "german", "spanish"], true));
        assert!(params.validate().is_ok());
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<AnalyserParams>(&json).unwrap(), params);
        let same = |names: &[&str], one: &str| {
            assert_eq!(
                AnalyserParams::for_languages(names).unwrap(),
                AnalyserParams::for_language(one).unwrap()
            );
        };
        same(&["english"], "english");
        same(&["de", "german"], "german");
        same(&["english", "cjk"], "chinese");
        let refused = |change: &dyn Fn(&mut AnalyserParams), expected: &str| {
            let mut params = params.clone();
            change(&mut params);
            let message = params.validate().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        refused(&|p| p.stemmer = Some("english".into()), "their own");
        refused(&|p| p.languages.truncate(1), "from 2 to 8");
        refused(&|p| p.languages[1].language = "english".into(), "named once");
        refused(&|p| drop(p.field_languages.insert("body".into(), "french".into())), "none of the languages");
        let mut params = AnalyserParams::default();
        params.field_languages.insert("body".into(), "english".into());
        assert!(params.validate().is_err());
        assert!(AnalyserParams::for_languages(&[] as &[&str]).is_err());
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
