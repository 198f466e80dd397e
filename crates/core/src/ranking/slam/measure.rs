//! Computes 1 - measure of a list with ties in the worst order, on which the perceptron bases its updates.
//!
//! At w = 0 all scores are equal. With ties in the order of the list, a list that names its best documents first would
//! look perfect and never be learned from.

use super::weights::{Discounts, Target};

/// Computes losses list after list without allocating.
#[derive(Debug, Default)]
pub(crate) struct WorstCase {
    order: Vec<u32>,
    ideal: Vec<f32>,
    discounts: Discounts,
}

impl WorstCase {
    /// Computes RML of the papers: 1 - MAP or 1 - NDCG, with documents of equal score in the worst order. 0 for a list
    /// without a relevant document.
    pub(crate) fn loss(&mut self, target: Target, scores: &[f64], grades: &[f32]) -> f64 {
        let Self { order, ideal, discounts } = self;
        let m = grades.len();
        order.clear();
        order.extend(0..m as u32);
        let grade = |at: u32| grades[at as usize];
        order.sort_unstable_by(|&a, &b| {
            scores[b as usize].total_cmp(&scores[a as usize]).then_with(|| grade(a).total_cmp(&grade(b)))
        });
        if target == Target::Map {
            let (mut relevant, mut sum) = (0.0, 0.0);
            for (place, &at) in (1..).zip(&*order) {
                if grade(at) > 0.0 {
                    relevant += 1.0;
                    sum += relevant / f64::from(place);
                }
            }
            return if relevant == 0.0 { 0.0 } else { 1.0 - sum / relevant };
        }
        ideal.clear();
        ideal.extend_from_slice(grades);
        ideal.sort_unstable_by(|a, b| b.total_cmp(a));
        let discounts = discounts.up_to(m.min(target.cutoff()));
        let gain = |grade: f32| f64::from(grade).exp2() - 1.0;
        let z: f64 = ideal.iter().zip(discounts).map(|(&grade, discount)| gain(grade) * discount).sum();
        let dcg: f64 = order.iter().zip(discounts).map(|(&at, discount)| gain(grade(at)) * discount).sum();
        if z > 0.0 { 1.0 - dcg / z } else { 0.0 }
    }
}

/// Computes 1 - measure of a list, with documents of equal score in the worst order; 0 without a relevant document.
/// phi_v with the weights of the same target and Delta = 1 is never below it.
pub fn worst_loss(target: Target, scores: &[f64], grades: &[f32]) -> f64 {
    WorstCase::default().loss(target, scores, grades)
}
