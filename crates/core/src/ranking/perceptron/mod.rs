//! The SLAM perceptron: learns one list at a time, and from mistakes only.
//!
//! For each list the scores s = Xw are compared with the grades. Where the measure is not perfect (documents of
//! equal score in the worst order, tolerance 1e-12), the weights move: w <- w - X'z, with
//! z = sum over active i of v_i (e_k - e_i), k the highest-scored document of a lower grade than i. Active is
//!
//! - [`UpdateRule::Misordered`]: s_k >= s_i, the documents that stand wrong;
//! - [`UpdateRule::Printed`]: Delta + s_k - s_i > 0, as the paper's Algorithm 1 has it.
//!
//! The paper takes a step of any size for granted, since orders do not depend on the scale of w. The margin test
//! does: with short feature rows the printed rule goes on moving w for documents that stand right, and its
//! cumulative loss exceeds the bound given for it (the tests have a case with 6,667 against 468). With
//! misordered documents alone, ||X'z_t|| <= 2 R_X A_t and RML_t <= A_t <= 1 (A_t the sum of active v), so that
//! for every u
//!
//! sum_t RML_t <= L + ||u|| sqrt(c L) + c ||u||^2,  c = 4 R_X^2, L = sum of phi_t(u) over updates,
//!
//! and 4 R_X^2 / g^2 where lists can be ordered with margin g, whatever their number and length. The printed
//! rule satisfies the same with c = 2 + 4 R_X^2. Where lists have weights, a_t for the list of round t, the step and the
//! loss of a round are multiplied by its weight; then ||w||^2 grows by (a_t 2 R_X A_t)^2 at most, so the bound holds for
//! the weighted sums with c = 4 a R_X^2 (2 + 4 a R_X^2), a being the largest weight.
//!
//! The mean of all iterates ranks much better than the last one, and is what [`Perceptron::averaged`] gives. The
//! state is w, one vector of sums, and three numbers: O(d), however many lists have passed.

mod curve;
#[cfg(test)]
mod tests;
mod training;

use serde::{Deserialize, Serialize};

pub use curve::CurvePoint;
pub use training::{EpochFigures, PerceptronParams, PerceptronReport, fit_perceptron};

use super::products;
use super::slam::{Active, Target, Terms, Weigher, WorstCase};
use crate::data::List;
use crate::{Error, Result};

/// Which documents of a list that is not perfect move the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateRule {
    /// Those that do not stand above all documents of lower grades.
    #[default]
    Misordered,
    /// Those that do not stand above them by Delta.
    Printed,
}

/// A perceptron between two lists.
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
    scratch: Scratch,
}

/// What a perceptron has learned, all that is needed to go on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PerceptronState {
    /// w.
    pub w: Vec<f64>,
    /// Sum over rounds t of (t - 1) times the step of the round.
    pub sums: Vec<f64>,
    /// Lists seen.
    pub rounds: u64,
    /// Lists that were not in perfect order.
    pub updates: u64,
    /// Sum over all lists of weight times 1 - measure, each before it was learned from, documents of equal score in
    /// the worst order.
    pub cumulative_loss: f64,
}

#[derive(Debug, Default)]
struct Scratch {
    scores: Vec<f64>,
    grades: Vec<f32>,
    gradient: Vec<f64>,
    worst: WorstCase,
    weigher: Weigher,
    terms: Terms,
}

/// A measure this close to 1 is 1.
const PERFECT: f64 = 1e-12;

impl Perceptron {
    /// A perceptron with w = 0. `delta` is the margin of the printed rule.
    pub fn new(n_features: usize, target: Target, rule: UpdateRule, delta: f64) -> Result<Self> {
        let zeros = vec![0.0; n_features];
        let state = PerceptronState { w: zeros.clone(), sums: zeros, ..PerceptronState::default() };
        Self::from_state(state, target, rule, delta)
    }

    /// A perceptron that goes on from a state.
    pub fn from_state(state: PerceptronState, target: Target, rule: UpdateRule, delta: f64) -> Result<Self> {
        if !(delta > 0.0 && delta.is_finite()) {
            return Err(Error::Params(format!("delta must be a number above 0, and is {delta}")));
        }
        if state.w.len() != state.sums.len() {
            let (w, sums) = (state.w.len(), state.sums.len());
            return Err(Error::Shape(format!("a perceptron has {w} weights and {sums} sums of steps")));
        }
        target.check(&[])?;
        Ok(Self { target, rule, delta, state, scratch: Scratch::default() })
    }

    /// Learns from a list and returns 1 - measure, before learning. `weight` multiplies step and loss. Features
    /// beyond those that were known get weights, 0 until now.
    pub fn learn(&mut self, list: &List<'_>, weight: f64) -> f64 {
        let Self { target, rule, delta, state, scratch } = self;
        let Scratch { scores, grades, gradient, worst, weigher, terms } = scratch;
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

    /// A_t of the last list that was learned from: the sum of the weights of its active documents.
    pub fn active_weight(&self) -> f64 {
        self.scratch.terms.weight()
    }

    /// w, the last iterate.
    pub fn weights(&self) -> &[f64] {
        &self.state.w
    }

    /// The mean of the iterates after every round.
    pub fn averaged(&self) -> Vec<f64> {
        self.state.averaged()
    }

    /// What was learned so far.
    pub fn state(&self) -> &PerceptronState {
        &self.state
    }

    /// What was learned.
    pub fn into_state(self) -> PerceptronState {
        self.state
    }
}

impl PerceptronState {
    /// The mean of the iterates: the step of round t is in the last T - t + 1 of T of them.
    pub fn averaged(&self) -> Vec<f64> {
        let rounds = self.rounds.max(1) as f64;
        self.w.iter().zip(&self.sums).map(|(w, sum)| w - sum / rounds).collect()
    }
}
