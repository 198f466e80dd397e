//! LSI of the documents' words: finds words that occur together, and needs no clicks.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::{LsiParams, Similarity, lsi};
use serde::{Deserialize, Serialize};

use super::latent::{self, Inputs, Judge, LatentKind, LatentModel, LatentReport, plain};
use super::memory::{BUFFERS, ENTRY, PROGRAM, WORD};
use super::recipe::trainer;
use super::{MatchingKind, Training};
use crate::dataset::BoundDocuments;
use crate::features::{FeatureParams, Features, WordParams, document_rows};
use crate::settings::Parameter;

/// LSI of words in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "LsiDt",
    parameters: &[
        Parameter::new("d", "100", "latent dimensions"),
        latent::TOLERANCE,
        latent::MAX_STEPS,
        Parameter::new(
            "similarity",
            "cosine",
            "score of query and document in the latent space: dot or cosine",
        ),
    ],
    feature_parameters: WordParams::PARAMETERS,
    space: &[("d", "50,100,200,300,500,700,1000,1500"), ("tf", "log,binary"), ("idf", "smooth,bm25")],
    effort: Some(("d", 10)),
    trainer: Some(|settings| {
        trainer::<LsiDtParams, WordParams>(
            settings,
            |params, _| params.validate(),
            |params, words, training| Ok(Arc::new(train(params, words, training)?)),
        )
    }),
    memory: Some(|sizes| {
        let sides = [sizes.documents, sizes.entries[1].min(sizes.words)];
        let texts = 3.0 * ENTRY * sizes.entries[1] + WORD * sizes.words;
        PROGRAM + BUFFERS + texts + sizes.singular(sides, LsiDtParams::default().d)
    }),
    ..MatchingKind::new(
        LATENT.name,
        "LSI of the documents' words: finds words that occur together; needs no clicks",
        |file| latent::open(file, LATENT),
    )
};

/// LSI of words among the latent models.
pub const LATENT: LatentKind = LatentKind::new("lsi-dt");

/// Parameters of LSI of words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LsiDtParams {
    /// Latent dimension.
    pub d: usize,
    /// Residual, relative to the largest singular value, at which to stop.
    pub tolerance: f64,
    /// Maximum number of products with the matrix and its transpose, whatever the residual.
    pub max_steps: usize,
    /// Score of a query and a document in the latent space. Default: cosine. Model files that do not have it score by the
    /// dot product.
    pub similarity: Similarity,
}

impl Default for LsiDtParams {
    fn default() -> Self {
        let LsiParams { d, tolerance, max_steps } = LsiParams::default();
        Self { d, tolerance, max_steps, similarity: Similarity::Cosine }
    }
}

impl LsiDtParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        self.of_core().validate()
    }

    fn of_core(&self) -> LsiParams {
        LsiParams { d: self.d, tolerance: self.tolerance, max_steps: self.max_steps }
    }
}

/// Trains LSI on the words of the documents.
pub fn train(params: &LsiDtParams, words: &WordParams, training: &Training<'_>) -> Result<LatentModel> {
    let Training { dataset, seed, progress, .. } = *training;
    params.validate()?;
    let features = Features::of_dataset(&FeatureParams::words_only(words), dataset)?;
    let y = document_rows(&features, BoundDocuments::all(dataset), None, progress)?;
    let inputs = Inputs::Features(Box::new(features));
    let judge = Judge::new(&inputs, dataset, None, seed, progress)?;
    let fit = lsi::fit(&params.of_core(), &y, seed, progress)?;
    let (singular_values, residual, steps) = (fit.singular_values.clone(), fit.residual, fit.steps);
    let mut model = fit.words()?;
    if params.similarity == Similarity::Cosine {
        model = model.with_cosine()?;
    }
    let report = LatentReport::of_singular(judge.ndcg(&model, &y)?, singular_values, residual, steps);
    Ok(LatentModel { kind: LATENT, params: plain(params), inputs, model, report })
}
