//! Cumulative loss together with its bound.
//!
//! The bound L + ||u|| sqrt(c L) + c ||u||^2 holds for every u, so the best known u is used: the direction of the
//! averaged weights, at the scale that minimises the bound at each point.

use serde::{Deserialize, Serialize};

use super::training::PerceptronParams;
use super::{PERFECT, UpdateRule};
use crate::ranking::products;
use crate::ranking::sample::Sample;
use crate::ranking::slam::{self, Goals, list_radius};

/// Exponents of the scales of u that are tried, as powers of 2.
const SCALES: std::ops::Range<i32> = -20..30;
/// Maximum number of points of a curve.
const POINTS: usize = 50;

/// One point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Number of lists seen.
    pub rounds: u64,
    /// Sum of 1 - measure so far, each times the weight of its list.
    pub loss: f64,
    /// Upper bound of the loss.
    pub bound: f64,
}

/// List and loss of each round.
#[derive(Default)]
pub(super) struct History(Vec<(u32, f32)>);

impl History {
    pub(super) fn add(&mut self, query: usize, loss: f64) {
        self.0.push((query as u32, loss as f32));
    }

    pub(super) fn truncate(&mut self, rounds: usize) {
        self.0.truncate(rounds);
    }

    pub(super) fn beside_bound(
        &self,
        params: &PerceptronParams,
        sample: &Sample<'_>,
        goals: &Goals<'_>,
        direction: &[f64],
    ) -> Vec<CurvePoint> {
        let lists = sample.lists();
        let square = products::dot(direction, direction);
        let heaviest = (0..lists.n_queries()).map(|query| sample.weight(query)).fold(0.0, f64::max);
        let c = bound_constant(params.rule, params.delta, list_radius(lists), heaviest);
        let scales: Vec<f64> =
            if square > 0.0 { SCALES.map(|power| 2f64.powi(power)).collect() } else { vec![0.0] };
        // phi of every list at every scale.
        let mut scores = Vec::new();
        let losses: Vec<Vec<f64>> = lists
            .iter()
            .map(|list| {
                products::scores(&list, direction, &mut scores);
                let (grades, v) = (goals.grades(list.rows()), goals.v(list.rows()));
                let at = |scale: &f64| {
                    let scaled: Vec<f64> = scores.iter().map(|score| scale * score).collect();
                    slam::loss(&scaled, grades, v, params.delta) / params.delta
                };
                scales.iter().map(at).collect()
            })
            .collect();
        let every = self.0.len().div_ceil(POINTS).max(1);
        let (mut sums, mut loss, mut curve) = (vec![0.0; scales.len()], 0.0, Vec::new());
        for (round, &(query, cost)) in (1..).zip(&self.0) {
            let weight = sample.weight(query as usize);
            loss += weight * f64::from(cost);
            if f64::from(cost) > PERFECT {
                sums.iter_mut().zip(&losses[query as usize]).for_each(|(sum, phi)| *sum += weight * phi);
            }
            if round % every == 0 || round == self.0.len() {
                let bounds = sums.iter().zip(&scales).map(|(&sum, scale)| {
                    let norm = scale * square.sqrt() / params.delta;
                    loss_bound(sum, norm, c)
                });
                let bound = bounds.fold(f64::INFINITY, f64::min);
                curve.push(CurvePoint { rounds: round as u64, loss, bound });
            }
        }
        curve
    }
}

/// Computes L + ||u|| sqrt(c L) + c ||u||^2.
pub(super) fn loss_bound(l: f64, norm: f64, c: f64) -> f64 {
    l + norm * (c * l).sqrt() + c * norm * norm
}

/// Returns c of the bound for a margin of Delta = 1, or rows and Delta scaled accordingly, and list weights up to
/// `heaviest`.
pub(super) fn bound_constant(rule: UpdateRule, delta: f64, radius: f64, heaviest: f64) -> f64 {
    let square = 4.0 * heaviest * radius * radius;
    match rule {
        UpdateRule::Misordered => square,
        UpdateRule::Printed => 2.0 * delta + square,
    }
}
