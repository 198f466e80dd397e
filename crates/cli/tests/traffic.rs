//! Evaluation by held-out clicks through the real binary: grades by share, means weighted by traffic, new documents.

mod matchrank;

use matchrank::Folder;

/// Twelve of forty clicks are held out: for `red`, d1 has 6, d2 has 3 and d3 has 1; for `blue`, d4 has 2, and no other
/// click is on d4.
fn shop(grades: &str) -> Folder {
    let folder = Folder::new();
    folder.write("docs.csv", "id,title\nd1,red shoes\nd2,red boots\nd3,red hat\nd4,blue hat\n");
    folder.write(
        "log.csv",
        "query,document,clicks,time\nshoes,d1,10,2026-01-01\nboots,d2,9,2026-01-02\nhat,d3,9,2026-01-03\n\
         red,d1,6,2026-01-04\nred,d2,3,2026-01-04\nred,d3,1,2026-01-04\nblue,d4,2,2026-01-04\n",
    );
    let ingest = "ingest --clicks log.csv --documents docs.csv --split time --holdout 0,0.3 --out shop";
    folder.text(&format!("{ingest} {grades} --quiet"));
    folder.write("a.run", "red Q0 d2 1 3 a\nred Q0 d1 2 2 a\nred Q0 d3 3 1 a\nblue Q0 d4 1 1 a\n");
    folder.write("b.run", "red Q0 d1 1 3 b\nred Q0 d2 2 2 b\nred Q0 d3 3 1 b\nblue Q0 d3 1 1 b\n");
    folder
}

fn close(value: &serde_json::Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
}

#[test]
fn clicks_are_graded_by_share_and_queries_weighted_by_clicks() {
    let folder = shop("");
    let json = folder.json("eval --data shop --run a.run b.run --measures ndcg@10,map --format json");
    // Grades 4, 3 and 2 have gains 15, 7 and 3.
    let second = 1.0 / 3f64.log2();
    let red = (7.0 + 15.0 * second + 1.5) / (15.0 + 7.0 * second + 1.5);
    close(&json["runs"][0]["measures"]["ndcg@10"], (red + 1.0) / 2.0);
    close(&json["runs"][0]["by_traffic"]["ndcg@10"], (10.0 * red + 2.0) / 12.0);
    close(&json["runs"][1]["by_traffic"]["ndcg@10"], 10.0 / 12.0);
    close(&json["runs"][0]["measures"]["map"], 1.0);
    assert_eq!(json["held_out_clicks"], serde_json::json!({ "clicks": 12.0, "on_new_documents": 2.0 }));

    let table = folder.text("eval --data shop --run a.run b.run");
    assert!(table.lines().all(|line| line.chars().count() <= 120 || line.contains("audit")), "{table}");
    let row = table.lines().find(|line| line.contains(" b.run ") || line.contains(" b ")).unwrap();
    assert!(row.contains(&format!("{:.4}", 10.0 / 12.0)), "{table}");
    for line in [
        "by traffic: ndcg@10, every query weighted by its held-out clicks; tests are of the plain mean",
        "2 of 12 held-out clicks (16.7 %) are on documents without a click in the training data",
    ] {
        assert!(table.contains(line), "{line}\n{table}");
    }
    let csv = folder.text("eval --data shop --run b.run --measures ndcg@10,map --by seen --format csv");
    let mut rows = csv.lines();
    assert_eq!(rows.next().unwrap(), "run,bin,queries,ndcg@10,map,ndcg@10 by traffic,map by traffic");
    assert!(rows.next().unwrap().starts_with("b,(all),2,0.5,0.5,0.8333333333333334,"), "{csv}");
    assert!(rows.next().unwrap().ends_with(",,"), "{csv}");
}

#[test]
fn binary_grades_are_an_option_and_judgments_have_no_traffic() {
    let folder = shop("--grades binary");
    let json = folder.json("eval --data shop --run a.run --measures ndcg@10 --format json");
    close(&json["runs"][0]["measures"]["ndcg@10"], 1.0);
    folder.write("qrels", "red 0 d1 1\n");
    let json = folder.json("eval --qrels qrels --run a.run --format json");
    assert!(json["runs"][0]["by_traffic"].is_null() && json["held_out_clicks"].is_null());
    assert!(!folder.text("eval --qrels qrels --run a.run").contains("traffic"));
}

#[test]
fn a_comparison_weights_by_traffic_too() {
    let folder = Folder::new();
    folder.text("simulate shop --out log --quiet");
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/documents.jsonl --split time --out shop --quiet",
    );
    let table =
        folder.text("compare --data shop --models bm25,clicks --trials 1 --measures ndcg@10 --out c --quiet");
    assert!(table.contains(" by traffic "), "{table}");
    assert!(table.split("\n\n").next().unwrap().lines().all(|line| line.chars().count() <= 120), "{table}");
    assert!(table.contains("are on documents without a click in the training data"), "{table}");
    let made: serde_json::Value = serde_json::from_str(&folder.read("c/comparison.json")).unwrap();
    for row in made["models"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let run = format!("eval --data shop --run c/runs/{name}.run --measures ndcg@10 --format json");
        let evaluated = folder.json(&run);
        close(&row["by_traffic"]["ndcg@10"], evaluated["runs"][0]["by_traffic"]["ndcg@10"].as_f64().unwrap());
        assert_eq!(made["split"]["held_out_clicks"], evaluated["held_out_clicks"]);
    }
}

#[test]
fn documents_without_a_click_are_marked() {
    let folder = shop("");
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    let search = folder.json("search --model bm25.model --data shop --format json hat");
    let marks: Vec<(&str, bool)> = search["results"].as_array().unwrap().iter().map(mark).collect();
    assert_eq!(marks.len(), 2);
    assert!(marks.contains(&("d3", false)) && marks.contains(&("d4", true)), "{marks:?}");
    let table = folder.text("search --model bm25.model --data shop blue");
    assert!(table.contains(" new "), "{table}");
    assert!(!folder.text("search --model bm25.model --data shop shoes").contains("new"));
    let csv = folder.text("search --model bm25.model --data shop --format csv shoes");
    assert_eq!(csv.lines().next(), Some(",document,title,new,score"));
    let ranked = folder.json("rank --model bm25.model --data shop --query hat --out - --format json");
    let ranked = ranked["rankings"][0]["documents"].as_array().unwrap();
    assert_eq!(ranked.iter().filter(|document| document["is_new"] == true).count(), 1);
    let why = folder.json("explain --model bm25.model --data shop --query hat --document d4 --format json");
    assert_eq!(why["is_new"], true);
}

fn mark(found: &serde_json::Value) -> (&str, bool) {
    (found["document"].as_str().unwrap(), found["is_new"].as_bool().unwrap())
}
