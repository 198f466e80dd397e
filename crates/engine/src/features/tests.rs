use matchrank_core::matching::ClickGraph;
use matchrank_core::matching::tf_idf::{Idf, Tf};
use matchrank_core::progress::Silent;

use super::*;
use crate::dataset::Clicks;
use crate::ingest::{IngestParams, SplitBy, ingest};
use crate::text::AnalyserParams;

const DOCUMENTS: &str = "id,title\nd0,red shoe\nd1,blue shoe shoe\nd2,hat\nd3,!\n";
const QUERIES: &str = "q0\tred sneaker\nq1\that\nq2\tRed  Sneaker\nq3\t?\nq4\tblue\n";

/// Creates a dataset in a temporary folder from a log of `query,document,clicks,time`.
fn dataset(log: &str) -> (tempfile::TempDir, Dataset) {
    dataset_of(DOCUMENTS, QUERIES, log)
}

fn dataset_of(documents: &str, queries: &str, log: &str) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let params = IngestParams {
        clicks: vec![file("log.csv", &format!("query_id,document,clicks,time\n{log}"))],
        documents: vec![file("docs.csv", documents)],
        queries: vec![file("queries.tsv", queries)],
        analyser: AnalyserParams::plain(),
        split: SplitBy::Time,
        holdout: [0.2, 0.2],
        ..IngestParams::default()
    };
    let out = folder.path().join("data");
    ingest(&params, &out, false, &Silent).unwrap();
    let dataset = Dataset::open(&out).unwrap();
    (folder, dataset)
}

/// 20 clicks, of which the last 4 are test and the 4 before them validation.
fn log(validation: &str, test: &str) -> String {
    format!(
        "q0,d0,3,2026-01-01\nq1,d2,4,2026-01-02\nq2,d1,1,2026-01-03\nq2,d0,1,2026-01-04\nq3,d3,3,2026-01-05\n\
         q0,{validation},4,2026-01-06\nq4,{test},4,2026-01-07\n"
    )
}

fn graph(params: &FeatureParams, dataset: &Dataset) -> (Features, ClickGraph, FeatureStatistics) {
    let features = Features::of_dataset(params, dataset).unwrap();
    let (graph, statistics) = click_graph(&features, dataset, Clicks::of(dataset).unwrap(), &Silent).unwrap();
    (features, graph, statistics)
}

fn entries(row: SparseRow<'_>) -> Vec<(u32, f32)> {
    row.iter().collect()
}

fn assert_close(found: &[(u32, f32)], expected: &[(u32, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for ((u, x), (v, y)) in found.iter().zip(expected) {
        assert!(u == v && (f64::from(*x) - y).abs() < 1e-6, "{found:?} {expected:?}");
    }
}

#[test]
fn blocks_of_words_and_clicks_have_their_lengths() {
    let (_folder, dataset) = dataset(&log("d1", "d1"));
    let params = FeatureParams { click_weight: 2.0, ..Default::default() };
    let (features, graph, statistics) = graph(&params, &dataset);
    // shoe (2 documents), blue, hat, red, then sneaker, which only queries have.
    let words: Vec<&str> = features.words().vocabulary.iter().map(|(term, ..)| term).collect();
    assert_eq!(words, ["shoe", "blue", "hat", "red", "sneaker"]);
    assert_eq!((features.d_x(), features.d_y()), (5 + 4, 5 + 5));
    let idf = |df: f64| (5.0 / (1.0 + df)).ln() + 1.0;
    // q0 and q2 are one query: 3 + 1 clicks on d0 and 1 on d1. Words have 1 part in 5 of the square.
    let [red, sneaker] = [idf(1.0), idf(0.0)];
    let words = (red * red + sneaker * sneaker).sqrt() * 5f64.sqrt();
    let [c0, c1] = [5f64.ln(), 2f64.ln()];
    let clicks = (c0 * c0 + c1 * c1).sqrt() * 5f64.sqrt() / 2.0;
    assert_close(
        &entries(graph.x().row(0)),
        &[(3, red / words), (4, sneaker / words), (5, c0 / clicks), (6, c1 / clicks)],
    );
    assert!(graph.x().row(2).indices().is_empty(), "its clicks stand with q0");
    assert_eq!(entries(graph.r().row(0)), [(0, 4.0), (1, 1.0)]);
    // "?" has no word, only its click on d3.
    assert_eq!(entries(graph.x().row(3)), [(8, 1.0)]);
    assert!(graph.x().row(4).indices().is_empty(), "a held-out query teaches nothing");
    // d1: blue shoe shoe, clicked by q0 (as q2).
    let [blue, shoe] = [idf(1.0), (1.0 + 2f64.ln()) * idf(2.0)];
    let words = (blue * blue + shoe * shoe).sqrt() * 5f64.sqrt();
    assert_close(&entries(graph.y().row(1)), &[(0, shoe / words), (1, blue / words), (5, 2.0 / 5f64.sqrt())]);
    let expected = FeatureStatistics {
        n_x: 3,
        n_y: 4,
        n_words: 5,
        d_x: 9,
        d_y: 10,
        c_x: 7.0 / 3.0,
        c_y: (3.0 + 3.0 + 2.0 + 1.0) / 4.0,
        m_x: 4,
        m_y: 3,
        n_pairs: 4,
        n_answers: 3.0 / 2.5,
        r_max: 4.0,
        n_empty_x: 0,
        n_empty_y: 0,
    };
    assert_eq!(statistics, expected);
    assert_eq!((features.feature(4), features.feature(6)), (Feature::Word("sneaker"), Feature::Row(1)));
}

#[test]
fn without_clicks_there_are_words_only() {
    let (_folder, dataset) = dataset(&log("d1", "d1"));
    let (features, graph, statistics) =
        graph(&FeatureParams::words_only(&WordParams { tf: Tf::Count, idf: Idf::None }), &dataset);
    assert_eq!((features.d_x(), features.d_y()), (5, 5));
    assert_eq!((statistics.n_empty_x, statistics.n_empty_y), (1, 1));
    let new = features.query("Hat, hat!", None);
    assert_eq!(entries(new.row()), [(2, 1.0)]);
    assert_eq!(features.document(&["hat"], None), features.query("hat", None));
    assert_close(&entries(graph.y().row(1)), &[(0, 2.0 / 5f64.sqrt()), (1, 1.0 / 5f64.sqrt())]);
    assert!(FeatureParams { click_weight: -1.0, ..Default::default() }.validate().is_err());
    assert!(FeatureParams { click_weight: f64::NAN, ..Default::default() }.validate().is_err());
}

#[test]
fn held_out_clicks_are_in_no_feature() {
    let (_folder, one) = dataset(&log("d1", "d1"));
    let (_other, two) = dataset(&log("d2", "d0"));
    let judged = |dataset: &Dataset| dataset.judgments(crate::dataset::Holdout::Test).unwrap();
    assert_ne!(judged(&one), judged(&two));
    let (_, one, _) = graph(&FeatureParams::default(), &one);
    let (_, two, _) = graph(&FeatureParams::default(), &two);
    assert_eq!(one, two);
}

#[test]
fn a_query_is_served_as_it_was_trained() {
    let (_folder, dataset) = dataset(&log("d1", "d1"));
    let (features, graph, _) = graph(&FeatureParams::default(), &dataset);
    let clicks = Clicks::of(&dataset).unwrap();
    let row = clicks.row_of(" RED sneaker").expect("training saw it");
    let served = features.query("Red sneaker", Some(clicks.of_query(row)));
    assert_eq!(served.row(), graph.x().row(row as usize));
    assert_eq!(clicks.row_of("blue"), None);
    let wanted = [1, 3];
    let some = document_rows(
        &features,
        crate::dataset::BoundDocuments::rows(&dataset, Some(&wanted)),
        Some((&clicks).into()),
        &Silent,
    )
    .unwrap();
    for (i, &document) in wanted.iter().enumerate() {
        assert_eq!(some.row(i), graph.y().row(document as usize));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_features() {
    let line = |i: u32, name: &str, tab: &str| format!("{name}{i}{tab}w{} w{} w{}\n", i % 97, i % 89, i % 83);
    let documents: String =
        std::iter::once("id,title\n".to_owned()).chain((0..3000).map(|i| line(i, "d", ","))).collect();
    let queries: String = (0..3000).map(|i| line(i * 7, "q", "\t")).collect();
    let log: String = (0..9000u32)
        .map(|i| {
            format!(
                "q{},d{},{},2026-01-{:02}\n",
                i * 31 % 3000 * 7,
                i * 17 % 2999,
                1 + i % 3,
                1 + i * 28 / 9000
            )
        })
        .collect();
    let (_folder, dataset) = dataset_of(&documents, &queries, &log);
    let of = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| graph(&FeatureParams::default(), &dataset).1)
    };
    let one = of(1);
    assert!(one.x().nnz() > 5000 && one.y().nnz() > 9000);
    assert_eq!(one, of(7));
}
