//! `compare` and `tune`, as users call them.

mod matchrank;

use std::path::Path;
use std::time::SystemTime;

use matchrank::Folder;
use serde_json::Value;

fn model<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    comparison["models"].as_array().unwrap().iter().find(|model| model["name"] == name).unwrap()
}

fn changed(folder: &Folder, file: &str) -> SystemTime {
    std::fs::metadata(Path::new(folder.path()).join(file)).unwrap().modified().unwrap()
}

#[test]
fn what_is_there_is_kept_and_what_changed_is_made_again() {
    let folder = Folder::with_dataset();
    let first =
        folder.json("compare --data data --models bm25,pls,pls+bm25 --trials 3 --out c --format json");
    assert_eq!(first["models"].as_array().unwrap().len(), 3);
    for row in first["models"].as_array().unwrap() {
        for figure in ["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map"] {
            let value = row["test"][figure].as_f64().unwrap();
            let (low, high) = (&row["intervals"][figure][0], &row["intervals"][figure][1]);
            assert!(low.as_f64().unwrap() < value && value < high.as_f64().unwrap(), "{row}");
        }
        assert!(
            row["seconds"].is_f64()
                && row["latency"]["p50_ms"].is_f64()
                && row["validation"]["ndcg@10"].is_f64()
        );
        let of_seen = row["bins"]["seen"].as_array().unwrap();
        let n: u64 = of_seen.iter().map(|bin| bin["queries"].as_u64().unwrap()).sum();
        assert_eq!(n, first["split"]["test_queries"].as_u64().unwrap());
    }
    assert_eq!(model(&first, "pls")["beats"], serde_json::json!(["bm25"]));
    // The defaults are among the trials, and nothing worse than them was chosen.
    let trace = folder.read("c/traces/pls.jsonl");
    let trials: Vec<Value> = trace.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let full: Vec<&Value> = trials.iter().filter(|trial| trial["share"] == 1.0).collect();
    assert!(full.iter().any(|trial| trial["settings"].as_object().unwrap().is_empty()));
    let best = full.iter().map(|trial| trial["validation"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(model(&first, "pls")["validation"]["ndcg@10"].as_f64().unwrap(), best);

    let files =
        ["c/models/bm25.model", "c/results/bm25.json", "c/models/pls.model", "c/results/pls+bm25.json"];
    let before = files.map(|file| changed(&folder, file));
    let more =
        folder.json("compare --data data --models bm25,pls,pls+bm25,rw --trials 3 --out c --format json");
    assert_eq!(files.map(|file| changed(&folder, file)), before, "nothing is made twice");
    for name in ["bm25", "pls", "pls+bm25"] {
        assert_eq!(model(&more, name)["test"], model(&first, name)["test"]);
        assert_eq!(model(&more, name)["seconds"], model(&first, name)["seconds"]);
    }
    // As if killed while pls was trained: its result is missing, and only pls is made again, with the same figures.
    std::fs::remove_file(Path::new(folder.path()).join("c/results/pls.json")).unwrap();
    let again =
        folder.json("compare --data data --models bm25,pls,pls+bm25,rw --trials 3 --out c --format json");
    assert_eq!(model(&again, "pls")["test"], model(&first, "pls")["test"]);
    assert_eq!(changed(&folder, files[0]), before[0]);
    assert_eq!(changed(&folder, files[3]), before[3]);
    // Another measure: measured again, not trained again.
    let trained = changed(&folder, files[2]);
    let mrr =
        folder.json("compare --data data --models bm25,pls --trials 3 --measures mrr --out c --format json");
    assert_eq!(changed(&folder, files[2]), trained);
    assert!(model(&mrr, "pls")["test"]["mrr"].as_f64().unwrap() > 0.5);
    // Another seed: trained again.
    folder.json("compare --data data --models pls --trials 1 --seed 2 --out c --format json");
    assert!(changed(&folder, files[2]) > trained);
}

#[test]
fn tables_come_in_every_format_and_plans_from_files() {
    let folder = Folder::with_dataset();
    folder.write(
        "plan.toml",
        "models = [\"bm25\", \"bm25+wide\"]\ntrials = 1\nmeasures = [\"ndcg@10\", \"map\"]\n\n[[model]]\nname = \"wide\"\n\
         kind = \"pls\"\nset = { d = 20 }\nvary = { weight_power = [0, 0.5] }\ntrials = 2\n",
    );
    let made = folder.json("compare --data data --plan plan.toml --out c --format json");
    assert_eq!(model(&made, "wide")["params"]["d"], 20);
    assert_eq!(model(&made, "bm25")["trials"], 0);
    assert!(model(&made, "wide")["trials"].as_u64().unwrap() >= 2);
    let ndcg = format!("{:.4}", model(&made, "wide")["test"]["ndcg@10"].as_f64().unwrap());
    let call = |format: &str| {
        folder.text(&format!("compare --data data --plan plan.toml --out c --format {format}"))
    };
    for (format, line) in [
        ("table", "better than model a (paired t-test"),
        ("table", "best by ndcg@10: "),
        ("markdown", "| model"),
        ("latex", "\\begin{tabular}{llrrrrrrr}"),
    ] {
        let text = call(format);
        assert!(text.contains(line) && text.contains(&ndcg), "{format}\n{text}");
    }
    let mut csv = csv::Reader::from_reader(std::io::Cursor::new(call("csv")));
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(rows.iter().filter(|row| &row[2] == "all").count(), 3);
    assert!(rows.iter().any(|row| &row[0] == "wide" && &row[2] == "seen" && &row[3] == "unseen"));

    folder.write("wrong.toml", "models = [\"bm25\"]\ntrails = 3\n");
    assert!(folder.refused("compare --data data --plan wrong.toml").contains("wrong.toml:2"));
    for (wrong, why) in [
        ("kind = \"mart\"\nset = { ranker = \"listnet\" }", "ranker is said by `kind`"),
        (
            "kind = \"stack\"\ntrials = 3",
            "`vary` and `trials` are for models that learn from the dataset alone",
        ),
        ("kind = \"combination\"\nof = [\"bm25\"]", "`of` names the models of a combination, 2 to 12"),
        (
            "kind = \"combination\"\nof = [\"a\", \"b\"]\nset = { d = 1 }",
            "d: the model has no such parameter; it has rule",
        ),
    ] {
        folder.write("wrong.toml", format!("models = [\"bm25\"]\n[[model]]\nname = \"x\"\n{wrong}\n"));
        let said = folder.refused("compare --data data --plan wrong.toml");
        assert!(said.contains(why), "{said}");
    }
    folder.write("wrong.toml", "[[model]]\nname = \"x\"\nkind = \"pls\"\nset = { dd = 3 }\n");
    assert!(
        folder
            .refused("compare --data data --plan wrong.toml")
            .contains("wrong.toml: x: dd: the model has no such parameter")
    );
    assert!(folder.refused("compare --data data --models bm26").contains("there is no model called `bm26`"));
}

/// The first command of a new user: a list of models, a table that fits, and what to do next.
#[test]
fn without_models_the_usual_ones_are_compared_and_one_is_recommended() {
    let folder = Folder::with_dataset();
    let said = folder.text("compare --data data --trials 1 --out c");
    let (table, rest) = said.split_once("\n\n").unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    for name in ["bm25", "clicks+bm25", "sparse-preference", "stack:bm25+clicks"] {
        assert!(table.contains(&format!(" {name} ")), "{name}\n{table}");
    }
    let made: Value = serde_json::from_str(&folder.read("c/comparison.json")).unwrap();
    let rows = made["models"].as_array().unwrap();
    let figures: Vec<f64> = rows.iter().map(|row| row["test"]["ndcg@10"].as_f64().unwrap()).collect();
    assert!(figures.is_sorted_by(|a, b| a >= b), "the best model comes first: {figures:?}");
    for (line, row) in table.lines().skip(3).zip(rows) {
        let name = row["name"].as_str().unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(name), "the table has the order of the file");
    }
    let chosen = made["chosen"]["name"].as_str().unwrap();
    assert!(rest.contains(&format!("\ndeploy {chosen}: ")), "{rest}");
    assert!(rest.contains("\nnext:\n  matchrank search --model c/models/"), "{rest}");
    // The recommended command works.
    let next = rest.lines().find(|line| line.contains("matchrank search")).unwrap();
    let queries = folder.read("log/queries.tsv");
    let word = queries.split_whitespace().nth(1).unwrap();
    let arguments = next.trim().strip_prefix("matchrank ").unwrap().replace("'QUERY'", word);
    assert!(!folder.text(&arguments).is_empty());
    let wide = folder.text("compare --data data --trials 1 --out c --wide");
    assert!(wide.contains("ndcg@3") && wide.contains("ndcg@10 by clicks") && !said.contains("by clicks"));
    assert!(folder.refused("compare --data data --minutes 1 --seconds 2").contains("cannot be used with"));
}

/// Three folds of ten lists each.
fn folds() -> Folder {
    let folder = Folder::new();
    for fold in 0..3 {
        let lines: String = (0..30)
            .map(|i| {
                let (query, grade) = (fold * 10 + i / 3, i % 3);
                format!("{grade} qid:{query} 1:{} 2:{}\n", f64::from(grade) + f64::from(i % 7) / 5.0, i % 5)
            })
            .collect();
        folder.write(&format!("fold{fold}.txt"), &lines);
    }
    folder
}

const FOLDS: &str = "--letor fold0.txt fold1.txt fold2.txt";

#[test]
fn rankers_over_folds() {
    let folder = folds();
    let call = format!("compare {FOLDS} --models ranksvm,listnet --out c --format json");
    let made = folder.json(&call);
    assert_eq!(made["models"].as_array().unwrap().len(), 2);
    assert_eq!(made["split"]["test_queries"], 30);
    for row in made["models"].as_array().unwrap() {
        let folds = row["bins"]["fold"].as_array().unwrap();
        let mean = folds.iter().map(|fold| fold["ndcg@10"].as_f64().unwrap()).sum::<f64>() / 3.0;
        assert!((row["test"]["ndcg@10"].as_f64().unwrap() - mean).abs() < 1e-12);
        assert!(mean > 0.8, "{mean}");
    }
    let before = changed(&folder, "c/results/ranksvm.json");
    assert_eq!(folder.json(&call)["models"], made["models"]);
    assert_eq!(changed(&folder, "c/results/ranksvm.json"), before);
    // As if killed before the last model was written: the result is the same.
    std::fs::remove_file(folder.path().join("c/models/ranksvm.fold3.model")).unwrap();
    let again = folder.json(&call);
    assert_eq!(model(&again, "ranksvm")["test"], model(&made, "ranksvm")["test"]);
    assert!(changed(&folder, "c/results/ranksvm.json") > before);
    assert!(folder.path().join("c/models/ranksvm.fold3.model").is_file());
    assert!(folder.refused(&format!("compare {FOLDS} --models rmls")).contains("no ranker called rmls"));
    let error = folder.refused(&format!("compare {FOLDS} --models listnet --refit fold0.txt"));
    assert!(error.contains("--refit takes no value with --letor"), "{error}");
    assert!(folder.refused("compare --data x --models bm25 --set d=1").contains("--letor"));
}

#[test]
fn rankers_are_tuned_and_refitted_fold_by_fold() {
    let folder = folds();
    let call = format!("compare {FOLDS} --models perceptron,listnet --trials 4 --out c --format json");
    let made = folder.json(&call);
    for name in ["perceptron", "listnet"] {
        let row = model(&made, name);
        assert!(
            row["trials"].as_u64().unwrap() >= 12 && row["tuning_seconds"].as_f64().unwrap() > 0.0,
            "{row}"
        );
        for fold in 1..=3 {
            let trace = folder.read(&format!("c/traces/{name}.fold{fold}.jsonl"));
            let trials: Vec<Value> =
                trace.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(trials.iter().any(|trial| trial["settings"].as_object().unwrap().is_empty()), "{trace}");
            assert!(trials.iter().any(|trial| trial["settings"]["scaling"].is_string()), "{trace}");
        }
    }
    // The validation figure is at least that of the defaults.
    let plain = folder.json(&format!("compare {FOLDS} --models perceptron,listnet --out p --format json"));
    for name in ["perceptron", "listnet"] {
        let of = |made: &Value| model(made, name)["validation"]["ndcg@10"].as_f64().unwrap();
        assert!(of(&made) >= of(&plain), "{name}");
        assert_eq!(model(&plain, name)["trials"], 0);
    }
    assert_eq!(folder.json(&call)["models"], made["models"], "kept");
    let text = folder.text(&format!("compare {FOLDS} --models listnet --refit --out r"));
    assert!(text.contains("trained again on the training and validation folds"), "{text}");
    let lists = |model: &str| {
        folder.json(&format!("inspect {model} --format json"))["provenance"]["data"]["lists"].clone()
    };
    assert_eq!(
        (lists("r/models/listnet.fold1.model"), lists("p/models/listnet.fold1.model")),
        (20.into(), 10.into())
    );

    folder.write(
        "plan.toml",
        "models = [\"ranksvm\"]\nmeasures = [\"ndcg@10\"]\n[[model]]\nname = \"wide\"\nkind = \"listnet\"\n\
         set = { tolerance = 0.01 }\nvary = { lambda = \"1e-4..1\", scaling = [\"none\", \"z_score\"] }\ntrials = 3\n",
    );
    let planned = folder.json(&format!("compare {FOLDS} --plan plan.toml --out q --format json"));
    assert_eq!(model(&planned, "ranksvm")["trials"], 0);
    assert_eq!(
        (&model(&planned, "wide")["trials"], &model(&planned, "wide")["kind"]),
        (&9.into(), &"listnet".into())
    );
    assert_eq!(model(&planned, "wide")["params"]["tolerance"], 0.01);
    for (wrong, expected) in [
        ("", "wrong.toml: no ranker is named"),
        ("models = [\"trees\"]\n", "wrong.toml: trees: there is no ranker called trees"),
        ("models = [\"slam\", \"slam\"]\n", "wrong.toml: two rankers are called slam"),
    ] {
        folder.write("wrong.toml", wrong);
        let said = folder.refused(&format!("compare {FOLDS} --plan wrong.toml"));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_ranker_is_tuned_on_lists() {
    let folder = folds();
    let lists = "--letor fold0.txt fold1.txt --validation fold2.txt";
    let tune = format!("tune listnet {lists} --vary lambda=1e-5..1 --vary scaling=none,z_score --trials 5");
    let text = folder.text(&format!("{tune} --trace t.jsonl --out l.model"));
    assert!(text.contains("best on validation:") && text.contains("scaling"), "{text}");
    let looked = folder.json("inspect l.model --format json");
    assert_eq!(looked["provenance"]["data"]["lists"], 20, "both files");
    let other = folder.refused(&format!("{tune} --trace t.jsonl --seed 2"));
    assert!(other.contains("trials of another search"), "{other}");
    let again = folder.json(&format!("{tune} --refit --out r.model --format json"));
    assert!(again["params"]["lambda"].is_f64(), "the one that was chosen: {again}");
    assert_eq!(folder.json("inspect r.model --format json")["provenance"]["data"]["lists"], 30);
    for (args, expected) in [
        ("tune listnet --letor fold0.txt", "--validation"),
        (&format!("tune rmls {lists}"), "no ranker called rmls"),
        (&format!("tune listnet {lists} --vary depth=1,2"), "depth: the model has no such parameter"),
        (&format!("tune listnet {lists} --vary scaling=1..2"), "a range is for a parameter that is a number"),
        (&format!("tune listnet {lists} --measure mre"), "better when smaller"),
        ("tune bm25 --data x --refit --out y.model", "for rankers, with --letor"),
    ] {
        let error = folder.refused(args);
        assert!(error.contains(expected), "{args}: {error}");
    }
}

/// A pipe can be read only once, so the hash of the lists must be that of the data that was learned from.
#[test]
fn lists_of_a_pipe_are_hashed_as_they_are_read() {
    let folder = folds();
    let other = folder.read("fold0.txt").replace("2 qid:1 ", "0 qid:1 ");
    assert_ne!(other, folder.read("fold0.txt"));
    let tune = "tune listnet --letor - --validation fold1.txt --vary lambda=0.1,1 --trials 2 --trace t.jsonl";
    let (code, _, err) = folder.run_with(tune, &folder.read("fold0.txt"));
    assert_eq!(code, 0, "{err}");
    assert_eq!(folder.run_with(tune, &folder.read("fold0.txt")).0, 0, "the same lists go on");
    let (code, _, err) = folder.run_with(tune, &other);
    assert!(code == 2 && err.contains("trials of another search"), "{err}");
    // The hash is that of a file, so a trace can be resumed either way.
    folder.text(&tune.replace("--letor -", "--letor fold0.txt"));
    let compare = "compare --letor - fold1.txt fold2.txt --models listnet --out c --format json";
    let made = |lists: &str| -> Value { serde_json::from_str(&folder.run_with(compare, lists).1).unwrap() };
    let first = made(&folder.read("fold0.txt"));
    assert_ne!(made(&other)["data"]["content_hash"], first["data"]["content_hash"]);
}

#[test]
fn refused_input_leaves_no_folder_behind() {
    let folder = folds();
    for command in [
        "compare --letor no.txt fold1.txt fold2.txt --models listnet --out new/c",
        "compare --letor fold0.txt fold1.txt --models listnet --out new/c",
        "compare --letor fold0.txt fold1.txt fold2.txt --models nothing --out new/c",
        "compare --data nothing --models bm25 --out new/c",
    ] {
        folder.refused(command);
        assert!(!folder.path().join("new").exists(), "{command}");
    }
    folder.text(&format!("compare {FOLDS} --models listnet --out new/c"));
    assert!(folder.path().join("new/c/comparison.json").exists());
}

#[test]
fn tuning_goes_on_from_its_trace_and_never_sees_the_test() {
    let folder = Folder::with_dataset();
    let first = folder.json("tune bm25 --data data --trials 5 --trace t.jsonl --out a.model --format json");
    assert_eq!(first["trials"].as_array().unwrap().len(), 5);
    let seconds = |value: &Value| value["trials"][0]["seconds"].as_f64().unwrap();
    let more = folder.json("tune bm25 --data data --trials 8 --trace t.jsonl --format json");
    assert_eq!(seconds(&more), seconds(&first), "kept from the first");
    assert_eq!(folder.read("t.jsonl").lines().count(), 9);
    assert!(
        folder.refused("tune bm25 --data data --trace t.jsonl --seed 2").contains("trials of another search")
    );
    // The same data without test judgments gives the same choice.
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv \
         --judgments validation=log/validation.qrels --text title,url --out blind",
    );
    let blind = folder.json("tune bm25 --data blind --trials 5 --format json");
    assert_eq!(blind["best"]["settings"], first["best"]["settings"]);
    assert_eq!(blind["best"]["validation"], first["best"]["validation"]);

    let text = folder
        .text("tune pls --data data --vary d=5..20 --vary weight_power=0,0.5 --strategy halving --trials 3");
    assert!(text.contains("best on validation:") && text.contains("effort"), "{text}");
    assert!(
        folder.refused("tune pls --data data --vary dd=5").contains("dd: the model has no such parameter")
    );
    assert!(
        folder
            .refused("tune pls --data data --vary tf=1..2")
            .contains("a range is for a parameter that is a number")
    );
    assert!(folder.refused("tune pls --data blind --vary d=9..3").contains("is no range"));
}

#[test]
fn what_was_chosen_is_trained_again_on_other_data() {
    let folder = Folder::with_dataset();
    let ingest = |judgments: &str, out: &str| {
        folder.text(&format!(
            "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv {judgments} \
             --text title,url --out {out}"
        ));
    };
    // With the same clicks, refitting gives the models that were there before.
    ingest("--judgments test=log/test.qrels", "all");
    folder.write(
        "plan.toml",
        "models = [\"bm25\", \"rw\", \"lsi-dt\", \"lsi-qd\", \"rmls\", \"pls\", \"bltm\", \"sparse-preference\", \"ssi\", \"svdfeature\", \
         \"rmls+bm25\", \"listnet\"]\ntrials = 1\n[[model]]\nname = \"stack\"\nkind = \"listnet\"\nset = { clicks = true }\n\
         [[model]]\nname = \"sparse-preference\"\nkind = \"sparse-preference\"\nset = { tuples = 20000 }\n\
         [[model]]\nname = \"ssi\"\nkind = \"ssi\"\nset = { tuples = 20000 }\n",
    );
    let plain = folder.json("compare --data data --plan plan.toml --out plain --format json");
    let again = folder.json("compare --data data --refit all --plan plan.toml --out again --format json");
    assert_eq!(plain["split"]["chosen_on"], Value::Null);
    assert_eq!((&again["split"]["chosen_on"], &again["data"]["name"]), (&"data".into(), &"all".into()));
    let rows = plain["models"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    let kept = model(&again, "rmls")["params"]["iterations"].as_u64().unwrap();
    assert!(
        kept < model(&plain, "rmls")["params"]["iterations"].as_u64().unwrap(),
        "what validation kept: {kept}"
    );
    for row in rows {
        let other = model(&again, row["name"].as_str().unwrap());
        assert_eq!((&row["test"], &row["validation"]), (&other["test"], &other["validation"]), "{row}");
    }
    let text = folder.text("compare --data data --refit all --plan plan.toml --out again");
    assert!(text.contains("chosen on data, then trained again on all"), "{text}");
    // Fewer clicks give other models and the same choices.
    let half: Vec<String> = folder.read("log/clicks.csv").lines().map(str::to_owned).collect();
    folder.write("log/half.csv", half[..half.len() / 2].join("\n"));
    folder.text(
        "ingest --clicks log/half.csv --documents log/documents.jsonl --queries log/queries.tsv \
         --judgments test=log/test.qrels --text title,url --out half",
    );
    let less = folder.json("compare --data data --refit half --plan plan.toml --out less --format json");
    assert_eq!(model(&less, "rmls")["validation"], model(&plain, "rmls")["validation"]);
    assert_ne!(model(&less, "rmls")["test"], model(&plain, "rmls")["test"]);

    let refused =
        |data: &str| folder.refused(&format!("compare --data data --refit {data} --models bm25 --out no"));
    assert!(refused("data").contains("has validation judgments"));
    ingest("--judgments test=log/validation.qrels", "other");
    assert!(refused("other").contains("its test queries and judgments differ from those of"));
    ingest("--judgments test=log/test.qrels --no-stemming", "plainer");
    assert!(refused("plainer").contains("text fields, their weights or their analysis differ from those of"));
    let some: Vec<String> = folder.read("log/documents.jsonl").lines().skip(1).map(str::to_owned).collect();
    folder.write("log/some.jsonl", some.join("\n"));
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/some.jsonl --queries log/queries.tsv \
         --judgments test=log/test.qrels --text title,url --out fewer",
    );
    assert!(refused("fewer").contains("its documents differ from those of"));
}

/// Thirty training queries, and judged ones whose documents training saw (even) or did not see (odd).
fn small(n_test: usize, n_validation: usize) -> Folder {
    let folder = Folder::new();
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    let document = |i: usize| if i.is_multiple_of(2) { i } else { 30 + i };
    folder.write("docs.tsv", lines(60, &|i| format!("d{i}\tshoe{} red{}\n", i, i % 4)));
    folder.write(
        "queries.tsv",
        lines(30, &|i| format!("t{i}\tshoe{i} blue{i}\n"))
            + &lines(30, &|i| format!("q{i}\tshoe{}\n", document(i)))
            + &lines(30, &|i| format!("v{i}\tred{} shoe{}\n", i % 4, document(i))),
    );
    folder.write("train.qrels", lines(30, &|i| format!("t{i} 0 d{i} 1\n")));
    folder.write("test.qrels", lines(n_test, &|i| format!("q{i} 0 d{} 1\n", document(i))));
    folder.write("validation.qrels", lines(n_validation, &|i| format!("v{i} 0 d{} 1\n", document(i))));
    folder.text(
        "ingest --documents docs.tsv --queries queries.tsv --responses train.qrels --judgments validation=validation.qrels \
         --judgments test=test.qrels --out data --quiet",
    );
    folder
}

#[test]
fn queries_of_unseen_documents_are_counted_measured_and_noted() {
    let folder = small(20, 20);
    let (code, out, err) =
        folder.run("compare --data data --models bm25,clicks,pls --trials 1 --folds 0 --wide --out c");
    assert_eq!(code, 0, "{err}");
    let header = out.lines().find(|line| line.contains("ndcg@10 by documents")).unwrap();
    assert!(
        header.contains("relevant document seen (10)") && header.contains("no relevant document seen (10)"),
        "{out}"
    );
    assert!(out.contains(
        "\nclicks: 30 of 60 documents have no training response, and clicks gives these no score; 10 of 20"
    ));
    assert!(
        out.contains("\npls: 30 of 60 documents have no training response; 10 of 20 validation queries have"),
        "{out}"
    );
    let smallest = out.lines().find(|line| line.contains("cannot be told from chance")).unwrap();
    assert!(
        smallest.starts_with("with 20 test queries, differences in ndcg@10 below about 0."),
        "{smallest}"
    );
    assert!(smallest.contains("Holm's correction over 3 pairs of models"), "{smallest}");
    // Before any model is made, by an assumption.
    let forecast = err.find("a true difference of").unwrap();
    assert!(forecast < err.find("bm25").unwrap_or(usize::MAX), "{err}");
    // The same bins by `eval`, of the runs that were kept.
    let eval =
        folder.text("eval --data data --run c/runs/bm25.run c/runs/clicks.run --by documents --format csv");
    assert!(eval.lines().any(|line| line.starts_with("clicks,no relevant document seen,10,0,")), "{eval}");
    let eval = folder.text("eval --data data --run c/runs/bm25.run --by duplicates");
    assert!(eval.contains("no near-duplicate") && !eval.contains("near-duplicate in training"), "{eval}");
    let (code, out, _) = folder.run("doctor data");
    assert!(
        code == 0 && out.contains("unseen-documents: 10 of 20 test queries (10 of 20 for validation)"),
        "{out}"
    );
    assert!(out.contains("(--by documents of"), "{out}");
    let (_, _, err) = folder.run("train clicks --data data --out m");
    assert!(
        err.contains("note: 30 of 60 documents have no training response, and clicks gives these no score"),
        "{err}"
    );
    let (_, _, err) = folder.run("train pls --data data --out m --set d=5");
    assert!(err.contains("and for them ndcg@10 of pls is "), "{err}");
}

#[test]
fn few_test_queries_have_no_best_model() {
    let folder = small(1, 20);
    let (code, out, err) = folder.run("compare --data data --models bm25,clicks --trials 1 --out c");
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\nnothing can be concluded from 1 test query\n"), "{out}");
    assert!(!out.contains("best by") && !out.contains("interval"), "{out}");
    assert!(err.contains("nothing can be concluded from 1 test query"), "{err}");
    let csv = folder.text("compare --data data --models bm25,clicks --trials 1 --out c --format csv");
    assert!(csv.lines().any(|line| line.starts_with("bm25,bm25,all,,1,1,1,1,1,1,,,,,,,,,,,")), "{csv}");
    let json = folder.json("compare --data data --models bm25,clicks --trials 1 --out c --format json");
    assert_eq!(model(&json, "bm25")["intervals"], serde_json::json!({}));
    folder.text("report c --quiet");
    assert!(folder.read("c/report.html").contains("Too few test queries to tell the models apart"));
    let (code, out, _) = folder.run("doctor --strict data");
    assert!(
        code == 1 && out.contains("few-test-queries: nothing can be concluded from 1 test query"),
        "{out}"
    );

    let seven = small(7, 20);
    let out = seven.text("compare --data data --models bm25,clicks --trials 1 --out c --quiet");
    assert!(
        out.contains("\nnothing can be concluded from 7 test queries: with 7 test queries, diff"),
        "{out}"
    );
    let (code, out, _) = seven.run("doctor --strict data");
    assert!(code == 1 && out.contains("few-test-queries: nothing can be concluded from 7 test"), "{out}");
}

#[test]
fn a_stack_on_too_few_validation_queries_is_refused_first() {
    let folder = small(12, 3);
    let (code, out, err) =
        folder.run("compare --data data --models bm25,clicks,stack --trials 1 --folds 0 --out c");
    assert_eq!(code, 1, "a model was left out: {err}");
    let refused = err.find("stack: left out: data: there are 3 judged validation queries").unwrap();
    assert!(refused < err.find("cannot be told from chance").unwrap(), "{err}");
    assert!(out.contains("left out: stack: data: there are 3 judged validation queries"), "{out}");
    // Refused before the models are read: they are not there.
    let error = folder.refused("train stack --data data --of a.model b.model --out s.model");
    assert!(error.contains("there are 3 judged validation queries"), "{error}");
}

/// Over folds the three validation queries are 33 queries, and models learn from all of them in the end.
#[test]
fn few_validation_queries_are_dealt_to_folds_with_the_training_queries() {
    let folder = small(12, 3);
    let (code, out, err) = folder.run("compare --data data --models bm25,clicks,stack --trials 1 --out c");
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("3 validation queries: everything is chosen over 5 folds of the training and"),
        "{err}"
    );
    assert!(out.contains("validation: ndcg@10 over 33 queries, on which parameters were chosen"), "{out}");
    assert!(out.contains("these are the training and validation queries, in 5 folds"), "{out}");
    let json: Value = serde_json::from_str(&folder.read("c/comparison.json")).unwrap();
    assert_eq!((&json["split"]["folds"], &json["data"]["name"]), (&5.into(), &"data".into()));
    folder.text("rank --data c/data/data --model c/models/clicks.model --split test --out r.run --quiet");
    folder.text("report c --quiet");
    assert!(folder.read("c/report.html").contains("dealt to 5 folds"));
    for (folds, message) in [("2", "3 to 20 folds"), ("19", "cannot be dealt to 19 folds")] {
        let error = folder.refused(&format!("compare --data data --models bm25 --folds {folds} --out d"));
        assert!(error.contains(message), "{error}");
    }
}
