//! Sparse preferences on NFCorpus: trained on graded links with every default, measured on queries nobody
//! has seen.

use std::time::Duration;

use matchrank_core::matching::Bm25Params;
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Dataset, HeldOut, Holdout};
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::matching::{Combination, MatchingModel, TextBm25};
use matchrank_engine::ranking::rank_collection;
use matchrank_engine::training::preference::{Course, PreferenceSettings, train_preference};
use matchrank_engine::validation::Validation;

mod nfcorpus_data;

/// NDCG@10 of 0.365 at least alone, where BM25 has 0.331, and of 0.372 at least combined with it.
#[test]
#[allow(clippy::print_stderr)]
fn pairs_of_words_beat_bm25() {
    let Some(folder) = nfcorpus_data::folder() else {
        eprintln!("skipped: no NFCorpus; set MATCHRANK_DATA to the folder that has nfcorpus/");
        return;
    };
    let file = |name: &str| folder.join(name);
    let params = IngestParams {
        documents: vec![file("dev.docs.gz"), file("test.docs.gz")],
        queries: ["train", "dev", "test"].map(|part| file(&format!("{part}.titles.queries"))).to_vec(),
        responses: vec![file("train.3-2-1.qrel.gz")],
        judgments: vec![
            (Holdout::Validation, file("dev.3-2-1.qrel.gz")),
            (Holdout::Test, file("test.3-2-1.qrel.gz")),
        ],
        ..IngestParams::default()
    };
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("nfcorpus");
    ingest(&params, &path, false, &Silent).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    let test = HeldOut::of(&dataset, Holdout::Test).unwrap();
    let measures = Measure::parse_list("ndcg@10").unwrap();
    let ndcg = |model: &MatchingModel| {
        let rankings = rank_collection(model, &dataset, &test.queries, 100, &Silent).unwrap();
        let conventions = Conventions::of(Dialect::Matchrank);
        evaluate(&test.qrels().unwrap(), &rankings[..], &measures, &conventions).unwrap().mean(0)
    };

    // Time enough to try all that is to be tried, so that the choice does not depend on the machine.
    let course = Course {
        density: None,
        budget: Duration::from_secs(3600),
        seed: 1,
        stop: &|| false,
        checkpoint: None,
    };
    let settings = PreferenceSettings::default();
    let trained = train_preference(&settings, &Default::default(), &dataset, None, &course, &Silent).unwrap();
    let preference = MatchingModel::Preference(Box::new(trained.model));
    let alone = ndcg(&preference);
    assert!(alone >= 0.365, "alone: NDCG@10 {alone:.4}");

    let bm25 = MatchingModel::Bm25(TextBm25::of_dataset(&Bm25Params::default(), &dataset).unwrap().into());
    let validation = Validation::of(&dataset, 1, &Silent).unwrap().expect("validation judgments");
    let both = Combination::tune(preference, bm25, &dataset, &validation, &Silent).unwrap();
    let combined = ndcg(&MatchingModel::Combination(both.into()));
    assert!(combined >= 0.372, "with BM25: NDCG@10 {combined:.4}");
}
