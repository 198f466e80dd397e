//! Click counts bound to the clicks and documents of a dataset.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::linalg::{Csr, CsrBuilder, SparseRow};
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use crate::dataset::{Clicks, Names};
use crate::models::BoundDocuments;
use crate::scoring::{Explanation, Hit, Matcher, Pair, Scorer, SparseScorer, TopK, Why};
use crate::text::Analyser;

pub(super) struct ClickCountMatcher<'a> {
    mu: f64,
    documents: BoundDocuments<'a>,
    clicks: Arc<Clicks>,
    analyser: Analyser,
    /// Words of the training queries.
    words: Names,
    /// Training queries that have each word.
    n_queries: Vec<u32>,
    /// n(w, d) / n(w), a row for each word.
    by_word: Csr,
}

/// A reason for a score: a share of the probability, and the documents that it is spread over.
struct Reason<'m> {
    name: String,
    share: f64,
    /// Responses by document, and their sum.
    responses: (SparseRow<'m>, f64),
}

impl<'a> ClickCountMatcher<'a> {
    pub(super) fn new(mu: f64, documents: BoundDocuments<'a>, clicks: Arc<Clicks>) -> Result<Self> {
        let analyser = Analyser::new(&documents.dataset.manifest.analyser)?;
        let mut words = Names::default();
        // Queries of each word.
        let mut queries: Vec<Vec<u32>> = Vec::new();
        for (row, text) in clicks.queries() {
            analyser.tokens(text, |token| {
                let word = words.insert(token).unwrap_or_else(|known| known) as usize;
                queries.resize_with(queries.len().max(word + 1), Vec::new);
                if queries[word].last() != Some(&row) {
                    queries[word].push(row);
                }
            });
        }
        let gathered: Vec<Vec<(u32, f32)>> =
            queries.par_iter().map(|queries| gather(queries, &clicks)).collect();
        let mut by_word = CsrBuilder::new(clicks.by_query().n_columns());
        for row in gathered {
            row.into_iter().for_each(|(document, share)| by_word.push(document, share));
            by_word.end_row();
        }
        let n_queries = queries.iter().map(|queries| queries.len() as u32).collect();
        Ok(Self { mu, documents, clicks, analyser, words, n_queries, by_word: by_word.finish()? })
    }

    /// Returns the parts of the score of a query.
    fn reasons(&self, query: &str) -> Vec<Reason<'_>> {
        let own = self.clicks.row_of(query).map(|row| self.clicks.of_query(row));
        let n_own = own.map_or(0.0, sum);
        let mut known: Vec<u32> = Vec::new();
        self.analyser.tokens(query, |token| {
            known.extend(self.words.find(token).filter(|word| !known.contains(word)));
        });
        let n = self.clicks.queries().len() as f64;
        let weight = |word: u32| (n / f64::from(self.n_queries[word as usize])).ln_1p();
        let total: f64 = known.iter().map(|&word| weight(word)).sum();
        let words = known.iter().map(|&word| Reason {
            name: self.words.get(word).to_owned(),
            share: self.mu / (n_own + self.mu) * weight(word) / total,
            responses: (self.by_word.row(word as usize), 1.0),
        });
        let own = own.map(|row| Reason {
            name: format!("query:{query}"),
            share: n_own / (n_own + self.mu),
            responses: (row, n_own),
        });
        own.into_iter().chain(words).collect()
    }

    /// The documents that a query reaches, as the matcher knows them, ascending.
    fn scores(&self, query: &str) -> Vec<(u32, f32)> {
        let reasons = self.reasons(query);
        let parts = reasons.iter().flat_map(|Reason { share, responses: (row, n), .. }| {
            row.iter().map(move |(document, response)| (document, share * f64::from(response) / n))
        });
        let mut parts: Vec<(u32, f64)> = parts.collect();
        // Stable, so that parts are summed in the order of the reasons.
        parts.sort_by_key(|(document, _)| *document);
        let of_document = parts.chunk_by(|a, b| a.0 == b.0);
        let scores =
            of_document.map(|parts| (parts[0].0, parts.iter().map(|part| part.1).sum::<f64>() as f32));
        match self.documents.wanted {
            None => scores.collect(),
            Some(wanted) => scores
                .filter_map(|(row, score)| Some((wanted.binary_search(&row).ok()? as u32, score)))
                .collect(),
        }
    }
}

/// The sum of the responses of a row.
fn sum(row: SparseRow<'_>) -> f64 {
    row.values().iter().map(|&n| f64::from(n)).sum()
}

/// The documents clicked for some queries, ascending, with their shares of the clicks.
fn gather(queries: &[u32], clicks: &Clicks) -> Vec<(u32, f32)> {
    let mut responses: Vec<(u32, f32)> =
        queries.iter().flat_map(|&query| clicks.of_query(query).iter()).collect();
    responses.sort_by_key(|(document, _)| *document);
    let total: f64 = responses.iter().map(|(_, n)| f64::from(*n)).sum();
    let of_document = responses.chunk_by(|a, b| a.0 == b.0);
    let share = |pairs: &[(u32, f32)]| pairs.iter().map(|pair| f64::from(pair.1)).sum::<f64>() / total;
    of_document.map(|pairs| (pairs[0].0, share(pairs) as f32)).collect()
}

impl Matcher for ClickCountMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        Ok(Box::new(SparseScorer { scores: queries.par_iter().map(|query| self.scores(query)).collect() }))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let row = self.documents.row(document);
        let id = self.documents.dataset.document_ids_of(&[row])?.remove(&row).unwrap_or_default();
        let mut pairs: Vec<Pair> = Vec::new();
        for Reason { name, share, responses: (responses, n) } in self.reasons(query) {
            if let Some((_, response)) = responses.iter().find(|(other, _)| *other == row) {
                let affinity = f64::from(response) / n;
                pairs.push(Pair {
                    query_feature: name,
                    document_feature: format!("document:{id}"),
                    x: share as f32,
                    affinity: affinity as f32,
                    y: 1.0,
                    score: (share * affinity) as f32,
                });
            }
        }
        pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
        let score = pairs.iter().map(|pair| f64::from(pair.score)).sum::<f64>() as f32;
        let score = (!pairs.is_empty()).then_some(score);
        Ok(Explanation { score, why: Why::Pairs { pairs, others: 0.0 } })
    }

    fn top(&self, queries: &[&str], k: usize, progress: &dyn Progress) -> Result<Vec<Vec<Hit>>> {
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        let of_query = |query: &&str| {
            let mut top = TopK::new(k);
            self.scores(query).iter().for_each(|&(document, score)| top.offer(Hit { document, score }));
            progress.advance(1);
            top.into_hits()
        };
        Ok(queries.par_iter().map(of_query).collect())
    }
}
