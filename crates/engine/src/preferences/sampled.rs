//! Preferences drawn from the training responses of a dataset.
//!
//! A query is drawn, each as often as any other, then one of its documents, then a worse one:
//!
//! - with grades, a document of a lower grade (0 included), or one that nobody judged;
//! - with clicks, a document that was shown above the clicked one, or next below it, and not clicked (where the
//!   log has positions, see `joachims`), or one that was not clicked.
//!
//! The setting `judged` is the share of the first of the two, if there is one. Of the others, the setting `hard` is the share
//! of documents that look like answers by their words (see `hard`). Tuples are numbered,
//! and each block of numbers has random numbers of its own, so the same seed gives the same tuples whatever
//! the number of threads. Validation and test data are in no training table, so nothing of them is drawn.

use foldhash::HashMap;
use matchrank_core::matching::sparse_preference::Tuple;
use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::message::{HAS, counted, counted_with};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::hard::hard_negatives;
use super::joachims::{Showings, Shown};
use super::{Lesson, TupleLessons};
use crate::dataset::BoundDocuments;
use crate::dataset::{Clicks, Dataset, Negative};
use crate::features::{FeatureRow, Features, document_rows};

/// Tuples that share a stream of random numbers.
const BLOCK: u64 = 1 << 12;
/// Draws of another document before a tuple is given up.
const TRIES: usize = 32;

/// Documents that a query is learned from.
struct QueryLessons {
    /// Documents with a response, the lowest level first.
    documents: Vec<(u32, f32)>,
    /// Documents that were judged with grade 0, ascending.
    negatives: Vec<u32>,
    /// Documents with a response or with grade 0, ascending.
    known: Vec<u32>,
    /// Documents that were shown to the query.
    shown: Option<Shown>,
}

/// Queries, documents, and who prefers what to what.
pub(crate) struct Preferences {
    pub(crate) queries: Csr,
    pub(crate) documents: Csr,
    answers: Vec<QueryLessons>,
    worse: Worse,
    /// Documents of each query that look like answers; empty where none are drawn.
    hard: Vec<Vec<u32>>,
}

/// Shares of the worse documents of tuples; see the module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worse {
    /// Judged lower, or skipped, where there is one.
    pub(crate) judged: f64,
    /// Of the others: those that look like answers by their words.
    pub(crate) hard: f64,
}

impl Preferences {
    /// The training preferences of a dataset.
    pub(crate) fn of(
        dataset: &Dataset,
        features: &Features,
        worse: Worse,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let clicks = Clicks::to_learn_from(dataset)?;
        let documents =
            document_rows(features, BoundDocuments::all(dataset), Some((&clicks).into()), progress)?;
        let graded = dataset.manifest.sources.iter().all(|source| source.role != "clicks");
        let mut showings = Showings::of(dataset, &clicks)?;
        let n_worse = showings.n_pairs();
        let mut negatives = negatives_of(dataset, &clicks)?;
        let mut n_negatives = 0;
        let listed: Vec<(u32, &str)> = clicks.queries().collect();
        let rows: Vec<FeatureRow> = listed
            .par_iter()
            .map(|(row, text)| features.query_to_learn_from(text, Some(clicks.of_query(*row))))
            .collect();
        let mut queries = CsrBuilder::new(features.d_x());
        let mut answers = Vec::new();
        let mut n_empty = 0;
        for ((query, _), row) in listed.iter().zip(&rows) {
            if row.is_empty() {
                n_empty += 1;
                continue;
            }
            let level = |response: f32| if graded { response } else { 1.0 };
            let mut documents: Vec<(u32, f32)> = clicks
                .of_query(*query)
                .iter()
                .map(|(document, response)| (document, level(response)))
                .collect();
            documents.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            queries.push_row(row.row());
            let negatives = negatives.remove(query).unwrap_or_default();
            n_negatives += negatives.len() as u64;
            let mut known: Vec<u32> = documents.iter().map(|(document, _)| *document).collect();
            known.extend(&negatives);
            known.sort_unstable();
            answers.push(QueryLessons { documents, negatives, known, shown: showings.take(*query) });
        }
        if n_empty > 0 {
            let queries = counted_with(n_empty, "query", HAS);
            progress.note(&format!("{queries} a response and no known word: nothing is learned from them"));
        }
        if answers.is_empty() || documents.n_rows() < 2 {
            return Err(Error::Params(format!(
                "{}: there is no preference to learn from: no training query has a known word, or there are fewer \
                 than two documents",
                dataset.folder().display()
            )));
        }
        if n_worse > 0 {
            progress.note(&format!(
                "the log has positions: documents that were shown above a click, or next below it, and not clicked \
                 count as worse ({})",
                counted(n_worse, "pair")
            ));
        }
        if n_negatives > 0 {
            let pairs = counted(n_negatives, "pair");
            progress.note(&format!("documents that were judged with grade 0 count as worse ({pairs})"));
        }
        let queries = queries.finish()?;
        let hard = if worse.hard > 0.0 {
            hard_negatives(&queries, &documents, features.n_words(), |query| &answers[query].known)
        } else {
            Vec::new()
        };
        Ok(Self { queries, documents, answers, worse, hard })
    }

    /// Tuples `from..to`.
    fn draw(&self, seed: u64, from: u64, to: u64) -> Vec<Tuple> {
        let blocks: Vec<Vec<Tuple>> = (from / BLOCK..to.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let mut rng = stream(seed, block);
                let first = block * BLOCK;
                let tuples = (first..first + BLOCK).map(|number| (number, self.tuple(&mut rng)));
                tuples
                    .filter(|(number, _)| (from..to).contains(number))
                    .filter_map(|(_, tuple)| tuple)
                    .collect()
            })
            .collect();
        blocks.concat()
    }

    fn tuple(&self, rng: &mut Xoshiro256PlusPlus) -> Option<Tuple> {
        let query = rng.random_range(0..self.answers.len());
        let answers = &self.answers[query];
        let place = rng.random_range(0..answers.documents.len());
        let more = answers.documents[place].0;
        let near = rng.random_bool(self.worse.judged);
        let less = near.then(|| answers.worse(place, rng)).flatten();
        let less = less.or_else(|| self.hard(query, rng)).or_else(|| self.other(answers, rng))?;
        Some(Tuple { query: query as u32, more, less })
    }

    /// A document without a response that looks like an answer.
    fn hard(&self, query: usize, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        let hard = self.hard.get(query).filter(|hard| !hard.is_empty())?;
        rng.random_bool(self.worse.hard).then(|| hard[rng.random_range(0..hard.len())])
    }

    /// A document without a response or grade.
    fn other(&self, answers: &QueryLessons, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        let n = self.documents.n_rows() as u32;
        (0..TRIES)
            .map(|_| rng.random_range(0..n))
            .find(|document| answers.known.binary_search(document).is_err())
    }
}

impl QueryLessons {
    /// A document that was judged lower, or skipped.
    fn worse(&self, place: usize, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        let level = self.documents[place].1;
        let lower = self.documents.partition_point(|(_, other)| *other < level);
        let skipped = self.shown.as_ref().map_or(&[][..], |shown| shown.worse_than(self.documents[place].0));
        match lower + skipped.len() + self.negatives.len() {
            0 => None,
            n => {
                let drawn = rng.random_range(0..n);
                let mut rest = skipped.iter().chain(&self.negatives);
                Some(match drawn.checked_sub(lower) {
                    None => self.documents[drawn].0,
                    Some(at) => *rest.nth(at).expect("n counts them"),
                })
            }
        }
    }
}

/// Documents that were judged with grade 0, by the row of the query among the clicks. A document that has a response to
/// the same text is none.
fn negatives_of(dataset: &Dataset, clicks: &Clicks) -> Result<HashMap<u32, Vec<u32>>> {
    let mut by_query: HashMap<u32, Vec<u32>> = HashMap::default();
    let pairs = dataset.negatives()?;
    let rows: Vec<u32> = pairs.iter().map(|pair| pair.query).collect();
    let texts = dataset.query_texts_of(&rows)?;
    for Negative { query, document } in pairs {
        let Some(query) = clicks.row_of(&texts[&query]) else { continue };
        if clicks.of_query(query).indices().binary_search(&document).is_err() {
            by_query.entry(query).or_default().push(document);
        }
    }
    for documents in by_query.values_mut() {
        documents.sort_unstable();
        documents.dedup();
    }
    Ok(by_query)
}

/// Random numbers of a block: different for every seed and block.
fn stream(seed: u64, block: u64) -> Xoshiro256PlusPlus {
    let mut key = seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    Xoshiro256PlusPlus::seed_from_u64(key ^ (key >> 27))
}

/// Some of the tuples that a seed gives.
pub(crate) struct SampledTuples<'a> {
    preferences: &'a Preferences,
    seed: u64,
    first: u64,
    n: u64,
    next: u64,
    drawn: Vec<Tuple>,
}

impl<'a> SampledTuples<'a> {
    /// The first `n`.
    pub(crate) fn new(preferences: &'a Preferences, seed: u64, n: u64) -> Self {
        Self::between(preferences, seed, 0, n)
    }

    /// Those of the numbers `first..n`.
    pub(crate) fn between(preferences: &'a Preferences, seed: u64, first: u64, n: u64) -> Self {
        Self { preferences, seed, first, n, next: first, drawn: Vec::new() }
    }
}

impl TupleLessons for SampledTuples<'_> {
    fn next(&mut self, most: usize) -> Result<Option<Lesson<'_>>> {
        if self.next >= self.n {
            return Ok(None);
        }
        let to = self.n.min(self.next + most as u64);
        self.drawn = self.preferences.draw(self.seed, self.next, to);
        self.next = to;
        let Preferences { queries, documents, .. } = self.preferences;
        Ok(Some(Lesson { queries, documents, tuples: &self.drawn }))
    }

    fn rewind(&mut self) -> Result<()> {
        self.next = self.first;
        Ok(())
    }
}
