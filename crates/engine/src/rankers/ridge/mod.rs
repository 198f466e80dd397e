//! Ridge regression as a ranker of feature lists: scores that fit the grades of every list, up to a constant.
//!
//! J(w) = lambda/2 ||w||^2 + 1/n sum over lists of 1/(2C) sum over documents of c_i (e_i - e)^2,  e_i = s_i - R_i,
//!
//! with s = Xw, grades R, weights c of the documents (1 where there are none), C their sum, and e the mean of the errors
//! of the list, weighted by c. An order depends on differences of scores alone, so every list has an intercept of its own,
//! which the mean takes out. Written over pairs the loss of a list is 1/(4 C^2) sum c_i c_j ((s_i - s_j) - (R_i - R_j))^2:
//! differences of scores should be those of grades. RankSVM, in contrast, is content with any difference above 1.
//!
//! Gradient X'(c (e_i - e)) / C, Hessian X'(diag(c) - c c' / C)X / C, which does not depend on w: a step of Newton's method
//! is one solution by conjugate gradients. O(m) per list and product with m documents, dense or sparse. A list with one
//! grade says nothing about the order: it is left out, as by the other rankers.
//!
//! Reference: Hoerl and Kennard, *Ridge regression: biased estimation for nonorthogonal problems*, 1970.

#[cfg(test)]
mod tests;

use matchrank_core::data::List;
use matchrank_core::ranking::{
    Fitting, LambdaPath, PathParams, PathReport, Sample, Smooth, fit_smooth, products,
};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::RankerKind;
use super::kind::Takes;
use super::linear::{self, LinearParams};
use crate::settings::Parameter;

/// Ridge regression.
pub static KIND: RankerKind = RankerKind {
    class: "Ridge",
    help: "Differences of scores within a list should be those of grades, each list having an intercept of its own. A fast \
           baseline for the other rankers; grades should be numbers whose differences mean something.",
    parameters: &[
        Parameter::new("lambda", "[10,...,1e-6]", linear::LAMBDA_HELP),
        Parameter::new("tolerance", "0.0001", "gradient, relative, at which to stop"),
        Parameter::new("max_iterations", "500", "iterations for each lambda, at most"),
    ],
    examples: &[
        "--letor train.txt --validation vali.txt --out ridge.model",
        "--letor train.txt --document-weights propensities.tsv --set lambda=0.001 --out ridge.model",
    ],
    takes: Takes { document_weights: true, ..linear::TAKES },
    ..linear::kind::<RidgeParams>(
        "ridge",
        "Ridge regression: a ranker of feature lists whose scores fit the grades by least squares",
    )
};

/// Parameters of ridge regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RidgeParams {
    /// lambda, or several to choose from by validation.
    pub lambda: LambdaPath,
    /// Gradient, relative to the one at w = 0, at which to stop.
    pub tolerance: f64,
    /// Iterations for each lambda, at most.
    pub max_iterations: u32,
}

impl Default for RidgeParams {
    fn default() -> Self {
        Self { lambda: LambdaPath::powers_of_ten(1, -6), tolerance: 1e-4, max_iterations: 500 }
    }
}

impl LinearParams for RidgeParams {
    type Report = PathReport;
    type State = ();
    const KIND: &'static RankerKind = &KIND;

    fn validate(&self) -> Result<()> {
        self.lambda.validate()?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) || self.max_iterations == 0 {
            return Err(Error::Params(
                "tolerance must be above 0 and below 1, max_iterations at least 1".into(),
            ));
        }
        Ok(())
    }

    fn fit(&self, sample: &Sample<'_>, fitting: &Fitting<'_>) -> Result<(Vec<f64>, PathReport, ())> {
        let Self { lambda, tolerance, max_iterations } = self;
        let path = PathParams { lambda, tolerance: *tolerance, max_iterations: *max_iterations };
        let (weights, report) =
            fit_smooth(&mut SquaredRisk(sample), path, fitting.validation, fitting.progress)?;
        Ok((weights, report, ()))
    }

    fn settled(&self, report: &PathReport) -> Self {
        Self { lambda: LambdaPath::One(report.lambda), ..self.clone() }
    }
}

/// The mean over lists of half their weighted squared errors.
struct SquaredRisk<'s, 'a>(&'s Sample<'a>);

impl Smooth for SquaredRisk<'_, '_> {
    fn n_weights(&self) -> usize {
        self.0.lists().n_features()
    }

    fn at(&mut self, w: &[f64]) -> (f64, Vec<f64>) {
        let ([value], gradient) = self.0.means(|errors: &mut Vec<f64>, _, list, share, sum| {
            let Some(total) = weight_of(list) else { return [0.0] };
            products::scores(list, w, errors);
            errors.iter_mut().zip(list.labels()).for_each(|(error, grade)| *error -= f64::from(*grade));
            center(list, total, errors);
            let squares: f64 = (0..).zip(&*errors).map(|(i, e)| f64::from(list.weight(i)) * e * e).sum();
            add_weighted(list, share / total, errors, sum);
            [squares / (2.0 * total)]
        });
        (value, gradient)
    }

    fn curvature(&self, direction: &[f64]) -> Vec<f64> {
        let ([], product) = self.0.means(|images: &mut Vec<f64>, _, list, share, sum| {
            let Some(total) = weight_of(list) else { return [] };
            products::scores(list, direction, images);
            center(list, total, images);
            add_weighted(list, share / total, images, sum);
            []
        });
        product
    }
}

/// The sum of the weights of the documents; none for lists that say nothing.
fn weight_of(list: &List<'_>) -> Option<f64> {
    let labels = list.labels();
    let total: f64 = (0..list.len()).map(|i| f64::from(list.weight(i))).sum();
    (total > 0.0 && labels.iter().any(|label| *label != labels[0])).then_some(total)
}

/// Subtracts the weighted mean.
fn center(list: &List<'_>, total: f64, values: &mut [f64]) {
    let mean = (0..).zip(&*values).map(|(i, value)| f64::from(list.weight(i)) * value).sum::<f64>() / total;
    values.iter_mut().for_each(|value| *value -= mean);
}

/// Adds X' times `factor` times the weighted values to a sum.
fn add_weighted(list: &List<'_>, factor: f64, values: &mut [f64], sum: &mut [f64]) {
    (0..).zip(&mut *values).for_each(|(i, value)| *value *= factor * f64::from(list.weight(i)));
    products::add_rows(list, values, sum);
}
