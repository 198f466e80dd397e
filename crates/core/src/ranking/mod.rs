//! Rankers: order the documents of a query by their features.
//!
//! | topic | module or type |
//! |---|---|
//! | listwise losses that bound 1 - MAP and 1 - NDCG, in batch | [`slam`] |
//! | the same losses online, one list at a time | [`perceptron`] |
//! | pairwise hinge losses without forming the pairs | [`ranksvm`] |
//! | top-one probabilities | [`listnet`] |
//! | a ranking function per query, learned from similar queries | [`query_dependent`] |
//! | boosted trees, grown by LightGBM | [`trees`] |
//! | contributions of the features to a tree score | [`trees::shapley`] |
//! | linear rankers: one weight per feature | [`LinearRanker`] |
//! | features on comparable scales | [`Scaling`] |
//! | lists with weights, and sums over them on all threads | [`Sample`] |
//! | early stopping, choice of lambda | [`Validation`], [`LambdaPath`] |
//! | a smooth loss of your own, by a truncated Newton method | [`Smooth`], [`fit_smooth`] |
//!
//! All rankers learn from [`FeatureLists`](crate::data::FeatureLists) whose features were scaled by [`Scaling::apply`],
//! dense or sparse. They give the same weights for any number of threads. A feature that a row does not name is 0.
//!
//! ```
//! use matchrank_core::data::letor;
//! use matchrank_core::progress::Silent;
//! use matchrank_core::ranking::{LambdaPath, LinearRanker, Ranker, Sample, Scaling, ScalingKind};
//! use matchrank_core::ranking::ranksvm::{self, RankSvmParams};
//!
//! let file = b"2 qid:1 1:3 2:1\n1 qid:1 1:2 2:9\n0 qid:1 1:0 2:5\n1 qid:2 1:8 2:2\n0 qid:2 1:5 2:3\n";
//! let lists = letor::parse("train.txt", file, &Silent)?;
//! let scaling = Scaling::fit(ScalingKind::MinMax, &lists);
//! let mut scaled = lists.clone();
//! scaling.apply(&mut scaled);
//! let params = RankSvmParams { lambda: LambdaPath::One(1e-3), ..RankSvmParams::default() };
//! let (weights, _) = ranksvm::fit(&params, &Sample::new(&scaled), None, &Silent)?;
//!
//! let scores = LinearRanker { weights, scaling }.score_all(&lists);
//! assert!(scores[0] > scores[1] && scores[1] > scores[2] && scores[3] > scores[4]);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod linear;
pub mod listnet;
mod path;
pub mod perceptron;
pub mod products;
pub mod query_dependent;
pub mod ranksvm;
mod sample;
mod scaling;
pub mod slam;
#[cfg(test)]
pub(crate) mod testing;
pub mod trees;
mod validation;

pub use crate::solve::newton::Smooth;
pub use linear::{FeatureContribution, LinearRanker, Ranker, Shapley};
pub use path::{LambdaPath, PathPoint, beyond_the_end};
pub use ranksvm::{PathParams, PathReport, fit_smooth};
pub use sample::Sample;
pub use scaling::{Scaling, ScalingKind};
pub use validation::{Fitting, JudgedLists, Validation, evaluate_ranker};
