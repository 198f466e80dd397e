//! Matching models through the real binary: trained, ranked with, explained, looked into.

mod matchrank;

use matchrank::{Folder, shop};
use serde_json::Value;

const MODELS: [&str; 11] = [
    "bm25",
    "rm3",
    "rmls",
    "pls",
    "lsi-dt",
    "lsi-qd",
    "random-walk",
    "sparse-preference",
    "ssi",
    "svdfeature",
    "bltm",
];

fn trained() -> Folder {
    let folder = shop();
    for model in MODELS {
        let d = match model {
            "bm25" | "random-walk" => "",
            "rm3" => "--set max_df=1",
            "sparse-preference" => "--set tuples=2000",
            "ssi" => "--set tuples=2000 --set d=4",
            "bltm" => "--set topics=4",
            _ => "--set d=4",
        };
        let made = folder.json(&format!("train {model} --data shop {d} --out {model}.model --format json"));
        assert_eq!(made["model"], model);
    }
    folder.json("train combination --data shop --of bm25.model rmls.model --out both.model --format json");
    folder
}

#[test]
fn every_model_is_trained_ranked_with_explained_and_looked_into() {
    let folder = trained();
    for model in MODELS.into_iter().chain(["both"]) {
        let file = format!("{model}.model");
        let seen = folder
            .json(&format!("explain --model {file} --data shop --query sneaker --document d0 --format json"));
        assert_eq!(seen["document"], "d0", "{model}");
        let ranked = folder
            .json(&format!("rank --model {file} --data shop --split test --out {model}.run --format json"));
        assert_eq!(ranked["queries"], 2, "{model}");
        folder.json(&format!(
            "rank --model {file} --data shop --candidates judged --out {model}-judged.run --format json"
        ));
        assert_eq!(folder.read(&format!("{model}-judged.run")).lines().count(), 24, "{model}");
        let looked = folder.json(&format!("inspect {file} --format json"));
        let kind = if model == "both" { "combination" } else { model };
        assert_eq!(
            (looked["kind"].as_str(), looked["provenance"]["version"].is_string()),
            (Some(kind), true)
        );
        assert!(folder.text(&format!("inspect {file}")).contains(kind));
        assert!(
            folder
                .text(&format!("explain --model {file} --data shop --query sneaker --document d0"))
                .contains("score"),
            "{model}"
        );
    }
    // "red sneaker" shares no word with any document: only what was learned from clicks helps.
    for (model, helps) in [
        ("bm25", false),
        ("rmls", true),
        ("pls", true),
        ("sparse-preference", true),
        ("ssi", true),
        ("svdfeature", true),
        ("bltm", true),
        ("both", true),
    ] {
        let run = folder.read(&format!("{model}.run"));
        let first: Option<&str> =
            run.lines().find(|line| line.starts_with("new1 ")).and_then(|l| l.split(' ').nth(2));
        let found = first.is_some_and(|id| id[1..].parse::<u32>().unwrap().is_multiple_of(2));
        assert_eq!(found, helps, "{model}: {run}");
    }
}

#[test]
fn explanations_add_up_and_name_clicks() {
    let folder = trained();
    let explain = |model: &str, top: usize| {
        folder.json(&format!(
            "explain --model {model}.model --data shop --query sneaker --document d0 --top {top} --format json"
        ))
    };
    for top in [1, 1000] {
        let rmls = explain("rmls", top);
        let pairs = rmls["pairs"].as_array().unwrap();
        let sum: f64 = pairs.iter().map(|pair| pair["score"].as_f64().unwrap()).sum();
        let (score, others) = (rmls["score"].as_f64().unwrap(), rmls["others"].as_f64().unwrap());
        assert!((sum + others - score).abs() < 1e-5, "{rmls}");
    }
    let names: Vec<String> = explain("rmls", 1000)["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|pair| [pair["query_feature"].clone(), pair["document_feature"].clone()])
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    for expected in ["sneaker", "trainer", "document:d0", "query:cheap sneaker"] {
        assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
    }
    for (model, parts) in [("ssi", "pairs"), ("svdfeature", "pairs"), ("bltm", "words")] {
        let explained = explain(model, 1000);
        let sum: f64 =
            explained[parts].as_array().unwrap().iter().map(|p| p["score"].as_f64().unwrap()).sum();
        assert!((sum - explained["score"].as_f64().unwrap()).abs() < 1e-4, "{explained}");
    }
    let text = folder.text("explain --model svdfeature.model --data shop --query sneaker --document d0");
    assert!(text.contains("(any)"), "a bias is one feature's alone: {text}");
    let text = folder.text("explain --model bltm.model --data shop --query sneaker --document d0");
    assert!(text.contains("main topic") && text.contains("by topics"), "{text}");
    let both = explain("both", 20);
    let parts = both["parts"].as_array().unwrap();
    let sum: f64 = parts.iter().map(|part| part["contribution"].as_f64().unwrap()).sum();
    assert!((sum - both["score"].as_f64().unwrap()).abs() < 1e-5);
    assert_eq!(parts[0]["explanation"]["score"], Value::Null, "sneaker is in no title");
    let walk = explain("random-walk", 3);
    assert_eq!(walk["paths"].as_array().unwrap().len(), 3);
    let text = folder.text("explain --model bm25.model --data shop --query zebra --document d0");
    assert!(text.contains("share no word"), "{text}");
}

#[test]
fn related_words_and_helpful_refusals() {
    let folder = trained();
    let related = folder.json("related sneakers --model rmls.model --format json");
    // Trainers are for running in every title.
    let words = [0, 1].map(|i| related["related"][i]["word"].as_str().unwrap());
    assert!(words == ["run", "trainer"] || words == ["trainer", "run"], "{related}");
    assert!(folder.text("related lid --model both.model").contains("hat"));
    for model in ["ssi", "svdfeature"] {
        let related = folder.json(&format!("related sneaker --model {model}.model --top 2 --format json"));
        assert!(related["related"].to_string().contains("trainer"), "{model}: {related}");
    }
    let related = folder.json("related sneaker --model bltm.model --top 2 --format json");
    assert!(related["related"].to_string().contains("trainer"), "{related}");
    assert!(related["related"][0]["weight"].as_f64().unwrap() > 0.1, "{related}");
    assert!(folder.text("related lid --model bltm.model").contains("probability"));
    assert!(folder.refused("related zebra --model bltm.model").contains("does not know"));
    let error = folder.refused("related sneakes --model rmls.model");
    assert!(error.contains("analysed: sneak") && error.contains("sneaker"), "{error}");
    let error = folder.refused("related the --model rmls.model");
    assert!(error.contains("nothing is left"), "{error}");
    let (_, out, err) = folder.run("related sneaker zebra trainers --model rmls.model");
    assert!(
        out.contains("run") && err.contains("nothing about these words, and leaves them out: zebra, trainer")
    );
    let related = folder.json("related sneaker zebra --model rmls.model --format json");
    assert_eq!(related["unknown_words"], serde_json::json!(["zebra"]));
    assert!(
        folder.refused("related hat --model bm25.model").contains("knows no words that could be related")
    );
    assert!(folder.refused("related hat --model lsi-qd.model").contains("no words"));
    let error = folder.refused("explain --model bm25.model --data shop --query hat --document nowhere");
    assert!(error.contains("no document 'nowhere'"), "{error}");
}

#[test]
fn training_says_what_it_did() {
    let folder = shop();
    let (_, out, err) =
        folder.run("train rmls --data shop --set d=8 --set click_weight=0.5 --out rmls.model");
    for expected in ["click_weight", "0.5", "iteration", "validation NDCG@10", "kept iteration", "density"] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    assert!(!out.contains("collapsed"), "two groups are no collapse: {out}");
    assert!(
        err.contains("validation: NDCG@10 over 2 judged queries, their judged documents ranked"),
        "{err}"
    );
    // Sizes that are not those of `ingest` (13 words, 4 of the 7 queries have clicks), and why.
    assert!(out.contains("`ingest` counted d_y = 17: only") && out.contains("stay without a row"), "{out}");
    assert!(err.contains("iteration 1 (") && err.contains(" s): objective"), "{err}");
    let made =
        folder.json("train rmls --data shop --set center=false --set d=8 --out flat.model --format json");
    assert_eq!(made["collapsed"], true, "{made}");
    let text = folder.text("train rmls --data shop --set center=false --set d=8 --out flat.model");
    assert!(text.contains("the model has collapsed") && text.contains("center=true"), "{text}");
    assert!(folder.text("inspect flat.model").contains("the model has collapsed"));
    let again = folder.json("train rmls --data shop --set d=8 --out again.model --format json");
    assert_eq!(again["params"]["gamma"].to_string(), "0.3", "numbers as people write them");
    let curve = folder.text("train combination --data shop --of rmls.model flat.model --out both.model");
    assert!(curve.contains("0.9") && curve.contains("kept"), "{curve}");
    // The same command gives the same file, whatever the number of threads.
    folder.text("train rmls --data shop --set d=8 --set click_weight=0.5 --out one.model --threads 1");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("one.model"), bytes("rmls.model"));
}

#[test]
fn what_is_missing_is_said() {
    let folder = trained();
    let rank = |rest: &str| {
        let (code, _, err) = folder.run(&format!("rank --data shop --out x.run {rest}"));
        (code, err)
    };
    // No test query was clicked for, and none shares a word with a title.
    let (code, err) = rank("--model random-walk.model --candidates judged");
    let silent =
        "2 queries have no score for any candidate; theirs are all 0, in the order of their ids: new1, new2";
    assert!(code == 0 && err.contains(silent), "{err}");
    let (_, err) = rank("--model rmls.model --candidates judged");
    assert!(!err.contains("no score") && !err.contains("no candidates"), "{err}");
    let (_, err) = rank("--model random-walk.model");
    assert!(err.contains("2 queries have no document with a score: new1, new2"), "{err}");
    let (code, err) = rank("--model rmls.model --queries queries.tsv --candidates dev.qrels");
    assert!(code == 0 && err.contains("1 query has no candidates (left out): new3"), "{err}");
    // Advice that the command has a flag for.
    folder.write("bad.csv", "a,b\n1,2\n");
    let (code, err) = rank("--model rmls.model --queries bad.csv");
    assert!(code == 2 && err.contains("the columns are a, b; call them query_id and query"), "{err}");
    assert!(!err.contains("--column"), "{err}");
    let error = folder.refused("ingest --clicks log.csv --documents docs.csv --queries bad.csv --out y");
    assert!(error.contains("--column query_id=NAME"), "{error}");
}

/// One header line, then a name and a value on every line.
#[test]
fn csv_is_for_programs() {
    let folder = trained();
    let commands = MODELS.map(|model| format!("train {model} --data shop --out again.model --format csv"));
    let inspected =
        MODELS.into_iter().chain(["both"]).map(|model| format!("inspect {model}.model --format csv"));
    for command in commands.into_iter().chain(inspected) {
        let csv = folder.text(&format!("{command} --quiet"));
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        assert_eq!(reader.headers().unwrap(), vec!["name", "value"], "{command}");
        let records: Vec<(String, String)> = reader.deserialize().map(Result::unwrap).collect();
        assert!(records.len() > 3 && csv.lines().count() == records.len() + 1, "{command}: {csv}");
        for (name, value) in &records {
            assert!(!name.is_empty() && !value.ends_with('%'), "{command}: {name},{value}");
        }
    }
    let csv = folder.text("train rmls --data shop --set d=4 --out again.model --format csv --quiet");
    let value = |name: &str| {
        let line = csv.lines().find(|line| line.starts_with(&format!("{name},"))).expect("it is there");
        line.split(',').nth(1).unwrap().parse::<f64>().unwrap()
    };
    assert_eq!((value("params.gamma"), value("report.iterations.0.number")), (0.3, 1.0));
    assert!(value("report.iterations.0.density_x") > 0.0);
}

#[test]
fn what_a_combination_is_tuned_on_can_be_chosen_and_is_said() {
    let folder = trained();
    let train = |rest: &str| {
        let command =
            format!("train combination --data shop --of bm25.model rmls.model --out x.model {rest}");
        folder.json(&format!("{command} --format json"))["tuned_on"].clone()
    };
    assert_eq!((train("--weight 0.5"), train("--candidates judged")), (Value::Null, "judged".into()));
    assert_eq!((train(""), train("--candidates all")), ("all".into(), "all".into()));
    assert!(folder.text("inspect x.model").contains("the whole collection ranked"));
    assert_eq!(folder.json("inspect x.model --format json")["tuned_on"], "all");
    let command = "train combination --data shop --of bm25.model rmls.model --out x.model";
    assert!(folder.text(&format!("{command} --candidates judged")).contains("their judged documents ranked"));
    folder.refused(&format!("{command} --weight 0.5 --candidates all"));
}

#[test]
fn sums_of_three_models() {
    let folder = trained();
    let train = "train combination --data shop --of bm25.model rmls.model pls.model --out sum.model";
    let tuned = folder.json(&format!("{train} --format json"));
    let weights = tuned["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap());
    assert!((weights.sum::<f64>() - 1.0).abs() < 1e-6, "{tuned}");
    assert_eq!((&tuned["of"][2], &tuned["rule"]), (&"pls".into(), &"one_se".into()));
    let best = folder.json(&format!("{train} --set rule=best --format json"));
    let figure = |made: &Value, of: &Value| -> f64 {
        let trials = made["trials"].as_array().unwrap();
        let trial = trials.iter().find(|trial| trial["weights"] == *of).unwrap_or_else(|| panic!("{made}"));
        trial["validation_ndcg@10"].as_f64().unwrap()
    };
    let highest = best["trials"].as_array().unwrap().iter().map(|trial| figure(&best, &trial["weights"]));
    assert_eq!(figure(&best, &best["weights"]), highest.fold(0.0, f64::max));
    assert!(folder.text(train).contains("weight of pls"));
    let given = "train combination --data shop --of bm25.model rmls.model pls.model --weight 0.5 0.3 0.2 --out sum.model";
    assert_eq!(folder.json(&format!("{given} --format json"))["rule"], Value::Null);
    let text = folder.text("inspect sum.model");
    assert!(text.contains("weight of the third") && text.contains("0.2"), "{text}");
    let why = folder.json("explain --model sum.model --data shop --query lid --document d1 --format json");
    let parts = why["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 3, "{why}");
    let sum: f64 = parts.iter().map(|part| part["contribution"].as_f64().unwrap()).sum();
    assert!((sum - why["score"].as_f64().unwrap()).abs() < 1e-5, "{why}");
}

#[test]
fn more_dimensions_than_the_data_has_are_not_made_up() {
    let folder = shop();
    // Two kinds of titles and six models: 2 + 6 - 1 directions.
    let (code, out, err) = folder.run("train lsi-dt --data shop --out dt.model");
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("d = 100 was requested, but 7 latent dimensions are all that the data supports"),
        "{err}"
    );
    assert!(out.contains("latent dimensions found"), "{out}");
    assert_eq!(folder.json("inspect dt.model --format json")["d"], 7);
    folder.text("rank --model dt.model --data shop --out x.run");
}

#[test]
fn wrong_settings_and_files_are_refused_before_the_data_is_read() {
    let folder = shop();
    let refused = |args: &str, expected: &str| {
        let error = folder.refused(args);
        assert!(error.contains(expected), "{args}: {error}");
    };
    refused("train rmls --data nowhere --set dd=3 --out x", "it has d, iterations, beta");
    refused("train rmls --data nowhere --set dd=3 --out x", "click_weight");
    refused("train rmls --data nowhere --set d=0 --out x", "d must be from 1");
    refused(
        "train pls --data nowhere --set tf=cube --out x",
        "--set tf=cube: tf is one of count, log, binary (default log)",
    );
    refused(
        "train pls --data nowhere --set click_tf=3 --out x",
        "--set click_tf=3: click_tf is one of count, log (default log)",
    );
    refused(
        "train rmls --data nowhere --set d=abc --out x",
        "--set d=abc: d is a whole number, 0 or more (default 1000)",
    );
    refused("train rmls --data nowhere --set d=1.5 --out x", "--set d=1.5: d is a whole number");
    refused(
        "train rmls --data nowhere --set beta=NaN --out x",
        "--set beta=NaN: beta is a number (default 0.5)",
    );
    refused(
        "train rmls --data nowhere --set center=1 --out x",
        "--set center=1: center is true or false (default true)",
    );
    refused("train bm25 --data nowhere --set b=1e999 --out x", "b is a number (default 0.75)");
    refused("train random-walk --data nowhere --set steps=0 --out x", "steps must be between 1");
    refused("train lsi-dt --data shop --set click_weight=1 --out x", "no such parameter");
    folder.text("train bm25 --data shop --out bm25.model");
    refused("train combination --data shop --of bm25.model --out x", "2 values");
    let two = "train combination --data shop --of bm25.model bm25.model --out x";
    refused(&format!("{two} --weight 1.5"), "--weight: a weight of a combination is 1.5");
    refused(&format!("{two} --weight 0.5 0.6"), "they must sum to 1");
    refused(&format!("{two} --weight 0.5 0.25 0.25"), "there are 2 models and 3 weights");
    refused(
        &format!("{two} --set rule=two_se"),
        "--set rule=two_se: rule is one of one_se, best (default one_se)",
    );
    folder.json("ingest --clicks log.csv --documents docs.csv --out bare --format json --quiet");
    refused(
        "train combination --data bare --of bm25.model bm25.model --out x",
        "no validation judgments to find the weights with",
    );
    folder.text("train lsi-qd --data shop --set d=2 --out qd.model");
    // A model of clicks knows its queries and documents in any dataset.
    let known = folder.text("explain --model qd.model --data bare --query lid --document d1");
    assert!(known.contains("query:lid") && known.contains("document:d1"), "{known}");
    refused("explain --model bm25.model --data shop --query= --document d1", "--query is empty");
    // Before the work, not after it.
    let (code, _, err) = folder.run("train rmls --data shop --out nowhere/x");
    assert!(
        code == 2 && err.contains("nowhere/x: cannot be written in nowhere: there is no such folder"),
        "{err}"
    );
    assert!(!err.contains("iteration"), "{err}");
    refused("rank --model bm25.model --data shop --out nowhere/x", "there is no such folder; make it first");
    refused("rank --model bm25.model --data shop --out shop", "is a folder");
    assert!(!folder.names().contains(&"x".to_owned()));
}

/// `train --help` names every parameter with the default that training uses.
#[test]
fn help_states_the_defaults() {
    let folder = shop();
    for model in MODELS {
        let trials = if model == "sparse-preference" { "--trial-tuples 0" } else { "" };
        let made =
            folder.json(&format!("train {model} --data shop {trials} --out {model}.model --format json"));
        let help = folder.text(&format!("help train {model}"));
        let mut params = made["params"].as_object().unwrap().clone();
        if let Some(features) = made["features"].as_object() {
            let words_only = features["click_weight"] == 0.0;
            let known = |name: &str| !words_only || !name.starts_with("click_");
            params.extend(features.clone().into_iter().filter(|(name, _)| known(name)));
        }
        assert!(!params.is_empty());
        for (name, value) in params {
            let value = match &value {
                Value::String(text) => text.clone(),
                // Written as people write it: 1, not 1.0.
                Value::Number(number) => (number.as_f64().unwrap() as f32).to_string(),
                other => other.to_string(),
            };
            assert!(help.contains(&format!("{name}={value}")), "{model}: {name}={value} is not in\n{help}");
        }
    }
}

/// Positions and judgments: half of what the rules say is contradicted.
#[test]
fn preferences_by_joachims_rules_are_held_against_the_judgments() {
    let folder = Folder::new();
    let documents: String = (0..4).map(|i| format!("d{i},word{i} thing\n")).collect();
    folder.write("docs.csv", format!("id,title\n{documents}"));
    // Shown d0 d1 d2 d3, clicked d1: better than d0 above it and d2 next below it.
    let log: String = (0..4).map(|i| format!("thing,d{i},{},9,{}\n", 5 * u8::from(i == 1), i + 1)).collect();
    folder.write("log.csv", format!("query,document,clicks,shown,position\n{log}"));
    folder.write("queries.tsv", "id\ttext\nq\tthing\n");
    folder.write("dev.qrels", "q 0 d0 2\nq 0 d1 1\nq 0 d2 0\n");
    folder.json(
        "ingest --clicks log.csv --documents docs.csv --queries queries.tsv --judgments validation=dev.qrels \
         --out shop --format json --quiet",
    );
    let trained =
        folder.json("train ssi --data shop --set tuples=100 --set d=2 --out ssi.model --format json");
    let expected = serde_json::json!({ "n_pairs": 2, "n_judged": 2, "n_contradicted": 1, "n_equal": 0 });
    assert_eq!(trained["report"]["rules"], expected);
    let text = folder.text("inspect ssi.model");
    assert!(text.contains("50.0 % (and 0.0 % of the same grade)"), "{text}");
    let (_, out, _) = folder.run("doctor shop");
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the judgments contradict 50.0 % of these"), "{out}");
}

#[test]
fn topics_are_listed_and_wrong_settings_of_the_new_models_refused() {
    let folder = trained();
    let looked = folder.json("inspect bltm.model --format json");
    let topics = looked["topics"].as_array().unwrap();
    assert_eq!(topics.len(), 4);
    let shares: f64 = topics.iter().map(|topic| topic["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-4, "{looked}");
    assert!(folder.text("inspect bltm.model").contains("words of queries"));
    assert!(folder.text("inspect ssi.model").contains("words that count by themselves"));
    assert!(folder.text("inspect svdfeature.model").contains("bias of all pairs"));
    let refused = |args: &str, expected: &str| {
        let error = folder.refused(args);
        assert!(error.contains(expected), "{args}: {error}");
    };
    refused("train ssi --data nowhere --set judged=2 --out x", "judged must be from 0 to 1");
    refused("train ssi --data nowhere --set margin=0 --out x", "margin must be above 0");
    refused("train svdfeature --data nowhere --set target=clicks --out x", "target is one of log, count");
    refused("train svdfeature --data nowhere --set d=0 --out x", "d must be from 1");
    refused(
        "train bltm --data nowhere --set document=0.7 --set topic=0.4 --out x",
        "together above 0 and below 1",
    );
    refused("train bltm --data nowhere --set d=5 --out x", "it has topics, iterations, alpha");
}

#[test]
fn search_shows_titles_and_rank_takes_the_text_of_a_query() {
    let folder = shop();
    folder.text("train bm25 --data shop --out bm25.model");
    let shown = folder.text("search --model bm25.model --data shop sun hat");
    assert!(shown.lines().count() > 4 && shown.contains("document") && shown.contains("hat"), "{shown}");
    let found = folder.json("search --model bm25.model --data shop sun hat --top 3 --format json");
    assert_eq!((found["query"].as_str(), found["model"].as_str()), (Some("sun hat"), Some("bm25")));
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let first = results[0]["document"].as_str().unwrap();
    assert!(
        results[0]["texts"].as_object().unwrap().values().any(|text| text.as_str().unwrap().contains("hat"))
    );
    // rank and search agree; standard output has JSON and nothing else.
    let ranked = folder
        .json("rank --model bm25.model --data shop --query=sun --query=hat --top 3 --out - --format json");
    assert_eq!(ranked["rankings"][1]["query"], "hat");
    let ranked = folder.json("rank --model bm25.model --data shop --query hat --top 3 --out - --format json");
    let alone = folder.json("search --model bm25.model --data shop hat --top 3 --format json");
    assert_eq!(ranked["rankings"][0]["documents"][0]["document"], alone["results"][0]["document"]);
    assert_eq!(ranked["rankings"][0]["documents"][0]["score"], alone["results"][0]["score"]);
    let run = folder.text("rank --model bm25.model --data shop --query hat --top 3 --out -");
    assert_eq!(run.lines().count(), 3, "{run}");
    assert!(run.lines().all(|line| line.split(' ').count() == 6), "{run}");
    let csv = folder.text("search --model bm25.model --data shop sun hat --top 1 --format csv");
    assert!(
        csv.starts_with(",document,") && csv.lines().nth(1).unwrap().starts_with(&format!("1,{first},")),
        "{csv}"
    );
    let (_, shown, notes) = folder.run("search --model bm25.model --data shop zzz");
    assert!(notes.contains("finds no document for 'zzz'"), "{shown} {notes}");
    assert!(folder.refused("search --model bm25.model --data shop --top 0 hat").contains("at least 1"));
    assert!(folder.refused("rank --model bm25.model --data shop --query= --out a.run").contains("empty"));
}
