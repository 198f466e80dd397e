//! Splits German compounds into the words of the collection: `Winterjacke` is `winter` and `jacke`.
//!
//! A split is a sequence of modifiers and a head. Heads are words of the collection, in any inflection that has the same
//! stem. Modifiers are words of the collection as they are, with a linking element (`s`, `es`, `n`, `en`, `er`, `e`), or
//! without the ending of an infinitive or a final `e` (`laufen`: `Lauf|schuh`, `Schule`: `Schul|tasche`). Among the
//! splits of a word, the one whose parts have the largest geometric mean of document frequencies is chosen (Koehn &
//! Knight 2003), and its parts are split again. Unlike there, a word is split even if it is more frequent than its
//! parts: the compound stays a token besides its parts, so that nothing is lost, while `jacke` should find every
//! `Winterjacke`.
//!
//! The words are learned once, by `ingest`, and stored with the analyser: serving splits as training did.

use foldhash::fast::FixedState;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Vocabulary;

type PartMap<K, V> = std::collections::HashMap<K, V, FixedState>;

/// A part is in at least one of so many documents of the collection.
const DOCUMENTS_PER_PART: u64 = 10_000;
/// Parts that are kept, the most frequent ones.
const MOST_PARTS: usize = 50_000;
/// Letters of the shortest part that is a word of the collection as it is.
const SHORTEST: usize = 3;
/// Letters of the shortest part that is an inflected or shortened word.
const SHORTEST_INFLECTED: usize = 4;
/// Letters of the shortest word that is split.
const SHORTEST_COMPOUND: usize = 7;
/// Letters of the longest word that is split.
const LONGEST_COMPOUND: usize = 64;
/// Letters between a modifier and what follows.
const LINKS: [&str; 6] = ["s", "es", "n", "en", "er", "e"];

/// Words of a collection that compounds are split into, with their document frequencies. Written as one text,
/// `jacke=12 winter=9`, the most frequent first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CompoundParts(String);

impl CompoundParts {
    /// Selects the parts among the words of a collection, which are lower-case and not stemmed, with their document
    /// frequencies: words of letters that are not stop words and not too rare.
    pub fn learn(words: &Vocabulary, stop_words: &[&str]) -> Self {
        let least = words.n_documents().div_ceil(DOCUMENTS_PER_PART).max(1);
        let mut kept: Vec<(&str, u32)> = words
            .iter()
            .filter(|(word, df, _)| {
                u64::from(*df) >= least
                    && word.chars().all(char::is_alphabetic)
                    && word.chars().nth(SHORTEST - 1).is_some()
                    && !stop_words.contains(word)
            })
            .map(|(word, df, _)| (word, df))
            .collect();
        kept.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        kept.truncate(MOST_PARTS);
        let text: Vec<String> = kept.iter().map(|(word, df)| format!("{word}={df}")).collect();
        Self(text.join(" "))
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.0.split_terminator(' ').count()
    }

    /// Returns true if there is no word.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks the text.
    pub(super) fn validate(&self) -> Result<()> {
        self.words().map(|_| ())
    }

    fn words(&self) -> Result<Vec<(&str, u32)>> {
        let wrong = |entry: &str| {
            let expected = "`word=frequency` is expected, each word once";
            Error::Params(format!("parts of compounds: {entry:?} is not valid; {expected}"))
        };
        let mut seen: PartMap<&str, ()> = PartMap::default();
        let parse = |entry: &'_ str| -> Option<u32> {
            entry.split_once('=')?.1.parse().ok().filter(|frequency: &u32| *frequency > 0)
        };
        let mut words = Vec::new();
        for entry in self.0.split_terminator(' ') {
            let frequency = parse(entry).ok_or_else(|| wrong(entry))?;
            let word = entry.split_once('=').map_or("", |(word, _)| word);
            if word.is_empty() || seen.insert(word, ()).is_some() {
                return Err(wrong(entry));
            }
            words.push((word, frequency));
        }
        Ok(words)
    }
}

/// Part of a split word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitPart<'a> {
    /// Letters of the word.
    pub(super) text: &'a str,
    /// Word that they stand for: `sonne` for `sonnen`.
    pub(super) word: String,
}

/// Splits words into [`CompoundParts`].
pub(super) struct Splitter {
    stemmer: Option<frostem::Stemmer>,
    /// Frequencies by word, and by stem.
    words: PartMap<Box<str>, u32>,
    stems: PartMap<Box<str>, u32>,
    /// Word and frequency by the form that it has before another word.
    modifiers: PartMap<Box<str>, (Box<str>, u32)>,
}

impl Splitter {
    pub(super) fn new(parts: &CompoundParts, stemmer: Option<frostem::Stemmer>) -> Result<Self> {
        let mut splitter = Self {
            stemmer,
            words: PartMap::default(),
            stems: PartMap::default(),
            modifiers: PartMap::default(),
        };
        let words = parts.words()?;
        for &(word, frequency) in &words {
            splitter.words.insert(word.into(), frequency);
            let of_stem = splitter.stems.entry(splitter.stem(word).into()).or_default();
            *of_stem = (*of_stem).max(frequency);
            splitter.modifiers.insert(word.into(), (word.into(), frequency));
        }
        // The words are in falling order of frequency, so the most frequent word keeps a form that several have. A form
        // that is a word itself stands for that word.
        for &(word, frequency) in &words {
            let linked = LINKS.iter().map(|link| format!("{word}{link}"));
            let shortened = ["en", "n", "e"].iter().filter_map(|ending| word.strip_suffix(ending));
            for form in linked.chain(shortened.map(str::to_owned)) {
                if form.chars().count() >= SHORTEST_INFLECTED {
                    splitter.modifiers.entry(form.into()).or_insert_with(|| (word.into(), frequency));
                }
            }
        }
        Ok(splitter)
    }

    /// Splits a lower-case word; the texts of the parts, one after the other, are the word. A word that is no compound
    /// has no parts.
    pub(super) fn split<'a>(&self, word: &'a str) -> Vec<SplitPart<'a>> {
        let n_letters = word.chars().count();
        if !(SHORTEST_COMPOUND..=LONGEST_COMPOUND).contains(&n_letters)
            || !word.chars().all(char::is_alphabetic)
        {
            return Vec::new();
        }
        let mut leaves = Vec::new();
        for part in self.best(word) {
            // A part with a linking element is not a word of its own.
            let again = if part.text == part.word { self.split(part.text) } else { Vec::new() };
            if again.is_empty() {
                leaves.push(part);
            } else {
                leaves.extend(again);
            }
        }
        leaves
    }

    /// Finds the split with the largest geometric mean of frequencies, and fewer parts among equals.
    fn best<'a>(&self, word: &'a str) -> Vec<SplitPart<'a>> {
        let cuts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        let n = cuts.len() - 1;
        // best[to][k]: the largest sum of logarithms of k modifiers that end at letter `to`, and the start of the last.
        let most = n / SHORTEST;
        let mut best: Vec<Vec<Option<(f64, usize)>>> = vec![vec![None; most + 1]; n + 1];
        best[0][0] = Some((0.0, 0));
        for to in SHORTEST..n {
            for from in 0..=to - SHORTEST {
                let Some((_, frequency)) = self.modifiers.get(&word[cuts[from]..cuts[to]]) else { continue };
                for k in 0..most {
                    let Some((sum, _)) = best[from][k] else { continue };
                    let sum = sum + f64::from(*frequency).ln();
                    if best[to][k + 1].is_none_or(|(other, _)| sum > other) {
                        best[to][k + 1] = Some((sum, from));
                    }
                }
            }
        }
        let mut chosen: Option<(f64, usize, usize)> = None;
        for from in SHORTEST..=n - SHORTEST {
            let Some(frequency) = self.head(&word[cuts[from]..]) else { continue };
            for (k, modifiers) in best[from].iter().enumerate().skip(1) {
                let Some((sum, _)) = modifiers else { continue };
                let mean = (sum + f64::from(frequency).ln()) / (k + 1) as f64;
                if chosen.is_none_or(|(other, _, parts)| mean > other || (mean == other && k < parts)) {
                    chosen = Some((mean, from, k));
                }
            }
        }
        let Some((_, head, n_modifiers)) = chosen else { return Vec::new() };
        let mut parts = vec![SplitPart { text: &word[cuts[head]..], word: word[cuts[head]..].to_owned() }];
        let (mut to, mut k) = (head, n_modifiers);
        while let Some((_, from)) = best[to][k].filter(|_| k > 0) {
            let text = &word[cuts[from]..cuts[to]];
            let base = &self.modifiers[text].0;
            parts.push(SplitPart { text, word: base.to_string() });
            (to, k) = (from, k - 1);
        }
        parts.reverse();
        parts
    }

    /// Returns the frequency of a head: a word of the collection, or an inflection of one.
    fn head(&self, text: &str) -> Option<u32> {
        if let Some(frequency) = self.words.get(text) {
            return Some(*frequency);
        }
        let inflected = text.chars().nth(SHORTEST_INFLECTED - 1).is_some();
        self.stems.get(self.stem(text).as_str()).copied().filter(|_| inflected && self.stemmer.is_some())
    }

    fn stem(&self, word: &str) -> String {
        self.stemmer.map_or_else(|| word.to_owned(), |stemmer| stemmer.stem(word).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn splitter(words: &[(&str, u32)]) -> Splitter {
        let vocabulary = words.iter().map(|(word, df)| (*word, *df, u64::from(*df)));
        let vocabulary = Vocabulary::from_terms(100, vocabulary).unwrap();
        let parts = CompoundParts::learn(&vocabulary, &["der", "aus"]);
        Splitter::new(&parts, Some(frostem::Stemmer::try_from_name("german").unwrap())).unwrap()
    }

    fn shop() -> Splitter {
        splitter(&[
            ("jacke", 30),
            ("winter", 20),
            ("sonne", 4),
            ("brille", 9),
            ("laufen", 3),
            ("wandern", 2),
            ("schuhe", 12),
            ("damen", 40),
            ("winterjacke", 50),
            ("schule", 5),
            ("tasche", 8),
            ("uhr", 6),
            ("armband", 3),
            ("arm", 2),
            ("band", 2),
            ("tee", 9),
            ("kanne", 3),
            ("liebe", 1),
            ("brief", 2),
            ("ecke", 3),
            ("beste", 9),
            ("kind", 7),
            ("wagen", 4),
            ("der", 90),
            ("aus", 80),
            ("gang", 5),
            ("4k", 9),
        ])
    }

    fn parts(word: &str) -> Vec<String> {
        shop().split(word).iter().map(|part| part.word.clone()).collect()
    }

    #[test]
    fn compounds_become_words_of_the_collection() {
        for (word, expected) in [
            ("winterjacke", &["winter", "jacke"][..]),
            ("winterjacken", &["winter", "jacken"]),
            ("sonnenbrille", &["sonne", "brille"]),
            ("laufschuhe", &["laufen", "schuhe"]),
            ("wanderschuh", &["wandern", "schuh"]),
            ("damenwinterjacke", &["damen", "winter", "jacke"]),
            ("schultasche", &["schule", "tasche"]),
            ("armbanduhr", &["arm", "band", "uhr"]),
            ("teekanne", &["tee", "kanne"]),
            ("liebesbrief", &["liebe", "brief"]),
            ("kinderwagen", &["kind", "wagen"]),
        ] {
            assert_eq!(parts(word), expected, "{word}");
        }
    }

    #[test]
    fn other_words_stay_whole() {
        for word in [
            "jacke",
            "winter",
            "besteck",
            "ausgang",
            "dergang",
            "kühlschrank",
            "",
            "4kwinterjacke",
            "schuhschrank",
        ] {
            assert!(parts(word).is_empty(), "{word}: {:?}", parts(word));
        }
    }

    #[test]
    fn frequent_parts_win() {
        // Koehn and Knight's example: not `Akt|ion|plan`, nor `Akt|ion|s|plan`.
        let words = splitter(&[("aktion", 80), ("akt", 9), ("ion", 2), ("plan", 70), ("ionsplan", 1)]);
        let parts: Vec<_> = words.split("aktionsplan").iter().map(|part| part.word.clone()).collect();
        assert_eq!(parts, ["aktion", "plan"]);
    }

    #[test]
    fn the_text_is_checked_and_keeps_its_order() {
        let parse = |text: &str| serde_json::from_str::<CompoundParts>(&format!("{text:?}")).unwrap();
        let parts = parse("jacke=12 winter=9");
        assert_eq!((parts.len(), parts.is_empty()), (2, false));
        assert_eq!(serde_json::to_string(&parts).unwrap(), "\"jacke=12 winter=9\"");
        assert!(parse("").validate().is_ok() && parse("").is_empty());
        for wrong in ["jacke", "jacke=", "jacke=0", "=3", "jacke=1 jacke=2", "jacke=1  x=2", "jacke=-1"] {
            let message = parse(wrong).validate().unwrap_err().to_string();
            assert!(message.contains("word=frequency"), "{message}");
        }
        let vocabulary =
            Vocabulary::from_terms(30_000, [("oft", 3, 3), ("selten", 2, 2), ("x", 9, 9)]).unwrap();
        assert_eq!(CompoundParts::learn(&vocabulary, &[]), parse("oft=3"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Parts are whole slices of the word, in order, and the same every time.
        #[test]
        fn parts_are_the_word(word in prop_oneof![
            any::<String>(),
            "(winter|jacken?|sonnen|damen|lauf|schuhe?|uhr|s|e|n|tee|ß|ä){0,6}",
        ]) {
            let shop = shop();
            let parts = shop.split(&word);
            prop_assert_eq!(&parts, &shop.split(&word));
            prop_assert!(parts.len() != 1);
            if !parts.is_empty() {
                prop_assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), word.as_str());
                prop_assert!(parts.iter().all(|part| part.text.chars().count() >= SHORTEST));
            }
        }
    }
}
