use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::FixedState;
use matchrank_core::Result;
use unicode_normalization::UnicodeNormalization;

use super::detect::{Detector, HOMOGRAPHS};
use super::pipeline::Pipeline;
use super::words::lower_case_into;
use super::{AnalyserParams, stop_words};

/// Splits texts into tokens according to [`AnalyserParams`]. Cheap to clone and shared by all threads.
///
/// A collection of several languages has a pipeline for each. The language of a document decides how it is analysed; a
/// document of unknown language and a query have the tokens of all pipelines, where a word that two of them agree on has
/// one token. So a query finds the documents of every language, and its word counts once in each.
#[derive(Clone)]
pub struct Analyser {
    params: Arc<AnalyserParams>,
    pipelines: Arc<[Pipeline]>,
    detector: Detector,
}

impl Analyser {
    /// Creates an analyser after checking the parameters.
    pub fn new(params: &AnalyserParams) -> Result<Self> {
        params.validate()?;
        let languages = params.each_language();
        let mut listed: Vec<String> = Vec::new();
        for language in &languages {
            let list = language.stop_words.as_deref().and_then(stop_words::of).unwrap_or_default();
            listed.extend(list.iter().map(|word| lower_cased(word, params.nfkc)));
        }
        if languages.len() > 1 {
            listed.retain(|word| !HOMOGRAPHS.contains(&word.as_str()));
        }
        listed.sort_unstable();
        listed.dedup();
        let listed: Arc<[String]> = listed.into();
        let pipelines = languages.iter().map(|language| Pipeline::new(params, language, listed.clone()));
        Ok(Self {
            pipelines: pipelines.collect::<Result<Vec<_>>>()?.into(),
            detector: Detector::new(languages.iter().map(|language| language.language.as_str())),
            params: Arc::new(params.clone()),
        })
    }

    /// Returns the parameters of the analyser.
    pub fn params(&self) -> &AnalyserParams {
        &self.params
    }

    /// Calls `each` with every token of a query, in order; the tokens of the parts of a compound follow its own, and
    /// longer n-grams follow the token they end with.
    pub fn tokens(&self, text: &str, mut each: impl FnMut(&str)) {
        match &self.pipelines[..] {
            [only] => only.tokens(text, |_, token| each(token)),
            several => {
                let mut seen: HashSet<(usize, Box<str>), FixedState> = HashSet::default();
                for pipeline in several {
                    let mut new = Vec::new();
                    pipeline.tokens(text, |word, token| {
                        if !seen.contains(&(word, Box::from(token))) {
                            new.push((word, Box::from(token)));
                            each(token);
                        }
                    });
                    seen.extend(new);
                }
            }
        }
    }

    /// Calls `each` with the place of the field and the token, for every token of a document, given as names and texts
    /// of its fields.
    pub fn document<'t>(
        &self,
        fields: impl Iterator<Item = (&'t str, &'t str)> + Clone,
        mut each: impl FnMut(usize, &str),
    ) {
        if let [only] = &self.pipelines[..] {
            for (field, (_, text)) in fields.enumerate() {
                only.tokens(text, |_, token| each(field, token));
            }
            return;
        }
        let of_field = |name: &str| {
            let language = self.params.field_languages.get(name)?;
            self.params.languages.iter().position(|other| other.language == *language)
        };
        let unassigned = fields.clone().filter(|(name, _)| of_field(name).is_none());
        let detected = self.detector.detect(unassigned.map(|(_, text)| text));
        for (field, (name, text)) in fields.enumerate() {
            match of_field(name).or(detected) {
                Some(language) => self.pipelines[language].tokens(text, |_, token| each(field, token)),
                None => self.tokens(text, |token| each(field, token)),
            }
        }
    }

    /// Returns the tokens of a query.
    pub fn collect(&self, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        self.tokens(text, |token| tokens.push(token.to_owned()));
        tokens
    }
}

/// Returns a stop word in the form that tokens have.
fn lower_cased(word: &str, nfkc: bool) -> String {
    let mut out = String::new();
    if nfkc {
        lower_case_into(&word.nfkc().collect::<String>(), &mut out)
    } else {
        lower_case_into(word, &mut out)
    }
    out
}

impl std::fmt::Debug for Analyser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Analyser").field(&self.params).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    use super::super::accents::fold_accents_into;
    use super::super::params::is_english;
    use super::*;

    fn analyser(change: impl FnOnce(&mut AnalyserParams)) -> Analyser {
        let mut params = AnalyserParams::default();
        change(&mut params);
        Analyser::new(&params).unwrap()
    }

    #[test]
    fn english_by_default() {
        let tokens = analyser(|_| ()).collect("Don’t the Dogs’ owners run? café CAFÉ x-rays");
        assert_eq!(tokens, ["dog", "owner", "run", "cafe", "cafe", "x", "ray"]);
        let accents = analyser(|p| p.fold_accents = false);
        assert_eq!(accents.collect("café CAFÉ cafe"), ["café", "café", "cafe"]);
    }

    #[test]
    fn words_that_differ_by_accents_give_one_token() {
        let english = analyser(|_| ());
        for (accented, plain) in [
            ("Résumés", "resumes"),
            ("résumé", "resume"),
            ("Jalapeño", "jalapeno"),
            ("naïve", "naive"),
            ("Škoda", "skoda"),
            ("Weißbier", "weissbier"),
        ] {
            assert_eq!(english.collect(accented), english.collect(plain), "{accented}");
        }
        let plain = analyser(|p| (p.stemmer, p.stop_words) = (None, None));
        assert_eq!(plain.collect("Zoë's Ångström"), ["zoe's", "angstrom"]);
    }

    /// French and German stemmers know accents, and stop words are recognised as written.
    #[test]
    fn stemmers_of_other_languages_see_accents() {
        let analyser = |language: &str| {
            let params = AnalyserParams::for_language(language).unwrap();
            Analyser::new(&AnalyserParams { accent_variants: false, ..params }).unwrap()
        };
        assert_eq!(analyser("french").collect("mangées manger été"), ["mang", "mang"]);
        assert_eq!(analyser("french").collect("forêt foret"), ["foret", "foret"]);
        assert_eq!(analyser("turkish").collect("şu su").len(), 1, "`su` is water, `şu` a stop word");
    }

    fn language(name: &str) -> Analyser {
        Analyser::new(&AnalyserParams::for_language(name).unwrap()).unwrap()
    }

    /// People type without accents what documents write with them.
    #[test]
    fn a_word_with_accents_has_the_stem_without_them_too() {
        let spanish = language("spanish");
        assert_eq!(spanish.collect("batería"), ["bat", "bateri"]);
        assert_eq!(spanish.collect("bateria"), ["bateri"]);
        assert_eq!(
            spanish.collect("camión camion camiones niños ninos"),
            ["camion", "camion", "camion", "nin", "nin"]
        );
        let german = language("german");
        assert_eq!(german.collect("Schlüssel schluessel schlussel"), ["schlussel"; 3]);
    }

    #[test]
    fn chinese_is_cut_and_other_words_are_english() {
        let chinese = language("chinese");
        assert_eq!(chinese.collect("USB Cables充电器"), ["usb", "cabl", "充", "充电", "电", "电器", "器"]);
        assert_eq!(chinese.collect("Ｘ恤"), ["x", "恤"]);
        let words = analyser(|p| (p.cjk, p.ngrams) = (true, 2));
        assert_eq!(words.collect("red 伞 shoes"), ["red", "伞", "shoe", "red shoe"]);
    }

    fn german_with_compounds(languages: &[&str]) -> Analyser {
        let mut params = AnalyserParams::for_languages(languages).unwrap();
        let parts: crate::text::CompoundParts = serde_json::from_str("\"jacke=3 winter=2\"").unwrap();
        params.for_each_language(|l| l.compounds = (l.language == "german").then(|| parts.clone()));
        Analyser::new(&params).unwrap()
    }

    #[test]
    fn compounds_have_the_tokens_of_their_parts() {
        let german = german_with_compounds(&["german"]);
        assert_eq!(german.collect("Winterjacken für Damen"), ["winterjack", "wint", "jack", "dam"]);
        assert_eq!(german.collect("Jacke"), ["jack"]);
    }

    #[test]
    fn documents_are_in_one_language_and_queries_in_all() {
        let several = german_with_compounds(&["english", "german", "spanish", "chinese"]);
        let document = |texts: &[(&str, &str)]| {
            let mut tokens = Vec::new();
            several.document(texts.iter().copied(), |field, token| tokens.push((field, token.to_owned())));
            tokens.into_iter().map(|(field, token)| format!("{field}:{token}")).collect::<Vec<_>>()
        };
        assert_eq!(
            document(&[("title", "Winterjacken"), ("body", "mit 茶")]),
            ["0:winterjack", "0:wint", "0:jack", "1:茶"]
        );
        assert_eq!(document(&[("title", "Zapatillas de niña")]), ["0:zapatill", "0:nin"]);
        assert_eq!(document(&[("title", "The running hat")]), ["0:run", "0:hat"]);
        // Nobody knows the language: every stem, once where languages agree.
        assert_eq!(
            document(&[("title", "zapatillas hat")]),
            ["0:zapatilla", "0:hat", "0:zapatillas", "0:zapatill"]
        );
        assert_eq!(
            several.collect("zapatillas hat 茶茶"),
            ["zapatilla", "hat", "茶", "茶茶", "茶", "zapatillas", "zapatill"]
        );
        assert_eq!(several.collect("the man mit dem hat"), ["man", "hat"]);
        assert_eq!(several.collect("cat cat"), ["cat", "cat"]);
    }

    #[test]
    fn fields_have_languages() {
        let mut params = AnalyserParams::for_languages(&["english", "german"]).unwrap();
        params.field_languages.insert("body".into(), "german".into());
        params.field_languages.insert("title".into(), "english".into());
        let analyser = Analyser::new(&params).unwrap();
        let mut tokens = Vec::new();
        let texts = [("title", "laufende running"), ("body", "laufende running")];
        analyser.document(texts.into_iter(), |field, token| tokens.push((field, token.to_owned())));
        let of = |field: usize| {
            tokens.iter().filter(|(f, _)| *f == field).map(|(_, t)| t.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(0), ["laufend", "run"]);
        assert_eq!(of(1), ["laufend", "running"]);
    }

    #[test]
    fn plain_keeps_every_word() {
        let plain = Analyser::new(&AnalyserParams::plain()).unwrap();
        assert_eq!(plain.collect("The Dogs, can't"), ["the", "dogs", "can't"]);
        assert_eq!(plain.collect(""), Vec::<String>::new());
        assert_eq!(plain.collect(" .,;"), Vec::<String>::new());
    }

    #[test]
    fn ngrams_skip_stop_words_and_end_with_their_token() {
        let tokens = analyser(|p| p.ngrams = 3).collect("treatment of the red eyes");
        assert_eq!(tokens, ["treatment", "red", "treatment red", "eye", "red eye", "treatment red eye"]);
    }

    #[test]
    fn long_words_are_dropped_by_characters_not_bytes() {
        let short = analyser(|p| p.max_token_length = 4);
        assert_eq!(short.collect("éééé ééééé abcd abcde"), ["eeee", "abcd"]);
    }

    #[test]
    fn a_callback_may_analyse_on_the_same_thread() {
        let (outer, inner) = (analyser(|_| ()), analyser(|p| p.stemmer = None));
        let mut tokens = Vec::new();
        outer.tokens("running dogs", |token| {
            tokens.push(token.to_owned());
            inner.tokens("barking cats", |token| tokens.push(token.to_owned()));
        });
        assert_eq!(tokens, ["run", "barking", "cats", "dog", "barking", "cats"]);
    }

    /// Reference implementation: the same tokens without pieces, caches and reuse.
    fn obvious(params: &AnalyserParams, text: &str) -> Vec<String> {
        let text = if params.nfkc { text.nfkc().collect::<String>() } else { text.to_owned() };
        let stops = params.stop_words.as_deref().and_then(stop_words::of).unwrap_or_default();
        let mut kept: Vec<String> = Vec::new();
        let mut out = Vec::new();
        for word in text.unicode_words().map(str::trim_start) {
            if word.chars().count() > params.max_token_length {
                continue;
            }
            let lower = word.replace(['\u{2018}', '\u{2019}', '\u{02bc}'], "'").to_lowercase();
            if stops.contains(&lower.as_str()) {
                continue;
            }
            let fold = |word: &str, wanted: bool| {
                let mut folded = word.to_owned();
                if wanted && params.fold_accents {
                    fold_accents_into(word, &mut folded);
                }
                folded
            };
            let knows_accents = params.stemmer.as_deref().is_some_and(|stemmer| !is_english(stemmer));
            let lower = fold(&lower, !knows_accents);
            let stem = params.each_language()[0]
                .frostem()
                .unwrap()
                .map_or(lower.clone(), |s| s.stem(&lower).into_owned());
            kept.push(fold(if stem.is_empty() { &lower } else { &stem }, knows_accents));
            for n in 1..=params.ngrams.min(kept.len()) {
                out.push(kept[kept.len() - n..].join(" "));
            }
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn tokens_are_those_of_the_obvious_way(
            texts in prop::collection::vec(prop_oneof!["[a-zA-Z0-9 .,'_-]{0,60}", "(the |Running |dog’s |ﬁt |été |Für |x|ø|é){0,9}", any::<String>()], 1..4),
            language in prop::sample::select(vec![None, Some("english"), Some("german"), Some("french"), Some("russian"), Some("turkish")]),
            stem in any::<bool>(), nfkc in any::<bool>(), fold_accents in any::<bool>(), ngrams in 1usize..4, max_token_length in 1usize..12,
        ) {
            let stop_words = language.map(str::to_owned);
            let stemmer = stop_words.clone().filter(|_| stem);
            let params = AnalyserParams { nfkc, max_token_length, stop_words, stemmer, ngrams, fold_accents, ..AnalyserParams::plain() };
            let analyser = Analyser::new(&params).unwrap();
            for text in texts {
                prop_assert_eq!(analyser.collect(&text), obvious(&params, &text));
            }
        }

        /// Any text can be analysed in several languages, as a query and as a document; tokens are the same every time,
        /// never empty, and those of the document are among those of the query.
        #[test]
        fn several_languages_analyse_any_text(text in prop_oneof![any::<String>(), "(the |mit |Winterjacke |niña |de |茶杯|한국어){0,8}"]) {
            let several = german_with_compounds(&["english", "german", "spanish", "chinese"]);
            let query = several.collect(&text);
            prop_assert_eq!(&query, &several.collect(&text));
            prop_assert!(query.iter().all(|token| !token.is_empty()));
            several.document(std::iter::once(("text", text.as_str())), |field, token| {
                assert!(field == 0 && query.iter().any(|other| other == token), "{token:?} of {query:?}");
            });
        }

        #[test]
        fn no_stemmer_panics(word in "\\PC{0,20}", which in 0usize..frostem::Algorithm::all().len()) {
            let name = frostem::Algorithm::all()[which].name();
            let params = AnalyserParams { stemmer: Some(name.into()), stop_words: None, ..Default::default() };
            for token in Analyser::new(&params).unwrap().collect(&word) {
                prop_assert!(!token.is_empty());
            }
        }
    }
}
