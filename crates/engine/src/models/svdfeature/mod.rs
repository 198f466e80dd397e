//! SVDFeature: predicts clicks from the features of query and document.
//!
//! Training is stopped by the validation judgments.

use std::sync::Arc;

use matchrank_core::matching::svd_feature::{ResponseScale, SvdFeature, SvdFeatureParams};
use matchrank_core::matching::{Bilinear, Mapping};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::latent::{
    self, Inputs, Judge, LatentKind, LatentModel, LatentReport, Learned, Learns, keep_best, plain,
};
use super::recipe::trainer;
use super::{MatchingKind, Training, UnseenDocuments};
use crate::dataset::Clicks;
use crate::features::{FeatureParams, Features, click_graph};
use crate::settings::Parameter;

/// SVDFeature in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "SvdFeature",
    aliases: &["svd-feature"],
    help: "Feature-based matrix factorisation: biases of all features, and a row of d numbers for each, so that the \
           squared error of the predicted (logarithm of the) clicks is small. Documents without a click are drawn \
           beside those with one, and should get 0. The iteration that is best on the validation judgments is kept.",
    parameters: &[
        Parameter::new("d", "100", "latent dimensions"),
        Parameter::new(
            "iterations",
            "20",
            "iterations at most; four without a better figure end the training",
        ),
        Parameter::new(
            "pairs",
            "2000000",
            "pairs of an iteration at most; a pass over more is cut into equal iterations",
        ),
        latent::RATE,
        Parameter::new("l2", "0.0001", "how strongly rows and biases are pulled towards 0"),
        latent::SPREAD,
        Parameter::new("batch", "256", "pairs with a response of a step"),
        Parameter::new(
            "negatives",
            "3",
            "documents without a response that are drawn for every pair with one",
        ),
        Parameter::new("target", "log", "predicted value: log (of 1 + response), count"),
    ],
    feature_parameters: FeatureParams::PARAMETERS,
    space: &[
        ("d", "50,100,200"),
        ("l2", "0.00001,0.0001,0.001"),
        ("negatives", "1,3,10"),
        ("click_weight", "0,0.5,1"),
        ("target", "log,count"),
    ],
    effort: Some(("iterations", 2)),
    unseen_documents: UnseenDocuments::Learned,
    trainer: Some(|settings| {
        trainer::<SvdFeatureSettings, FeatureParams>(
            settings,
            |params, features| params.validate().and_then(|()| features.validate()),
            |params, features, training| Ok(Arc::new(train(params, features, training)?)),
        )
    }),
    memory: Some(|sizes| sizes.learning() + sizes.descent(SvdFeatureParams::default().d)),
    cost: 3.0,
    ..MatchingKind::new(
        LATENT.name,
        "SVDFeature: predicts clicks from the features of query and document",
        |file| latent::open(file, LATENT),
    )
};

/// SVDFeature among the latent models.
pub const LATENT: LatentKind = LatentKind::new("svdfeature");

/// Settings of SVDFeature on a dataset: those of [`SvdFeatureParams`], and how long it learns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SvdFeatureSettings {
    /// Latent dimensions. Default: 100.
    pub d: usize,
    /// Iterations at most. Default: 20.
    pub iterations: usize,
    /// Pairs with a response of an iteration at most: a pass over a log with more of them is cut into equal
    /// iterations, so that a large log is measured, and stopped, before its first pass is over. Default: 2,000,000.
    pub pairs: u64,
    /// See [`SvdFeatureParams::rate`]. Default: 0.02.
    pub rate: f64,
    /// See [`SvdFeatureParams::l2`]. Default: 0.0001.
    pub l2: f64,
    /// See [`SvdFeatureParams::spread`]. Default: 0.05.
    pub spread: f64,
    /// See [`SvdFeatureParams::batch`]. Default: 256.
    pub batch: usize,
    /// See [`SvdFeatureParams::negatives`]. Default: 3.
    pub negatives: usize,
    /// See [`SvdFeatureParams::target`]. Default: `log`.
    pub target: ResponseScale,
}

impl Default for SvdFeatureSettings {
    fn default() -> Self {
        let SvdFeatureParams { d, rate, l2, spread, batch, negatives, target } = Default::default();
        Self { d, iterations: 20, pairs: 2_000_000, rate, l2, spread, batch, negatives, target }
    }
}

impl SvdFeatureSettings {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        self.params().validate()?;
        if self.iterations == 0 || self.pairs == 0 {
            return Err(Error::Params("iterations and pairs must be at least 1".into()));
        }
        Ok(())
    }

    fn params(&self) -> SvdFeatureParams {
        let Self { d, rate, l2, spread, batch, negatives, target, .. } = *self;
        SvdFeatureParams { d, rate, l2, spread, batch, negatives, target }
    }
}

/// Trains SVDFeature on words and clicks.
pub fn train(
    settings: &SvdFeatureSettings,
    features: &FeatureParams,
    training: &Training<'_>,
) -> Result<LatentModel> {
    let Training { dataset, seed, progress, .. } = *training;
    settings.validate()?;
    let clicks = Clicks::to_learn_from(dataset)?;
    let features = Features::of_dataset(features, dataset)?.with_keys_of(dataset, &clicks)?;
    let inputs = Inputs::Features(Box::new(features.clone()));
    let judge = Judge::new(&inputs, dataset, Some((&clicks).into()), seed, progress)?;
    let (graph, statistics) = click_graph(&features, dataset, clicks, progress)?;
    let model = SvdFeature::new(&settings.params(), &graph, seed)?;
    let n_pairs = model.n_pairs();
    let pairs = n_pairs.div_ceil((n_pairs as u64).div_ceil(settings.pairs) as usize);
    progress.begin("learning", Some(settings.iterations as u64 * pairs as u64), "pairs");
    let course = Descent { model, pairs, progress };
    let (model, report) = keep_best(course, settings.iterations, &judge, graph.y(), progress)?;
    let report = LatentReport { features: Some(statistics), ..report };
    Ok(LatentModel { kind: LATENT, params: plain(settings), inputs, model, report })
}

struct Descent<'a> {
    model: SvdFeature<'a>,
    /// Pairs of an iteration.
    pairs: usize,
    progress: &'a dyn Progress,
}

impl Learns for Descent<'_> {
    fn learn(&mut self) -> Result<Learned> {
        Ok((self.model.learn(self.pairs, self.progress), None))
    }

    fn mapping(&self) -> Result<Box<dyn Mapping + '_>> {
        Ok(Box::new(self.model.mapping()?))
    }

    fn model(&self) -> Result<Bilinear> {
        self.model.model()
    }
}
