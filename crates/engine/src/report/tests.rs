//! Pages of comparisons that were made up: what they say, and that no text gets out of its place.

use matchrank_core::progress::Silent;
use serde_json::Value;

use super::{
    Example, ExampleKind, Explained, ModelPairs, OpenQuery, Page, SearchChange, ShownDocument, html,
};
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

/// A protocol of one measure.
pub(super) fn protocol() -> Protocol {
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

/// A query with one relevant document, d.
pub(super) fn test_query(i: usize, text: &str) -> TestQuery {
    TestQuery {
        id: format!("q{i}"),
        text: text.to_owned(),
        clicks: 0.0,
        n_words: 2,
        judged: vec![("d".into(), 2.0)],
        traffic: 0.0,
    }
}

/// A page about models with a value for every query; the first beats those named.
fn page(mut entries: Vec<Entry>, beaten: &[&str], text: &str) -> Page {
    let row = &mut entries[0].row;
    row.beats = beaten.iter().map(|&name| name.to_owned()).collect();
    row.beats_by.insert("ndcg@10".into(), row.beats.clone());
    let n = entries[0].per_query["ndcg@10"].len();
    let pairs = ModelPairs::of(&entries, &protocol(), &Silent).unwrap();
    let (baseline, protocol) = (entries.len() - 1, protocol());
    let queries: Vec<TestQuery> = (0..n).map(|i| test_query(i, text)).collect();
    let change = (baseline > 0)
        .then(|| SearchChange::of(&entries[0], &entries[baseline], &queries, &protocol))
        .flatten();
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
        baseline,
        chosen: 0,
        change,
        examples: Vec::new(),
        is_clicked: true,
        pairs,
        queries,
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
            made_on: Some("2026-11-18".into()),
            smallest_difference: None,
            data,
            split: protocol,
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

/// A model whose first result is the relevant one for the first `n` of 40 queries.
fn with_first(name: &str, mean: f64, n: usize) -> Entry {
    let mut made = entry(name, values(mean));
    let first = |i: usize| vec![(if i < n { "d" } else { "e" }.to_owned(), 1.0)];
    made.top = (0..40).map(first).collect();
    made
}

#[test]
fn the_headline_says_what_changes_for_searchers() {
    let compared = |a: (f64, usize), b: (f64, usize)| {
        page(vec![with_first("a", a.0, a.1), with_first("b", b.0, b.1)], &["b"], "shop")
    };
    let clear = compared((0.5, 30), (0.4, 10));
    let made = html(&clear);
    assert!(made.contains("<h1>50 more of 100 searches show a clicked result first</h1>"));
    assert!(made.contains("<b>25 → 75</b>"));
    assert!(made.contains("Each of the 40 test queries counts as one search"));
    assert!(
        made.contains("a puts a clicked result first for 20 queries where b does not, and b for 0 queries")
    );
    let judged = html(&Page { is_clicked: false, ..clear });
    assert!(judged.contains("<h1>50 more of 100 searches show a relevant result first</h1>"));
    let fewer = html(&compared((0.5, 10), (0.4, 30)));
    assert!(fewer.contains("<h1>50 fewer of 100 searches show a clicked result first</h1>"));
}

#[test]
fn what_may_be_chance_is_said_to_be() {
    // Better lists, and one more first result of 40.
    let near = html(&page(vec![with_first("a", 0.5, 11), with_first("b", 0.4, 10)], &["b"], "shop"));
    assert!(near.contains("<h1>a ranks better than b, but a change of the first results is not proven</h1>"));
    assert!(near.contains("The interval of this difference includes 0") && near.contains("; may be chance"));
    let noise = |shift: usize| (0..40).map(|i| Some(0.3 + 0.1 * ((i + shift) % 5) as f64)).collect();
    let mut entries = vec![with_first("a", 0.5, 11), with_first("b", 0.5, 10)];
    for (shift, entry) in entries.iter_mut().enumerate() {
        entry.per_query.insert("ndcg@10".into(), noise(shift));
    }
    let none = html(&page(entries, &[], "shop"));
    assert!(none.contains("<h1>No proven gain: a may be no better than b</h1>"));
    assert!(none.contains("By NDCG@10 a is not significantly better than b on the test queries."));
    let mut baseline = page(vec![with_first("a", 0.5, 20), with_first("b", 0.4, 10)], &["b"], "shop");
    (baseline.chosen, baseline.change) = (1, None);
    let baseline = html(&baseline);
    assert!(baseline.contains("<h1>Keep b: no other model is reliably better</h1>"));
    assert!(baseline.contains("nothing changes for searchers"));
    let one = html(&page(vec![entry("a", values(0.5))], &[], "shop"));
    assert!(one.contains("<h1>a is the only model</h1>"));
}

#[test]
fn the_title_has_the_data_and_the_day() {
    let mut dated = page(vec![entry("a", values(0.5)), entry("b", values(0.4))], &["b"], "shop");
    let made = html(&dated);
    assert!(made.contains("<title>Models compared on shop, 18\u{a0}November\u{a0}2026</title>"));
    assert!(made.contains("<time datetime=\"2026-11-18\">18\u{a0}November\u{a0}2026</time>"));
    dated.comparison.made_on = None;
    let former = html(&dated);
    assert!(former.contains("<title>Models compared on shop</title>") && !former.contains("<time"));
}

#[test]
fn one_difference_has_one_interval() {
    let mut entries = vec![with_first("a", 0.5, 30), with_first("b", 0.4, 10)];
    let noisy = (0..40).map(|i| Some(f64::from((i * 7) % 11) / 11.0)).collect();
    entries[0].per_query.insert("ndcg@10".into(), noisy);
    let made = page(entries, &["b"], "shop");
    let [low, high] = made.pairs.get(0, 0, 1).interval;
    let page = html(&made);
    let (text, _) = page.split_once(r#"<script type="application/json""#).unwrap();
    let interval = format!("{low:+.3} to {high:+.3}").replace('-', "−");
    // The tile, the advice, the dot plot, and the table of wins and losses.
    assert_eq!(text.matches(&interval).count(), 3 + 1, "{interval}");
}

#[test]
fn examples_show_both_lists_and_the_rule() {
    let mut shown = page(vec![with_first("a", 0.5, 30), with_first("b", 0.4, 10)], &["b"], "shop");
    let list = |grades: &[Option<f32>]| grades.iter().map(|grade| (0, *grade)).collect::<Vec<_>>();
    let example = |kind, top| Example { kind, query: 0, values: [0.25, 1.0], top };
    shown.examples = vec![
        example(ExampleKind::LargestWin, [list(&[None, Some(0.0)]), list(&[Some(2.0)])]),
        example(ExampleKind::LargestLoss, [list(&[Some(1.0)]), Vec::new()]),
    ];
    let made = html(&shown);
    assert!(made.contains("Before and after: 2 queries"));
    assert!(made.contains("the largest win and the largest loss are shown; of equal differences"));
    assert!(made.contains("a is better than b on 40 queries, worse on 0 queries and equal on 0 queries"));
    assert!(made.contains("NDCG@10 0.250 before, 1.000 after"));
    assert_eq!(made.matches("<span class=\"mark\">✓ clicked</span>").count(), 2);
    assert!(made.contains("No clicked result among the first 2.") && made.contains("Nothing found."));
    let judged = html(&Page { is_clicked: false, ..shown });
    assert!(judged.contains("<span class=\"mark\">✓ relevant, grade 2</span>"));
}

#[test]
fn models_are_explained_and_placed_by_their_latency() {
    let mut entries =
        vec![entry("stack", values(0.5)), entry("pls", values(0.4)), entry("bm25", values(0.3))];
    for (entry, ms) in entries.iter_mut().zip([20.0, 30.0, 0.1]) {
        entry.row.latency = Latency { p50_ms: ms, p95_ms: ms, queries: 40 };
    }
    let made = html(&page(entries, &["pls", "bm25"], "shop"));
    assert!(made.contains("<dt>bm25</dt><dd>BM25: matches words with words"));
    assert!(made.contains("Stack: a ranker whose features are the scores of several models."));
    assert!(made.contains("no other is both faster and better (stack and bm25)"));
    assert!(made.contains("stack (chosen)</span>") && made.contains("milliseconds a query, logarithmic"));
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
    let (_, appendix) = before.split_once(r#"<section id="appendix""#).unwrap();
    assert!(
        appendix.contains("<details class=\"folded\" id=\"training\"><summary>")
            && appendix.contains("kept at 2")
    );
    assert!(appendix.contains("Statistics") && !appendix.contains(" open"));
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
    assert!(
        before.contains(r#"<td class="number" data-label="95 % interval">–</td>"#),
        "no interval of one difference"
    );
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
