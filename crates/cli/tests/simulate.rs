//! `matchrank simulate clicks` and `matchrank simulate shop` as a user runs them.

mod matchrank;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use matchrank::Folder;
use serde_json::Value;

const FILES: [&str; 6] =
    ["clicks.csv", "documents.jsonl", "queries.tsv", "statistics.json", "test.qrels", "validation.qrels"];

fn simulate(out: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    run("clicks", out, more)
}

fn run(what: &str, out: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("matchrank").unwrap();
    command.args(["simulate", what, "--quiet", "--out"]).arg(out).args(more).assert()
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
    for (what, expected) in [("clicks", "n_x"), ("shop", "catalogue  2,000 products of 48 types")] {
        let out = |name: &str| out(&format!("{what}-{name}"));
        let printed = run(what, &out("one"), &["--threads", "1"]).success().get_output().stdout.clone();
        let printed = String::from_utf8(printed).unwrap();
        assert!(
            printed.contains(expected) && printed.contains("next: matchrank ingest --clicks "),
            "{printed}"
        );
        run(what, &out("four"), &["--threads", "4"]).success();
        run(what, &out("other"), &["--seed", "2"]).success();
        assert_eq!(names(&out("one")), FILES);
        for name in FILES {
            let read = |run: &str| fs::read(out(run).join(name)).unwrap();
            assert!(read("one") == read("four"), "{what}: {name} depends on the number of threads");
            assert!(read("one") != read("other"), "{what}: {name} does not depend on the seed");
        }
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
    run("shop", folder.path(), &[]).success();
    assert_eq!(names(folder.path()), FILES, "a shop replaces the papers' log");
    simulate(folder.path(), &[]).success();

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
    for (flag, reason) in
        [("--products", "products is 5"), ("--queries", "queries is 5"), ("--clicks", "clicks is 5")]
    {
        let refused = run("shop", &out, &[flag, "5"]).failure().code(2).get_output().stderr.clone();
        assert!(String::from_utf8(refused).unwrap().contains(reason));
    }
    assert!(!out.exists());
}

/// The first lines of every file, so that a change of the words or of the random numbers is seen.
#[test]
fn a_shop_looks_like_a_shop() {
    let folder = Folder::new();
    let printed = folder.text("simulate shop --out log");
    let summary: Vec<&str> = printed.lines().filter(|line| !line.starts_with("took")).collect();
    let mut shown = summary.join("\n");
    for name in ["clicks.csv", "documents.jsonl", "queries.tsv", "validation.qrels", "test.qrels"] {
        let file = folder.read(&format!("log/{name}"));
        let lines: Vec<&str> = file.lines().take(4).collect();
        shown += &format!("\n\n{name}\n{}", lines.join("\n"));
    }
    insta::assert_snapshot!(shown);
    let json =
        folder.json("simulate shop --products 300 --queries 200 --clicks 900 --out small --format json");
    assert_eq!((&json["simulation"], &json["params"]["products"]), (&"shop".into(), &300.into()));
    assert!(json["clicks"].as_u64().unwrap() >= 900);
    let csv = folder.text("simulate shop --products 300 --queries 200 --clicks 900 --out small --format csv");
    assert!(csv.starts_with("name,value\nproducts,300\n"), "{csv}");
}

/// `ingest` finds every column of a shop by its name; the last clicks can be held out by their time.
#[test]
fn a_shop_is_ingested_without_a_flag_about_columns() {
    let folder = Folder::new();
    let made = folder.json("simulate shop --out log --format json");
    let files = "--clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv";
    let judged = "--judgments validation=log/validation.qrels --judgments test=log/test.qrels";
    let manifest = folder.json(&format!("ingest {files} {judged} --out data --format json"));
    let statistics = &manifest["statistics"];
    assert_eq!((&statistics["n_documents"], &statistics["n_pairs"]), (&2_000.into(), &made["pairs"]));
    assert_eq!(statistics["n_queries"], 2_000 + made["judged_unseen"].as_u64().unwrap());
    let n_judged: u64 = made["grades"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    let judgments: u64 =
        statistics["n_judgments"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(judgments, n_judged);
    let by_time = folder.json(&format!("ingest {files} --split time --out later --format json"));
    assert!(by_time["statistics"]["n_judgments"][1].as_u64().unwrap() > 100, "{by_time}");
}

/// Synonyms and typos are learned from clicks: on another seed than the demo's, models of clicks beat BM25 by a paired
/// t-test, also on the queries that are absent from the log.
#[test]
fn learned_models_beat_bm25_on_a_shop() {
    let folder = Folder::new();
    folder.text("simulate shop --out log --seed 2");
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv \
         --judgments validation=log/validation.qrels --judgments test=log/test.qrels --out data",
    );
    let compared =
        folder.json("compare --data data --models bm25,pls,rmls+bm25 --trials 2 --out made --format json");
    let models = compared["models"].as_array().unwrap();
    let model = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    for name in ["pls", "rmls+bm25"] {
        let (learned, words) = (&model(name)["test"]["ndcg@10"], &model("bm25")["test"]["ndcg@10"]);
        assert!(learned.as_f64() > words.as_f64(), "{name}: {learned} {words}");
        let unseen = |name: &str| model(name)["bins"]["seen"][1]["ndcg@10"].as_f64().unwrap();
        assert_eq!(model(name)["bins"]["seen"][1]["bin"], "unseen");
        assert!(unseen(name) > unseen("bm25"), "{name}: {} {}", unseen(name), unseen("bm25"));
        let beats: &Vec<Value> = model(name)["beats"].as_array().unwrap();
        assert!(beats.contains(&"bm25".into()), "{name} beats BM25 significantly: {beats:?}");
    }
}
