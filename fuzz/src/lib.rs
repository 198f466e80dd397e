//! What the targets of the engine share: bytes as a file, and what must hold of a dataset.

pub mod models;
pub mod service;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use matchrank_core::data::qrels;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Dataset, HeldOut, Holdout};
use matchrank_engine::doctor::{Severity, examine};
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::models::bm25::TextBm25;

/// One thread: the fuzzer's own, so that an execution waits for no other.
pub fn one_thread() {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("first pool");
}

/// A folder of this process, in memory where the system has such a place.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        tempfile::Builder::new().prefix("matchrank-fuzz-").tempdir_in(parent).expect("a folder").keep()
    })
}

/// The bytes as a file of the folder.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).expect("the folder can be written");
    path
}

/// The bytes as a table: the first byte chooses the ending of the name, and no ending leaves the format to
/// be told by the content.
pub fn table(name: &str, bytes: &[u8]) -> Option<PathBuf> {
    let (first, rest) = bytes.split_first()?;
    let ending = match first {
        b'c' => ".csv",
        b't' => ".tsv",
        b'j' => ".jsonl",
        b'p' => ".parquet",
        _ => "",
    };
    Some(file(&format!("{name}{ending}"), rest))
}

/// Ingests. Whatever is accepted makes a dataset that opens, in which the doctor finds nothing broken, and
/// whose ids survive a judgment file.
pub fn check_ingest(params: &IngestParams) {
    let out = folder().join("dataset");
    if ingest(params, &out, true, &Silent).is_err() {
        return;
    }
    let dataset = Dataset::open(&out).expect("what was written opens");
    let reports = examine(&[&out], None, &Silent).expect("the doctor reads it");
    assert!(reports[0].findings.iter().all(|finding| finding.severity != Severity::Error), "{reports:?}");
    let queries = dataset.queries().expect("queries").into_iter().map(|query| query.id).collect();
    for ids in [queries, dataset.document_ids().expect("documents")] {
        let lines: String = ids.iter().map(|id| format!("q 0 {id} 1\n")).collect();
        if !ids.is_empty() {
            let parsed = qrels::parse("ids", lines.as_bytes()).expect("ids are single columns");
            assert!(parsed.iter().map(|judgment| judgment.document).eq(ids.iter().map(String::as_str)));
        }
    }
    assert!(dataset.responses().expect("responses").iter().all(|r| r.response.is_finite()));
    for holdout in [Holdout::Validation, Holdout::Test] {
        HeldOut::of(&dataset, holdout).expect("held out").qrels().expect("judgments");
    }
    TextBm25::of_dataset(&Default::default(), &dataset).expect("a model of the dataset");
}
