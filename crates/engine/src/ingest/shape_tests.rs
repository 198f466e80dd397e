//! Files in the shapes that warehouses and shops have: delimiters, dates, event types, names of columns, nested
//! catalogues. Nothing of them is dropped without a word.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use matchrank_core::progress::Notes;
use proptest::prelude::*;

use super::tests::{Files, pair, pairs};
use super::*;
use crate::dataset::{Dataset, IgnoredColumn};

/// Returns the ignored columns of a source, with their reasons.
fn ignored(dataset: &Dataset, file: &str) -> Vec<String> {
    let source = dataset.manifest.sources.iter().find(|source| source.file == file).unwrap();
    let named = |IgnoredColumn { column, reason, .. }: &IgnoredColumn| format!("{column}: {reason}");
    source.ignored.iter().map(named).collect()
}

fn remarks(dataset: &Dataset, file: &str) -> Vec<String> {
    dataset.manifest.sources.iter().find(|source| source.file == file).unwrap().remarks.clone()
}

/// Returns how often the documents of the training pairs were shown, sorted.
fn shown(dataset: &Dataset) -> Vec<u32> {
    let file =
        crate::parquet_file::ParquetFile::open(&dataset.folder().join("responses.parquet"), "").unwrap();
    let mut counts = Vec::new();
    for batch in file.batches(Some(&["shown"])).unwrap() {
        counts.extend(batch.unwrap().column(0).as_primitive::<arrow_array::types::UInt32Type>().values());
    }
    counts.sort_unstable();
    counts
}

fn weights(weights: &[(&str, f64)]) -> BTreeMap<String, f64> {
    weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
}

const EVENTS: &str = "event_type,search_term,sku,event_time,session\n\
                      view,red,d1,2026-01-01,s\nclick,red,d1,2026-01-01,s\nadd_to_cart,red,d1,2026-01-02,s\n\
                      purchase,red,d1,2026-01-03,s\nclick,blue,d2,2026-01-04,s\nsearch,blue,,2026-01-05,s\n";

fn events(files: &Files, log: &str) -> IngestParams {
    IngestParams {
        clicks: vec![files.write("events.csv", log)],
        documents: vec![files.write("docs.tsv", "d1\tred shoe\nd2\tblue shoe\n")],
        ..IngestParams::default()
    }
}

#[test]
fn event_types_of_a_table_need_weights() {
    let files = Files::new();
    let mut params = events(&files, EVENTS);
    let error = files.refused(&params);
    assert!(
        error.contains(
            "the rows are events of these types: click (2), add_to_cart (1), purchase (1), search (1), view (1); \
             say how many clicks each counts, for example with option `event-weights \
             click=1,add_to_cart=3,purchase=5`"
        ),
        "{error}"
    );
    params.event_weights = weights(&[("click", 1.0), ("add_to_cart", 3.0), ("purchase", 5.0)]);
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(pairs(&dataset), [pair("blue", "d2", 1.0), pair("red", "d1", 9.0)]);
    assert_eq!(dataset.manifest.left_out["events of types that count nothing"], 2);
    assert_eq!(
        remarks(&dataset, "events.csv"),
        [
            "event types: click 2 (counts 1), add_to_cart 1 (counts 3), purchase 1 (counts 5), search 1 (left out), \
             view 1 (left out)"
        ]
    );
    assert_eq!(ignored(&dataset, "events.csv"), ["session: no role"]);
    assert_eq!(shown(&dataset), [1, 3], "without impressions, a response was shown");
    // With weight 0, views are impressions, and responses are no further ones.
    params.event_weights.insert("view".into(), 0.0);
    assert_eq!(shown(&files.ingest(&params).unwrap()), [0, 1]);

    params.event_weights = weights(&[("clik", 1.0)]);
    let error = files.refused(&params);
    let expected =
        "option `event-weights`: no click log has the event type 'clik'; there are click (2), add_to_cart";
    assert!(error.contains(expected), "{error}");
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        params.event_weights = weights(&[("click", wrong)]);
        assert!(files.refused(&params).contains("the weight of the event type 'click' is"), "{wrong}");
    }
}

#[test]
fn columns_that_only_look_like_event_types_have_no_role() {
    let files = Files::new();
    // A type of products; clicks alone; and a column that the user names.
    let dataset = files.ingest(&events(&files, "query,sku,type\nred,d1,shoe\nred,d1,boot\n")).unwrap();
    assert_eq!(pairs(&dataset), [pair("red", "d1", 2.0)]);
    assert_eq!(ignored(&dataset, "events.csv"), ["type: no role"]);
    let dataset = files.ingest(&events(&files, "query,sku,type\nred,d1,click\nred,d1,click\n")).unwrap();
    assert_eq!(pairs(&dataset), [pair("red", "d1", 2.0)]);
    assert_eq!(remarks(&dataset, "events.csv"), ["event types: click 2 (counts 1)"]);
    let mut params = events(&files, "query,sku,what\nred,d1,bought\nred,d1,seen\n");
    params.event_weights = weights(&[("bought", 2.5)]);
    assert!(files.refused(&params).contains("no click log has a column of event types"));
    params.columns.insert(Role::Event, "what".into());
    assert_eq!(pairs(&files.ingest(&params).unwrap()), [pair("red", "d1", 2.5)]);
}

#[test]
fn weighted_counts_are_exact_and_the_same_for_any_number_of_threads() {
    let files = Files::new();
    let single = "event,query,sku\n".to_owned() + &"click,red,d1\n".repeat(10) + "click,blue,d2\n";
    let counted = "event,query,sku,cnt\nclick,red,d1,10\nclick,blue,d2,1\n";
    let hash = |log: &str, weight: f64| {
        let params = IngestParams { event_weights: weights(&[("click", weight)]), ..events(&files, log) };
        files.ingest(&params).unwrap().manifest.content_hash
    };
    for weight in [0.1, 1.0 / 3.0, 2.7, 1e-4] {
        assert_eq!(hash(&single, weight), hash(counted, weight), "{weight}");
    }
    assert_ne!(hash(counted, 0.1), hash(counted, 0.2));

    let many: String = (0..300_000)
        .map(|i| {
            let event = ["click", "add_to_cart", "purchase", "view"][i % 4];
            format!("{event},query {},d{},{}\n", i % 977, 1 + i % 2, 1 + i % 3)
        })
        .collect();
    let mut params = events(&files, &format!("event,query,sku,cnt\n{many}"));
    params.event_weights = weights(&[("click", 0.3), ("add_to_cart", 1.7), ("purchase", 4.9), ("view", 0.0)]);
    let hashes = [(1, 1 << 30), (2, 1 << 30), (3, 1 << 10)].map(|(threads, memory)| {
        params.memory = memory;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| files.ingest(&params).unwrap().manifest.content_hash)
    });
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

#[test]
fn carts_and_purchases_of_event_formats_are_kept_and_said() {
    let files = Files::new();
    let ubi: String = ["impression", "click", "add_to_cart", "purchase", "remove_from_cart", "search"]
        .map(|action| {
            format!(
                "{{\"action_name\": \"{action}\", \"query_id\": \"s\", \"user_query\": \"red\", \
                 \"event_attributes\": {{\"object\": {{\"object_id\": \"d1\", \"colour\": \"x\"}}}}, \"timestamp\": 1}}\n"
            )
        })
        .concat();
    let metarank = "{\"event\": \"ranking\", \"id\": \"r\", \"timestamp\": \"1\", \"user\": \"u\", \"fields\": [{\"name\": \
                    \"query\", \"value\": \"red\"}], \"items\": [{\"id\": \"d1\"}]}\n\
                    {\"event\": \"interaction\", \"id\": \"i\", \"timestamp\": \"2\", \"ranking\": \"r\", \"item\": \"d1\", \"type\": \"purchase\"}\n\
                    {\"event\": \"interaction\", \"id\": \"j\", \"timestamp\": \"2\", \"ranking\": \"r\", \"item\": \"d1\", \"type\": \"wishlist\"}\n";
    let mut params = events(&files, "");
    params.clicks = vec![files.write("ubi.jsonl", ubi), files.write("metarank.jsonl", metarank)];
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(pairs(&dataset), [pair("red", "d1", 4.0)]);
    assert_eq!(
        remarks(&dataset, "ubi.jsonl"),
        [
            "event types: add_to_cart 1 (counts 1), click 1 (counts 1), impression 1 (shown), purchase 1 (counts 1), \
             remove_from_cart 1 (left out), search 1 (left out)"
        ]
    );
    assert_eq!(ignored(&dataset, "ubi.jsonl"), ["event_attributes.object.colour: no role"]);
    assert_eq!(
        remarks(&dataset, "metarank.jsonl"),
        ["event types: purchase 1 (counts 1), wishlist 1 (left out)"]
    );
    assert_eq!(ignored(&dataset, "metarank.jsonl"), ["user: no role"]);
    params.event_weights = weights(&[("click", 1.0), ("purchase", 5.0), ("wishlist", 2.0)]);
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(pairs(&dataset), [pair("red", "d1", 13.0)]);
    assert!(remarks(&dataset, "ubi.jsonl")[0].contains("impression 1 (shown)"));
}

#[test]
fn plain_json_events_are_no_metarank_events() {
    let files = Files::new();
    let row = |event: &str| {
        format!("{{\"event\": \"{event}\", \"timestamp\": 1, \"id\": \"d1\", \"query\": \"red\"}}\n")
    };
    let mut params = events(&files, "");
    params.clicks = vec![files.write("log.jsonl", row("click") + &row("view"))];
    assert!(files.refused(&params).contains("the rows are events of these types: click (1), view (1)"));
    params.event_weights = weights(&[("click", 2.0)]);
    assert_eq!(pairs(&files.ingest(&params).unwrap()), [pair("red", "d1", 2.0)]);
}

#[test]
fn warehouse_files_are_read_as_they_are() {
    let files = Files::new();
    let log = "Suchlauf;search_phrase;product_sku;cnt;event_date\n1;rote, weite Schuhe;d1;3;14.09.2011 12:46\n\
               2;\"blau; \"\"neu\"\"\";d2;2;15.09.2011 08:00\n";
    let mut params = events(&files, log);
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(pairs(&dataset), [pair("blau; \"neu\"", "d2", 2.0), pair("rote, weite schuhe", "d1", 3.0)]);
    assert_eq!(
        remarks(&dataset, "events.csv"),
        [
            "cells are separated by ';' (recognised by the first rows)",
            "dates are a day, a month and a year (recognised by the rows)"
        ]
    );
    assert_eq!(ignored(&dataset, "events.csv"), ["Suchlauf: no role"]);
    params.delimiter = Some('|');
    let error = files.refused(&params);
    assert!(error.contains("no column for the document"), "{error}");
    params.delimiter = Some(';');
    assert_eq!(files.ingest(&params).unwrap().manifest.content_hash, dataset.manifest.content_hash);
    params.delimiter = Some('a');
    assert!(files.refused(&params).contains("the delimiter is 'a'"));
}

#[test]
fn wrong_times_name_file_line_value_and_what_was_expected() {
    let files = Files::new();
    let refused = |times: &[&str], format: Option<&str>| {
        let rows: String = times.iter().map(|time| format!("red,d1,{time}\n")).collect();
        let mut params = events(&files, &format!("query,sku,time\n{rows}"));
        params.split = SplitBy::Time;
        params.date_format = format.map(str::to_owned);
        files.refused(&params)
    };
    for (times, format, expected) in [
        (&["2011-09-14", "14.09.2011"][..], None, "events.csv:3: time is '14.09.2011'; expected seconds"),
        (
            &["14.09.2011", "31.02.2011"],
            None,
            "events.csv:3: time is '31.02.2011'; expected a day, a month and a year",
        ),
        (
            &["09/14/2011", "14/09/2011"],
            None,
            "events.csv:3: time is '14/09/2011'; expected a month, a day and a year",
        ),
        (
            &["2011-09-14"],
            Some("%d.%m.%Y"),
            "events.csv:2: time is '2011-09-14'; expected the format %d.%m.%Y, which option `date-format` names",
        ),
        (&["2011-09-14"], Some("%H:%M"), "option `date-format`: '%H:%M' has no day"),
        (
            &["03/04/2011 12:00", "05/06/2011 12:00"],
            None,
            "events.csv:2: time is '03/04/2011 12:00', and no row of the file has a number above 12 that tells the day \
             from the month; say which is first with option `date-format '%d/%m/%Y %H:%M'` or option \
             `date-format '%m/%d/%Y %H:%M'`",
        ),
    ] {
        let error = refused(times, format);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    // Without a split by time, nothing depends on it, and a remark says so.
    let params = events(&files, "query,sku,time\nred,d1,03/04/2011\n");
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(
        remarks(&dataset, "events.csv"),
        ["no row tells the day of a date from its month (the first is 03/04/2011), so times are not used"]
    );
}

#[test]
fn fields_of_documents_are_indexed_or_named() {
    let files = Files::new();
    let long = "this is a rather long text about the shoe with many more words than a name";
    let line = |id: usize, more: &str| {
        format!(
            "{{\"id\": \"d{id}\", \"name\": {{\"en\": \"shoe {id}\"}}, \"brand\": \"Nike\", \"price\": 12.5, \"added\": \
             \"2026-01-01\", \"image\": \"https://x.org/{id}.jpg\", \"legal\": \"{long}\", \"categories\": [{{\"id\": 1, \
             \"name\": \"sport\"}}, {{\"id\": 2, \"name\": \"men\"}}], \"tags\": [\"red\", \"wide\"], \"grid\": [[1]], \
             \"title\": \"t\", \"attributes\": {{\"colour\": \"red\", \"vendor_id\": \"v1\"}}{more}}}\n"
        )
    };
    let mut params = events(&files, "query,sku\nred,d1\n");
    params.documents = vec![files.write("products.jsonl", line(1, "") + &line(2, ""))];
    let notes = Notes::default();
    let out = files.0.path().join("data");
    ingest(&params, &out, true, &notes).unwrap();
    let dataset = Dataset::open(&out).unwrap();
    let mut fields: Vec<&str> = dataset.manifest.fields.iter().map(|(name, _)| name).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["attributes.colour", "brand", "categories.name", "name.en", "tags", "title"]);
    let mut found = ignored(&dataset, "products.jsonl");
    found.sort();
    assert_eq!(
        found,
        [
            "attributes.vendor_id: ids",
            "categories.id: ids",
            "grid: nested",
            "image: URLs or files",
            "legal: long text of an unknown name, 16 words on average"
        ]
    );
    let notes = notes.take();
    assert!(notes.iter().any(|note| note.starts_with("products.jsonl: fields not indexed: ")), "{notes:?}");
    // Fields that the user names, and a field that shows late.
    params.text = vec!["title".into(), "legal".into()];
    let rows: String =
        (1..10_002).map(|id| line(id, if id > 10_000 { ", \"surprise\": \"x\"" } else { "" })).collect();
    params.documents = vec![files.write("products.jsonl", rows)];
    let found = ignored(&files.ingest(&params).unwrap(), "products.jsonl");
    assert!(found.contains(&"brand: not named as a text field".to_owned()), "{found:?}");
    assert!(found.contains(&"surprise: first in line 10001, and in no row before".to_owned()), "{found:?}");
}

#[test]
fn documents_have_the_ids_of_the_log() {
    let files = Files::new();
    let mut params = events(&files, "query,sku\nred,d1\n");
    params.documents = vec![files.write("docs.csv", "product_id,sku,title\np1,d1,red shoe\n")];
    let notes = Notes::default();
    let out = files.0.path().join("data");
    ingest(&params, &out, true, &notes).unwrap();
    assert_eq!(pairs(&Dataset::open(&out).unwrap()), [pair("red", "d1", 1.0)]);
    let note = "docs.csv: ids of the documents: 'sku' (option `column document=NAME` overrides)";
    assert!(notes.take().iter().any(|found| found.ends_with(note)));
    params.clicks = vec![files.write("events.csv", "query,product_sku\nred,d1\n")];
    assert_eq!(pairs(&files.ingest(&params).unwrap()), [pair("red", "d1", 1.0)]);
    params.columns.insert(Role::Document, "product_id".into());
    assert!(files.refused(&params).contains("no pair of a query and a document is left"));
}

#[test]
fn many_short_fields_are_limited_and_the_others_named() {
    let files = Files::new();
    let attributes: String = (0..100).map(|i| format!(", \"a{i}\": \"red x\"")).collect();
    let mut params = events(&files, "query,sku\nred,d1\n");
    params.documents =
        vec![files.write("products.jsonl", format!("{{\"id\": \"d1\", \"title\": \"t\"{attributes}}}\n"))];
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(dataset.manifest.fields.iter().count(), 63);
    assert!(dataset.manifest.fields.iter().any(|(name, _)| name == "title"));
    let found = ignored(&dataset, "products.jsonl");
    assert_eq!(found.len(), 38);
    assert!(found.iter().all(|column| column.ends_with(": beyond 63 fields")), "{found:?}");
}

#[test]
fn columns_of_queries_and_judgments_are_named_too() {
    let files = Files::new();
    let mut params = events(&files, "query_id,query,sku\nq9,red,d1\n");
    params.queries = vec![files.write("queries.csv", "qid|keywords|market\nq1|red|de\n")];
    params.judgments =
        vec![(Holdout::Test, files.write("judged.csv", "qid;query;sku;grade;judge\nq1;red;d1;2;me\n"))];
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(ignored(&dataset, "events.csv"), ["query_id: the text of the query is used"]);
    assert_eq!(ignored(&dataset, "queries.csv"), ["market: no role"]);
    assert_eq!(ignored(&dataset, "judged.csv"), ["query: no role", "judge: no role"]);
}

/// A click: query, document, count, and year, month, day, hour, minute.
type Click = (String, u8, u8, [u32; 5]);

fn written(clicks: &[Click], delimiter: u8, time: impl Fn([u32; 5]) -> String) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    writer.write_record(["query", "sku", "cnt", "ts"]).unwrap();
    for (query, document, count, at) in clicks {
        writer.write_record([query, &format!("d{document}"), &count.to_string(), &time(*at)]).unwrap();
    }
    writer.into_inner().unwrap()
}

fn iso([year, month, day, hour, minute]: [u32; 5]) -> String {
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:00")
}

fn epoch(at: [u32; 5], unit: i64) -> String {
    (arrow_cast::parse::string_to_timestamp_nanos(&iso(at)).unwrap() / unit).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn delimiters_and_dates_change_nothing(
        mut clicks in prop::collection::vec(
            ("[a-c ;|,\t\"é]{0,5}x", 1_u8..3, 0_u8..4, (2009_u32..2013, 1_u32..13, 1_u32..29, 0_u32..24, 0_u32..60)
                .prop_map(|(year, month, day, hour, minute)| [year, month, day, hour, minute])), 20..60)
    ) {
        // A day that is no month.
        clicks.push(("red".into(), 1, 1, [2010, 5, 17, 3, 4]));
        let files = Files::new();
        let documents = files.write("docs.tsv", "d1\tred shoe\nd2\tblue shoe\n");
        let made = |log: Vec<u8>, date_format: Option<&str>| {
            let params = IngestParams {
                clicks: vec![files.write("log.csv", log)],
                documents: vec![documents.clone()],
                date_format: date_format.map(str::to_owned),
                split: SplitBy::Time,
                ..IngestParams::default()
            };
            files.ingest(&params).map(|dataset| dataset.manifest.content_hash).map_err(|e| e.to_string())
        };
        let expected = made(written(&clicks, b',', iso), None);
        prop_assert!(expected.is_ok(), "{:?}", expected);
        type Format = (&'static str, fn([u32; 5]) -> String);
        let formats: [Format; 8] = [
            ("%Y-%m-%d %H:%M:%S", iso),
            ("%s", |at| epoch(at, 1_000_000_000)),
            ("%Q", |at| epoch(at, 1_000_000)),
            ("%d.%m.%Y %H:%M", |[y, m, d, h, min]| format!("{d:02}.{m:02}.{y} {h:02}:{min:02}")),
            ("%d/%m/%Y %H:%M", |[y, m, d, h, min]| format!("{d}/{m}/{y} {h}:{min:02}")),
            ("%m/%d/%Y %H:%M", |[y, m, d, h, min]| format!("{m:02}/{d:02}/{y} {h:02}:{min:02}")),
            ("%m/%d/%y %I:%M %p", |[y, m, d, h, min]| {
                format!("{m}/{d}/{:02} {}:{min:02} {}", y - 2000, (h + 11) % 12 + 1, if h < 12 { "AM" } else { "PM" })
            }),
            ("%Y-%m-%dT%H:%M", |[y, m, d, h, min]| format!("{y}-{m:02}-{d:02}T{h:02}:{min:02}")),
        ];
        for (number, (notation, write)) in formats.into_iter().enumerate() {
            let delimiter = [b',', b';', b'\t', b'|'][number % 4];
            for format in [None, Some(notation)] {
                let found = made(written(&clicks, delimiter, write), format);
                prop_assert_eq!(&found, &expected, "{} {:?}", notation, format);
            }
        }
        for delimiter in [b',', b';', b'\t', b'|'] {
            prop_assert_eq!(&made(written(&clicks, delimiter, iso), None), &expected);
        }
    }
}
