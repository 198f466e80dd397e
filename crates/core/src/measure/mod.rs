//! Ranking measures in several dialects, and significance tests.
//!
//! | question | where |
//! |---|---|
//! | measures and their names | [`Measure`] |
//! | NDCG; precision, recall, MAP, MRR, RBP; ERR; Bpref; MRE and pairwise error | `ndcg.rs`, `precision.rs`, `err.rs`, `bpref.rs`, `inversions.rs` |
//! | conventions of each known tool: gain, ties, queries without a relevant document | [`Dialect`], [`Conventions`] |
//! | judgments + rankings -> values per query, means, audit | [`evaluate`] -> [`Evaluation`] |
//! | rankings in memory rather than in a file | [`Rankings`] |
//! | a single list | [`evaluate_list`] |
//! | significance of the difference between two systems | [`significance`] |
//! | means by kind of query | [`bins`] |
//!
//! Known tools give different scores for one run: they differ in the gain of a grade, the order of tied documents and
//! the value of a query without a relevant document. Here these are [`Conventions`], a value that can be
//! inspected and printed. Every result carries an [`Audit`] that counts how often a convention, rather than the
//! ranking, decided.
//!
//! ```
//! use matchrank_core::data::qrels;
//! use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
//!
//! let qrels = qrels::parse("toy.qrels", b"q1 0 d1 2\nq1 0 d2 1\nq2 0 d9 1\n")?;
//! let rankings = [("q1", vec![("d1", 0.9), ("d3", 0.8), ("d2", 0.1)]), ("q2", vec![("d9", 1.0)])];
//! let measures: Vec<Measure> = Measure::parse_list("ndcg@10,mrr")?;
//! let result = evaluate(&qrels, &rankings[..], &measures, &Conventions::of(Dialect::Matchrank))?;
//! // q1: (3 + 1/2) / (3 + 1/log2(3)) = 0.963940, q2: 1
//! assert!((result.mean(0) - 0.981970).abs() < 1e-6);
//! assert_eq!(result.mean(1), 1.0);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

pub mod bins;
mod bpref;
mod dialect;
mod distribution;
mod err;
mod evaluate;
mod inversions;
mod name;
mod ndcg;
mod precision;
mod ranking;
mod rankings;
pub mod significance;

pub use dialect::{Conventions, Dialect, Gain, Ideal, Missing, NoRelevant, Ties};
pub(crate) use evaluate::too_high;
pub use evaluate::{Audit, Evaluation, evaluate, evaluate_list, weighted_mean};
pub use name::Measure;
pub use rankings::Rankings;
