//! Boosted trees and stacks through the real binary; what needs LightGBM is skipped where it is not installed.
#![allow(clippy::print_stderr)]

mod matchrank;

use std::process::Command;

use matchrank::Folder;

/// Lists whose grades follow from two features together.
fn lists(from: usize, to: usize) -> String {
    let mut text = String::new();
    for query in from..to {
        for document in 0..12 {
            let (a, b) = (document % 4, (document * 5 + query) % 3);
            let grade = usize::from(a > 1) * b;
            text += &format!(
                "{grade} qid:{query} 1:{a} 2:{b} 3:{} # docid = q{query}d{document}\n",
                document % 2
            );
        }
    }
    text
}

fn letor() -> Folder {
    let folder = Folder::new();
    folder.write("train.txt", lists(0, 60));
    folder.write("vali.txt", lists(60, 80));
    folder.write("test.txt", lists(80, 100));
    folder
}

/// Whether trees can be grown here.
fn is_installed(folder: &Folder) -> bool {
    let (code, _, error) = folder.run("train lambdamart --letor train.txt --set trees=1 --out probe.model");
    if code == 0 {
        return true;
    }
    assert!(error.contains("pip install lightgbm") && error.contains("MATCHRANK_LIGHTGBM"), "{error}");
    eprintln!("skipped: LightGBM is not installed");
    false
}

#[test]
fn trees_are_grown_rank_and_are_looked_at() {
    let folder = letor();
    if !is_installed(&folder) {
        return;
    }
    for kind in ["mart", "lambdamart"] {
        let train = format!(
            "train {kind} --letor train.txt --validation vali.txt --set min_rows=5 --out {kind}.model"
        );
        let made = folder.json(&format!("{train} --format json"));
        assert_eq!(made["model"], kind);
        let table = folder.text(&train);
        assert!(table.contains("ndcg@10") && table.contains("kept"), "{table}");
        folder.text(&format!("rank --model {kind}.model --letor test.txt --out {kind}.run"));
        let figures = folder.json(&format!("eval --letor test.txt --run {kind}.run --format json"));
        assert!(figures["runs"][0]["measures"]["ndcg@10"].as_f64().unwrap() > 0.99, "{figures}");
        let inside = folder.text(&format!("inspect {kind}.model"));
        assert!(inside.contains("largest gain: "), "{inside}");
        assert_eq!(folder.json(&format!("inspect {kind}.model --format json"))["kind"], kind);
    }
    let folds =
        "cross-validate --letor train.txt vali.txt test.txt --models lambdamart,listnet --set min_rows=5";
    assert!(folder.refused(folds).contains("min_rows"), "listnet has no such parameter");
    let figures =
        folder.json("cross-validate --letor train.txt vali.txt test.txt --models lambdamart --format json");
    assert!(figures["models"][0]["measures"]["ndcg@10"].as_f64().unwrap() > 0.9, "{figures}");
}

#[test]
fn a_stack_of_models_is_trained_ranks_and_explains() {
    let folder = Folder::new();
    folder.text("simulate clicks --preset small --out log");
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv --text title,url \
         --judgments validation=log/validation.qrels --judgments test=log/test.qrels --out data",
    );
    folder.text("train bm25 --data data --out bm25.model");
    folder.text("train pls --data data --set d=20 --out pls.model");
    let train = "train stack --data data --of bm25.model pls.model --set ranker=listnet --out stack.model";
    let table = folder.text(train);
    assert!(
        table.contains("listnet") && table.contains("pls, standardised") && table.contains("kept"),
        "{table}"
    );
    let made = folder.json(&format!("{train} --format json"));
    let validation = |i: usize| made["trials"][i]["validation"].as_f64().unwrap();
    assert!((0..5).map(validation).fold(0.0, f64::max) > 0.2, "{made}");
    folder.text("rank --model stack.model --data data --split test --top 5 --out stack.run");
    let run = folder.read("stack.run");
    let first: Vec<&str> = run.lines().next().unwrap().split_whitespace().collect();
    let queries = folder.read("log/queries.tsv");
    let text = queries.lines().find_map(|line| line.strip_prefix(first[0])?.strip_prefix('\t')).unwrap();
    let document = first[2];
    let arguments =
        ["explain", "--model", "stack.model", "--data", "data", "--query", text, "--document", document];
    let program = env!("CARGO_BIN_EXE_matchrank");
    let why = Command::new(program).current_dir(folder.path()).args(arguments).output().unwrap();
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("its rank") && why.contains("bm25: the score is"), "{why}");
    let score: f64 = first[4].parse().unwrap();
    let explained = why.lines().find(|line| line.trim_start().starts_with("score")).unwrap();
    let explained: f64 = explained.split_whitespace().last().unwrap().parse().unwrap();
    assert!((score - explained).abs() < 1e-4, "{score} {explained}");
    assert!(folder.text("inspect stack.model").contains("pls: kind"));
}
