//! The bilingual topic model over text: topics with the words that they stand for.

use matchrank_core::matching::bltm::{Bltm, BltmParams};
use matchrank_core::matching::{Factor, dot};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::WeightedWord;
use super::related::unknown;
use crate::features::ClickTf;
use crate::text::BagOfWords;

/// A bilingual topic model over text.
#[derive(Debug, Clone)]
pub struct BltmModel {
    /// Parameters of its training and of its scores.
    pub params: BltmParams,
    /// How texts become counts of words.
    pub words: BagOfWords,
    /// The topics.
    pub topics: Bltm,
    /// What its training reported.
    pub report: BltmReport,
}

/// What the training of a bilingual topic model reported; kept in its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BltmReport {
    /// What counts of clicks became.
    pub click_tf: ClickTf,
    /// Pairs of a query and a document it learned from.
    pub n_pairs: usize,
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
    /// The iteration whose model was kept.
    pub best: Option<usize>,
    /// Iterations.
    pub iterations: Vec<BltmIteration>,
}

/// An iteration of EM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BltmIteration {
    /// From 1.
    pub number: usize,
    /// Mean logarithm of the likelihood of a word.
    pub log_likelihood: f64,
    /// NDCG@10 on the validation judgments, where it was measured.
    pub validation: Option<f64>,
    /// Seconds it took, validation not counted. Not kept in files: the same training makes the same file.
    #[serde(skip)]
    pub seconds: f64,
}

/// A topic as people may read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topic {
    /// Its number, from 0.
    pub number: usize,
    /// Its mean share over the training pairs.
    pub share: f32,
    /// The likeliest words of queries.
    pub query_words: Vec<String>,
    /// The likeliest words of documents.
    pub document_words: Vec<String>,
}

impl BltmModel {
    /// Checks that there is a place for every word.
    pub fn validate(&self) -> Result<()> {
        let n_words = self.words.vocabulary.len();
        let found = (self.topics.queries().n_features(), self.topics.documents().n_features());
        if found != (n_words, n_words) || self.topics.n_topics() != self.params.topics {
            return Err(Error::Shape(format!(
                "{} topics over {} query words and {} document words, and there should be {} over {n_words}",
                self.topics.n_topics(),
                found.0,
                found.1,
                self.params.topics
            )));
        }
        self.params.validate()
    }

    /// All topics, the one with the largest share first, each with its `n` likeliest words.
    pub fn list_topics(&self, n: usize) -> Vec<Topic> {
        let topic = |z: usize| Topic {
            number: z,
            share: self.topics.prior()[z],
            query_words: self.likeliest(self.topics.queries(), z, n),
            document_words: self.likeliest(self.topics.documents(), z, n),
        };
        let mut topics: Vec<Topic> = (0..self.topics.n_topics()).map(topic).collect();
        topics.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.number.cmp(&b.number)));
        topics
    }

    /// The likeliest words of a topic on one side; ties by the id of the word.
    pub(super) fn likeliest(&self, side: &Factor, z: usize, n: usize) -> Vec<String> {
        let mut words: Vec<(u32, f32)> = rows(side).map(|(word, row)| (word, row[z])).collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.iter().take(n).map(|(word, _)| self.words.vocabulary.term(*word).to_owned()).collect()
    }

    /// The document words that are likeliest beside the words of a query: p(v | query) = sum_z p(v | z)
    /// p(z | query), p(z | query) by the mean of p(z | w) over its words. Ties by the id of the word; words of
    /// fewer than `min_documents` documents are left out.
    pub fn related(&self, query: &str, top: usize, min_documents: u32) -> Result<Vec<WeightedWord>> {
        let bag = self.words.query(query);
        let mut theta = vec![0f32; self.topics.n_topics()];
        for (word, n) in bag.row().iter() {
            let mut row = vec![0f32; theta.len()];
            self.topics.queries().add(word, 1.0, &mut row);
            row.iter_mut().zip(self.topics.prior()).for_each(|(p, share)| *p *= share);
            let sum: f32 = row.iter().sum();
            if sum > 0.0 {
                theta.iter_mut().zip(&row).for_each(|(theta, p)| *theta += n * p / sum);
            }
        }
        let sum: f32 = theta.iter().sum();
        if sum == 0.0 && bag.indices.is_empty() {
            return Err(unknown(query, &self.words));
        }
        if sum == 0.0 {
            return Err(Error::Params(format!(
                "the model has learned nothing about {query:?}: no training query with a response has it"
            )));
        }
        theta.iter_mut().for_each(|theta| *theta /= sum);
        let vocabulary = &self.words.vocabulary;
        let mut found: Vec<(u32, f32)> = rows(self.topics.documents())
            .filter(|(word, _)| vocabulary.document_frequency(*word) >= min_documents.max(1))
            .map(|(word, row)| (word, dot(row, &theta)))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(top);
        let weighted = |(word, weight)| WeightedWord {
            word: vocabulary.term(word).to_owned(),
            weight,
            n_documents: vocabulary.document_frequency(word),
        };
        Ok(found.into_iter().map(weighted).collect())
    }

    /// p(w | C): the share of every word in the collection, each counted once more, so that none is 0.
    pub(crate) fn background(words: &BagOfWords) -> Vec<f32> {
        let counts = words.vocabulary.collection_frequencies();
        let total: f64 = counts.iter().map(|&n| n as f64 + 1.0).sum();
        counts.iter().map(|&n| ((n as f64 + 1.0) / total) as f32).collect()
    }
}

/// The words that have a row, with p(w | z).
fn rows(side: &Factor) -> impl Iterator<Item = (u32, &[f32])> {
    let values = match side.rows() {
        matchrank_core::matching::Rows::Dense(values) => values.as_slice(),
        matchrank_core::matching::Rows::Sparse(_) => unreachable!("topics are dense"),
    };
    let kept = (0..).zip(side.row_of()).filter(|(_, row)| **row != Factor::NONE);
    kept.map(move |(word, &row)| (word, &values[row as usize * side.d()..][..side.d()]))
}
