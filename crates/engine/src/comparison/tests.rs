//! Comparisons that are interrupted, over datasets and folds, and folders that hold the files of another.

use std::cell::Cell;
use std::path::Path;

use matchrank_core::data::letor;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::ScalingKind;

use super::*;
use crate::dataset::{Dataset, Holdout};
use crate::ingest::{IngestParams, ingest};
use crate::rankers::query_dependent::{QueryColumns, QueryInput};

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

/// Three folds of eight lists that feature 1 orders.
fn folds() -> Folds {
    let fold = |k: u32| {
        let rows = (8 * k..8 * k + 8).flat_map(|query| (0..6).map(move |i| (query, i)));
        let text: String = rows
            .map(|(query, i)| format!("{} qid:{query} 1:{} 2:{}\n", i / 2, i + query % 3, i % 2))
            .collect();
        letor::parse("x", text.as_bytes(), &Silent).unwrap()
    };
    let names = ["a", "b", "c"].map(String::from).to_vec();
    Folds { lists: (0..3).map(fold).collect(), names, content_hash: "folds".into() }
}

#[test]
fn a_comparison_over_folds_is_interrupted_between_folds_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (folds, columns) = (folds(), QueryColumns::default());
    let rankers = Rankers {
        rankers: ["ranksvm", "listnet"].map(PlannedRanker::named).to_vec(),
        scalings: vec![ScalingKind::MinMax],
        query: QueryInput::Columns(&columns),
        refit: false,
    };
    let run = |stop: &dyn Fn() -> bool, trials: usize| {
        let plan = Plan { trials, ..Plan::default() };
        compare_folds(&folds, &rankers, &plan, folder.path(), 1, stop, &Silent).unwrap()
    };
    // Asked before every ranker and every fold: stopped before the second fold of the second ranker.
    let asked = Cell::new(0);
    let half = run(&|| asked.replace(asked.get() + 1) >= 6, 1);
    assert_eq!(half.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["ranksvm"]);
    assert_eq!(
        (half.unfinished.as_slice(), half.split.mean_over),
        (&["listnet".to_owned()][..], MeanOver::Folds)
    );
    let whole = run(&|| false, 1);
    assert!(whole.unfinished.is_empty() && whole.models.len() == 2);
    assert_eq!(whole.models[0].seconds, half.models[0].seconds, "kept");
    assert_eq!(run(&|| false, 1).models, whole.models, "all are kept");
    // Tuning changes the key, and the trials of a fold are gone on with.
    let tuned = run(&|| false, 3);
    assert!(tuned.models.iter().all(|model| model.trials >= 9), "three of each fold at least");
    std::fs::remove_file(Comparison::entry_path(folder.path(), "listnet")).unwrap();
    let again = run(&|| false, 3);
    assert_eq!(again.models[1].tuning_seconds, tuned.models[1].tuning_seconds, "the trials are kept");
    assert_eq!(again.models[1].test, tuned.models[1].test);
}
