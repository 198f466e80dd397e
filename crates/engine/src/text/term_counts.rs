use foldhash::fast::RandomState;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Vocabulary;

/// Counts the documents and the total occurrences of every term; becomes a [`Vocabulary`].
///
/// Counts of parts of a collection [`merge`](TermCounts::merge) into the counts of the whole, whatever the parts and
/// their order. So threads count independently, and the vocabulary is always the same.
#[derive(Default)]
pub struct TermCounts {
    n_documents: u64,
    counts: std::collections::HashMap<Box<str>, Count, RandomState>,
}

struct Count {
    document_frequency: u32,
    collection_frequency: u64,
    /// The last document that has the term, counted from 1. It tells a new document from a repetition without a set of
    /// terms per document.
    last: u64,
}

/// Selection of the terms that a [`Vocabulary`] keeps. The defaults keep all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VocabularyParams {
    /// Terms in fewer documents than this are left out. Default: 1.
    pub min_document_frequency: u32,
    /// Terms in more than this share of the documents are left out. Default: 1.0.
    pub max_document_share: f64,
    /// Keep at most this many terms, those in the most documents. Default: no limit.
    pub max_terms: Option<usize>,
}

impl Default for VocabularyParams {
    fn default() -> Self {
        Self { min_document_frequency: 1, max_document_share: 1.0, max_terms: None }
    }
}

impl VocabularyParams {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        if !(self.max_document_share > 0.0 && self.max_document_share <= 1.0) {
            return Err(Error::Params(format!(
                "max_document_share must be above 0 and at most 1, not {}",
                self.max_document_share
            )));
        }
        if self.max_terms == Some(0) {
            return Err(Error::Params("max_terms must be at least 1".into()));
        }
        Ok(())
    }
}

impl TermCounts {
    /// Creates counts of no documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the next document: the tokens that follow belong to it.
    pub fn begin_document(&mut self) {
        self.n_documents += 1;
    }

    /// Adds an occurrence of a term to the current document; returns true if it is the first there.
    pub fn add(&mut self, term: &str) -> bool {
        let document = self.n_documents;
        match self.counts.get_mut(term) {
            Some(count) => {
                let first = count.last != document;
                count.document_frequency += u32::from(first);
                count.collection_frequency += 1;
                count.last = document;
                first
            }
            None => {
                let count = Count { document_frequency: 1, collection_frequency: 1, last: document };
                self.counts.insert(term.into(), count);
                true
            }
        }
    }

    /// Number of documents so far.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// Number of different terms so far.
    pub fn n_terms(&self) -> usize {
        self.counts.len()
    }

    /// Returns true if a term has occurred.
    pub fn contains(&self, term: &str) -> bool {
        self.counts.contains_key(term)
    }

    /// Adds the counts of other documents.
    pub fn merge(self, other: Self) -> Self {
        let (mut large, small) =
            if self.counts.len() >= other.counts.len() { (self, other) } else { (other, self) };
        // Documents counted after the merge are new to every term.
        large.n_documents += small.n_documents;
        for (term, count) in small.counts {
            match large.counts.get_mut(&term) {
                Some(sum) => {
                    sum.document_frequency += count.document_frequency;
                    sum.collection_frequency += count.collection_frequency;
                }
                None => {
                    large.counts.insert(term, count);
                }
            }
        }
        large
    }

    /// Returns the vocabulary of the terms that `params` keep. Ids are by descending document frequency, then by term,
    /// so that frequent terms share cache lines and the ids do not depend on the order of counting.
    pub fn into_vocabulary(self, params: &VocabularyParams) -> Result<Vocabulary> {
        params.validate()?;
        let most = params.max_document_share * self.n_documents as f64;
        let mut kept: Vec<(Box<str>, Count)> = self
            .counts
            .into_iter()
            .filter(|(_, count)| {
                count.document_frequency >= params.min_document_frequency
                    && f64::from(count.document_frequency) <= most
            })
            .collect();
        kept.sort_unstable_by(|(a, x), (b, y)| {
            y.document_frequency.cmp(&x.document_frequency).then_with(|| a.cmp(b))
        });
        kept.truncate(params.max_terms.unwrap_or(usize::MAX));
        Vocabulary::from_terms(
            self.n_documents,
            kept.iter().map(|(term, count)| (&**term, count.document_frequency, count.collection_frequency)),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn count(documents: &[Vec<String>]) -> TermCounts {
        let mut counts = TermCounts::new();
        for document in documents {
            counts.begin_document();
            for term in document {
                counts.add(term);
            }
        }
        counts
    }

    #[test]
    fn pruning() {
        let documents: Vec<Vec<String>> =
            ["a b c", "a b", "a b", "a"].iter().map(|d| d.split(' ').map(str::to_owned).collect()).collect();
        let terms = |params| -> Vec<String> {
            let vocabulary = count(&documents).into_vocabulary(&params).unwrap();
            vocabulary.iter().map(|(term, ..)| term.to_owned()).collect()
        };
        assert_eq!(terms(VocabularyParams::default()), ["a", "b", "c"]);
        assert_eq!(terms(VocabularyParams { min_document_frequency: 2, ..Default::default() }), ["a", "b"]);
        assert_eq!(terms(VocabularyParams { max_document_share: 0.75, ..Default::default() }), ["b", "c"]);
        assert_eq!(terms(VocabularyParams { max_terms: Some(1), ..Default::default() }), ["a"]);
        assert!(VocabularyParams { max_document_share: f64::NAN, ..Default::default() }.validate().is_err());
        assert!(VocabularyParams { max_terms: Some(0), ..Default::default() }.validate().is_err());
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_vocabulary(
            documents in prop::collection::vec(prop::collection::vec("[a-e]{1,2}", 0..8), 0..20),
            cut in 0usize..20,
        ) {
            let whole = count(&documents).into_vocabulary(&Default::default()).unwrap();
            let (left, right) = documents.split_at(cut.min(documents.len()));
            let merged = count(right).merge(count(left)).into_vocabulary(&Default::default()).unwrap();
            prop_assert_eq!(&merged, &whole);

            let mut obvious: BTreeMap<&str, (u32, u64)> = BTreeMap::new();
            for document in &documents {
                document.iter().for_each(|term| obvious.entry(term).or_default().1 += 1);
                let unique: BTreeSet<&String> = document.iter().collect();
                unique.iter().for_each(|term| obvious.entry(term).or_default().0 += 1);
            }
            prop_assert_eq!(whole.n_documents(), documents.len() as u64);
            prop_assert_eq!(whole.len(), obvious.len());
            for (term, (df, cf)) in obvious {
                let id = whole.id(term).unwrap();
                prop_assert_eq!((whole.document_frequency(id), whole.collection_frequency(id)), (df, cf));
            }
            let order: Vec<_> = whole.iter().map(|(term, df, _)| (std::cmp::Reverse(df), term.to_owned())).collect();
            prop_assert!(order.is_sorted());
        }
    }
}
