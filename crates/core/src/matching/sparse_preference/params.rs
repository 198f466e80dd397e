use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Selects the entries of W that are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightForm {
    /// Entries of words that queries and documents share; the others stay 0.
    Diagonal,
    /// All entries, without shrinkage: every entry that a tuple touches stays.
    Dense,
    /// All entries, shrunk towards 0 every [`shrink_every`](PreferenceParams::shrink_every) steps.
    #[default]
    Sparse,
}

/// Schedule of the step length.
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
    /// Entries of W that are learned. Default: sparse.
    pub form: WeightForm,
    /// A tuple changes W if the scores of its two documents are less than this apart. Default: 1.
    pub margin: f64,
    /// Length of the first step. Default: 200 as in the paper, for rows of length 1.
    pub c: f64,
    /// Schedule of the other steps. Default: decaying.
    pub step: Step,
    /// Strength of the shrinkage; only for the sparse form. Default: 0.00001.
    pub lambda: f64,
    /// T: number of steps between two shrinkages. Default: 400, which finds the same W as the paper's 100 a quarter
    /// faster, because W is written half as often.
    pub shrink_every: usize,
    /// If true, refitting ends with the mean of W over its steps instead of the last W. The mean is better once W has
    /// settled, and worse while more steps still help, as on 20 Newsgroups. Default: false.
    pub average: bool,
    /// Memory limit of W during training, in MiB; above it, the smallest entries are dropped. Default: no limit.
    pub max_mib: Option<usize>,
}

impl Default for PreferenceParams {
    fn default() -> Self {
        Self {
            form: WeightForm::Sparse,
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
    /// Returns an error if a parameter is out of range.
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
