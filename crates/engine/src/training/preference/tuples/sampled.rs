//! Preferences drawn from the training responses of a dataset.
//!
//! A query is drawn, each as often as any other, then one of its documents, then a worse one:
//!
//! - with grades, a document of a lower grade, or one that nobody judged;
//! - with clicks, a document that was shown above the clicked one and skipped (where the log has positions), or
//!   one that was not clicked.
//!
//! How often the first of the two is taken, where there is one, is the setting `judged`. Tuples are numbered,
//! and each block of numbers has random numbers of its own, so the same seed gives the same tuples whatever
//! the number of threads. Validation and test data are in no training table, so nothing of them is drawn.

use foldhash::HashMap;
use matchrank_core::matching::sparse_preference::Tuple;
use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::{Lesson, Lessons};
use crate::dataset::{Clicks, Dataset};
use crate::features::{FeatureRow, Features, document_rows};

/// Tuples that share a stream of random numbers.
const BLOCK: u64 = 1 << 12;
/// Draws of another document before a tuple is given up.
const TRIES: usize = 32;

/// What a query is learned from.
struct Answers {
    /// Documents with a response, the lowest level first.
    documents: Vec<(u32, f32)>,
    /// The same, ascending.
    known: Vec<u32>,
    /// Documents that were shown and not clicked, with their mean position, the highest first.
    skipped: Vec<(f32, u32)>,
    /// Mean position of each of `documents`, where there are skipped ones.
    positions: Vec<f32>,
}

/// Queries, documents, and who prefers what to what.
pub(crate) struct Preferences {
    pub(crate) queries: Csr,
    pub(crate) documents: Csr,
    answers: Vec<Answers>,
    judged: f64,
}

impl Preferences {
    /// The training preferences of a dataset. `judged`: see the module.
    pub(crate) fn of(
        dataset: &Dataset,
        features: &Features,
        judged: f64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let clicks = Clicks::to_learn_from(dataset)?;
        let documents = document_rows(features, dataset, None, None, progress)?;
        let graded = dataset.manifest.sources.iter().all(|source| source.role != "clicks");
        let skipped = Skipped::of(dataset, &clicks)?;
        let listed: Vec<(u32, &str)> = clicks.queries().collect();
        let rows: Vec<FeatureRow> = listed.par_iter().map(|(_, text)| features.query(text, None)).collect();
        let mut queries = CsrBuilder::new(features.n_words());
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
            answers.push(skipped.answers(*query, documents));
        }
        if n_empty > 0 {
            progress.note(&format!("{n_empty} queries with a response have no known word and teach nothing"));
        }
        if answers.is_empty() || documents.n_rows() < 2 {
            return Err(Error::Params(format!(
                "{}: there is no preference to learn from: no training query has a known word, or there are fewer \
                 than two documents",
                dataset.folder().display()
            )));
        }
        if skipped.n > 0 {
            progress.note(&format!(
                "the log has positions: {} pairs that were shown above a click and skipped count as worse",
                skipped.n
            ));
        }
        Ok(Self { queries: queries.finish()?, documents, answers, judged })
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
        let near = rng.random_bool(self.judged);
        let less = near.then(|| answers.worse(place, rng)).flatten().or_else(|| self.other(answers, rng))?;
        Some(Tuple { query: query as u32, more, less })
    }

    /// A document without a response.
    fn other(&self, answers: &Answers, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        let n = self.documents.n_rows() as u32;
        (0..TRIES)
            .map(|_| rng.random_range(0..n))
            .find(|document| answers.known.binary_search(document).is_err())
    }
}

impl Answers {
    /// A document that was judged lower, or skipped above.
    fn worse(&self, place: usize, rng: &mut Xoshiro256PlusPlus) -> Option<u32> {
        let level = self.documents[place].1;
        let lower = self.documents.partition_point(|(_, other)| *other < level);
        let above = self
            .positions
            .get(place)
            .map_or(0, |position| self.skipped.partition_point(|(other, _)| other < position));
        match lower + above {
            0 => None,
            n => {
                let drawn = rng.random_range(0..n);
                Some(if drawn < lower { self.documents[drawn].0 } else { self.skipped[drawn - lower].1 })
            }
        }
    }
}

/// What was shown and not clicked, by query.
struct Skipped {
    by_query: HashMap<u32, Vec<(f32, u32)>>,
    positions: HashMap<(u32, u32), f32>,
    n: usize,
}

impl Skipped {
    fn of(dataset: &Dataset, clicks: &Clicks) -> Result<Self> {
        let mut skipped = Self { by_query: HashMap::default(), positions: HashMap::default(), n: 0 };
        let impressions = dataset.skipped()?;
        if impressions.is_empty() {
            return Ok(skipped);
        }
        // Queries of the same text share what they were shown, under the row of the first of them.
        let rows: Vec<u32> = impressions.iter().map(|pair| pair.query).collect();
        let texts = dataset.query_texts_of(&rows)?;
        for pair in impressions {
            let Some(query) = clicks.row_of(&texts[&pair.query]) else { continue };
            if clicks.of_query(query).indices().binary_search(&pair.document).is_err() {
                skipped.by_query.entry(query).or_default().push((pair.position, pair.document));
                skipped.n += 1;
            }
        }
        for list in skipped.by_query.values_mut() {
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        for pair in dataset.clicked_positions()? {
            if skipped.by_query.contains_key(&pair.query) {
                skipped.positions.insert((pair.query, pair.document), pair.position);
            }
        }
        Ok(skipped)
    }

    fn answers(&self, query: u32, documents: Vec<(u32, f32)>) -> Answers {
        let skipped = self.by_query.get(&query).cloned().unwrap_or_default();
        let positions = if skipped.is_empty() {
            Vec::new()
        } else {
            // A click of unknown position says nothing about what was above it.
            let position = |document: u32| self.positions.get(&(query, document)).copied().unwrap_or(0.0);
            documents.iter().map(|(document, _)| position(*document)).collect()
        };
        let mut known: Vec<u32> = documents.iter().map(|(document, _)| *document).collect();
        known.sort_unstable();
        Answers { documents, known, skipped, positions }
    }
}

/// Random numbers of a block: different for every seed and block.
fn stream(seed: u64, block: u64) -> Xoshiro256PlusPlus {
    let mut key = seed ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    Xoshiro256PlusPlus::seed_from_u64(key ^ (key >> 27))
}

/// The first so many tuples that a seed gives.
pub(crate) struct SampledTuples<'a> {
    preferences: &'a Preferences,
    seed: u64,
    n: u64,
    next: u64,
    drawn: Vec<Tuple>,
}

impl<'a> SampledTuples<'a> {
    pub(crate) fn new(preferences: &'a Preferences, seed: u64, n: u64) -> Self {
        Self { preferences, seed, n, next: 0, drawn: Vec::new() }
    }
}

impl Lessons for SampledTuples<'_> {
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
        self.next = 0;
        Ok(())
    }
}
