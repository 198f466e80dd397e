//! SciFact, read from the folder of real data when there is one: memorised documents against generalisation.

use std::path::PathBuf;

use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{BinBy, Dataset, HeldOut, Holdout};
use matchrank_engine::doctor;
use matchrank_engine::ingest::{IngestParams, ingest};

/// The dataset, in a folder that goes with it; says that the test is skipped where there is no SciFact.
#[allow(clippy::print_stderr)]
fn ingested() -> Option<(tempfile::TempDir, Dataset)> {
    let data = match std::env::var_os("MATCHRANK_DATA") {
        Some(data) => PathBuf::from(data),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
    };
    let folder = data.join("scifact");
    if !folder.is_dir() {
        eprintln!("skipped: no SciFact; set MATCHRANK_DATA to the folder that has scifact/");
        return None;
    }
    let params = IngestParams {
        documents: vec![folder.join("documents.jsonl.gz")],
        queries: vec![folder.join("queries.tsv")],
        responses: vec![folder.join("train.qrels")],
        judgments: vec![
            (Holdout::Validation, folder.join("validation.qrels")),
            (Holdout::Test, folder.join("test.qrels")),
        ],
        ..IngestParams::default()
    };
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("scifact");
    ingest(&params, &path, false, &Silent).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    Some((temporary, dataset))
}

#[test]
fn of_300_test_claims_170_share_a_relevant_document_with_training() {
    let Some((_folder, dataset)) = ingested() else { return };
    let held_out = HeldOut::of(&dataset, Holdout::Test).unwrap();
    let bins = held_out.bins(BinBy::Documents, &dataset).unwrap();
    let count =
        |label: &str| held_out.queries.iter().filter(|query| bins.label(&query.id) == Some(label)).count();
    assert_eq!((count("relevant document seen"), count("no relevant document seen")), (170, 130));

    let report = doctor::examine(&[dataset.folder()], None, &Silent).unwrap().remove(0);
    let unseen = report.findings.iter().find(|finding| finding.code == "unseen-documents").unwrap();
    assert!(unseen.message.starts_with("130 of 300 test queries"), "{}", unseen.message);
}
