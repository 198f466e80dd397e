//! The texts of one topic: its queries, its documents, and the query that each document was written for.
//!
//! A query asks for one to three related concepts. Every document is written for one query of the log, its *parent*. It
//! contains the parent's concepts (sometimes it leaves one out or puts another first), some of its own, the name of its
//! site, and words without meaning. Words are drawn concept by concept, each side from its own vocabulary, so a
//! document can be perfect for a query and share no word with it.
//!
//! The counts are exact: a topic uses all the words it was given. Concept words come first; the names of sites make up
//! the rest. Query texts are distinct within the topic, and across topics because each contains a word of its topic.

use std::ops::Range;

use foldhash::{HashSet, HashSetExt};
use rand::RngExt;

use super::concepts::{ConceptId, Concepts, GENERAL, Speaker, WordNumber};
use super::params::ClickParams;
use crate::simulate::random::{KeptMean, Shares, Stream, early, pareto, shuffle};

const MOST_CONCEPTS: usize = 3;
const MOST_QUERY_WORDS: usize = 5;
const MOST_DOCUMENT_WORDS: usize = 8;
/// Share of the queries that contain a word without meaning.
const GENERAL_IN_QUERY: f64 = 0.2;
/// Probability that a document leaves out a concept of its parent, other than the main one.
const LEFT_OUT: f64 = 0.15;
/// Probability that a document makes a minor concept of its parent its main one.
const OTHER_MAIN: f64 = 0.2;

pub(super) struct Query {
    /// Concepts, the main one, which is the rarest, first.
    pub(super) concepts: Vec<ConceptId>,
    /// Distinct words in the order in which they are typed.
    pub(super) words: Vec<WordNumber>,
    /// Minimum number of sessions with a click.
    pub(super) sessions: usize,
}

pub(super) struct Document {
    /// Concepts, the main one first.
    pub(super) concepts: Vec<ConceptId>,
    /// Distinct words of the title, of which the first stands for the main concept.
    pub(super) title: Vec<WordNumber>,
    /// Distinct names in the URL, none of which is in the title.
    pub(super) site: Vec<WordNumber>,
}

impl Document {
    pub(super) fn n_words(&self) -> usize {
        self.title.len() + self.site.len()
    }
}

/// Ranges of a topic in the numbering of the whole simulation.
pub(super) struct Place {
    pub(super) topic: usize,
    pub(super) queries: Range<usize>,
    pub(super) documents: Range<usize>,
    pub(super) words: usize,
    pub(super) concepts: usize,
    /// Judged queries of the log, numbered among all of them.
    pub(super) seen: Range<usize>,
    /// Judged queries absent from the log.
    pub(super) unseen: Range<usize>,
}

impl Place {
    pub(super) fn of(topic: usize, shares: &Shares, params: &ClickParams) -> Self {
        let n_unseen = (params.judged as f64 * params.unseen).round() as usize;
        Self {
            topic,
            queries: shares.part(topic, params.queries),
            documents: shares.part(topic, params.documents),
            words: shares.part(topic, params.words - params.general_words).len(),
            concepts: shares.part(topic, params.concepts).len(),
            seen: shares.part(topic, params.judged - n_unseen),
            unseen: shares.part(topic, n_unseen),
        }
    }
}

pub(super) struct Topic {
    pub(super) queries: Vec<Query>,
    pub(super) documents: Vec<Document>,
    /// Judged queries that are absent from the log.
    pub(super) unseen: Vec<Query>,
    /// Documents written for each query, by their number in the topic.
    pub(super) written_for: Vec<Vec<u32>>,
    /// Documents that contain each concept, by their number in the topic; popular ones first.
    pub(super) holding: Vec<Vec<u32>>,
    /// Marks the general words that occur in the log's queries and the documents.
    pub(super) general_used: Vec<bool>,
    /// Number of words of the topic that occur in them.
    pub(super) n_words_used: usize,
}

impl Topic {
    pub(super) fn new(place: &Place, params: &ClickParams, rng: &mut Stream) -> Self {
        let concepts = Concepts::new(place.concepts, place.words, params, rng);
        let mut typist = Typist::new(&concepts, params);
        let queries: Vec<Query> = place.queries.clone().map(|_| typist.query(rng)).collect();
        let unseen = place.unseen.clone().map(|_| typist.query(rng)).collect();

        let parents = parents(&queries, place.documents.len(), params.list_size / 2, rng);
        let mut lengths = KeptMean::new(params.words_per_document, 2, MOST_DOCUMENT_WORDS);
        let mut documents: Vec<Document> =
            parents.iter().map(|&q| write(&queries[q as usize], &concepts, &mut lengths, rng)).collect();

        let mut used = vec![false; concepts.n_words()];
        let mut general_used = vec![false; params.general_words];
        let texts = queries.iter().map(|q| &q.words).chain(documents.iter().map(|d| &d.title));
        for &word in texts.flatten() {
            match word.checked_sub(GENERAL) {
                Some(general) => general_used[general as usize] = true,
                None => used[word as usize] = true,
            }
        }
        let n_said = used.iter().filter(|&&u| u).count();
        let names = place.words.saturating_sub(n_said);
        name_sites(&mut documents, concepts.n_words() as WordNumber, names, rng);

        let mut written_for = vec![Vec::new(); queries.len()];
        let mut holding = vec![Vec::new(); concepts.len()];
        for (d, (document, &parent)) in (0..).zip(documents.iter().zip(&parents)) {
            written_for[parent as usize].push(d);
            document.concepts.iter().for_each(|&c| holding[c as usize].push(d));
        }
        let n_words_used = n_said + names;
        Self { queries, documents, unseen, written_for, holding, general_used, n_words_used }
    }
}

/// Generates queries with distinct texts.
struct Typist<'a> {
    concepts: &'a Concepts,
    params: &'a ClickParams,
    lengths: KeptMean,
    known: HashSet<Vec<WordNumber>>,
}

impl<'a> Typist<'a> {
    fn new(concepts: &'a Concepts, params: &'a ClickParams) -> Self {
        let lengths = KeptMean::new(params.words_per_query, 1, MOST_QUERY_WORDS);
        Self { concepts, params, lengths, known: HashSet::new() }
    }

    fn query(&mut self, rng: &mut Stream) -> Query {
        let mut length = self.lengths.draw(rng);
        for attempt in 1.. {
            let (concepts, words) = self.ask(length, rng);
            if self.known.insert(words.clone()) {
                self.lengths.used(words.len());
                let sessions = pareto(self.params.popularity, self.params.most_sessions, rng);
                return Query { concepts, words, sessions };
            }
            // Short texts run out; a longer text is still free.
            if attempt % 4 == 0 {
                length += 1;
            }
        }
        unreachable!("the loop has no end")
    }

    fn ask(&self, length: usize, rng: &mut Stream) -> (Vec<ConceptId>, Vec<WordNumber>) {
        let mut asked = vec![self.concepts.choose(rng)];
        let mut words = vec![self.concepts.say(asked[0], Speaker::Query, rng)];
        let mut general = length > 1 && rng.random_bool(GENERAL_IN_QUERY);
        // A small topic may not have enough words; then the query stays shorter.
        for _ in 0..8 * length {
            if words.len() == length {
                break;
            }
            let word = if general {
                general = false;
                self.concepts.say_nothing(rng)
            } else if asked.len() < length.min(MOST_CONCEPTS.max(length / 2)) && rng.random_bool(0.85) {
                let next = self.concepts.neighbour(asked[0], rng);
                let word = self.concepts.say(next, Speaker::Query, rng);
                if !asked.contains(&next) && !words.contains(&word) {
                    asked.push(next);
                }
                word
            } else if rng.random_bool(0.8) {
                self.concepts.say(asked[rng.random_range(0..asked.len())], Speaker::Query, rng)
            } else {
                self.concepts.say_nothing(rng)
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        asked.sort_unstable_by(|a, b| b.cmp(a));
        // Users type the words in any order.
        shuffle(&mut words, rng);
        (asked, words)
    }
}

/// Returns the query that each document is written for: most queries get one, popular ones get more, none gets more
/// than `most`.
fn parents(queries: &[Query], n_documents: usize, most: usize, rng: &mut Stream) -> Vec<u32> {
    let once = (0.8 * n_documents.min(queries.len()) as f64) as usize;
    let mut cumulative = Vec::with_capacity(queries.len());
    let mut total = 0.0;
    for query in queries {
        total += (query.sessions as f64).sqrt();
        cumulative.push(total);
    }
    let mut written = vec![0usize; queries.len()];
    let mut next = 0;
    let mut parents = Vec::with_capacity(n_documents);
    for d in 0..n_documents {
        let mut q = if d < once {
            d * queries.len() / once
        } else {
            let x = rng.random::<f64>() * total;
            cumulative.partition_point(|&c| c <= x).min(queries.len() - 1)
        };
        if written[q] >= most {
            while written[next] >= most {
                next += 1;
            }
            q = next;
        }
        written[q] += 1;
        parents.push(q as u32);
    }
    // A document's number is its popularity: shuffle, so that no query owns all the popular ones.
    shuffle(&mut parents, rng);
    parents
}

/// Placeholder for a name that [`name_sites`] will choose.
const NAME: WordNumber = WordNumber::MAX;

fn write(parent: &Query, concepts: &Concepts, lengths: &mut KeptMean, rng: &mut Stream) -> Document {
    let length = lengths.draw(rng);
    let mut asked = parent.concepts.clone();
    if asked.len() > 1 && rng.random_bool(OTHER_MAIN) {
        let minor = rng.random_range(1..asked.len());
        asked.swap(0, minor);
    }
    let mut document = Document { concepts: vec![asked[0]], title: Vec::new(), site: Vec::new() };
    document.title.push(concepts.say(asked[0], Speaker::Document, rng));
    for &concept in &asked[1..] {
        if document.n_words() < length && !rng.random_bool(LEFT_OUT) {
            document.hold(concept, concepts.say(concept, Speaker::Document, rng));
        }
    }
    if document.n_words() < length {
        document.site.push(NAME);
    }
    for _ in 0..8 * length {
        if document.n_words() == length {
            break;
        }
        match rng.random_range(0..10) {
            0..4 => {
                let word = concepts.say(document.concepts[0], Speaker::Document, rng);
                if !document.title.contains(&word) {
                    document.title.push(word);
                }
            }
            4..6 => {
                let concept = concepts.neighbour(document.concepts[0], rng);
                document.hold(concept, concepts.say(concept, Speaker::Document, rng));
            }
            6..8 => {
                let word = concepts.say_nothing(rng);
                if !document.title.contains(&word) {
                    document.title.push(word);
                }
            }
            _ => document.site.push(NAME),
        }
    }
    lengths.used(document.n_words());
    document
}

impl Document {
    /// Adds a concept, unless its word is already in the text and stands for another concept.
    fn hold(&mut self, concept: ConceptId, word: WordNumber) {
        if !self.title.contains(&word) {
            self.title.push(word);
            if !self.concepts.contains(&concept) {
                self.concepts.push(concept);
            }
        }
    }
}

/// Chooses the names of sites: exactly `n` of them occur, numbered from `first`, a few in many documents, most in few.
fn name_sites(documents: &mut [Document], first: WordNumber, n: usize, rng: &mut Stream) {
    let mut places_left: usize = documents.iter().map(|d| d.site.len()).sum();
    let mut named = 0;
    for document in documents.iter_mut() {
        for i in 0..document.site.len() {
            let new = n - named;
            let mut name = NAME;
            if named > 0 && rng.random_range(0..places_left) >= new {
                // A known name; after a few attempts that the document already has, give up.
                name = (0..8)
                    .map(|_| first + early(named, rng) as WordNumber)
                    .find(|known| !document.site[..i].contains(known))
                    .unwrap_or(NAME);
            }
            if name == NAME && named < n {
                name = first + named as WordNumber;
                named += 1;
            }
            document.site[i] = name;
            places_left -= 1;
        }
        document.site.retain(|&name| name != NAME);
    }
    // More names than places: the documents get longer.
    for d in (0..documents.len()).cycle().take(n - named) {
        documents[d].site.push(first + named as WordNumber);
        named += 1;
    }
}
