use matchrank_core::matching::rmls::IterationReport;
use serde::{Deserialize, Serialize};

use crate::features::FeatureStatistics;
use crate::preferences::RuleCheck;
use crate::validation::ShareTrials;

/// Report of the training of a bilinear model; kept in its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LatentReport {
    /// Sizes of the click graph it learned from.
    pub features: Option<FeatureStatistics>,
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
    /// Iterations of RMLS.
    pub iterations: Vec<IterationRow>,
    /// The iteration whose model was kept.
    pub best: Option<usize>,
    /// Singular values of PLS and LSI, descending.
    pub singular_values: Vec<f64>,
    /// Residual of the singular vectors, relative to the largest singular value.
    pub residual: Option<f64>,
    /// Products of a block with the matrix and its transpose.
    pub steps: Option<usize>,
    /// Iterations of SSI and SVDFeature.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<Epoch>,
    /// Share of the queries and documents whose click features were hidden from learning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<f64>,
    /// Shares of what was learned that were tried, with their NDCG@10 on the validation judgments; the rest is the base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<(f64, f64)>,
    /// The values behind `shares`. Not kept in files.
    #[serde(skip)]
    pub share_trials: ShareTrials,
    /// Agreement of judgments with the preferences that SSI learned from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleCheck>,
}

/// An iteration of a model that learns by steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// From 1.
    pub number: usize,
    /// Mean loss of what it learned from, each before the step that learned from it: the hinge of SSI, the
    /// squared error of SVDFeature.
    pub loss: f64,
    /// Share of the tuples within the margin, for SSI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violations: Option<f64>,
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
    /// Seconds it took, validation not counted. Not kept in files: the same training makes the same file.
    #[serde(skip)]
    pub seconds: f64,
}

impl LatentReport {
    /// The report of a model that is made of singular vectors.
    pub(in crate::models) fn of_singular(
        validation: Option<f64>,
        singular_values: Vec<f64>,
        residual: f64,
        steps: usize,
    ) -> Self {
        Self { validation, singular_values, residual: Some(residual), steps: Some(steps), ..Self::default() }
    }

    /// The iteration whose model was kept.
    pub fn kept(&self) -> Option<&IterationRow> {
        self.iterations.iter().find(|row| Some(row.report.number) == self.best)
    }
}

/// An iteration of RMLS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IterationRow {
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
    /// Seconds it took, validation not counted. Not kept in files: the same training makes the same file.
    #[serde(skip)]
    pub seconds: f64,
    /// Statistics of the iteration.
    #[serde(flatten)]
    pub report: IterationReport,
}
