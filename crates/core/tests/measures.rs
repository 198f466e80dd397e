//! Compares measures with golden vectors, with the tools whose dialects they implement, and with slow, simple
//! implementations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use matchrank_core::data::qrels::{self, Judgment, Qrels};
use matchrank_core::data::run;
use matchrank_core::measure::significance::Test;
use matchrank_core::measure::{
    Conventions, Dialect, Evaluation, Measure, Missing, NoRelevant, Ties, evaluate, evaluate_list,
};
use proptest::prelude::*;
use serde_json::Value;

fn golden(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn golden_json(name: &str) -> Value {
    serde_json::from_slice(&golden(name)).unwrap()
}

fn close(ours: f64, theirs: f64, tolerance: f64, what: &str) {
    assert!((ours - theirs).abs() <= tolerance, "{what}: ours {ours}, expected {theirs}");
}

/// Evaluates one list whose documents are all judged.
fn list(scores: &[f32], labels: &[f32], measures: &[Measure], conventions: &Conventions) -> Vec<f64> {
    let ids: Vec<String> = (0..scores.len()).map(|i| format!("d{i}")).collect();
    let judgments: Vec<Judgment> =
        ids.iter().zip(labels).map(|(document, &grade)| Judgment { query: "q", document, grade }).collect();
    let ranking: Vec<(&str, f32)> = ids.iter().map(String::as_str).zip(scores.iter().copied()).collect();
    let qrels = Qrels::new(&judgments).unwrap();
    let result = evaluate(&qrels, &[("q", ranking)][..], measures, conventions).unwrap();
    (0..measures.len()).map(|m| result.mean(m)).collect()
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
}

#[test]
fn golden_vectors_of_single_lists() {
    let stable =
        Conventions { ties: Ties::File, no_relevant: NoRelevant::One, ..Conventions::of(Dialect::Matchrank) };
    let columns = [
        ("ndcg@1", "ndcg@1", Ties::File),
        ("ndcg@3", "ndcg@3", Ties::File),
        ("ndcg@5", "ndcg@5", Ties::File),
        ("ndcg@10", "ndcg@10", Ties::File),
        ("ndcg", "ndcg", Ties::File),
        ("ndcg_worst_ties", "ndcg", Ties::Worst),
        ("ndcg_best_ties", "ndcg", Ties::Best),
        ("ap", "map", Ties::File),
        ("ap_worst_ties", "map", Ties::Worst),
        ("err", "err", Ties::File),
        ("err_ymax4", "err(max=4)", Ties::File),
        ("mre", "mre", Ties::File),
        ("mre_worst_ties", "mre", Ties::Worst),
    ];
    let cases = golden_json("metrics.json");
    let cases = cases["cases"].as_array().unwrap();
    let mut compared = 0;
    for (i, case) in cases.iter().enumerate() {
        for (theirs, ours, ties) in columns {
            let Some(expected) = case[theirs].as_f64() else { continue };
            compared += 1;
            let conventions = Conventions { ties, ..stable };
            let measure = [ours.parse().unwrap()];
            let value = list(&numbers(&case["score"]), &numbers(&case["label"]), &measure, &conventions);
            close(value[0], expected, 1e-12, &format!("case {i} {theirs}"));
            if ties == Ties::File {
                let scores: Vec<f64> = numbers(&case["score"]).into_iter().map(f64::from).collect();
                let alone = evaluate_list(&scores, &numbers(&case["label"]), &measure, &conventions);
                close(alone[0], expected, 1e-12, &format!("case {i} {theirs}, alone"));
            }
        }
    }
    assert_eq!(compared, 13 * 13 - 1, "the last case has grades above 4, and no err_ymax4");
}

fn evaluate_files(files: &Value, measures: &[Measure], conventions: &Conventions) -> Evaluation {
    let [qrels_file, run_file] = [0, 1].map(|i| format!("dialects/{}", files[i].as_str().unwrap()));
    let (qrels_bytes, run_bytes) = (golden(&qrels_file), golden(&run_file));
    let qrels = qrels::parse(&qrels_file, &qrels_bytes).unwrap();
    let run = run::parse(&run_file, &run_bytes).unwrap();
    evaluate(&qrels, &run, measures, conventions).unwrap()
}

#[test]
fn every_dialect_says_what_its_tool_says() {
    let tools = golden_json("dialects/tools.json");
    for dialect in [Dialect::Trec, Dialect::Ranx, Dialect::LightGbm, Dialect::Sklearn] {
        let tool = &tools[dialect.name()];
        let names: Vec<&String> = tool["means"].as_object().unwrap().keys().collect();
        let measures: Vec<Measure> = names.iter().map(|n| n.parse().unwrap()).collect();
        let result = evaluate_files(&tool["files"], &measures, &Conventions::of(dialect));
        let theirs = tool["values"].as_object().unwrap();
        assert_eq!(result.audit.queries_in_mean, theirs.len() as u64, "{dialect}");
        for (query, values) in theirs {
            let i = result.queries().position(|q| q == query).unwrap();
            for (m, name) in names.iter().enumerate() {
                let value = result.value(i, m).unwrap();
                close(value, values[*name].as_f64().unwrap(), 1e-9, &format!("{dialect} {query} {name}"));
            }
        }
        for (m, name) in names.iter().enumerate() {
            close(result.mean(m), tool["means"][*name].as_f64().unwrap(), 1e-9, &format!("{dialect} {name}"));
        }
    }
}

#[test]
fn trec_complete_counts_missing_queries_as_zero() {
    let tools = golden_json("dialects/tools.json");
    let tool = &tools["trec"];
    let measures = Measure::parse_list("map,ndcg@10,mrr,p@5").unwrap();
    let complete = Conventions { missing: Missing::Worst, ..Conventions::of(Dialect::Trec) };
    let result = evaluate_files(&tool["files"], &measures, &complete);
    assert_eq!(result.audit.queries_missing, 2);
    for (m, measure) in measures.iter().enumerate() {
        let theirs = tool["means_complete"][measure.to_string()].as_f64().unwrap();
        close(result.mean(m), theirs, 1e-9, &measure.to_string());
        assert!(theirs < tool["means"][measure.to_string()].as_f64().unwrap());
    }
}

#[test]
fn the_toy_run_that_every_tool_sees_differently() {
    let qrels = qrels::parse("toy", b"q1 0 a 3\nq1 0 b 1\nq1 0 c 2\nq2 0 a 0\nq3 0 z 1\nq3 0 x 0\n").unwrap();
    let run = [
        ("q1", vec![("b", 3.0), ("x", 2.0), ("a", 1.0)]),
        ("q2", vec![("a", 1.0)]),
        ("q3", vec![("x", 1.0), ("y", 1.0), ("z", 1.0)]),
    ];
    let measure = ["ndcg@10".parse().unwrap()];
    let value = |dialect, query| {
        evaluate(&qrels, &run[..], &measure, &Conventions::of(dialect)).unwrap().value(query, 0)
    };
    let log = |x: f64| x.log2();
    let linear = (1.0 + 3.0 / 2.0) / (3.0 + 2.0 / log(3.0) + 0.5);
    close(value(Dialect::Trec, 0).unwrap(), linear, 1e-12, "linear gain");
    let exponential = (1.0 + 7.0 / 2.0) / (7.0 + 3.0 / log(3.0) + 0.5);
    close(value(Dialect::Matchrank, 0).unwrap(), exponential, 1e-12, "gain 2^r - 1");
    let of_ranked = (1.0 + 7.0 / 2.0) / (7.0 + 1.0 / log(3.0));
    close(value(Dialect::LightGbm, 0).unwrap(), of_ranked, 1e-12, "ideal of the list");
    assert_eq!(Dialect::ALL.map(|d| value(d, 1)), [None, Some(0.0), Some(0.0), Some(1.0), Some(0.0)]);
    close(value(Dialect::Trec, 2).unwrap(), 1.0, 0.0, "document id, descending");
    close(value(Dialect::Ranx, 2).unwrap(), 0.5, 1e-12, "file order");
    close(value(Dialect::Sklearn, 2).unwrap(), (1.0 + 1.0 / log(3.0) + 0.5) / 3.0, 1e-12, "averaged");
}

#[test]
fn the_audit_counts_what_the_ranking_did_not_decide() {
    let text = b"a 0 x 1\na 0 y 0\na 0 z 2\nb 0 x 0\nc 0 x 1\nd 0 x 1\nd 0 y 1\n";
    let qrels = qrels::parse("x", text).unwrap();
    let run = [
        ("a", vec![("y", 2.0), ("x", 2.0), ("u", 1.0), ("v", 1.0)]), // one tie decides, z is absent
        ("b", vec![("x", 1.0), ("y", 1.0)]),                         // no gain, so no tie decides
        ("d", vec![("u", 3.0), ("v", 2.0), ("x", 1.0), ("w", 1.0), ("y", 1.0)]), // decides, deep down
        ("unknown", vec![("x", 1.0)]),
    ];
    let audit = |measures: &str| {
        let measures = Measure::parse_list(measures).unwrap();
        evaluate(&qrels, &run[..], &measures, &Conventions::default()).unwrap().audit
    };
    let deep = audit("map");
    assert_eq!(deep.judged_queries, 4);
    assert_eq!(deep.queries_in_mean, 3);
    assert_eq!(deep.queries_without_relevant, 1);
    assert_eq!(deep.queries_missing, 1);
    assert_eq!(deep.queries_unjudged, 1);
    assert_eq!((deep.deciding_ties, deep.queries_with_deciding_ties), (2, 2));
    assert_eq!(deep.relevant_not_returned, 2);
    assert_eq!(audit("p@2").deciding_ties, 1, "the tie at rank 3 is below what is measured");
}

#[test]
fn bad_rankings_in_memory_are_errors() {
    let qrels = qrels::parse("x", b"q 0 a 1\n").unwrap();
    let measures = Measure::parse_list("map").unwrap();
    let error = |run: &[(&str, Vec<(&str, f32)>)]| {
        evaluate(&qrels, run, &measures, &Conventions::default()).unwrap_err().to_string()
    };
    assert_eq!(
        error(&[("q", vec![("b", 1.0), ("b", 2.0)])]),
        "document b is ranked twice for query q; keep one"
    );
    assert_eq!(
        error(&[("q", vec![("a", 1.0), ("a", 2.0)])]),
        "document a is ranked twice for query q; keep one"
    );
    assert_eq!(error(&[("q", vec![("a", f32::NAN)])]), "the score of document a for query q is NaN");
    assert_eq!(error(&[("q", vec![]), ("q", vec![])]), "query q has two rankings; keep one");
    let run = run::parse("x.run", b"q Q0 a 1 2 t\nq Q0 b 1 2 t\nq Q0 a 1 1 t\n").unwrap();
    assert_eq!(
        evaluate(&qrels, &run, &measures, &Conventions::default()).unwrap_err().to_string(),
        "x.run:3: document a is already ranked for query q on line 1; keep one of the two lines"
    );
}

#[test]
fn tests_of_significance_say_what_scipy_says() {
    let cases = golden_json("dialects/significance.json");
    let cases = cases["cases"].as_array().unwrap();
    let mut fisher = 0;
    for (i, case) in cases.iter().enumerate() {
        let d: Vec<f64> =
            case["differences"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        for test in Test::ALL {
            if let Some(p) = case[test.name()].as_f64() {
                fisher += usize::from(test == Test::Fisher);
                close(test.p_value(&d, 1), p, 1e-10, &format!("case {i} {test}"));
            }
        }
    }
    assert_eq!((cases.len(), fisher), (7, 2));
}

const ALL_MEASURES: &str = "ndcg@3,ndcg,ndcg(gain=linear)@5,map,map@3,mrr,mrr@2,p@3,r@3,p(rel=2)@2,err,err@3,\
                            err(max=4),rbp(p=0.8),bpref,mre,pairwise";

/// A list in rank order with grades (`None`: unjudged), and the grades of judged documents it lacks.
type Case = (Vec<Option<f32>>, Vec<f32>);

/// Computes the measures straight from their definitions.
fn slow(measure: &Measure, (ranked, absent): &Case) -> f64 {
    let grade = |i: usize| ranked[i].unwrap_or(0.0).max(0.0) as f64;
    let n = ranked.len();
    let relevant =
        |i: usize, rel: Option<f32>| ranked[i].is_some_and(|g| rel.map_or(g > 0.0, |rel| g >= rel));
    let judged: Vec<f32> = ranked.iter().flatten().chain(absent).copied().collect();
    let count =
        |rel: Option<f32>| judged.iter().filter(|&&g| rel.map_or(g > 0.0, |rel| g >= rel)).count() as f64;
    let top = |k: Option<u32>| 0..n.min(k.unwrap_or(u32::MAX) as usize);
    let hits = |k: usize, rel| (0..k).filter(|&i| relevant(i, rel)).count() as f64;
    let over = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    match *measure {
        Measure::Ndcg { cutoff, gain } => {
            let linear = gain.is_some_and(|g| g.to_string() == "linear");
            let gain = |g: f64| if linear { g } else { 2f64.powf(g) - 1.0 };
            let dcg = |grades: &[f64]| -> f64 {
                let k = cutoff.map_or(usize::MAX, |k| k as usize);
                grades.iter().take(k).enumerate().map(|(i, &g)| gain(g) / (i as f64 + 2.0).log2()).sum()
            };
            let mut ideal: Vec<f64> = judged.iter().map(|&g| f64::from(g.max(0.0))).collect();
            ideal.sort_by(|a, b| b.total_cmp(a));
            over(dcg(&(0..n).map(grade).collect::<Vec<_>>()), dcg(&ideal))
        }
        Measure::Map { cutoff, rel } => {
            let sum: f64 =
                top(cutoff).filter(|&i| relevant(i, rel)).map(|i| hits(i + 1, rel) / (i as f64 + 1.0)).sum();
            over(sum, count(rel))
        }
        Measure::Mrr { cutoff, rel } => {
            top(cutoff).find(|&i| relevant(i, rel)).map_or(0.0, |i| 1.0 / (i as f64 + 1.0))
        }
        Measure::Precision { cutoff, rel } => hits(top(Some(cutoff)).end, rel) / f64::from(cutoff),
        Measure::Recall { cutoff, rel } => over(hits(top(Some(cutoff)).end, rel), count(rel)),
        Measure::Err { cutoff, max } => {
            let max = max.map_or(judged.iter().fold(0.0, |a: f32, &b| a.max(b)), |m| m) as f64;
            let stop = |i: usize| (2f64.powf(grade(i)) - 1.0) / 2f64.powf(max);
            top(cutoff)
                .map(|i| stop(i) / (i as f64 + 1.0) * (0..i).map(|j| 1.0 - stop(j)).product::<f64>())
                .sum()
        }
        Measure::Rbp { .. } => {
            0.2 * (0..n).filter(|&i| relevant(i, None)).map(|i| 0.8f64.powf(i as f64)).sum::<f64>()
        }
        Measure::Bpref { .. } => {
            let not = |g: f32| g == 0.0;
            let (r, bad) = (count(None), judged.iter().filter(|&&g| not(g)).count() as f64);
            let sum: f64 = (0..n)
                .filter(|&i| relevant(i, None))
                .map(|i| {
                    let above = (0..i).filter(|&j| ranked[j].is_some_and(not)).count() as f64;
                    if above > 0.0 { 1.0 - above.min(r) / r.min(bad) } else { 1.0 }
                })
                .sum();
            over(sum, r)
        }
        Measure::Mre | Measure::PairwiseError => {
            let pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
            let wrong = pairs.iter().filter(|&&(i, j)| grade(i) < grade(j)).count() as f64;
            let differ = pairs.iter().filter(|&&(i, j)| grade(i) != grade(j)).count() as f64;
            over(wrong, if *measure == Measure::Mre { pairs.len() as f64 } else { differ })
        }
    }
}

fn grades() -> impl Strategy<Value = f32> {
    prop::sample::select(vec![-1.0f32, 0.0, 0.0, 1.0, 2.0, 4.0])
}

proptest! {
    #[test]
    fn fast_measures_are_the_slow_ones(
        ranked in prop::collection::vec(prop::option::of(grades()), 0..14),
        absent in prop::collection::vec(grades(), 0..4),
        shuffle in any::<u64>(),
    ) {
        let measures = Measure::parse_list(ALL_MEASURES).unwrap();
        let ids: Vec<String> = (0..ranked.len() + absent.len()).map(|i| format!("d{i}")).collect();
        let all = ranked.iter().copied().chain(absent.iter().copied().map(Some));
        let judgments: Vec<Judgment> = ids.iter().zip(all)
            .filter_map(|(document, grade)| Some(Judgment { query: "q", document, grade: grade? })).collect();
        prop_assume!(judgments.iter().any(|j| j.grade > 0.0));
        let qrels = Qrels::new(&judgments).unwrap();
        // in an order other than that of the scores
        let mut run: Vec<(&str, f32)> =
            (0..ranked.len()).map(|i| (ids[i].as_str(), -(i as f32))).collect();
        if !run.is_empty() {
            let by = shuffle as usize % run.len();
            run.rotate_left(by);
        }
        let result = evaluate(&qrels, &[("q", run)][..], &measures, &Conventions::default()).unwrap();
        let case = (ranked, absent);
        for (m, measure) in measures.iter().enumerate() {
            let value = result.value(0, m).unwrap();
            let expected = slow(measure, &case);
            prop_assert!((value - expected).abs() < 1e-12, "{} {} {}", measure, value, expected);
            prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{} {}", measure, value);
            prop_assert!(value.is_sign_positive(), "{} is -0", measure);
        }
    }

    #[test]
    fn the_ideal_order_is_worth_one(mut labels in prop::collection::vec(0u8..4, 1..12)) {
        labels.sort_by(|a, b| b.cmp(a));
        prop_assume!(labels[0] > 0);
        let labels: Vec<f32> = labels.into_iter().map(f32::from).collect();
        let scores: Vec<f32> = (0..labels.len()).map(|i| -(i as f32)).collect();
        let ones = Measure::parse_list("ndcg,ndcg@3,ndcg(gain=linear),map,mrr,p@1,r@12,bpref").unwrap();
        for dialect in Dialect::ALL {
            let conventions = Conventions { ties: Ties::Hash, ..Conventions::of(dialect) };
            for (value, m) in list(&scores, &labels, &ones, &conventions).iter().zip(&ones) {
                prop_assert!((value - 1.0).abs() < 1e-12, "{} {} {}", dialect, m, value);
            }
        }
        let zeros = Measure::parse_list("mre,pairwise").unwrap();
        prop_assert_eq!(list(&scores, &labels, &zeros, &Conventions::default()), vec![0.0, 0.0]);
    }

    #[test]
    fn file_order_never_matters_and_ties_lie_between_their_bounds(
        documents in prop::collection::btree_map("[a-z]{1,3}", (0u8..3, 0u8..3), 1..12), by in 0usize..12
    ) {
        let judgments: Vec<Judgment> = documents.iter()
            .map(|(document, &(grade, _))| Judgment { query: "q", document, grade: grade.into() }).collect();
        prop_assume!(judgments.iter().any(|j| j.grade > 0.0));
        let qrels = Qrels::new(&judgments).unwrap();
        let run: Vec<(&str, f32)> = documents.iter().map(|(d, &(_, s))| (d.as_str(), s.into())).collect();
        let mut rotated = run.clone();
        rotated.rotate_left(by % run.len());
        let measures = Measure::parse_list("ndcg@3,map").unwrap();
        let mean = |run: &[(&str, f32)], ties| {
            let conventions = Conventions { ties, ..Conventions::default() };
            let result = evaluate(&qrels, &[("q", run.to_vec())][..], &measures, &conventions).unwrap();
            [result.mean(0), result.mean(1)]
        };
        for ties in [Ties::Hash, Ties::Document, Ties::Averaged, Ties::Worst, Ties::Best] {
            prop_assert_eq!(mean(&run, ties), mean(&rotated, ties));
        }
        let (worst, best) = (mean(&run, Ties::Worst), mean(&run, Ties::Best));
        for ties in [Ties::Hash, Ties::Document, Ties::File] {
            for (m, value) in mean(&run, ties).into_iter().enumerate() {
                prop_assert!(worst[m] - 1e-12 <= value && value <= best[m] + 1e-12);
            }
        }
        let averaged = mean(&run, Ties::Averaged)[0];
        prop_assert!(worst[0] - 1e-12 <= averaged && averaged <= best[0] + 1e-12);
    }

    #[test]
    fn files_and_memory_agree_for_any_number_of_threads(
        lines in prop::collection::btree_map(("[ab]{1,2}", "[a-z]{1,2}"), -4i8..4, 1..60)
    ) {
        let mut by_query: BTreeMap<&str, Vec<(&str, f32)>> = BTreeMap::new();
        let mut text = String::new();
        for ((query, document), &score) in &lines {
            by_query.entry(query).or_default().push((document, score.into()));
            text.push_str(&format!("{query} Q0 {document} 0 {score} t\n"));
        }
        let judgments: Vec<Judgment> = lines.iter()
            .map(|((query, document), &score)| {
                let grade = f32::from((document.len() as i8 + score).rem_euclid(3));
                Judgment { query, document, grade }
            })
            .collect();
        let qrels = Qrels::new(&judgments).unwrap();
        let measures = Measure::parse_list(ALL_MEASURES).unwrap();
        let memory: Vec<(&str, Vec<(&str, f32)>)> = by_query.into_iter().collect();
        let a = evaluate(&qrels, &memory[..], &measures, &Conventions::default()).unwrap();
        let run = run::parse("x", text.as_bytes()).unwrap();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let b = one.install(|| evaluate(&qrels, &run, &measures, &Conventions::default())).unwrap();
        prop_assert_eq!(a.audit, b.audit);
        for m in 0..measures.len() {
            prop_assert_eq!(a.mean(m).to_bits(), b.mean(m).to_bits());
        }
    }
}

#[test]
fn rankings_of_relevant_documents_alone_are_counted() {
    let qrels = qrels::parse("q", b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\nq2 0 d4 1\nq3 0 d5 1\n").unwrap();
    let run = [
        ("q1", vec![("d1", 2.0), ("d2", 1.0)]),
        ("q2", vec![("d4", 2.0), ("d3", 1.0)]),
        ("q3", vec![("d5", 2.0), ("unjudged", 1.0)]),
    ];
    let measures = Measure::parse_list("ndcg@10").unwrap();
    let audit = evaluate(&qrels, &run[..], &measures, &Conventions::default()).unwrap().audit;
    assert_eq!(audit.queries_all_relevant, 1, "q2, though its order is not the best");
}
