//! SLAM: listwise large-margin losses that bound 1 - MAP and 1 - NDCG from above.
//!
//! A list has m documents with features X (m x d) and grades R; the scores are s = Xw. The loss
//!
//! phi_v(s, R) = sum_i v_i max(0, max over j with R_j < R_i of (Delta + s_j - s_i))
//!
//! is convex in w, and with the weights v of `weights.rs` and Delta = 1 it is at least 1 - measure for every s
//! and R. The [perceptron](super::perceptron) learns from it online; [`batch`](fit) minimises
//!
//! lambda/2 ||w||^2 + 1/n sum_q phi_v(X_q w, R_q)     (4)
//!
//! over n lists. On judged data whose features order documents poorly, w = 0 is the exact minimiser of (4), whatever
//! lambda: a wrong pair costs more than a right one gains. This case is detected, proven and reported. The default
//! solver then keeps the mean iterate of Pegasos, which is not at that minimum and ranks well.
//!
//! | symbol | where | |
//! |---|---|---|
//! | v | [`Target::weights`] | weight of each document, by grade |
//! | Delta | `delta` | margin, 1 |
//! | R_X | [`list_radius`] | largest norm of a feature row less the mean of its list |
//! | A_t | `Terms::weight` | sum of the weights of the active documents |
//!
//! Reference: Chaudhuri and Tewari, *Perceptron-like algorithms and generalization bounds for learning to rank*, 2015.
//! Differences: NDCG@k sums over ranks, so that a perfect order of tied grades scores 1. MAP is binary, so all grades
//! above 0 are equal. Ties are broken in the worst way when the perceptron decides whether to learn. Norms are those of
//! rows less the mean of their list, which changes no difference of scores.

mod batch;
mod bound;
mod loss;
mod measure;
mod objective;
mod pegasos;
#[cfg(test)]
mod tests;
mod weights;

pub use batch::{SlamParams, SlamReport, SlamSolver, fit};
pub use bound::{BoundConstants, GeneralizationBound, list_radius};
pub use loss::{loss, subgradient};
pub use measure::worst_loss;
pub use weights::Target;

pub(crate) use loss::{Active, Terms};
pub(crate) use measure::WorstCase;
pub(crate) use objective::Goals;
pub(crate) use weights::Weigher;
