//! Files of the first day, through the real binary: exports of a warehouse, event types, nested catalogues. What is not
//! used is named.

mod matchrank;

use matchrank::Folder;

/// Returns what a run prints on standard error, without the time that it took.
fn messages(folder: &Folder, args: &str) -> String {
    let (_, _, err) = folder.run(args);
    let lines = err.lines().filter(|line| !line.starts_with("wrote "));
    lines.collect::<Vec<_>>().join("\n")
}

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write(
        "catalogue.jsonl",
        "{\"sku\": \"d1\", \"productId\": \"p1\", \"name\": {\"en\": \"Red shoe\", \"de\": \"Roter Schuh\"}, \"brand\": \"Nike\", \
         \"price\": 59.9, \"image\": \"https://x.org/1.jpg\", \"categories\": [{\"id\": 7, \"name\": \"Shoes\"}]}\n\
         {\"sku\": \"d2\", \"productId\": \"p2\", \"name\": {\"en\": \"Blue hat\", \"de\": \"Blauer Hut\"}, \"brand\": \"Stetson\", \
         \"price\": 19, \"image\": \"https://x.org/2.jpg\", \"categories\": [{\"id\": 8, \"name\": \"Hats\"}], \"sizes\": [[1, 2]]}\n",
    );
    folder.write(
        "warehouse.csv",
        "search_phrase;product_sku;shop;cnt;event_date\nrote, weite Schuhe;d1;de;3;14.09.2011 12:46\nhut;d2;de;2;15.09.2011 08:00\n",
    );
    let events = ["view", "view", "click", "add_to_cart", "purchase", "search"];
    let rows: String =
        events.iter().map(|event| format!("{event},red shoe,d1,2026-01-01T10:00:00Z\n")).collect();
    folder.write("events.csv", format!("event_type,search_term,sku,ts\n{rows}"));
    folder
}

#[test]
fn an_export_of_a_warehouse_is_read_and_said() {
    let folder = shop();
    let ingest = "ingest --clicks warehouse.csv --documents catalogue.jsonl --out data --force";
    insta::assert_snapshot!("warehouse", messages(&folder, ingest));
    insta::assert_snapshot!("warehouse_summary", folder.text(&format!("{ingest} --quiet")));
    let summary = folder.text(&format!("{ingest} --quiet --format csv"));
    for expected in [
        "cells are separated by ';' (recognised by the first rows)",
        "dates are a day, a month and a year (recognised by the rows)",
        "columns ignored: shop (no role)",
        "fields not indexed: productId, categories.id (ids); image (URLs or files); sizes (nested)",
    ] {
        assert!(summary.contains(expected), "{expected}\n{summary}");
    }
    let manifest = folder.json(&format!("{ingest} --format json"));
    assert_eq!(manifest["statistics"]["n_clicks"], 5.0);
    let source = |role: &str| {
        manifest["sources"].as_array().unwrap().iter().find(|s| s["role"] == role).unwrap().clone()
    };
    assert_eq!(source("clicks")["ignored"], serde_json::json!([{"column": "shop", "reason": "no role"}]));
    let ignored = source("documents")["ignored"].clone();
    assert!(
        ignored.as_array().unwrap().contains(&serde_json::json!({"column": "sizes", "reason": "nested"}))
    );
    // The same data as commas and dates of ISO 8601.
    folder.write(
        "plain.csv",
        "query,document,clicks,time\n\"rote, weite Schuhe\",d1,3,2011-09-14T12:46:00Z\nhut,d2,2,2011-09-15T08:00:00Z\n",
    );
    let plain = folder.json(
        "ingest --clicks plain.csv --documents catalogue.jsonl --column document=sku --column plain.csv:document=document \
         --out data --force --format json",
    );
    assert_eq!(plain["content_hash"], manifest["content_hash"]);
}

#[test]
fn event_types_are_weighted_or_refused() {
    let folder = shop();
    let ingest = "ingest --clicks events.csv --documents catalogue.jsonl --out data --force";
    insta::assert_snapshot!("event_types_without_weights", folder.refused(ingest));
    let unknown = format!("{ingest} --event-weights clik=1,purchase=5");
    insta::assert_snapshot!("event_type_that_no_file_has", folder.refused(&unknown));
    let weighted = format!("{ingest} --event-weights click=1,add_to_cart=3,purchase=5");
    insta::assert_snapshot!("event_types_with_weights", messages(&folder, &weighted));
    let manifest = folder.json(&format!("{weighted} --format json"));
    assert_eq!(manifest["statistics"]["n_clicks"], 9.0);
    assert_eq!(manifest["left_out"]["events of types that count nothing"], 3);
    let events = &manifest["sources"][1]["events"];
    assert_eq!(events[0], serde_json::json!({"name": "view", "rows": 2, "weight": null}));
    for (weights, expected) in [
        ("click=-1", "the weight of the event type 'click' is -1; 0, or a number from 1/65536 to 1,000,000"),
        ("click=NaN", "the weight of the event type 'click' is NaN"),
        ("click=inf", "the weight of the event type 'click' is inf"),
        ("click=x", "'x' is not a number"),
        ("click", "expected TYPE=WEIGHT"),
        ("click=1,click=2", "names the event type 'click' twice"),
    ] {
        let error = folder.refused(&format!("{ingest} --event-weights {weights}"));
        assert!(error.contains(expected), "{weights}: {error}");
    }
    let error = folder.refused(
        "ingest --clicks warehouse.csv --documents catalogue.jsonl --out data --force --event-weights click=1",
    );
    assert!(
        error.contains("no click log has a column of event types; name it with --column event=NAME"),
        "{error}"
    );
}

#[test]
fn delimiters_and_dates_can_be_named() {
    let folder = shop();
    let ingest = |flags: &str| {
        format!("ingest --clicks log.csv --documents catalogue.jsonl --split time --out data --force {flags}")
    };
    let rows = |time: fn(u32) -> String| -> String {
        (1..=12).map(|day| format!("red,d{},{}\n", 1 + day % 2, time(day))).collect()
    };
    folder.write("log.csv", format!("query,sku,time\n{}", rows(|day| format!("02/{day:02}/2011"))));
    insta::assert_snapshot!("ambiguous_dates", folder.refused(&ingest("")));
    let hash = |flags: &str| folder.json(&format!("{} --format json", ingest(flags)))["content_hash"].clone();
    let (day_first, month_first) = (hash("--date-format %d/%m/%Y"), hash("--date-format %m/%d/%Y"));
    assert_ne!(day_first, month_first);
    folder.write("log.csv", format!("query,sku,time\n{}", rows(|day| format!("2011-02-{day:02}"))));
    assert_eq!(hash(""), month_first);
    insta::assert_snapshot!("dates_of_another_format", folder.refused(&ingest("--date-format %d/%m/%Y")));
    let error = folder.refused(&ingest("--date-format dd.mm.yyyy"));
    assert!(error.contains("--date-format: 'dd.mm.yyyy' has no day"), "{error}");
    folder.write(
        "log.csv",
        format!("query,sku,time\n{}", rows(|day| format!("2011-02-{day:02}"))).replace(',', "^"),
    );
    assert_eq!(hash("--delimiter ^"), month_first);
    let error = folder.refused(&ingest("--delimiter ab"));
    assert!(error.contains("expected one character"), "{error}");
}
