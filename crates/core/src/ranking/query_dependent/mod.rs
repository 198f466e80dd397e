//! Query-dependent ranking: a function for each query, learned from similar queries.
//!
//! For a target query q_0 (a training query, or a new one)
//!
//! min over f of lambda/2 ||f||^2 + sum over queries i and pairs of their documents of c_ijl L(sign(y_ij - y_il) f(x_ij, x_il)),
//!
//! with c = 2 pi_i / (n N_i (N_i - 1)) for each unordered pair of different grades, and pi_i the weight of query i for
//! the target (`weights.rs`). One formula covers four methods: weights that decrease with the distance (q-SVM), equal
//! weights for the k nearest (kNN-SVM), equal weights for all (RankSVM: one function), the target alone (individual
//! SVM). A query outside the training set has neighbours as well, and is ranked through them.
//!
//! | topic | module or type |
//! |---|---|
//! | weight of a query for a target | [`Weights`], [`QueryFeatures`] |
//! | documents as vectors: kernels, scoring and ranking form | `space.rs` |
//! | the resulting problem and its solvers | [`PairProblem`], [`CoordinateDescent`], [`Admm`], `logistic.rs`, `psi.rs` |
//! | the paper's own iteration | [`KernelAdmm`], [`VectorAdmm`] |
//! | from lists to functions | [`QueryDependent`] |
//!
//! | symbol | name here | meaning |
//! |---|---|---|
//! | q_i | [`QueryFeatures`] | features of a query |
//! | pi_i, h, k | [`Neighbour::weight`], `bandwidth`, `neighbours` | its weight, the bandwidth, the number of neighbours |
//! | c | [`PreferencePair::cost`] | cost of a pair |
//! | sigma^2 | `width` | width of the Gaussian kernel |
//!
//! A fit costs about P d for each round of coordinate descent, with P pairs and d features (or eigenvectors, with a
//! Gaussian kernel, after one decomposition for all targets). Above 20,000 pairs the linear hinge is minimised without
//! forming them, as in [`ranksvm`](super::ranksvm). Targets are independent of each other.
//!
//! Differences from the paper: the penalty is lambda/2 ||f||^2 throughout; pi has no factor h^-p; documents of equal
//! grade form no pair; there is no intercept, which is 0 by symmetry; rho is balanced.
//!
//! Reference: Dai and Wang, *Query-dependent ranking and its asymptotic properties*, Electronic Journal of Statistics, 2019.
//!
//! ```
//! use matchrank_core::data::letor;
//! use matchrank_core::progress::Silent;
//! use matchrank_core::ranking::query_dependent::{Neighbourhood, QueryDependent, QueryDependentParams, QueryFeatures, QueryTarget};
//!
//! // Feature 1 is good for queries near 0, and bad for those near 10.
//! let file = b"2 qid:a 1:3\n0 qid:a 1:1\n2 qid:b 1:5\n0 qid:b 1:2\n0 qid:c 1:7\n1 qid:c 1:4\n0 qid:d 1:9\n1 qid:d 1:6\n";
//! let lists = letor::parse("train.txt", file, &Silent)?;
//! let queries = [0.0, 1.0, 9.0, 10.0].map(|q| QueryFeatures::of_numbers(vec![q])).to_vec();
//! let params = QueryDependentParams { novel_neighbours: 2, ..Default::default() };
//! let learner = QueryDependent::new(&params, lists.clone(), queries, &[])?;
//! let mut scores = Vec::new();
//! for (q, better) in [(0.4, 0), (9.7, 1)] {
//!     let target = QueryFeatures::of_numbers(vec![q]);
//!     let near = learner.neighbourhood(QueryTarget { observed: None, features: Some(&target) })?;
//!     assert!(matches!(&near, Neighbourhood::Near(near) if near.len() == 2));
//!     learner.score(&learner.fit(&near, 0.01), &lists.list(0), &mut scores);
//!     assert!(scores[better] > scores[1 - better]);
//! }
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod admm;
mod coordinate_descent;
mod learner;
mod logistic;
mod params;
mod problem;
mod psi;
mod query_features;
mod solver;
mod space;
#[cfg(test)]
mod tests;
mod weights;

pub use admm::{Admm, AdmmParams, KernelAdmm, PaperState, VectorAdmm};
pub use coordinate_descent::CoordinateDescent;
pub use learner::{Fallback, Function, Neighbourhood, QueryDependent, QueryFunction, QueryTarget};
pub use params::QueryDependentParams;
pub use problem::{Loss, PairProblem, PreferencePair, Solution};
pub use query_features::{QueryFeatures, RankingKernel};
pub use solver::{PairSolver, SolveParams, solve_path};
pub use space::{DocumentKernel, QueryForm, scores_of_preferences};
pub use weights::{Nearest, Neighbour, Weights, median};
