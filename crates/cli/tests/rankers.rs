//! Rankers of feature lists through the real binary: training, comparing over folds, explaining, updating, exporting.

mod matchrank;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use matchrank::Folder;
use serde_json::{Value, json};

/// Returns lists that feature 1 orders, feature 2 disturbs and feature 3 says nothing about; feature 4 is sparse.
fn lists(from: usize, to: usize) -> String {
    let mut text = String::new();
    for query in from..to {
        for document in 0..8 {
            let noise = (query * 7 + document * 13) % 5;
            let grade = document / 3;
            let sparse = if noise == 0 { " 4:0.5" } else { "" };
            let value = document * 10 + 9 * noise;
            text += &format!(
                "{grade} qid:{query} 1:{value} 2:{noise} 3:7{sparse} # docid = q{query}d{document}\n"
            );
        }
    }
    text
}

fn letor() -> Folder {
    let folder = Folder::new();
    folder.write("train.txt", lists(0, 30));
    folder.write("vali.txt", lists(30, 40));
    folder.write("test.txt", lists(40, 50));
    folder
}

const KINDS: [&str; 4] = ["perceptron", "slam", "ranksvm", "listnet"];

#[test]
fn every_ranker_is_trained_ranks_and_is_measured() {
    let folder = letor();
    let qrels: String = lists(40, 50)
        .lines()
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            format!("{} 0 {} {}\n", &parts[1][4..], parts[parts.len() - 1], parts[0])
        })
        .collect();
    folder.write("test.qrels", qrels);
    for kind in KINDS {
        let train = format!("train {kind} --letor train.txt --validation vali.txt --out {kind}.model");
        let made = folder.json(&format!("{train} --format json"));
        assert_eq!(
            (made["model"].as_str(), made["data"]["lists"].as_u64()),
            (Some(kind), Some(30)),
            "{made}"
        );
        assert_eq!(made["scaling"], "min_max");
        let table = folder.text(&train);
        assert!(table.contains("ndcg@10") && table.contains("kept"), "{table}");
        folder.text(&format!("rank --model {kind}.model --letor test.txt --out {kind}.run"));
        let run = folder.read(&format!("{kind}.run"));
        assert_eq!(run.lines().count(), 80, "{run}");
        assert!(run.lines().next().unwrap().ends_with(kind), "{run}");
        let figures = folder
            .json(&format!("eval --qrels test.qrels --run {kind}.run --measures ndcg@10 --format json"));
        let ndcg = figures["runs"][0]["measures"]["ndcg@10"].as_f64().unwrap();
        assert!(ndcg > 0.97, "{kind}: {figures}");
        let looked = folder.json(&format!("inspect {kind}.model --format json"));
        assert_eq!((looked["kind"].as_str(), looked["weights"].as_array().unwrap().len()), (Some(kind), 4));
        assert!(folder.text(&format!("inspect {kind}.model")).contains("Features of the largest weights"));
        // The same command gives the same file, whatever the number of threads.
        folder.text(&format!("{train}.again --threads 1"));
        let bytes = |name: String| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(bytes(format!("{kind}.model")), bytes(format!("{kind}.model.again")));
    }
    let top = folder.json("rank --model ranksvm.model --letor test.txt --top 3 --out top.run --format json");
    assert_eq!((top["queries"].as_u64(), top["documents"].as_u64()), (Some(10), Some(30)), "{top}");
}

#[test]
fn settings_scalings_and_weights() {
    let folder = letor();
    let (code, _, err) = folder.run(
        "train perceptron --letor train.txt --validation vali.txt --scaling auto --set target=map --set epochs=5 \
         --curve curve.csv --out auto.model",
    );
    assert!(code == 0 && err.contains("chosen by validation: min_max "), "{err}");
    let curve = folder.read("curve.csv");
    assert!(curve.starts_with("lists,loss,bound\n") && curve.lines().count() > 5, "{curve}");
    for line in curve.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!(numbers[1] <= numbers[2], "{line}");
    }
    let error = folder.refused("train ranksvm --letor train.txt --scaling auto --out x.model");
    assert!(error.contains("no validation lists to choose the scaling by"), "{error}");
    let (code, _, err) = folder.run("train listnet --letor train.txt --out x.model");
    assert!(code == 0 && err.contains("so it is 0.01"), "{err}");
    let made = folder.json(
        "train ranksvm --letor train.txt --set lambda=0.5 --set loss=hinge --out x.model --format json",
    );
    assert_eq!(made["params"]["ranksvm"]["lambda"], 0.5, "{made}");
    assert!(made["report"]["path"]["path"][0]["lower_bound"].is_f64(), "{made}");

    // A list of weight 0 has no effect.
    folder.write(
        "weights.tsv",
        (0..30).map(|q| format!("{q}\t{}\n", q % 2)).collect::<String>() + "unknown\t3\n",
    );
    let odd: String = lists(0, 30)
        .lines()
        .filter(|line| {
            line.split("qid:").nth(1).unwrap().split(' ').next().unwrap().parse::<u32>().unwrap() % 2 == 1
        })
        .map(|line| format!("{line}\n"))
        .collect();
    folder.write("odd.txt", odd);
    let weights = |args: &str| -> Vec<f64> {
        folder.text(&format!(
            "train ranksvm {args} --scaling none --set lambda=0.01 --set tolerance=1e-9 --out x.model"
        ));
        let looked = folder.json("inspect x.model --format json");
        looked["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect()
    };
    let (with, without) =
        (weights("--letor train.txt --query-weights weights.tsv"), weights("--letor odd.txt"));
    assert!(with.iter().zip(&without).all(|(a, b)| (a - b).abs() < 1e-6), "{with:?} {without:?}");
    let (_, _, err) =
        folder.run("train slam --letor train.txt --query-weights weights.tsv --set lambda=0.1 --out x.model");
    assert!(err.contains("1 of its queries are not among the lists") && !err.contains("bound (23)"), "{err}");
    // The bound holds for the minimiser and a lambda that was fixed beforehand, and is never below the loss of w = 0.
    let train = "train slam --letor train.txt --set lambda=0.1 --out x.model";
    let (_, _, err) = folder.run(train);
    assert!(err.contains("bound (23): at most") && err.contains("R_X = "), "{err}");
    let made = folder.json(&format!("{train} --format json"));
    let (report, bound) = (&made["report"]["slam"], &made["report"]["slam"]["bound"]);
    let number = |value: &Value| value.as_f64().unwrap();
    let (b, l) = (number(&bound["norm"]), number(&bound["radius"]) * number(&bound["lipschitz"]));
    let expected = 0.1 * b * b / 2.0 + 4.0 * (0.1 * b + l).powi(2) / (0.1 * number(&bound["n"]));
    assert!((number(&bound["excess"]) - expected).abs() < 1e-9, "{bound}");
    // B depends on Delta = 1 and lambda only, and is known before the lists are.
    assert!(
        (0.1 * b * b / 2.0 - 1.0).abs() < 1e-9 && number(&report["objective_at_zero"]) <= 1.0,
        "{report}"
    );
    for other in ["--set solver=pegasos", "--validation vali.txt --set lambda=[1,0.1]"] {
        let (code, _, err) = folder.run(&format!("{train} {other}"));
        assert!(code == 0 && !err.contains("bound (23)"), "{other}: {err}");
    }
    folder.write("weights.tsv", "3\tmany\n");
    let error = folder.refused("train slam --letor train.txt --query-weights weights.tsv --out x.model");
    assert!(error.contains("weights.tsv:1: `query<TAB>weight` is expected"), "{error}");

    for (args, expected) in [
        ("--set target=err", "target"),
        ("--set epochs=0", "at least 1"),
        ("--set nothing=1", "the model has no such parameter; it has target, rule"),
        ("--scaling wide", "min_max"),
        ("--validation nowhere.txt", "nowhere.txt"),
        ("--measure recall@x", "recall"),
    ] {
        let error = folder.refused(&format!("train perceptron --letor train.txt {args} --out x.model"));
        assert!(error.contains(expected), "{args}: {error}");
    }
    folder.write("level.txt", "1 qid:1 1:3\n1 qid:1 1:4\n");
    let error = folder.refused("train listnet --letor level.txt --out x.model");
    assert!(error.contains("no order to learn"), "{error}");
    folder.write("broken.txt", "1 qid:1 1:3\nzero qid:1 1:4\n");
    assert!(folder.refused("train listnet --letor broken.txt --out x.model").contains("broken.txt:2"));
}

/// Returns lists whose grades are independent of their features: no weights order them.
fn noise(from: u32, to: u32) -> String {
    let row = |i: u32| {
        let random = |k: u32| (i + 1).wrapping_mul(2_654_435_761).wrapping_mul(k) >> 24;
        format!("{} qid:{} 1:{} 2:{}\n", random(3) % 3, i / 6, random(5), random(7))
    };
    (6 * from..6 * to).map(row).collect()
}

#[test]
fn a_collapse_is_said_and_left() {
    let folder = Folder::new();
    folder.write("noise.txt", noise(0, 20));
    let train = "train slam --letor noise.txt --validation noise.txt --out x.model";
    let (code, out, err) = folder.run(&format!("{train} --set solver=bundle"));
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("all weights are 0") && err.contains("Pegasos"), "{err}");
    assert!(folder.text("inspect x.model").contains("All weights are 0"));
    let (_, _, err) = folder.run("export elasticsearch x.model --out x.json");
    assert!(err.contains("x.model: all weights are 0 and every document gets the same score"), "{err}");
    // The default solver continues where (4) has nothing to learn from.
    let (code, out, err) = folder.run(train);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        err.contains("w = 0 minimises the objective") && err.contains("mean iterate of Pegasos"),
        "{err}"
    );
    assert!(!folder.text("inspect x.model").contains("All weights are 0"));
    let (_, _, err) = folder.run("export elasticsearch x.model --out x.json");
    assert!(err.contains("w = 0 minimises the objective"), "{err}");

    for k in 0..3 {
        folder.write(&format!("f{k}.txt"), noise(20 * k, 20 * k + 20));
    }
    let compare = "compare --letor f0.txt f1.txt f2.txt --models slam --out c";
    let text = folder.text(&format!("{compare} --set solver=bundle"));
    assert!(text.contains("slam: in all folds: all weights are 0"), "{text}");
    let text = folder.text(compare);
    assert!(text.contains("slam: in all folds: w = 0 minimises the objective"), "{text}");
}

#[test]
fn folds_are_compared_and_kept() {
    let folder = Folder::new();
    for k in 0..4 {
        folder.write(&format!("f{k}.txt"), lists(10 * k, 10 * k + 10));
    }
    let compare = "compare --letor f0.txt f1.txt f2.txt f3.txt --models ranksvm,slam --scaling auto --out c";
    let made = folder.json(&format!("{compare} --format json"));
    let models = made["models"].as_array().unwrap();
    assert_eq!((models.len(), made["split"]["test_queries"].as_u64()), (2, Some(40)), "{made}");
    assert_eq!(made["split"]["mean_over"], "folds");
    assert!(models[0]["test"]["ndcg@10"].as_f64().unwrap() > 0.99, "{made}");
    let table = folder.text(&format!("{compare} --per-fold"));
    assert!(table.contains("means over 4 folds, as LETOR's are, not over all queries"), "{table}");
    assert!(table.contains("map by fold") && table.contains("ndcg@3 by fold"), "{table}");
    assert!(!folder.text(compare).contains("map by fold"));
    // There is a ranker for every fold, and one run over all folds with the figures of the table.
    let qrels: String = lists(0, 40)
        .lines()
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            format!("{} 0 {} {}\n", &parts[1][4..], parts[parts.len() - 1], parts[0])
        })
        .collect();
    folder.write("all.qrels", qrels);
    for name in ["ranksvm", "slam"] {
        assert_eq!(folder.read(&format!("c/runs/{name}.run")).lines().count(), 320);
        for fold in 1..=4 {
            let rank = format!(
                "rank --model c/models/{name}.fold{fold}.model --letor f{}.txt --out x.run",
                fold - 1
            );
            folder.text(&rank);
            let first = folder.read("x.run").lines().next().unwrap().to_owned();
            let kept = folder.read(&format!("c/runs/{name}.run"));
            assert!(kept.lines().any(|line| line.starts_with(&first)), "{first}");
        }
    }
    // Folds of ten queries each, so the mean over folds is that over queries.
    let eval = "eval --qrels all.qrels --run c/runs/ranksvm.run --measures ndcg@10 --format json";
    let found = folder.json(eval)["runs"][0]["measures"]["ndcg@10"].as_f64().unwrap();
    assert!((found - models[0]["test"]["ndcg@10"].as_f64().unwrap()).abs() < 1e-6, "{found} {}", models[0]);
    let csv = folder.text(&format!("{compare} --format csv"));
    assert!(csv.contains("ranksvm,ranksvm,fold,fold 4,10,"), "{csv}");

    let error = folder.refused("compare --letor f0.txt f1.txt --models listnet --out d");
    assert!(error.contains("at least three"), "{error}");
    let error = folder.refused("compare --letor f0.txt f1.txt f2.txt --models trees --out d");
    assert!(error.contains("there is no ranker called trees; there are perceptron, slam"), "{error}");
    let error = folder.refused("cross-validate --letor f0.txt f1.txt f2.txt");
    assert!(error.contains("compare --letor"), "{error}");
    // With copies of one file, rankers would be tested on their training data.
    folder.write("copy.txt", lists(35, 45));
    let error = folder.refused("compare --letor f0.txt f1.txt f3.txt copy.txt --models listnet --out d");
    assert!(error.contains("query 35 is in two folds, f3.txt and copy.txt"), "{error}");
}

#[test]
fn grades_that_are_too_high_are_named_by_file_and_line() {
    let folder = Folder::new();
    folder.write("a.txt", lists(0, 10));
    folder.write("b.txt", lists(10, 20));
    let high = format!("{}5000 qid:high 1:1\n0 qid:high 1:2\n", lists(20, 30));
    let line = high.lines().position(|line| line.starts_with("5000")).unwrap() + 1;
    folder.write("high.txt", high);
    for command in [
        "train listnet --letor a.txt --validation b.txt high.txt --out m",
        "tune ranksvm --letor a.txt --validation high.txt --trials 2",
        "compare --letor a.txt b.txt high.txt --models listnet",
    ] {
        let (code, _, error) = folder.run(command);
        assert!(
            code != 0 && error.contains(&format!("high.txt:{line}: the grade of document")),
            "{command}: {error}"
        );
    }
}

#[test]
fn a_ranker_that_fails_leaves_the_others() {
    let folder = Folder::new();
    for k in 0..3 {
        folder.write(&format!("f{k}.txt"), lists(10 * k, 10 * k + 10));
    }
    // No feature belongs to queries alone, so queries cannot be compared.
    let (code, out, err) =
        folder.run("compare --letor f0.txt f1.txt f2.txt --models query-dependent,listnet --out c");
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("left out: query-dependent:") && out.contains("best by ndcg@10: listnet"), "{out}");
}

/// Rows without an id are named by their numbers, counted through all folds, as `eval` of all files names them.
#[test]
fn runs_over_folds_without_document_ids_are_measured_on_all_files() {
    let folder = Folder::new();
    for k in 0..3 {
        let text = lists(10 * k, 10 * k + 10);
        let rows = text.lines().map(|line| line.split(" #").next().unwrap().to_owned() + "\n");
        folder.write(&format!("f{k}.txt"), rows.collect::<String>());
    }
    let made = folder.json("compare --letor f0.txt f1.txt f2.txt --models listnet --out c --format json");
    let eval = "eval --letor f0.txt f1.txt f2.txt --run c/runs/listnet.run --measures ndcg@10 --format json";
    let found = folder.json(eval)["runs"][0]["measures"]["ndcg@10"].as_f64().unwrap();
    let expected = made["models"][0]["test"]["ndcg@10"].as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6, "{found} {expected}");
}

#[test]
fn a_library_that_is_none_leaves_the_other_rankers() {
    let folder = Folder::new();
    for k in 0..3 {
        folder.write(&format!("f{k}.txt"), lists(10 * k, 10 * k + 10));
    }
    for more in ["", " --trials 2"] {
        let args = format!("compare --letor f0.txt f1.txt f2.txt --models lambdamart,listnet{more} --out c");
        let output = Command::new(env!("CARGO_BIN_EXE_matchrank"))
            .current_dir(folder.path())
            .args(args.split_whitespace())
            .env("MATCHRANK_LIGHTGBM", "no-such-library.so")
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{out}");
        assert!(out.contains("left out: lambdamart: ") && out.contains("best by ndcg@10: listnet"), "{out}");
    }
}

#[test]
fn lists_that_cannot_be_chosen_by_are_refused() {
    let folder = letor();
    for kind in KINDS {
        for (command, measure) in [("train", "mre"), ("tune", "pairwise")] {
            let error = folder.refused(&format!(
                "{command} {kind} --letor train.txt --validation vali.txt --measure {measure} --out x.model"
            ));
            assert!(error.contains("better when smaller"), "{command} {kind}: {error}");
        }
    }
    // A query in both would be used to validate rankers that learned from it.
    folder.write("both.txt", lists(29, 35));
    let error = folder.refused("tune listnet --letor train.txt --validation both.txt --refit --out x.model");
    assert!(
        error.contains("both.txt:1: query 29 is in the training lists as well at train.txt:233"),
        "{error}"
    );
    folder.text("train listnet --letor train.txt --validation both.txt --out x.model");
    // Measures count each document once, which is checked before anything is trained.
    let twice = lists(30, 32) + lists(31, 32).lines().next().unwrap() + "\n";
    folder.write("twice.txt", twice);
    for command in [
        "tune listnet --letor train.txt --validation twice.txt",
        "train listnet --letor train.txt --validation twice.txt --out y.model",
        "compare --letor train.txt twice.txt test.txt --models listnet --out c",
    ] {
        let error = folder.refused(command);
        let expected = "twice.txt:17: document q31d0 appears twice in this query (first at twice.txt:9)";
        assert!(error.contains(expected), "{command}: {error}");
    }
    assert!(!folder.path().join("c/models").exists(), "nothing was trained");
}

#[test]
fn scores_are_explained_feature_by_feature() {
    let folder = letor();
    folder.text("train ranksvm --letor train.txt --validation vali.txt --out r.model");
    let alone =
        folder.json("explain --model r.model --letor test.txt --query 41 --document q41d7 --format json");
    let sum = |value: &Value| -> f64 {
        value["features"].as_array().unwrap().iter().map(|part| part["adds"].as_f64().unwrap()).sum::<f64>()
            + value["others"].as_f64().unwrap()
    };
    assert!((sum(&alone) - alone["score"].as_f64().unwrap()).abs() < 1e-9, "{alone}");
    for part in alone["features"].as_array().unwrap() {
        let number = |name: &str| part[name].as_f64().unwrap();
        assert!((number("weight") * number("scaled") - number("adds")).abs() < 1e-9, "{part}");
    }
    let pair = folder.json(
        "explain --model r.model --letor test.txt --query 41 --document q41d7 --against q41d0 --top 1 --format json",
    );
    assert!((sum(&pair) - pair["difference"].as_f64().unwrap()).abs() < 1e-9, "{pair}");
    assert_eq!(pair["features"].as_array().unwrap().len(), 1);
    let text =
        folder.text("explain --model r.model --letor test.txt --query 41 --document q41d7 --against q41d0");
    assert!(text.contains("why q41d7 stands above q41d0") && text.contains("difference of scores"), "{text}");
    let text =
        folder.text("explain --model r.model --letor test.txt --query 41 --document q41d0 --against q41d7");
    assert!(text.contains("why q41d0 stands below q41d7"), "{text}");
    for (args, expected) in [
        ("--query 41 --document q41d7 --against q41d7", "cannot stand above itself"),
        ("--query 99 --document q41d7", "there is no query 99"),
        ("--query 41 --document nowhere", "query 41 has no document nowhere"),
    ] {
        let error = folder.refused(&format!("explain --model r.model --letor test.txt {args}"));
        assert!(error.contains(expected), "{error}");
    }
}

fn line(query: usize, weight: f64) -> String {
    let documents: Vec<Value> = (0..4)
        .map(|d| json!({ "id": format!("d{d}"), "grade": d % 3, "features": [10 * d + query % 7, query % 5, null, 1] }))
        .collect();
    json!({ "query": query.to_string(), "weight": weight, "documents": documents }).to_string() + "\n"
}

#[test]
fn a_perceptron_goes_on_learning_list_by_list() {
    let folder = letor();
    folder.text("train perceptron --letor train.txt --validation vali.txt --out p.model");
    folder.text("train ranksvm --letor train.txt --validation vali.txt --out r.model");
    let half =
        |range: std::ops::Range<usize>| range.map(|q| line(q, 1.0 + (q % 2) as f64)).collect::<String>();
    folder.write("first.jsonl", half(0..40));
    folder.write("second.jsonl", half(40..100));
    folder.write("all.jsonl", half(0..100));
    let updated = folder.json("update p.model --lists all.jsonl --out all.model --format json");
    assert_eq!(
        (updated["learned"].as_u64(), updated["left_out"].as_u64()),
        (Some(100), Some(0)),
        "{updated}"
    );
    folder.text("update p.model --lists first.jsonl --out half.model");
    folder.text("update half.model --lists second.jsonl --out both.model");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    // Only the position in the stream differs, and that is equal too if the stream was resumed.
    let looked = |model: &str| folder.json(&format!("inspect {model} --format json"));
    assert_eq!(looked("both.model"), looked("all.model"));
    folder.text("update half.model --lists all.jsonl --resume --out half.model");
    assert_eq!(bytes("half.model"), bytes("all.model"));
    assert!(bytes("all.model") != bytes("p.model"));
    folder.text("rank --model all.model --letor test.txt --out all.run");

    folder.write(
        "bad.jsonl",
        format!("{}not a list\n\n{{\"documents\":[{{\"grade\":1,\"features\":[1,2,3,4,5]}}]}}\n", half(0..2)),
    );
    let (code, out, err) = folder.run("update p.model --lists bad.jsonl --out bad.model");
    assert_eq!(code, 1, "{out}{err}");
    assert!(
        err.contains("left out lines that are not lists: 3 (first: bad.jsonl:3: is not a list in JSON"),
        "{err}"
    );
    assert!(folder.refused("update r.model --lists all.jsonl --out x.model").contains("a perceptron can"));
    assert!(folder.refused("update p.model --lists nowhere.jsonl --out x.model").contains("nowhere.jsonl"));
    assert!(folder.refused("update p.model --out x.model").contains("--lists"));
    assert!(folder.refused("update p.model --tuples all.jsonl --out x.model").contains("perceptron"));
}

/// An endless stream: the model is saved while the stream lasts, and Ctrl-C saves the rest and ends.
#[cfg(unix)]
#[test]
fn a_stream_of_lists_is_saved_while_it_lasts() {
    let folder = letor();
    folder.text("train perceptron --letor train.txt --validation vali.txt --out p.model");
    let rounds =
        |model: &str| folder.json(&format!("inspect {model} --format json"))["state"]["rounds"].as_u64();
    let before = rounds("p.model").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_matchrank"))
        .current_dir(folder.path())
        .args("update p.model --lists - --out live.model --checkpoint 0".split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = child.stdin.take().unwrap();
    let wait_for = |n: u64| {
        let started = Instant::now();
        while !(folder.path().join("live.model").exists() && rounds("live.model") == Some(before + n)) {
            assert!(started.elapsed() < Duration::from_secs(120), "no model with {n} more lists");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    (0..5).for_each(|q| stream.write_all(line(q, 1.0).as_bytes()).unwrap());
    stream.flush().unwrap();
    wait_for(5);
    (5..9).for_each(|q| stream.write_all(line(q, 1.0).as_bytes()).unwrap());
    stream.flush().unwrap();
    wait_for(9);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stream);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("interrupted; what was learned is saved"), "{err}");
    folder.write("same.jsonl", (0..9).map(|q| line(q, 1.0)).collect::<String>());
    folder.text("update p.model --lists same.jsonl --out same.model");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("live.model"), bytes("same.model"));
}

#[test]
fn a_ranker_is_exported_for_search_engines() {
    let folder = letor();
    folder.text("train listnet --letor train.txt --validation vali.txt --out l.model");
    folder.write("names.txt", "title\nbody\nage\nclicks\n");
    let (code, _, err) = folder
        .run("export elasticsearch l.model --name mine --features names.txt --letor test.txt --out l.json");
    assert!(
        code == 0 && err.contains("the same order for 10 lists") && err.contains("wrote l.json: 4 weights"),
        "{err}"
    );
    let exported: Value = serde_json::from_str(&folder.read("l.json")).unwrap();
    let model = &exported["model"];
    assert_eq!(
        (model["name"].as_str(), model["model"]["type"].as_str()),
        (Some("mine"), Some("model/linear"))
    );
    let looked = folder.json("inspect l.model --format json");
    for (i, name) in ["title", "body", "age", "clicks"].into_iter().enumerate() {
        let product = looked["weights"][i].as_f64().unwrap() * looked["factors"][i].as_f64().unwrap();
        let weight = model["model"]["definition"][name].as_f64().unwrap();
        assert!((product - weight).abs() <= 1e-6 * product.abs(), "{name}: {product} {weight}");
    }
    let (_, out, err) = folder.run("export elasticsearch l.model --out -");
    assert!(out.contains("feature_4") && err.contains("simulated lists"), "{out}{err}");
    folder.write("names.txt", "title\nbody\n");
    let error = folder.refused("export elasticsearch l.model --features names.txt --out x.json");
    assert!(error.contains("names.txt: 4 names are expected"), "{error}");
    folder.text("train listnet --letor train.txt --scaling query_min_max --out q.model");
    let error = folder.refused("export elasticsearch q.model --out x.json");
    assert!(error.contains("train with --scaling"), "{error}");
}

#[test]
fn features_that_are_missing_or_new_are_dealt_with() {
    let folder = letor();
    folder.text("train ranksvm --letor train.txt --validation vali.txt --out r.model");
    folder.write("fewer.txt", "1 qid:1 1:70 # docid = a\n0 qid:1 # docid = b\n");
    folder.text("rank --model r.model --letor fewer.txt --out fewer.run");
    let run = folder.read("fewer.run");
    assert!(
        run.lines().nth(1).unwrap().split_whitespace().nth(4).unwrap().parse::<f64>().unwrap() == 0.0,
        "{run}"
    );
    folder.write("more.txt", "1 qid:1 1:70 9:5 # docid = a\n0 qid:1 2:1 # docid = b\n");
    let (code, _, err) = folder.run("rank --model r.model --letor more.txt --out more.run");
    assert!(code == 0 && err.contains("of which the model knows the first 4"), "{err}");
    assert_eq!(folder.read("more.run").lines().next().unwrap().split_whitespace().nth(2), Some("a"));
    // A ranker is not a matching model, and vice versa.
    let error = folder.refused("explain --model r.model --data shop --query 1 --document a --against b");
    assert!(error.contains("--against"), "{error}");
    let error = folder.refused("train perceptron --letor more.txt --set target=foo --out x.model");
    assert!(error.contains("target is one of map, ndcg"), "{error}");
    let error = folder.refused("rank --model r.model --data shop --out x.run");
    assert!(error.contains("with --letor"), "{error}");
    folder.write("docs.csv", "id,title\nd1,red shoes\n");
    folder.write("log.csv", "query,document,clicks\nshoes,d1,2\n");
    folder.text("ingest --clicks log.csv --documents docs.csv --out shop");
    folder.text("train bm25 --data shop --out bm25.model");
    let error = folder.refused("rank --model bm25.model --letor fewer.txt --out x.run");
    assert!(error.contains("holds a bm25 model"), "{error}");
    let error = folder.refused("inspect bm25.model --letor fewer.txt");
    assert!(error.contains("rankers of feature lists, and this is a model of kind bm25"), "{error}");
}

#[test]
fn lists_are_read_from_several_files_wherever_they_are_read() {
    let folder = letor();
    // The rows of query 15 continue in the second file.
    let whole = lists(0, 30);
    let middle = whole.lines().take(8 * 15 + 3).map(|line| line.len() + 1).sum();
    folder.write("a.txt", &whole[..middle]);
    folder.write("b.txt", &whole[middle..]);
    folder.write("v1.txt", lists(30, 34));
    folder.write("v2.txt", lists(34, 40));
    folder.write("t1.txt", lists(40, 45));
    folder.write("t2.txt", lists(45, 50));
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    for kind in KINDS.into_iter().chain(["query-dependent --weights uniform"]) {
        folder.text(&format!("train {kind} --letor train.txt --validation vali.txt --out one.model"));
        let two = "--letor a.txt b.txt --validation v1.txt v2.txt --out two.model";
        folder.text(&format!("train {kind} {two}"));
        assert_eq!(bytes("one.model"), bytes("two.model"), "{kind}");
    }
    folder.text("train ranksvm --letor train.txt --set lambda=0.01 --out r.model");
    folder.text("rank --model r.model --letor test.txt --out one.run");
    folder.text("rank --model r.model --letor t1.txt t2.txt --out two.run");
    assert_eq!(folder.read("one.run"), folder.read("two.run"));
    for command in [
        "eval --run one.run --format json --letor",
        "inspect r.model --format json --letor",
        "explain --model r.model --query 47 --document q47d2 --format json --letor",
    ] {
        let both = ["test.txt", "t1.txt t2.txt"].map(|files| folder.json(&format!("{command} {files}")));
        if let [Some(one), Some(two)] = both.each_ref().map(|found| found.get("permutation")) {
            assert_eq!(one["features"], two["features"]);
        } else {
            assert_eq!(both[0], both[1], "{command}");
        }
    }
    folder.text("export elasticsearch r.model --letor t1.txt t2.txt --out r.json");
    let error = folder.refused("train slam --letor train.txt a.txt --out x.model");
    assert!(error.contains("a.txt: query 0 is also in train.txt"), "{error}");
    let error = folder.refused("rank --model r.model --letor t1.txt t2.txt t1.txt --out x.run");
    assert!(error.contains("query 40 is also in t1.txt"), "{error}");
}
