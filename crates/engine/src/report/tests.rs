//! Pages of comparisons that were made up: what they say, and that no text gets out of its place.

use matchrank_core::progress::Silent;
use serde_json::Value;

use super::{Explained, ModelPairs, OpenQuery, Page, ShownDocument, html};
use crate::by_name::ByName;
use crate::comparison::{
    BinFigures, Compared, Comparison, DataSummary, Entry, Latency, MeanOver, Protocol, TestQuery,
};
use crate::dataset::{Split, Statistics};
use crate::description::Curve;
use crate::doctor::{Finding, Report, Severity};
use crate::evidence::SmallestDifference;
use crate::json::Json;
use crate::scoring::{Explanation, Pair, Why};
use crate::validation::Ranked;

const HOSTILE: &str = r#"</script><script>alert(1)</script><img src=x onerror=alert(2)>'"&amp;--><!--"#;

/// A model with values of one measure.
pub(super) fn entry(name: &str, values: Vec<Option<f64>>) -> Entry {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let figures: ByName<f64> = [("ndcg@10".to_owned(), mean)].into_iter().collect();
    let row = Compared {
        name: name.to_owned(),
        kind: name.to_owned(),
        params: Json(serde_json::json!({ "d": 100, "text": { "stemmer": name } })),
        validation: figures.clone(),
        test: figures.clone(),
        by_traffic: ByName::default(),
        intervals: [("ndcg@10".to_owned(), [mean - 0.1, mean + 0.1])].into_iter().collect(),
        bins: [("seen".to_owned(), bins(figures))].into_iter().collect(),
        seconds: 1.0,
        tuning_seconds: 0.0,
        trials: 0,
        peak_mib: None,
        model_mib: 1.0,
        latency: Latency { p50_ms: 1.0, p95_ms: 2.0, queries: 1 },
        curves: vec![Curve {
            x: "iteration".into(),
            y: name.into(),
            points: vec![[1.0, 0.1], [2.0, 0.3]],
            kept: Some(2.0),
        }],
        beats: Vec::new(),
        beats_by: ByName::default(),
        notes: Vec::new(),
    };
    let top = vec![Vec::new(); values.len()];
    let per_query = [("ndcg@10".to_owned(), values)].into_iter().collect();
    Entry { key: String::new(), trained_key: String::new(), row, per_query, validation: Vec::new(), top }
}

fn bins(figures: ByName<f64>) -> Vec<BinFigures> {
    ["seen", "unseen"].map(|bin| BinFigures { bin: bin.into(), queries: 40, figures: figures.clone() }).into()
}

fn protocol() -> Protocol {
    Protocol {
        validation_queries: 7,
        test_queries: 40,
        held_out_clicks: None,
        chosen_on: None,
        folds: None,
        ranked: Ranked::All,
        mean_over: MeanOver::Queries,
        refit: false,
        measures: vec!["ndcg@10".into()],
        tuned_by: "ndcg@10".into(),
        test: "t".into(),
        level: 0.05,
        seconds: None,
        shared_seconds: None,
        seed: 1,
        threads: 2,
    }
}

/// A page about models with a value for every query; the first beats those named.
fn page(mut entries: Vec<Entry>, beaten: &[&str], text: &str) -> Page {
    let row = &mut entries[0].row;
    row.beats = beaten.iter().map(|&name| name.to_owned()).collect();
    row.beats_by.insert("ndcg@10".into(), row.beats.clone());
    let n = entries[0].per_query["ndcg@10"].len();
    let pairs = ModelPairs::of(&entries, &protocol(), &Silent).unwrap();
    let query = |i: usize| TestQuery {
        id: format!("q{i}"),
        text: text.to_owned(),
        clicks: 0.0,
        n_words: 2,
        judged: vec![("d".into(), 2.0)],
        traffic: 0.0,
    };
    let pair = Pair {
        query_feature: text.to_owned(),
        document_feature: format!("query:{text}"),
        x: 1.0,
        affinity: 1.0,
        y: 1.0,
        score: 1.0,
    };
    let explanation = Explanation { score: Some(1.0), why: Why::Pairs { pairs: vec![pair], others: 0.0 } };
    let finding = Finding {
        severity: Severity::Warning,
        code: "empty",
        message: text.to_owned(),
        count: 1,
        lines: Vec::new(),
        fix: text.to_owned(),
    };
    let data = DataSummary {
        name: text.to_owned(),
        folder: None,
        content_hash: "c0ffee".into(),
        statistics: Some(Statistics::default()),
    };
    Page {
        values: entries.iter().map(|entry| entry.per_query.clone()).collect(),
        baseline: entries.len() - 1,
        pairs,
        queries: (0..n).map(query).collect(),
        opened: vec![OpenQuery {
            query: 0,
            top: vec![vec![(0, Some(2.0))]; entries.len()],
            judged: vec![(2.0, 1)],
        }],
        documents: vec![ShownDocument {
            row: 0,
            id: text.to_owned(),
            title: text.to_owned(),
            text: text.to_owned(),
        }],
        explained: vec![Explained { opened: 0, model: 0, document: 0, explanation }],
        split: Some(Split::None),
        findings: vec![Report {
            file: text.to_owned(),
            kind: None,
            summary: text.to_owned(),
            findings: vec![finding],
        }],
        comparison: Comparison {
            version: "0.1.0".into(),
            smallest_difference: None,
            data,
            split: protocol(),
            chosen: None,
            models: entries.into_iter().map(|entry| entry.row).collect(),
            left_out: ByName::from([("ssi".to_owned(), text.to_owned())]),
            unfinished: Vec::new(),
        },
    }
}

fn values(mean: f64) -> Vec<Option<f64>> {
    (0..40).map(|i| Some(mean + 0.01 * f64::from(i % 5))).collect()
}

/// The data that the script gets.
fn data(page: &str) -> Value {
    let start = page.find(r#"id="page-data">"#).unwrap() + r#"id="page-data">"#.len();
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

#[test]
fn the_headline_says_what_is_known() {
    let models =
        |a: f64, b: f64, c: f64| vec![entry("a", values(a)), entry("b", values(b)), entry("c", values(c))];
    let clear = html(&page(models(0.5, 0.4, 0.3), &["b", "c"], "shop"));
    assert!(clear.contains("<h1>a is the best model</h1>"));
    assert!(clear.contains("a is significantly better than every other model."));
    assert!(clear.contains("The validation queries alone would choose a as well"));
    let near = html(&page(models(0.5, 0.499, 0.3), &["c"], "shop"));
    assert!(near.contains("<h1>a is ahead, though its lead over b may be chance</h1>"));
    assert!(near.contains(
        "These test queries cannot distinguish a from b; a is significantly better than the other."
    ));
    let none = html(&page(models(0.5, 0.499, 0.498), &[], "shop"));
    assert!(none.contains("<h1>No clear winner: the lead of a may be chance</h1>"));
    let mut baseline = page(models(0.5, 0.4, 0.3), &["b"], "shop");
    baseline.baseline = 0;
    assert!(html(&baseline).contains("<h1>No model beats the baseline a</h1>"));
    let one = html(&page(vec![entry("a", values(0.5))], &[], "shop"));
    assert!(one.contains("<h1>a is the only model</h1>"));
}

#[test]
fn marks_bins_and_curves_are_in_the_page_without_a_script() {
    let made = html(&page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &["b"], "shop"));
    assert!(made.contains("<sup>b</sup>"), "the mark of a significant difference");
    assert!(made.contains("0.5200") && made.contains("0.4200"));
    assert!(made.contains("kept at 2: 0.3"));
    assert!(made.contains("test was measured once"));
    assert!(made.contains("<strong>ssi</strong> could not be compared: shop"));
    let (before, _) = made.split_once(r#"<script type="application/json""#).unwrap();
    assert!(before.contains("unseen") && before.contains("text.stemmer"));
}

#[test]
fn no_text_gets_out_of_its_place() {
    let made = html(&page(vec![entry(HOSTILE, values(0.5)), entry("b", values(0.4))], &["b"], HOSTILE));
    assert_eq!(made.matches("<script").count(), 2, "the data and our own script");
    assert_eq!(made.matches("</script>").count(), 2);
    assert_eq!(made.matches("<img").count(), 0);
    assert_eq!(made.matches("<!--").count(), 0);
    assert_eq!(made.matches("<!").count(), 1, "the document type");
    assert!(made.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    let data = data(&made);
    assert_eq!(data["models"][0], HOSTILE);
    assert_eq!(data["documents"][0][1], HOSTILE);
    assert_eq!(data["queries"][0][0], HOSTILE);
}

#[test]
fn nothing_is_loaded_and_only_our_script_runs() {
    let made = html(&page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &[], "shop"));
    assert!(made.contains("default-src &#39;none&#39;") || made.contains("default-src 'none'"));
    let nonce = made.split("<script nonce=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(nonce.len(), 64);
    assert!(made.contains(&format!("nonce-{nonce}")));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let without_namespace = made.replace("http://www.w3.org/2000/svg", "");
        assert!(!without_namespace.contains(outside), "{outside}");
    }
}

#[test]
fn the_script_gets_every_pair_and_value() {
    let entries = vec![entry("a", values(0.5)), entry("b", values(0.4)), entry("c", values(0.3))];
    let data = data(&html(&page(entries, &["b"], "shop")));
    assert_eq!(data["pairs"][0].as_array().unwrap().len(), 3);
    assert_eq!(data["pairs"][0][0][0], 0.1);
    assert_eq!(data["pairs"][0][0][4], 40, "queries that a wins against b");
    assert_eq!(data["values"][0][2][1], 3100, "ten-thousandths");
    assert_eq!(data["opened"][0]["why"], serde_json::json!([0, null, null]));
    assert_eq!(data["higher"], serde_json::json!([true]));
}

#[test]
fn long_texts_do_not_swell_the_page() {
    let mut long = page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &["b"], "shop");
    let usual = html(&long).len();
    let text = "very long ".repeat(100_000);
    long.queries.iter_mut().for_each(|query| query.text.clone_from(&text));
    let Why::Pairs { pairs, .. } = &mut long.explained[0].explanation.why else { unreachable!() };
    pairs[0].document_feature = format!("query:{text}");
    assert!(html(&long).len() < usual + 20_000);
}

#[test]
fn queries_without_a_relevant_document_are_not_counted_in_means() {
    let with_gaps =
        |mean: f64| values(mean).into_iter().enumerate().map(|(i, v)| v.filter(|_| i % 4 > 0)).collect();
    let made = html(&page(vec![entry("a", with_gaps(0.5)), entry("b", with_gaps(0.4))], &["b"], "shop"));
    assert!(made.contains("Means over 30 test queries (of 40; the others have no relevant document)"));
    assert_eq!(data(&made)["pairs"][0][0][4], 30);
}

#[test]
fn folds_of_lists_have_a_page_too() {
    let mut folds = page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &["b"], "");
    folds.comparison.data.statistics = None;
    folds.split = None;
    folds.opened.clear();
    folds.explained.clear();
    folds.documents.clear();
    let made = html(&folds);
    assert!(made.contains("Each fold was tested once") && !made.contains("<template"));
    assert!(made.contains("No results are kept for these queries, so none can be opened."));
    assert_eq!(data(&made)["queries"][3][0], "q3", "a query without a text goes by its id");
}

#[test]
fn few_queries_are_no_evidence() {
    let few = |n: usize| {
        let mut entries = vec![entry("a", values(0.5)), entry("b", values(0.4))];
        for entry in &mut entries {
            entry.per_query.values_mut().for_each(|values| values.truncate(n));
            if n < 2 {
                entry.row.intervals.clear();
            }
        }
        let mut few = page(entries, &[], "shop");
        few.comparison.split.test_queries = n;
        html(&few)
    };
    let one = few(1);
    assert!(one.contains("<h1>Too few test queries to tell the models apart</h1>"));
    assert!(one.contains("<p>Nothing can be concluded from 1 test query.</p>"));
    let (before, _) = one.split_once(r#"<script type="application/json""#).unwrap();
    assert!(!before.contains("95 % interval ") && !before.contains(r#"class="whisker""#));
    assert!(before.contains(r#"<td class="number">–</td>"#), "no interval of one difference");
    assert!(few(9).contains("<p>Nothing can be concluded from 9 test queries.</p>"));
    let mut enough = page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &[], "shop");
    enough.comparison.smallest_difference = SmallestDifference::of(40, 1, 0.2, 0.05);
    let enough = html(&enough);
    assert!(enough.contains(
        "<p>With 40 test queries, differences in ndcg@10 below about 0.064 cannot be told from chance.</p>"
    ));
    assert!(!enough.contains("Nothing can be concluded") && enough.contains(r#"class="whisker""#));
}

#[test]
fn bins_by_what_training_knows_have_titles() {
    let mut made = page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &[], "shop");
    let bins = made.comparison.models[0].bins["seen"].clone();
    for model in &mut made.comparison.models {
        model.bins.insert("documents".into(), bins.clone());
        model.bins.insert("duplicates".into(), bins.clone());
    }
    let made = html(&made);
    assert!(made.contains("<h3>With or without a relevant document seen in training</h3>"));
    assert!(made.contains("<h3>With or without a near-duplicate among the training queries</h3>"));
}
