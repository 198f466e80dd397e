//! A model by its name and settings: what to train, before there is data to train it on.

use matchrank_core::matching::{BltmParams, Bm25Params, LsiParams, PlsParams, RandomWalkParams, RmlsParams};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::preference::{Choice, Course, PreferenceSettings, TRIAL_TUPLES, train_preference};
use super::settings::{params_from, params_of_two};
use super::{
    SsiSettings, SvdFeatureSettings, plain, train_bltm, train_lsi_dt, train_lsi_qd, train_pls, train_rmls,
    train_ssi, train_svd_feature,
};
use crate::dataset::Dataset;
use crate::features::{ClickParams, FeatureParams, WordParams};
use crate::matching::{MatchingModel, TextBm25, WalkModel};

/// A model that learns from a dataset alone, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recipe {
    /// BM25.
    Bm25(Bm25Params),
    /// The random walk over clicks.
    RandomWalk(RandomWalkParams),
    /// LSI of the documents' words.
    LsiDt(LsiParams, WordParams),
    /// LSI of the clicks.
    LsiQd(LsiParams, ClickParams),
    /// PLS.
    Pls(PlsParams, FeatureParams),
    /// RMLS.
    Rmls(RmlsParams, FeatureParams),
    /// SSI.
    Ssi(SsiSettings, FeatureParams),
    /// SVDFeature.
    SvdFeature(SvdFeatureSettings, FeatureParams),
    /// BLTM.
    Bltm(BltmParams, ClickParams),
    /// Sparse preferences.
    SparsePreference(PreferenceSettings, WordParams),
}

impl Recipe {
    /// The names of the models, as commands call them.
    pub const KINDS: [&'static str; 10] = [
        "bm25",
        "random-walk",
        "lsi-dt",
        "lsi-qd",
        "pls",
        "rmls",
        "ssi",
        "svdfeature",
        "bltm",
        "sparse-preference",
    ];

    /// The model of a name, with settings over its defaults. Names and kinds of values are checked, not their
    /// ranges; [`Recipe::validate`] does that.
    pub fn new(kind: &str, settings: &[(String, Value)]) -> Result<Self> {
        Ok(match kind {
            "bm25" => Self::Bm25(params_from(settings)?),
            "random-walk" => Self::RandomWalk(params_from(settings)?),
            "lsi-dt" => pair(settings, Self::LsiDt)?,
            "lsi-qd" => pair(settings, Self::LsiQd)?,
            "pls" => pair(settings, Self::Pls)?,
            "rmls" => pair(settings, Self::Rmls)?,
            "ssi" => pair(settings, Self::Ssi)?,
            "svdfeature" => pair(settings, Self::SvdFeature)?,
            "bltm" => pair(settings, Self::Bltm)?,
            "sparse-preference" => pair(settings, Self::SparsePreference)?,
            other => {
                return Err(Error::Params(format!(
                    "there is no model called {other}; there are {}",
                    Self::KINDS.join(", ")
                )));
            }
        })
    }

    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Bm25(params) => params.validate(),
            Self::RandomWalk(params) => params.validate(),
            Self::LsiDt(params, _) | Self::LsiQd(params, _) => params.validate(),
            Self::Pls(params, features) => params.validate().and_then(|()| features.validate()),
            Self::Rmls(params, features) => params.validate().and_then(|()| features.validate()),
            Self::Ssi(params, features) => params.validate().and_then(|()| features.validate()),
            Self::SvdFeature(params, features) => params.validate().and_then(|()| features.validate()),
            Self::Bltm(params, _) => params.validate(),
            Self::SparsePreference(params, _) => params.validate(),
        }
    }

    /// The name of the model.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bm25(_) => "bm25",
            Self::RandomWalk(_) => "random-walk",
            Self::LsiDt(..) => "lsi-dt",
            Self::LsiQd(..) => "lsi-qd",
            Self::Pls(..) => "pls",
            Self::Rmls(..) => "rmls",
            Self::Ssi(..) => "ssi",
            Self::SvdFeature(..) => "svdfeature",
            Self::Bltm(..) => "bltm",
            Self::SparsePreference(..) => "sparse-preference",
        }
    }

    /// All parameters by their names, those of the features too.
    pub fn params(&self) -> Value {
        match self {
            Self::Bm25(params) => plain(params),
            Self::RandomWalk(params) => plain(params),
            Self::LsiDt(params, words) => together(plain(params), plain(words)),
            Self::LsiQd(params, clicks) => together(plain(params), plain(clicks)),
            Self::Pls(params, features) => together(plain(params), plain(features)),
            Self::Rmls(params, features) => together(plain(params), plain(features)),
            Self::Ssi(params, features) => together(plain(params), plain(features)),
            Self::SvdFeature(params, features) => together(plain(params), plain(features)),
            Self::Bltm(params, clicks) => together(plain(params), plain(clicks)),
            Self::SparsePreference(params, words) => together(plain(params), plain(words)),
        }
    }

    /// The same recipe with what the training of a model chose on validation judgments: the iteration that was kept,
    /// and what was `auto`.
    pub fn settled(mut self, model: &MatchingModel) -> Self {
        let kept = match model {
            MatchingModel::Latent(model) => model.report.best,
            MatchingModel::Bltm(model) => model.report.best,
            _ => None,
        };
        match (&mut self, model) {
            (Self::Rmls(params, _), _) => params.iterations = kept.unwrap_or(params.iterations),
            (Self::Ssi(settings, _), _) => settings.iterations = kept.unwrap_or(settings.iterations),
            (Self::SvdFeature(settings, _), _) => settings.iterations = kept.unwrap_or(settings.iterations),
            (Self::Bltm(params, _), _) => params.iterations = kept.unwrap_or(params.iterations),
            (Self::SparsePreference(settings, _), MatchingModel::Preference(model)) => {
                let chosen = &model.state.params;
                settings.margin = Choice::Given(chosen.margin);
                settings.c = Choice::Given(chosen.c);
                settings.lambda = Choice::Given(chosen.lambda);
            }
            _ => {}
        }
        self
    }

    /// Whether the seed changes what is learned.
    pub fn is_seeded(&self) -> bool {
        !matches!(self, Self::Bm25(_) | Self::RandomWalk(_))
    }

    /// Trains the model.
    pub fn train(&self, dataset: &Dataset, seed: u64, progress: &dyn Progress) -> Result<MatchingModel> {
        let latent = match self {
            Self::Bm25(params) => {
                return Ok(MatchingModel::Bm25(TextBm25::of_dataset(params, dataset)?.into()));
            }
            Self::RandomWalk(params) => {
                let content_hash = dataset.manifest.content_hash.clone();
                return Ok(MatchingModel::RandomWalk(WalkModel { params: *params, content_hash }));
            }
            Self::Bltm(params, clicks) => {
                let model = train_bltm(params, clicks, dataset, seed, progress)?;
                return Ok(MatchingModel::Bltm(Box::new(model)));
            }
            Self::SparsePreference(settings, words) => {
                let course = Course {
                    density: None,
                    trial_tuples: TRIAL_TUPLES,
                    seed,
                    stop: &|| false,
                    checkpoint: None,
                };
                let trained = train_preference(settings, words, dataset, None, &course, progress)?;
                return Ok(MatchingModel::Preference(Box::new(trained.model)));
            }
            Self::LsiDt(params, words) => train_lsi_dt(params, words, dataset, seed, progress)?,
            Self::LsiQd(params, clicks) => train_lsi_qd(params, clicks, dataset, seed, progress)?,
            Self::Pls(params, features) => train_pls(params, features, dataset, seed, progress)?,
            Self::Rmls(params, features) => train_rmls(params, features, dataset, None, seed, progress)?,
            Self::Ssi(settings, features) => train_ssi(settings, features, dataset, seed, progress)?,
            Self::SvdFeature(settings, features) => {
                train_svd_feature(settings, features, dataset, seed, progress)?
            }
        };
        Ok(MatchingModel::Latent(Box::new(latent)))
    }
}

/// A recipe of two kinds of parameters.
fn pair<P, Q>(settings: &[(String, Value)], recipe: impl Fn(P, Q) -> Recipe) -> Result<Recipe>
where
    P: DeserializeOwned + Serialize + Default,
    Q: DeserializeOwned + Serialize + Default,
{
    params_of_two(settings).map(|(first, second)| recipe(first, second))
}

/// The fields of both, which have different names.
fn together(first: Value, second: Value) -> Value {
    let (Value::Object(mut all), Value::Object(more)) = (first, second) else {
        unreachable!("parameters are structs")
    };
    all.extend(more);
    Value::Object(all)
}
