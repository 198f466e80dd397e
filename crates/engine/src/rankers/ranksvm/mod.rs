//! RankSVM as a ranker of feature lists; the mathematics is in [`matchrank_core::ranking::ranksvm`].

use matchrank_core::Result;
use matchrank_core::ranking::ranksvm::{self, PathReport, RankSvmParams};
use matchrank_core::ranking::{Fitting, LambdaPath, Sample};

use super::RankerKind;
use super::kind::SCALINGS;
use super::linear::{self, LinearParams};
use crate::settings::Parameter;

/// RankSVM.
pub static KIND: RankerKind = RankerKind {
    class: "RankSVM",
    help: "Pairs are never formed: a list of m documents costs m log m.",
    parameters: &[
        Parameter::new("loss", "squared_hinge", "what a pair costs: squared_hinge, hinge"),
        Parameter::new("lambda", "[10,...,1e-6]", linear::LAMBDA_HELP),
        Parameter::new(
            "tolerance",
            "0.001",
            "gradient (squared_hinge) or gap (hinge), relative, at which to stop",
        ),
        Parameter::new("max_iterations", "500", "iterations for each lambda, at most"),
    ],
    examples: &[
        "--letor train.txt --validation vali.txt --out svm.model",
        "--letor train.txt --validation vali.txt --scaling auto --out svm.model",
        "--letor s1.txt s2.txt s3.txt --validation s4.txt --set loss=hinge --out svm.model",
        "--letor train.txt --set lambda=0.001 --query-weights weights.tsv --out svm.model",
    ],
    space: &[("loss", "squared_hinge,hinge"), SCALINGS],
    ..linear::kind::<RankSvmParams>(
        "ranksvm",
        "RankSVM: a ranker of feature lists that learns from all pairs of documents of different grades",
    )
};

impl LinearParams for RankSvmParams {
    type Report = PathReport;
    type State = ();
    const KIND: &'static RankerKind = &KIND;

    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn fit(&self, sample: &Sample<'_>, fitting: &Fitting<'_>) -> Result<(Vec<f64>, PathReport, ())> {
        let (weights, report) = ranksvm::fit(self, sample, fitting.validation, fitting.progress)?;
        Ok((weights, report, ()))
    }

    fn settled(&self, report: &PathReport) -> Self {
        Self { lambda: LambdaPath::One(report.lambda), ..self.clone() }
    }
}
