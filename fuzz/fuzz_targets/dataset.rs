//! Arbitrary bytes as a table of a dataset whose hashes are right: an error or rows, never a panic. The first byte
//! chooses the table by its first letter.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use matchrank_core::Result;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Clicks, Dataset, HeldOut, Holdout, Manifest};
use matchrank_engine::doctor::examine;
use matchrank_engine::models::bm25::TextBm25;
use matchrank_engine::ranking::{RankRequest, rank_collection};

static TABLES: [(&str, &[u8]); 6] = [
    ("documents.parquet", include_bytes!("../../tests/golden/datasets/v0.1.0/documents.parquet")),
    ("judgments.parquet", include_bytes!("../../tests/golden/datasets/v0.1.0/judgments.parquet")),
    ("queries.parquet", include_bytes!("../../tests/golden/datasets/v0.1.0/queries.parquet")),
    ("responses.parquet", include_bytes!("../../tests/golden/datasets/v0.1.0/responses.parquet")),
    ("skipped.parquet", include_bytes!("../../tests/golden/datasets/v0.1.0/skipped.parquet")),
    ("vocabulary.parquet", include_bytes!("../../tests/golden/datasets/v0.1.0/vocabulary.parquet")),
];
const MANIFEST: &str = include_str!("../../tests/golden/datasets/v0.1.0/manifest.json");

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let Some((letter, bytes)) = bytes.split_first() else { return };
    let Some((table, _)) = TABLES.iter().find(|(name, _)| name.as_bytes()[0] == *letter) else { return };
    let folder = dataset();
    for &(name, golden) in &TABLES {
        std::fs::write(folder.join(name), if name == *table { bytes } else { golden }).expect("a table");
    }
    std::fs::write(folder.join("manifest.json"), manifest(table, bytes)).expect("a manifest");
    let _ = read(folder);
});

fn dataset() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = matchrank_fuzz::folder().join("crafted");
        std::fs::create_dir(&folder).expect("a folder");
        folder
    })
}

/// The golden manifest, as version 0.1.0 would have written it with another table.
fn manifest(table: &str, bytes: &[u8]) -> String {
    let mut manifest: Manifest = serde_json::from_str(MANIFEST).expect("the golden manifest");
    let info = manifest.tables.get_mut(table).expect("a table of the golden manifest");
    info.bytes = bytes.len() as u64;
    info.blake3 = blake3::hash(bytes).to_hex().to_string();
    let mut hasher = blake3::Hasher::new();
    for (name, info) in &manifest.tables {
        hasher.update(format!("{name} {}\n", info.blake3).as_bytes());
    }
    let settings = (&manifest.split, &manifest.analyser, &manifest.fields);
    hasher.update(serde_json::to_string(&settings).expect("plain data").as_bytes());
    manifest.content_hash = hasher.finalize().to_hex().to_string();
    serde_json::to_string(&manifest).expect("plain data")
}

fn read(folder: &std::path::Path) -> Result<()> {
    let dataset = Dataset::open(folder)?;
    let queries = dataset.queries()?;
    dataset.responses()?;
    dataset.skipped()?;
    dataset.negatives()?;
    dataset.clicked_positions()?;
    dataset.vocabulary()?;
    Clicks::of(&dataset)?;
    for holdout in [Holdout::Validation, Holdout::Test] {
        HeldOut::of(&dataset, holdout)?.qrels()?;
    }
    examine(&[folder], None, &Silent)?;
    let _ = std::fs::remove_dir_all(folder.join("index"));
    let model = TextBm25::of_dataset(&Default::default(), &dataset)?;
    rank_collection(&RankRequest { model: &model, dataset: &dataset, queries: &queries }, 5, &Silent)?;
    Ok(())
}
