//! Scores of models as features: `features`, and a stack whose models were trained again.

mod matchrank;

use std::collections::BTreeMap;

use matchrank::Folder;

fn folder_with_models() -> Folder {
    let folder = Folder::with_dataset();
    folder.text("train bm25 --data data --out bm25.model");
    folder.text("train pls --data data --set d=20 --out pls.model");
    folder
}

/// Grade and features of every query and document of a LETOR file.
type Rows = BTreeMap<(String, String), (f64, Vec<f64>)>;

fn rows(text: &str) -> Rows {
    let row = |line: &str| {
        let (features, document) = line.split_once("#docid = ").unwrap();
        let mut parts = features.split_whitespace();
        let grade = parts.next().unwrap().parse().unwrap();
        let query = parts.next().unwrap().strip_prefix("qid:").unwrap().to_owned();
        let mut values = Vec::new();
        for part in parts {
            let (column, value) = part.split_once(':').unwrap();
            values.resize(column.parse().unwrap(), 0.0);
            *values.last_mut().unwrap() = value.parse().unwrap();
        }
        ((query, document.to_owned()), (grade, values))
    };
    text.lines().map(row).collect()
}

#[test]
fn columns_are_the_scores_and_a_ranker_over_them_is_better_than_the_models() {
    let folder = folder_with_models();
    let made = folder.json(
        "features --data data --of bm25.model pls.model --clicks --split test --out test.txt --names names.txt --format json",
    );
    let names = folder.read("names.txt");
    let names: Vec<&str> = names.lines().collect();
    assert_eq!(names[..4], ["bm25", "bm25, standardised", "pls", "pls, standardised"]);
    assert_eq!(made["columns"], serde_json::json!(names));
    assert_eq!(names.len(), 10);
    let lists = rows(&folder.read("test.txt"));
    let judged: Rows = folder
        .read("log/test.qrels")
        .lines()
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            ((parts[0].to_owned(), parts[2].to_owned()), (parts[3].parse().unwrap(), Vec::new()))
        })
        .collect();
    assert_eq!(lists.len(), judged.len());
    assert!(judged.iter().all(|(pair, (grade, _))| lists[pair].0 == *grade));
    // The first and third columns are the scores of `rank`.
    for (model, column) in [("bm25", 0), ("pls", 2)] {
        folder.text(&format!("rank --model {model}.model --data data --candidates judged --out {model}.run"));
        let run = folder.read(&format!("{model}.run"));
        for line in run.lines() {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let score: f64 = parts[4].parse().unwrap();
            let (_, values) = &lists[&(parts[0].to_owned(), parts[2].to_owned())];
            let value = values.get(column).copied().unwrap_or(0.0);
            assert!((value - score).abs() < 1e-5 * score.abs().max(1.0), "{line} {value}");
        }
    }
    // Standardised: mean 0 and deviation 1 within a list.
    let first = lists.keys().next().unwrap().0.clone();
    let of_first: Vec<f64> = lists
        .iter()
        .filter(|((query, _), _)| *query == first)
        .map(|(_, (_, values))| values.get(3).copied().unwrap_or(0.0))
        .collect();
    let n = of_first.len() as f64;
    assert!((of_first.iter().sum::<f64>() / n).abs() < 1e-5);
    assert!((of_first.iter().map(|v| v * v).sum::<f64>() / n - 1.0).abs() < 1e-5);

    folder.text("features --data data --of bm25.model pls.model --clicks --out train.txt");
    folder.text("train ranksvm --letor train.txt --out ranker.model");
    folder.text("rank --model ranker.model --letor test.txt --out ranker.run");
    let worth = folder.json("inspect ranker.model --letor test.txt --names names.txt --format json");
    let worth = worth["permutation"]["features"].as_array().unwrap();
    let best = worth[0]["name"].as_str().unwrap();
    assert!(best.starts_with("pls") || best.starts_with("bm25"), "{best}");
    let document = &lists.keys().next().unwrap().1;
    let why = folder.text(&format!(
        "explain --model ranker.model --letor test.txt --names names.txt --query {first} --document {document}"
    ));
    assert!(why.contains("4: pls, standardised"), "{why}");
    folder.write("few.txt", "bm25\n");
    let few = folder.refused("inspect ranker.model --letor test.txt --names few.txt");
    assert!(few.contains("has 1 line; a name for each feature is expected, one a line: 10 lines"), "{few}");
    let figures =
        folder.json("eval --data data --split test --run bm25.run pls.run ranker.run --format json");
    let ndcg = |i: usize| figures["runs"][i]["measures"]["ndcg@10"].as_f64().unwrap();
    assert!(ndcg(2) > ndcg(0) && ndcg(2) > ndcg(1), "{} {} {}", ndcg(0), ndcg(1), ndcg(2));
}

#[test]
fn columns_are_joined_with_features_that_are_there() {
    let folder = folder_with_models();
    folder.text("features --data data --of bm25.model pls.model --split test --out both.txt");
    folder.text("features --data data --of bm25.model --split test --out one.txt");
    let joined =
        folder.text("features --data data --of pls.model --letor one.txt --out joined.txt --names names.txt");
    assert!(joined.contains("2 features as before"), "{joined}");
    assert_eq!(folder.read("names.txt"), "feature 1\nfeature 2\npls\npls, standardised\n");
    assert_eq!(rows(&folder.read("joined.txt")), rows(&folder.read("both.txt")));

    // Documents and queries that the dataset does not have.
    let mut lines: Vec<String> = folder.read("one.txt").lines().map(str::to_owned).collect();
    lines.truncate(20);
    lines.push("1 qid:new 1:5 #docid = nowhere".to_owned());
    folder.write("some.txt", lines.join("\n"));
    let call = "features --data data --of pls.model --letor some.txt --out some-joined.txt";
    assert!(folder.refused(call).contains("query new of the lists has no text"));
    folder.write("new.tsv", "new\tsome words\n");
    let (code, _, notes) = folder.run(&format!("{call} --queries new.tsv"));
    let missing = "not in the dataset, with scores of 0: 1";
    assert!(code == 0 && notes.contains(missing), "{code} {notes}");
    let new = &rows(&folder.read("some-joined.txt"))[&("new".to_owned(), "nowhere".to_owned())];
    assert_eq!((new.0, new.1[0]), (1.0, 5.0));
    folder.write("other.txt", "1 qid:new 1:5 #docid = nowhere\n");
    let nothing = folder.refused(
        "features --data data --of pls.model --letor other.txt --queries new.tsv --out some-joined.txt",
    );
    assert!(nothing.contains("none of the documents of the lists is in"), "{nothing}");
    // Rows without an id are named by their numbers, which may be ids of other documents.
    folder.write("unnamed.txt", "1 qid:new 1:5\n0 qid:new 1:4\n");
    let unnamed = folder.refused(
        "features --data data --of pls.model --letor unnamed.txt --queries new.tsv --out some-joined.txt",
    );
    assert!(unnamed.contains("unnamed.txt: lists have rows without a document id"), "{unnamed}");
}

#[test]
fn the_best_documents_of_the_models_are_lists_too() {
    let folder = folder_with_models();
    folder.text("features --data data --of bm25.model pls.model --candidates best --depth 5 --split test --out best.txt");
    let lists = rows(&folder.read("best.txt"));
    for model in ["bm25", "pls"] {
        folder.text(&format!("rank --model {model}.model --data data --top 5 --out {model}.run"));
        for line in folder.read(&format!("{model}.run")).lines() {
            let parts: Vec<&str> = line.split_whitespace().collect();
            assert!(lists.contains_key(&(parts[0].to_owned(), parts[2].to_owned())), "{line}");
        }
    }
    assert!(lists.values().any(|(grade, _)| *grade == 0.0) && lists.values().any(|(grade, _)| *grade > 0.0));
    // If only relevant documents are judged, any order of them is perfect, so other documents are needed.
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv --text title,url \
         --split query --out clicked",
    );
    folder.text("train bm25 --data clicked --out words.model");
    let (code, _, notes) =
        folder.run("features --data clicked --of words.model --split test --out clicked.txt");
    assert!(code == 0 && notes.contains("has among its best") && notes.contains("in no list"), "{notes}");
    let lists = rows(&folder.read("clicked.txt"));
    assert!(lists.values().any(|(grade, _)| *grade == 0.0) && lists.values().any(|(grade, _)| *grade > 0.0));
    folder.text("rank --model words.model --data clicked --candidates judged --out judged.run");
    let flawless = folder.text("eval --data clicked --run judged.run");
    assert!(flawless.contains("no order of them can be wrong"), "{flawless}");
    // A note names models that may have learned from the data that is held out here.
    let (_, _, notes) = folder.run("features --data clicked --of pls.model --split test --out clicked.txt");
    assert!(notes.contains("pls was trained on another dataset; if that had clicks"), "{notes}");
    assert!(
        folder
            .refused("features --data data --of pls.model --out same.txt --names same.txt")
            .contains("would be written twice")
    );
}

#[test]
fn a_ranker_goes_on_with_models_that_were_trained_again() {
    let folder = folder_with_models();
    folder.text("train stack --data data --of bm25.model pls.model --set ranker=listnet --out stack.model");
    folder.text("train stack --data data --of bm25.model pls.model --ranker-of stack.model --out same.model");
    for model in ["stack", "same"] {
        folder.text(&format!("rank --model {model}.model --data data --out {model}.run --tag x"));
    }
    assert_eq!(folder.read("stack.run"), folder.read("same.run"));
    // A wider PLS by the same name: the same ranker, other scores.
    folder.text("train pls --data data --set d=40 --out pls.model");
    folder.text("train stack --data data --of bm25.model pls.model --ranker-of stack.model --out wide.model");
    folder.text("rank --model wide.model --data data --out wide.run --tag x");
    assert_ne!(folder.read("stack.run"), folder.read("wide.run"));
    let weights =
        |model: &str| folder.json(&format!("inspect {model}.model --format json"))["importances"].clone();
    assert_eq!(weights("stack"), weights("wide"));

    // A stack knows the grades of the validation queries.
    let told = folder.refused("features --data data --of stack.model --out x.txt");
    assert!(told.contains("has learned from the validation judgments"), "{told}");
    let (code, _, notes) = folder.run("features --data data --of stack.model --split test --out x.txt");
    assert!(code == 0 && notes.contains("do not train on lists of these"), "{notes}");
    assert!(
        folder
            .refused("features --data data --of pls.model --depth 3 --out x.txt")
            .contains("--candidates best")
    );

    let refused = |of: &str, stack: &str| {
        folder.refused(&format!("train stack --data data --of {of} --ranker-of {stack} --out no.model"))
    };
    assert!(
        refused("pls.model bm25.model", "stack.model").contains("the ranker ranks by bm25 (bm25), pls (pls)")
    );
    assert!(refused("bm25.model pls.model", "bm25.model").contains("a bm25 model, not a stack"));
}
