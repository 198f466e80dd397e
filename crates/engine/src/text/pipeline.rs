//! Analysis of texts in one language.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use matchrank_core::Result;

use super::accents::fold_accents_into;
use super::cjk::{Span, for_each_span, for_each_token};
use super::compounds::Splitter;
use super::params::{MOST_LANGUAGES, is_english};
use super::words::{for_each_of_piece, for_each_piece, for_each_word, lower_case_into};
use super::{AnalyserParams, LanguageParams};

type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// Steps from a text to its tokens, in one language.
///
/// Stemming costs several allocations per word, and text repeats its words, so every thread caches the results for the
/// words it has seen: one hash lookup then answers both "is it a stop word" and "what is its stem". The cache of a
/// thread is bounded and never changes the result.
#[derive(Clone)]
pub(super) struct Pipeline {
    nfkc: bool,
    max_token_length: usize,
    ngrams: usize,
    cjk: bool,
    /// Sorted.
    stop_words: Arc<[String]>,
    stemmer: Option<frostem::Stemmer>,
    folding: Folding,
    accent_variants: bool,
    splitter: Option<Arc<Splitter>>,
    /// Tells the cached words of one pipeline from those of another.
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
    fn of(language: &LanguageParams) -> Self {
        match &language.stemmer {
            _ if !language.fold_accents => Self::Off,
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
    /// The token of the word itself, and those of its parts and variants.
    Several(Box<[Box<str>]>),
}

/// Part of a text that becomes tokens.
enum TokenSource<'a> {
    Word(&'a str),
    /// A run of Chinese, Japanese or Korean characters.
    Run(&'a str),
}

/// Cached words per thread and pipeline; at about 60 bytes each this is 8 MB at most.
const REMEMBERED: usize = 1 << 17;

/// Buffers that a thread reuses from one text to the next.
#[derive(Default)]
struct TextScratch {
    /// Caches of the pipelines that were used last, by their ids.
    caches: Vec<(u64, HashMap<Box<str>, Fate>)>,
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

impl Pipeline {
    pub(super) fn new(
        params: &AnalyserParams,
        language: &LanguageParams,
        stop_words: Arc<[String]>,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let stemmer = language.frostem()?;
        let parts = language.compounds.as_ref();
        let splitter = parts.map(|parts| Splitter::new(parts, stemmer)).transpose()?;
        Ok(Self {
            nfkc: params.nfkc,
            max_token_length: params.max_token_length,
            ngrams: params.ngrams,
            cjk: params.cjk,
            stop_words,
            stemmer,
            folding: Folding::of(language),
            accent_variants: language.accent_variants,
            splitter: splitter.map(Arc::new),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Calls `each` with the number of the word and the token, for every token of `text`.
    pub(super) fn tokens(&self, text: &str, mut each: impl FnMut(usize, &str)) {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let own = match scratch.caches.iter().position(|(id, _)| *id == self.id) {
            Some(own) => own,
            None => {
                if scratch.caches.len() >= MOST_LANGUAGES {
                    scratch.caches.remove(0);
                }
                scratch.caches.push((self.id, HashMap::default()));
                scratch.caches.len() - 1
            }
        };
        self.analyse(text, own, &mut scratch, &mut each);
        SCRATCH.set(Some(scratch));
    }

    fn analyse(&self, text: &str, own: usize, scratch: &mut TextScratch, each: &mut impl FnMut(usize, &str)) {
        let TextScratch { caches, normalised, word, joined, starts } = scratch;
        let fates = &mut caches[own].1;
        let (longest, ngrams) = (self.max_token_length, self.ngrams);
        joined.clear();
        starts.clear();
        let mut number = 0;
        let mut take = |written: TokenSource<'_>| {
            let as_written = match written {
                TokenSource::Word(word) => word,
                TokenSource::Run(run) => {
                    number += 1;
                    return for_each_token(run, |token| each(number, token));
                }
            };
            number += 1;
            if as_written.len() > longest && as_written.chars().count() > longest {
                return;
            }
            lower_case_into(as_written, word);
            let Some((token, others)) = self.kept(word, fates) else { return };
            each(number, token);
            others.iter().for_each(|other| each(number, other));
            if ngrams > 1 {
                if !joined.is_empty() {
                    joined.push(' ');
                }
                starts.push(joined.len());
                joined.push_str(token);
                for &start in starts.iter().rev().skip(1).take(ngrams - 1) {
                    each(number, &joined[start..]);
                }
            }
        };
        if self.cjk && !text.is_ascii() {
            for_each_piece(text, self.nfkc, normalised, |piece| {
                for_each_span(piece, |span| match span {
                    Span::Cjk(run) => take(TokenSource::Run(run)),
                    Span::Other(other) => for_each_of_piece(other, &mut |word| take(TokenSource::Word(word))),
                });
            });
        } else {
            for_each_word(text, self.nfkc, normalised, |word| take(TokenSource::Word(word)));
        }
    }

    /// Returns the token of a lower-cased word and the tokens beside it, or `None` for a stop word.
    fn kept<'a>(
        &self,
        word: &'a str,
        fates: &'a mut HashMap<Box<str>, Fate>,
    ) -> Option<(&'a str, &'a [Box<str>])> {
        let folds = self.folding != Folding::Off && !word.is_ascii();
        if self.stop_words.is_empty() && self.stemmer.is_none() && !folds && self.splitter.is_none() {
            return Some((word, &[]));
        }
        if !fates.contains_key(word) {
            if fates.len() >= REMEMBERED {
                fates.clear();
            }
            fates.insert(word.into(), self.fate(word));
        }
        match &fates[word] {
            Fate::Stop => None,
            Fate::Unchanged => Some((word, &[])),
            Fate::Token(token) => Some((token, &[])),
            Fate::Several(tokens) => Some((&tokens[0], &tokens[1..])),
        }
    }

    fn fate(&self, word: &str) -> Fate {
        if self.stop_words.binary_search_by(|stop| stop.as_str().cmp(word)).is_ok() {
            return Fate::Stop;
        }
        let mut tokens = vec![self.token(word)];
        if self.accent_variants && self.folding == Folding::AfterStemming && !word.is_ascii() {
            let mut plain = String::new();
            fold_accents_into(word, &mut plain);
            tokens.push(self.token(&plain));
        }
        if let Some(splitter) = &self.splitter {
            tokens.extend(splitter.split(word).iter().map(|part| self.token(&part.word)));
        }
        let mut different: Vec<Box<str>> = Vec::with_capacity(tokens.len());
        for token in tokens {
            if !different.iter().any(|other| **other == *token) {
                different.push(token.into());
            }
        }
        match &different[..] {
            [only] if **only == *word => Fate::Unchanged,
            [_] => Fate::Token(different.remove(0)),
            _ => Fate::Several(different.into()),
        }
    }

    /// Folds and stems a lower-cased word.
    fn token(&self, word: &str) -> String {
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
        token
    }
}
