//! PLS: the directions in which queries and the documents that answer them vary together.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::bounds::pls_bound;
use matchrank_core::matching::{PlsParams, pls};

use super::latent::{self, Inputs, Judge, LatentKind, LatentModel, LatentReport, plain};
use super::recipe::trainer;
use super::{MatchingKind, Training, UnseenDocuments};
use crate::dataset::Clicks;
use crate::features::{FeatureParams, Features, click_graph};
use crate::settings::Parameter;

/// PLS in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    help: "Partial least squares: the singular vectors of the covariance of queries and clicked documents.",
    parameters: &[
        Parameter::new("d", "300", "latent dimensions"),
        Parameter::new("center", "true", "subtract the means"),
        Parameter::new(
            "weight_power",
            "0.5",
            "a in (s / s_1)^a, the weight of a latent dimension by its singular value; 0 as in the papers",
        ),
        latent::TOLERANCE,
        latent::MAX_STEPS,
    ],
    feature_parameters: FeatureParams::PARAMETERS,
    space: &[
        ("d", "100,200,300,400"),
        ("weight_power", "0,0.25,0.5,0.75"),
        ("click_weight", "0,0.5,1,2"),
        ("idf", "smooth,bm25"),
    ],
    effort: Some(("d", 10)),
    unseen_documents: UnseenDocuments::Learned,
    trainer: Some(|settings| {
        trainer::<PlsParams, FeatureParams>(
            settings,
            |params, features| params.validate().and_then(|()| features.validate()),
            |params, features, training| Ok(Arc::new(train(params, features, training)?)),
        )
    }),
    memory: Some(|sizes| sizes.learning() + sizes.singular(sizes.features, PlsParams::default().d)),
    ..MatchingKind::new(
        LATENT.name,
        "PLS: the directions in which queries and the documents that answer them vary together",
        |file| latent::open(file, LATENT),
    )
};

/// PLS among the latent models.
pub const LATENT: LatentKind = LatentKind {
    bound: Some(|sample, family| Ok((4, pls_bound(sample, family.d)?))),
    ..LatentKind::new("pls")
};

/// Trains PLS on words and clicks.
pub fn train(params: &PlsParams, features: &FeatureParams, training: &Training<'_>) -> Result<LatentModel> {
    let Training { dataset, seed, progress, .. } = *training;
    params.validate()?;
    let features = Features::of_dataset(features, dataset)?;
    let inputs = Inputs::Features(Box::new(features.clone()));
    let clicks = Clicks::to_learn_from(dataset)?;
    let judge = Judge::new(&inputs, dataset, Some(&clicks), seed, progress)?;
    let (graph, statistics) = click_graph(&features, dataset, clicks, progress)?;
    let fit = pls::fit(params, &graph, seed, progress)?;
    let validation = judge.ndcg(&fit.model, graph.y())?;
    let report = LatentReport {
        features: Some(statistics),
        ..LatentReport::of_singular(validation, fit.singular_values, fit.residual, fit.steps)
    };
    Ok(LatentModel { kind: LATENT, params: plain(params), inputs, model: fit.model, report })
}
