//! RMLS: learns from clicks which words of queries go with which words of documents.
//!
//! Every feature of queries and documents gets a sparse row of d numbers, so that queries and the documents that answer
//! them come close. Training is stopped by the validation judgments; see [`train`].

use std::sync::Arc;
use std::time::Instant;

use matchrank_core::Result;
use matchrank_core::bounds::rmls_bound;
use matchrank_core::matching::Bilinear;
use matchrank_core::matching::rmls::{IterationReport, RmlsParams, RmlsRun, Verdict, fit};

use super::latent::{
    self, AnchoredFeatures, AnchoredLessons, IterationRow, LatentKind, LatentModel, LatentReport, plain,
};
use super::recipe::trainer;
use super::{MatchingKind, MatchingModel, Training, UnseenDocuments};
use crate::settings::Parameter;

/// RMLS in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Rmls",
    help: "Regularized mapping to latent structures: every feature of queries and documents gets a sparse row of d \
           numbers, so that queries and the documents that answer them come close. The iteration that is best on the \
           validation judgments is kept.",
    parameters: &[
        Parameter::new("d", "1000", "latent dimensions"),
        Parameter::new(
            "iterations",
            "5",
            "iterations at most; two without a better figure end the training. Without validation judgments to stop \
             by, 1",
        ),
        Parameter::new("beta", "0.5", "threshold of the rows of queries; 0 leaves rows dense"),
        Parameter::new("gamma", "0.3", "threshold of the rows of documents; 0 leaves rows dense"),
        Parameter::new(
            "threshold",
            "relative",
            "unit of the thresholds: relative (shares of the largest entry of a row), absolute (as in the papers), \
             density (shares of the entries to leave)",
        ),
        Parameter::new("theta_x", "1", "length of the rows of queries"),
        Parameter::new("theta_y", "1", "length of the rows of documents"),
        Parameter::new("center", "true", "subtract the means; without it the model collapses on most data"),
        Parameter::new(
            "route",
            "factored",
            "factored: by features and clicks; formed: form the matrix first (slower)",
        ),
    ],
    feature_parameters: AnchoredFeatures::PARAMETERS,
    space: &[
        ("beta", "0,0.3,0.5,0.7"),
        ("gamma", "0,0.3,0.5"),
        ("click_weight", "0,0.5,1,2,4"),
        ("idf", "smooth,bm25"),
    ],
    effort: Some(("d", 10)),
    unseen_documents: UnseenDocuments::Learned,
    choose_untrained: Some(super::base::choose),
    trainer: Some(|settings| {
        trainer::<RmlsParams, AnchoredFeatures>(
            settings,
            |params, features| params.validate().and_then(|()| features.validate()),
            train_by_data,
        )
    }),
    memory: Some(|sizes| sizes.learning() + sizes.all_features() * RmlsParams::default().d as f64),
    ..MatchingKind::new(
        LATENT.name,
        "RMLS: learns from clicks which words of queries go with which words of documents",
        |file| latent::open(file, LATENT),
    )
};

/// RMLS among the latent models.
pub const LATENT: LatentKind = LatentKind {
    may_collapse: true,
    bound: Some(|sample, family| Ok((5, rmls_bound(sample, family)?))),
    ..LatentKind::new("rmls")
};

/// Trains with one iteration where there are no validation judgments to stop by.
fn train_by_data(
    params: &RmlsParams,
    features: &AnchoredFeatures,
    training: &Training<'_>,
) -> Result<Arc<dyn MatchingModel>> {
    let Training { dataset, progress, .. } = *training;
    features.check_given(|name| training.is_given(name))?;
    let mut params = *params;
    if dataset.manifest.statistics.n_judged_queries[0] == 0 && !training.is_given("iterations") {
        params.iterations = 1;
        progress.note(
            "there are no validation judgments to stop by, so one iteration is made, which is often the best (set \
             iterations for more)",
        );
    }
    Ok(Arc::new(train(&params, features, training)?))
}

/// Iterations without a better validation figure after which training stops.
const PATIENCE: usize = 2;

/// Trains RMLS.
///
/// With validation judgments the iteration with the best NDCG@10 is kept, and training stops after two
/// iterations that are not better; without them the last one is kept. Training always starts from a random L_y: the
/// first iterations have the highest rank and the best figures, and a start from a trained L_y would be a later one.
pub fn train(
    params: &RmlsParams,
    features: &AnchoredFeatures,
    training: &Training<'_>,
) -> Result<LatentModel> {
    let Training { seed, progress, .. } = *training;
    params.validate()?;
    let lessons = features.lessons(training)?;
    let AnchoredLessons { judge, graph, .. } = &lessons;

    let mut clock = Instant::now();
    let mut rows: Vec<IterationRow> = Vec::new();
    let mut kept: Option<(usize, Option<f64>, Option<Bilinear>)> = None;
    let run = RmlsRun { start: None, seed, progress };
    let last = fit(params, graph, run, &mut |iteration| {
        let seconds = clock.elapsed().as_secs_f64();
        let number = iteration.report.number;
        let mut validation = None;
        if judge.can_measure() || number == params.iterations {
            validation = judge.ndcg(iteration, lessons.documents())?;
            if kept.as_ref().is_none_or(|(_, best, _)| validation > *best) {
                let model = iteration.is_shared().then(|| iteration.model()).transpose()?;
                kept = Some((number, validation, model));
            }
        }
        progress.note(&line(&iteration.report, seconds, validation));
        rows.push(IterationRow { validation, seconds, report: iteration.report.clone() });
        let best = kept.as_ref().map_or(number, |(best, ..)| *best);
        clock = Instant::now();
        Ok(if number >= best + PATIENCE { Verdict::Stop } else { Verdict::Continue })
    })?;
    let (best, validation, model) = kept.expect("there is at least one iteration");
    let model = match model {
        Some(model) => model,
        None if best == rows.len() => last.into_model()?,
        None => {
            // A copy of dense rows would have taken as much memory again. Training does the same again.
            drop(last);
            progress.note(&format!("iteration {best} was the best; training up to it again"));
            let params = RmlsParams { iterations: best, ..*params };
            fit(&params, graph, run, &mut |_| Ok(Verdict::Continue))?.into_model()?
        }
    };
    let mut report = LatentReport {
        features: Some(lessons.statistics),
        validation,
        iterations: rows,
        best: Some(best),
        ..LatentReport::default()
    };
    let model = lessons.anchored(model, &mut report, training)?;
    Ok(LatentModel { kind: LATENT, params: plain(params), inputs: lessons.inputs, model, report })
}

fn line(report: &IterationReport, seconds: f64, validation: Option<f64>) -> String {
    let IterationReport { number, objective, density_x, density_y, collapse_y, .. } = report;
    let ndcg = validation.map_or(String::new(), |ndcg| format!(", validation NDCG@10 {ndcg:.4}"));
    format!(
        "iteration {number} ({seconds:.1} s): objective {objective:.6}{ndcg}, density {:.1} % and {:.1} %, mean row {:.3}, \
         effective rank {:.1}, {:.0} % of the rows in one direction",
        100.0 * density_x,
        100.0 * density_y,
        collapse_y.mean_row,
        collapse_y.effective_rank,
        100.0 * collapse_y.aligned
    )
}
