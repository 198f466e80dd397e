//! Preferences are learned, from every source, the same way every time, and learning goes on where it stopped.

use std::time::Duration;

use matchrank_core::progress::{Notes, Silent};

use super::*;
use crate::dataset::{Dataset, Holdout};
use crate::features::{FeatureParams, FeatureRow};
use crate::ingest::{IngestParams, ingest};
use crate::model_file::{ModelRef, Provenance, load, save};
use crate::models::base::Base;
use crate::models::find_part;
use crate::models::training_tests::groups;
use crate::preferences::{Preferences, SampledTuples, TupleFile, TupleLessons, Worse};
use crate::scoring::Scorer;
use crate::settings::AutoNumber;

/// Queries of even number like documents of even number, odd ones odd ones; documents use other words than
/// queries. Queries 30 and 31 are judged for validation, and for test by grades that say the opposite.
fn checkerboard(judged: bool) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let words = |side: &str, i: u32| {
        let group = ["even", "odd"][i as usize % 2];
        format!("{side}{group}{} {side}{group}{}", i % 3, i % 5)
    };
    let documents = (0..20).map(|i| format!("d{i}\t{}\n", words("doc", i))).collect();
    let queries = (0..32).map(|i| format!("q{i}\t{}\n", words("query", i))).collect();
    let grades = (0..240u32)
        .filter(|i| i / 8 % 2 == i % 2)
        .map(|i| format!("q{} 0 d{} {}\n", i / 8, i % 20, 1 + i % 3));
    let judgments = |opposite: u32| {
        (0..20u32)
            .flat_map(|d| {
                (30..32).map(move |q| format!("q{q} 0 d{d} {}\n", u32::from((d + opposite) % 2 == q % 2)))
            })
            .collect()
    };
    let mut params = IngestParams {
        responses: vec![file("train.qrels", grades.collect())],
        documents: vec![file("docs.tsv", documents)],
        queries: vec![file("queries.tsv", queries)],
        ..IngestParams::default()
    };
    if judged {
        params.judgments = vec![
            (Holdout::Validation, file("dev.qrels", judgments(0))),
            (Holdout::Test, file("test.qrels", judgments(1))),
        ];
    }
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

fn course() -> TupleCourse<'static> {
    TupleCourse {
        density: None,
        trial_tuples: TRIAL_TUPLES,
        seed: 1,
        stop: &|| false,
        checkpoint: None,
        progress: &Silent,
    }
}

fn given(variant: Variant) -> PreferenceSettings {
    PreferenceSettings {
        variant,
        tuples: AutoNumber::Given(3000.0),
        margin: AutoNumber::Given(0.5),
        c: AutoNumber::Given(1.0),
        lambda: AutoNumber::Given(1e-4),
        base: Base::Cosine,
        blend: AutoNumber::Given(1.0),
        ..Default::default()
    }
}

fn train(settings: &PreferenceSettings, dataset: &Dataset, course: &TupleCourse<'_>) -> PreferenceModel {
    super::train(settings, &WordParams::default(), (dataset, None), course).unwrap().model
}

#[test]
fn every_variant_learns_what_it_can() {
    let (_folder, dataset) = checkerboard(true);
    for (variant, learns) in [
        (Variant::Identity, false),
        (Variant::Diagonal, false),
        (Variant::Dense, true),
        (Variant::Sparse, true),
        (Variant::Refit, true),
    ] {
        let model = train(&given(variant), &dataset, &course());
        model.validate().unwrap();
        let n_words = model.features.n_words();
        if learns {
            // A query that training saw, and one that it did not.
            for (query, group) in [("queryeven0 queryeven2", 0), ("queryodd1 queryodd3", 1)] {
                let [own, other] = groups(&model, &dataset, query, group);
                assert!(own > other + 0.05, "{variant:?}: {own} {other}");
            }
            assert!(model.report.validation.unwrap() > 0.99, "{variant:?}: {:?}", model.report.validation);
            assert!(model.w.nnz() > n_words, "{variant:?}");
        } else {
            assert_eq!(model.w.nnz(), n_words, "{variant:?}: words with themselves");
        }
        let phases = model.report.curve.iter().map(|point| point.phase);
        let expected = match variant {
            Variant::Identity => 0,
            Variant::Refit => 20,
            _ => 10,
        };
        assert_eq!(phases.count(), expected, "{variant:?}");
    }
    let [dense, sparse] = [Variant::Dense, Variant::Sparse].map(|variant| {
        train(&PreferenceSettings { lambda: AutoNumber::Given(3e-3), ..given(variant) }, &dataset, &course())
    });
    assert!(sparse.w.nnz() < dense.w.nnz(), "{} {}", sparse.w.nnz(), dense.w.nnz());
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let (folder, dataset) = checkerboard(true);
    let of = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let model = pool.install(|| {
            let settings = PreferenceSettings { tuples: AutoNumber::Given(1000.0), ..Default::default() };
            train(&settings, &dataset, &TupleCourse { seed, ..course() })
        });
        let path = folder.path().join("model");
        save(&path, ModelRef::Matching(&model), &Provenance::default()).unwrap();
        std::fs::read(path).unwrap()
    };
    let one = of(1, 1);
    assert_eq!(one, of(3, 1));
    assert_ne!(one, of(3, 2));
}

#[test]
fn parameters_are_those_of_the_best_trial() {
    let (_folder, dataset) = checkerboard(true);
    let settings = PreferenceSettings { tuples: AutoNumber::Given(2000.0), ..Default::default() };
    let model = train(&settings, &dataset, &course());
    let trials = &model.report.trials;
    let params = model.state.params;
    assert!(trials.iter().any(|trial| (trial.margin, trial.c) == (params.margin, params.c)));
    assert!(params.lambda > 0.0);
    // What is given is not tried otherwise.
    let some =
        PreferenceSettings { margin: AutoNumber::Given(0.7), lambda: AutoNumber::Given(0.0), ..settings };
    let model = train(&some, &dataset, &course());
    assert!(model.report.trials.iter().all(|trial| (trial.margin, trial.lambda) == (0.7, 0.0)));
    assert_eq!((model.state.params.margin, model.state.params.lambda), (0.7, 0.0));
    // Without tuples for trials nothing is tried, without judgments nothing can be.
    let model = train(&settings, &dataset, &TupleCourse { trial_tuples: 0, ..course() });
    assert!(model.report.trials.is_empty());
    let (_other, silent) = checkerboard(false);
    let model = train(&settings, &silent, &course());
    assert!(model.report.trials.is_empty() && model.report.validation.is_none());
    assert_eq!(model.state.params.margin, ChosenSettings::default().margin);
}

/// The trials of `auto` follow from the number of tuples and from nothing else: not from time, nor from load.
#[test]
fn trials_are_counted_not_timed() {
    let (_folder, dataset) = checkerboard(true);
    let sizes = |tuples: u64, trial_tuples: u64| -> Vec<(u64, usize)> {
        let settings = PreferenceSettings { tuples: AutoNumber::Given(tuples as f64), ..Default::default() };
        let trials = train(&settings, &dataset, &TupleCourse { trial_tuples, ..course() }).report.trials;
        trials.chunk_by(|a, b| a.tuples == b.tuples).map(|rung| (rung[0].tuples, rung.len())).collect()
    };
    // A 32nd of 320,000 would be fewer than 20,000.
    assert_eq!(sizes(320_000, 1_000_000), [(20_000, 20), (40_000, 4), (80_000, 2), (40_000, 4)]);
    // More tuples to learn from are not more to try.
    assert_eq!(sizes(400_000, 320_000), sizes(320_000, 320_000));
    assert_eq!(sizes(2000, 1_000_000), [(2000, 24)]);
    assert!(!include_str!("training/choose.rs").contains("std::time"), "choose.rs must not know the time");
}

/// Test judgments that say the opposite, or none at all, change nothing: they are not looked at.
#[test]
fn test_judgments_are_not_looked_at() {
    let (folder, dataset) = checkerboard(true);
    let params = IngestParams {
        responses: vec![folder.path().join("train.qrels")],
        documents: vec![folder.path().join("docs.tsv")],
        queries: vec![folder.path().join("queries.tsv")],
        judgments: vec![(Holdout::Validation, folder.path().join("dev.qrels"))],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("untested"), false, &Silent).unwrap();
    let untested = Dataset::open(&folder.path().join("untested")).unwrap();
    let settings = PreferenceSettings { tuples: AutoNumber::Given(1000.0), ..Default::default() };
    let [a, b] = [&dataset, &untested].map(|dataset| train(&settings, dataset, &course()));
    assert_eq!(a.w, b.w);
    assert_eq!(a.report, b.report);
}

/// Of all tuples that are drawn the better document has a higher grade than the worse one.
#[test]
fn tuples_prefer_higher_grades() {
    let (_folder, dataset) = checkerboard(true);
    let features =
        Features::of_dataset(&FeatureParams::words_only(&WordParams::default()), &dataset).unwrap();
    let queries = dataset.queries().unwrap();
    let mut grades = std::collections::HashMap::new();
    for response in dataset.responses().unwrap() {
        let text = queries[response.query as usize].text.clone();
        *grades.entry((text, response.document)).or_insert(0.0) += response.response;
    }
    let clicks = crate::dataset::Clicks::of(&dataset).unwrap();
    let texts: Vec<String> = clicks.queries().map(|(_, text)| text.to_owned()).collect();
    let preferences =
        Preferences::of(&dataset, &features, Worse { judged: 0.5, hard: 0.0 }, &Silent).unwrap();
    let mut drawn = SampledTuples::new(&preferences, 7, 5000);
    let (mut judged, mut n) = (0, 0);
    while let Some(lesson) = drawn.next(777).unwrap() {
        for tuple in lesson.tuples {
            let grade = |document: u32| {
                grades.get(&(texts[tuple.query as usize].clone(), document)).copied().unwrap_or(0.0)
            };
            assert!(grade(tuple.more) > grade(tuple.less), "{tuple:?}");
            judged += usize::from(grade(tuple.less) > 0.0);
            n += 1;
        }
    }
    assert_eq!(n, 5000);
    assert!((1000..3000).contains(&judged), "{judged}");
}

/// Documents that were judged with grade 0 are drawn as worse ones, never as better ones or as unjudged ones.
#[test]
fn documents_of_grade_0_are_worse() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let documents: String = (0..40).map(|i| format!("d{i}\tshoe number{i}\n")).collect();
    let params = IngestParams {
        // The second id of the text `shoe` adds a negative of its own; a click or grade under any id counts for it.
        responses: vec![file(
            "train.qrels",
            "q1 0 d0 2\nq1 0 d1 0\nq2 0 d2 -1\nq2 0 d0 0\nq3 0 d3 1\nq4 0 d4 0\n",
        )],
        documents: vec![file("docs.tsv", &documents)],
        queries: vec![file("queries.tsv", "q1\tshoe\nq2\tshoe\nq3\tnumber3\nq4\tnumber4\n")],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    let features =
        Features::of_dataset(&FeatureParams::words_only(&WordParams::default()), &dataset).unwrap();
    let drawn = |judged: f64| {
        let preferences = Preferences::of(&dataset, &features, Worse { judged, hard: 0.0 }, &Silent).unwrap();
        let mut tuples = SampledTuples::new(&preferences, 3, 4000);
        let mut drawn = Vec::new();
        while let Some(lesson) = tuples.next(1000).unwrap() {
            drawn.extend(lesson.tuples.iter().map(|tuple| (tuple.query, tuple.more, tuple.less)));
        }
        drawn
    };
    let always = drawn(1.0);
    assert_eq!(always.len(), 4000);
    let shoes: Vec<_> = always.iter().filter(|(query, ..)| *query == 0).collect();
    assert!(shoes.iter().all(|(_, more, less)| *more == 0 && [1, 2].contains(less)));
    let first = shoes.iter().filter(|(.., less)| *less == 1).count() as f64 / shoes.len() as f64;
    assert!((first - 0.5).abs() < 0.05, "{first}");
    // The other query has no grade of 0, so its worse documents are any others; the query of grade 0 alone is not drawn.
    assert!(always.iter().all(|(query, more, less)| *query == 0 || *query == 1 && *more == 3 && *less != 3));
    // At random, those that nobody judged.
    assert!(drawn(0.0).iter().all(|(query, more, less)| more != less && (*query == 1 || *less > 2)));
}

/// Tuples in two files, one after the other, with the model saved in between, are as all in one file.
#[test]
fn an_update_goes_on_bit_for_bit() {
    let (folder, dataset) = checkerboard(true);
    let line = |i: u32| {
        let query = ["queryeven0 queryeven2", "queryodd1"][i as usize % 2];
        format!("{query}\td{}\td{}\n", (i * 6 + i % 2) % 20, (i * 4 + 1 + i % 2) % 20)
    };
    let lines = |range: std::ops::Range<u32>| range.map(line).collect::<String>();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        TupleFile { path, texts: false }
    };
    let (all, first, second) =
        (file("all", lines(0..900)), file("first", lines(0..333)), file("second", lines(333..900)));
    for (variant, max_mib) in
        [(Variant::Sparse, 0), (Variant::Dense, 0), (Variant::Diagonal, 0), (Variant::Sparse, 1)]
    {
        let settings = PreferenceSettings { shrink_every: 7, max_mib, ..given(variant) };
        let train = |file: &TupleFile| {
            super::train(&settings, &WordParams::default(), (&dataset, Some(file)), &course()).unwrap().model
        };
        let whole = train(&all);
        let path = folder.path().join("model");
        save(&path, ModelRef::Matching(&train(&first)), &Provenance::default()).unwrap();
        let (half, _) = load(&path).unwrap();
        let half = find_part::<PreferenceModel>(&*half).unwrap();
        let updated = super::update(half, Some(&dataset), &second, &course()).unwrap().model;
        assert_eq!(updated.state.clock.steps, 900);
        assert_eq!(updated.state, whole.state, "{variant:?}");
        assert_eq!(updated.w, whole.w, "{variant:?}");
    }
    // A refitted model goes on refitting: no pair of words comes.
    let refitted =
        super::train(&given(Variant::Refit), &WordParams::default(), (&dataset, Some(&first)), &course());
    let refitted = refitted.unwrap().model;
    let opposite = file("opposite", "queryodd1\td0\td1\n".repeat(50));
    let updated = super::update(&refitted, Some(&dataset), &opposite, &course()).unwrap().model;
    assert_eq!(updated.state.columns, refitted.state.columns);
    assert_ne!(updated.w, refitted.w);
    // A density that was asked for stays.
    let dense = TupleCourse { density: Some(0.05), ..course() };
    let settings = PreferenceSettings { lambda: AutoNumber::Auto, ..given(Variant::Sparse) };
    let words = WordParams::default();
    let model = super::train(&settings, &words, (&dataset, Some(&first)), &dense).unwrap().model;
    let updated = super::update(&model, Some(&dataset), &second, &course()).unwrap().model;
    assert!(updated.density() <= 0.05 && updated.density() > 0.0, "{}", updated.density());
}

#[test]
fn training_that_is_stopped_keeps_what_it_learned() {
    let (_folder, dataset) = checkerboard(true);
    let asked = std::sync::atomic::AtomicU32::new(0);
    let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 2;
    let settings = PreferenceSettings { tuples: AutoNumber::Given(100_000.0), ..given(Variant::Refit) };
    let model = train(&settings, &dataset, &TupleCourse { stop: &stop, ..course() });
    assert!(model.report.interrupted);
    assert!((1..100_000).contains(&model.state.clock.steps), "{:?}", model.state.clock);
    let saved = std::sync::atomic::AtomicU32::new(0);
    let save = |model: &PreferenceModel| {
        assert!(model.state.clock.steps > 0);
        saved.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    };
    let model =
        train(&settings, &dataset, &TupleCourse { checkpoint: Some((Duration::ZERO, &save)), ..course() });
    assert!(!model.report.interrupted && saved.into_inner() > 5);
}

#[test]
fn training_that_is_stopped_while_choosing_says_so() {
    let (_folder, dataset) = checkerboard(true);
    let settings =
        PreferenceSettings { margin: AutoNumber::Auto, c: AutoNumber::Auto, ..given(Variant::Sparse) };
    let (words, notes) = (WordParams::default(), Notes::default());
    let stopped = TupleCourse { stop: &|| true, progress: &notes, ..course() };
    let trained = super::train(&settings, &words, (&dataset, None), &stopped).unwrap();
    let notes = notes.take().join("\n");
    assert!(trained.model.report.interrupted && notes.contains("interrupted while choosing"), "{notes}");
    assert!(!notes.contains("there was no tuple"), "{notes}");
}

#[test]
fn a_density_that_is_asked_for_is_kept() {
    let (_folder, dataset) = checkerboard(true);
    let settings = PreferenceSettings { lambda: AutoNumber::Auto, ..given(Variant::Refit) };
    let model = train(&settings, &dataset, &TupleCourse { density: Some(0.1), ..course() });
    let n = model.features.n_words() as f64;
    assert!(model.density() <= 0.1 && model.density() > 0.1 - 2.0 / (n * n), "{}", model.density());
    assert_eq!(model.state.params.lambda, 0.0);
    assert!(
        super::train(
            &settings,
            &WordParams::default(),
            (&dataset, None),
            &TupleCourse { density: Some(1.5), ..course() }
        )
        .is_err()
    );
}

#[test]
fn a_blend_is_a_sum_of_the_identity_and_what_was_learned() {
    let triples = [(0, 1, 2.0), (1, 0, -1.0), (1, 1, 3.0), (1, 2, 0.5), (2, 2, 1.0), (3, 0, 4.0)];
    let w = Csr::from_triples(4, 4, triples).unwrap();
    for blend in [0.0f32, 0.25, 1.0, 2.0] {
        let blended = blended(w.clone(), blend).unwrap();
        for i in 0..4u32 {
            let at =
                |w: &Csr, j: u32| w.row(i as usize).iter().find(|(k, _)| *k == j).map_or(0.0, |(_, v)| v);
            for j in 0..4 {
                let own = if i == j { 1.0 - blend } else { 0.0 };
                let expected = blend * at(&w, j) + own;
                assert!((at(&blended, j) - expected).abs() < 1e-6, "{blend} {i} {j}");
            }
            assert!(blended.row(i as usize).indices().is_sorted());
        }
        // Scoring with a blend is scoring with the blended matrix.
        let d = Csr::from_triples(2, 4, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 1.0), (1, 3, 0.5)]).unwrap();
        let q = FeatureRow { indices: vec![0, 1, 3], values: vec![0.5, 1.0, 2.0] };
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        PreferenceScorer::blended(&w, blend, std::slice::from_ref(&q), &d).list(0, &[0, 1], &mut a);
        PreferenceScorer::new(&blended, std::slice::from_ref(&q), &d).list(0, &[0, 1], &mut b);
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-5, "{blend}: {a} {b}");
        }
    }
}

#[test]
fn the_share_of_what_was_learned_is_chosen_kept_in_files_and_settled() {
    let (folder, dataset) = checkerboard(true);
    let settings = PreferenceSettings { base: Base::Bm25, blend: AutoNumber::Auto, ..given(Variant::Refit) };
    let model = train(&settings, &dataset, &course());
    // Queries share no word with documents: BM25 finds nothing, and two queries with the same gain are enough.
    assert!(model.blend > 0.0 && model.report.validation.unwrap() > 0.99, "{:?}", model.report.blends);
    let half = PreferenceSettings { blend: AutoNumber::Given(0.5), ..settings };
    let half = train(&half, &dataset, &course());
    let path = folder.path().join("half.model");
    save(&path, ModelRef::Matching(&half), &Provenance::default()).unwrap();
    let (loaded, _) = load(&path).unwrap();
    let loaded: &PreferenceModel = find_part(&*loaded).unwrap();
    assert_eq!((loaded.blend, &loaded.w), (0.5, &half.w));
    assert_eq!(loaded.features.bm25(), half.features.bm25());
    assert_eq!(loaded.settings.base, Base::Bm25);
    let chosen = crate::models::MatchingModel::chosen(loaded);
    assert!(chosen.iter().any(|(name, value)| name == "blend" && value.0 == 0.5), "{chosen:?}");
}
