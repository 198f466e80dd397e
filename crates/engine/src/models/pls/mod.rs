//! PLS: the directions in which queries and the documents that answer them vary together.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::bounds::pls_bound;
use matchrank_core::matching::{PlsParams, pls};

use super::latent::{self, AnchoredFeatures, LatentKind, LatentModel, LatentReport, plain};
use super::recipe::trainer;
use super::{MatchingKind, Training, UnseenDocuments};
use crate::settings::Parameter;

/// PLS in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Pls",
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
    feature_parameters: AnchoredFeatures::PARAMETERS,
    space: &[
        ("d", "50,100,200,300,400,600"),
        ("weight_power", "0,0.25,0.5,0.75"),
        ("click_weight", "0,0.5,1,2"),
        ("idf", "smooth,bm25"),
    ],
    effort: Some(("d", 10)),
    unseen_documents: UnseenDocuments::Learned,
    choose_untrained: Some(super::base::choose),
    trainer: Some(|settings| {
        trainer::<PlsParams, AnchoredFeatures>(
            settings,
            |params, features| params.validate().and_then(|()| features.validate()),
            |params, features, training| {
                features.check_given(|name| training.is_given(name))?;
                Ok(Arc::new(train(params, features, training)?))
            },
        )
    }),
    memory: Some(|sizes| sizes.learning() + sizes.singular(sizes.features, PlsParams::default().d)),
    cost: 2.0,
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
pub fn train(
    params: &PlsParams,
    features: &AnchoredFeatures,
    training: &Training<'_>,
) -> Result<LatentModel> {
    params.validate()?;
    let lessons = features.lessons(training)?;
    let fit = pls::fit(params, &lessons.graph, training.seed, training.progress)?;
    let mut report = LatentReport {
        features: Some(lessons.statistics),
        ..LatentReport::of_singular(None, fit.singular_values, fit.residual, fit.steps)
    };
    let model = lessons.anchored(fit.model, &mut report, training)?;
    if report.validation.is_none() {
        report.validation = lessons.judge.ndcg(&model, lessons.documents())?;
    }
    Ok(LatentModel { kind: LATENT, params: plain(params), inputs: lessons.inputs, model, report })
}
