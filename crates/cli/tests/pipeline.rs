//! From files to figures through the real binary: every input format gives the same dataset, splits hold out what they
//! promise, and rankings and figures are right.

mod matchrank;

use std::path::Path;

use matchrank::Folder;
use serde_json::Value;

const DOCUMENTS: &str = "id,title,body\nd1,Red shoes,running shoes for the road\nd2,Blue shoes,shoes for dancing\n\
                         d3,Green hat,\"a hat, wide\nand green\"\nd4,Umbrella,keeps the rain off\n";
const LOG: &str = "query,document,clicks,time,position\nred shoes,d1,3,2026-01-01T10:00:00Z,1\n\
                   RED  Shoes,d2,1,2026-01-02T10:00:00Z,2\nhat,d3,5,2026-01-03T10:00:00Z,1\n\
                   rain,d4,2,2026-01-04T10:00:00Z,1\nred shoes,d1,2,2026-01-05T10:00:00Z,1\n";

fn dataset() -> Folder {
    let folder = Folder::new();
    folder.write("docs.csv", DOCUMENTS);
    folder.write("log.csv", LOG);
    folder
}

fn tables(manifest: &Value) -> Vec<(String, String)> {
    let tables = manifest["tables"].as_object().unwrap();
    tables.iter().map(|(name, table)| (name.clone(), table["blake3"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn clicks_are_added_up_and_queries_normalised() {
    let folder = dataset();
    let manifest = folder.json("ingest --clicks log.csv --documents docs.csv --out data --format json");
    let s = &manifest["statistics"];
    assert_eq!(
        (&s["n_x"], &s["n_y"], &s["n_pairs"], &s["n_queries"]),
        (&3.into(), &4.into(), &4.into(), &3.into())
    );
    assert_eq!(s["n_clicks"], 13.0);
    // red shoes -> d1, d2; hat -> d3; rain -> d4
    assert_eq!(s["documents_per_query"].as_f64().unwrap(), 4.0 / 3.0);
    // words: "red shoe", "hat", "rain" with 4 pairs: (4 + 4) / 3 features per query
    assert!((s["c_x"].as_f64().unwrap() - 8.0 / 3.0).abs() < 1e-12);
    assert_eq!(manifest["fields"], serde_json::json!([["title", 1.0], ["body", 1.0]]));
}

#[test]
fn every_format_gives_the_same_tables() {
    let folder = dataset();
    let expected =
        tables(&folder.json("ingest --clicks log.csv --documents docs.csv --out from-csv --format json"));
    let rows: Vec<Vec<&str>> = LOG.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let tsv: String = std::iter::once("query\tdocument\tclicks\ttime\tposition".to_owned())
        .chain(rows.iter().map(|row| row.join("\t")))
        .map(|line| line + "\r\n")
        .collect();
    let jsonl: String = rows
        .iter()
        .map(|r| {
            format!(
                "{{\"search_term\": \"{}\", \"sku\": \"{}\", \"clicks\": {}, \"ts\": \"{}\", \"rank\": {}}}\n",
                r[0], r[1], r[2], r[3], r[4]
            )
        })
        .collect();
    folder.write("log.tsv", &tsv);
    folder.write("log.jsonl", &jsonl);
    folder.write("log.csv.gz", folder.gzip(LOG.as_bytes()));
    folder.write("log.csv.zst", zstd::encode_all(LOG.as_bytes(), 3).unwrap());
    folder.write_parquet("log.parquet", &["query", "document", "clicks", "time", "position"], &rows);
    let docs: String = [
        ("d1", "Red shoes", "running shoes for the road"),
        ("d2", "Blue shoes", "shoes for dancing"),
        ("d3", "Green hat", "a hat, wide\\nand green"),
        ("d4", "Umbrella", "keeps the rain off"),
    ]
    .iter()
    .map(|(id, title, body)| format!("{{\"id\": \"{id}\", \"title\": \"{title}\", \"body\": \"{body}\"}}\n"))
    .collect();
    folder.write("docs.jsonl", &docs);
    for log in ["log.tsv", "log.jsonl", "log.csv.gz", "log.csv.zst", "log.parquet"] {
        let out = format!("from-{log}");
        let manifest = folder
            .json(&format!("ingest --clicks {log} --documents docs.jsonl --out {out} --format json --quiet"));
        assert_eq!(tables(&manifest), expected, "{log}");
    }
    // Little memory and other numbers of threads change nothing either.
    for flags in ["--memory 0 --threads 1", "--threads 2", "--threads 8"] {
        let manifest = folder.json(&format!(
            "ingest --clicks log.csv --documents docs.csv --out again --force --format json {flags}"
        ));
        assert_eq!(tables(&manifest), expected, "{flags}");
    }
}

#[test]
fn ubi_and_metarank_events_give_the_clicks_of_the_plain_log() {
    let folder = Folder::new();
    folder.write("docs.tsv", "d1\tred shoes\nd2\tblue shoes\n");
    folder.write("log.csv", "query,document,clicks,shown\nshoes,d1,2,2\nshoes,d2,0,2\nblue,d2,1,1\n");
    folder.write(
        "ubi_queries.jsonl",
        "{\"query_id\": \"s1\", \"user_query\": \"shoes\", \"client_id\": \"c\", \"timestamp\": \"2026-01-01T00:00:00Z\"}\n\
         {\"query_id\": \"s2\", \"user_query\": \"Shoes\", \"client_id\": \"c\", \"timestamp\": \"2026-01-01T00:00:00Z\"}\n\
         {\"query_id\": \"s3\", \"user_query\": \"blue\", \"client_id\": \"c\", \"timestamp\": \"2026-01-01T00:00:00Z\"}\n",
    );
    let event = |action: &str, search: &str, document: &str, position: u32| {
        format!(
            "{{\"action_name\": \"{action}\", \"query_id\": \"{search}\", \"timestamp\": \"2026-01-01T00:00:01Z\", \
             \"event_attributes\": {{\"object\": {{\"object_id\": \"{document}\"}}, \"position\": {{\"ordinal\": {position}}}}}}}\n"
        )
    };
    let events: String = [
        event("impression", "s1", "d1", 1),
        event("impression", "s1", "d2", 2),
        event("product_click", "s1", "d1", 1),
        event("impression", "s2", "d1", 1),
        event("impression", "s2", "d2", 2),
        event("product_click", "s2", "d1", 1),
        event("impression", "s3", "d2", 1),
        event("click", "s3", "d2", 1),
        event("add_to_cart", "s3", "d2", 1),
    ]
    .concat();
    folder.write("ubi_events.jsonl", &events);
    let ranking = |id: &str, query: &str, items: &str| {
        format!(
            "{{\"event\": \"ranking\", \"id\": \"{id}\", \"timestamp\": \"1767225600000\", \"user\": \"u\", \
             \"fields\": [{{\"name\": \"query\", \"value\": \"{query}\"}}], \"items\": [{items}]}}\n"
        )
    };
    let click = |id: &str, ranking: &str, item: &str| {
        format!(
            "{{\"event\": \"interaction\", \"id\": \"{id}\", \"ranking\": \"{ranking}\", \"timestamp\": \"1767225601000\", \
             \"user\": \"u\", \"type\": \"click\", \"item\": \"{item}\"}}\n"
        )
    };
    let item = |id: &str, title: &str| {
        format!(
            "{{\"event\": \"item\", \"id\": \"i-{id}\", \"item\": \"{id}\", \"timestamp\": \"1767225600000\", \
             \"fields\": [{{\"name\": \"title\", \"value\": \"{title}\"}}, {{\"name\": \"price\", \"value\": 3}}]}}\n"
        )
    };
    let both = "{\"id\": \"d1\"}, {\"id\": \"d2\"}";
    let metarank: String = [
        item("d1", "red shoes"),
        item("d2", "blue shoes"),
        ranking("s1", "shoes", both),
        click("c1", "s1", "d1"),
        ranking("s2", "SHOES", both),
        click("c2", "s2", "d1"),
        ranking("s3", "blue", "{\"id\": \"d2\"}"),
        click("c3", "s3", "d2"),
    ]
    .concat();
    folder.write("metarank.jsonl", &metarank);
    let statistics = |clicks: &str, documents: &str, out: &str| {
        let args =
            format!("ingest --clicks {clicks} --documents {documents} --out {out} --format json --quiet");
        folder.json(&args)["statistics"].clone()
    };
    let plain = statistics("log.csv", "docs.tsv", "plain");
    assert_eq!((&plain["n_pairs"], &plain["n_clicks"]), (&2.into(), &3.0.into()));
    let ubi = "ubi_queries.jsonl ubi_events.jsonl";
    let clicks_alone = format!("{ubi} --event-weights product_click=1,click=1");
    assert_eq!(statistics(&clicks_alone, "docs.tsv", "ubi"), plain);
    // By default the addition to the cart counts as much as a click.
    let with_carts = statistics(ubi, "docs.tsv", "carts");
    assert_eq!((&with_carts["n_pairs"], &with_carts["n_clicks"]), (&2.into(), &4.0.into()));
    assert_eq!(statistics("metarank.jsonl", "metarank.jsonl", "metarank"), plain);
}

#[test]
fn a_time_split_holds_out_the_last_clicks_and_a_query_split_whole_queries() {
    let folder = dataset();
    let manifest = folder.json(
        "ingest --clicks log.csv --documents docs.csv --split time --holdout 0.15,0.15 --out by-time --format json",
    );
    // 13 clicks: the last 2 come nearest to 0.15 of them, then the 2 before.
    let s = &manifest["statistics"];
    assert_eq!((&s["n_clicks"], &s["n_judgments"]), (&9.0.into(), &serde_json::json!([1, 1])));
    let log: String = std::iter::once("query,document\n".to_owned())
        .chain((0..3000).map(|i| format!("query {},d{}\n", i % 600, 1 + i % 4)))
        .collect();
    folder.write("many.csv", &log);
    let manifest = folder
        .json("ingest --clicks many.csv --documents docs.csv --split query --out by-query --format json");
    let s = &manifest["statistics"];
    let [validation, test] = [0, 1].map(|i| s["n_judged_queries"][i].as_u64().unwrap());
    assert_eq!(s["n_x"].as_u64().unwrap() + validation + test, 600, "a query is in one part only");
    assert!((30..100).contains(&validation) && (30..100).contains(&test), "{validation} {test}");
}

#[test]
fn held_out_queries_leave_no_trace_in_the_features() {
    let folder = dataset();
    let manifest = folder.json(
        "ingest --clicks log.csv --documents docs.csv --split time --holdout 0.15,0.15 --out data --format json",
    );
    // "rain" is held out, and its word occurs in document d4 only; training has "red shoe" and "hat" with
    // three pairs: c_x = (3 + 3) / 2.
    let s = &manifest["statistics"];
    assert_eq!((&s["n_x"], &s["n_pairs"], &s["c_x"]), (&2.into(), &3.into(), &3.0.into()));
}

#[test]
fn judgments_may_be_tables_and_name_queries_by_text() {
    let folder = dataset();
    folder.write("by-text.csv", "query,document,stars\nRed  shoes,d1,4\nhat,d3,2\n");
    folder.write("by-id.tsv", "query-id\tcorpus-id\tscore\nred_shoes\td1\t4\nhat\td3\t2\n");
    folder.write("trec.tsv", "red_shoes\t0\td1\t4\nhat\t0\td3\t2\n");
    let judged = |judgments: &str, out: &str| {
        let args = format!(
            "ingest --clicks log.csv --documents docs.csv --judgments test={judgments} --out {out} --format json"
        );
        let manifest = folder.json(&args);
        manifest["tables"]["judgments.parquet"]["blake3"].as_str().unwrap().to_owned()
    };
    let expected = judged("trec.tsv", "from-trec");
    assert_eq!(judged("by-id.tsv", "from-ids"), expected);
    assert_eq!(judged("by-text.csv --column grade=stars", "from-texts"), expected);
}

#[test]
fn a_log_with_search_ids_is_not_taken_for_ubi_queries() {
    let folder = dataset();
    folder.write(
        "searches.csv",
        "query_id,user_query,object_id,timestamp\ns1,red shoes,d1,20260101\ns2,hat,d3,20260102\n",
    );
    let manifest = folder.json("ingest --clicks searches.csv --documents docs.csv --out data --format json");
    assert_eq!(manifest["statistics"]["n_pairs"], 2);
}

#[test]
fn candidates_are_scored_by_the_fields_of_the_model() {
    let folder = dataset();
    folder.write("queries.tsv", "q1\tgreen shoes\n");
    folder.write("test.qrels", "q1 0 d1 1\nq1 0 d3 1\n");
    let ingest = "ingest --clicks log.csv --documents docs.csv --queries queries.tsv --judgments test=test.qrels --format json";
    folder.json(&format!("{ingest} --text title,body --out ab"));
    folder.json(&format!("{ingest} --text body,title --out ba"));
    folder.json(&format!("{ingest} --text title --out a"));
    folder.json("train bm25 --data ab --out ab.model --format json");
    folder.json("rank --model ab.model --data ab --candidates judged --out ab.run --format json");
    folder.json("rank --model ab.model --data ba --candidates judged --out ba.run --format json");
    assert_eq!(folder.read("ab.run"), folder.read("ba.run"));
    let error = folder.refused("rank --model ab.model --data a --candidates judged --out a.run");
    assert!(error.contains("ab.model: the model reads the text field 'body'"), "{error}");
    folder.write("other.qrels", "zz 0 d1 1\n");
    let error = folder.refused("rank --model ab.model --data ab --candidates other.qrels --out x.run");
    assert!(error.contains("other.qrels: has no document for any of the queries"), "{error}");
}

#[cfg(unix)]
#[test]
fn results_follow_links_and_go_into_pipes() {
    let folder = dataset();
    folder.text("ingest --clicks log.csv --documents docs.csv --split time --holdout 0.15,0.15 --out data");
    folder.text("train bm25 --data data --out bm25.model");
    folder.write("target.run", "old");
    std::os::unix::fs::symlink("target.run", folder.path().join("link.run")).unwrap();
    folder.text("rank --model bm25.model --data data --out link.run");
    assert!(folder.read("target.run").contains(" Q0 "), "the link was followed");
    assert!(folder.path().join("link.run").is_symlink());
    let out = folder.text("rank --model bm25.model --data data --out -");
    assert_eq!(out, folder.read("target.run"), "standard output has the run alone");
    let json = folder.json("rank --model bm25.model --data data --out - --format json");
    let first = out.split(' ').next().unwrap();
    assert_eq!(json["rankings"][0]["query"], first);
}

#[test]
fn bm25_from_ingest_to_eval() {
    let folder = dataset();
    folder.write("queries.tsv", "q1\tshoes for the road\nq2\train\nq3\tzebra\n");
    folder.write("test.qrels", "q1 0 d1 2\nq1 0 d2 1\nq1 0 d4 0\nq2 0 d4 1\nq2 0 d3 0\n");
    folder.json(
        "ingest --clicks log.csv --documents docs.csv --queries queries.tsv --judgments test=test.qrels --out data \
         --format json",
    );
    let trained = folder.json("train bm25 --data data --set b=0.4 --out bm25.model --format json");
    assert_eq!((&trained["params"]["b"], &trained["params"]["k1"]), (&0.4.into(), &1.2.into()));
    let ranked = folder.json("rank --model bm25.model --data data --split test --out bm25.run --format json");
    assert_eq!((&ranked["queries"], &ranked["documents"]), (&2.into(), &3.into()));
    let run = folder.read("bm25.run");
    let documents: Vec<&str> = run.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    assert_eq!(documents, ["d1", "d2", "d4"]);
    // Candidates get the same scores as in the search, and 0 without a common word.
    folder.json("rank --model bm25.model --data data --candidates judged --out judged.run --format json");
    let judged = folder.read("judged.run");
    for line in run.lines() {
        let found = judged.lines().find(|l| l.split(' ').take(3).eq(line.split(' ').take(3))).unwrap();
        assert_eq!(found.split(' ').nth(4), line.split(' ').nth(4));
    }
    assert!(judged.lines().any(|line| line.starts_with("q2 Q0 d3 2 0 ")), "{judged}");
    let figures = folder.json("eval --qrels test.qrels --run bm25.run --measures ndcg@10,map --format json");
    assert_eq!(figures["runs"][0]["measures"]["ndcg@10"], 1.0);
    // A query that is in no file of the dataset.
    folder.write("new.tsv", "n1\tgreen hats\nn2\tzebra\n");
    folder.json("rank --model bm25.model --data data --queries new.tsv --top 1 --out new.run --format json");
    assert!(folder.read("new.run").starts_with("n1 Q0 d3 1 "));
    // The second ranking reads the index from the dataset folder and gives the same bytes.
    folder.json("rank --model bm25.model --data data --split test --out again.run --format json --threads 1");
    assert_eq!(folder.read("again.run"), run);
}

#[test]
fn the_demo_tells_the_whole_story_twice_the_same() {
    let folder = Folder::new();
    let first = folder.json("demo --format json");
    let models = first["comparison"]["models"].as_array().unwrap();
    let model = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    let ndcg = |name: &str| model(name)["test"]["ndcg@10"].as_f64().unwrap();
    assert_eq!(models.len(), 15);
    for name in ["rmls", "pls", "bltm", "sparse-preference", "rmls+bm25", "stack"] {
        let beats = model(name)["beats"].as_array().unwrap();
        assert!(beats.contains(&"bm25".into()), "{name} is better than BM25, significantly: {beats:?}");
    }
    assert!(ndcg("rmls+bm25") > ndcg("bm25") && ndcg("bm25") > 0.65, "a random order has 0.49");
    let second = folder.json("demo --format json --threads 1");
    for (one, two) in models.iter().zip(second["comparison"]["models"].as_array().unwrap()) {
        for part in ["name", "params", "validation", "test", "intervals", "bins", "beats"] {
            assert_eq!(one[part], two[part], "{} {part}", one["name"]);
        }
    }
    let made = [
        "log/clicks.csv",
        "dataset/manifest.json",
        "comparison/models/bm25.model",
        "comparison/runs/bm25.run",
    ];
    for made in made.into_iter().chain(["comparison/comparison.json", "report.html"]) {
        assert!(Path::new(folder.path()).join("matchrank-demo").join(made).is_file(), "{made}");
    }
    let text = folder.text("demo --out other");
    for expected in ["the papers' protocol", "matchrank eval --data other/dataset", "other/report.html"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    // The demo prints one explanation, one list of related words and one inspection, and the commands themselves print
    // the same.
    let look = &first["look"];
    let (query, document) = (look["query"].as_str().unwrap(), look["document"].as_str().unwrap());
    for expected in [format!("Why {document} is the best document for '{query}'"), "all other pairs".into()] {
        assert!(text.contains(&expected), "{expected}\n{text}");
    }
    let word = look["word"].as_str().unwrap();
    let related = folder
        .json(&format!("related {word} --model other/comparison/models/rmls.model --top 5 --format json"));
    assert_eq!(related["related"], look["related"]);
    assert_eq!(related["related"].as_array().unwrap().len(), 5);
    // Merchants say trainer and running shoe; nothing but the clicks tells.
    let nearest: Vec<&str> =
        related["related"].as_array().unwrap().iter().map(|near| near["word"].as_str().unwrap()).collect();
    assert!(word == "sneaker" && nearest.contains(&"trainer") && nearest.contains(&"run"), "{nearest:?}");
    let unwritten = look["unwritten"].as_array().unwrap();
    let documents = folder.read("other/log/documents.jsonl").to_lowercase();
    for unwritten in unwritten {
        let word = unwritten["word"].as_str().unwrap();
        let is_written = documents.split(|c: char| !c.is_alphanumeric()).any(|written| written == word);
        assert!(!is_written && text.contains(word), "{word}");
        let model = "other/comparison/models/rmls.model";
        let related = folder.json(&format!("related {word} --model {model} --top 3 --format json"));
        let nearest: Vec<&Value> =
            related["related"].as_array().unwrap().iter().map(|near| &near["word"]).collect();
        assert_eq!(nearest, unwritten["related"].as_array().unwrap().iter().collect::<Vec<_>>());
    }
    assert_eq!(unwritten.len(), 10);
    assert_eq!((&look["is_seen"], &look["shares_a_word"]), (&false.into(), &false.into()));
    assert!(text.contains(related["related"][4]["word"].as_str().unwrap()), "{text}");
    assert!(
        text.contains("document features have rows of 1,000 numbers") && text.contains("No collapse."),
        "{text}"
    );
}

/// Judged documents were found by rankings, so they are better than most. A weight that orders them well may put
/// documents that nobody judged first.
#[test]
fn a_combination_tuned_on_the_collection_ranks_it_better() {
    let folder = Folder::with_dataset();
    folder.text("compare --data data --models bm25,rmls --trials 3 --out comparison --quiet");
    let ndcg = |candidates: &str| {
        folder.text(&format!(
            "train combination --data data --of comparison/models/rmls.model comparison/models/bm25.model \
             --candidates {candidates} --out both.model"
        ));
        folder.text("rank --model both.model --data data --out both.run");
        let made = folder.json("eval --qrels log/test.qrels --run both.run --measures ndcg@10 --format json");
        made["runs"][0]["measures"]["ndcg@10"].as_f64().unwrap()
    };
    let (all, judged) = (ndcg("all"), ndcg("judged"));
    assert!(all > judged + 0.02, "{all} {judged}");
}
