//! The training queries that are most like a query, by words, pairs of words and runs of letters.
//!
//! ```text
//! x(q) = [ words and pairs of adjacent words | runs of 3 to 5 letters of the words ]
//! likeness(q, q') = (x(q)' x(q') / (|x(q)| |x(q')|))^power
//! ```
//!
//! Both blocks hold counts times ln((1 + N) / (1 + N_f)) + 1, where N_f of the N training queries have the feature f, and are
//! scaled to length 1. A word has a blank on both sides before it is cut into runs. Features that no training query has are left
//! out. Runs find queries that are spelled or written differently: `haloreach`, `halo reech`.
//!
//! The index takes eight bytes for every feature of every training query; a query costs the postings of its features.

use std::cell::Cell;

use matchrank_core::Result;
use matchrank_core::linalg::{Csr, CsrBuilder};

use crate::dataset::{Clicks, Names};
use crate::text::Analyser;

/// Lengths of the runs of letters.
const RUNS: std::ops::RangeInclusive<usize> = 3..=5;

pub(super) struct SimilarQueries {
    blocks: [Block; 2],
    /// Length of x of every query, which its blocks make.
    lengths: Vec<f32>,
}

thread_local! {
    /// A product for every training query; all 0 between calls.
    static PRODUCTS: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

impl SimilarQueries {
    /// Indexes the queries with clicks, which keep their order.
    pub(super) fn new(analyser: &Analyser, clicks: &Clicks) -> Result<Self> {
        let mut makers = [BlockMaker::default(), BlockMaker::default()];
        for (_, text) in clicks.queries() {
            for (maker, features) in makers.iter_mut().zip(features(analyser, text)) {
                maker.push(&features);
            }
        }
        let [words, runs] = makers;
        let blocks = [words.finish()?, runs.finish()?];
        let length = |query: usize| blocks.iter().filter(|block| block.is_filled[query]).count() as f32;
        let lengths = (0..clicks.queries().len()).map(|query| length(query).sqrt()).collect();
        Ok(Self { blocks, lengths })
    }

    /// Returns the `nearest` queries with anything in common, by their order in the index, with the cosines of their angles,
    /// the largest first; of equal ones the first.
    pub(super) fn nearest(&self, analyser: &Analyser, query: &str, nearest: usize) -> Vec<(usize, f64)> {
        let mut products = PRODUCTS.take();
        products.resize(products.len().max(self.lengths.len()), 0.0);
        let (mut touched, mut filled) = (Vec::new(), 0u8);
        for (block, features) in self.blocks.iter().zip(features(analyser, query)) {
            let row = block.row(&features);
            filled += u8::from(!row.is_empty());
            for (feature, weight) in row {
                for (other, value) in block.by_feature.row(feature as usize).iter() {
                    let product = &mut products[other as usize];
                    if *product == 0.0 {
                        touched.push(other as usize);
                    }
                    *product += weight * value;
                }
            }
        }
        let length = f32::from(filled).sqrt();
        let cosine = |other: usize| f64::from(products[other] / (length * self.lengths[other]));
        let mut found: Vec<(usize, f64)> = touched.iter().map(|&other| (other, cosine(other))).collect();
        touched.iter().for_each(|&other| products[other] = 0.0);
        PRODUCTS.set(products);
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if found.len() > nearest {
            found.select_nth_unstable_by(nearest, order);
            found.truncate(nearest);
        }
        found.sort_unstable_by(order);
        found
    }
}

/// One of the two parts of x, by feature.
struct Block {
    names: Names,
    idf: Vec<f32>,
    by_feature: Csr,
    /// Queries that have a feature.
    is_filled: Vec<bool>,
}

impl Block {
    /// The features that training queries have, ascending, of length 1.
    fn row(&self, features: &[String]) -> Vec<(u32, f32)> {
        let known = features.iter().filter_map(|feature| self.names.find(feature)).collect();
        weighed(known, &self.idf)
    }
}

/// Counts times idf, of length 1.
fn weighed(mut features: Vec<u32>, idf: &[f32]) -> Vec<(u32, f32)> {
    features.sort_unstable();
    let of_run = |run: &[u32]| (run[0], run.len() as f32 * idf[run[0] as usize]);
    let mut row: Vec<(u32, f32)> = features.chunk_by(|a, b| a == b).map(of_run).collect();
    let length = row.iter().map(|(_, value)| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    row.iter_mut().for_each(|(_, value)| *value = (f64::from(*value) / length) as f32);
    row
}

/// Gathers a block query by query.
#[derive(Default)]
struct BlockMaker {
    names: Names,
    /// Features of every query, as often as they occur.
    queries: Vec<Vec<u32>>,
}

impl BlockMaker {
    fn push(&mut self, features: &[String]) {
        let number = |feature: &String| self.names.insert(feature).unwrap_or_else(|known| known);
        self.queries.push(features.iter().map(number).collect());
    }

    fn finish(self) -> Result<Block> {
        let Self { names, queries } = self;
        let mut n_queries = vec![0u32; names.len()];
        for query in &queries {
            let mut features = query.clone();
            features.sort_unstable();
            features.dedup();
            features.iter().for_each(|&feature| n_queries[feature as usize] += 1);
        }
        let n = queries.len() as f64;
        let idf = |&n_with: &u32| (((1.0 + n) / (1.0 + f64::from(n_with))).ln() + 1.0) as f32;
        let idf: Vec<f32> = n_queries.iter().map(idf).collect();
        let is_filled = queries.iter().map(|query| !query.is_empty()).collect();
        let mut by_query = CsrBuilder::new(names.len());
        for query in queries {
            weighed(query, &idf).into_iter().for_each(|(feature, value)| by_query.push(feature, value));
            by_query.end_row();
        }
        Ok(Block { names, idf, by_feature: by_query.finish()?.transpose(), is_filled })
    }
}

/// The features of a text: words and pairs of words, and runs of letters.
fn features(analyser: &Analyser, text: &str) -> [Vec<String>; 2] {
    let (mut words, mut runs) = (Vec::new(), Vec::new());
    // Longer sequences of an analyser that makes them are left out.
    analyser.tokens(text, |token| words.extend((!token.contains(' ')).then(|| token.to_owned())));
    words.iter().for_each(|word| add_runs(word, &mut runs));
    let pairs: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
    words.extend(pairs);
    [words, runs]
}

/// Adds the runs of letters of a word between blanks. A word that is shorter than a run is one run.
fn add_runs(word: &str, runs: &mut Vec<String>) {
    let letters: Vec<char> = format!(" {word} ").chars().collect();
    for n in RUNS {
        if letters.len() <= n {
            return runs.push(letters.iter().collect());
        }
        runs.extend(letters.windows(n).map(|run| run.iter().collect::<String>()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_into_runs_between_blanks() {
        let mut runs = Vec::new();
        add_runs("halo", &mut runs);
        assert_eq!(runs, [" ha", "hal", "alo", "lo ", " hal", "halo", "alo ", " halo", "halo "]);
        let mut runs = Vec::new();
        add_runs("3", &mut runs);
        assert_eq!(runs, [" 3 "]);
        let mut runs = Vec::new();
        add_runs("né", &mut runs);
        assert_eq!(runs, [" né", "né ", " né "]);
    }
}
