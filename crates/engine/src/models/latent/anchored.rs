//! Features of PLS and RMLS, with an optional base and hidden clicks.
//!
//! **Base.** With `base=bm25` or `base=cosine` the score is f(x, y) = x' y over the words + share x' L_x L_y' y. Validation
//! chooses the share, 0 included, by the rule of [`ShareTrials`](crate::validation::ShareTrials).
//!
//! **Hidden clicks.** With `hide` above 0, that share of the queries and of the documents, drawn by the seed, has no click
//! features while the model learns. What a click feature would have learned, words have to learn, as for queries and documents
//! that nobody has clicked. Rankings use all click features.

use matchrank_core::matching::tf_idf::{Idf, Tf};
use matchrank_core::matching::{Bilinear, ClickGraph, Csr};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Inputs, Judge, LatentReport, choose_share};
use crate::dataset::BoundDocuments;
use crate::dataset::Clicks;
use crate::features::{ClickTf, FeatureParams, FeatureStatistics, Features, click_graph, document_rows};
use crate::models::Training;
use crate::models::base::{self, Base, BaseParams};
use crate::settings::{AutoNumber, Parameter};

/// Scores that what is learned is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionalBase {
    /// None: the model scores by what it learned alone.
    #[default]
    None,
    /// BM25.
    Bm25,
    /// The cosine of tf-idf vectors.
    Cosine,
}

/// Features of a model that may have a base; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnchoredFeatures {
    /// See [`FeatureParams::tf`].
    pub tf: Tf,
    /// See [`FeatureParams::idf`].
    pub idf: Idf,
    /// See [`FeatureParams::click_tf`].
    pub click_tf: ClickTf,
    /// See [`FeatureParams::click_weight`].
    pub click_weight: f64,
    /// Share of the queries and documents whose click features are hidden from learning. Default: 0.
    pub hide: f64,
    /// Scores that what is learned is added to. Default: none.
    pub base: OptionalBase,
    /// k1 of BM25. Default: auto.
    pub k1: AutoNumber,
    /// b of BM25. Default: auto.
    pub b: AutoNumber,
    /// Share of what is learned beside the base. Default: auto.
    pub share: AutoNumber,
}

impl Default for AnchoredFeatures {
    fn default() -> Self {
        FeatureParams::default().into()
    }
}

impl From<FeatureParams> for AnchoredFeatures {
    /// Features without a base, of which none are hidden.
    fn from(params: FeatureParams) -> Self {
        let FeatureParams { tf, idf, click_tf, click_weight } = params;
        let BaseParams { k1, b, .. } = BaseParams::default();
        let share = AutoNumber::Auto;
        Self { tf, idf, click_tf, click_weight, hide: 0.0, base: OptionalBase::None, k1, b, share }
    }
}

impl AnchoredFeatures {
    /// Documentation of the parameters.
    pub const PARAMETERS: &[Parameter] = &[
        FeatureParams::PARAMETERS[0],
        FeatureParams::PARAMETERS[1],
        FeatureParams::PARAMETERS[2],
        FeatureParams::PARAMETERS[3],
        Parameter::new(
            "hide",
            "0",
            "share of the queries and documents whose click features are hidden from learning, so that their words learn more",
        ),
        Parameter::new(
            "base",
            "none",
            "scores that what is learned is added to: none, bm25 or cosine (of tf-idf vectors)",
        ),
        base::K1,
        base::B,
        Parameter::new(
            "share",
            "auto",
            "share of what is learned beside the base, from 0; auto: on the validation judgments, 0 unless another is better \
             by more than one standard error",
        ),
    ];

    fn features(&self) -> FeatureParams {
        let Self { tf, idf, click_tf, click_weight, .. } = *self;
        FeatureParams { tf, idf, click_tf, click_weight }
    }

    fn base(&self) -> Option<BaseParams> {
        let base = match self.base {
            OptionalBase::None => return None,
            OptionalBase::Bm25 => Base::Bm25,
            OptionalBase::Cosine => Base::Cosine,
        };
        Some(BaseParams { base, k1: self.k1, b: self.b })
    }

    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.features().validate()?;
        BaseParams { base: Base::Bm25, k1: self.k1, b: self.b }.validate()?;
        if !(0.0..1.0).contains(&self.hide) {
            return Err(Error::Params(format!("hide must be from 0 to below 1, not {}", self.hide)));
        }
        if self.share.given().is_some_and(|share| !(0.0..=1e3).contains(&share)) {
            return Err(Error::Params("share must be auto or from 0 to 1000".into()));
        }
        Ok(())
    }

    /// Returns an error if settings were given that the base does not have.
    pub(in crate::models) fn check_given(&self, is_given: impl Fn(&str) -> bool) -> Result<()> {
        if let Some(base) = self.base() {
            return base.check_given(is_given);
        }
        match ["k1", "b", "share"].into_iter().find(|name| is_given(name)) {
            Some(name) => Err(Error::Params(format!("{name} is a setting of a base; set base too"))),
            None => Ok(()),
        }
    }

    /// Makes the features of a dataset and the graph to learn from.
    pub(in crate::models) fn lessons(&self, training: &Training<'_>) -> Result<AnchoredLessons> {
        let Training { dataset, seed, progress, .. } = *training;
        self.validate()?;
        let features = match self.base() {
            Some(base) => base.features(&self.features(), dataset, seed, progress)?,
            None => Features::of_dataset(&self.features(), dataset)?,
        };
        let clicks = Clicks::to_learn_from(dataset)?;
        let features = features.with_keys_of(dataset, &clicks)?;
        let inputs = Inputs::Features(Box::new(features.clone()));
        let judge = Judge::new(&inputs, dataset, Some((&clicks).into()), seed, progress)?;
        let is_hidden = self.hide > 0.0 && features.use_clicks();
        let shown = is_hidden
            .then(|| document_rows(&features, BoundDocuments::all(dataset), Some((&clicks).into()), progress))
            .transpose()?;
        let learned_from =
            if is_hidden { features.clone().hiding(self.hide, seed) } else { features.clone() };
        let (graph, statistics) = click_graph(&learned_from, dataset, clicks, progress)?;
        let identity = if self.base().is_some() { features.n_words() } else { 0 };
        Ok(AnchoredLessons { inputs, judge, graph, statistics, shown, identity, params: *self })
    }
}

/// Data that a model with an optional base learns from.
pub(in crate::models) struct AnchoredLessons {
    pub(in crate::models) inputs: Inputs,
    pub(in crate::models) judge: Judge,
    pub(in crate::models) graph: ClickGraph,
    pub(in crate::models) statistics: FeatureStatistics,
    /// Y with all click features, where some are hidden in the graph.
    shown: Option<Csr>,
    /// Words that the base counts; 0 without a base.
    identity: usize,
    params: AnchoredFeatures,
}

impl AnchoredLessons {
    /// Y as rankings have it.
    pub(in crate::models) fn documents(&self) -> &Csr {
        self.shown.as_ref().unwrap_or(self.graph.y())
    }

    /// Adds what was learned to the base, where there is one, by the share that is given or chosen.
    pub(in crate::models) fn anchored(
        &self,
        model: Bilinear,
        report: &mut LatentReport,
        training: &Training<'_>,
    ) -> Result<Bilinear> {
        report.hidden = Some(self.params.hide).filter(|hide| *hide > 0.0);
        let model = model.with_identity(self.identity)?;
        choose_share((model, self.params.share), report, (&self.judge, self.documents()), training)
    }
}
