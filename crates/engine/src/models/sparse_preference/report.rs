use std::collections::BTreeMap;

use matchrank_core::matching::sparse_preference::{Phase, PreferenceParams};
use serde::{Deserialize, Serialize};

use crate::validation::ShareTrials;

/// Report of the training of a sparse preference model; kept in its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PreferenceReport {
    /// Source of the tuples.
    pub source: String,
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
    /// The density that was asked for, which updates keep to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_density: Option<f64>,
    /// Trials of the choice of parameters, in their order.
    pub trials: Vec<ParameterTrial>,
    /// Shares of what was learned that were tried, with their NDCG@10 on the validation judgments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blends: Vec<(f64, f64)>,
    /// The values behind `blends`. Not kept in files.
    #[serde(skip)]
    pub blend_trials: ShareTrials,
    /// Share of what was learned that was kept; none in files of former versions, and for the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<f64>,
    /// Progress of the learning.
    pub curve: Vec<CurvePoint>,
    /// True if training was interrupted before it had learned from all tuples.
    pub interrupted: bool,
    /// Lines of text that were left out, by reason.
    pub left_out: BTreeMap<String, u64>,
}

/// One combination of parameters that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterTrial {
    /// The margin.
    pub margin: f64,
    /// Length of the first step.
    pub c: f64,
    /// Strength of the shrinkage.
    pub lambda: f64,
    /// Tuples it learned from.
    pub tuples: u64,
    /// NDCG@10 on the validation judgments; none where learning diverged.
    pub validation: Option<f64>,
    /// Share of the entries of W that are not 0.
    pub density: f64,
}

impl ParameterTrial {
    pub(super) fn of(params: &PreferenceParams, tuples: u64) -> Self {
        let PreferenceParams { margin, c, lambda, .. } = *params;
        Self { margin, c, lambda, tuples, validation: None, density: 0.0 }
    }
}

/// State of the learning after some steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Phase: W is found, or refitted.
    pub phase: Phase,
    /// Steps of this phase.
    pub steps: u64,
    /// Share of the tuples since the last point that were less than the margin apart.
    pub violations: f64,
    /// Entries of W that are not 0.
    pub nonzero: u64,
    /// Their share.
    pub density: f64,
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
}
