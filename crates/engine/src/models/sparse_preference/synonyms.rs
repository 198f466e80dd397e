//! The strongest pairs of words of a sparse preference model, as files that search engines read, and what
//! changed since the last time.
//!
//! Solr and Elasticsearch: one line for each query word, its own forms first, so that it is kept.
//!
//! ```text
//! sneaker,sneakers => sneaker,sneakers,trainers,trainer,shoe,shoes
//! ```
//!
//! The words of the model are as analysed; [`whole_words`](super::whole_words()) replaces them by words as people write
//! them. CSV has a line for each pair, with its weight, and pairs of negative weight, too.

use std::collections::BTreeMap;

use matchrank_core::{Error, Result};
use serde::Serialize;

use super::PreferenceModel;

/// A query word and a document word that go together (or, with a negative weight, against each other).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WordPair {
    /// Word of queries.
    pub query_word: String,
    /// Word of documents.
    pub document_word: String,
    /// W_ij; none in files that have no weights.
    pub weight: Option<f32>,
    /// Forms of the query word as people write it, itself first; none of a word as analysed.
    #[serde(skip)]
    pub query_forms: Vec<String>,
    /// Forms of the document word, itself first; none of a word as analysed.
    #[serde(skip)]
    pub document_forms: Vec<String>,
}

impl WordPair {
    fn new(query_word: String, document_word: String, weight: Option<f32>) -> Self {
        Self { query_word, document_word, weight, query_forms: Vec::new(), document_forms: Vec::new() }
    }
}

fn forms<'a>(word: &'a String, forms: &'a [String]) -> &'a [String] {
    if forms.is_empty() { std::slice::from_ref(word) } else { forms }
}

/// File formats of pairs of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynonymFormat {
    /// `a => a,b,c`, as Solr and Elasticsearch read it.
    Solr,
    /// `query_word,document_word,weight`.
    Csv,
}

/// The pairs of different words with |W_ij| of at least `threshold` that a format has a place for: query words in the
/// order of their text, for each the strongest first, ties by the text.
pub fn word_pairs(model: &PreferenceModel, threshold: f32, format: SynonymFormat) -> Vec<WordPair> {
    let vocabulary = &model.features.words().vocabulary;
    let mut pairs: Vec<WordPair> = Vec::new();
    model.for_each_pair(|i, j, weight| {
        if i != j && weight.abs() >= threshold && (format != SynonymFormat::Solr || weight > 0.0) {
            let (query_word, document_word) = (vocabulary.term(i).to_owned(), vocabulary.term(j).to_owned());
            pairs.push(WordPair::new(query_word, document_word, Some(weight)));
        }
    });
    strongest(pairs, usize::MAX)
}

/// Keeps the `top` strongest pairs of each query word, in the order of [`word_pairs`].
pub fn strongest(mut pairs: Vec<WordPair>, top: usize) -> Vec<WordPair> {
    let strength = |pair: &WordPair| pair.weight.unwrap_or(0.0).abs();
    pairs.sort_by(|a, b| {
        let order = a.query_word.cmp(&b.query_word).then(strength(b).total_cmp(&strength(a)));
        order.then_with(|| a.document_word.cmp(&b.document_word))
    });
    pairs
        .chunk_by(|a, b| a.query_word == b.query_word)
        .flat_map(|pairs| pairs.iter().take(top))
        .cloned()
        .collect()
}

/// Pairs, given in the order of [`word_pairs`], as the text of a file. Solr's has no pairs of negative weight.
pub fn write_pairs(pairs: &[WordPair], format: SynonymFormat) -> String {
    let mut text = String::new();
    match format {
        SynonymFormat::Csv => {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(HEADER).expect("memory does not fail");
            for pair in pairs {
                let weight = pair.weight.map_or(String::new(), |weight| weight.to_string());
                let record = [pair.query_word.as_str(), &pair.document_word, &weight];
                writer.write_record(record).expect("memory does not fail");
            }
            let bytes = writer.into_inner().expect("memory does not fail");
            text.push_str(std::str::from_utf8(&bytes).expect("words are UTF-8"));
        }
        SynonymFormat::Solr => {
            let kept: Vec<&WordPair> = pairs.iter().filter(|pair| !is_negative(pair)).collect();
            for of_word in kept.chunk_by(|a, b| a.query_word == b.query_word) {
                let own = forms(&of_word[0].query_word, &of_word[0].query_forms);
                let mut right: Vec<&String> = own.iter().collect();
                for form in of_word.iter().flat_map(|pair| forms(&pair.document_word, &pair.document_forms)) {
                    if !right.contains(&form) {
                        right.push(form);
                    }
                }
                let join =
                    |words: &[&String]| words.iter().map(|word| escape(word)).collect::<Vec<_>>().join(",");
                text.push_str(&format!("{} => {}\n", join(&right[..own.len()]), join(&right)));
            }
        }
    }
    text
}

const HEADER: [&str; 3] = ["query_word", "document_word", "weight"];

fn is_negative(pair: &WordPair) -> bool {
    pair.weight.is_some_and(|weight| weight < 0.0)
}

/// A backslash before what Solr takes for more than a letter.
fn escape(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len());
    for c in word.chars() {
        if matches!(c, '\\' | ',' | '=' | '>' | '#') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Reads what [`write_pairs`] wrote, of either format, which the first line tells.
pub fn read_pairs(name: &str, text: &str) -> Result<Vec<WordPair>> {
    if text.lines().next().is_some_and(|line| line.trim_end() == HEADER.join(",")) {
        return read_csv(name, text);
    }
    let mut pairs = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = || {
            let message = "`word => word,other` is expected, or the header query_word,document_word,weight";
            Error::parse(name, number, message)
        };
        // Within words `=` and `>` have a backslash.
        let (word, others) = line.split_once(" => ").ok_or_else(wrong)?;
        let own: Vec<String> = split_all(word).into_iter().map(unescape).collect();
        for document_word in split_all(others).into_iter().map(unescape).filter(|word| !own.contains(word)) {
            pairs.push(WordPair::new(own[0].clone(), document_word, None));
        }
    }
    Ok(pairs)
}

fn read_csv(name: &str, text: &str) -> Result<Vec<WordPair>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut pairs = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| {
            Error::parse(name, e.position().map_or(0, csv::Position::line), format!("is not valid CSV ({e})"))
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let weight: f32 =
            record[2].parse().ok().filter(|weight: &f32| weight.is_finite()).ok_or_else(|| {
                Error::parse(name, line, format!("the weight is {:?}; a number is expected", &record[2]))
            })?;
        pairs.push(WordPair::new(record[0].to_owned(), record[1].to_owned(), Some(weight)));
    }
    Ok(pairs)
}

/// Parts between commas that no backslash precedes.
fn split_all(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if c == ',' && !escaped {
            parts.push(&text[start..at]);
            start = at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut chars = word.trim().chars();
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

/// A pair that came, went, or changed its weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairChange {
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// Word of queries.
    pub query_word: String,
    /// Word of documents.
    pub document_word: String,
    /// Its weight before, where it is known.
    pub before: Option<f32>,
    /// Its weight now.
    pub now: Option<f32>,
}

/// Changes from one export to another, in word order. Weights are compared where both have
/// them; without weights, as in files for Solr, pairs of negative weight do not count as present.
pub fn changes(before: &[WordPair], now: &[WordPair]) -> Vec<PairChange> {
    let weightless = before.iter().chain(now).any(|pair| pair.weight.is_none());
    // A file for Solr has all forms of a word, each by itself.
    let as_read =
        |pairs: &[WordPair]| read_pairs("", &write_pairs(pairs, SynonymFormat::Solr)).unwrap_or_default();
    let listed = (weightless && now.iter().any(|pair| !pair.document_forms.is_empty())).then(|| as_read(now));
    let now = listed.as_deref().unwrap_or(now);
    let map = |pairs: &[WordPair]| -> BTreeMap<(String, String), Option<f32>> {
        let counted = pairs.iter().filter(|pair| !(weightless && is_negative(pair)));
        counted.map(|pair| ((pair.query_word.clone(), pair.document_word.clone()), pair.weight)).collect()
    };
    let (before, now) = (map(before), map(now));
    let mut all: Vec<&(String, String)> = before.keys().chain(now.keys()).collect();
    all.sort();
    all.dedup();
    let change = |key: &(String, String)| {
        let (old, new) = (before.get(key), now.get(key));
        let change = match (old, new) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(Some(old)), Some(Some(new))) if old != new => "changed",
            _ => return None,
        };
        let (query_word, document_word) = key.clone();
        let (before, now) = (old.copied().flatten(), new.copied().flatten());
        Some(PairChange { change, query_word, document_word, before, now })
    };
    all.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(query_word: &str, document_word: &str, weight: f32) -> WordPair {
        WordPair::new(query_word.into(), document_word.into(), Some(weight))
    }

    #[test]
    fn files_are_what_search_engines_read() {
        let pairs = [pair("a,b", "c=>d", 0.5), pair("shoe", "sneaker", 0.25), pair("shoe", "hat", -0.125)];
        assert_eq!(
            write_pairs(&pairs, SynonymFormat::Solr),
            "a\\,b => a\\,b,c\\=\\>d\nshoe => shoe,sneaker\n"
        );
        let csv = write_pairs(&pairs, SynonymFormat::Csv);
        assert_eq!(
            csv,
            "query_word,document_word,weight\n\"a,b\",c=>d,0.5\nshoe,sneaker,0.25\nshoe,hat,-0.125\n"
        );
        let error = read_pairs("old.txt", "a => a,b\nc d\n").unwrap_err().to_string();
        assert!(error.starts_with("old.txt:2: `word => word,other` is expected"), "{error}");
        let error = read_pairs("old.csv", "query_word,document_word,weight\na,b,NaN\n").unwrap_err();
        assert!(error.to_string().starts_with("old.csv:2: the weight is \"NaN\""), "{error}");
        assert!(read_pairs("old.csv", "query_word,document_word,weight\na,b\n").is_err());
    }

    #[test]
    fn forms_are_written_and_compared() {
        let with_forms = |query: &[&str], document: &[&str]| WordPair {
            query_forms: query.iter().map(|s| (*s).into()).collect(),
            document_forms: document.iter().map(|s| (*s).into()).collect(),
            ..pair(query[0], document[0], 0.5)
        };
        let pairs = [
            with_forms(&["sneakers", "sneaker"], &["trainer", "trainers"]),
            with_forms(&["sneakers", "sneaker"], &["shoe", "sneaker"]),
        ];
        let solr = write_pairs(&pairs, SynonymFormat::Solr);
        assert_eq!(solr, "sneakers,sneaker => sneakers,sneaker,trainer,trainers,shoe\n");
        let before = read_pairs("s", &solr).unwrap();
        assert_eq!(
            before.iter().map(|p| p.document_word.as_str()).collect::<Vec<_>>(),
            ["trainer", "trainers", "shoe"]
        );
        assert_eq!(changes(&before, &pairs), []);
        assert_eq!(changes(&before, &pairs[..1]).len(), 1);
        assert!(write_pairs(&pairs, SynonymFormat::Csv).contains("sneakers,trainer,0.5\n"));
    }

    #[test]
    fn changes_are_added_removed_and_changed() {
        let before = [pair("a", "b", 0.5), pair("a", "c", 0.5), pair("x", "y", -1.0)];
        let now = [pair("a", "b", 0.25), pair("a", "d", 1.0), pair("x", "y", -1.0)];
        let found: Vec<_> = changes(&before, &now)
            .into_iter()
            .map(|c| (c.change, c.document_word, c.before, c.now))
            .collect();
        assert_eq!(
            found,
            [
                ("changed", "b".into(), Some(0.5), Some(0.25)),
                ("removed", "c".into(), Some(0.5), None),
                ("added", "d".into(), None, Some(1.0)),
            ]
        );
        let weightless = read_pairs("s", &write_pairs(&before, SynonymFormat::Solr)).unwrap();
        assert_eq!(changes(&weightless, &before), []);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(words in prop::collection::btree_set("[a-z,=>#\\\\\"']{1,6}", 2..12)) {
            let words: Vec<String> = words.into_iter().collect();
            let pairs: Vec<WordPair> =
                words.windows(2).map(|two| pair(&two[0], &two[1], two[0].len() as f32 / 8.0)).collect();
            prop_assert_eq!(&read_pairs("x", &write_pairs(&pairs, SynonymFormat::Csv)).unwrap(), &pairs);
            let solr = read_pairs("x", &write_pairs(&pairs, SynonymFormat::Solr)).unwrap();
            let names = |pairs: &[WordPair]| -> Vec<(String, String)> {
                pairs.iter().map(|p| (p.query_word.clone(), p.document_word.clone())).collect()
            };
            prop_assert_eq!(names(&solr), names(&pairs));
        }
    }
}
