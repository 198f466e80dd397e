//! SSI, SVDFeature and BLTM on NFCorpus, with little training: what they are worth on queries nobody has seen.

use matchrank_core::matching::BltmParams;
use matchrank_core::progress::Silent;
use matchrank_engine::features::FeatureParams;
use matchrank_engine::models::ssi::SsiSettings;
use matchrank_engine::models::svdfeature::SvdFeatureSettings;
use matchrank_engine::models::{MatchingModel, Training, bltm, ssi, svdfeature};
use matchrank_engine::settings::AutoNumber;

mod nfcorpus_data;

#[test]
fn models_that_learn_by_steps_and_by_topics() {
    let Some(corpus) = nfcorpus_data::ingested() else { return };
    let (dataset, features) = (&corpus.dataset, FeatureParams::default());
    // Nobody has seen the test queries, so words are all there is.
    let words = FeatureParams { click_weight: 0.0, ..features };
    let ssi = SsiSettings { iterations: 3, tuples: AutoNumber::Given(100_000.0), ..Default::default() };
    let ssi = ssi::train(&ssi, &words, &Training::new(dataset, 1, &Silent)).unwrap();
    let svd = SvdFeatureSettings { iterations: 2, ..Default::default() };
    let svd = svdfeature::train(&svd, &features, &Training::new(dataset, 1, &Silent)).unwrap();
    let bltm = BltmParams { topics: 30, iterations: 5, ..Default::default() };
    let bltm = bltm::train(&bltm, &Default::default(), &Training::new(dataset, 1, &Silent)).unwrap();
    let models: [(&dyn MatchingModel, f64); 3] = [(&ssi, 0.27), (&svd, 0.19), (&bltm, 0.26)];
    for (model, least) in models {
        let found = corpus.ndcg(model);
        assert!(found >= least, "{}: NDCG@10 {found:.4}", model.kind());
    }
}
