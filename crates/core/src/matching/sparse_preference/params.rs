use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Which entries of W are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Those of words that queries and documents share; the others stay 0.
    Diagonal,
    /// All, without shrinkage: what a tuple touches stays.
    Dense,
    /// All, shrunk towards 0 every [`shrink_every`](PreferenceParams::shrink_every) steps.
    #[default]
    Sparse,
}

/// How long a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// eta_t = c.
    Fixed,
    /// eta_t = c / sqrt(t).
    #[default]
    Decaying,
}

/// Parameters of sparse preference learning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PreferenceParams {
    /// Which entries of W are learned. Default: sparse.
    pub form: Form,
    /// A tuple is learned from where its two documents are less than this apart. Default: 1.
    pub margin: f64,
    /// Length of the first step. Default: 200, that of the paper, for rows of length 1.
    pub c: f64,
    /// How long the others are. Default: decaying.
    pub step: Step,
    /// Strength of the shrinkage, of the sparse form alone. Default: 0.00001.
    pub lambda: f64,
    /// T: shrinkage is applied every that many steps. Default: 400, which finds the W that the paper's 100 does
    /// a quarter faster: W is written half as often.
    pub shrink_every: usize,
    /// Whether refitting ends with the mean of W over its steps instead of the last W: better once W has
    /// settled, worse while more steps still help, as on 20 Newsgroups. Default: false.
    pub average: bool,
    /// Memory that W may take while it is learned, in MiB; where it would take more, the smallest entries are
    /// dropped. Default: no ceiling.
    pub max_mib: Option<usize>,
}

impl Default for PreferenceParams {
    fn default() -> Self {
        Self {
            form: Form::Sparse,
            margin: 1.0,
            c: 200.0,
            step: Step::Decaying,
            lambda: 1e-5,
            shrink_every: 400,
            average: false,
            max_mib: None,
        }
    }
}

impl PreferenceParams {
    /// Checks that every parameter is in its range.
    pub fn validate(&self) -> Result<()> {
        let Self { margin, c, lambda, shrink_every, max_mib, .. } = *self;
        let wrong = |message: String| Err(Error::Params(message));
        for (name, value) in [("margin", margin), ("c", c)] {
            if !(value > 0.0 && value <= 1e9) {
                return wrong(format!("{name} must be above 0 and at most 1000000000, not {value}"));
            }
        }
        if !(0.0..=1e9).contains(&lambda) {
            return wrong(format!("lambda must be from 0 to 1000000000, not {lambda}"));
        }
        if shrink_every == 0 {
            return wrong("shrink_every must be at least 1".into());
        }
        if max_mib == Some(0) {
            return wrong("max_mib must be at least 1".into());
        }
        Ok(())
    }
}
