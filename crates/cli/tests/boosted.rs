//! Boosted trees, stacks and feature importance, through the real binary. Tests that need LightGBM are skipped if it is
//! not installed.
#![allow(clippy::print_stderr)]

mod matchrank;

use std::process::Command;

use matchrank::Folder;
use serde_json::Value;

/// Returns lists whose grades depend on two features together.
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

/// Returns true if LightGBM is installed.
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
        is_explained(&folder, kind);
        is_worth(&folder, kind);
    }
    let folds = "compare --letor train.txt vali.txt test.txt --out c";
    let error = folder.refused(&format!("{folds} --models lambdamart,listnet --set min_rows=5"));
    assert!(error.contains("listnet: min_rows: the model has no such parameter"), "{error}");
    let figures = folder.json(&format!("{folds} --models lambdamart --format json"));
    assert!(figures["models"][0]["test"]["ndcg@10"].as_f64().unwrap() > 0.9, "{figures}");
}

#[test]
fn grades_that_lambdamart_cannot_take_are_named_by_line() {
    let folder = letor();
    if !is_installed(&folder) {
        return;
    }
    folder.write("high.txt", format!("{}31 qid:high 1:1\n", lists(100, 102)));
    let error = folder.refused("train lambdamart --letor train.txt high.txt --out x.model");
    assert!(error.contains("high.txt:25: the grade is 31; LambdaMART takes whole grades"), "{error}");
}

/// The parameters that users of LightGBM tune are searched, and a refit grows the chosen number of trees on all lists.
#[test]
fn trees_are_tuned_and_refitted() {
    let folder = letor();
    if !is_installed(&folder) {
        return;
    }
    let lists = "--letor train.txt --validation vali.txt";
    let tune = format!("tune lambdamart {lists} --set trees=40 --trials 4 --trace t.jsonl");
    let first = folder.json(&format!("{tune} --out tuned.model --format json"));
    assert_eq!(first["trials"].as_array().unwrap().len(), 4, "{first}");
    // Trials are silent, but the library is still named.
    let (code, _, err) = folder.run(&format!("tune mart {lists} --set trees=5 --trials 2"));
    assert!(code == 0 && err.contains("trees are grown by LightGBM's library"), "{err}");
    let varied = &first["trials"][1]["settings"];
    for name in ["leaves", "min_rows", "feature_fraction", "bagging_fraction", "lambda_l2", "truncation"] {
        assert!(varied.get(name).is_some(), "{name}: {varied}");
    }
    // The trace is resumed.
    let more = folder.json(&format!("{tune} --format json").replace("--trials 4", "--trials 6"));
    assert_eq!(more["trials"][0]["seconds"], first["trials"][0]["seconds"], "kept");
    assert_eq!(folder.read("t.jsonl").lines().count(), 7);
    folder.json(&format!("{tune} --refit --out refitted.model --format json"));
    let looked = |model: &str| folder.json(&format!("inspect {model} --format json"));
    let (tuned, refitted) = (looked("tuned.model"), looked("refitted.model"));
    assert_eq!(refitted["trees"], tuned["trees"], "as many as validation chose");
    assert_eq!(refitted["provenance"]["data"]["lists"], 80, "{refitted}");
    assert_eq!(tuned["provenance"]["data"]["lists"], 60);
}

fn adds(explained: &Value) -> f64 {
    let parts = explained["features"].as_array().unwrap().iter();
    parts.map(|part| part["adds"].as_f64().unwrap()).sum::<f64>() + explained["others"].as_f64().unwrap()
}

/// A score is the mean of the query plus the contributions of the features; contributions add up to score differences.
fn is_explained(folder: &Folder, kind: &str) {
    let explain = format!("explain --model {kind}.model --letor test.txt --query 81");
    let number = |json: &Value, name: &str| json[name].as_f64().unwrap();
    let mut sum = 0.0;
    for document in 0..12 {
        let why = folder.json(&format!("{explain} --document q81d{document} --format json"));
        let base = number(&why, "mean_score");
        assert!((base + adds(&why) - number(&why, "score")).abs() < 1e-9, "{why}");
        sum += number(&why, "score") - base;
    }
    assert!(sum.abs() < 1e-9, "the base is the mean: {sum}");
    let pair = format!("{explain} --document q81d2 --against q81d1");
    for top in [0, 1, 20] {
        let why = folder.json(&format!("{pair} --top {top} --format json"));
        assert!((adds(&why) - number(&why, "difference")).abs() < 1e-9, "{why}");
        assert!(why["features"].as_array().unwrap().len() <= top);
    }
    assert!(folder.text(&pair).contains("why q81d2 stands above q81d1, feature by feature (Shapley values)"));
    let text = folder.text(&format!("{explain} --document q81d2 --top 1"));
    assert!(text.contains("of 12; its score is the mean score") && text.contains("all other features"));
    let csv = folder.text(&format!("{explain} --document q81d2 --format csv"));
    assert!(csv.starts_with("feature,value,mean value,adds\nmean score of the query,,,"), "{csv}");
}

/// The grades depend on two features.
fn is_worth(folder: &Folder, kind: &str) {
    let inspect = format!("inspect {kind}.model --letor test.txt");
    let json = folder.json(&format!("{inspect} --format json --repeats 3"));
    let found = &json["permutation"];
    assert!(found["figure"].as_f64().unwrap() > 0.99 && found["repeats"] == 3, "{found}");
    let features = found["features"].as_array().unwrap();
    for part in &features[..2] {
        assert!(part["feature"].as_u64().unwrap() < 3, "{part}");
        let [fall, deviation, gain] = ["fall", "deviation", "gain"].map(|name| part[name].as_f64().unwrap());
        assert!(fall > 0.1 && deviation < 0.1 && gain > 0.1, "{part}");
    }
    assert_eq!(json, folder.json(&format!("{inspect} --format json --repeats 3 --threads 1")));
    assert_ne!(json, folder.json(&format!("{inspect} --format json --repeats 3 --seed 8")));
    let text = folder.text(&format!("{inspect} --measure map --top 1"));
    assert!(text.contains("largest gain: ") && text.contains("map is ") && text.contains("--top "), "{text}");
    let csv = folder.text(&format!("{inspect} --format csv"));
    assert!(csv.starts_with("feature,gain,fall,deviation\n"), "{csv}");
}

/// Two trees in a file that split on feature 2 only. What works without LightGBM is tested without it.
#[test]
fn trees_of_a_file_are_explained_without_lightgbm() {
    let folder = letor();
    folder.write("two.model", include_bytes!("../../../tests/golden/model_files/lambdamart_v1.safetensors"));
    let explain = "explain --model two.model --letor test.txt --query 81 --document q81d0";
    for against in ["", "--against q81d1"] {
        let why = folder.json(&format!("{explain} {against} --format json"));
        let whole = why.get("difference").and_then(Value::as_f64);
        let whole =
            whole.unwrap_or_else(|| why["score"].as_f64().unwrap() - why["mean_score"].as_f64().unwrap());
        let features = why["features"].as_array().unwrap();
        assert!(
            features.iter().all(|part| part["feature"] == 2) && (adds(&why) - whole).abs() < 1e-12,
            "{why}"
        );
    }
    let worth = folder.json("inspect two.model --letor test.txt --repeats 1 --format json");
    let features = worth["permutation"]["features"].as_array().unwrap();
    assert_eq!(features.len(), 1, "the others are never looked at: {worth}");
    assert_eq!((&features[0]["feature"], &features[0]["deviation"]), (&2.into(), &Value::Null));
    assert_eq!(features[0]["gain"], 1.0);
    let error = folder.refused("inspect two.model --letor test.txt --repeats 0");
    assert!(error.contains("repeats must be"), "{error}");
    let error = folder.refused("inspect two.model --repeats 3");
    assert!(error.contains("--letor"), "{error}");
    folder.write("level.txt", "0 qid:1 2:1 # docid = a\n0 qid:1 2:2 # docid = b\n");
    let error = folder.refused("inspect two.model --letor level.txt");
    assert!(error.contains("level.txt: no document has a grade above 0"), "{error}");
    let error = folder.refused(&format!("{explain} --query-features test.txt"));
    assert!(error.contains("query-dependent"), "{error}");
}

#[test]
fn features_of_weights_are_worth_what_exchanging_their_values_costs() {
    let folder = letor();
    folder.text("train ranksvm --letor train.txt --validation vali.txt --out r.model");
    let before = folder.json("inspect r.model --format json");
    let inspect = "inspect r.model --letor test.txt --repeats 4";
    let mut looked = folder.json(&format!("{inspect} --format json"));
    let found = looked["permutation"].take();
    looked.as_object_mut().unwrap().remove("permutation");
    assert_eq!(looked, before, "all else is as without lists");
    let features = found["features"].as_array().unwrap();
    let number = |part: &Value, name: &str| part[name].as_f64().unwrap();
    assert!(number(&features[1], "fall") > 0.05 && number(&features[1], "deviation") > 0.0, "{found}");
    for part in features {
        let feature = part["feature"].as_u64().unwrap() as usize;
        assert_eq!(number(part, "weight"), looked["weights"][feature - 1].as_f64().unwrap());
    }
    assert_eq!(found, folder.json(&format!("{inspect} --format json --threads 1"))["permutation"]);
    let text = folder.text(inspect);
    assert!(text.contains("What features are worth on test.txt: ndcg@10 is "), "{text}");
    let csv = folder.text(&format!("{inspect} --format csv"));
    assert!(csv.starts_with("feature,weight,fall,deviation\n"), "{csv}");
}

#[test]
fn a_stack_of_models_is_trained_ranks_and_explains() {
    let folder = Folder::with_dataset();
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
    assert!(why.contains("the score is their mean score and what each model adds"), "{why}");
    let score: f64 = first[4].parse().unwrap();
    let explained = why.lines().find(|line| line.trim_start().starts_with("score")).unwrap();
    let explained: f64 = explained.split_whitespace().last().unwrap().parse().unwrap();
    assert!((score - explained).abs() < 1e-4, "{score} {explained}");
    let json = Command::new(program)
        .current_dir(folder.path())
        .args(arguments)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let all = [&json["parts"], &json["counts"]].map(|parts| parts.as_array().unwrap());
    let sum: f64 = all.into_iter().flatten().map(|part| part["adds"].as_f64().unwrap()).sum();
    assert!((json["base"].as_f64().unwrap() + sum - score).abs() < 1e-5, "{json}");
    assert!(folder.text("inspect stack.model").contains("pls: kind"));
    // An id in place of a text.
    let (_, why, notes) = folder
        .run(&format!("explain --model stack.model --data data --query {} --document {document}", first[0]));
    assert!(
        why.contains("no score") && notes.contains(&format!("--query takes its text: '{text}'")),
        "{why} {notes}"
    );
}

#[test]
fn a_stack_says_which_library_grew_its_trees() {
    let folder = Folder::with_dataset();
    folder.write("train.txt", lists(0, 5));
    if !is_installed(&folder) {
        return;
    }
    folder.text("train bm25 --data data --out bm25.model");
    let (code, _, err) = folder.run(
        "train stack --data data --of bm25.model --set ranker=lambdamart --set trees=3 --out stack.model",
    );
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("trees are grown by LightGBM's library").count(), 1, "{err}");
}

/// Three lists are too few for leaves of 50 rows.
#[test]
fn trees_that_split_nothing_have_a_figure_and_a_remark() {
    let folder = letor();
    if !is_installed(&folder) {
        return;
    }
    for fold in 0..3 {
        folder.write(
            &format!("f{fold}.txt"),
            format!("1 qid:{fold} 1:1\n0 qid:{fold} 1:2\n0 qid:{fold} 1:3\n"),
        );
    }
    let compare = "compare --letor f0.txt f1.txt f2.txt --models lambdamart --out c";
    let made = folder.json(&format!("{compare} --format json"));
    let value = made["models"][0]["validation"]["ndcg@10"].as_f64();
    assert!(value.is_some_and(|value| value > 0.0 && value <= 1.0), "{made}");
    let table = folder.text(compare);
    assert!(table.contains("no tree splits anything") && !table.contains("NaN"), "{table}");
    let (_, _, err) = folder.run("train lambdamart --letor f0.txt --validation f1.txt --out t.model");
    assert!(err.contains("no tree splits anything, so every document gets the same score"), "{err}");
    assert!(
        folder
            .text("train lambdamart --letor f0.txt --out t.model")
            .contains("1 list, 3 documents, 1 feature")
    );
}
