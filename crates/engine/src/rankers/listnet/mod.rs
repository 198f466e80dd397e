//! ListNet as a ranker of feature lists; the mathematics is in [`matchrank_core::ranking::listnet`].

use matchrank_core::Result;
use matchrank_core::ranking::listnet::{self, ListNetParams};
use matchrank_core::ranking::ranksvm::PathReport;
use matchrank_core::ranking::{Fitting, LambdaPath, Sample};

use super::RankerKind;
use super::kind::Takes;
use super::linear::{self, LinearParams};
use crate::settings::Parameter;

/// ListNet.
pub static KIND: RankerKind = RankerKind {
    class: "ListNet",
    parameters: &[
        Parameter::new("lambda", "[1,...,1e-6]", linear::LAMBDA_HELP),
        Parameter::new("tolerance", "0.001", "gradient, relative, at which to stop"),
        Parameter::new("max_iterations", "500", "iterations for each lambda, at most"),
    ],
    examples: &[
        "--letor s1.txt s2.txt s3.txt --validation s4.txt --out l.model",
        "--letor train.txt --validation vali.txt --document-weights propensities.tsv --out l.model",
        "--letor train.txt --set lambda=0.001 --query-weights weights.tsv --out l.model",
    ],
    takes: Takes { document_weights: true, ..linear::TAKES },
    ..linear::kind::<ListNetParams>(
        "listnet",
        "ListNet: a ranker of feature lists that learns the probability of each document to be the best",
    )
};

impl LinearParams for ListNetParams {
    type Report = PathReport;
    type State = ();
    const KIND: &'static RankerKind = &KIND;

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn fit(&self, sample: &Sample<'_>, fitting: &Fitting<'_>) -> Result<(Vec<f64>, PathReport, ())> {
        let (weights, report) = listnet::fit(self, sample, fitting.validation, fitting.progress)?;
        Ok((weights, report, ()))
    }

    fn settled(&self, report: &PathReport) -> Self {
        Self { lambda: LambdaPath::One(report.lambda), ..self.clone() }
    }
}
