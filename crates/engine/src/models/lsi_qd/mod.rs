//! LSI of the clicks: for queries that training saw, and no others.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::{Csr, LsiParams, lsi};

use super::latent::{self, Inputs, Judge, LatentKind, LatentModel, LatentReport, plain};
use super::memory::{BUFFERS, PROGRAM};
use super::recipe::trainer;
use super::{MatchingKind, Training, UnseenDocuments};
use crate::dataset::Clicks;
use crate::features::{ClickKeys, ClickParams, RowNumbers, Source};
use crate::settings::Parameter;

/// LSI of clicks in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "LsiQd",
    parameters: &[Parameter::new("d", "100", "latent dimensions"), latent::TOLERANCE, latent::MAX_STEPS],
    feature_parameters: ClickParams::PARAMETERS,
    space: &[("d", "25,50,100,200,300,400")],
    effort: Some(("d", 10)),
    unseen_documents: UnseenDocuments::Unscored,
    trainer: Some(|settings| {
        trainer::<LsiParams, ClickParams>(
            settings,
            |params, _| params.validate(),
            |params, clicks, training| Ok(Arc::new(train(params, clicks, training)?)),
        )
    }),
    memory: Some(|sizes| {
        PROGRAM + BUFFERS + sizes.singular([sizes.queries, sizes.documents], LsiParams::default().d)
    }),
    ..MatchingKind::new(
        LATENT.name,
        "LSI of the clicks: for queries that training saw, and no others",
        |file| latent::open(file, LATENT),
    )
};

/// LSI of clicks among the latent models.
pub const LATENT: LatentKind = LatentKind { knows_words: false, ..LatentKind::new("lsi-qd") };

/// Trains LSI on the click matrix. It knows the queries that have clicks, and no others.
pub fn train(params: &LsiParams, counting: &ClickParams, training: &Training<'_>) -> Result<LatentModel> {
    let Training { dataset, seed, progress, .. } = *training;
    params.validate()?;
    let clicks = Clicks::to_learn_from(dataset)?;
    let r = clicks.by_query();
    let values = r.values().iter().map(|&count| counting.click_tf.of(count) as f32).collect();
    let matrix = Csr::new(r.n_columns(), r.offsets().to_vec(), r.indices().to_vec(), values)?;
    let inputs = Inputs::Rows { source: Source::of(dataset), keys: Some(ClickKeys::of(dataset, &clicks)?) };
    let judge = Judge::new(&inputs, dataset, Some((&clicks).into()), seed, progress)?;
    let fit = lsi::fit(params, &matrix, seed, progress)?;
    let (singular_values, residual, steps) = (fit.singular_values.clone(), fit.residual, fit.steps);
    let model = fit.clicks()?;
    let documents = RowNumbers::clicked(&clicks);
    let rows = (0..r.n_columns() as u32).map(|row| documents.document(row));
    let y = latent::one_feature_each(r.n_columns(), rows)?;
    let report = LatentReport::of_singular(judge.ndcg(&model, &y)?, singular_values, residual, steps);
    let mut params = plain(params);
    params.0["click_tf"] = plain(&counting.click_tf).0;
    Ok(LatentModel { kind: LATENT, params, inputs, model, report })
}
