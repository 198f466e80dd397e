//! SVDFeature: feature-based matrix factorisation of the responses.
//!
//! **Model** (3): r^ = mu + sum_u b_u x_u + sum_v c_v y_v + (sum_u x_u p_u)' (sum_v y_v q_v), where x are the
//! features of a query and y those of a document.
//!
//! **Objective**: half the sum of (r^ - r)^2 over pairs, plus lambda / 2 times the squares of the rows and biases of
//! the features that occur in a batch. The pairs are those with a response. For each, some documents to which the query
//! has no response are drawn anew every time, with r = 0: if only clicks are known, a model that never sees a pair
//! without a click cannot learn to tell them apart. r is the logarithm of 1 + response, or the response itself. mu is
//! the mean of r. **Update**: gradient steps over batches (AdaGrad, as described in `descent`, where the paper's
//! program has a fixed rate).
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | p, q | L_x, L_y of the [`Bilinear`] | features x d |
//! | b, c, mu | its [`Biases`] | features, features, 1 |
//! | lambda | [`SvdFeatureParams::l2`] | |
//!
//! **Cost** of a pass: 6 d operations for every entry of the queries and documents of all pairs. Memory: that of the
//! rows, and 12 bytes per pair. All threads are used, and the result is the same for any number of threads.
//!
//! Reference: T. Chen, W. Zhang, Q. Lu, K. Chen, Z. Zheng, Y. Yu, *SVDFeature: A Toolkit for Feature-based
//! Collaborative Filtering*, JMLR 2012.
//!
//! ```
//! use matchrank_core::matching::svd_feature::{SvdFeature, SvdFeatureParams};
//! use matchrank_core::matching::{ClickGraph, Csr};
//! use matchrank_core::progress::Silent;
//!
//! // Two queries and two documents, known by themselves: each query clicked one document.
//! let identity = || Csr::from_triples(2, 2, [(0, 0, 1.0), (1, 1, 1.0)]);
//! let graph = ClickGraph::new(identity()?, identity()?, identity()?)?;
//! let params = SvdFeatureParams { d: 4, l2: 0.0, negatives: 1, ..Default::default() };
//! let mut svd = SvdFeature::new(&params, &graph, 1)?;
//! (0..200).for_each(|_| { svd.learn(usize::MAX, &Silent); });
//! let model = svd.model()?;
//! let score = |query: usize, document: usize| model.score(graph.x().row(query), graph.y().row(document));
//! assert!((score(0, 0) - 2f32.ln()).abs() < 0.05 && score(0, 1).abs() < 0.05);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::descent::{Batch, Descent, StepRule, mix};
use super::ssi::check_rows;
use crate::matching::{Biases, Bilinear, ClickGraph, Mapping};
use crate::progress::Progress;
use crate::{Error, Result};

/// Target of the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseScale {
    /// ln(1 + response).
    #[default]
    Log,
    /// The response.
    Count,
}

/// Parameters of SVDFeature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SvdFeatureParams {
    /// d: latent dimensions. A feature that occurs takes 4 d bytes, and up to a quarter more: d = 100 takes 480 bytes.
    /// Default: 100.
    pub d: usize,
    /// Length of the first step of a row. Default: 0.02.
    pub rate: f64,
    /// lambda: strength of the pull of rows and biases towards 0. Default: 0.0001.
    pub l2: f64,
    /// Rows are initialised uniformly between minus this and this value. Default: 0.05.
    pub spread: f64,
    /// Number of pairs with a response per step. Default: 256.
    pub batch: usize,
    /// Number of documents without a response that are drawn for every pair with one. Default: 3.
    pub negatives: usize,
    /// Target of the prediction. Default: `log`.
    pub target: ResponseScale,
}

impl Default for SvdFeatureParams {
    fn default() -> Self {
        Self {
            d: 100,
            rate: 0.02,
            l2: 1e-4,
            spread: 0.05,
            batch: 256,
            negatives: 3,
            target: ResponseScale::Log,
        }
    }
}

impl SvdFeatureParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        let Self { d, rate, l2, spread, batch, negatives, .. } = *self;
        check_rows(d, rate, l2, spread, batch)?;
        if negatives > 1000 {
            return Err(Error::Params(format!("negatives must be from 0 to 1000, not {negatives}")));
        }
        Ok(())
    }
}

/// A model during training; see the [module](self).
pub struct SvdFeature<'a> {
    params: SvdFeatureParams,
    graph: &'a ClickGraph,
    seed: u64,
    /// Number of finished passes over all pairs.
    passes: u64,
    /// Number of pairs of the current pass that were learned from: whole batches.
    done: usize,
    /// Query, document and r of every pair with a response.
    pairs: Vec<(u32, u32, f32)>,
    mu: f32,
    descent: Descent,
}

impl<'a> SvdFeature<'a> {
    /// Creates a model of the features of a click graph.
    pub fn new(params: &SvdFeatureParams, graph: &'a ClickGraph, seed: u64) -> Result<Self> {
        params.validate()?;
        let target = |response: f32| match params.target {
            ResponseScale::Log => response.ln_1p(),
            ResponseScale::Count => response,
        };
        let pairs: Vec<(u32, u32, f32)> = (0..)
            .zip(graph.r().rows())
            .flat_map(|(query, row)| row.iter().map(move |(document, r)| (query, document, r)))
            .filter(|(.., r)| *r > 0.0)
            .map(|(query, document, r)| (query, document, target(r)))
            .collect();
        if pairs.is_empty() {
            let message = "no query has a response above 0; there is nothing to learn from";
            return Err(Error::Params(message.into()));
        }
        let sum: f64 = pairs.iter().map(|(.., r)| f64::from(*r)).sum();
        let mu = (sum / (pairs.len() * (1 + params.negatives)) as f64) as f32;
        let rule = StepRule { rate: params.rate as f32, l2: params.l2 as f32 };
        let sides = (graph.x(), graph.y());
        let descent = Descent::new(params.d, rule, params.spread as f32, true, sides, seed);
        Ok(Self { params: *params, graph, seed, passes: 0, done: 0, pairs, mu, descent })
    }

    /// Number of pairs with a response.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Learns from the next `most` pairs with a response in whole batches, or from the rest of the current pass over
    /// all pairs. Every pass has a new order. Returns the mean of (r^ - r)^2, each computed before the step that learns
    /// from it.
    pub fn learn(&mut self, most: usize, progress: &dyn Progress) -> f64 {
        let pass_seed = mix(self.seed ^ mix(self.passes));
        if self.done == 0 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(pass_seed);
            for i in (1..self.pairs.len()).rev() {
                self.pairs.swap(i, rng.random_range(0..=i));
            }
        }
        let size = self.params.batch;
        let first = self.done / size;
        let n_batches = most.div_ceil(size).clamp(1, self.pairs.len().div_ceil(size) - first);
        self.done = ((first + n_batches) * size) % self.pairs.len().next_multiple_of(size);
        self.passes += u64::from(self.done == 0);
        let Self { params, graph, pairs, mu, descent, .. } = self;
        let mu = *mu;
        let (x, y) = (graph.x(), graph.y());
        let fill = |number: usize, batch: &mut Batch<'_>| {
            let number = first + number;
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(mix(pass_seed ^ (1 + number as u64)));
            for &(query, document, r) in pairs.chunks(size).nth(number).expect("as many batches as chunks") {
                let own = (query, x.row(query as usize));
                batch.link(own, (document, y.row(document as usize)), mu - r);
                let known = graph.r().row(query as usize);
                for _ in 0..params.negatives {
                    let other = rng.random_range(0..y.n_rows() as u32);
                    if known.indices().binary_search(&other).is_err() {
                        batch.link(own, (other, y.row(other as usize)), mu);
                    }
                }
            }
        };
        let (mut squares, mut n) = (0f64, 0u64);
        descent.learn(n_batches, fill, |number, errors| {
            // The constant of a link includes -r, so that its score is r^ - r, the derivative of the loss.
            squares += errors.iter().map(|&error| f64::from(error).powi(2)).sum::<f64>();
            n += errors.len() as u64;
            progress.advance(size.min(pairs.len() - (first + number) * size) as u64);
        });
        squares / n.max(1) as f64
    }

    /// Returns the current model for evaluation, without copying its rows.
    pub fn mapping(&self) -> Result<impl Mapping + '_> {
        self.descent.mapping(0, self.mu)
    }

    /// Returns a copy of the current model.
    pub fn model(&self) -> Result<Bilinear> {
        let [x, y] = self.descent.biases().expect("SVDFeature has biases");
        self.descent.bilinear()?.with_biases(Biases { global: self.mu, x, y })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::golden::{agree, baselines, entries, sparse};
    use crate::matching::{Csr, Mapping};
    use crate::progress::Silent;

    #[derive(Deserialize)]
    struct Golden {
        svd_feature: Case,
    }

    #[derive(Deserialize)]
    struct Case {
        x: Vec<Vec<f32>>,
        y: Vec<Vec<f32>>,
        r: Vec<Vec<f32>>,
        params: SvdFeatureParams,
        epochs: usize,
        start_x: Vec<Vec<f32>>,
        start_y: Vec<Vec<f32>>,
        losses: Vec<f64>,
        mu: f64,
        bx: Vec<f64>,
        by: Vec<f64>,
        scores: Vec<Vec<f64>>,
    }

    #[test]
    fn golden() {
        let Golden { svd_feature: case } = baselines();
        let graph = ClickGraph::new(sparse(&case.x), sparse(&case.y), sparse(&case.r)).unwrap();
        let mut svd = SvdFeature::new(&case.params, &graph, 1).unwrap();
        svd.descent.start_from(&case.start_x, &case.start_y);
        let losses: Vec<f64> = (0..case.epochs).map(|_| svd.learn(usize::MAX, &Silent)).collect();
        agree("losses", losses, case.losses);
        let model = svd.model().unwrap();
        let biases = model.biases().unwrap();
        agree("mu", [biases.global], [case.mu]);
        agree("b_x", biases.x.clone(), case.bx);
        agree("b_y", biases.y.clone(), case.by);
        let pairs = graph.x().rows().flat_map(|x| graph.y().rows().map(move |y| (x, y)));
        agree("scores", pairs.map(|(x, y)| model.score(x, y)), entries(&case.scores));
    }

    /// A pass in parts gives the same result as a whole pass, for any split, and so does the following pass.
    #[test]
    fn parts_of_a_pass_make_the_pass() {
        let n = 23;
        let identity = || Csr::from_triples(n as usize, n as usize, (0..n).map(|i| (i, i, 1.0))).unwrap();
        let clicks = (0..n).flat_map(|i| [(i, (i * 7) % n, 2.0), (i, (i * 7 + 1) % n, 1.0)]);
        let clicks = Csr::from_triples(n as usize, n as usize, clicks).unwrap();
        let graph = ClickGraph::new(identity(), identity(), clicks).unwrap();
        let params = SvdFeatureParams { d: 3, batch: 8, ..Default::default() };
        let mut whole = SvdFeature::new(&params, &graph, 1).unwrap();
        (0..2).for_each(|_| _ = whole.learn(usize::MAX, &Silent));
        // 46 pairs are 6 batches: in parts of 3 and 3, of 2, 2 and 2, of 4 and 2.
        for (most, parts) in [(24, 2), (9, 3), (32, 2)] {
            let mut in_parts = SvdFeature::new(&params, &graph, 1).unwrap();
            (0..2 * parts).for_each(|_| _ = in_parts.learn(most, &Silent));
            assert_eq!(in_parts.passes, 2);
            assert!(in_parts.model().unwrap() == whole.model().unwrap(), "{most}");
        }
    }

    #[test]
    fn what_cannot_be_learned_from_is_refused() {
        let one = || Csr::from_triples(1, 1, [(0, 0, 1.0)]).unwrap();
        let none = Csr::from_triples(1, 1, []).unwrap();
        let params = SvdFeatureParams { d: 2, ..Default::default() };
        assert!(SvdFeature::new(&params, &ClickGraph::new(one(), one(), none).unwrap(), 1).is_err());
        // Every document has a response: there is no negative to draw.
        let graph = ClickGraph::new(one(), one(), one()).unwrap();
        assert!(SvdFeature::new(&params, &graph, 1).unwrap().learn(usize::MAX, &Silent).is_finite());
        assert!(SvdFeatureParams { negatives: 1001, ..params }.validate().is_err());
        assert!(SvdFeatureParams { d: 1 << 17, ..params }.validate().is_err());
    }
}
