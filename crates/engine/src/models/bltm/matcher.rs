//! Bilingual topic models bound to documents.
//!
//! The topics of all documents are found once and kept, 4 bytes for each topic: finding them again for every
//! batch of queries would cost many times what scoring does.

use std::cell::Cell;
use std::ops::Range;

use matchrank_core::Result;
use matchrank_core::matching::bltm::{Bltm, BltmParams};
use matchrank_core::matching::{Csr, SparseRow, dot, dots};
use matchrank_core::progress::{Progress, Silent};
use rayon::prelude::*;

use super::BltmModel;
use crate::dataset::{BoundDocuments, GivenDocuments};
use crate::features::document_counts;
use crate::scoring::{Explanation, Matcher, Scorer, Why, WordLikelihood};
use crate::text::Bag;

/// Words that name a topic in an explanation.
const NAMING: usize = 3;

pub(super) struct BltmMatcher<'a> {
    model: &'a BltmModel,
    documents: BoundDocuments<'a>,
    known: KnownDocuments,
}

/// Documents as a scorer needs them.
pub(crate) struct KnownDocuments {
    /// Counts of their words.
    pub(crate) counts: Csr,
    /// p(z | d), K numbers for each.
    pub(crate) topics: Vec<f32>,
    /// p(w | C) of every word.
    pub(crate) background: Vec<f32>,
}

impl KnownDocuments {
    /// Finds the topics of documents that are given by the counts of their words.
    pub(crate) fn new(
        model: &Bltm,
        params: &BltmParams,
        counts: Csr,
        background: Vec<f32>,
        progress: &dyn Progress,
    ) -> Self {
        let mut known = Self { topics: Vec::new(), counts, background };
        progress.begin("topics of documents", Some(known.counts.n_rows() as u64), "documents");
        known.find_topics(model, params, progress);
        known
    }

    /// Finds the topics again, by another model.
    pub(crate) fn find_topics(&mut self, model: &Bltm, params: &BltmParams, progress: &dyn Progress) {
        let Self { counts, topics, .. } = self;
        topics.resize(counts.n_rows() * model.n_topics(), 0.0);
        topics.par_chunks_exact_mut(model.n_topics()).enumerate().for_each(|(document, topics)| {
            topics.copy_from_slice(&model.topics_of(counts.row(document), params));
            progress.advance(1);
        });
    }
}

impl<'a> BltmMatcher<'a> {
    pub(super) fn new(
        model: &'a BltmModel,
        documents: BoundDocuments<'a>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let counts = document_counts(&model.words, documents, progress)?;
        let background = BltmModel::background(&model.words);
        let known = KnownDocuments::new(&model.topics, &model.params, counts, background, progress);
        Ok(Self { model, documents, known })
    }
}

impl Matcher for BltmMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let bags: Vec<Bag> = queries.par_iter().map(|query| self.model.words.query(query)).collect();
        Ok(Box::new(BltmScorer::new(&self.model.topics, &self.model.params, &bags, &self.known)))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let BltmModel { params, words, topics, .. } = self.model;
        let bag = words.query(query);
        let scorer = BltmScorer::new(topics, params, std::slice::from_ref(&bag), &self.known);
        let mut score = [0.0];
        scorer.list(0, &[document], &mut score);
        let theta = scorer.theta(document);
        let row = self.known.counts.row(document as usize);
        let length: f32 = row.values().iter().sum();
        let mut parts: Vec<WordLikelihood> = Vec::new();
        for (place, &(number, count)) in scorer.queries[0].iter().enumerate() {
            let word = bag.indices[place];
            let p = scorer.p(number);
            let in_document = share(row, length, word);
            let in_collection = self.known.background[word as usize];
            let by_topics = dot(p, theta);
            let part = |z: &usize| p[*z] * theta[*z];
            let strongest = (0..theta.len()).max_by(|a, b| part(a).total_cmp(&part(b)).then(b.cmp(a)));
            let topic = strongest.filter(|z| part(z) > 0.0);
            parts.push(WordLikelihood {
                word: words.vocabulary.term(word).to_owned(),
                count,
                in_document,
                by_topics,
                in_collection,
                topic,
                topic_words: topic
                    .map_or(Vec::new(), |z| self.model.likeliest(topics.documents(), z, NAMING)),
                score: count * params.evidence(in_document, by_topics, in_collection),
            });
        }
        parts.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.word.cmp(&b.word)));
        let score = Some(score[0]).filter(|score| !score.is_nan());
        let why = Why::Words { document: params.document, topic: params.topic, words: parts };
        Ok(Explanation { score, why })
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let documents = BoundDocuments::given(self.documents.dataset, documents);
        Ok(Box::new(BltmMatcher::new(self.model, documents, &Silent)?))
    }
}

/// p(w | d): the share of a word in a document.
fn share(document: SparseRow<'_>, length: f32, word: u32) -> f32 {
    match document.indices().binary_search(&word) {
        Ok(at) => document.values()[at] / length,
        Err(_) => 0.0,
    }
}

/// Marks a word that no query has.
const NONE: u32 = u32::MAX;

/// Scores documents for queries by their words.
pub(crate) struct BltmScorer<'a> {
    params: &'a BltmParams,
    known: &'a KnownDocuments,
    n_topics: usize,
    /// The different words of all queries, and the place of every word among them.
    words: Vec<u32>,
    places: Vec<u32>,
    /// p_x(w | z) of each of them, K numbers.
    p: Vec<f32>,
    /// Place and count of the words of each query.
    queries: Vec<Vec<(u32, f32)>>,
}

thread_local! {
    static LIKELIHOODS: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

impl<'a> BltmScorer<'a> {
    pub(crate) fn new(
        model: &Bltm,
        params: &'a BltmParams,
        queries: &[Bag],
        known: &'a KnownDocuments,
    ) -> Self {
        let n_topics = model.n_topics();
        let mut words: Vec<u32> = Vec::new();
        let mut places = vec![NONE; known.background.len()];
        let mut number = |word: u32| {
            let place = &mut places[word as usize];
            if *place == NONE {
                *place = words.len() as u32;
                words.push(word);
            }
            *place
        };
        let queries = queries
            .iter()
            .map(|bag| bag.row().iter().map(|(word, count)| (number(word), count)).collect())
            .collect();
        let mut p = vec![0f32; words.len() * n_topics];
        p.chunks_exact_mut(n_topics).zip(&words).for_each(|(row, &word)| model.queries().add(word, 1.0, row));
        Self { params, known, n_topics, words, places, p, queries }
    }

    fn p(&self, place: u32) -> &[f32] {
        &self.p[place as usize * self.n_topics..][..self.n_topics]
    }

    fn theta(&self, document: u32) -> &[f32] {
        &self.known.topics[document as usize * self.n_topics..][..self.n_topics]
    }
}

impl Scorer for BltmScorer<'_> {
    fn n_queries(&self) -> usize {
        self.queries.len()
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        if self.queries[query].is_empty() {
            return scores.fill(f32::NAN);
        }
        for (score, &document) in scores.iter_mut().zip(documents) {
            let (row, theta) = (self.known.counts.row(document as usize), self.theta(document));
            let length: f32 = row.values().iter().sum();
            *score = 0.0;
            for &(place, count) in &self.queries[query] {
                let word = self.words[place as usize];
                let background = self.known.background[word as usize];
                let (own, by_topics) = (share(row, length, word), dot(self.p(place), theta));
                *score += count * self.params.evidence(own, by_topics, background);
            }
        }
    }

    /// Computes the contribution of every word to every document once for all queries.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let n = documents.len();
        let mut found = LIKELIHOODS.take();
        found.resize(self.words.len() * n, 0.0);
        let at = documents.start as usize * self.n_topics..documents.end as usize * self.n_topics;
        dots(self.n_topics, &self.p, &self.known.topics[at], &mut found);
        let BltmParams { document: lambda, topic: mu, .. } = *self.params;
        found.iter_mut().for_each(|likelihood| *likelihood *= mu as f32);
        for (column, document) in documents.enumerate() {
            let row = self.known.counts.row(document as usize);
            let length: f32 = row.values().iter().sum();
            for (word, count) in row.iter() {
                let place = self.places[word as usize];
                if place != NONE {
                    found[place as usize * n + column] += lambda as f32 * (count / length);
                }
            }
        }
        let rest = (1.0 - lambda - mu) as f32;
        for (row, &word) in found.chunks_exact_mut(n).zip(&self.words) {
            let background = rest * self.known.background[word as usize];
            row.iter_mut().for_each(|found| *found = (*found / background).ln_1p());
        }
        for (scores, query) in scores.chunks_exact_mut(n).zip(&self.queries) {
            scores.fill(if query.is_empty() { f32::NAN } else { 0.0 });
            for &(place, count) in query {
                let row = &found[place as usize * n..][..n];
                scores.iter_mut().zip(row).for_each(|(score, evidence)| *score += count * evidence);
            }
        }
        LIKELIHOODS.set(found);
    }
}
