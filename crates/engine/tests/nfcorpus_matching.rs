//! RMLS, PLS and their combinations with BM25 on NFCorpus: what is learned from training queries is worth
//! something to test queries nobody has seen.
#![allow(clippy::print_stderr)]

use matchrank_core::matching::{Bm25Params, PlsParams, RmlsParams};
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Dataset, HeldOut, Holdout};
use matchrank_engine::features::FeatureParams;
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::matching::{Combination, MatchingModel, TextBm25};
use matchrank_engine::ranking::rank_collection;
use matchrank_engine::training::{train_pls, train_rmls};
use matchrank_engine::validation::Validation;

#[allow(dead_code, reason = "only the place of the data is needed here")]
mod nfcorpus_data;

fn dataset(folder: &std::path::Path, out: &std::path::Path) -> Dataset {
    let files = |names: &[&str]| names.iter().map(|name| folder.join(name)).collect();
    let params = IngestParams {
        documents: files(&["dev.docs.gz", "test.docs.gz"]),
        queries: files(&["train.titles.queries", "dev.titles.queries", "test.titles.queries"]),
        responses: files(&["train.3-2-1.qrel.gz"]),
        judgments: vec![
            (Holdout::Validation, folder.join("dev.3-2-1.qrel.gz")),
            (Holdout::Test, folder.join("test.3-2-1.qrel.gz")),
        ],
        ..IngestParams::default()
    };
    ingest(&params, out, false, &Silent).unwrap();
    Dataset::open(out).unwrap()
}

/// NDCG@10 on the test queries, the whole collection ranked.
fn ndcg(model: &MatchingModel, dataset: &Dataset, test: &HeldOut) -> f64 {
    let rankings = rank_collection(model, dataset, &test.queries, 100, &Silent).unwrap();
    let measures = Measure::parse_list("ndcg@10").unwrap();
    let conventions = Conventions::of(Dialect::Matchrank);
    evaluate(&test.qrels().unwrap(), &rankings[..], &measures, &conventions).unwrap().mean(0)
}

#[test]
fn clicks_teach_what_words_alone_do_not() {
    let Some(folder) = nfcorpus_data::folder() else {
        eprintln!("skipped: no NFCorpus; set MATCHRANK_DATA to the folder that has nfcorpus/");
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let dataset = dataset(&folder, &temporary.path().join("data"));
    let test = HeldOut::of(&dataset, Holdout::Test).unwrap();
    assert_eq!(test.queries.len(), 325);
    let validation = Validation::of(&dataset, 1, &Silent).unwrap().unwrap();
    let features = FeatureParams::default();
    let bm25 = TextBm25::of_dataset(&Bm25Params::default(), &dataset).unwrap();
    let bm25 = MatchingModel::Bm25(bm25.into());
    let words = ndcg(&bm25, &dataset, &test);
    assert!(words > 0.325, "BM25 {words:.4}");

    let rmls = train_rmls(&RmlsParams::default(), &features, &dataset, None, 1, &Silent).unwrap();
    let kept = rmls.report.kept().unwrap().report.clone();
    assert!(!kept.collapse_x.is_collapsed() && !kept.collapse_y.is_collapsed(), "{kept:?}");
    let pls = train_pls(&PlsParams::default(), &features, &dataset, 1, &Silent).unwrap();
    for model in [rmls, pls] {
        let model = MatchingModel::Latent(Box::new(model));
        let alone = ndcg(&model, &dataset, &test);
        assert!(alone >= 0.20, "{} {alone:.4}", model.kind());
        let both = Combination::tune(bm25.clone(), model, &dataset, &validation, &Silent).unwrap();
        let model = both.second.kind();
        let both = ndcg(&MatchingModel::Combination(Box::new(both)), &dataset, &test);
        assert!(both >= 0.355, "{model} with BM25 {both:.4}");
    }

    let uncentered = RmlsParams { center: false, ..RmlsParams::default() };
    let model = train_rmls(&uncentered, &features, &dataset, None, 1, &Silent).unwrap();
    let collapsed = model.report.iterations.iter().any(|row| row.report.collapse_y.is_collapsed());
    assert!(collapsed, "{:?}", model.report.iterations);
}
