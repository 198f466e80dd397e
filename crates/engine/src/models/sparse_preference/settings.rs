use matchrank_core::matching::sparse_preference::{PreferenceParams, Step, WeightForm};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::models::base::{Base, BaseParams};
use crate::preferences::check_tuples;
use crate::settings::AutoNumber;

/// Entries of W that are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Nothing: W is the identity, and the score that of the base.
    Identity,
    /// The weights of words with themselves.
    Diagonal,
    /// All weights, none of them shrunk.
    Dense,
    /// All weights, shrunk towards 0, so that few are left.
    Sparse,
    /// All weights, shrunk towards 0; the remaining weights are then learned again without shrinkage.
    #[default]
    Refit,
}

/// Tuples that are drawn for each training pair by default: more taught no more on Cranfield and SciFact.
pub const TUPLES_PER_PAIR: u64 = 200;
/// Fewest tuples that are drawn by default.
pub const FEWEST_TUPLES: u64 = 100_000;
/// Most tuples that are drawn by default.
pub const MOST_TUPLES: u64 = 1_000_000;

/// Largest share of what was learned.
const MOST_BLEND: f64 = 10.0;

/// Settings of sparse preference learning on a dataset or a stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PreferenceSettings {
    /// Scores of the identity. Default: `bm25`.
    pub base: Base,
    /// k1 of BM25. Default: auto.
    pub k1: AutoNumber,
    /// b of BM25. Default: auto.
    pub b: AutoNumber,
    /// Share of what was learned: W is (1 - blend) I + blend times the learned matrix. Default: auto.
    pub blend: AutoNumber,
    /// Entries of W that are learned. Default: `refit`.
    pub variant: Variant,
    /// Tuples to draw from a dataset. Default: auto, [`TUPLES_PER_PAIR`] for each training pair, at least
    /// [`FEWEST_TUPLES`] and at most [`MOST_TUPLES`].
    pub tuples: AutoNumber,
    /// Share of the tuples whose worse document was judged lower, or skipped above a click, where there is one;
    /// the others have one that has no response. Default: 0.2.
    pub judged: f64,
    /// Share of the other tuples whose worse document has no response and looks like an answer by its words.
    /// Default: 0.5.
    pub hard: f64,
    /// A tuple is learned from where its two documents are less than this apart. Default: auto.
    pub margin: AutoNumber,
    /// Length of the first step. Default: auto.
    pub c: AutoNumber,
    /// Length of the other steps: c / sqrt(t), or c. Default: `decaying`.
    pub step: Step,
    /// Strength of the shrinkage. Default: auto.
    pub lambda: AutoNumber,
    /// Steps from one shrinkage to the next. Default: 400.
    pub shrink_every: usize,
    /// True to end refitting with the mean of W over its steps, not with the last W. Default: no.
    pub average: bool,
    /// MiB that W may take while it is learned; 0 for no ceiling. Default: 0.
    pub max_mib: usize,
}

impl Default for PreferenceSettings {
    fn default() -> Self {
        let PreferenceParams { step, shrink_every, average, .. } = PreferenceParams::default();
        let BaseParams { base, k1, b } = BaseParams::default();
        Self {
            base,
            k1,
            b,
            blend: AutoNumber::Auto,
            variant: Variant::Refit,
            tuples: AutoNumber::Auto,
            judged: 0.2,
            hard: 0.5,
            margin: AutoNumber::Auto,
            c: AutoNumber::Auto,
            step,
            lambda: AutoNumber::Auto,
            shrink_every,
            average,
            max_mib: 0,
        }
    }
}

impl PreferenceSettings {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        for (name, share) in [("judged", self.judged), ("hard", self.hard)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::Params(format!("{name} must be from 0 to 1, not {share}")));
            }
        }
        check_tuples(self.tuples)?;
        if let Some(blend) = self.blend.given()
            && !(0.0..=MOST_BLEND).contains(&blend)
        {
            return Err(Error::Params(format!("blend must be auto or from 0 to {MOST_BLEND}, not {blend}")));
        }
        self.base().validate()?;
        self.params(&ChosenSettings::default()).validate()
    }

    /// Returns an error if settings were given that the base does not have, such as k1 of the cosine.
    pub fn check_given(&self, is_given: impl Fn(&str) -> bool) -> Result<()> {
        self.base().check_given(is_given)
    }

    /// Number of tuples to draw, given the number of training pairs.
    pub(super) fn n_tuples(&self, n_pairs: u64) -> u64 {
        let usual = n_pairs.saturating_mul(TUPLES_PER_PAIR).clamp(FEWEST_TUPLES, MOST_TUPLES);
        self.tuples.given().map_or(usual, |tuples| tuples as u64)
    }

    /// The base and its parameters.
    pub(super) fn base(&self) -> BaseParams {
        BaseParams { base: self.base, k1: self.k1, b: self.b }
    }

    /// Parameters of the learner: what is given, else what is chosen.
    pub fn params(&self, chosen: &ChosenSettings) -> PreferenceParams {
        PreferenceParams {
            form: match self.variant {
                Variant::Identity | Variant::Diagonal => WeightForm::Diagonal,
                Variant::Dense => WeightForm::Dense,
                Variant::Sparse | Variant::Refit => WeightForm::Sparse,
            },
            margin: self.margin.given().unwrap_or(chosen.margin),
            c: self.c.given().unwrap_or(chosen.c),
            lambda: self.lambda.given().unwrap_or(chosen.lambda),
            step: self.step,
            shrink_every: self.shrink_every,
            average: self.average,
            max_mib: Some(self.max_mib).filter(|&mib| mib > 0),
        }
    }
}

/// Values that `auto` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChosenSettings {
    /// The margin.
    pub margin: f64,
    /// Length of the first step.
    pub c: f64,
    /// Strength of the shrinkage.
    pub lambda: f64,
}

impl Default for ChosenSettings {
    /// Value where there is nothing to choose by.
    fn default() -> Self {
        Self { margin: 0.3, c: 2.0, lambda: 1e-6 }
    }
}
