//! ListNet: fits each document's probability of being ranked first under the scores to that under the grades.
//!
//! J(w) = lambda/2 ||w||^2 + 1/n sum over lists of KL(P_R || P_s), P_R = softmax(R), P_s = softmax(Xw). This is the
//! cross-entropy of top-one probabilities less the entropy of P_R, which does not depend on w, so that a perfect fit
//! costs 0. Gradient X'(P_s - P_R), Hessian X'(diag(P_s) - P_s P_s')X; solved by a truncated Newton method. O(m) per
//! list and step. A list with a single grade would make all scores equal and carries no information about the order, so
//! it is left out.
//!
//! Documents may have weights c (for example inverse propensities of clicks): the term of a document in the divergence
//! counts c times. With q = c P_R and its sum Q, the gradient is X'(Q P_s - q) and the Hessian is Q times the one
//! above.
//!
//! Reference: Cao, Qin, Liu, Tsai and Li, *Learning to rank: from pairwise approach to listwise approach*, 2007.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::path::LambdaPath;
use super::products;
use super::ranksvm::{PathParams, PathReport, fit_smooth};
use super::sample::Sample;
use super::validation::Validation;
use crate::progress::Progress;
use crate::solve::newton::Smooth;
use crate::{Error, Result};

/// Parameters of ListNet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListNetParams {
    /// lambda, or several values from which validation chooses.
    pub lambda: LambdaPath,
    /// Norm of the gradient, relative to w = 0, at which to stop.
    pub tolerance: f64,
    /// Maximum number of iterations per lambda.
    pub max_iterations: u32,
}

impl Default for ListNetParams {
    fn default() -> Self {
        Self { lambda: LambdaPath::powers_of_ten(0, -6), tolerance: 1e-3, max_iterations: 500 }
    }
}

impl ListNetParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.lambda.validate()?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) || self.max_iterations == 0 {
            return Err(Error::Params(
                "tolerance must be above 0 and below 1, max_iterations at least 1".into(),
            ));
        }
        Ok(())
    }
}

/// Trains on lists whose features are already scaled. The path of lambdas works as in
/// [`ranksvm::fit`](super::ranksvm::fit).
pub fn fit(
    params: &ListNetParams,
    sample: &Sample<'_>,
    validation: Option<&Validation<'_>>,
    progress: &dyn Progress,
) -> Result<(Vec<f64>, PathReport)> {
    params.validate()?;
    let mut risk = TopOneRisk::new(sample);
    let ListNetParams { lambda, tolerance, max_iterations } = params;
    let path = PathParams { lambda, tolerance: *tolerance, max_iterations: *max_iterations };
    fit_smooth(&mut risk, path, validation, progress)
}

struct TopOneRisk<'s, 'a> {
    sample: &'s Sample<'a>,
    /// Q and P_s of every list at the last w; P_s is empty for lists with a single grade.
    at: Vec<Mutex<(f64, Vec<f64>)>>,
}

impl<'s, 'a> TopOneRisk<'s, 'a> {
    fn new(sample: &'s Sample<'a>) -> Self {
        Self { sample, at: (0..sample.lists().n_queries()).map(|_| Mutex::default()).collect() }
    }
}

/// Replaces values by their softmax and returns the logarithm of the sum of their exponentials.
fn softmax(values: &mut [f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum = values.iter_mut().fold(0.0, |sum, value| {
        *value = (*value - most).exp();
        sum + *value
    });
    values.iter_mut().for_each(|value| *value /= sum);
    most + sum.ln()
}

impl Smooth for TopOneRisk<'_, '_> {
    fn n_weights(&self) -> usize {
        self.sample.lists().n_features()
    }

    fn at(&mut self, w: &[f64]) -> (f64, Vec<f64>) {
        let ([value], gradient) = self.sample.means(|wanted: &mut Vec<f64>, query, list, share, sum| {
            let labels = list.labels();
            if labels.iter().all(|label| *label == labels[0]) {
                return [0.0];
            }
            let mut at = self.at[query].lock().expect("no panic while a list is worked on");
            let (total, at) = &mut *at;
            products::scores(list, w, at);
            wanted.clear();
            wanted.extend(labels.iter().map(|&label| f64::from(label)));
            let log_sum_of_grades = softmax(wanted);
            wanted.iter_mut().enumerate().for_each(|(i, p)| *p *= f64::from(list.weight(i)));
            *total = wanted.iter().sum();
            // sum q (ln P_R - ln P_s), with ln P_R = R - ln sum exp R, and likewise for s.
            let difference: f64 =
                wanted.iter().zip(labels).zip(&*at).map(|((q, label), s)| q * (f64::from(*label) - s)).sum();
            let loss = difference + *total * (softmax(at) - log_sum_of_grades);
            wanted.iter_mut().zip(&*at).for_each(|(wanted, p)| *wanted = share * (*total * p - *wanted));
            products::add_rows(list, wanted, sum);
            [loss]
        });
        (value, gradient)
    }

    fn curvature(&self, direction: &[f64]) -> Vec<f64> {
        let ([], product) = self.sample.means(|images: &mut Vec<f64>, query, list, share, sum| {
            let at = self.at[query].lock().expect("no panic while a list is worked on");
            let (total, p) = &*at;
            if p.is_empty() {
                return [];
            }
            products::scores(list, direction, images);
            let mean = products::dot(p, images);
            images.iter_mut().zip(p).for_each(|(image, p)| *image = share * total * p * (*image - mean));
            products::add_rows(list, images, sum);
            []
        });
        product
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ranking::testing::{close, lists, some_lists};

    #[test]
    fn the_loss_of_one_list_is_the_divergence() {
        let lists = lists(&[(vec![vec![1.0], vec![0.0]], vec![1.0, 0.0])]);
        let sample = Sample::new(&lists);
        let (p, q) = (1f64.exp() / (1f64.exp() + 1.0), 0.25f64.exp() / (0.25f64.exp() + 1.0));
        let expected = p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
        close(&[TopOneRisk::new(&sample).at(&[0.25]).0], &[expected], 1e-12);
        let params = ListNetParams { lambda: LambdaPath::One(1e-9), tolerance: 1e-10, ..Default::default() };
        let (w, _) = fit(&params, &sample, None, &crate::progress::Silent).unwrap();
        close(&w, &[1.0], 1e-6);
    }

    /// A document of weight 2 counts as much as two copies of its term.
    #[test]
    fn documents_count_by_their_weights() {
        let mut lists = lists(&[(vec![vec![1.0], vec![0.0]], vec![1.0, 0.0])]);
        lists.set_weights(vec![3.0, 0.5]).unwrap();
        let (p, q) = (1f64.exp() / (1f64.exp() + 1.0), 0.25f64.exp() / (0.25f64.exp() + 1.0));
        let expected = 3.0 * p * (p / q).ln() + 0.5 * (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
        close(&[TopOneRisk::new(&Sample::new(&lists)).at(&[0.25]).0], &[expected], 1e-12);
        let params = ListNetParams { lambda: LambdaPath::One(1e-9), tolerance: 1e-10, ..Default::default() };
        let (w, _) = fit(&params, &Sample::new(&lists), None, &crate::progress::Silent).unwrap();
        // P_s is q / Q at the minimum: w = ln(3 p / 0.5 (1 - p)).
        close(&w, &[1.0 + 6f64.ln()], 1e-5);
    }

    proptest! {
        #[test]
        fn gradient_and_curvature_are_differences(
            lists in some_lists(),
            weights in prop::option::of(prop::collection::vec(0.1f32..4.0, 200)),
            w in prop::collection::vec(-1.0f64..1.0, 3),
            direction in prop::collection::vec(-1.0f64..1.0, 3),
        ) {
            let mut lists = lists;
            let n_rows = lists.n_rows();
            weights.iter().for_each(|weights| {
                lists.set_weights(weights.iter().copied().cycle().take(n_rows).collect()).unwrap();
            });
            let (w, direction) = (&w[..lists.n_features()], &direction[..lists.n_features()]);
            let sample = Sample::new(&lists);
            let mut risk = TopOneRisk::new(&sample);
            let moved = |by: f64| -> Vec<f64> { w.iter().zip(direction).map(|(w, d)| w + by * d).collect() };
            let h = 1e-5;
            let (above, gradient_above) = risk.at(&moved(h));
            let (below, gradient_below) = risk.at(&moved(-h));
            let (here, gradient) = risk.at(w);
            prop_assert!(weights.is_some() || here >= -1e-12);
            close(&[(above - below) / (2.0 * h)], &[products::dot(&gradient, direction)], 1e-6);
            let bends: Vec<f64> =
                gradient_above.iter().zip(&gradient_below).map(|(a, b)| (a - b) / (2.0 * h)).collect();
            close(&risk.curvature(direction), &bends, 1e-6);
        }
    }
}
