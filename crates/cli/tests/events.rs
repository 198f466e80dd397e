//! The log of a service as files: read again by `ingest` and `update`, with the right counts and the same bytes.

mod matchrank;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use matchrank::{Folder, shop};
use matchrank_engine::dataset::Dataset;
use matchrank_server::learning::{LearnerSpec, LogLearner, parse_events};
use matchrank_server::store::{DocumentChange, Store, StoreOptions, WriteBatch};

fn store(folder: &Folder) -> Arc<Store> {
    Arc::new(Store::open(&folder.path().join("state"), StoreOptions::default()).unwrap())
}

fn append(store: &Store, lines: &str) {
    store.append(parse_events(lines.as_bytes()).unwrap().into()).unwrap();
}

/// Searches and clicks in three forms; the click of the first search comes before the search.
fn events() -> String {
    let mut lines = vec![
        r#"{"action_name":"click","timestamp":1777629600000,"query_id":"u1","event_attributes":{"object":{"object_id":"d1"},"position":{"ordinal":2}}}"#.to_owned(),
        r#"{"user_query":"sneaker","query_id":"u1","timestamp":1777629600000,"query_response_hit_ids":["d0","d1","d2"]}"#.to_owned(),
        r#"{"event":"ranking","id":"r1","timestamp":1777629600000,"fields":[{"name":"query","value":"lid"}],"items":[{"id":"d3"},{"id":"d5"}]}"#.to_owned(),
        r#"{"event":"interaction","id":"i1","ranking":"r1","timestamp":1777629600000,"type":"click","item":"d5"}"#.to_owned(),
        r#"{"event":"interaction","id":"i2","ranking":"nowhere","timestamp":1777629600000,"type":"click","item":"d5"}"#.to_owned(),
        r#"{"event":"purchase","query":"cheap lid","document":"d7","weight":5}"#.to_owned(),
        r#"{"event":"logout","query":"cheap lid","document":"d7"}"#.to_owned(),
        r#"{"event":"preference","query":"lid","better":"d1","worse":"d2"}"#.to_owned(),
    ];
    for _ in 0..3 {
        // Equal events without ids are several.
        lines.push(r#"{"event":"click","query":"sneaker","document":"d2","position":3}"#.to_owned());
    }
    lines.join("\n")
}

#[test]
fn exported_clicks_are_ingested_with_their_counts() {
    let folder = shop();
    {
        let store = store(&folder);
        append(&store, &events());
        // A retry counts once.
        append(
            &store,
            r#"{"event":"interaction","id":"i1","ranking":"r1","timestamp":1,"type":"click","item":"d5"}"#,
        );
    }
    let export = "events export --state state --format json --out";
    let mut hashes = Vec::new();
    for out in ["log.parquet", "log.jsonl", "log.jsonl.zst", "log.jsonl.gz"] {
        let exported = folder.json(&format!("{export} {out}"));
        assert_eq!(
            [
                &exported["events"],
                &exported["rows"],
                &exported["rows_without_query"],
                &exported["last_sequence"]
            ],
            [11, 11, 1, 11],
            "{exported}"
        );
        let data = format!("data-{}", out.replace('.', "-"));
        let manifest = folder
            .json(&format!("ingest --clicks {out} --documents docs.csv --out {data} --format json --quiet"));
        hashes.push(manifest["content_hash"].clone());
        let statistics = &manifest["statistics"];
        // d1 and d2 for sneaker, d5 for lid, d7 for cheap lid.
        assert_eq!(statistics["n_pairs"], 4, "{manifest}");
        assert_eq!(statistics["n_clicks"].as_f64(), Some(10.0), "{statistics}");
    }
    assert!(hashes.iter().all(|hash| hash.is_string() && *hash == hashes[0]), "{hashes:?}");
    // The positions give preferences, as those of any log.
    let dataset = Dataset::open(&folder.path().join("data-log-parquet")).unwrap();
    let skipped = dataset.skipped().unwrap();
    assert_eq!(skipped.len(), 2, "d0 for sneaker and d3 for lid");

    let later = folder.json(&format!("{export} later.jsonl --since 10"));
    assert_eq!(later["rows"], 1);
    assert_eq!(folder.json(&format!("{export} all.jsonl --since 2020-01-01"))["rows"], 11);
    assert_eq!(folder.json(&format!("{export} none.jsonl --since 2100-01-01"))["rows"], 0);
    let (code, _, error) = folder.run("events export --state state --out x.jsonl --since yesterday");
    assert!(code == 2 && error.contains("--since yesterday: a sequence number, or a date"), "{error}");
}

#[test]
fn changed_documents_are_appended() {
    let folder = shop();
    {
        let store = store(&folder);
        let put = |id: &str, json: &str| DocumentChange::Put { id: id.into(), json: json.into() };
        let removed = DocumentChange::Remove { id: "d3".into() };
        let changes = vec![
            put("new", r#"{"title":"rubber boots"}"#),
            put("d1", r#"{"id":"x","title":"a green hat"}"#),
            removed,
        ];
        store.append(WriteBatch::of_documents(changes)).unwrap();
    }
    let export = "events export --state state --documents changed.jsonl --removed removed.txt --format json";
    let exported = folder.json(export);
    assert_eq!([&exported["documents"], &exported["removed_documents"]], [2, 1]);
    assert_eq!(
        folder.read("changed.jsonl"),
        "{\"id\":\"d1\",\"title\":\"a green hat\"}\n{\"id\":\"new\",\"title\":\"rubber boots\"}\n"
    );
    assert_eq!(folder.read("removed.txt"), "d3\n");
    let manifest = folder.json(
        "ingest --append --documents changed.jsonl --removed removed.txt --out shop --format json --quiet",
    );
    assert_eq!(manifest["statistics"]["n_documents"], 12, "{manifest}");
}

/// Runs `update` on a stream, as the exported lessons of a service.
fn update(folder: &Folder, args: &str, lines: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_matchrank"))
        .current_dir(folder.path())
        .args(format!("update {args} --quiet").split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_model_that_learned_while_serving_is_that_of_update() {
    let folder = shop();
    let given = "--set variant=sparse --set margin=0.5 --set c=0.5 --set lambda=0.001 --set shrink_every=7 --set tuples=500";
    folder.text(&format!("train sparse-preference --data shop {given} --out words.model"));
    let lists: String =
        (0..40).map(|i| format!("{} qid:{} 1:{}.5 2:{}\n", i % 3, i / 4, i % 7, i % 5)).collect();
    folder.write("train.txt", lists);
    folder.text("train perceptron --letor train.txt --out lists.model");
    {
        let dataset = Dataset::open(&folder.path().join("shop")).unwrap();
        for round in 0..3 {
            let store = store(&folder);
            let learners = [("words", Some(&dataset)), ("lists", None)];
            let mut learners = learners.map(|(name, dataset)| {
                let spec = LearnerSpec::new(name, folder.path().join(format!("{name}.model")));
                LogLearner::open(&store, &spec, dataset).unwrap()
            });
            for i in 0..50 {
                append(
                    &store,
                    &format!(
                        "{{\"event\":\"preference\",\"query\":\"cheap lid\",\"better\":\"d{}\",\"worse\":\"d{}\"}}\n\
                         {{\"event\":\"list\",\"documents\":[{{\"grade\":{},\"features\":[{round},2]}},{{\"grade\":1,\"features\":[0.5,{i}]}}]}}",
                        (2 * i + 1) % 12,
                        (i * 5) % 12,
                        i % 3
                    ),
                );
                if i % 20 == round {
                    learners.iter_mut().for_each(|learner| {
                        learner.learn_page().unwrap();
                        learner.checkpoint().unwrap();
                    });
                }
            }
            // What came after the last checkpoint is learned again in the next round.
            if round == 2 {
                for learner in &mut learners {
                    learner.catch_up().unwrap();
                    let out = folder.path().join(format!("online-{}.model", learner.name()));
                    learner.save_model(&out).unwrap();
                }
            }
        }
    }
    let exported = folder.json("events export --state state --tuples t.jsonl --lists l.jsonl --format json");
    assert_eq!([&exported["tuples"], &exported["lists"]], [150, 150]);
    update(&folder, "words.model --tuples - --data shop --out offline-words.model", &folder.read("t.jsonl"));
    update(&folder, "lists.model --lists - --out offline-lists.model", &folder.read("l.jsonl"));
    for name in ["words", "lists"] {
        let [online, offline] = ["online", "offline"]
            .map(|how| std::fs::read(folder.path().join(format!("{how}-{name}.model"))).unwrap());
        assert!(online == offline, "{name}: the bytes differ");
    }
}

#[test]
fn state_folders_are_checked() {
    let folder = shop();
    let (code, _, error) = folder.run("events export --state nowhere --out x.jsonl");
    assert!(code == 2 && error.contains("nowhere: holds no store.redb"), "{error}");
    assert!(!folder.path().join("nowhere").exists());
    let open = store(&folder);
    let (code, _, error) = folder.run("events export --state state --out x.jsonl");
    assert!(code == 2 && error.contains("another process uses this state folder"), "{error}");
    drop(open);
    let (code, _, error) = folder.run("events export --state state --out state/store.redb");
    assert!(code == 2, "{error}");
    let (code, _, error) = folder.run("events export --state state --out x --tuples x");
    assert!(code == 2 && error.contains("x: is to be written twice"), "{error}");
    let (code, _, _) = folder.run("events compact --state state");
    assert_eq!(code, 0);
    folder.write("state/store.redb", "no store");
    let (code, _, error) = folder.run("events compact --state state");
    assert!(code == 2 && error.contains("is not a store of matchrank"), "{error}");
}
