//! BM25: scores a document by the query words it contains.
//!
//! ```text
//! score(q, d) = sum over terms t of q:  qtf(t) idf(t) tf(t, d) (k1 + 1) / (tf(t, d) + K(d))
//! K(d)        = k1 (1 - b + b |d| / average length)
//! idf(t)      = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))
//! ```
//!
//! | symbol | field | meaning |
//! |---|---|---|
//! | k1 | [`Bm25Params::k1`] | how fast repetitions of a term saturate; 0: presence only |
//! | b | [`Bm25Params::b`] | strength of the length normalisation; 0: none |
//! | N, df(t) | [`Bm25::n_documents`], [`Bm25::document_frequencies`] | documents of the collection, and those with the term |
//! | qtf, tf | the rows | counts in the query and in the document, possibly weighted by field |
//!
//! The idf is Lucene's: Robertson's with 1 added inside the logarithm, so that a term in more than half of the
//! documents does not count against a document. The factor k1 + 1 is kept; Lucene dropped it in version 8, which does
//! not change any order. A term repeated in the query counts each time.
//!
//! Scoring one document costs O(|q| log |d|). Everything is computed in f64 and summed in the order of
//! the term ids.
//!
//! Reference: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
//!
//! ```
//! use matchrank_core::matching::{Bm25, Bm25Params, SparseRow};
//!
//! // Four documents, two words: word 0 is in three of them, word 1 in one; two words long on average.
//! let bm25 = Bm25::new(&Bm25Params::default(), 4, 2.0, vec![3, 1])?;
//! let query = SparseRow::new(&[0, 1], &[1.0, 1.0])?;
//! let document = SparseRow::new(&[1], &[2.0])?;
//! let score = bm25.score(query, document, 2.0);
//! // idf(1) = ln(1 + 3.5 / 1.5), times 2 * 2.2 / (2 + 1.2)
//! assert!((score - 1.655463).abs() < 1e-6);
//! assert_eq!(bm25.explain(query, document, 2.0)[0].term, 1);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::SparseRow;
use crate::{Error, Result};

/// Parameters of [`Bm25`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bm25Params {
    /// Controls how fast repetitions of a term saturate. Default: 1.2.
    pub k1: f64,
    /// Strength of the length normalisation, from 0 to 1. Default: 0.75.
    pub b: f64,
}

impl Default for Bm25Params {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

impl Bm25Params {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.k1.is_finite() && self.k1 >= 0.0) {
            return Err(Error::Params(format!("k1 must be 0 or more and finite, not {}", self.k1)));
        }
        if !(0.0..=1.0).contains(&self.b) {
            return Err(Error::Params(format!("b must be between 0 and 1, not {}", self.b)));
        }
        Ok(())
    }
}

/// BM25 with the statistics of a collection; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Bm25 {
    params: Bm25Params,
    n_documents: u64,
    average_length: f64,
    document_frequencies: Vec<u32>,
    /// K(d) = base + slope |d|.
    base: f64,
    slope: f64,
}

/// Contribution of one term to a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Contribution {
    /// The term.
    pub term: u32,
    /// Count of the term in the query.
    pub query_count: f32,
    /// (Weighted) count of the term in the document.
    pub count: f32,
    /// Rarity of the term in the collection.
    pub idf: f64,
    /// `tf (k1 + 1) / (tf + K)`, between 0 and k1 + 1.
    pub saturation: f64,
    /// Contribution to the score: the product of the above.
    pub score: f64,
}

impl Bm25 {
    /// Builds a model from the statistics of a collection: number of documents, their mean (weighted) length, and the
    /// number of documents with each term.
    pub fn new(
        params: &Bm25Params,
        n_documents: u64,
        average_length: f64,
        document_frequencies: Vec<u32>,
    ) -> Result<Self> {
        params.validate()?;
        if !(average_length.is_finite() && average_length >= 0.0) {
            return Err(Error::Params(format!(
                "the average length of documents must be 0 or more and finite, not {average_length}"
            )));
        }
        if let Some(term) = document_frequencies.iter().position(|&df| u64::from(df) > n_documents) {
            return Err(Error::Params(format!(
                "term {term} is in {} documents, but the collection has only {n_documents}",
                document_frequencies[term]
            )));
        }
        let Bm25Params { k1, b } = *params;
        // If every document is empty, any length is average.
        let (base, slope) =
            if average_length > 0.0 { (k1 * (1.0 - b), k1 * b / average_length) } else { (k1, 0.0) };
        Ok(Self { params: *params, n_documents, average_length, document_frequencies, base, slope })
    }

    /// Builds a model from the documents of a collection, each a row of (weighted) counts and a length.
    pub fn fit<'a>(
        params: &Bm25Params,
        n_terms: usize,
        documents: impl IntoIterator<Item = (SparseRow<'a>, f32)>,
    ) -> Result<Self> {
        params.validate()?;
        let (mut n_documents, mut total_length) = (0u64, 0.0);
        let mut document_frequencies = vec![0u32; n_terms];
        for (row, length) in documents {
            n_documents += 1;
            total_length += f64::from(length);
            for &term in row.indices() {
                *document_frequencies.get_mut(term as usize).ok_or_else(|| {
                    Error::Shape(format!(
                        "document {n_documents} has term {term}, but there are only {n_terms} terms"
                    ))
                })? += 1;
            }
        }
        let average_length = if n_documents == 0 { 0.0 } else { total_length / n_documents as f64 };
        Self::new(params, n_documents, average_length, document_frequencies)
    }

    /// Returns a model with the same statistics and other parameters.
    pub fn with_params(self, params: &Bm25Params) -> Result<Self> {
        Self::new(params, self.n_documents, self.average_length, self.document_frequencies)
    }

    /// k1 and b.
    pub fn params(&self) -> &Bm25Params {
        &self.params
    }

    /// N, the number of documents of the collection.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// Mean length of the documents.
    pub fn average_length(&self) -> f64 {
        self.average_length
    }

    /// Number of documents with each term.
    pub fn document_frequencies(&self) -> &[u32] {
        &self.document_frequencies
    }

    /// Rarity of a term as in Lucene: `ln(1 + (N - df + 0.5) / (df + 0.5))`. A term that the collection does not have
    /// is the rarest.
    pub fn idf(&self, term: u32) -> f64 {
        let df = f64::from(self.document_frequencies.get(term as usize).copied().unwrap_or(0));
        ((self.n_documents as f64 - df + 0.5) / (df + 0.5)).ln_1p()
    }

    /// Returns `K(d)` for a document of this length: the count at which a term has half of its full effect.
    #[inline]
    pub fn length_norm(&self, length: f32) -> f64 {
        self.base + self.slope * f64::from(length)
    }

    /// `tf (k1 + 1) / (tf + K)`.
    #[inline]
    pub fn saturation(&self, count: f32, length_norm: f64) -> f64 {
        let count = f64::from(count);
        count * (self.params.k1 + 1.0) / (count + length_norm)
    }

    /// Scores a document, given as its row and its length, for a query.
    pub fn score(&self, query: SparseRow<'_>, document: SparseRow<'_>, length: f32) -> f64 {
        let mut score = 0.0;
        self.for_each_contribution(query, document, length, |part| score += part.score);
        score
    }

    /// Returns the contribution of each shared term, in the order of the term ids. The contributions sum to the score.
    pub fn explain(&self, query: SparseRow<'_>, document: SparseRow<'_>, length: f32) -> Vec<Contribution> {
        let mut parts = Vec::new();
        self.for_each_contribution(query, document, length, |part| parts.push(part));
        parts
    }

    fn for_each_contribution(
        &self,
        query: SparseRow<'_>,
        document: SparseRow<'_>,
        length: f32,
        mut each: impl FnMut(Contribution),
    ) {
        let norm = self.length_norm(length);
        query.for_each_shared(document, |term, query_count, count| {
            if count > 0.0 {
                let (idf, saturation) = (self.idf(term), self.saturation(count, norm));
                let score = f64::from(query_count) * idf * saturation;
                each(Contribution { term, query_count, count, idf, saturation, score });
            }
        });
    }
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

    fn fit(params: &Bm25Params, documents: &[Vec<u32>]) -> Bm25 {
        let bags: Vec<_> = documents.iter().map(|tokens| bag(tokens)).collect();
        let rows = bags
            .iter()
            .zip(documents)
            .map(|((terms, counts), tokens)| (SparseRow::new(terms, counts).unwrap(), tokens.len() as f32));
        Bm25::fit(params, 7, rows).unwrap()
    }

    fn score(bm25: &Bm25, query: &[u32], document: &[u32]) -> f64 {
        let ((qt, qc), (dt, dc)) = (bag(query), bag(document));
        let (query, row) = (SparseRow::new(&qt, &qc).unwrap(), SparseRow::new(&dt, &dc).unwrap());
        bm25.score(query, row, document.len() as f32)
    }

    #[derive(Deserialize)]
    struct Golden {
        docs: Vec<Vec<u32>>,
        queries: Vec<Vec<u32>>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        k1: f64,
        b: f64,
        scores: Vec<Vec<f64>>,
    }

    /// Relative tolerance 1e-12: both sides compute in f64.
    #[test]
    fn golden() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../../../tests/golden/bm25.json")).unwrap();
        assert_eq!(golden.cases.len(), 2);
        for case in &golden.cases {
            let bm25 = fit(&Bm25Params { k1: case.k1, b: case.b }, &golden.docs);
            for (query, expected) in golden.queries.iter().zip(&case.scores) {
                for (document, &expected) in golden.docs.iter().zip(expected) {
                    let found = score(&bm25, query, document);
                    assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn wrong_values_are_errors() {
        let bad = [(-0.1, 0.5), (f64::NAN, 0.5), (f64::INFINITY, 0.5), (1.2, 1.1), (1.2, f64::NAN)];
        for (k1, b) in bad {
            assert!(Bm25::new(&Bm25Params { k1, b }, 1, 1.0, vec![]).is_err(), "{k1} {b}");
        }
        assert!(Bm25::new(&Bm25Params::default(), 2, 1.0, vec![3]).is_err());
        assert!(Bm25::new(&Bm25Params::default(), 2, f64::NAN, vec![1]).is_err());
        let row = SparseRow::new(&[3], &[1.0]).unwrap();
        assert!(Bm25::fit(&Bm25Params::default(), 2, [(row, 1.0)]).is_err());
    }

    #[test]
    fn an_empty_collection_scores_zero() {
        let bm25 = Bm25::fit(&Bm25Params::default(), 2, []).unwrap();
        let (row, empty) = (SparseRow::new(&[0], &[1.0]).unwrap(), SparseRow::new(&[], &[]).unwrap());
        assert_eq!(bm25.score(row, empty, 0.0), 0.0);
        assert!(bm25.score(row, row, 1.0).is_finite());
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_score_and_more_is_never_worse(
            documents in prop::collection::vec(prop::collection::vec(0u32..7, 0..9), 1..9),
            query in prop::collection::vec(0u32..7, 0..6),
            k1 in 0f64..3.0, b in 0f64..=1.0,
        ) {
            let bm25 = fit(&Bm25Params { k1, b }, &documents);
            let (qt, qc) = bag(&query);
            let q = SparseRow::new(&qt, &qc).unwrap();
            for document in &documents {
                let (dt, dc) = bag(document);
                let d = SparseRow::new(&dt, &dc).unwrap();
                let length = document.len() as f32;
                let found = bm25.score(q, d, length);
                let parts = bm25.explain(q, d, length);
                prop_assert_eq!(parts.iter().map(|part| part.score).sum::<f64>(), found);
                prop_assert!(found >= 0.0 && found.is_finite());
                // One more occurrence at the same length, and the same counts in a longer document.
                let more: Vec<f32> = dc.iter().map(|count| count + 1.0).collect();
                prop_assert!(bm25.score(q, SparseRow::new(&dt, &more).unwrap(), length) >= found);
                prop_assert!(bm25.score(q, d, length + 1.0) <= found);
            }
        }
    }
}
