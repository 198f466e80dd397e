//! Feature lists as input of rankers, through the real binary: long lists, repeated documents, missing values, weights,
//! features with high numbers, streams. Tests that need LightGBM are skipped if it is not installed.
#![allow(clippy::print_stderr)]

mod matchrank;

use matchrank::Folder;

/// Returns true if LightGBM is installed.
fn is_installed(folder: &Folder) -> bool {
    folder.write("probe.txt", "1 qid:1 1:1\n0 qid:1 1:2\n");
    let (code, _, error) =
        folder.run("train mart --letor probe.txt --set trees=1 --set min_rows=1 --out probe.model");
    if code != 0 {
        assert!(error.contains("pip install lightgbm"), "{error}");
        eprintln!("skipped: LightGBM is not installed");
    }
    code == 0
}

/// Returns lists of `n` documents that feature 1 orders; feature 4 belongs to the query.
fn lists(queries: std::ops::Range<usize>, n: usize) -> String {
    let row = |q: usize, d: usize| {
        let (grade, noise) = (usize::from(d.is_multiple_of(3)), (q * 7 + d * 13) % 5);
        format!("{grade} qid:{q} 1:{} 2:{noise} 4:{} # docid = q{q}d{d}\n", 10 * grade + noise, 1 + q % 3)
    };
    queries.flat_map(|q| (0..n).map(move |d| row(q, d))).collect()
}

#[test]
fn feature_lists_are_ranked_whole_and_eval_says_what_is_missing() {
    let folder = Folder::new();
    folder.write("train.txt", lists(0..20, 9));
    folder.write("long.txt", lists(20..22, 1200));
    folder.text("train ranksvm --letor train.txt --set lambda=0.01 --out r.model");
    let whole = folder.json("rank --model r.model --letor long.txt --out whole.run --format json");
    assert_eq!(whole["documents"].as_u64(), Some(2400), "{whole}");
    folder.text("rank --model r.model --letor long.txt --top 150 --out cut.run");
    let found = folder.json("eval --letor long.txt --run whole.run cut.run --format json");
    let audit = |run: usize, key: &str| found["runs"][run]["audit"][key].as_u64().unwrap();
    assert_eq!((audit(0, "relevant_not_returned"), audit(0, "queries_with_relevant_not_returned")), (0, 0));
    assert_eq!((audit(1, "relevant_not_returned"), audit(1, "queries_with_relevant_not_returned")), (500, 2));
    let table = folder.text("eval --letor long.txt --run whole.run cut.run");
    assert_eq!(table.matches("missing from the run").count(), 1, "{table}");
    assert!(table.contains("500 relevant documents of 2 queries missing from the run"), "{table}");
}

#[test]
fn a_document_twice_in_a_list_is_noted_in_training_and_not_ranked() {
    let folder = Folder::new();
    folder.write("train.txt", lists(0..20, 9));
    folder.write(
        "more.txt",
        "# a comment\n1 qid:x 1:5 # docid = a\n0 qid:x 1:1 # docid = b\n0 qid:x 1:2 # docid = a\n",
    );
    let (code, _, err) =
        folder.run("train ranksvm --letor train.txt more.txt --set lambda=0.01 --out r.model");
    let place = "more.txt:4: document a appears twice in this query (first at more.txt:2)";
    assert!(code == 0 && err.contains(place), "{err}");
    let error = folder.refused("rank --model r.model --letor more.txt --out x.run");
    assert!(error.contains(place) && error.contains("keep one row per document"), "{error}");
    assert!(!folder.path().join("x.run").exists());
    let (code, _, err) = folder.run("train ranksvm --letor train.txt --set lambda=0.01 --out r.model");
    assert!(code == 0 && !err.contains("already"), "{err}");
}

#[test]
fn missing_values_are_for_trees_and_refused_with_advice_by_the_others() {
    let folder = Folder::new();
    let text = lists(0..30, 12);
    // Feature 2 is missing in half of the lines of the relevant documents.
    let text: String = text
        .lines()
        .enumerate()
        .map(|(i, line)| match line.starts_with('1') && i % 2 == 0 {
            true => line.replace(" 2:", " 2:NULL 3:") + "\n",
            false => line.to_owned() + "\n",
        })
        .collect();
    folder.write("train.txt", &text);
    folder.write("sound.txt", lists(30..40, 12));
    let place = "train.txt:1: feature 2 of document q0d0 is missing (NaN), which";
    for kind in ["perceptron", "slam", "ranksvm", "listnet", "query-dependent"] {
        let error = folder.refused(&format!("train {kind} --letor train.txt --out x.model"));
        assert!(
            error.contains(&format!("{place} {kind} does not support")) && error.contains("lambdamart"),
            "{error}"
        );
        let error =
            folder.refused(&format!("train {kind} --letor sound.txt --validation train.txt --out x.model"));
        assert!(error.contains(place), "{error}");
        folder.text(&format!("train {kind} --letor sound.txt --out {kind}.model"));
        let model = format!("--model {kind}.model --letor train.txt");
        assert!(folder.refused(&format!("rank {model} --out x.run")).contains(place));
        assert!(folder.refused(&format!("explain {model} --query 0 --document q0d0")).contains(place));
    }
    for command in ["inspect ranksvm.model", "export elasticsearch ranksvm.model --out x.json"] {
        assert!(folder.refused(&format!("{command} --letor train.txt")).contains("train.txt:1: feature 2"));
    }
    let (code, out, _) = folder.run("doctor train.txt --format json");
    assert!(
        code < 2 && out.contains("\"missing-value\"") && out.contains("60 values are missing"),
        "{code} {out}"
    );
    if !is_installed(&folder) {
        return;
    }
    for kind in ["mart", "lambdamart"] {
        folder.text(&format!(
            "train {kind} --letor train.txt --validation sound.txt --set min_rows=5 --out t.model"
        ));
        folder.text("rank --model t.model --letor train.txt --out t.run");
        let figures = folder.json("eval --letor train.txt --run t.run --format json");
        assert!(figures["runs"][0]["measures"]["ndcg@10"].as_f64().unwrap() > 0.99, "{figures}");
        let scores: Vec<(String, f64)> = folder
            .read("t.run")
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                (fields[2].to_owned(), fields[4].parse().unwrap())
            })
            .collect();
        let why =
            folder.json("explain --model t.model --letor train.txt --query 0 --document q0d0 --format json");
        let score = scores.iter().find(|(document, _)| document == "q0d0").unwrap().1;
        assert!((why["score"].as_f64().unwrap() - score).abs() < 1e-5, "{why} {score}");
        let worth = folder.json("inspect t.model --letor train.txt --format json");
        assert!(worth.to_string().contains("\"features\""), "{worth}");
    }
}

#[test]
fn queries_and_documents_are_weighed() {
    let folder = Folder::new();
    // The second half of the queries contradicts the first.
    let honest = lists(0..12, 9);
    let turned = lists(50..62, 9).replace("\n0 ", "\n2 ").replace("\n1 ", "\n0 ");
    folder.write("both.txt", honest.clone() + &turned);
    folder.write("honest.txt", &honest);
    folder.write("queries.tsv", (51..62).map(|q| format!("{q}\t0\n")).collect::<String>() + "50\t0\n");
    let documents = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        format!("{}\t{}\t0\n", &fields[1][4..], fields.last().unwrap())
    };
    folder.write("documents.tsv", turned.lines().map(documents).collect::<String>());
    let ndcg = |train: &str| {
        folder.text(&format!("train {train} --out w.model"));
        folder.text("rank --model w.model --letor honest.txt --out w.run");
        let figures = folder.json("eval --letor honest.txt --run w.run --measures ndcg@3 --format json");
        figures["runs"][0]["measures"]["ndcg@3"].as_f64().unwrap()
    };
    let mut rankers = vec!["listnet --set lambda=0.001"];
    if is_installed(&folder) {
        rankers
            .extend(["mart --set min_rows=5 --set trees=30", "lambdamart --set min_rows=5 --set trees=30"]);
    }
    for ranker in rankers {
        let even = ndcg(&format!("{ranker} --letor both.txt"));
        assert!(even < 0.95, "{ranker}: {even}");
        for weights in ["--query-weights queries.tsv", "--document-weights documents.tsv"] {
            let weighed = ndcg(&format!("{ranker} --letor both.txt {weights}"));
            assert!(weighed > 0.99, "{ranker} {weights}: {weighed}");
        }
    }
    for kind in ["perceptron", "slam", "ranksvm"] {
        let error = folder.refused(&format!(
            "train {kind} --letor both.txt --document-weights documents.tsv --out x.model"
        ));
        assert!(error.contains("does not take weights of documents; listnet, "), "{error}");
    }
    for (line, expected) in
        [("50\tq50d0\t1e30", "from 0 to 1000000"), ("50\tq50d0", "`query<TAB>document<TAB>weight`")]
    {
        folder.write("wrong.tsv", format!("50\tq50d1\t1\n{line}\n"));
        let error =
            folder.refused("train listnet --letor both.txt --document-weights wrong.tsv --out x.model");
        assert!(error.contains("wrong.tsv:2: ") && error.contains(expected), "{error}");
    }
}

#[test]
fn one_limit_of_features_everywhere() {
    let folder = Folder::new();
    folder.write("sound.txt", lists(0..20, 9));
    folder.text("train ranksvm --letor sound.txt --set lambda=0.01 --out r.model");
    for number in ["10000001", "50000000", "4000000000"] {
        folder.write("far.txt", format!("1 qid:1 1:1\n0 qid:1 1:2 {number}:1\n"));
        let message = format!("features are numbered from 1 to 10000000, found `{number}:1`");
        for command in ["train mart", "train listnet", "train query-dependent", "rank --model r.model"] {
            let error = folder.refused(&format!("{command} --letor far.txt --out x.model"));
            assert!(error.contains("far.txt:2: ") && error.contains(&message), "{error}");
        }
        let (code, out, _) = folder.run("doctor far.txt");
        assert!(code == 1 && out.contains("features are numbered from 1 to 10000000"), "{code} {out}");
    }
    folder.write("far.txt", lists(0..20, 9).replace(" 2:", " 10000000:1 2:"));
    let (code, out, _) = folder.run("doctor far.txt");
    assert!(code < 2 && !out.contains("numbered"), "{code} {out}");
    if is_installed(&folder) {
        folder.text("train lambdamart --letor far.txt --set min_rows=5 --set trees=5 --out far.model");
        folder.text("rank --model far.model --letor far.txt --out far.run");
    }
}

#[test]
fn a_stream_of_lists_is_resumed() {
    let folder = Folder::new();
    folder.write("train.txt", lists(0..20, 9));
    folder.text("train perceptron --letor train.txt --out p.model");
    let line = |i: usize| {
        format!(
            "{{\"documents\":[{{\"grade\":0,\"features\":[{}]}},{{\"grade\":1,\"features\":[3,1]}}]}}\n",
            i % 7
        )
    };
    let all: String = (0..60).map(line).collect();
    folder.write("all.jsonl", &all);
    folder.write("first.jsonl", (0..25).map(line).collect::<String>());
    folder.text("update p.model --lists all.jsonl --out at_once.model");
    folder.text("update p.model --lists first.jsonl --out later.model");
    let summary =
        folder.json("update later.model --lists all.jsonl --resume --out later.model --format json");
    assert_eq!(
        (summary["skipped"].as_u64(), summary["learned"].as_u64(), summary["stream_lines"].as_u64()),
        (Some(25), Some(35), Some(60)),
        "{summary}"
    );
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("at_once.model"), bytes("later.model"));
    folder.write("other.jsonl", all.replace("[5]", "[6]"));
    let error = folder.refused("update later.model --lists other.jsonl --resume --out x.model");
    assert!(error.contains("other.jsonl: its first 60 lines are not those"), "{error}");
    folder.write("heavy.jsonl", line(0).replacen('{', "{\"weight\":1e30,", 1));
    let (code, _, err) = folder.run("update p.model --lists heavy.jsonl --out x.model");
    assert!(code == 1 && err.contains("a number from 0 to 1000 is expected"), "{code} {err}");
}

#[test]
fn carriage_returns_and_zero_bytes_lose_no_row() {
    let folder = Folder::new();
    let text = lists(0..20, 9);
    folder.write("sound.txt", &text);
    folder.text("train ranksvm --letor sound.txt --set lambda=0.01 --out r.model");
    folder.write("mac.txt", text.replace('\n', "\r"));
    folder.write("zero.txt", text.replacen('\n', "\n# \0\0\0\n", 1));
    for (file, place) in [
        ("mac.txt", "mac.txt:1: the line contains a carriage"),
        ("zero.txt", "zero.txt:2: the line contains a zero"),
    ] {
        for command in
            ["train listnet --out x.model", "rank --model r.model --out x.run", "eval --run sound.run"]
        {
            folder.text("rank --model r.model --letor sound.txt --out sound.run");
            let error = folder.refused(&format!("{command} --letor {file}"));
            assert!(error.contains(place), "{error}");
        }
    }
}
