//! A dataset that rows were added to has the bytes of one `ingest` of everything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matchrank_core::progress::Silent;
use proptest::prelude::*;

use super::tests::{Files, pair, pairs};
use super::*;
use crate::dataset::Dataset;

/// Every file below a folder, by its name there; search indexes are made when they are needed.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let content = std::fs::read(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
            }
        }
    }
    found
}

fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (content(a), content(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let other = &b[name];
        assert!(bytes == other, "{} differs:\n{}\n{}", name.display(), shown(bytes), shown(other));
    }
}

/// Ingests some files and adds others; ingests all of them, with the catalogue `now`; both must be the same.
fn check(files: &Files, first: &IngestParams, added: &AppendParams, now: &[PathBuf]) -> Dataset {
    let [step, whole] = ["step", "whole"].map(|name| files.0.path().join(name));
    ingest(first, &step, true, &Silent).unwrap();
    append(added, &step, &Silent).unwrap();
    let mut all = first.clone();
    all.clicks.extend(added.clicks.clone());
    all.documents = now.to_vec();
    all.queries.extend(added.queries.clone());
    all.responses.extend(added.responses.clone());
    all.judgments.extend(added.judgments.clone());
    all.drop_before = added.drop_before;
    ingest(&all, &whole, true, &Silent).unwrap();
    assert_same(&step, &whole);
    Dataset::open(&step).unwrap()
}

fn documents(ids: impl Iterator<Item = usize>) -> String {
    ids.map(|id| {
        format!("{{\"id\": \"d{id}\", \"title\": \"thing {} of kind {id}\", \"price\": {id}}}\n", id % 7)
    })
    .collect()
}

type Event = (u8, u8, u32, u8, bool);

fn log(rows: &[Event]) -> String {
    let mut text = "query,document,time,clicks,position\n".to_owned();
    for (query, document, minute, clicks, has_position) in rows {
        let position = if *has_position { (document % 9 + 1).to_string() } else { String::new() };
        text += &format!("Query {query},d{document},{},{clicks},{position}\n", 1_600_000_000 + minute * 60);
    }
    text
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0_u8..12, 0_u8..40, 0_u32..5000, 0_u8..4, any::<bool>()), 30..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Logs in any order of time, documents that enter the catalogue after their clicks, splits that move.
    #[test]
    fn added_rows_give_the_bytes_of_one_ingest(
        one in events(), two in events(), split in 0_u8..3, known in 20_usize..40, min_clicks in 0_u8..3, drop in any::<bool>()
    ) {
        let files = Files::new();
        let first = IngestParams {
            clicks: vec![files.write("one.csv", log(&one))],
            documents: vec![files.write("documents.jsonl", documents(0..known))],
            split: [SplitBy::None, SplitBy::Query, SplitBy::Time][split as usize],
            holdout: [0.2, 0.2],
            min_clicks: f64::from(min_clicks) / 2.0,
            ..IngestParams::default()
        };
        let new = files.write("new.jsonl", documents(known - 5..40));
        let added = AppendParams {
            clicks: vec![files.write("two.csv", log(&two))],
            documents: vec![new.clone()],
            drop_before: drop.then_some((1_600_000_000 + 60 * 1000) * 1000),
            ..AppendParams::default()
        };
        check(&files, &first, &added, &[first.documents[0].clone(), new]);
    }
}

#[test]
fn two_appends_are_one_ingest_of_three_logs_and_the_settings_are_remembered() {
    let files = Files::new();
    let shop = |name: &str, rows: &str| files.write(name, format!("typed;sku;tag;kind\n{rows}"));
    let first = IngestParams {
        clicks: vec![shop("1.csv", "red shoe;a;31.12.2025;click\nred shoe;b;30.12.2025;purchase\n")],
        documents: vec![files.write("shop.csv", "sku;name\na;red shoe\nb;blue shoe\n")],
        columns: NamedColumns::from([
            (Role::Query, "typed".into()),
            (Role::Document, "sku".into()),
            (Role::Time, "tag".into()),
            (Role::Event, "kind".into()),
        ]),
        date_format: Some("%d.%m.%Y".into()),
        event_weights: BTreeMap::from([("click".into(), 1.0), ("purchase".into(), 5.0)]),
        ..IngestParams::default()
    };
    let step = files.0.path().join("step");
    ingest(&first, &step, false, &Silent).unwrap();
    // No purchase today, and no columns named again.
    let second = shop("2.csv", "blue shoe;b;01.01.2026;click\n");
    let third = shop("3.csv", "blue shoe;a;02.01.2026;click\nred shoe;a;02.01.2026;purchase\n");
    for path in [&second, &third] {
        append(&AppendParams { clicks: vec![path.clone()], ..AppendParams::default() }, &step, &Silent)
            .unwrap();
    }
    let whole = files.0.path().join("whole");
    let all = IngestParams { clicks: [first.clicks.clone(), vec![second, third]].concat(), ..first };
    ingest(&all, &whole, false, &Silent).unwrap();
    assert_same(&step, &whole);
    let dataset = Dataset::open(&step).unwrap();
    let expected = [
        pair("blue shoe", "a", 1.0),
        pair("blue shoe", "b", 1.0),
        pair("red shoe", "a", 6.0),
        pair("red shoe", "b", 5.0),
    ];
    assert_eq!(pairs(&dataset), expected);
}

#[test]
fn events_find_their_searches_in_other_files() {
    let files = Files::new();
    let queries = |rows: &[(&str, &str)]| -> String {
        rows.iter()
            .map(|(id, text)| format!("{{\"query_id\": \"{id}\", \"user_query\": \"{text}\"}}\n"))
            .collect()
    };
    let events = |rows: &[(&str, &str)]| -> String {
        let event = |(id, object): &(&str, &str)| {
            format!(
                "{{\"action_name\": \"click\", \"query_id\": \"{id}\", \"timestamp\": \"2026-01-01T00:00:00Z\", \
                 \"event_attributes\": {{\"object\": {{\"object_id\": \"{object}\"}}}}}}\n"
            )
        };
        rows.iter().map(event).collect()
    };
    let first = IngestParams {
        clicks: vec![
            files.write("queries1.jsonl", queries(&[("s1", "lamp"), ("s2", "desk")])),
            // The search s3 is in tomorrow's file.
            files.write("events1.jsonl", events(&[("s1", "d1"), ("s3", "d2"), ("s9", "d3")])),
        ],
        documents: vec![files.write("documents.jsonl", documents(0..5))],
        ..IngestParams::default()
    };
    let added = AppendParams {
        clicks: vec![
            files.write("queries2.jsonl", queries(&[("s3", "chair")])),
            files.write("events2.jsonl", events(&[("s2", "d4"), ("s3", "d2")])),
        ],
        ..AppendParams::default()
    };
    let dataset = check(&files, &first, &added, &first.documents);
    assert_eq!(pairs(&dataset), [pair("chair", "d2", 2.0), pair("desk", "d4", 1.0), pair("lamp", "d1", 1.0)]);
    assert_eq!(dataset.manifest.left_out["events whose search is not in the log"], 1);
}

#[test]
fn queries_responses_and_judgments_are_added_too() {
    let files = Files::new();
    let first = IngestParams {
        documents: vec![files.write("documents.jsonl", documents(0..9))],
        queries: vec![files.write("queries1.tsv", "q1\tred thing\nq2\tblue thing\n")],
        responses: vec![files.write("train1.qrels", "q1 0 d1 2\nq1 0 d2 0\nq3 0 d3 1\n")],
        judgments: vec![
            (Holdout::Validation, files.write("v1.qrels", "q2 0 d1 1\n")),
            (Holdout::Test, files.write("t1.qrels", "q2 0 d2 1\nq2 0 d99 1\n")),
        ],
        ..IngestParams::default()
    };
    let added = AppendParams {
        queries: vec![files.write("queries2.tsv", "q3\tgreen thing\n")],
        responses: vec![files.write("train2.qrels", "q2 0 d4 1\n")],
        judgments: vec![(Holdout::Test, files.write("t2.qrels", "q3 0 d5 2\n"))],
        ..AppendParams::default()
    };
    let dataset = check(&files, &first, &added, &first.documents);
    // The response of q3 was left out while q3 had no text.
    assert_eq!(
        pairs(&dataset),
        [pair("blue thing", "d4", 1.0), pair("green thing", "d3", 1.0), pair("red thing", "d1", 2.0)]
    );
}

#[test]
fn documents_change_go_and_come_back_with_their_clicks() {
    let files = Files::new();
    let shop = |name: &str, rows: &[(&str, &str)]| {
        let rows: String = rows.iter().map(|(id, title)| format!("{id},{title}\n")).collect();
        files.write(name, format!("id,title\n{rows}"))
    };
    let first = IngestParams {
        clicks: vec![files.write("clicks.csv", "query,document\nlamp,a\nlamp,b\nlamp,c\n")],
        documents: vec![shop("one.csv", &[("a", "old lamp"), ("b", "lamp")])],
        ..IngestParams::default()
    };
    let changed = shop("two.csv", &[("c", "new lamp"), ("a", "brass lamp")]);
    let removed = files.write("removed.txt", "b\n\nzz\n");
    let added = AppendParams { documents: vec![changed], removed: vec![removed], ..AppendParams::default() };
    let step = files.0.path().join("step");
    ingest(&first, &step, true, &Silent).unwrap();
    append(&added, &step, &Silent).unwrap();
    let dataset = Dataset::open(&step).unwrap();
    assert_eq!(dataset.document_ids().unwrap(), ["a", "c"]);
    assert_eq!(dataset.texts().unwrap().next().unwrap().unwrap(), ["brass lamp"]);
    assert_eq!(pairs(&dataset), [pair("lamp", "a", 1.0), pair("lamp", "c", 1.0)]);

    // The whole catalogue again, in another order, with b and without a.
    let whole = shop("three.csv", &[("c", "new lamp"), ("b", "lamp")]);
    let added = AppendParams { documents: vec![whole], whole_catalogue: true, ..AppendParams::default() };
    append(&added, &step, &Silent).unwrap();
    let dataset = Dataset::open(&step).unwrap();
    assert_eq!(dataset.document_ids().unwrap(), ["c", "b"]);
    assert_eq!(pairs(&dataset), [pair("lamp", "b", 1.0), pair("lamp", "c", 1.0)]);
}

#[test]
fn what_cannot_be_added_is_refused_and_the_dataset_stays() {
    let files = Files::new();
    let first = IngestParams {
        clicks: vec![files.write("clicks.csv", "query,document\nlamp,a\n")],
        documents: vec![files.write("one.csv", "id,title,brand\na,old lamp,x\nb,lamp,y\n")],
        ..IngestParams::default()
    };
    let step = files.0.path().join("step");
    ingest(&first, &step, true, &Silent).unwrap();
    let before = content(&step);
    let refused = |added: AppendParams| append(&added, &step, &Silent).unwrap_err().to_string();
    let message = refused(AppendParams::default());
    assert!(message.starts_with("nothing to add"), "{message}");
    let message = refused(AppendParams {
        documents: vec![files.write("part.csv", "id,title\nb,new lamp\n")],
        ..AppendParams::default()
    });
    assert!(
        message.contains("part.csv:1: no column 'brand', which is a text field of the dataset"),
        "{message}"
    );
    let message = refused(AppendParams { drop_before: Some(0), ..AppendParams::default() });
    assert!(message.contains("clicks.csv:1: the row has no time"), "{message}");
    let packed = zstd::encode_all(&b"query,document\nlamp,a\n"[..], 1).unwrap();
    let again = files.write("again.csv.zst", packed);
    let message = refused(AppendParams { clicks: vec![again], ..AppendParams::default() });
    assert!(message.contains("its rows are in the dataset already (added as clicks.csv)"), "{message}");
    let bad = files.write("bad.csv", "query,document,clicks\nlamp,a,-1\n");
    let message = refused(AppendParams { clicks: vec![bad], ..AppendParams::default() });
    assert!(message.contains("bad.csv:2: clicks is -1"), "{message}");
    assert_eq!(content(&step), before);

    let part = step.join("history/clicks-00001.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    Dataset::open(&step).expect("models need no history");
    let more = files.write("more.csv", "query,document\nlamp,b\n");
    let more = AppendParams { clicks: vec![more], ..AppendParams::default() };
    let message = refused(more.clone());
    assert!(message.contains("clicks-00001.parquet: was changed after it was written"), "{message}");

    let without = IngestParams { history: false, ..first };
    ingest(&without, &step, true, &Silent).unwrap();
    assert!(!step.join("history").exists());
    assert!(refused(more).contains("has no history of its rows"));
}

/// Positions that turn out to be averages are read twice; the former history must survive that.
#[test]
fn average_positions_in_an_added_log_harm_no_history() {
    let files = Files::new();
    let first = IngestParams {
        clicks: vec![files.write("one.csv", "query,document,position\nlamp,d1,3\n")],
        documents: vec![files.write("documents.jsonl", documents(0..5))],
        ..IngestParams::default()
    };
    let averages = files.write("two.csv", "query,document,position\nlamp,d2,3.5\n");
    let added = AppendParams { clicks: vec![averages], ..AppendParams::default() };
    let dataset = check(&files, &first, &added, &first.documents);
    dataset.history().expect("every part is as it was written");
    let more = files.write("three.csv", "query,document,position\nlamp,d3,1\n");
    let more = AppendParams { clicks: vec![more], ..AppendParams::default() };
    append(&more, &files.0.path().join("step"), &Silent).unwrap();
}
