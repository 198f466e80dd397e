//! LSI of the documents' words: finds words that occur together, and needs no clicks.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::{LsiParams, lsi};

use super::latent::{self, Inputs, Judge, LatentKind, LatentModel, LatentReport, plain};
use super::memory::{BUFFERS, ENTRY, PROGRAM, WORD};
use super::recipe::trainer;
use super::{MatchingKind, Training};
use crate::features::{FeatureParams, Features, WordParams, document_rows};

/// LSI of words in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    parameters: latent::LSI_PARAMETERS,
    feature_parameters: WordParams::PARAMETERS,
    space: &[("d", "50,100,200,300,400"), ("tf", "log,binary"), ("idf", "smooth,bm25")],
    effort: Some(("d", 10)),
    trainer: Some(|settings| {
        trainer::<LsiParams, WordParams>(
            settings,
            |params, _| params.validate(),
            |params, words, training| Ok(Arc::new(train(params, words, training)?)),
        )
    }),
    memory: Some(|sizes| {
        let sides = [sizes.documents, sizes.entries[1].min(sizes.words)];
        let texts = 3.0 * ENTRY * sizes.entries[1] + WORD * sizes.words;
        PROGRAM + BUFFERS + texts + sizes.singular(sides, LsiParams::default().d)
    }),
    ..MatchingKind::new(
        LATENT.name,
        "LSI of the documents' words: finds words that occur together; needs no clicks",
        |file| latent::open(file, LATENT),
    )
};

/// LSI of words among the latent models.
pub const LATENT: LatentKind = LatentKind::new("lsi-dt");

/// Trains LSI on the words of the documents.
pub fn train(params: &LsiParams, words: &WordParams, training: &Training<'_>) -> Result<LatentModel> {
    let Training { dataset, seed, progress, .. } = *training;
    params.validate()?;
    let features = Features::of_dataset(&FeatureParams::words_only(words), dataset)?;
    let y = document_rows(&features, (dataset, None), None, progress)?;
    let inputs = Inputs::Features(Box::new(features));
    let judge = Judge::new(&inputs, dataset, None, seed, progress)?;
    let fit = lsi::fit(params, &y, seed, progress)?;
    let (singular_values, residual, steps) = (fit.singular_values.clone(), fit.residual, fit.steps);
    let model = fit.words()?;
    let report = LatentReport::of_singular(judge.ndcg(&model, &y)?, singular_values, residual, steps);
    Ok(LatentModel { kind: LATENT, params: plain(params), inputs, model, report })
}
