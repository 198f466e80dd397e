//! Sparse preferences through the real binary: trained, updated from streams, interrupted, killed, exported.

mod matchrank;

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use matchrank::{Folder, shop, wait_for};

/// Tuples by id: even documents for sneakers, odd ones for lids.
fn tuples(from: usize, to: usize) -> String {
    (from..to)
        .map(|i| {
            let (query, more) = if i % 3 == 0 { ("sneaker", 0) } else { ("cheap lid", 1) };
            format!("{query}\td{}\td{}\n", (2 * i + more) % 12, (2 * i + 5 + more) % 12)
        })
        .collect()
}

const GIVEN: &str =
    "--set variant=sparse --set margin=0.5 --set c=0.5 --set lambda=0.001 --set shrink_every=7";

/// Negative pairs, which Solr has no place for, take none from positive ones.
#[test]
fn synonyms_for_solr_are_the_strongest_positive_pairs() {
    let folder = shop();
    folder.write("some.tsv", tuples(0, 200));
    folder.text(&format!("train sparse-preference --data shop --tuples some.tsv {GIVEN} --out words.model"));
    let export = "export synonyms words.model --data shop --min-support 0 --threshold 0";
    folder.text(&format!("{export} --top 2 --out solr.txt"));
    folder.text(&format!("{export} --top 1000 --format csv --out all.csv"));
    let all = folder.read("all.csv");
    let pairs: Vec<Vec<&str>> = all.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let is_negative = |pair: &Vec<&str>| pair[2].starts_with('-');
    let (mut expected, mut n_hidden) = (String::new(), 0);
    for pairs in pairs.chunk_by(|a, b| a[0] == b[0]) {
        let positive: Vec<&str> =
            pairs.iter().filter(|pair| !is_negative(pair)).map(|pair| pair[1]).collect();
        n_hidden += usize::from(positive.len() >= 2 && pairs[..2].iter().any(is_negative));
        if let Some(two) = positive.get(..positive.len().min(2)).filter(|two| !two.is_empty()) {
            expected += &format!("{0} => {0},{1}\n", pairs[0][0], two.join(","));
        }
    }
    assert!(n_hidden > 0, "{all}");
    assert_eq!(folder.read("solr.txt"), expected);
}

#[test]
fn parameters_are_chosen_and_pairs_of_words_are_learned() {
    let folder = shop();
    let made = folder.json(
        "train sparse-preference --data shop --set base=cosine --set blend=1 --set tuples=4000 --out words.model --curve curve.csv --format json",
    );
    assert_eq!(
        (made["model"].as_str(), made["params"]["margin"].as_str()),
        (Some("sparse-preference"), Some("auto"))
    );
    let report = &made["report"];
    assert!(report["trials"].as_array().unwrap().len() > 10, "{report}");
    assert_eq!(report["validation"], 1.0, "{report}");
    let curve = folder.read("curve.csv");
    assert!(
        curve.starts_with("phase,tuples,within the margin,weights,density,validation NDCG@10\nlearn,400,"),
        "{curve}"
    );
    assert_eq!(curve.lines().filter(|line| line.starts_with("refit,")).count(), 10, "{curve}");

    let text = folder.text("related sneakers --model words.model");
    assert!(text.contains("trainer") && text.contains("weight"), "{text}");
    let reverse = folder.json("related hat --model words.model --reverse --format json");
    let words: Vec<&str> =
        reverse["related"].as_array().unwrap().iter().map(|w| w["word"].as_str().unwrap()).collect();
    assert!(words.contains(&"lid") && words.contains(&"hat"), "{reverse}");
    let explained = folder.json(
        "explain --model words.model --data shop --query sneaker --document d0 --format json --top 1000",
    );
    let pairs = explained["pairs"].as_array().unwrap();
    let sum: f64 = pairs.iter().map(|pair| pair["score"].as_f64().unwrap()).sum();
    assert!((sum - explained["score"].as_f64().unwrap()).abs() < 1e-6, "{explained}");
    assert!(folder.text("inspect words.model").contains("words with themselves"));
    assert_eq!(folder.json("inspect words.model --format json")["kind"], "sparse-preference");
    folder.text("train bm25 --data shop --out bm25.model");
    let both = "train combination --data shop --of words.model bm25.model --out both.model";
    assert!(folder.text(both).contains("weight of sparse-preference"));
    assert!(folder.text("related lid --model both.model").contains("hat"));

    // The same command gives the same file, whatever the number of threads.
    folder.text("train sparse-preference --data shop --set base=cosine --set blend=1 --set tuples=4000 --out one.model --threads 1");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("one.model"), bytes("words.model"));
    let fewer = folder.json(
        "train sparse-preference --data shop --density 0.05 --set base=cosine --set blend=1 --set tuples=4000 --out few.model --format json",
    );
    assert!(fewer["density"].as_f64().unwrap() <= 0.05, "{fewer}");
    let error = folder.refused("train sparse-preference --data shop --density 2 --out x");
    assert!(error.contains("--density must be above 0"), "{error}");
    let error = folder.refused("train sparse-preference --data shop --set margin=wide --out x");
    assert!(error.contains("margin is a number or auto (default auto)"), "{error}");
    assert!(
        folder
            .refused("related hat --model bm25.model --reverse")
            .contains("knows no words that could be related")
    );
}

#[test]
fn an_update_is_as_if_training_had_not_stopped() {
    let folder = shop();
    folder.write("first.tsv", tuples(0, 500));
    folder.write("second.tsv", tuples(500, 800));
    folder.write("all.tsv", tuples(0, 800));
    let train = |file: &str, out: &str| {
        folder.text(&format!("train sparse-preference --data shop --tuples {file} {GIVEN} --out {out}"));
    };
    train("first.tsv", "first.model");
    train("all.tsv", "all.model");
    let updated =
        folder.json("update first.model --tuples second.tsv --data shop --out updated.model --format json");
    assert_eq!((updated["learned"].as_u64(), updated["steps"].as_u64()), (Some(300), Some(800)));
    let export = |model: &str| {
        folder.text(&format!(
            "export synonyms {model} --format csv --threshold 0 --top 1000 --out {model}.csv"
        ));
        folder.read(&format!("{model}.csv"))
    };
    assert_eq!(export("updated.model"), export("all.model"));
    assert!(export("all.model").lines().count() > 20);
    // Going on from both gives the same again.
    for model in ["updated", "all"] {
        folder.text(&format!("update {model}.model --tuples first.tsv --data shop --out {model}-2.model"));
    }
    assert_eq!(export("updated-2.model"), export("all-2.model"));
    // Texts in place of ids, without the dataset.
    folder.write("texts.tsv", "sneaker\ttrainers for running model0\that for the sun model2\n");
    folder.write("ids.tsv", "sneaker\td0\td5\n");
    folder.text("update all.model --tuples texts.tsv --out by-text.model");
    folder.text("update all.model --tuples ids.tsv --data shop --out by-id.model");
    assert_eq!(export("by-text.model"), export("by-id.model"));
    let error = folder.refused("update bm25.model --tuples texts.tsv --out x");
    assert!(error.contains("bm25.model"), "{error}");
}

#[test]
fn bad_lines_are_left_out_and_said() {
    let folder = shop();
    folder.write("good.tsv", tuples(0, 200));
    folder.text(&format!("train sparse-preference --data shop --tuples good.tsv {GIVEN} --out words.model"));
    let bad = "sneaker\td0\n\
               {\"query\": {\"sneaker\": NaN}, \"better\": \"d0\", \"worse\": \"d1\"}\n\
               zebra\td0\td1\n\
               zebra sneaker\td0\td1\n\
               sneaker\td0\td0\n\
               sneaker\tnowhere\td1\n\
               \n\
               {\"query\": \"lid\", \"better_text\": \"\", \"worse\": \"d0\"}\n\
               {\"query\": \"lid\", \"better_text\": {\"title\": \"hat\"}, \"worse\": \"d0\"}\n\
               sneaker\td0\td1";
    folder.write("bad.tsv", bad);
    let (code, out, err) = folder.run("update words.model --tuples bad.tsv --data shop --out next.model");
    assert_eq!(code, 1, "{out}\n{err}");
    assert!(out.contains("tuples learned from") && out.contains(" 2 "), "{out}");
    for expected in [
        "left out lines that are not tuples: 3 (first: bad.tsv:1: 2 columns separated by tabs, where 3 are expected",
        "left out tuples whose query has no known word: 1 (first: bad.tsv:3)",
        "left out tuples of a document with itself: 1 (first: bad.tsv:5)",
        "left out tuples with a document that is not in the dataset: 1 (first: bad.tsv:6)",
        "left out empty lines: 1 (first: bad.tsv:7)",
        "left out tuples with a document without a known word: 1 (first: bad.tsv:8)",
        "left out words of queries that the model does not know: 1",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
    // All but the last line of a stream that was cut is learned from.
    folder.write("cut.tsv", &tuples(0, 50)[..tuples(0, 50).len() - 3]);
    let (code, _, err) = folder.run("update words.model --tuples cut.tsv --data shop --out next.model");
    assert_eq!(code, 1);
    assert!(
        err.contains("left out lines that are not tuples: 1 (first: cut.tsv:50: has no line end"),
        "{err}"
    );
    folder.write("whole.tsv", tuples(0, 49));
    folder.text("update words.model --tuples whole.tsv --data shop --out whole.model");
    let bytes = |name: &str| {
        folder.text(&format!("export synonyms {name} --format csv --threshold 0 --out {name}.csv"));
        folder.read(&format!("{name}.csv"))
    };
    assert_eq!(bytes("next.model"), bytes("whole.model"));
    folder.write("nothing.tsv", "sneaker\td0\n");
    let before = std::fs::read(folder.path().join("words.model")).unwrap();
    assert!(
        folder.refused("update words.model --tuples nowhere.tsv --out words.model").contains("nowhere.tsv")
    );
    assert!(folder.refused("update words.model --tuples shop --out words.model").contains("is a folder"));
    assert_eq!(std::fs::read(folder.path().join("words.model")).unwrap(), before);
}

/// A stream that goes on: what has come is saved while it lasts, Ctrl-C saves the rest and ends.
#[cfg(unix)]
#[test]
fn a_stream_is_saved_while_it_lasts_and_ctrl_c_ends_it() {
    let folder = shop();
    folder.write("good.tsv", tuples(0, 200));
    folder.text(&format!("train sparse-preference --data shop --tuples good.tsv {GIVEN} --out words.model"));
    let steps = |model: &str| {
        folder.json(&format!("inspect {model} --format json"))["clock"]["steps"].as_u64().unwrap()
    };
    let mut child = folder
        .start("update words.model --tuples - --data shop --out live.model --checkpoint 0 --format json");
    let mut stream = child.stdin.take().unwrap();
    stream.write_all(tuples(200, 230).as_bytes()).unwrap();
    stream.flush().unwrap();
    wait_for("a checkpoint", || folder.path().join("live.model").exists() && steps("live.model") == 230);
    stream.write_all(tuples(230, 250).as_bytes()).unwrap();
    stream.write_all(b"sneaker\td0").unwrap();
    stream.flush().unwrap();
    wait_for("the next one", || steps("live.model") == 250);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stream);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{out}\n{err}");
    assert!(err.contains("interrupted; what was learned is saved"), "{err}");
    assert_eq!(steps("live.model"), 250);
    folder.write("same.tsv", tuples(200, 250));
    folder.text("update words.model --tuples same.tsv --data shop --out same.model");
    let export = |model: &str| {
        folder.text(&format!("export synonyms {model} --format csv --threshold 0 --out {model}.csv"));
        folder.read(&format!("{model}.csv"))
    };
    assert_eq!(export("live.model"), export("same.model"));
}

/// Killed at any moment, also while it saves: the model file is the one before or the one after.
#[cfg(unix)]
#[test]
fn a_killed_update_leaves_a_whole_model() {
    let folder = shop();
    folder.write("good.tsv", tuples(0, 200));
    folder.text(&format!("train sparse-preference --data shop --tuples good.tsv {GIVEN} --out words.model"));
    let before = std::fs::read(folder.path().join("words.model")).unwrap();
    for (round, pause) in [0u64, 30, 70, 150, 300].into_iter().enumerate() {
        folder.write("live.model", &before);
        let mut child =
            folder.start("update live.model --tuples - --data shop --out live.model --checkpoint 0 --quiet");
        let mut stream = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // Ends when the reader is gone.
            for part in 0.. {
                if stream.write_all(tuples(part * 50, part * 50 + 50).as_bytes()).is_err() {
                    return;
                }
            }
        });
        if round > 0 {
            wait_for("a saved model", || std::fs::read(folder.path().join("live.model")).unwrap() != before);
        }
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        writer.join().unwrap();
        let looked = folder.json("inspect live.model --format json");
        assert!(looked["clock"]["steps"].as_u64().unwrap() >= 200, "{looked}");
        folder.write("rest.tsv", tuples(0, 10));
        folder.text("update live.model --tuples rest.tsv --data shop --out live.model");
    }
}

#[test]
fn synonyms_are_exported_and_compared() {
    let folder = shop();
    folder.write("first.tsv", tuples(0, 400));
    folder.text(&format!("train sparse-preference --data shop --tuples first.tsv {GIVEN} --set base=cosine --set blend=1 --out words.model"));
    folder.text("export synonyms words.model --data shop --threshold 0.05 --out synonyms.txt");
    let solr = folder.read("synonyms.txt");
    let line = solr.lines().find(|line| line.starts_with("sneaker => sneaker,")).expect(&solr);
    assert!(line.contains("trainer") && !line.contains("hat"), "{solr}");
    folder.text("export synonyms words.model --format csv --threshold 0.05 --out pairs.csv");
    assert!(folder.read("pairs.csv").contains("sneaker,hat,-"), "{}", folder.read("pairs.csv"));

    folder.write("more.tsv", "sun\ttrainers for running\that for the sun\n".repeat(50));
    folder.text("update words.model --tuples more.tsv --out more.model");
    let (_, out, err) = folder
        .run("export synonyms more.model --format csv --threshold 0.05 --out pairs.csv --diff pairs.csv");
    assert!(out.contains(" added     sun ") && out.contains(" changed   lid "), "{out}");
    assert!(err.contains("wrote pairs.csv: "), "{err}");
    let (_, out, err) = folder
        .run("export synonyms more.model --format csv --threshold 0.05 --out pairs.csv --diff pairs.csv");
    assert!(out.is_empty() && err.contains("nothing changed"), "{out}{err}");
    let (code, out, _) =
        folder.run("export synonyms more.model --data shop --threshold 0.05 --min-support 0 --out s.txt --diff synonyms.txt");
    assert!(code == 0 && out.contains("added") && !out.contains("changed"), "{out}");
    folder.write("broken.txt", "no arrow here\n");
    let error = folder.refused("export synonyms more.model --out s.txt --diff broken.txt");
    assert!(error.contains("broken.txt:1: `word => word,other` is expected"), "{error}");
    folder.text("train bm25 --data shop --out bm25.model");
    assert!(
        folder.refused("export synonyms bm25.model --out s.txt").contains("no weights of pairs of words")
    );
}

/// A click on the third document says that the two above it, skipped, are worse, and so is the next one.
#[test]
fn documents_skipped_around_a_click_are_worse() {
    let folder = Folder::new();
    let documents: String = (0..6).map(|i| format!("d{i},word{i} thing\n")).collect();
    folder.write("docs.csv", format!("id,title\n{documents}"));
    let log: String = (0..20)
        .flat_map(|_| (0..5).map(|i| format!("thing query,d{i},{},1,{}\n", u8::from(i == 2), i + 1)))
        .collect();
    folder.write("log.csv", format!("query,document,clicks,shown,position\n{log}"));
    folder.json("ingest --clicks log.csv --documents docs.csv --out shop --format json --quiet");
    assert!(folder.path().join("shop/skipped.parquet").exists());
    // A margin out of reach, so that every tuple is learned from.
    let (code, _, err) = folder.run(
        "train sparse-preference --data shop --set tuples=200 --set judged=1 --set margin=50 --set c=0.5 \
         --set lambda=1e-6 --out words.model",
    );
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("next below it, and not clicked count as worse (3 pairs)"), "{err}");
    let related = folder.json("related query --model words.model --min-documents 1 --format json");
    let words: Vec<&str> =
        related["related"].as_array().unwrap().iter().map(|w| w["word"].as_str().unwrap()).collect();
    assert!((0..4).all(|i| words.contains(&format!("word{i}").as_str())), "{related}");
    assert!(
        !words.contains(&"word4") && !words.contains(&"word5"),
        "further below the click, or never shown: {related}"
    );
}

/// `reproduce preference-*`: the caption states T, the paper's rows have the paper's figures, and more passes are a
/// labelled row without any.
#[test]
fn reproduction_follows_the_protocol_of_the_paper() {
    let folder = Folder::new();
    let rows = |n: u32| -> String {
        (0..n).map(|i| format!("{} {}:1 {}:0.5 {}:1\n", i % 3, 1 + i % 3, 4 + i % 2, 6 + i % 5)).collect()
    };
    folder.write("train.svm", rows(60));
    folder.write("test.svm", rows(40));
    let command = "reproduce preference-20news --data train.svm --test test.svm --tuples 400";
    let table = folder.text(command);
    let caption = table.lines().next().unwrap();
    assert!(caption.contains("400 tuples") && caption.contains("T = 100"), "{caption}");
    assert!(!table.contains("more passes"), "{table}");
    assert!(folder.text(&format!("{command} --t 7")).contains("T = 7;"));
    let csv = folder.text(&format!("{command} --refit-passes 2 --format csv"));
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let refitted: Vec<&Vec<&str>> = cells.iter().filter(|row| row[0].contains("Sparse-R")).collect();
    assert_eq!((refitted[0][1], refitted[0][3], refitted[0][5]), ("800", "0.426", "0.090"), "{csv}");
    let more = csv.lines().find(|line| line.contains("more passes")).unwrap();
    assert!(more.starts_with("Sparse-R (more passes),1200,") && more.contains(",,"), "{more}");
    let json = folder.json(&format!("{command} --refit-passes 2 --format json"));
    let methods = json["methods"].as_array().unwrap();
    assert_eq!(methods[5]["paper_error"], 0.09);
    assert!(methods[6].get("paper_error").is_none(), "{json}");
    let names: Vec<&str> = methods[7..].iter().map(|method| method["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Ridge", "Ridge-R"]);
    for ridge in &methods[7..] {
        assert!(ridge["density"].as_f64().unwrap() <= 0.1 && ridge.get("paper_map").is_none(), "{json}");
    }
    assert_eq!((&methods[7]["tuples"], &methods[8]["tuples"]), (&0.into(), &400.into()));
    assert_eq!(json["settings"]["params"]["shrink_every"], 100);
}
