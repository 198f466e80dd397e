//! `matchrank simulate clicks` as a user runs it.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

const FILES: [&str; 6] =
    ["clicks.csv", "documents.jsonl", "queries.tsv", "statistics.json", "test.qrels", "validation.qrels"];

fn simulate(out: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("matchrank").unwrap();
    command.args(["simulate", "clicks", "--quiet", "--out"]).arg(out).args(more).assert()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_folder_is_whole_and_depends_on_the_seed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let printed = simulate(&out("one"), &["--threads", "1"]).success().get_output().stdout.clone();
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains("n_x") && printed.contains("next: matchrank ingest --clicks "), "{printed}");
    simulate(&out("four"), &["--threads", "4"]).success();
    simulate(&out("other"), &["--seed", "2"]).success();
    assert_eq!(names(&out("one")), FILES);
    for name in FILES {
        let read = |run: &str| fs::read(out(run).join(name)).unwrap();
        assert!(read("one") == read("four"), "{name} depends on the number of threads");
        assert!(read("one") != read("other"), "{name} does not depend on the seed");
    }
}

#[test]
fn json_has_the_table_the_parameters_and_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--queries", "1000", "--documents", "1500", "--rows", "pairs", "--format", "json"];
    let output = simulate(folder.path(), &flags).success().get_output().stdout.clone();
    let json: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(json["table1"]["n_x"], 1000.0);
    assert_eq!(json["table1"]["n_y"], 1500.0);
    assert_eq!(json["params"]["rows"], "pairs");
    assert_eq!(json["seed"], 1);
    assert!(json["seconds"].as_f64().unwrap() > 0.0);
    let clicks = fs::read_to_string(folder.path().join("clicks.csv")).unwrap();
    assert!(clicks.starts_with("query,document,position,shown,clicks\n"));
    assert_eq!(clicks.lines().count() as u64, json["rows"].as_u64().unwrap() + 1);
}

#[test]
fn only_an_earlier_simulation_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), &[]).success();
    simulate(folder.path(), &["--compress"]).success();
    assert_eq!(names(folder.path())[0], "clicks.csv.zst", "the plain log of the earlier run is gone");
    assert_eq!(names(folder.path()).len(), 6);

    let mine = tempfile::tempdir().unwrap();
    fs::write(mine.path().join("thesis.txt"), "years of work").unwrap();
    let refused = simulate(mine.path(), &[]).failure().code(2).get_output().stderr.clone();
    let refused = String::from_utf8(refused).unwrap();
    assert!(refused.contains("is not empty") && refused.contains("--force"), "{refused}");
    assert_eq!(names(mine.path()), ["thesis.txt"]);
    simulate(mine.path(), &["--force"]).success();
    assert_eq!(fs::read_to_string(mine.path().join("thesis.txt")).unwrap(), "years of work");
}

#[test]
fn bad_sizes_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let refused = simulate(&out, &["--queries", "5"]).failure().code(2).get_output().stderr.clone();
    assert!(String::from_utf8(refused).unwrap().contains("queries is 5"));
    assert!(!out.exists());
}
