//! Converts documents of a folder or a tar file to tf-idf vectors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use matchrank_core::Result;
use serde::Serialize;

use super::{LabelledSplit, check, labelled, names};
use crate::{files, text};

/// Features of texts. The paper says "the normalized tf-idf of the 10,000 most frequent words" and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TextParams {
    /// Number of words to keep: the most frequent ones of training. Default: 10,000.
    pub n_words: usize,
    /// True if tf is 1 + ln(count) instead of the count. Default: false.
    pub log_counts: bool,
    /// True if English stop words are dropped before the most frequent words are chosen. Default: false.
    pub drop_stop_words: bool,
}

impl Default for TextParams {
    fn default() -> Self {
        Self { n_words: 10_000, log_counts: false, drop_stop_words: false }
    }
}

/// Reads all files below a folder, with their paths within it.
pub(super) fn folder(root: &Path) -> Result<Vec<(String, String)>> {
    let mut documents = Vec::new();
    let mut open: Vec<(PathBuf, String)> = vec![(root.to_owned(), String::new())];
    while let Some((path, name)) = open.pop() {
        if path.is_dir() {
            for child in names(&path)?.into_iter().rev() {
                let within = if name.is_empty() { child.clone() } else { format!("{name}/{child}") };
                open.push((path.join(child), within));
            }
        } else {
            documents.push((name, decode(&files::read_all(&path)?)));
        }
    }
    Ok(documents)
}

/// Decodes UTF-8, or else Latin-1.
pub(super) fn decode(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes)
        .map_or_else(|_| bytes.iter().map(|&byte| char::from(byte)).collect(), ToOwned::to_owned)
}

/// Converts documents, given by path and text, to tf-idf vectors.
pub(super) fn texts(
    name: &str,
    mut documents: Vec<(String, String)>,
    params: &TextParams,
) -> Result<LabelledSplit> {
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    let part = |path: &str| {
        let mut folders = path.split('/').rev().skip(1);
        let class = folders.next().unwrap_or_default().to_owned();
        let role = folders.find_map(|folder| {
            let folder = folder.to_lowercase();
            if folder.ends_with("test") { Some(true) } else { folder.ends_with("train").then_some(false) }
        });
        (class, role)
    };
    let has_roles = documents.iter().any(|(path, _)| part(path).1.is_some());
    let mut classes: BTreeMap<String, u32> = BTreeMap::new();
    for (path, _) in &documents {
        let n = classes.len() as u32;
        classes.entry(part(path).0).or_insert(n);
    }
    let is_test = |at: usize, path: &str| if has_roles { part(path).1 == Some(true) } else { at % 3 == 2 };
    let counted: Vec<(HashMap<String, u32>, u32, bool)> = documents
        .iter()
        .enumerate()
        .map(|(at, (path, text))| (count(text), classes[&part(path).0], is_test(at, path)))
        .collect();

    // Frequencies of the training words: (occurrences, documents).
    let mut frequencies: HashMap<&str, (u64, u64)> = HashMap::default();
    let training = counted.iter().filter(|(.., is_test)| !is_test);
    for (words, ..) in training.clone() {
        for (word, &n) in words {
            let frequency = frequencies.entry(word).or_default();
            *frequency = (frequency.0 + u64::from(n), frequency.1 + 1);
        }
    }
    let stop_words: Vec<&str> = if params.drop_stop_words { stop_words() } else { Vec::new() };
    let mut words: Vec<&str> =
        frequencies.keys().copied().filter(|word| stop_words.binary_search(word).is_err()).collect();
    words.sort_unstable_by_key(|&word| (std::cmp::Reverse(frequencies[word].0), word));
    words.truncate(params.n_words);
    let n_documents = training.count() as f64;
    let weight = |word: &str| (n_documents / frequencies[word].1 as f64).ln();
    let columns: HashMap<&str, (u32, f64)> =
        (0..).zip(&words).map(|(column, &word)| (word, (column, weight(word)))).collect();

    let tf = |n: u32| if params.log_counts { 1.0 + f64::from(n).ln() } else { f64::from(n) };
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (counts, class, is_test) in &counted {
        let known = counts.iter().filter_map(|(word, &n)| columns.get(word.as_str()).map(|at| (at, n)));
        let mut entries: Vec<(u32, f32)> =
            known.map(|(&(column, weight), n)| (column, (tf(n) * weight) as f32)).collect();
        entries.sort_unstable_by_key(|&(column, _)| column);
        if *is_test { test.push((entries, *class)) } else { train.push((entries, *class)) }
    }
    let split = LabelledSplit {
        train: labelled(train, words.len())?,
        test: labelled(test, words.len())?,
        words: words.into_iter().map(ToOwned::to_owned).collect(),
    };
    check(split, name)
}

/// Returns the English stop words as [`count`] splits them, sorted.
fn stop_words() -> Vec<&'static str> {
    let list = text::stop_words("english").unwrap_or_default();
    let mut words: Vec<&str> = list.iter().flat_map(|word| word.split('\'')).collect();
    words.sort_unstable();
    words
}

fn count(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::default();
    let text = text.to_lowercase();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if word.chars().nth(1).is_some() {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}
