//! Pairs of words as people write them, in place of the stems that the model has, and only those that enough clicks
//! support.
//!
//! A stem is replaced by the words of the dataset whose analysis gives it: the most frequent one, and others that are at
//! least a tenth of all, four at most. A search engine that stems reduces all of them to the same term, and one that does
//! not has a rule for each. A stem that no word of the dataset gives, such as a pair of characters within a Chinese
//! word, has no place in a file for other programs, and so have numbers and single letters.

use foldhash::{HashMap, HashSet};
use matchrank_core::message::thousands;
use matchrank_core::{Error, Result};

use super::{PreferenceModel, WordPair};
use crate::dataset::{Clicks, Dataset};
use crate::text::{Analyser, for_each_written};

/// Written forms of a word at most.
const MOST_FORMS: usize = 4;
/// A form has at least one in so many of the occurrences of all forms.
const SHARE: u64 = 10;

/// Pairs of whole words, and the pairs that were left out.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WholeWords {
    /// Pairs of whole words, with their forms.
    pub pairs: Vec<WordPair>,
    /// Pairs with too few clicks.
    pub n_unsupported: usize,
    /// Pairs of terms that are no words, of numbers, and of single letters.
    pub n_no_words: usize,
}

impl WholeWords {
    /// Returns what was left out, for people: `12 pairs in fewer than 3 clicked pairs of query and document, ...`.
    pub fn left_out(&self, min_support: u32) -> String {
        format!(
            "{} have fewer than {min_support} clicks between a query and a document with the words, {} are not pairs of \
             words",
            thousands(self.n_unsupported as u64),
            thousands(self.n_no_words as u64)
        )
    }
}

/// Replaces the terms of pairs by the words that the dataset of the model writes for them. Leaves out pairs that fewer
/// than `min_support` clicked pairs of a query with the query word and a document with the document word support.
pub fn whole_words(
    model: &PreferenceModel,
    pairs: Vec<WordPair>,
    dataset: &Dataset,
    min_support: u32,
) -> Result<WholeWords> {
    let analyser = &model.features.words().analyser;
    if *analyser.params() != dataset.manifest.analyser {
        return Err(Error::Params(
            "the dataset has another analyser than the model; give the dataset that the model was trained on"
                .into(),
        ));
    }
    let mut wanted: HashSet<&str> = HashSet::default();
    pairs.iter().for_each(|pair| wanted.extend([pair.query_word.as_str(), &pair.document_word]));
    let forms = forms(analyser, dataset, &wanted)?;
    let support = if min_support == 0 { HashMap::default() } else { support(analyser, dataset, &pairs)? };
    let mut found = WholeWords::default();
    for (number, pair) in pairs.iter().enumerate() {
        let (Some(query_forms), Some(document_forms)) =
            (forms.get(pair.query_word.as_str()), forms.get(pair.document_word.as_str()))
        else {
            found.n_no_words += 1;
            continue;
        };
        if support.get(&number).copied().unwrap_or(0) < min_support {
            found.n_unsupported += 1;
            continue;
        }
        found.pairs.push(WordPair {
            query_word: query_forms[0].clone(),
            document_word: document_forms[0].clone(),
            weight: pair.weight,
            query_forms: query_forms.clone(),
            document_forms: document_forms.clone(),
        });
    }
    Ok(found)
}

/// The written forms of terms, the most frequent first.
fn forms<'a>(
    analyser: &Analyser,
    dataset: &Dataset,
    wanted: &HashSet<&'a str>,
) -> Result<HashMap<&'a str, Vec<String>>> {
    let mut params = analyser.params().clone();
    // The forms of `jacke` do not include `winterjacke`.
    params.for_each_language(|language| language.compounds = None);
    let whole = Analyser::new(&params)?;
    let mut written: HashMap<String, u64> = HashMap::default();
    let mut count = |text: &str| {
        for_each_written(text, params.nfkc, |word| match written.get_mut(word) {
            Some(n) => *n += 1,
            None => drop(written.insert(word.to_owned(), 1)),
        });
    };
    let n_fields = dataset.manifest.fields.len();
    dataset.for_each_documents(|documents| {
        for row in 0..documents.len() {
            (0..n_fields).for_each(|field| count(documents.text(row, field)));
        }
        Ok(())
    })?;
    dataset.queries()?.iter().for_each(|query| count(&query.text));
    let mut by_term: HashMap<&'a str, Vec<(String, u64)>> = HashMap::default();
    for (word, n) in written.into_iter().filter(|(word, _)| is_word(word)) {
        let mut terms = whole.collect(&word);
        terms.sort();
        terms.dedup();
        // A run of several Chinese words is no form of one of its characters.
        let is_run = !word.is_ascii() && terms.len() > 2;
        for term in terms.iter().filter(|term| !is_run || **term == word) {
            if let Some(term) = wanted.get(term.as_str()) {
                by_term.entry(term).or_default().push((word.clone(), n));
            }
        }
    }
    let shorten = |mut forms: Vec<(String, u64)>| {
        forms.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let total: u64 = forms.iter().map(|(_, n)| n).sum();
        let frequent = forms.into_iter().filter(|(_, n)| n * SHARE >= total).take(MOST_FORMS);
        frequent.map(|(word, _)| word).collect::<Vec<_>>()
    };
    Ok(by_term
        .into_iter()
        .map(|(term, forms)| (term, shorten(forms)))
        .filter(|(_, f)| !f.is_empty())
        .collect())
}

/// Returns true for words of letters, but for single letters; a Chinese character is a word.
fn is_word(word: &str) -> bool {
    let n_letters = word.chars().filter(|c| c.is_alphabetic()).count();
    n_letters > 1 || (n_letters == 1 && word.chars().any(|c| c > '\u{2fff}'))
}

/// Number of clicked pairs of a query with the first word and a document with the second, by the number of the pair of
/// words.
fn support(analyser: &Analyser, dataset: &Dataset, pairs: &[WordPair]) -> Result<HashMap<usize, u32>> {
    let mut by_query_word: HashMap<&str, Vec<usize>> = HashMap::default();
    let mut document_words: HashMap<&str, u32> = HashMap::default();
    for (number, pair) in pairs.iter().enumerate() {
        by_query_word.entry(&pair.query_word).or_default().push(number);
        let next = document_words.len() as u32;
        document_words.entry(&pair.document_word).or_insert(next);
    }
    let mut of_document: Vec<Vec<u32>> = Vec::new();
    let names: Vec<&str> = dataset.manifest.fields.iter().map(|(name, _)| name).collect();
    dataset.for_each_documents(|documents| {
        for row in 0..documents.len() {
            let mut words: Vec<u32> = Vec::new();
            let texts = (0..names.len()).map(|field| documents.text(row, field));
            analyser.document(names.iter().copied().zip(texts), |_, token| {
                words.extend(document_words.get(token));
            });
            words.sort_unstable();
            words.dedup();
            of_document.push(words);
        }
        Ok(())
    })?;
    let clicks = Clicks::of(dataset)?;
    let mut support: HashMap<usize, u32> = HashMap::default();
    for (row, text) in clicks.queries() {
        let mut numbers: Vec<usize> = Vec::new();
        analyser.tokens(text, |token| numbers.extend(by_query_word.get(token).into_iter().flatten()));
        numbers.sort_unstable();
        numbers.dedup();
        for (document, _) in clicks.of_query(row).iter() {
            let words = &of_document[document as usize];
            for &number in &numbers {
                let word = document_words[pairs[number].document_word.as_str()];
                *support.entry(number).or_default() += u32::from(words.binary_search(&word).is_ok());
            }
        }
    }
    Ok(support)
}
