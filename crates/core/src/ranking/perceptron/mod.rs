//! The SLAM perceptron: learns from one list at a time, and only from mistakes.
//!
//! For each list the scores s = Xw are compared with the grades. If the measure is not perfect (documents of equal
//! score in the worst order, tolerance 1e-12), the weights are updated: w <- w - X'z, with z = sum over active i of v_i
//! (e_k - e_i), k the highest-scored document of a lower grade than i. The active documents are
//!
//! - [`UpdateRule::Misordered`]: s_k >= s_i, the misordered documents;
//! - [`UpdateRule::Printed`]: Delta + s_k - s_i > 0, as in the paper's Algorithm 1.
//!
//! The paper assumes that a step of any size will do, since orders do not depend on the scale of w. But the margin test
//! does: with short feature rows, the printed rule keeps updating w for documents in correct order. Its cumulative loss
//! exceeds the bound given for it (the tests have a case with 6,667 against 468). With misordered documents alone,
//! ||X'z_t|| <= 2 R_X A_t and RML_t <= A_t <= 1 (A_t the sum of active v), so that for every u
//!
//! sum_t RML_t <= L + ||u|| sqrt(c L) + c ||u||^2,  c = 4 R_X^2, L = sum of phi_t(u) over updates,
//!
//! and 4 R_X^2 / g^2 if lists can be ordered with margin g, whatever their number and length. The printed rule
//! satisfies the same bound with c = 2 + 4 R_X^2. If lists have weights, a_t for the list of round t, the step and the
//! loss of a round are multiplied by its weight. Then ||w||^2 grows by (a_t 2 R_X A_t)^2 at most, so the bound holds
//! for the weighted sums with c = 4 a R_X^2 (2 + 4 a R_X^2), a being the largest weight.
//!
//! The mean of all iterates ranks much better than the last one; [`Perceptron::averaged`] returns it. The state is w,
//! one vector of sums, and three numbers: O(d), whatever the number of lists.

mod curve;
#[cfg(test)]
mod tests;
mod training;

use serde::{Deserialize, Serialize};

pub use curve::CurvePoint;
pub use training::{EpochFigures, PerceptronParams, PerceptronReport, fit};

use super::products;
use super::slam::{Active, Target, Terms, Weigher, WorstCase};
use crate::data::List;
use crate::{Error, Result};

/// Selects the documents of an imperfect list that update the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateRule {
    /// Documents that are not above all documents of lower grades.
    #[default]
    Misordered,
    /// Documents that are not above all documents of lower grades by Delta.
    Printed,
}

/// A perceptron that learns list by list.
///
/// ```
/// use matchrank_core::data::letor;
/// use matchrank_core::progress::Silent;
/// use matchrank_core::ranking::perceptron::{Perceptron, UpdateRule};
/// use matchrank_core::ranking::slam::Target;
///
/// let lists = letor::parse("x", b"1 qid:1 1:2 2:1\n0 qid:1 1:1 2:1\n0 qid:1 2:3\n", &Silent)?;
/// let mut perceptron = Perceptron::new(lists.n_features(), Target::Ndcg, UpdateRule::Misordered, 1.0)?;
/// // All scores are 0, the best document may stand last: NDCG 1/2. Then w = v_1 (x_1 - x_2), in perfect order.
/// assert_eq!(perceptron.learn(&lists.list(0), 1.0), 0.5);
/// assert_eq!(perceptron.weights(), [0.5, 0.0]);
/// assert_eq!(perceptron.learn(&lists.list(0), 1.0), 0.0);
/// # Ok::<(), matchrank_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Perceptron {
    target: Target,
    rule: UpdateRule,
    delta: f64,
    state: PerceptronState,
    scratch: UpdateScratch,
}

/// State of a perceptron, from which training can resume.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PerceptronState {
    /// w.
    pub w: Vec<f64>,
    /// Sum over rounds t of (t - 1) times the step of the round.
    pub sums: Vec<f64>,
    /// Number of lists seen.
    pub rounds: u64,
    /// Number of lists that were not in perfect order.
    pub updates: u64,
    /// Sum over all lists of weight times 1 - measure, each computed before the update, with documents of equal score
    /// in the worst order.
    pub cumulative_loss: f64,
}

#[derive(Debug, Default)]
struct UpdateScratch {
    scores: Vec<f64>,
    grades: Vec<f32>,
    gradient: Vec<f64>,
    worst: WorstCase,
    weigher: Weigher,
    terms: Terms,
}

/// Tolerance within which a measure counts as 1.
const PERFECT: f64 = 1e-12;

impl Perceptron {
    /// Creates a perceptron with w = 0. `delta` is the margin of the printed rule.
    pub fn new(n_features: usize, target: Target, rule: UpdateRule, delta: f64) -> Result<Self> {
        let zeros = vec![0.0; n_features];
        let state = PerceptronState { w: zeros.clone(), sums: zeros, ..PerceptronState::default() };
        Self::from_state(state, target, rule, delta)
    }

    /// Resumes from a state.
    pub fn from_state(state: PerceptronState, target: Target, rule: UpdateRule, delta: f64) -> Result<Self> {
        if !(delta > 0.0 && delta.is_finite()) {
            return Err(Error::Params(format!("delta must be a finite number above 0, not {delta}")));
        }
        if state.w.len() != state.sums.len() {
            let (w, sums) = (state.w.len(), state.sums.len());
            return Err(Error::Shape(format!(
                "the perceptron has {w} weights but {sums} sums of steps; the numbers must be equal"
            )));
        }
        target.check(&[])?;
        Ok(Self { target, rule, delta, state, scratch: UpdateScratch::default() })
    }

    /// Learns from a list and returns 1 - measure before the update. `weight` multiplies step and loss. Features that
    /// were unknown so far get weights, initially 0.
    pub fn learn(&mut self, list: &List<'_>, weight: f64) -> f64 {
        let Self { target, rule, delta, state, scratch } = self;
        let UpdateScratch { scores, grades, gradient, worst, weigher, terms } = scratch;
        if list.n_features() > state.w.len() {
            state.w.resize(list.n_features(), 0.0);
            state.sums.resize(list.n_features(), 0.0);
        }
        products::scores(list, &state.w, scores);
        let loss = worst.loss(*target, scores, list.labels());
        let round = state.rounds as f64;
        state.rounds += 1;
        state.cumulative_loss += weight * loss;
        if loss <= PERFECT || weight == 0.0 {
            return loss;
        }
        state.updates += 1;
        let seen = match target {
            Target::Map => {
                grades.clear();
                grades.extend(list.labels().iter().map(|&grade| if grade > 0.0 { 1.0 } else { 0.0 }));
                grades.as_slice()
            }
            _ => list.labels(),
        };
        weigher.weigh(*target, seen);
        let active = match rule {
            UpdateRule::Misordered => Active::Misordered,
            UpdateRule::Printed => Active::Within(*delta),
        };
        terms.find(scores, seen, &weigher.v, active);
        gradient.clear();
        gradient.resize(scores.len(), 0.0);
        terms.add_subgradient(-weight, gradient);
        products::add_rows(list, gradient, &mut state.w);
        gradient.iter_mut().for_each(|step| *step *= round);
        products::add_rows(list, gradient, &mut state.sums);
        loss
    }

    /// Returns A_t of the last list: the sum of the weights of its active documents.
    pub fn active_weight(&self) -> f64 {
        self.scratch.terms.weight()
    }

    /// Returns w, the last iterate.
    pub fn weights(&self) -> &[f64] {
        &self.state.w
    }

    /// Returns the mean of the iterates after every round.
    pub fn averaged(&self) -> Vec<f64> {
        self.state.averaged()
    }

    /// Returns the current state.
    pub fn state(&self) -> &PerceptronState {
        &self.state
    }

    /// Consumes `self` and returns the state.
    pub fn into_state(self) -> PerceptronState {
        self.state
    }
}

impl PerceptronState {
    /// Returns the mean of the iterates: the step of round t is in the last T - t + 1 of T of them.
    pub fn averaged(&self) -> Vec<f64> {
        let rounds = self.rounds.max(1) as f64;
        self.w.iter().zip(&self.sums).map(|(w, sum)| w - sum / rounds).collect()
    }
}
