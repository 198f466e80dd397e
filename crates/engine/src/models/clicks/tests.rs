//! Click counts by hand on a log of five pairs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matchrank_core::progress::Silent;

use super::*;
use crate::ingest::{IngestParams, ingest};
use crate::model_file::{ModelRef, Provenance, load, save};
use crate::models::bind;
use crate::text::{Analyser, AnalyserParams};

fn by_words(mu: f64) -> ClickCountParams {
    ClickCountParams { mu, smoothing: Smoothing::Words, ..ClickCountParams::default() }
}

fn dataset() -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let params = IngestParams {
        clicks: vec![file(
            "log.csv",
            "query,document,clicks\nred shoe,a,3\nred shoe,b,1\nblue shoe,b,2\nblue shoe,c,2\nlamp,d,5\n",
        )],
        documents: vec![file("docs.tsv", "a\tx\nb\tx\nc\tx\nd\tx\ne\tx\n")],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

#[test]
fn counts_are_smoothed_by_those_of_the_words() {
    let (_folder, dataset) = dataset();
    let model = ClickCountModel { params: by_words(2.0), content_hash: String::new() };
    let matcher = bind(&model, &dataset, None, &Silent).unwrap();
    // Two of three queries have "shoe", one has "red".
    let (red, shoe) = ((3.0f64 / 1.0).ln_1p(), (3.0f64 / 2.0).ln_1p());
    let (red, shoe) = (red / (red + shoe), shoe / (red + shoe));
    // "red": a 3 of 4, b 1 of 4. "shoe": a 3 of 8, b 3 of 8, c 2 of 8.
    let back_off = [red * 0.75 + shoe * 0.375, red * 0.25 + shoe * 0.375, shoe * 0.25];
    let own = [3.0, 1.0, 0.0];
    let top = matcher.top(&["red shoe", "red lamp", "unknown"], 10, &Silent).unwrap();
    let found: Vec<(u32, f32)> = top[0].iter().map(|hit| (hit.document, hit.score)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for (document, score) in found {
        let i = document as usize;
        let expected = (own[i] + 2.0 * back_off[i]) / (4.0 + 2.0);
        assert!((f64::from(score) - expected).abs() < 1e-6, "{document}: {score} {expected}");
        let explanation = matcher.explain("red shoe", document).unwrap();
        assert!((explanation.score.unwrap() - score).abs() < 1e-6, "{explanation:?}");
    }
    // A query that nobody asked: its words alone, of equal weight.
    let found: Vec<(u32, f32)> = top[1].iter().map(|hit| (hit.document, hit.score)).collect();
    assert_eq!(found, [(3, 0.5), (0, 0.375), (1, 0.125)]);
    assert!(top[2].is_empty());
    assert_eq!(matcher.explain("red shoe", 4).unwrap().score, None);
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for mu in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(ClickCountParams { mu, ..ClickCountParams::default() }.validate().is_err(), "{mu}");
        assert!(ClickCountParams { power: mu, ..ClickCountParams::default() }.validate().is_err(), "{mu}");
    }
    assert!(ClickCountParams { nearest: 0, ..ClickCountParams::default() }.validate().is_err());
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files/clicks_v2.safetensors")
}

/// The model of the golden file.
fn small() -> (ClickCountModel, Provenance) {
    let model =
        ClickCountModel { params: ClickCountParams::default(), content_hash: "0123456789abcdef".into() };
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
    let path = folder.path().join("clicks.model");
    save(&path, ModelRef::Matching(&model), &provenance).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(golden()).unwrap());
    let (again, its_provenance) = load(&golden()).unwrap();
    assert_eq!((format!("{again:?}"), its_provenance), (format!("{model:?}"), provenance));
}

/// Files of the first version do not name the smoothing.
#[test]
fn former_files_smooth_by_words() {
    let path = golden().with_file_name("clicks_v1.safetensors");
    let (model, _) = load(&path).unwrap();
    let expected = ClickCountModel { params: by_words(2.0), content_hash: "0123456789abcdef".into() };
    assert_eq!(format!("{model:?}"), format!("{expected:?}"));
}

/// The definition, query by query: cosines of dense vectors, all training queries in turn.
fn slow(query: &str, log: &[(&str, &[(u32, f64)])], params: &ClickCountParams) -> BTreeMap<u32, f64> {
    let analyser = Analyser::new(&AnalyserParams::default()).unwrap();
    let parts = |text: &str| {
        let words = analyser.collect(text);
        let runs = words.iter().flat_map(|word| {
            let letters: Vec<char> = format!(" {word} ").chars().collect();
            let of_length = |n: usize| match letters.len() {
                length if length > n => letters.windows(n).map(|run| run.iter().collect()).collect(),
                length if length == n || n == 3 => vec![letters.iter().collect::<String>()],
                _ => Vec::new(),
            };
            (3..=5).flat_map(of_length).collect::<Vec<String>>()
        });
        let runs: Vec<String> = runs.collect();
        let pairs: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
        [words.into_iter().chain(pairs).collect(), runs]
    };
    let vector = |text: &str| {
        let mut all = BTreeMap::new();
        for (block, features) in parts(text).into_iter().enumerate() {
            let features: Vec<String> = features;
            let n_with = |feature: &String| {
                log.iter().filter(|(other, _)| parts(other)[block].contains(feature)).count() as f64
            };
            let mut row: BTreeMap<String, f64> = BTreeMap::new();
            for feature in features.iter().filter(|feature| n_with(feature) > 0.0) {
                *row.entry(feature.clone()).or_default() +=
                    ((1.0 + log.len() as f64) / (1.0 + n_with(feature))).ln() + 1.0;
            }
            let length = row.values().map(|value| value * value).sum::<f64>().sqrt();
            all.extend(row.into_iter().map(|(feature, value)| ((block, feature), value / length)));
        }
        let length = all.values().map(|value| value * value).sum::<f64>().sqrt();
        all.values_mut().for_each(|value| *value /= length);
        all
    };
    let x = vector(query);
    let cosine = |other: &str| {
        let y = vector(other);
        x.iter().map(|(feature, value)| value * y.get(feature).copied().unwrap_or(0.0)).sum::<f64>()
    };
    let mut near: Vec<(f64, &[(u32, f64)])> = log.iter().map(|(other, of)| (cosine(other), *of)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(params.nearest);
    let total: f64 = near.iter().map(|(cosine, _)| cosine.powf(params.power)).sum();
    let n_of = |clicks: &[(u32, f64)]| clicks.iter().map(|(_, n)| n).sum::<f64>();
    let own = log.iter().find(|(other, _)| *other == query).map_or(&[][..], |(_, of)| *of);
    let all = n_of(own) + params.mu;
    let mut scores: BTreeMap<u32, f64> = BTreeMap::new();
    own.iter().for_each(|(document, n)| *scores.entry(*document).or_default() += n / all);
    for (cosine, clicks) in near.into_iter().filter(|(cosine, _)| *cosine > 0.0) {
        let share = params.mu / all * cosine.powf(params.power) / total / n_of(clicks);
        clicks.iter().for_each(|(document, n)| *scores.entry(*document).or_default() += share * n);
    }
    scores
}

#[test]
fn counts_are_smoothed_by_those_of_similar_queries() {
    let (_folder, dataset) = dataset();
    let log: [(&str, &[(u32, f64)]); 3] =
        [("red shoe", &[(0, 3.0), (1, 1.0)]), ("blue shoe", &[(1, 2.0), (2, 2.0)]), ("lamp", &[(3, 5.0)])];
    for (mu, power, nearest) in [(2.0, 3.0, 200), (0.5, 1.0, 200), (10.0, 2.0, 1)] {
        let params = ClickCountParams { mu, power, nearest, ..ClickCountParams::default() };
        let model = ClickCountModel { params, content_hash: String::new() };
        let matcher = bind(&model, &dataset, None, &Silent).unwrap();
        // Written together, misspelled, and repeated words among them.
        let queries = ["red shoe", "redshoe", "blu shoee", "shoe shoe lamp", "lamp"];
        for (query, hits) in queries.iter().zip(matcher.top(&queries, 10, &Silent).unwrap()) {
            let expected = slow(query, &log, &params);
            let found: BTreeMap<u32, f32> = hits.iter().map(|hit| (hit.document, hit.score)).collect();
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{query}");
            for (document, score) in found {
                let wanted = expected[&document];
                assert!((f64::from(score) - wanted).abs() < 1e-5, "{query} {document}: {score} {wanted}");
                let explained = matcher.explain(query, document).unwrap().score.unwrap();
                assert!((explained - score).abs() < 1e-6, "{query} {document}: {explained} {score}");
            }
        }
        assert!(matcher.top(&["qqq"], 10, &Silent).unwrap()[0].is_empty());
    }
}
