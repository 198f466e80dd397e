use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use matchrank_core::{Error, Result};

/// Terms with their ids 0, 1, 2, ... and their frequencies in the collection they come from.
///
/// All terms are in one string, one after the other; the hash table holds ids only. A term of ten letters costs about
/// 40 bytes.
#[derive(Clone)]
pub struct Vocabulary {
    n_documents: u64,
    arena: String,
    /// `offsets[id]..offsets[id + 1]` is the place of a term in `arena`.
    offsets: Vec<u64>,
    document_frequencies: Vec<u32>,
    collection_frequencies: Vec<u64>,
    ids: HashTable<u32>,
}

impl Vocabulary {
    /// Creates a vocabulary of `(term, document frequency, collection frequency)`, with ids in the given order, from a
    /// collection of `n_documents`. Counts that contradict each other, terms of no document and repeated terms are
    /// errors.
    pub fn from_terms<'a>(
        n_documents: u64,
        terms: impl IntoIterator<Item = (&'a str, u32, u64)>,
    ) -> Result<Self> {
        let vocabulary = Self::with_query_terms(n_documents, terms)?;
        if let Some((term, ..)) = vocabulary.iter().find(|(_, df, _)| *df == 0) {
            return Err(impossible(term, 0, 0, n_documents));
        }
        Ok(vocabulary)
    }

    /// Creates a vocabulary that may also contain terms that only queries have, with 0 documents and 0 occurrences.
    pub fn with_query_terms<'a>(
        n_documents: u64,
        terms: impl IntoIterator<Item = (&'a str, u32, u64)>,
    ) -> Result<Self> {
        let mut vocabulary = Self {
            n_documents,
            arena: String::new(),
            offsets: vec![0],
            document_frequencies: Vec::new(),
            collection_frequencies: Vec::new(),
            ids: HashTable::new(),
        };
        for (term, df, cf) in terms {
            if u64::from(df) > n_documents || u64::from(df) > cf || (df == 0 && cf > 0) {
                return Err(impossible(term, df, cf, n_documents));
            }
            if vocabulary.document_frequencies.len() >= u32::MAX as usize {
                return Err(Error::Params("a vocabulary holds at most 4,294,967,295 terms".into()));
            }
            vocabulary.arena.push_str(term);
            vocabulary.offsets.push(vocabulary.arena.len() as u64);
            vocabulary.document_frequencies.push(df);
            vocabulary.collection_frequencies.push(cf);
        }
        vocabulary.ids = HashTable::with_capacity(vocabulary.len());
        for id in 0..vocabulary.len() as u32 {
            let Self { arena, offsets, ids, .. } = &mut vocabulary;
            let term = slice(arena, offsets, id);
            let hash = hash(term);
            if let Some(&first) = ids.find(hash, |&other| slice(arena, offsets, other) == term) {
                return Err(Error::Params(format!("term {term:?} has two ids, {first} and {id}")));
            }
            ids.insert_unique(hash, id, |&other| self::hash(slice(arena, offsets, other)));
        }
        Ok(vocabulary)
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.document_frequencies.len()
    }

    /// Returns true if there is no term.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of documents of the collection that the counts come from.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// Returns the id of a term.
    pub fn id(&self, term: &str) -> Option<u32> {
        self.ids.find(hash(term), |&id| slice(&self.arena, &self.offsets, id) == term).copied()
    }

    /// Returns the term of an id. Panics for an id of another vocabulary.
    pub fn term(&self, id: u32) -> &str {
        slice(&self.arena, &self.offsets, id)
    }

    /// Number of documents that contain the term.
    pub fn document_frequency(&self, id: u32) -> u32 {
        self.document_frequencies[id as usize]
    }

    /// Number of occurrences of the term in all documents.
    pub fn collection_frequency(&self, id: u32) -> u64 {
        self.collection_frequencies[id as usize]
    }

    /// Document frequencies by id.
    pub fn document_frequencies(&self) -> &[u32] {
        &self.document_frequencies
    }

    /// Collection frequencies by id.
    pub fn collection_frequencies(&self) -> &[u64] {
        &self.collection_frequencies
    }

    /// Iterates over `(term, document frequency, collection frequency)` in the order of the ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u32, u64)> {
        (0..self.len())
            .map(|id| (self.term(id as u32), self.document_frequencies[id], self.collection_frequencies[id]))
    }

    /// Returns all terms one after the other, and the start of each; the last offset is the total length.
    pub fn arena(&self) -> (&str, &[u64]) {
        (&self.arena, &self.offsets)
    }

    /// Returns the BLAKE3 hash of the terms in the order of their ids, in hexadecimal: two vocabularies with the same
    /// hash give the same ids.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        self.offsets.iter().for_each(|offset| {
            hasher.update(&offset.to_le_bytes());
        });
        hasher.update(self.arena.as_bytes()).finalize().to_hex().to_string()
    }
}

fn impossible(term: &str, df: u32, cf: u64, n_documents: u64) -> Error {
    Error::Params(format!(
        "term {term:?}: {df} documents and {cf} occurrences are impossible in a collection of {n_documents} documents"
    ))
}

fn slice<'a>(arena: &'a str, offsets: &[u64], id: u32) -> &'a str {
    &arena[offsets[id as usize] as usize..offsets[id as usize + 1] as usize]
}

fn hash(term: &str) -> u64 {
    FixedState::default().hash_one(term)
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.n_documents == other.n_documents
            && self.offsets == other.offsets
            && self.arena == other.arena
            && self.document_frequencies == other.document_frequencies
            && self.collection_frequencies == other.collection_frequencies
    }
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vocabulary({} terms of {} documents)", self.len(), self.n_documents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_terms_are_inverse_and_the_iterator_rebuilds_it() {
        let terms = [("b", 3, 7), ("", 2, 2), ("ä b", 1, 1)];
        let vocabulary = Vocabulary::from_terms(3, terms).unwrap();
        for (id, (term, df, cf)) in terms.into_iter().enumerate() {
            let id = id as u32;
            assert_eq!((vocabulary.id(term), vocabulary.term(id)), (Some(id), term));
            assert_eq!((vocabulary.document_frequency(id), vocabulary.collection_frequency(id)), (df, cf));
        }
        assert_eq!(vocabulary.id("c"), None);
        assert_eq!(Vocabulary::from_terms(3, vocabulary.iter()).unwrap(), vocabulary);
        assert_ne!(vocabulary.hash(), Vocabulary::from_terms(3, [("b", 3, 7)]).unwrap().hash());
    }

    #[test]
    fn contradictions_are_errors() {
        assert!(Vocabulary::from_terms(1, [("a", 2, 2)]).is_err());
        assert!(Vocabulary::from_terms(1, [("a", 0, 0)]).is_err());
        assert!(Vocabulary::with_query_terms(1, [("a", 0, 0)]).is_ok());
        assert!(Vocabulary::with_query_terms(1, [("a", 0, 1)]).is_err());
        assert!(Vocabulary::with_query_terms(1, [("a", 2, 2)]).is_err());
        assert!(Vocabulary::from_terms(3, [("a", 2, 1)]).is_err());
        let message = Vocabulary::from_terms(3, [("a", 1, 1), ("a", 2, 2)]).unwrap_err().to_string();
        assert!(message.contains("two ids, 0 and 1"), "{message}");
        assert!(Vocabulary::from_terms(0, []).unwrap().is_empty());
    }
}
