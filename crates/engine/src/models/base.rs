//! The base of models that learn an addition to word matching: BM25, or the cosine of tf-idf vectors.
//!
//! With `base=bm25` words are weighted as in [`Bm25Words`], so that the identity scores exactly as BM25, and what is
//! learned starts from there. `k1` and `b` are given, or chosen on the validation judgments.

use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::bm25;
use super::recipe::{Training, chosen};
use crate::dataset::Dataset;
use crate::features::{Bm25Words, FeatureParams, Features};
use crate::json::Json;
use crate::settings::{AutoNumber, Parameter, Settings};
use crate::validation::Validation;

/// Scores that a model starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// BM25.
    #[default]
    Bm25,
    /// The cosine of tf-idf vectors.
    Cosine,
}

pub(super) const BASE: Parameter = Parameter::new(
    "base",
    "bm25",
    "scores that learning starts from: bm25, or cosine (of tf-idf vectors; tf and idf are its settings)",
);
pub(super) const K1: Parameter =
    Parameter::new("k1", "auto", "of the base bm25: how soon repeating a word stops counting, from 0");
pub(super) const B: Parameter =
    Parameter::new("b", "auto", "of the base bm25: how much long documents are held back, from 0 to 1");

/// Chooses k1 and b of a base on the validation judgments, where they are not given among the parameters of a model.
pub(super) fn choose(params: &Json, training: &Training<'_>) -> Result<Settings> {
    if params.field("base") != Some(Json::of(&Base::Bm25)) {
        return Ok(Settings::new());
    }
    let given = |name: &str| params.field(name).and_then(|value| value.as_f64());
    let given = (given("k1"), given("b"));
    if let (Some(_), Some(_)) = given {
        return Ok(Settings::new());
    }
    let Training { dataset, seed, progress, .. } = *training;
    let validation = Validation::of(dataset, seed, &Silent)?;
    let Bm25Params { k1, b } = bm25::choose(given, dataset, validation.as_ref(), progress)?;
    Ok(vec![chosen("k1", &k1), chosen("b", &b)])
}

/// A base and the parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct BaseParams {
    pub(super) base: Base,
    pub(super) k1: AutoNumber,
    pub(super) b: AutoNumber,
}

impl BaseParams {
    /// Returns an error if a parameter is out of range.
    pub(super) fn validate(&self) -> Result<()> {
        let usual = Bm25Params::default();
        let params =
            Bm25Params { k1: self.k1.given().unwrap_or(usual.k1), b: self.b.given().unwrap_or(usual.b) };
        params.validate()
    }

    /// Returns an error if settings were given that the base does not have.
    pub(super) fn check_given(&self, is_given: impl Fn(&str) -> bool) -> Result<()> {
        let (names, other) = match self.base {
            Base::Bm25 => (["tf", "idf"], "cosine"),
            Base::Cosine => (["k1", "b"], "bm25"),
        };
        match names.into_iter().find(|name| is_given(name)) {
            Some(name) => Err(Error::Params(format!("{name} is a setting of base={other}; set that too"))),
            None => Ok(()),
        }
    }

    /// Features whose words are weighted by the base.
    pub(super) fn features(
        &self,
        params: &FeatureParams,
        dataset: &Dataset,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Features> {
        let features = Features::of_dataset(params, dataset)?;
        if self.base == Base::Cosine {
            return Ok(features);
        }
        let given = (self.k1.given(), self.b.given());
        let params = match given {
            (Some(k1), Some(b)) => Bm25Params { k1, b },
            _ => {
                let validation = Validation::of(dataset, seed, &Silent)?;
                bm25::choose(given, dataset, validation.as_ref(), progress)?
            }
        };
        features.with_bm25(Bm25Words::of_dataset(&params, dataset))
    }
}
