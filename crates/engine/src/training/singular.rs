//! Models made of singular vectors: PLS and LSI.

use matchrank_core::Result;
use matchrank_core::matching::{Csr, LsiParams, PlsParams, lsi, pls};
use matchrank_core::progress::Progress;

use super::judge::Judge;
use super::plain;
use crate::dataset::{Clicks, Dataset};
use crate::features::{ClickParams, FeatureParams, Features, Source, WordParams, click_graph, document_rows};
use crate::matching::{Inputs, LatentKind, LatentModel, Report};

/// Trains PLS on words and clicks.
pub fn train_pls(
    params: &PlsParams,
    features: &FeatureParams,
    dataset: &Dataset,
    seed: u64,
    progress: &dyn Progress,
) -> Result<LatentModel> {
    params.validate()?;
    let features = Features::of_dataset(features, dataset)?;
    let inputs = Inputs::Features(Box::new(features.clone()));
    let clicks = Clicks::to_learn_from(dataset)?;
    let judge = Judge::new(&inputs, dataset, Some(&clicks), seed, progress)?;
    let (graph, statistics) = click_graph(&features, dataset, clicks, progress)?;
    let fit = pls::fit(params, &graph, seed, progress)?;
    let validation = judge.ndcg(&fit.model, graph.y())?;
    let mut report = report(validation, fit.singular_values, fit.residual, fit.steps);
    report.features = Some(statistics);
    Ok(LatentModel { kind: LatentKind::Pls, params: plain(params), inputs, model: fit.model, report })
}

/// Trains LSI on the words of the documents; it needs no clicks.
pub fn train_lsi_dt(
    params: &LsiParams,
    words: &WordParams,
    dataset: &Dataset,
    seed: u64,
    progress: &dyn Progress,
) -> Result<LatentModel> {
    params.validate()?;
    let features = Features::of_dataset(&FeatureParams::words_only(words), dataset)?;
    let y = document_rows(&features, dataset, None, None, progress)?;
    let inputs = Inputs::Features(Box::new(features));
    let judge = Judge::new(&inputs, dataset, None, seed, progress)?;
    let fit = lsi::fit(params, &y, seed, progress)?;
    let (singular_values, residual, steps) = (fit.singular_values.clone(), fit.residual, fit.steps);
    let model = fit.words()?;
    let report = report(judge.ndcg(&model, &y)?, singular_values, residual, steps);
    Ok(LatentModel { kind: LatentKind::LsiDt, params: plain(params), inputs, model, report })
}

/// Trains LSI on the click matrix. It knows the queries that have clicks, and no others.
pub fn train_lsi_qd(
    params: &LsiParams,
    counting: &ClickParams,
    dataset: &Dataset,
    seed: u64,
    progress: &dyn Progress,
) -> Result<LatentModel> {
    params.validate()?;
    let clicks = Clicks::to_learn_from(dataset)?;
    let r = clicks.by_query();
    let values = r.values().iter().map(|&count| counting.click_tf.of(count) as f32).collect();
    let matrix = Csr::new(r.n_columns(), r.offsets().to_vec(), r.indices().to_vec(), values)?;
    let inputs = Inputs::Rows(Source::of(dataset));
    let judge = Judge::new(&inputs, dataset, Some(&clicks), seed, progress)?;
    let fit = lsi::fit(params, &matrix, seed, progress)?;
    let (singular_values, residual, steps) = (fit.singular_values.clone(), fit.residual, fit.steps);
    let model = fit.clicks()?;
    let y = Inputs::identity(r.n_columns(), 0..r.n_columns() as u32)?;
    let report = report(judge.ndcg(&model, &y)?, singular_values, residual, steps);
    let mut params = plain(params);
    params["click_tf"] = plain(&counting.click_tf);
    Ok(LatentModel { kind: LatentKind::LsiQd, params, inputs, model, report })
}

fn report(validation: Option<f64>, singular_values: Vec<f64>, residual: f64, steps: usize) -> Report {
    Report { validation, singular_values, residual: Some(residual), steps: Some(steps), ..Report::default() }
}
