//! Recognises the languages of texts by their function words and letters.
//!
//! Every function word (the stop words of the lists that `stop_words` has) votes for the languages that have it, with one
//! vote divided among them, and so does a word with a letter that few languages use, such as `ñ` or `ß`. Words that are
//! function words in one language and common nouns in another, such as `hat` and `man`, do not vote.
//!
//! Short texts often have no such word; then nobody knows their language, and they do not count. A collection is judged
//! by a sample of its documents. The language with the most votes explains the documents in which most words vote for
//! it; the other documents may be in another language, and so on. So Spanish documents are not taken for Catalan ones,
//! which share many words: only the languages that are found in this way share the documents.

use std::sync::OnceLock;

use foldhash::fast::FixedState;
use unicode_segmentation::UnicodeSegmentation;

use super::cjk::is_cjk;
use super::stop_words;

/// A set of languages: bit i is language i of the table of stop words.
type Mask = u32;

/// Votes of a word for one language.
const VOTES: u64 = 60;
/// Documents of a sample at most; between half of them and all are kept in a large collection.
const SAMPLE: usize = 4096;
/// Letters of a document that are read.
const READ: usize = 4000;
/// Different function words that a language needs in a sample.
const DIFFERENT: usize = 5;
/// Largest share of the documents of a language whose only evidence is the same word: `num`, a Portuguese word, stands for
/// every number in texts without function words.
const ONE_WORD: f64 = 0.6;
/// Documents that a language needs in a sample.
const DOCUMENTS: usize = 3;
/// Smallest share of the documents of known language, and of documents with Chinese, Japanese or Korean characters.
const SHARE: f64 = 0.1;
const CJK_SHARE: f64 = 0.05;
/// Smallest share of the documents of a sample whose language must be known.
const KNOWN: f64 = 0.05;

/// Function words of one language that are common words of products, titles or texts in another one. A catalogue of
/// several languages keeps them.
pub(super) const HOMOGRAPHS: [&str; 19] = [
    "ante", "aura", "ben", "bin", "col", "come", "door", "dove", "era", "hat", "hay", "man", "men", "sea",
    "son", "ton", "uno", "van", "war",
];

/// Letters that few languages use, and the languages that do.
const LETTERS: [(&str, &[&str]); 11] = [
    ("ß", &["german"]),
    ("äü", &["german", "finnish", "swedish", "turkish"]),
    ("ñ", &["spanish"]),
    ("ãõ", &["portuguese"]),
    ("œêû", &["french"]),
    ("å", &["danish", "norwegian", "swedish"]),
    ("øæ", &["danish", "norwegian"]),
    ("őű", &["hungarian"]),
    ("șță", &["romanian"]),
    ("ığş", &["turkish", "azerbaijani"]),
    ("ë", &["albanian"]),
];

struct Evidence {
    words: std::collections::HashMap<&'static str, Mask, FixedState>,
    letters: Vec<(char, Mask)>,
}

fn evidence() -> &'static Evidence {
    static EVIDENCE: OnceLock<Evidence> = OnceLock::new();
    EVIDENCE.get_or_init(|| {
        let mut words = std::collections::HashMap::with_hasher(FixedState::default());
        for (index, language) in stop_words::languages().into_iter().enumerate() {
            // The list of Chinese has content words, and its script says more.
            let list = stop_words::of(language).filter(|_| language != "chinese").unwrap_or_default();
            for word in list.iter().filter(|word| word.chars().nth(1).is_some() && !HOMOGRAPHS.contains(word))
            {
                *words.entry(*word).or_insert(0) |= 1 << index;
            }
        }
        let mask =
            |languages: &[&str]| languages.iter().filter_map(|name| bit(name)).fold(0, |all, bit| all | bit);
        let letters = LETTERS
            .iter()
            .flat_map(|(letters, languages)| letters.chars().map(move |letter| (letter, mask(languages))))
            .collect();
        Evidence { words, letters }
    })
}

fn bit(language: &str) -> Option<Mask> {
    stop_words::languages().iter().position(|name| *name == language).map(|index| 1 << index)
}

/// Calls `each` with the languages of every word of a text that votes, and with the word.
fn for_each_vote(text: &str, buffer: &mut String, mut each: impl FnMut(Mask, &str)) {
    let evidence = evidence();
    for word in text.unicode_words() {
        super::words::lower_case_into(word, buffer);
        if let Some(mask) = evidence.words.get(buffer.as_str()) {
            each(*mask, buffer);
        } else if !buffer.is_ascii() {
            for (letter, mask) in &evidence.letters {
                if buffer.contains(*letter) {
                    each(*mask, buffer);
                }
            }
        }
    }
}

/// Returns the start of a text, at most [`READ`] bytes.
fn start_of(text: &str) -> &str {
    let mut end = text.len().min(READ);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Adds up the votes of words for the languages `among`.
fn votes(masks: impl Iterator<Item = Mask>, among: Mask) -> [u64; 32] {
    let mut votes = [0u64; 32];
    for mask in masks.map(|mask| mask & among).filter(|mask| *mask != 0) {
        let share = VOTES / u64::from(mask.count_ones());
        let mut rest = mask;
        while rest != 0 {
            votes[rest.trailing_zeros() as usize] += share;
            rest &= rest - 1;
        }
    }
    votes
}

/// Returns the language among `among` with the most votes, or `None` for too few votes and for a draw.
fn winner(masks: impl Iterator<Item = Mask>, among: Mask) -> Option<usize> {
    let votes = votes(masks, among);
    let most = *votes.iter().max().expect("32 languages");
    let mut winners = votes.iter().enumerate().filter(|(_, n)| **n == most);
    let first = winners.next().map(|(language, _)| language);
    first.filter(|_| most >= VOTES && winners.next().is_none())
}

/// Tells the texts of given languages apart.
#[derive(Debug, Clone)]
pub(super) struct Detector {
    /// Bit of each language, or 0 for one without a list.
    bits: Vec<Mask>,
}

impl Detector {
    pub(super) fn new<'a>(languages: impl Iterator<Item = &'a str>) -> Self {
        Self { bits: languages.map(|name| bit(name).unwrap_or(0)).collect() }
    }

    /// Returns the place of the language of some texts among the given ones.
    pub(super) fn detect<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Option<usize> {
        let among = self.bits.iter().fold(0, |all, bit| all | bit);
        let (mut masks, mut buffer) = (Vec::new(), String::new());
        for text in texts {
            for_each_vote(start_of(text), &mut buffer, |mask, _| masks.push(mask));
        }
        let language = winner(masks.into_iter(), among)?;
        self.bits.iter().position(|bit| *bit == 1 << language)
    }
}

/// Languages of a collection, by a sample of its documents.
#[derive(Debug, Clone, Default)]
pub struct LanguageSample {
    /// Documents seen so far.
    n_seen: u64,
    /// Every so many documents one is in the sample.
    stride: u64,
    documents: Vec<SampledDocument>,
    buffer: String,
}

#[derive(Debug, Clone, Default)]
struct SampledDocument {
    has_cjk: bool,
    /// Languages of every word that votes, and a hash of the word.
    votes: Vec<(Mask, u64)>,
}

/// Languages of a sample, the most frequent first.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LanguageShares {
    /// Number of documents in the sample.
    pub n_documents: usize,
    /// Documents whose language is known.
    pub n_known: usize,
    /// Languages, each with its share of the documents of known language.
    pub languages: Vec<(&'static str, f64)>,
    /// Share of all documents that have Chinese, Japanese or Korean characters.
    pub cjk: f64,
}

impl LanguageSample {
    /// Shows the texts of the next document; whether the sample takes it depends on its number only.
    pub fn see<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        let stride = self.stride.max(1);
        let number = self.n_seen;
        self.n_seen += 1;
        if !number.is_multiple_of(stride) {
            return;
        }
        let mut document = SampledDocument::default();
        for text in texts.map(start_of) {
            document.has_cjk |= !text.is_ascii() && text.chars().any(is_cjk);
            for_each_vote(text, &mut self.buffer, |mask, word| {
                let hash = std::hash::BuildHasher::hash_one(&FixedState::default(), word);
                document.votes.push((mask, hash));
            });
        }
        self.documents.push(document);
        if self.documents.len() > SAMPLE {
            // Every other one stays, and from now on every other one is taken.
            let mut number = 0u64;
            self.documents.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride = stride * 2;
        }
    }

    /// Judges the sample.
    pub fn shares(&self) -> LanguageShares {
        let n = self.documents.len();
        let n_cjk = self.documents.iter().filter(|document| document.has_cjk).count();
        let cjk = if n == 0 { 0.0 } else { n_cjk as f64 / n as f64 };
        let wins = self.wins(self.candidates());
        let n_known: usize = wins.iter().map(|win| win.documents).sum();
        let is_present = |win: &LanguageWins| {
            win.documents >= DOCUMENTS
                && win.words >= DIFFERENT
                && win.documents as f64 >= SHARE * n_known as f64
                && n_known as f64 >= KNOWN * self.documents.len() as f64
        };
        let names = stop_words::languages();
        let mut languages: Vec<(&'static str, f64)> = wins
            .iter()
            .enumerate()
            .filter(|(_, win)| is_present(win))
            .map(|(language, win)| (names[language], win.documents as f64 / n_known as f64))
            .collect();
        languages.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        LanguageShares { n_documents: n, n_known, languages, cjk }
    }

    /// Returns the languages that the documents are in: the one with the most votes, then the one with the most votes
    /// of the documents that the first does not explain, and so on.
    fn candidates(&self) -> Mask {
        let mut rest: Vec<&SampledDocument> = self.documents.iter().filter(|d| !d.votes.is_empty()).collect();
        let mut found: Mask = 0;
        while rest.len() >= DOCUMENTS {
            let votes =
                votes(rest.iter().flat_map(|document| document.votes.iter().map(|(mask, _)| *mask)), !found);
            let (language, most) = votes
                .iter()
                .enumerate()
                .max_by_key(|(language, n)| (**n, 31 - language))
                .expect("32 languages");
            if *most == 0 {
                break;
            }
            found |= 1 << language;
            rest.retain(|document| {
                let own = document.votes.iter().filter(|(mask, _)| mask & (1 << language) != 0).count();
                5 * own < 3 * document.votes.len()
            });
        }
        found
    }

    /// Returns what each language wins. A language that hardly has evidence but one word wins nothing.
    fn wins(&self, among: Mask) -> Vec<LanguageWins> {
        let mut wins = vec![LanguageWins::default(); 32];
        let mut words = vec![std::collections::HashMap::<u64, usize, FixedState>::default(); 32];
        for document in &self.documents {
            if let Some(language) = winner(document.votes.iter().map(|(mask, _)| *mask), among) {
                wins[language].documents += 1;
                let mut own = document.votes.iter().filter(|(mask, _)| mask & (1 << language) != 0);
                let first = own.next().map_or(0, |(_, hash)| *hash);
                let is_alone = own.clone().all(|(_, hash)| *hash == first);
                *words[language].entry(first).or_insert(0) += usize::from(is_alone);
                for (_, hash) in own {
                    words[language].entry(*hash).or_insert(0);
                }
            }
        }
        for (win, words) in wins.iter_mut().zip(&words) {
            let of_one_word = words.values().copied().max().unwrap_or(0);
            if of_one_word as f64 > ONE_WORD * win.documents as f64 {
                *win = LanguageWins::default();
            }
            win.words = words.len();
        }
        wins
    }
}

/// What a language wins in a sample.
#[derive(Debug, Clone, Default)]
struct LanguageWins {
    /// Documents with more votes for it than for any other.
    documents: usize,
    /// Different words that voted for it in them.
    words: usize,
}

impl LanguageShares {
    /// Returns true if enough documents have Chinese, Japanese or Korean characters to cut them into pairs.
    pub fn needs_cjk(&self) -> bool {
        self.cjk >= CJK_SHARE
    }

    /// Returns the languages to analyse the collection with, by name: English if none is known, and `cjk` beside the
    /// others for Chinese, Japanese and Korean characters.
    pub fn choice(&self) -> Vec<String> {
        let mut chosen: Vec<String> = self.languages.iter().map(|(name, _)| (*name).to_owned()).collect();
        if chosen.is_empty() {
            chosen.push("english".into());
        }
        if self.needs_cjk() {
            chosen.push("cjk".into());
        }
        chosen
    }

    /// Describes the languages for people: `german 92 %, english 8 % of 1,204 documents`.
    pub fn sentence(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let mut parts: Vec<String> =
            self.languages.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        if !parts.is_empty() {
            parts =
                vec![format!("{} of {} sampled documents of known language", parts.join(", "), self.n_known)];
        }
        if self.cjk > 0.0 {
            let sampled = self.n_documents;
            parts.push(format!(
                "Chinese, Japanese or Korean characters in {} of {sampled} sampled documents",
                percent(self.cjk)
            ));
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample<'a>(texts: impl IntoIterator<Item = &'a str>) -> LanguageSample {
        let mut sample = LanguageSample::default();
        texts.into_iter().for_each(|text| sample.see(std::iter::once(text)));
        sample
    }

    const GERMAN: [&str; 4] = [
        "Warme Jacke für den Winter mit Kapuze",
        "Die Tasche ist aus Leder und hat viele Fächer",
        "Ein Messer, das nicht rostet",
        "Schuhe zum Laufen auf der Straße",
    ];
    const SPANISH: [&str; 4] = [
        "Chaqueta de invierno con capucha para mujer",
        "El bolso es de piel y tiene muchos bolsillos",
        "Un cuchillo que no se oxida",
        "Zapatillas para correr por la montaña",
    ];
    const ENGLISH: [&str; 4] = [
        "A warm jacket for the winter with a hood",
        "The bag is made of leather and has many pockets",
        "This knife does not rust",
        "Shoes that you can run in on the road",
    ];

    #[test]
    fn languages_of_collections() {
        for (texts, expected) in [(GERMAN, "german"), (SPANISH, "spanish"), (ENGLISH, "english")] {
            let shares = sample(texts).shares();
            assert_eq!(shares.languages.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [expected]);
            assert_eq!(shares.choice(), [expected]);
        }
        let mixed = sample(GERMAN.into_iter().chain(SPANISH).chain(ENGLISH).chain(["红色雨伞"])).shares();
        assert_eq!(mixed.choice(), ["english", "german", "spanish", "cjk"]);
        assert_eq!((mixed.n_documents, mixed.n_known), (13, 12));
        assert!(
            mixed.sentence().starts_with("english 33 %, german 33 %, spanish 33 % of 12"),
            "{}",
            mixed.sentence()
        );
    }

    /// Without enough evidence, nothing is claimed.
    #[test]
    fn chance_hits_do_not_count() {
        for texts in
            [vec![], vec!["red hat", "green hat", "man hat", "war die"], vec!["der die das und mit"; 2]]
        {
            let shares = sample(texts).shares();
            assert!(shares.languages.is_empty(), "{shares:?}");
            assert_eq!(shares.choice(), ["english"]);
        }
        // Two German titles among a hundred English ones.
        let many = ENGLISH.iter().cycle().take(100).chain(&GERMAN[..2]).copied();
        assert_eq!(sample(many).shares().choice(), ["english"]);
    }

    /// Texts without function words, in which a word of another language stands for every number.
    #[test]
    fn one_word_is_no_language() {
        let mut texts: Vec<String> = (0..200)
            .map(|i| format!("breast cancer risk num num women diet{i} serum concentration num patients"))
            .collect();
        texts.extend(["com meu", "seus foram", "essa dele", "pelo nosso", "tua quando"].map(String::from));
        let shares = sample(texts.iter().map(String::as_str)).shares();
        assert!(shares.languages.is_empty(), "{shares:?}");
        assert_eq!(shares.choice(), ["english"]);
    }

    #[test]
    fn documents_are_told_apart_by_their_words() {
        let detector = Detector::new(["english", "german", "spanish"].into_iter());
        let detect = |text: &str| detector.detect(std::iter::once(text));
        assert_eq!(detect("Jacke mit Kapuze"), Some(1));
        assert_eq!(detect("chaqueta con capucha"), Some(2));
        assert_eq!(detect("jacket with hood"), Some(0));
        assert_eq!(detect("Montaña"), Some(2));
        assert_eq!(detect("Nike Air Max"), None);
        assert_eq!(detect("man hat"), None);
        assert_eq!(detector.detect(["Nike Air Max", "für Herren"].into_iter()), Some(1));
    }

    /// The sample of a large collection covers all of it.
    #[test]
    fn large_collections_are_sampled_evenly() {
        let n = 5 * SAMPLE;
        let texts = (0..n).map(|i| if i < n / 2 { GERMAN[i / 64 % 4] } else { SPANISH[i / 64 % 4] });
        let sample = sample(texts);
        assert!((SAMPLE / 2..=SAMPLE).contains(&sample.documents.len()), "{}", sample.documents.len());
        let shares = sample.shares();
        assert_eq!(shares.languages.len(), 2);
        assert!(shares.languages.iter().all(|(_, share)| (share - 0.5).abs() < 0.1), "{shares:?}");
    }

    proptest! {
        #[test]
        fn any_text_can_be_judged(texts in prop::collection::vec(any::<String>(), 0..8)) {
            let judged = sample(texts.iter().map(String::as_str)).shares();
            prop_assert_eq!(&judged, &sample(texts.iter().map(String::as_str)).shares());
            prop_assert_eq!(judged.n_documents, texts.len());
        }
    }
}
