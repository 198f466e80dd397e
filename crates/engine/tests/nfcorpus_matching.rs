//! Matching models on NFCorpus: what training from graded links is worth on queries nobody has seen.

use std::sync::Arc;

use matchrank_core::matching::{Bm25Params, PlsParams, RmlsParams};
use matchrank_core::progress::Silent;
use matchrank_engine::features::FeatureParams;
use matchrank_engine::models::bm25::TextBm25;
use matchrank_engine::models::combination::{Combination, CombinationParams};
use matchrank_engine::models::{MatchingModel, Training, pls, rmls};
use matchrank_engine::validation::Validation;

mod nfcorpus_data;

/// With every default, and with nothing chosen but on the validation queries: RMLS and PLS rank by
/// themselves (0.20 at least), and raise BM25 (0.33) when combined with it (0.345 at least).
#[test]
fn models_learn_what_words_do_not_say() {
    let Some(corpus) = nfcorpus_data::ingested() else { return };
    let (dataset, ndcg) = (&corpus.dataset, |model: &dyn MatchingModel| corpus.ndcg(model));

    let bm25 = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), dataset).unwrap());
    let features = FeatureParams::default();
    let rmls =
        rmls::train(&RmlsParams::default(), &features.into(), &Training::new(dataset, 1, &Silent)).unwrap();
    let pls =
        pls::train(&PlsParams::default(), &features.into(), &Training::new(dataset, 1, &Silent)).unwrap();
    let validation = Validation::of(dataset, 1, &Silent).unwrap().expect("validation judgments");
    for model in [rmls, pls].map(Arc::new) {
        let alone = ndcg(&*model);
        assert!(alone >= 0.20, "{} alone: NDCG@10 {alone:.4}", model.kind());
        let name = model.kind();
        let models: Vec<Arc<dyn MatchingModel>> = vec![model, bm25.clone()];
        let params = CombinationParams::default();
        let both = Combination::tune(models, &params, (dataset, &validation), &Silent).unwrap();
        let combined = ndcg(&both);
        assert!(combined >= 0.345, "{name} with BM25: NDCG@10 {combined:.4}");
    }

    let uncentered = RmlsParams { center: false, ..Default::default() };
    let collapsed = rmls::train(&uncentered, &features.into(), &Training::new(dataset, 1, &Silent)).unwrap();
    let last = &collapsed.report.iterations.last().unwrap().report;
    assert!(last.collapse_x.is_collapsed() && last.collapse_y.is_collapsed(), "{last:?}");
    assert!(ndcg(&collapsed) < 0.20);
}
