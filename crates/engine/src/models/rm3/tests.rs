//! RM3 against the formula over words as strings, among candidates, and in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matchrank_core::progress::Silent;
use proptest::prelude::*;

use super::*;
use crate::ingest::{IngestParams, ingest};
use crate::model_file::{ModelRef, Provenance, load, save};
use crate::models::bind;
use crate::scoring::Why;
use crate::text::{Analyser, AnalyserParams, BagOfWords, FieldWeights, Vocabulary};

fn dataset(documents: &[String]) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let lines = documents.iter().enumerate().map(|(i, text)| format!("d{i}\tx{i} {text}\n")).collect();
    let params = IngestParams {
        clicks: vec![file("log.csv", "query,document\nw1,d0\n".into())],
        documents: vec![file("docs.tsv", lines)],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

/// Scores of all documents by the definition, words as strings.
fn slow(params: &Rm3Params, documents: &[Vec<String>], query: &[&str]) -> Vec<f64> {
    let (n, Rm3Params { k1, b, .. }) = (documents.len() as f64, *params);
    let mean = documents.iter().map(Vec::len).sum::<usize>() as f64 / n;
    let count = |tokens: &[String], word: &str| tokens.iter().filter(|token| *token == word).count() as f64;
    let df = |word: &str| documents.iter().filter(|tokens| count(tokens, word) > 0.0).count() as f64;
    let scores = |query: &BTreeMap<String, f64>| -> Vec<f64> {
        let score = |tokens: &Vec<String>| {
            let norm = k1 * (1.0 - b + b * tokens.len() as f64 / mean);
            let part = |(word, weight): (&String, &f64)| {
                let (tf, df) = (count(tokens, word), df(word));
                let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
                if tf > 0.0 { weight * idf * tf * (k1 + 1.0) / (tf + norm) } else { 0.0 }
            };
            query.iter().map(part).sum()
        };
        documents.iter().map(score).collect()
    };
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    let known = query.iter().filter(|word| df(word) > 0.0);
    known.for_each(|word| *counts.entry((*word).to_owned()).or_default() += 1.0);
    let length: f64 = counts.values().sum();
    let first = scores(&counts);
    let mut order: Vec<usize> = (0..documents.len()).filter(|&i| first[i] > 0.0).collect();
    order.sort_by(|&i, &j| (first[j] as f32).total_cmp(&(first[i] as f32)).then(i.cmp(&j)));
    let mut relevance: BTreeMap<String, f64> = BTreeMap::new();
    for &i in order.iter().take(params.feedback) {
        for word in &documents[i] {
            if df(word) <= params.max_df * n {
                *relevance.entry(word.clone()).or_default() += first[i] / documents[i].len() as f64;
            }
        }
    }
    let mut words: Vec<(String, f64)> = relevance.into_iter().collect();
    words.sort_by(|a, b| b.1.total_cmp(&a.1));
    words.truncate(params.terms);
    let sum: f64 = words.iter().map(|word| word.1).sum();
    if sum > 0.0 {
        counts.values_mut().for_each(|count| *count *= params.original);
        for (word, p) in words {
            *counts.entry(word).or_default() += (1.0 - params.original) * length * p / sum;
        }
    }
    scores(&counts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// All words are taken, so that no tie decides which.
    #[test]
    fn scores_are_the_formula(
        texts in prop::collection::vec(prop::collection::vec(0u32..12, 0..15), 2..40),
        query in prop::collection::vec(0u32..14, 1..5),
        feedback in 1usize..8, original in 0f64..=1.0, max_df in 0.2f64..=1.0,
        candidates in prop::collection::btree_set(0u32..40, 1..10),
    ) {
        let texts: Vec<String> = texts
            .iter()
            .map(|words| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" "))
            .collect();
        let (_folder, dataset) = dataset(&texts);
        let params = Rm3Params { feedback, terms: 200, original, max_df, ..Default::default() };
        let model = Rm3Model::of_dataset(&params, &dataset).unwrap();
        let tokens: Vec<Vec<String>> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| std::iter::once(format!("x{i}")).chain(text.split_whitespace().map(str::to_owned)).collect())
            .collect();
        let query: Vec<String> = query.iter().map(|word| format!("w{word}")).collect();
        let words: Vec<&str> = query.iter().map(String::as_str).collect();
        let expected = slow(&params, &tokens, &words);
        let query = query.join(" ");
        let matcher = bind(&model, &dataset, None, &Silent).unwrap();
        let top = matcher.top(&[&query], texts.len(), &Silent).unwrap().remove(0);
        prop_assert_eq!(top.len(), expected.iter().filter(|score| **score > 0.0).count());
        for hit in &top {
            let expected = expected[hit.document as usize];
            prop_assert!((f64::from(hit.score) - expected).abs() <= 1e-5 * expected.max(1.0), "{hit:?} {expected}");
        }
        prop_assert!(top.is_sorted_by(|a, b| a.score >= b.score));
        // Candidates have the scores that they have in the collection.
        let wanted: Vec<u32> = candidates.into_iter().filter(|&row| (row as usize) < texts.len()).collect();
        if !wanted.is_empty() {
            let matcher = bind(&model, &dataset, Some(&wanted), &Silent).unwrap();
            let scorer = matcher.begin(&[&query]).unwrap();
            let all: Vec<u32> = (0..wanted.len() as u32).collect();
            let mut scores = vec![0.0; wanted.len()];
            scorer.list(0, &all, &mut scores);
            for (&row, score) in wanted.iter().zip(scores) {
                let of_collection = top.iter().find(|hit| hit.document == row).map(|hit| hit.score);
                prop_assert_eq!(Some(score).filter(|score| !score.is_nan()), of_collection);
            }
        }
    }
}

#[test]
fn a_word_of_the_best_document_finds_another() {
    let texts = ["red shoe sneaker", "sneaker trainer", "blue lamp", "green lamp", "lamp", "table"];
    let (_folder, dataset) = dataset(&texts.map(str::to_owned));
    let params = Rm3Params { max_df: 0.5, ..Default::default() };
    let model = Rm3Model::of_dataset(&params, &dataset).unwrap();
    // Bound to one document that shares no word with the query: feedback comes from the collection.
    for wanted in [None, Some(&[1u32][..])] {
        let matcher = bind(&model, &dataset, wanted, &Silent).unwrap();
        let document = if wanted.is_some() { 0 } else { 1 };
        let explanation = matcher.explain("shoe", document).unwrap();
        let Why::Expanded { feedback, words } = &explanation.why else { panic!("{explanation:?}") };
        assert_eq!(
            feedback.iter().map(|taken| (taken.document.as_str(), taken.share)).collect::<Vec<_>>(),
            [("d0", 1.0)]
        );
        // Four words of the document, each as likely; one of them was asked for.
        let weights: Vec<(&str, f32, f32)> = words
            .iter()
            .map(|word| (word.term.text.as_str(), word.in_query, word.term.contribution.query_count))
            .collect();
        assert_eq!(weights[0], ("sneaker", 0.0, 0.125), "{weights:?}");
        assert!(weights.contains(&("shoe", 1.0, 0.625)) && weights.len() == 4, "{weights:?}");
        let sum: f64 = words.iter().map(|word| word.term.contribution.score).sum();
        assert_eq!(explanation.score, Some(sum as f32));
        let found = matcher.top(&["shoe"], 5, &Silent).unwrap().remove(0);
        assert_eq!(found.iter().find(|hit| hit.document == document).map(|hit| hit.score), explanation.score);
        assert_eq!(matcher.explain("unknown", document).unwrap().score, None);
    }
    let without = Rm3Model::of_dataset(&Rm3Params { original: 1.0, ..params }, &dataset).unwrap();
    let matcher = bind(&without, &dataset, None, &Silent).unwrap();
    let bm25 = bind(&without.text, &dataset, None, &Silent).unwrap();
    let queries = ["shoe", "red lamp", "sneaker"];
    assert_eq!(matcher.top(&queries, 9, &Silent).unwrap(), bm25.top(&queries, 9, &Silent).unwrap());
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files/rm3_v1.safetensors")
}

/// The model of the golden file.
fn small() -> (Rm3Model, Provenance) {
    let words = BagOfWords {
        analyser: Analyser::new(&AnalyserParams { fold_accents: false, ..Default::default() }).unwrap(),
        vocabulary: Vocabulary::from_terms(3, [("shoe", 2, 3), ("tabl", 1, 1)]).unwrap(),
        fields: FieldWeights::equal(["title"]).unwrap(),
    };
    // All of them: other defaults must not change the file.
    let params = Rm3Params { k1: 0.9, b: 0.4, feedback: 5, terms: 20, original: 0.75, max_df: 0.5 };
    let frequencies = words.vocabulary.document_frequencies().to_vec();
    let bm25 = matchrank_core::matching::Bm25::new(&params.bm25(), 3, 1.5, frequencies).unwrap();
    let model = Rm3Model { params, text: TextBm25 { words, bm25 } };
    (model, Provenance { version: "0.1.0".into(), ..Provenance::default() })
}

#[test]
#[ignore = "writes the golden file; only for a new version of the format, under a new name"]
fn write_golden_file() {
    let (model, provenance) = small();
    save(&golden(), ModelRef::Matching(&model), &provenance).unwrap();
}

#[test]
fn the_golden_file_keeps_its_bytes() {
    let (model, provenance) = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rm3.model");
    save(&path, ModelRef::Matching(&model), &provenance).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(golden()).unwrap());
    let (again, its_provenance) = load(&golden()).unwrap();
    assert_eq!((format!("{again:?}"), its_provenance), (format!("{model:?}"), provenance));
}
