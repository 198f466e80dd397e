//! Shares of the clicks of all queries that have a word, word by word.

use matchrank_core::Result;
use matchrank_core::linalg::{Csr, CsrBuilder};
use rayon::prelude::*;

use crate::dataset::{Clicks, Names};
use crate::text::Analyser;

pub(super) struct WordCounts {
    /// Words of the training queries.
    pub(super) words: Names,
    /// ln(1 + N / N_w) of each word.
    weights: Vec<f64>,
    /// n(w, d) / n(w), a row for each word.
    pub(super) by_word: Csr,
}

impl WordCounts {
    pub(super) fn new(analyser: &Analyser, clicks: &Clicks) -> Result<Self> {
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
            queries.par_iter().map(|queries| gather(queries, clicks)).collect();
        let mut by_word = CsrBuilder::new(clicks.by_query().n_columns());
        for row in gathered {
            row.into_iter().for_each(|(document, share)| by_word.push(document, share));
            by_word.end_row();
        }
        let n = clicks.queries().len() as f64;
        let weights = queries.iter().map(|queries| (n / queries.len() as f64).ln_1p()).collect();
        Ok(Self { words, weights, by_word: by_word.finish()? })
    }

    /// The known words of a text with their weights a_w, which sum to 1.
    pub(super) fn weighed(&self, analyser: &Analyser, text: &str) -> Vec<(u32, f64)> {
        let mut known: Vec<u32> = Vec::new();
        analyser.tokens(text, |token| {
            known.extend(self.words.find(token).filter(|word| !known.contains(word)));
        });
        let weight = |word: u32| self.weights[word as usize];
        let total: f64 = known.iter().map(|&word| weight(word)).sum();
        known.into_iter().map(|word| (word, weight(word) / total)).collect()
    }
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
