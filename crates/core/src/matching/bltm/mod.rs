//! The bilingual topic model: a query and a clicked document are about the same topics, each in its own words.
//!
//! **Model.** Every pair of a query and a clicked document has a distribution theta over K topics; every topic
//! z has a distribution over the words of queries, p_x(w | z), and one over the words of documents, p_y(w | z).
//! Each word of the query, and each word of the document, comes from a topic drawn from theta.
//!
//! **Objective**: the sum over pairs, each with its weight c, of
//! sum_w n_w ln sum_z p(w | z) theta_z over the words of both, plus alpha sum_z ln theta_z; and beta times the
//! sum of ln p(w | z) over topics and the words that occur.
//!
//! **Update** ([`Em`]): expectation and maximisation, first of every theta, then of the words of all topics:
//!
//! theta_z is proportional to alpha + theta_z sum_w n_w p(w | z) / s_w, with s_w = sum_z p(w | z) theta_z;
//! p(w | z) is proportional to beta + p(w | z) sum of c n_w theta_z / s_w over the pairs with the word.
//!
//! Both are steps of EM with the other half fixed, so the objective never falls.
//!
//! **Score** of a document: its topics are found from its words alone, by the same update of theta with
//! p_y fixed ([`Bltm::topics_of`]). A query then has the score
//!
//! sum_w n_w ln(1 + (lambda p(w | d) + mu sum_z p_x(w | z) theta_z) / ((1 - lambda - mu) p(w | C)))
//!
//! with p(w | d) the share of the word in the document and p(w | C) its share in the collection. This is the logarithm
//! of the smoothed likelihood of the query, less that of the collection alone, which is the same for all documents. So
//! a document that has nothing to do with the query scores about 0.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | p_x, p_y | [`Bltm::queries`], [`Bltm::documents`] | words x K, for words that occur |
//! | K, alpha, beta | [`BltmParams`] | |
//! | lambda, mu | [`BltmParams::document`], [`BltmParams::topic`] | |
//!
//! **Cost** of an iteration: 8 K operations for every word of every pair. Memory: 4 K bytes for every pair and for
//! every word of either side, and 4 bytes for every word of every pair. All threads are used. The result is the same
//! for any number of threads, because each sum is computed by one thread in a fixed order.
//!
//! Reference: J. Gao, K. Toutanova, W. Yih, *Clickthrough-Based Latent Semantic Models for Web Search*, SIGIR
//! 2011, section 3. The paper draws theta from a Dirichlet prior, as here, by alpha + 1, and smooths the score
//! with the document and the collection, as here.
//!
//! ```
//! use matchrank_core::matching::bltm::{BltmParams, Em};
//! use matchrank_core::matching::Csr;
//! use matchrank_core::progress::Silent;
//!
//! // Queries say "car" (0) or "boat" (1), documents "automobile" (2) or "ship" (3).
//! let queries = Csr::from_triples(2, 4, [(0, 0, 1.0), (1, 1, 1.0)])?;
//! let documents = Csr::from_triples(2, 4, [(0, 2, 2.0), (1, 3, 2.0)])?;
//! let clicks = Csr::from_triples(2, 2, [(0, 0, 1.0), (1, 1, 1.0)])?;
//! let params = BltmParams { topics: 2, alpha: 0.0, ..Default::default() };
//! let mut em = Em::new(&params, [&queries, &documents], &clicks, 1)?;
//! (0..20).for_each(|_| { em.iterate(&Silent); });
//! let model = em.model()?;
//! let automobile = model.topics_of(documents.row(0), &params);
//! let [car, boat] = [0, 1].map(|word| model.likelihood(word, &automobile));
//! assert!(car > 0.9 && boat < 0.1);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod em;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use em::Em;

use crate::matching::{Factor, SparseRow, dot};
use crate::{Error, Result};

/// Parameters of the bilingual topic model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BltmParams {
    /// K: number of topics. Default: 100.
    pub topics: usize,
    /// Maximum number of iterations. Default: 50.
    pub iterations: usize,
    /// alpha: strength of the pull of a pair's topics towards equal shares. Default: 0.01.
    pub alpha: f64,
    /// beta: strength of the pull of a topic's words towards equal shares. Default: 0.01.
    pub beta: f64,
    /// Number of updates that find the topics of a document. Default: 20.
    pub steps: usize,
    /// lambda: share of the document's own words in the smoothed likelihood. Default: 0.2.
    pub document: f64,
    /// mu: share of the topics. Default: 0.1. The remaining share is that of the collection.
    pub topic: f64,
}

impl Default for BltmParams {
    fn default() -> Self {
        Self { topics: 100, iterations: 50, alpha: 0.01, beta: 0.01, steps: 20, document: 0.2, topic: 0.1 }
    }
}

impl BltmParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        let Self { topics, iterations, alpha, beta, steps, document, topic } = *self;
        let wrong = |message: String| Err(Error::Params(message));
        if !(1..=1 << 16).contains(&topics) {
            return wrong(format!("topics must be from 1 to 65536, not {topics}"));
        }
        for (name, n) in [("iterations", iterations), ("steps", steps)] {
            if !(1..=100_000).contains(&n) {
                return wrong(format!("{name} must be from 1 to 100000, not {n}"));
            }
        }
        for (name, value) in [("alpha", alpha), ("beta", beta)] {
            if !(0.0..=1e6).contains(&value) {
                return wrong(format!("{name} must be from 0 to 1000000, not {value}"));
            }
        }
        let shares = document >= 0.0 && topic >= 0.0 && document + topic > 0.0 && document + topic < 1.0;
        if !shares {
            return wrong(format!(
                "document and topic must be 0 or more, and together above 0 and below 1, not {document} and {topic}"
            ));
        }
        Ok(())
    }

    /// Contribution of a word of the query to a score: ln(1 + (lambda p(w | d) + mu p(w | topics)) / ((1 - lambda - mu)
    /// p(w | C))).
    pub fn evidence(&self, in_document: f32, by_topics: f32, in_collection: f32) -> f32 {
        let rest = (1.0 - self.document - self.topic) as f32;
        let found = self.document as f32 * in_document + self.topic as f32 * by_topics;
        (found / (rest * in_collection)).ln_1p()
    }
}

/// Topics with their word distributions on both sides; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Bltm {
    queries: Factor,
    documents: Factor,
    prior: Vec<f32>,
}

impl Bltm {
    /// Builds a model from p_x(w | z) and p_y(w | z), a row for every word that occurs, and the mean of theta.
    pub fn new(queries: Factor, documents: Factor, prior: Vec<f32>) -> Result<Self> {
        if (queries.d(), documents.d()) != (prior.len(), prior.len()) {
            return Err(Error::Shape(format!(
                "words of queries have {} topics, words of documents {}, and the prior {}; these must be equal",
                queries.d(),
                documents.d(),
                prior.len()
            )));
        }
        let probability = |value: &f32| (0.0..=1.0 + 1e-3).contains(value);
        let of_words = [&queries, &documents].into_iter().all(|factor| match factor.rows() {
            super::Rows::Dense(values) => values.iter().all(probability),
            super::Rows::Sparse(_) => false,
        });
        if !of_words || !prior.iter().all(probability) {
            return Err(Error::Shape("a topic probability is not between 0 and 1".into()));
        }
        Ok(Self { queries, documents, prior })
    }

    /// K, the number of topics.
    pub fn n_topics(&self) -> usize {
        self.prior.len()
    }

    /// p_x(w | z), a row of K values for every word of queries.
    pub fn queries(&self) -> &Factor {
        &self.queries
    }

    /// p_y(w | z), a row of K values for every word of documents.
    pub fn documents(&self) -> &Factor {
        &self.documents
    }

    /// Mean of theta over the training pairs.
    pub fn prior(&self) -> &[f32] {
        &self.prior
    }

    /// Computes p(z | d) from the word counts of a document; the mean of theta if no word is known.
    pub fn topics_of(&self, document: SparseRow<'_>, params: &BltmParams) -> Vec<f32> {
        let super::Rows::Dense(values) = self.documents.rows() else { unreachable!("rows are dense") };
        let row_of = self.documents.row_of();
        let known = |(word, n): (u32, f32)| {
            row_of.get(word as usize).filter(|&&row| row != Factor::NONE).map(|&row| (row, n))
        };
        let (rows, counts): (Vec<u32>, Vec<f32>) = document.iter().filter_map(known).unzip();
        let mut theta = self.prior.clone();
        if !rows.is_empty() {
            let mut sums = vec![0.0; theta.len()];
            for _ in 0..params.steps {
                sums.fill(0.0);
                em::add_shares(&rows, &counts, values, &theta, &mut sums);
                em::update_theta(&mut theta, &sums, params.alpha);
            }
        }
        theta
    }

    /// Computes sum_z p_x(w | z) theta_z: the probability of a word in a query about these topics.
    pub fn likelihood(&self, word: u32, theta: &[f32]) -> f32 {
        let mut row = vec![0.0; self.n_topics()];
        self.queries.add(word, 1.0, &mut row);
        dot(&row, theta)
    }
}
