//! RM3, pseudo-relevance feedback: BM25 with a query to which words of its best documents are added.
//!
//! ```text
//! P(w | R) = sum over d in F:  P(w | d) s(q, d) / sum over d' in F: s(q, d')      P(w | d) = tf(w, d) / |d|
//! q'(w)    = a q(w) + (1 - a) |q| P'(w | R)
//! score    = sum over terms w of q':  q'(w) idf(w) tf(w, d) (k1 + 1) / (tf(w, d) + K(d))
//! ```
//!
//! | symbol | field | meaning |
//! |---|---|---|
//! | F | [`Rm3Params::feedback`] | best documents of the collection for q by BM25, whose scores are s(q, d) |
//! | P' | [`Rm3Params::terms`], [`Rm3Params::max_df`] | P, with the most likely words that are not too frequent; they sum to 1 |
//! | a | [`Rm3Params::original`] | share of the original query |
//! | q, \|q\| | the row of the query | counts of words, and their sum |
//!
//! The documents of F are taken as relevant, each in proportion to its score, and P(w | R) is the probability of a word in
//! them (relevance model 1). The factor |q| keeps the weight of the query: with a = 1, and where F is empty, the score is
//! that of BM25. Of two equally likely words, the one with the smaller id is kept. Everything is summed in f64, over the
//! documents in their order.
//!
//! References: V. Lavrenko and W. B. Croft, *Relevance-based language models* (SIGIR 2001), for P(w | R);
//! N. Abdul-Jaleel et al., *UMass at TREC 2004: Novelty and HARD*, for the interpolation that makes it RM3. As in Lucene
//! and Anserini, s(q, d) is the score of BM25 in place of a query likelihood, and BM25 runs the weighted query; P(w | d) is
//! not smoothed.
//!
//! ```
//! use matchrank_core::matching::rm3::{FeedbackDocument, Rm3Params, expand};
//! use matchrank_core::matching::{Bm25, Bm25Params, SparseRow};
//!
//! let bm25 = Bm25::new(&Bm25Params::default(), 10, 2.0, vec![3, 1, 8])?;
//! let query = SparseRow::new(&[0], &[1.0])?;
//! // The best document has word 0 once, word 1 twice and word 2 once; but word 2 is in most documents.
//! let best = FeedbackDocument { row: SparseRow::new(&[0, 1, 2], &[1.0, 2.0, 1.0])?, length: 4.0, score: 1.5 };
//! let params = Rm3Params { max_df: 0.5, ..Default::default() };
//! let expanded = expand(&params, &bm25, query, &[best]);
//! assert_eq!(expanded.terms, [0, 1]);
//! // Half of the query, and half of the words of the document: a third is word 0.
//! assert!((expanded.weights[0] - (0.5 + 0.5 / 3.0)).abs() < 1e-6);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::{Bm25, Bm25Params, SparseRow};
use crate::{Error, Result};

/// Parameters of RM3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rm3Params {
    /// k1 of BM25 in both passes. Default: 1.2.
    pub k1: f64,
    /// b of BM25 in both passes. Default: 0.75.
    pub b: f64,
    /// Best documents that words are taken from. Default: 10.
    pub feedback: usize,
    /// Words that are taken from them. Default: 10.
    pub terms: usize,
    /// Share of the original query, from 0 to 1. Default: 0.5.
    pub original: f64,
    /// Largest share of the documents of the collection that may have a word that is taken. Default: 0.1.
    pub max_df: f64,
}

impl Default for Rm3Params {
    fn default() -> Self {
        let Bm25Params { k1, b } = Bm25Params::default();
        Self { k1, b, feedback: 10, terms: 10, original: 0.5, max_df: 0.1 }
    }
}

impl Rm3Params {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.bm25().validate()?;
        for (name, value) in [("feedback", self.feedback), ("terms", self.terms)] {
            if !(1..=10_000).contains(&value) {
                return Err(Error::Params(format!("{name} must be between 1 and 10000, not {value}")));
            }
        }
        for (name, value) in [("original", self.original), ("max_df", self.max_df)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::Params(format!("{name} must be between 0 and 1, not {value}")));
            }
        }
        Ok(())
    }

    /// Parameters of BM25.
    pub fn bm25(&self) -> Bm25Params {
        Bm25Params { k1: self.k1, b: self.b }
    }
}

/// A document that is taken as relevant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeedbackDocument<'a> {
    /// Counts of its words.
    pub row: SparseRow<'a>,
    /// |d|: the number of its words.
    pub length: f32,
    /// s(q, d).
    pub score: f64,
}

/// A query with the weights of its words, old and new, by ascending ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpandedQuery {
    /// Ids of the words.
    pub terms: Vec<u32>,
    /// q'(w).
    pub weights: Vec<f32>,
    /// P'(w | R); 0 for words of the query alone.
    pub relevance: Vec<f64>,
}

/// Computes P'(w | R): the most likely words of the documents, ascending ids, probabilities that sum to 1.
pub fn relevance_model(
    params: &Rm3Params,
    bm25: &Bm25,
    documents: &[FeedbackDocument<'_>],
) -> Vec<(u32, f64)> {
    let most = params.max_df * bm25.n_documents() as f64;
    let is_rare =
        |term: u32| bm25.document_frequencies().get(term as usize).is_some_and(|&df| f64::from(df) <= most);
    let parts = documents.iter().filter(|document| document.length > 0.0).flat_map(|document| {
        let share = document.score / f64::from(document.length);
        document.row.iter().map(move |(term, count)| (term, share * f64::from(count)))
    });
    let mut parts: Vec<(u32, f64)> = parts.filter(|&(term, part)| part > 0.0 && is_rare(term)).collect();
    // Stable, so that parts are summed in the order of the documents.
    parts.sort_by_key(|(term, _)| *term);
    let of_term = parts.chunk_by(|a, b| a.0 == b.0);
    let mut words: Vec<(u32, f64)> =
        of_term.map(|parts| (parts[0].0, parts.iter().map(|part| part.1).sum())).collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    words.truncate(params.terms);
    words.sort_by_key(|(term, _)| *term);
    let sum: f64 = words.iter().map(|(_, part)| part).sum();
    words.iter_mut().for_each(|(_, part)| *part /= sum);
    words
}

/// Computes q': the query with words of its best documents. Without a word to take, it is the query.
pub fn expand(
    params: &Rm3Params,
    bm25: &Bm25,
    query: SparseRow<'_>,
    documents: &[FeedbackDocument<'_>],
) -> ExpandedQuery {
    let added = relevance_model(params, bm25, documents);
    let length: f64 = query.values().iter().map(|&count| f64::from(count)).sum();
    let original = if added.is_empty() { 1.0 } else { params.original };
    let own = query.iter().map(|(term, count)| (term, original * f64::from(count), 0.0));
    let new = added.iter().map(|&(term, p)| (term, (1.0 - original) * length * p, p));
    let mut all: Vec<(u32, f64, f64)> = own.chain(new).collect();
    all.sort_by_key(|(term, ..)| *term);
    let mut expanded = ExpandedQuery::default();
    for parts in all.chunk_by(|a, b| a.0 == b.0) {
        let weight = parts.iter().map(|part| part.1).sum::<f64>() as f32;
        if weight > 0.0 {
            expanded.terms.push(parts[0].0);
            expanded.weights.push(weight);
            expanded.relevance.push(parts.iter().map(|part| part.2).sum());
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bag(tokens: &[u32]) -> (Vec<u32>, Vec<f32>) {
        let mut sorted = tokens.to_vec();
        sorted.sort_unstable();
        sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)).unzip()
    }

    /// Documents with the model of their collection.
    struct Collection {
        bags: Vec<(Vec<u32>, Vec<f32>)>,
        lengths: Vec<f32>,
        bm25: Bm25,
    }

    impl Collection {
        fn new(params: &Rm3Params, documents: &[Vec<u32>]) -> Self {
            let bags: Vec<_> = documents.iter().map(|tokens| bag(tokens)).collect();
            let lengths: Vec<f32> = documents.iter().map(|tokens| tokens.len() as f32).collect();
            let rows = bags.iter().map(|(terms, counts)| SparseRow::new(terms, counts).unwrap());
            let bm25 = Bm25::fit(&params.bm25(), 8, rows.zip(lengths.iter().copied())).unwrap();
            Self { bags, lengths, bm25 }
        }

        fn row(&self, document: usize) -> SparseRow<'_> {
            SparseRow::new(&self.bags[document].0, &self.bags[document].1).unwrap()
        }

        fn scores(&self, query: SparseRow<'_>) -> Vec<f64> {
            (0..self.bags.len())
                .map(|document| self.bm25.score(query, self.row(document), self.lengths[document]))
                .collect()
        }

        /// Both passes.
        fn expanded(&self, params: &Rm3Params, query: &[u32]) -> (ExpandedQuery, Vec<f64>) {
            let (terms, counts) = bag(query);
            let query = SparseRow::new(&terms, &counts).unwrap();
            let scores = self.scores(query);
            let mut best: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] > 0.0).collect();
            best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            best.truncate(params.feedback);
            let documents: Vec<FeedbackDocument<'_>> = best
                .iter()
                .map(|&i| FeedbackDocument { row: self.row(i), length: self.lengths[i], score: scores[i] })
                .collect();
            let expanded = expand(params, &self.bm25, query, &documents);
            let scores = self.scores(SparseRow::new(&expanded.terms, &expanded.weights).unwrap());
            (expanded, scores)
        }
    }

    #[derive(Deserialize)]
    struct Golden {
        docs: Vec<Vec<u32>>,
        queries: Vec<Vec<u32>>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        params: Rm3Params,
        /// For each query, its words with their weights, and the scores of all documents.
        expanded: Vec<Vec<(u32, f64)>>,
        scores: Vec<Vec<f64>>,
    }

    /// Relative tolerance 1e-6: weights are stored as f32.
    #[test]
    fn golden() {
        let golden: Golden = serde_json::from_str(include_str!("../../../../tests/golden/rm3.json")).unwrap();
        assert!(golden.cases.len() >= 4);
        let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-6 * expected.abs();
        for case in &golden.cases {
            let collection = Collection::new(&case.params, &golden.docs);
            for (i, query) in golden.queries.iter().enumerate() {
                let (expanded, scores) = collection.expanded(&case.params, query);
                let expected = &case.expanded[i];
                assert_eq!(expanded.terms, expected.iter().map(|word| word.0).collect::<Vec<_>>());
                for (&found, &(_, expected)) in expanded.weights.iter().zip(expected) {
                    assert!(close(f64::from(found), expected), "{found} {expected}");
                }
                for (&found, &expected) in scores.iter().zip(&case.scores[i]) {
                    assert!(close(found, expected), "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn values_out_of_range_are_errors() {
        let good = Rm3Params::default();
        assert!(good.validate().is_ok());
        let bad = [
            Rm3Params { k1: -1.0, ..good },
            Rm3Params { b: 2.0, ..good },
            Rm3Params { feedback: 0, ..good },
            Rm3Params { terms: 0, ..good },
            Rm3Params { terms: 20_000, ..good },
            Rm3Params { original: 1.5, ..good },
            Rm3Params { original: f64::NAN, ..good },
            Rm3Params { max_df: -0.5, ..good },
        ];
        for params in bad {
            assert!(params.validate().is_err(), "{params:?}");
        }
    }

    /// P(w | R) by its definition, over a dense vector of all words.
    fn slow(params: &Rm3Params, collection: &Collection, query: &[u32]) -> Vec<f64> {
        let bm25 = &collection.bm25;
        let count = |tokens: &[u32], word| tokens.iter().filter(|&&token| token == word).count() as f64;
        let documents: Vec<Vec<u32>> = collection
            .bags
            .iter()
            .map(|(terms, counts)| {
                terms.iter().zip(counts).flat_map(|(&t, &n)| vec![t; n as usize]).collect()
            })
            .collect();
        let (terms, counts) = bag(query);
        let scores = collection.scores(SparseRow::new(&terms, &counts).unwrap());
        let mut order: Vec<usize> = (0..documents.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let mut p = vec![0.0; 8];
        for &i in order.iter().take(params.feedback).filter(|&&i| scores[i] > 0.0) {
            for (word, p) in (0..).zip(&mut p) {
                // Rounded as in the other version, so that words that tie there tie here.
                *p += scores[i] / documents[i].len() as f64 * count(&documents[i], word);
            }
        }
        for (word, p) in p.iter_mut().enumerate() {
            if f64::from(bm25.document_frequencies()[word]) > params.max_df * documents.len() as f64 {
                *p = 0.0;
            }
        }
        let mut best: Vec<usize> = (0..8).collect();
        best.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
        best.iter().skip(params.terms).for_each(|&word| p[word] = 0.0);
        let sum: f64 = p.iter().sum();
        let a = if sum > 0.0 { params.original } else { 1.0 };
        (0..8)
            .map(|word| {
                let relevance = if sum > 0.0 { p[word as usize] / sum } else { 0.0 };
                a * count(query, word) + (1.0 - a) * query.len() as f64 * relevance
            })
            .collect()
    }

    proptest! {
        #[test]
        fn expansion_is_the_formula(
            documents in prop::collection::vec(prop::collection::vec(0u32..8, 0..12), 1..12),
            query in prop::collection::vec(0u32..8, 0..6),
            feedback in 1usize..6, terms in 1usize..7,
            original in 0f64..=1.0, max_df in 0f64..=1.0,
        ) {
            let params = Rm3Params { feedback, terms, original, max_df, ..Default::default() };
            let collection = Collection::new(&params, &documents);
            let (expanded, _) = collection.expanded(&params, &query);
            let mut found = [0.0; 8];
            for (&term, &weight) in expanded.terms.iter().zip(&expanded.weights) {
                found[term as usize] = f64::from(weight);
            }
            for (found, expected) in found.iter().zip(slow(&params, &collection, &query)) {
                prop_assert!((found - expected).abs() <= 1e-6 * (1.0 + expected), "{found} {expected}");
            }
            // The weight of the query is kept, and so is BM25 where nothing is added.
            let total: f64 = found.iter().sum();
            prop_assert!((total - query.len() as f64).abs() < 1e-5);
            let params = Rm3Params { original: 1.0, ..params };
            let (_, scores) = collection.expanded(&params, &query);
            let (terms, counts) = bag(&query);
            prop_assert_eq!(scores, collection.scores(SparseRow::new(&terms, &counts).unwrap()));
        }
    }
}
