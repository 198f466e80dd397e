//! Concepts of a topic, and the words that queries and documents use for them.
//!
//! A concept has one word that both sides know, words that only queries use and words that only documents use. Some
//! concepts, such as names, have only the shared word. A tenth of the words also stand for a second concept of the
//! topic. Concepts are numbered by popularity.

use rand::RngExt;

use super::params::ClickParams;
use crate::simulate::random::{Stream, early, geometric};

/// A word of a topic by its number; with [`GENERAL`] added, a word that belongs to every topic.
pub(super) type WordNumber = u32;
pub(super) const GENERAL: WordNumber = 1 << 31;

/// Concepts of a topic by popularity.
pub(super) type ConceptId = u32;

/// Largest share of a topic's words that belong to concepts; the others are names of sites and the like.
const CONCEPT_WORDS: f64 = 0.6;
/// Mean number of words of a concept that only one side uses.
const MEAN_OWN_WORDS: f64 = 3.0;
/// Share of the concept words that also stand for another concept of the topic.
const AMBIGUOUS: f64 = 0.1;
/// Distance within which concepts are often asked for together.
const NEIGHBOURHOOD: usize = 8;

/// The side that uses a word: queries or documents.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Query,
    Document,
}

struct Concept {
    shared: WordNumber,
    query: Vec<WordNumber>,
    document: Vec<WordNumber>,
}

pub(super) struct Concepts {
    concepts: Vec<Concept>,
    n_words: usize,
    own_words: f64,
    general_words: usize,
}

impl Concepts {
    /// Creates `n` concepts, or as many as fit a topic of `words` words, which needs names too.
    pub(super) fn new(n: usize, words: usize, params: &ClickParams, rng: &mut Stream) -> Self {
        let limit = (words as f64 * CONCEPT_WORDS) as usize;
        let mut concepts = Vec::new();
        let mut n_words = 0;
        while concepts.len() < n.max(4) && (n_words < limit || concepts.len() < 4) {
            let mut word = |rng: &mut Stream| {
                if n_words > 8 && rng.random_bool(AMBIGUOUS) {
                    rng.random_range(0..n_words as WordNumber)
                } else {
                    n_words += 1;
                    n_words as WordNumber - 1
                }
            };
            let one_word = rng.random_bool(params.one_word_concepts);
            let mut own = |rng: &mut Stream| match one_word {
                true => Vec::new(),
                false => (0..1 + geometric(MEAN_OWN_WORDS - 1.0, 11, rng)).map(|_| word(rng)).collect(),
            };
            let (query, document) = (own(rng), own(rng));
            concepts.push(Concept { shared: word(rng), query, document });
        }
        Self { concepts, n_words, own_words: params.own_words, general_words: params.general_words }
    }

    pub(super) fn len(&self) -> usize {
        self.concepts.len()
    }

    /// Number of words used so far; the topic's other words follow.
    pub(super) fn n_words(&self) -> usize {
        self.n_words
    }

    /// Draws a concept, popular ones more often.
    pub(super) fn choose(&self, rng: &mut Stream) -> ConceptId {
        early(self.len(), rng) as ConceptId
    }

    /// Draws a concept that is related to this one.
    pub(super) fn neighbour(&self, concept: ConceptId, rng: &mut Stream) -> ConceptId {
        let distance = 1 + early(NEIGHBOURHOOD.min(self.len() - 1), rng);
        ((concept as usize + distance) % self.len()) as ConceptId
    }

    /// Draws a word for the concept from the vocabulary of this side.
    pub(super) fn say(&self, concept: ConceptId, side: Speaker, rng: &mut Stream) -> WordNumber {
        let concept = &self.concepts[concept as usize];
        let own = if side == Speaker::Query { &concept.query } else { &concept.document };
        if own.is_empty() || !rng.random_bool(self.own_words) {
            concept.shared
        } else {
            own[early(own.len(), rng)]
        }
    }

    /// Draws a word without meaning.
    pub(super) fn say_nothing(&self, rng: &mut Stream) -> WordNumber {
        GENERAL + early(self.general_words, rng) as WordNumber
    }
}
