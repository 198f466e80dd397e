use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use matchrank_core::Result;
use unicode_normalization::UnicodeNormalization;

use super::accents::fold_accents_into;
use super::params::is_english;
use super::words::{for_each_word, lower_case_into};
use super::{AnalyserParams, stop_words};

type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// Splits texts into tokens according to [`AnalyserParams`]. Cheap to clone and shared by all threads.
///
/// Stemming costs several allocations per word, and text repeats its words, so every thread caches the results for the
/// words it has seen: one hash lookup then answers both "is it a stop word" and "what is its stem". The cache of a
/// thread is bounded and never changes the result.
#[derive(Clone)]
pub struct Analyser {
    params: Arc<AnalyserParams>,
    stop_words: Arc<[String]>,
    stemmer: Option<frostem::Stemmer>,
    folding: Folding,
    /// Tells the cached words of one analyser from those of another.
    id: u64,
}

/// Place of the folding of accents among the steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folding {
    Off,
    BeforeStemming,
    /// The rules of the stemmer need the accents.
    AfterStemming,
}

impl Folding {
    fn of(params: &AnalyserParams) -> Self {
        match &params.stemmer {
            _ if !params.fold_accents => Self::Off,
            Some(stemmer) if !is_english(stemmer) => Self::AfterStemming,
            _ => Self::BeforeStemming,
        }
    }
}

/// Result of analysing a lower-cased word.
enum Fate {
    Stop,
    Unchanged,
    Token(Box<str>),
}

/// Cached words per thread; at about 60 bytes each this is 8 MB at most.
const REMEMBERED: usize = 1 << 17;

/// Buffers that a thread reuses from one text to the next.
#[derive(Default)]
struct TextScratch {
    /// The analyser that `fates` belongs to.
    owner: u64,
    fates: HashMap<Box<str>, Fate>,
    normalised: String,
    word: String,
    /// Kept tokens of the text joined by spaces, and the start of each: every n-gram is a slice of it.
    joined: String,
    starts: Vec<usize>,
}

thread_local! {
    /// Taken while in use, so that a callback may analyse another text on the same thread.
    static SCRATCH: Cell<Option<Box<TextScratch>>> = const { Cell::new(None) };
}

impl Analyser {
    /// Creates an analyser after checking the parameters.
    pub fn new(params: &AnalyserParams) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        params.validate()?;
        let list = params.stop_words.as_deref().and_then(stop_words::of).unwrap_or_default();
        let mut listed: Vec<String> = list.iter().map(|word| lower_cased(word, params.nfkc)).collect();
        listed.sort_unstable();
        listed.dedup();
        Ok(Self {
            params: Arc::new(params.clone()),
            stop_words: listed.into(),
            stemmer: params.frostem()?,
            folding: Folding::of(params),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Returns the parameters of the analyser.
    pub fn params(&self) -> &AnalyserParams {
        &self.params
    }

    /// Calls `each` with every token of `text`, in order; longer n-grams follow the token they end with.
    pub fn tokens(&self, text: &str, mut each: impl FnMut(&str)) {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        if scratch.owner != self.id {
            scratch.owner = self.id;
            scratch.fates.clear();
        }
        self.analyse(text, &mut scratch, &mut each);
        SCRATCH.set(Some(scratch));
    }

    /// Returns the tokens of `text`.
    pub fn collect(&self, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        self.tokens(text, |token| tokens.push(token.to_owned()));
        tokens
    }

    fn analyse(&self, text: &str, scratch: &mut TextScratch, each: &mut impl FnMut(&str)) {
        let TextScratch { fates, normalised, word, joined, starts, .. } = scratch;
        let longest = self.params.max_token_length;
        let ngrams = self.params.ngrams;
        joined.clear();
        starts.clear();
        for_each_word(text, self.params.nfkc, normalised, |as_written| {
            if as_written.len() > longest && as_written.chars().count() > longest {
                return;
            }
            lower_case_into(as_written, word);
            let Some(token) = self.kept(word, fates) else { return };
            each(token);
            if ngrams > 1 {
                if !joined.is_empty() {
                    joined.push(' ');
                }
                starts.push(joined.len());
                joined.push_str(token);
                for &start in starts.iter().rev().skip(1).take(ngrams - 1) {
                    each(&joined[start..]);
                }
            }
        });
    }

    /// Returns the token of a lower-cased word, or `None` for a stop word.
    fn kept<'a>(&self, word: &'a str, fates: &'a mut HashMap<Box<str>, Fate>) -> Option<&'a str> {
        let folds = self.folding != Folding::Off && !word.is_ascii();
        if self.stop_words.is_empty() && self.stemmer.is_none() && !folds {
            return Some(word);
        }
        if !fates.contains_key(word) {
            if fates.len() >= REMEMBERED {
                fates.clear();
            }
            fates.insert(word.into(), self.fate(word));
        }
        match &fates[word] {
            Fate::Stop => None,
            Fate::Unchanged => Some(word),
            Fate::Token(token) => Some(token),
        }
    }

    fn fate(&self, word: &str) -> Fate {
        if self.stop_words.binary_search_by(|stop| stop.as_str().cmp(word)).is_ok() {
            return Fate::Stop;
        }
        let mut token = word.to_owned();
        if self.folding == Folding::BeforeStemming {
            fold_accents_into(word, &mut token);
        }
        if let Some(stem) = self.stemmer.map(|stemmer| stemmer.stem(&token).into_owned())
            // If the stemmer leaves nothing, the word stays unchanged.
            && !stem.is_empty()
        {
            token = stem;
        }
        if self.folding == Folding::AfterStemming {
            let stem = std::mem::take(&mut token);
            fold_accents_into(&stem, &mut token);
        }
        if token == word { Fate::Unchanged } else { Fate::Token(token.into()) }
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
            Analyser::new(&AnalyserParams { fold_accents: true, ..params }).unwrap()
        };
        assert_eq!(analyser("french").collect("mangées manger été"), ["mang", "mang"]);
        assert_eq!(analyser("french").collect("forêt foret"), ["foret", "foret"]);
        assert_eq!(analyser("turkish").collect("şu su").len(), 1, "`su` is water, `şu` a stop word");
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
            let stem = params.frostem().unwrap().map_or(lower.clone(), |s| s.stem(&lower).into_owned());
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
            let params = AnalyserParams { nfkc, max_token_length, stop_words, stemmer, ngrams, fold_accents };
            let analyser = Analyser::new(&params).unwrap();
            for text in texts {
                prop_assert_eq!(analyser.collect(&text), obvious(&params, &text));
            }
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
