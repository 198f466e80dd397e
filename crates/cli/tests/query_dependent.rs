//! Query-dependent rankers through the real binary: training, ranking, explaining, inspecting, comparing over folds.

mod matchrank;

use matchrank::{Folder, shop};

/// Returns lists that feature 1 orders if features 3 and 4 of the query are small, and misorders otherwise; 2 is noise.
fn lists(from: usize, to: usize) -> String {
    let mut text = String::new();
    for query in from..to {
        let kind = query % 2;
        for document in 0..6 {
            let value = if kind == 0 { document } else { 6 - document };
            let noise = (query * 7 + document * 5) % 4;
            text += &format!(
                "{} qid:{query} 1:{value} 2:{noise} 3:{} 4:{kind} # docid = q{query}d{document}\n",
                document / 2,
                10 * kind + query % 3
            );
        }
    }
    text
}

fn letor() -> Folder {
    let folder = Folder::new();
    folder.write("train.txt", lists(0, 20));
    folder.write("vali.txt", lists(20, 30));
    folder.write("test.txt", lists(30, 40));
    folder
}

const TRAIN: &str = "train query-dependent --letor train.txt --validation vali.txt --set novel_neighbours=4";

#[test]
fn models_are_trained_ranked_with_explained_and_inspected() {
    let folder = letor();
    let made = folder.json(&format!("{TRAIN} --out q.model --format json"));
    assert_eq!((made["model"].as_str(), made["data"]["lists"].as_u64()), (Some("query-dependent"), Some(20)));
    assert_eq!(made["query_features"]["columns"], serde_json::json!([2, 3]), "{made}");
    let table = folder.text(&format!("{TRAIN} --out q.model"));
    assert!(table.contains("kept") && table.contains("ndcg@10") && table.contains("gap"), "{table}");
    folder.text(&format!("{TRAIN} --out again.model --threads 1"));
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("q.model"), bytes("again.model"));

    folder.text("rank --model q.model --letor test.txt --out q.run");
    let run = folder.read("q.run");
    assert_eq!(run.lines().count(), 60, "{run}");
    // Documents 4 and 5 are the best of every query, though feature 1 says the opposite for half of them.
    for line in run.lines().filter(|line| matches!(line.split(' ').nth(3), Some("1" | "2"))) {
        let document = line.split(' ').nth(2).unwrap();
        assert!(document.ends_with("d4") || document.ends_with("d5"), "{line}");
    }

    let why = folder.json(
        "explain --model q.model --letor test.txt --query 31 --document q31d5 --against q31d0 --format json",
    );
    let borrowed = why["function"]["borrowed"].as_array().unwrap();
    assert_eq!(borrowed.len(), 4, "{why}");
    for from in borrowed {
        assert_eq!(from["query"].as_str().unwrap().parse::<u32>().unwrap() % 2, 1, "{why}");
    }
    let shares: f64 = borrowed.iter().map(|from| from["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9 && why["difference"].as_f64().unwrap() > 0.0, "{why}");
    let text = folder.text("explain --model q.model --letor test.txt --query 31 --document q31d5");
    assert!(text.contains("borrows from these training queries") && text.contains("score"), "{text}");

    let looked = folder.json("inspect q.model --format json");
    assert_eq!((looked["kind"].as_str(), looked["documents"].as_u64()), (Some("query-dependent"), Some(120)));
    let text = folder.text("inspect q.model");
    assert!(text.contains("features 3, 4 of the lists") && text.contains("`explain` shows it"), "{text}");

    for (command, expected) in [
        ("export elasticsearch q.model --out x.json", "does not have one weight for each feature"),
        ("inspect q.model --letor test.txt", "has a function for each query"),
        (
            "update q.model --lists train.txt --out x.model",
            "q.model: a query-dependent model cannot learn one list at a time",
        ),
        ("rank --model q.model --letor test.txt --query-features none.tsv --out x.run", "none.tsv"),
    ] {
        let error = folder.refused(command);
        assert!(error.contains(expected), "{command}: {error}");
    }
}

#[test]
fn kernels_forms_losses_and_weights() {
    let folder = letor();
    for (args, good) in [
        ("--weights knn", true),
        ("--weights epanechnikov --set bandwidth=1.5", true),
        ("--weights tricube", true),
        ("--weights uniform", false),
        ("--weights individual", false),
        ("--set kernel=gaussian --query-columns 3", true),
        ("--set kernel=gaussian --set form=ranking --query-columns 3-4", true),
        ("--set loss=logistic", true),
        ("--set loss=psi", true),
        ("--set solver=admm", true),
        ("--set solver=newton", true),
        ("--scaling z_score", true),
    ] {
        folder.text(&format!("{TRAIN} {args} --out x.model"));
        let (code, _, notes) = folder.run("rank --model x.model --letor test.txt --out x.run");
        assert_eq!(code, 0, "{args}: {notes}");
        let first = folder.read("x.run").lines().filter(|line| line.split(' ').nth(3) == Some("1")).count();
        assert_eq!(first, 10, "{args}");
        let right = folder
            .read("x.run")
            .lines()
            .filter(|line| line.split(' ').nth(3) == Some("1"))
            .filter(
                |line| matches!(line.split(' ').nth(2), Some(id) if id.ends_with("d4") || id.ends_with("d5")),
            )
            .count();
        assert_eq!(right == 10, good, "{args}: {right}");
        if args.contains("individual") {
            assert!(notes.contains("10 of 10 queries not among the training queries"), "{notes}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_or_said() {
    let folder = letor();
    for (args, expected) in [
        ("--weights knn --set weights=gaussian", "use --weights"),
        ("--set kernel=round", "kernel is one of linear, gaussian"),
        ("--set neighbours=0", "at least 1"),
        ("--query-columns 9", "query feature 9 is not in the lists"),
        ("--query-columns 0", "expected numbers from 1"),
        ("--query-columns 7-5", "no range of features"),
        ("--scaling auto", "name one scaling"),
        ("--query-features train.txt", "train.txt:1"),
    ] {
        let error = folder.refused(&format!("{TRAIN} {args} --out x.model"));
        assert!(error.contains(expected), "{args}: {error}");
    }
    folder.write("nan.tsv", "query\tlength\n0\t3\n1\tNaN\n");
    let error = folder.refused(&format!("{TRAIN} --query-features nan.tsv --out x.model"));
    assert!(error.contains("nan.tsv:3: `NaN` is not a finite number"), "{error}");
    folder.write("nan.txt", "1 qid:1 1:NaN 2:1\n0 qid:1 1:1 2:1\n");
    assert!(folder.refused("train query-dependent --letor nan.txt --out x.model").contains("nan.txt:1"));
    folder.write("plain.txt", "1 qid:1 1:3\n0 qid:1 1:4\n1 qid:2 1:5\n0 qid:2 1:1\n");
    let error = folder.refused("train query-dependent --letor plain.txt --out x.model");
    assert!(error.contains("no feature is the same for all documents of each query"), "{error}");
    folder.write("level.txt", "1 qid:1 1:3 2:1\n1 qid:1 1:4 2:1\n1 qid:2 1:3 2:2\n");
    assert!(
        folder.refused("train query-dependent --letor level.txt --out x.model").contains("no order to learn")
    );

    // A query with one document, one far from all others, and fifty documents that are all the same.
    folder.text(&format!("{TRAIN} --out q.model"));
    let same: String = (0..50).map(|i| format!("0 qid:same 1:2 2:1 3:1 4:0 # docid = s{i:02}\n")).collect();
    folder.write(
        "odd.txt",
        format!("1 qid:one 1:5 2:1 3:1 4:0\n1 qid:far 1:5 3:99999 4:7\n0 qid:far 1:4 3:99999 4:7\n{same}"),
    );
    let (code, _, notes) = folder.run("rank --model q.model --letor odd.txt --out odd.run");
    assert!(code == 0 && notes.contains("1 of 3 queries without a training query near"), "{notes}");
    assert_eq!(folder.read("odd.run").lines().count(), 53);
    let text = folder.text("explain --model q.model --letor odd.txt --query far --document 2");
    assert!(text.contains("has the function of all queries: no training query is near"), "{text}");
}

#[test]
fn folds_and_files_of_query_features() {
    let folder = Folder::new();
    for k in 0..4 {
        folder.write(&format!("f{k}.txt"), lists(10 * k, 10 * k + 10));
    }
    let folds = "--letor f0.txt f1.txt f2.txt f3.txt";
    let models = "--models ranksvm,query-dependent,query-dependent/knn,query-dependent/uniform";
    let figures = folder.json(&format!(
        "compare {folds} {models} --query-columns 3 --measures mre,err,ndcg@10 --out a --format json"
    ));
    let mre = |i: usize| figures["models"][i]["test"]["mre"].as_f64().unwrap();
    assert!(mre(0) < 0.1 && mre(1) < 0.1 && mre(2) > 0.2 && mre(3) > 0.2, "the best first: {figures}");
    let names = ["query-dependent", "query-dependent/knn", "ranksvm", "query-dependent/uniform"];
    names.iter().zip(0..).for_each(|(name, i): (_, usize)| assert_eq!(figures["models"][i]["name"], *name));
    let rows: String =
        (0..40).map(|i| format!("{i}\t{}\t{}\n", i % 2, if i % 2 == 0 { "a" } else { "b" })).collect();
    folder.write("q.tsv", format!("query\tkind\ttopic:category\n{rows}"));
    let figures = folder.json(&format!(
        "compare {folds} --models query-dependent --query-features q.tsv --measures mre --out b --format json"
    ));
    assert!(figures["models"][0]["test"]["mre"].as_f64().unwrap() < 0.1, "{figures}");
    folder
        .text("train query-dependent --letor f0.txt --query-features q.tsv --set lambda=0.01 --out t.model");
    let (_, _, notes) = folder.run("rank --model t.model --letor f3.txt --out t.run");
    assert!(notes.contains("10 of 10 queries without query features"), "{notes}");
    let (code, _, notes) =
        folder.run("rank --model t.model --letor f3.txt --query-features q.tsv --out t.run");
    assert!(code == 0 && !notes.contains("have no query features"), "{notes}");
    let error = folder.refused("compare --letor f0.txt f1.txt f2.txt --models query-dependent/far");
    assert!(error.contains("weights"), "{error}");
}

#[test]
fn latent_vectors_of_a_matching_model_are_query_features() {
    let folder = shop();
    folder.text("train lsi-dt --data shop --set d=2 --out lsi.model");
    folder.text("export query-vectors lsi.model --queries queries.tsv --out vectors.tsv");
    let vectors = folder.read("vectors.tsv");
    assert!(vectors.starts_with("query\tv1\tv2\nnew1\t") && vectors.lines().count() == 4, "{vectors}");
    let (_, _, notes) = folder.run("export query-vectors lsi.model --queries queries.tsv --out -");
    assert!(notes.contains("knows no word of"), "{notes}");
    let list = |query: &str, sign: i32| {
        (0..4).map(|i| format!("{} qid:{query} 1:{}\n", i / 2, sign * i)).collect::<String>()
    };
    folder.write("train.txt", list("new1", 1) + &list("new2", -1));
    folder.text("train query-dependent --letor train.txt --query-features vectors.tsv --set lambda=0.01 --out q.model");
    folder.text("rank --model q.model --letor train.txt --query-features vectors.tsv --out q.run");
    folder.text("train bm25 --data shop --out bm25.model");
    let error = folder.refused("export query-vectors bm25.model --queries queries.tsv --out x.tsv");
    assert!(error.contains("has no latent vectors"), "{error}");
}

#[test]
fn help_states_the_defaults_of_query_dependent_rankers() {
    let folder = letor();
    let made = folder.json(&format!("{TRAIN} --set novel_neighbours=15 --out q.model --format json"));
    let help = folder.text("help train query-dependent");
    for (name, value) in made["params"].as_object().unwrap() {
        // --weights is an option, and the path of lambdas is shortened in the help.
        let value = match (name.as_str(), value) {
            ("weights", _) => continue,
            ("lambda", _) => "[10,...,1e-6]".to_owned(),
            (_, serde_json::Value::String(text)) => text.clone(),
            (_, serde_json::Value::Number(number)) => number.as_f64().unwrap().to_string(),
            (_, other) => other.to_string(),
        };
        assert!(help.contains(&format!("{name}={value}")), "{name}={value} is not in\n{help}");
    }
}

#[test]
fn tables_are_reproduced() {
    let folder = letor();
    let found = folder.json("reproduce query-dependent-tables --tables 5 --replicates 2 --format json");
    let cells = found["tables"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    let mre = |cell: usize, method: &str| {
        let figures = cells[cell]["figures"].as_array().unwrap();
        let figure = figures.iter().find(|f| f["method"] == method && f["measure"] == "mre").unwrap();
        (figure["mean"].as_f64().unwrap(), figure["paper"][0].as_f64().unwrap())
    };
    let ((ours, _), (others, paper)) = (mre(0, "q-SVM"), mre(0, "indv-SVM"));
    assert!(ours < 0.12 && others > 0.3 && paper == 0.3, "{ours} {others} {paper}");
    let text: String = (0..30).map(|query| lists(query, query + 1)).collect();
    folder.write("all.txt", text);
    let table =
        folder.text("reproduce query-dependent-tables --letor all.txt --query-columns 3 --replicates 2");
    assert!(table.contains("novel") && table.contains("ListNet") && table.contains("Yahoo!"), "{table}");
    assert!(folder.refused("reproduce query-dependent-tables --tables 7").contains("expected 1, 2, 3"));
    assert!(folder.refused("reproduce query-dependent-tables --replicates 1").contains("at least 2"));
}
