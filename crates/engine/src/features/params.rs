use matchrank_core::matching::tf_idf::{Idf, Tf};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::settings::Parameter;

/// Transformation of a click count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClickTf {
    /// The count.
    Count,
    /// ln(1 + count).
    #[default]
    Log,
}

/// Which features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FeatureParams {
    /// Transformation of a word count. Default: `log`.
    pub tf: Tf,
    /// Weight of a word by its frequency in the collection. Default: `smooth`.
    pub idf: Idf,
    /// Transformation of a click count. Default: `log`.
    pub click_tf: ClickTf,
    /// Length of the block of clicks, where the block of words has length 1; 0: no clicks. Default: 1.
    pub click_weight: f64,
}

impl Default for FeatureParams {
    fn default() -> Self {
        Self { tf: Tf::Log, idf: Idf::Smooth, click_tf: ClickTf::Log, click_weight: 1.0 }
    }
}

const TF: Parameter = Parameter::new("tf", "log", "transform of the count of a word: count, log, binary");
const IDF: Parameter =
    Parameter::new("idf", "smooth", "weight of a word by its frequency: none, smooth, plain, bm25");
const CLICK_TF: Parameter = Parameter::new("click_tf", "log", "transform of a count of clicks: count, log");
const CLICK_WEIGHT: Parameter = Parameter::new(
    "click_weight",
    "1",
    "length of the click features beside the words; 0 for no click features",
);

impl FeatureParams {
    /// Documentation of the parameters.
    pub const PARAMETERS: &[Parameter] = &[TF, IDF, CLICK_TF, CLICK_WEIGHT];

    /// Words, and no clicks.
    pub fn words_only(words: &WordParams) -> Self {
        Self { tf: words.tf, idf: words.idf, click_weight: 0.0, ..Self::default() }
    }

    /// The parameters of the words alone.
    pub fn words(&self) -> WordParams {
        WordParams { tf: self.tf, idf: self.idf }
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        if !(self.click_weight.is_finite() && self.click_weight >= 0.0) {
            return Err(Error::Params(format!(
                "click_weight must be 0 or more and finite, not {}",
                self.click_weight
            )));
        }
        Ok(())
    }
}

/// Which features, where there are words only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WordParams {
    /// Transformation of a word count. Default: `log`.
    pub tf: Tf,
    /// Weight of a word by its frequency in the collection. Default: `smooth`.
    pub idf: Idf,
}

impl Default for WordParams {
    fn default() -> Self {
        let FeatureParams { tf, idf, .. } = FeatureParams::default();
        Self { tf, idf }
    }
}

impl WordParams {
    /// Documentation of the parameters.
    pub const PARAMETERS: &[Parameter] = &[TF, IDF];
}

/// Counting of clicks for models without words.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClickParams {
    /// Transformation of a click count. Default: `log`.
    pub click_tf: ClickTf,
}

impl ClickParams {
    /// Documentation of the parameters.
    pub const PARAMETERS: &[Parameter] = &[CLICK_TF];
}

impl ClickTf {
    /// Transforms a count.
    pub fn of(self, count: f32) -> f64 {
        match self {
            Self::Count => f64::from(count),
            Self::Log => f64::from(count).ln_1p(),
        }
    }
}
