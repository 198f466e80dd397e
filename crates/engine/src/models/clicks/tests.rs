//! Click counts by hand on a log of five pairs.

use std::path::{Path, PathBuf};

use matchrank_core::progress::Silent;

use super::*;
use crate::ingest::{IngestParams, ingest};
use crate::model_file::{ModelRef, Provenance, load, save};
use crate::models::bind;

fn dataset() -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let params = IngestParams {
        clicks: vec![file(
            "log.csv",
            "query,document,clicks\nred shoe,a,3\nred shoe,b,1\nblue shoe,b,2\nblue shoe,c,2\nlamp,d,5\n",
        )],
        documents: vec![file("docs.tsv", "a\tx\nb\tx\nc\tx\nd\tx\ne\tx\n")],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

#[test]
fn counts_are_smoothed_by_those_of_the_words() {
    let (_folder, dataset) = dataset();
    let model = ClickCountModel { params: ClickCountParams { mu: 2.0 }, content_hash: String::new() };
    let matcher = bind(&model, &dataset, None, &Silent).unwrap();
    // Two of three queries have "shoe", one has "red".
    let (red, shoe) = ((3.0f64 / 1.0).ln_1p(), (3.0f64 / 2.0).ln_1p());
    let (red, shoe) = (red / (red + shoe), shoe / (red + shoe));
    // "red": a 3 of 4, b 1 of 4. "shoe": a 3 of 8, b 3 of 8, c 2 of 8.
    let back_off = [red * 0.75 + shoe * 0.375, red * 0.25 + shoe * 0.375, shoe * 0.25];
    let own = [3.0, 1.0, 0.0];
    let top = matcher.top(&["red shoe", "red lamp", "unknown"], 10, &Silent).unwrap();
    let found: Vec<(u32, f32)> = top[0].iter().map(|hit| (hit.document, hit.score)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for (document, score) in found {
        let i = document as usize;
        let expected = (own[i] + 2.0 * back_off[i]) / (4.0 + 2.0);
        assert!((f64::from(score) - expected).abs() < 1e-6, "{document}: {score} {expected}");
        let explanation = matcher.explain("red shoe", document).unwrap();
        assert!((explanation.score.unwrap() - score).abs() < 1e-6, "{explanation:?}");
    }
    // A query that nobody asked: its words alone, of equal weight.
    let found: Vec<(u32, f32)> = top[1].iter().map(|hit| (hit.document, hit.score)).collect();
    assert_eq!(found, [(3, 0.5), (0, 0.375), (1, 0.125)]);
    assert!(top[2].is_empty());
    assert_eq!(matcher.explain("red shoe", 4).unwrap().score, None);
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for mu in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(ClickCountParams { mu }.validate().is_err(), "{mu}");
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files/clicks_v1.safetensors")
}

/// The model of the golden file.
fn small() -> (ClickCountModel, Provenance) {
    let model =
        ClickCountModel { params: ClickCountParams { mu: 2.0 }, content_hash: "0123456789abcdef".into() };
    (model, Provenance { version: "0.1.0".into(), ..Provenance::default() })
}

#[test]
#[ignore = "writes the golden file; only for a new version of the format, under a new name"]
fn write_golden_file() {
    let (model, provenance) = small();
    save(&golden(), ModelRef::Matching(&model), &provenance).unwrap();
}

#[test]
fn the_golden_file_keeps_its_bytes() {
    let (model, provenance) = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clicks.model");
    save(&path, ModelRef::Matching(&model), &provenance).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(golden()).unwrap());
    let (again, its_provenance) = load(&golden()).unwrap();
    assert_eq!((format!("{again:?}"), its_provenance), (format!("{model:?}"), provenance));
}
