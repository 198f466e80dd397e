//! Sparse preferences on NFCorpus: trained on graded links with every default, measured on queries nobody
//! has seen.

use std::sync::Arc;

use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Silent;
use matchrank_engine::models::MatchingModel;
use matchrank_engine::models::base::Base;
use matchrank_engine::models::bm25::TextBm25;
use matchrank_engine::models::combination::{Combination, CombinationParams};
use matchrank_engine::models::sparse_preference::{self, PreferenceSettings, TupleCourse};
use matchrank_engine::settings::AutoNumber;
use matchrank_engine::validation::Validation;

mod nfcorpus_data;

/// NDCG@10 of 0.365 at least alone, where BM25 has 0.331, and of 0.372 at least combined with it.
#[test]
fn pairs_of_words_beat_bm25() {
    let Some(corpus) = nfcorpus_data::ingested() else { return };
    let (dataset, ndcg) = (&corpus.dataset, |model: &dyn MatchingModel| corpus.ndcg(model));

    let course = TupleCourse::new(1, &Silent);
    // The base that the thresholds were measured with.
    let settings = PreferenceSettings {
        base: Base::Cosine,
        blend: AutoNumber::Given(1.0),
        ..PreferenceSettings::default()
    };
    let trained = sparse_preference::train(&settings, &Default::default(), (dataset, None), &course).unwrap();
    let preference = Arc::new(trained.model);
    let alone = ndcg(&*preference);
    assert!(alone >= 0.365, "alone: NDCG@10 {alone:.4}");

    let bm25 = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), dataset).unwrap());
    let validation = Validation::of(dataset, 1, &Silent).unwrap().expect("validation judgments");
    let params = CombinationParams::default();
    let both = Combination::tune(vec![preference, bm25], &params, (dataset, &validation), &Silent).unwrap();
    let combined = ndcg(&both);
    assert!(combined >= 0.372, "with BM25: NDCG@10 {combined:.4}");
}
