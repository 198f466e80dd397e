//! The second day of a simulated shop: rows are added, the live model is refreshed and taken back.

mod matchrank;

use matchrank::Folder;

/// A shop whose log is cut into two days; the products of the last tenth of the catalogue come on the second day.
fn shop() -> Folder {
    let folder = Folder::new();
    folder.text("simulate shop --out log --quiet");
    let clicks = folder.read("log/clicks.csv");
    let (header, rows) = clicks.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let (first, second) = rows.split_at(rows.len() * 3 / 4);
    folder.write("monday.csv", format!("{header}\n{}\n", first.join("\n")));
    folder.write("tuesday.csv", format!("{header}\n{}\n", second.join("\n")));
    let documents = folder.read("log/documents.jsonl");
    let lines: Vec<&str> = documents.lines().collect();
    let (old, new) = lines.split_at(lines.len() * 9 / 10);
    folder.write("old.jsonl", format!("{}\n", old.join("\n")));
    folder.write("new.jsonl", format!("{}\n", new.join("\n")));
    folder.text("ingest --clicks monday.csv --documents old.jsonl --split time --out shop --quiet");
    folder
}

#[test]
fn added_days_give_the_dataset_of_one_ingest() {
    let folder = shop();
    let (_, _, err) =
        folder.run("ingest --append --clicks tuesday.csv --documents new.jsonl --out shop --format json");
    assert!(err.contains("catalogue: 200 documents new, 0 changed, 0 removed, 0 given as before"), "{err}");
    folder.text(
        "ingest --clicks monday.csv tuesday.csv --documents old.jsonl new.jsonl --split time --out whole --quiet",
    );
    for name in ["manifest.json", "documents.parquet", "responses.parquet", "judgments.parquet"] {
        let bytes = |data: &str| std::fs::read(folder.path().join(data).join(name)).unwrap();
        assert!(bytes("shop") == bytes("whole"), "{name}");
    }
    let error = folder.refused("ingest --append --clicks tuesday.csv --out shop");
    assert!(error.contains("tuesday.csv: its rows are in the dataset already"), "{error}");
    let error = folder.refused("ingest --append --language german --clicks monday.csv --out shop");
    assert!(error.contains("'--append' cannot be used with '--language"), "{error}");
    let error = folder.refused("ingest --append --drop-before yesterday --out shop");
    assert!(error.contains("'yesterday' is not a date; expected one like 2026-01-31"), "{error}");
    let error = folder.refused("ingest --append --clicks monday.csv --out nowhere");
    assert!(error.contains("nowhere"), "{error}");
    let manifest = folder.json("ingest --append --drop-before 2026-01-06 --out shop --format json --quiet");
    let dropped = manifest["left_out"]["rows before the drop date"].as_u64().unwrap();
    assert!(dropped > 0, "{manifest}");
}

#[test]
fn a_live_model_is_refreshed_and_rolled_back() {
    let folder = shop();
    folder.text("train clicks --data shop --out clicks.model --quiet");
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    folder.text("train combination --data shop --of clicks.model bm25.model --out both.model --quiet");
    let error = folder.refused("refresh --data shop --live live");
    assert!(error.contains("no live model yet; give the first one with --model"), "{error}");
    let created = folder.json("refresh --data shop --live live --model both.model --format json --quiet");
    assert_eq!((&created["outcome"], &created["live"]), (&"created".into(), &1.into()));

    let refreshed = folder.json(
        "refresh --data shop --live live --clicks tuesday.csv --documents new.jsonl --format json --quiet",
    );
    assert_eq!(refreshed["outcome"], "promoted", "{refreshed}");
    let comparison = &refreshed["comparison"];
    assert!(comparison["queries"].as_u64().unwrap() > 100, "{comparison}");
    assert!(comparison["candidate"].as_f64().unwrap() > 0.3, "{comparison}");
    for share in ["unseen_queries", "unseen_documents", "unknown_words"] {
        let share = refreshed["drift"][share].as_f64().unwrap();
        assert!((0.0..1.0).contains(&share), "{refreshed}");
    }
    // The model is that of a training on the same data.
    folder.text("train clicks --data shop --out clicks.model --quiet");
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    folder.text("train combination --data shop --of clicks.model bm25.model --out both.model --quiet");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(bytes("live/current.model") == bytes("both.model"), "a refresh is a training from nothing");

    let (code, out, _) = folder.run("refresh --data shop --live live --model bm25.model");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("significantly worse"), "{out}");
    assert!(bytes("live/current.model") == bytes("both.model"));
    let listed = folder.json("rollback --live live --list --format json");
    assert_eq!((&listed["live"], listed["versions"].as_array().unwrap().len()), (&2.into(), 3));
    let text = folder.text("rollback --live live");
    assert!(text.contains("put back in the place of version 2"), "{text}");
    assert_eq!(folder.json("rollback --live live --list --format json")["live"], 1);
    let error = folder.refused("rollback --live live");
    assert!(error.contains("no former version to go back to"), "{error}");
    let found = folder.text("search --model live/current.model --data shop sneaker");
    assert!(!found.is_empty());
}

#[test]
fn two_processes_that_add_at_once_lose_nothing() {
    let folder = shop();
    let tuesday = folder.read("tuesday.csv");
    let (header, rows) = tuesday.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let (one, two) = rows.split_at(rows.len() / 2);
    folder.write("one.csv", format!("{header}\n{}\n", one.join("\n")));
    folder.write("two.csv", format!("{header}\n{}\n", two.join("\n")));
    let start = |file: &str| folder.start(&format!("ingest --append --clicks {file} --out shop --quiet"));
    let children = ["one.csv", "two.csv"].map(|file| (file, start(file)));
    let mut added = Vec::new();
    for (file, child) in children {
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        match output.status.code() {
            Some(0) => added.push(file),
            code => assert!(code == Some(2) && error.contains("another process is writing"), "{error}"),
        }
    }
    assert!(!added.is_empty());
    let manifest: serde_json::Value = serde_json::from_str(&folder.read("shop/manifest.json")).unwrap();
    let sources = manifest["sources"].to_string();
    assert!(added.iter().all(|file| sources.contains(file)), "{added:?}: {sources}");
}
