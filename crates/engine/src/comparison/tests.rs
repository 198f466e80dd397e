//! Comparisons that are interrupted, and folders that hold the files of another.

use std::cell::Cell;
use std::path::Path;

use matchrank_core::progress::Silent;

use super::*;
use crate::dataset::{Dataset, Holdout};
use crate::ingest::{IngestParams, ingest};

/// Documents of two groups of words; queries of either group click documents of their own.
fn dataset(folder: &Path) -> Dataset {
    let file = |name: &str, content: String| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let words = |side: &str, i: u32| format!("{side}{} {side}{} shared{}", i % 2, 2 + i % 5, i % 7);
    let documents = (0..20).map(|i| format!("d{i}\t{}\n", words("doc", i))).collect();
    let queries = (0..60).map(|i| format!("q{i}\t{}\n", words("query", i))).collect();
    let clicks = (0..240u32).filter(|i| i / 8 % 2 == i % 2).map(|i| format!("q{},d{},1\n", i / 8, i % 20));
    let log = std::iter::once("query_id,document,clicks\n".to_owned()).chain(clicks).collect();
    let qrels = |queries: std::ops::Range<u32>| {
        let pairs = queries.flat_map(|q| (0..20).map(move |d| (q, d)));
        pairs.map(|(q, d)| format!("q{q} 0 d{d} {}\n", u32::from(d % 2 == q % 2))).collect::<String>()
    };
    let params = IngestParams {
        clicks: vec![file("log.csv", log)],
        documents: vec![file("docs.tsv", documents)],
        queries: vec![file("queries.tsv", queries)],
        judgments: vec![
            (Holdout::Validation, file("validation.qrels", qrels(30..45))),
            (Holdout::Test, file("test.qrels", qrels(45..60))),
        ],
        ..IngestParams::default()
    };
    ingest(&params, &folder.join("data"), false, &Silent).unwrap();
    Dataset::open(&folder.join("data")).unwrap()
}

fn plan(models: &[(&str, u32)]) -> Plan {
    let mut plan = Plan { trials: 1, ..Plan::default() };
    for (name, d) in models {
        plan.add_single(name, "pls", vec![("d".into(), (*d).into())]).unwrap();
    }
    plan
}

#[test]
fn an_interrupted_comparison_says_so_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (dataset(folder.path()), folder.path().join("out"));
    let data = Data { dataset: &dataset, refit: None };
    let mut plan = plan(&[("narrow", 2), ("wide", 8)]);
    plan.add("narrow+wide").unwrap();
    let plan = plan.finish().unwrap();
    let asked = Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) >= 1;
    let half = compare(&plan, data, &out, 1, &stop, &Silent).unwrap();
    assert_eq!(half.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["narrow"]);
    assert_eq!(half.unfinished, ["wide", "narrow+wide"]);
    assert_eq!(Comparison::open(&out).unwrap(), half);
    let whole = compare(&plan, data, &out, 1, &|| false, &Silent).unwrap();
    assert!(whole.unfinished.is_empty() && whole.left_out.is_empty());
    assert_eq!(whole.models.len(), 3);
    assert_eq!(whole.models[0].seconds, half.models[0].seconds, "kept");
}

#[test]
fn a_model_file_of_another_run_is_not_taken_for_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (dataset(folder.path()), folder.path().join("out"));
    let data = Data { dataset: &dataset, refit: None };
    let made = |d: u32| compare(&plan(&[("a", d)]).finish().unwrap(), data, &out, 1, &|| false, &Silent);
    made(2).unwrap();
    let result = Comparison::entry_path(&out, "a");
    let ours = std::fs::read(&result).unwrap();
    // Another run into the same folder begins to write, and is killed before its result is there.
    std::fs::create_dir(out.join("runs/a.run.d")).unwrap();
    std::fs::remove_file(out.join("runs/a.run")).unwrap();
    std::fs::rename(out.join("runs/a.run.d"), out.join("runs/a.run")).unwrap();
    assert!(made(8).is_err(), "a folder is in the way of its run");
    assert!(!result.exists(), "so that what is left is no result");
    std::fs::remove_dir(out.join("runs/a.run")).unwrap();
    let again = made(2).unwrap();
    assert_eq!(again.models[0].params["d"], 2);
    let now: Entry = serde_json::from_slice(&std::fs::read(&result).unwrap()).unwrap();
    let before: Entry = serde_json::from_slice(&ours).unwrap();
    assert_eq!(now.per_query, before.per_query);
}

#[test]
fn stacks_are_chosen_by_the_measure_that_all_are() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let data = Data { dataset: &dataset, refit: None };
    let mut plan = plan(&[("a", 2), ("b", 8)]);
    plan.add("listnet").unwrap();
    let by = |measure: &str, out: &str| {
        let plan = Plan { tuned_by: measure.parse().unwrap(), ..plan.clone() }.finish().unwrap();
        compare(&plan, data, &folder.path().join(out), 1, &|| false, &Silent).unwrap()
    };
    let map = by("map", "map");
    assert_eq!(map.models[2].params["kept"]["measure"], "map", "said, as it is not the usual one");
    assert_eq!(map.models[2].validation["map"], map.models[2].params["kept"]["validation"]);
    let errors = by("mre", "mre");
    assert!(errors.left_out["listnet"].contains("better when larger"), "{:?}", errors.left_out);
}
