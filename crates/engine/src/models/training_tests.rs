//! Every model learns two groups of queries and documents apart, and does so the same way every time.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use matchrank_core::matching::{BltmParams, LsiParams, PlsParams, RmlsParams};
use matchrank_core::progress::{Progress, Silent};

use super::bltm::BltmModel;
use super::latent::{AnchoredFeatures, LatentModel, LatentReport};
use super::lsi_dt::LsiDtParams;
use super::ssi::SsiSettings;
use super::svdfeature::SvdFeatureSettings;
use super::*;
use crate::dataset::Dataset;
use crate::features::FeatureParams;
use crate::ingest::{IngestParams, ingest};
use crate::json::Json;
use crate::model_file::{Provenance, save};
use crate::settings::AutoNumber;

/// Queries of even number click documents of even number, odd ones odd ones; each group has its words,
/// and documents use other words than queries. With judgments of two queries nobody clicked for.
pub(super) fn checkerboard(judged: bool) -> (tempfile::TempDir, Dataset) {
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
    let clicks =
        (0..240u32).filter(|i| i / 8 % 2 == i % 2).map(|i| format!("q{},d{},{}\n", i / 8, i % 20, 1 + i % 3));
    let log = std::iter::once("query_id,document,clicks\n".to_owned()).chain(clicks).collect();
    let qrels = (0..20u32)
        .flat_map(|d| (30..32).map(move |q| format!("q{q} 0 d{d} {}\n", u32::from(d % 2 == q % 2))));
    let mut params = IngestParams {
        clicks: vec![file("log.csv", log)],
        documents: vec![file("docs.tsv", documents)],
        queries: vec![file("queries.tsv", queries)],
        ..IngestParams::default()
    };
    if judged {
        params.judgments = vec![(crate::dataset::Holdout::Validation, file("dev.qrels", qrels.collect()))];
    }
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

fn rmls_params() -> RmlsParams {
    RmlsParams { d: 16, iterations: 4, ..Default::default() }
}

fn ssi_settings() -> SsiSettings {
    SsiSettings { d: 20, iterations: 3, tuples: AutoNumber::Given(2000.0), ..Default::default() }
}

fn svd_settings() -> SvdFeatureSettings {
    SvdFeatureSettings { d: 20, iterations: 10, batch: 16, ..Default::default() }
}

pub(super) fn all(dataset: &Dataset, seed: u64) -> Vec<LatentModel> {
    let features = FeatureParams::default();
    // One direction divides the groups; more would follow the words within them.
    let pls = PlsParams { d: 1, ..Default::default() };
    let lsi = LsiParams { d: 4, ..Default::default() };
    vec![
        rmls::train(&rmls_params(), &features.into(), &Training::new(dataset, seed, &Silent)).unwrap(),
        pls::train(&pls, &features.into(), &Training::new(dataset, seed, &Silent)).unwrap(),
        lsi_dt::train(
            &LsiDtParams { d: 4, ..Default::default() },
            &Default::default(),
            &Training::new(dataset, seed, &Silent),
        )
        .unwrap(),
        lsi_qd::train(&lsi, &Default::default(), &Training::new(dataset, seed, &Silent)).unwrap(),
        ssi::train(&ssi_settings(), &features, &Training::new(dataset, seed, &Silent)).unwrap(),
        svdfeature::train(&svd_settings(), &features, &Training::new(dataset, seed, &Silent)).unwrap(),
    ]
}

fn bytes(model: &dyn MatchingModel) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    save(&path, model, &Provenance::default()).unwrap();
    std::fs::read(path).unwrap()
}

fn bltm(dataset: &Dataset, seed: u64) -> BltmModel {
    let params = BltmParams { topics: 4, iterations: 20, ..Default::default() };
    bltm::train(&params, &Default::default(), &Training::new(dataset, seed, &Silent)).unwrap()
}

/// Mean score of the documents of the query's own group, and of the other.
pub(in crate::models) fn groups(
    model: &dyn MatchingModel,
    dataset: &Dataset,
    query: &str,
    group: u32,
) -> [f32; 2] {
    let matcher = bind(model, dataset, None, &Silent).unwrap();
    let scorer = matcher.begin(&[query]).unwrap();
    [0, 1].map(|other| {
        let documents: Vec<u32> = (0..20).filter(|d| d % 2 == (group + other) % 2).collect();
        let mut scores = vec![0.0; 10];
        scorer.list(0, &documents, &mut scores);
        scores.iter().sum::<f32>() / 10.0
    })
}

#[test]
fn models_tell_the_groups_apart() {
    let (_folder, dataset) = checkerboard(true);
    let models = all(&dataset, 1);
    for model in models.iter().filter(|model| model.kind.name != "lsi-dt") {
        // A query that training saw, and one it did not, except for the model that knows no words.
        let mut queries = vec![("queryeven0 queryeven0", 0), ("queryodd1 queryodd1", 1)];
        if model.kind.name != "lsi-qd" {
            queries.extend([("queryeven2 queryeven1", 0), ("queryodd2", 1)]);
        }
        for (query, group) in queries {
            let [own, other] = groups(model, &dataset, query, group);
            assert!(own > other + 1e-3, "{:?} {query}: {own} {other}", model.kind);
        }
    }
    // LSI of words finds documents that share words with the query.
    let [own, other] = groups(&models[2], &dataset, "doceven0", 0);
    assert!(own > other + 0.1, "{own} {other}");
    for model in models[..2].iter().chain(&models[4..]) {
        assert_eq!(model.report.validation, Some(1.0), "{:?}", model.kind);
    }
    let related = models[0].related("queryodd1", 20, 1).unwrap();
    assert!(related[0].word.starts_with("docodd") && related[0].value > 0.3, "{related:?}");
    let error = models[0].related("queryold", 5, 1).unwrap_err().to_string();
    assert!(error.contains("queryold") && error.contains("queryodd"), "{error}");
}

#[test]
fn topics_tell_the_groups_apart() {
    let (_folder, dataset) = checkerboard(true);
    let model = bltm(&dataset, 1);
    assert_eq!(model.report.validation, Some(1.0));
    let rows = &model.report.iterations;
    assert!(rows.windows(2).all(|pair| pair[1].log_likelihood > pair[0].log_likelihood - 0.01), "{rows:?}");
    let related = model.related("queryodd1", 3, 1).unwrap();
    assert!(related.iter().all(|related| related.word.starts_with("docodd")), "{related:?}");
    assert!(model.related("zebra", 3, 1).unwrap_err().to_string().contains("does not know"));
    assert!(model.related("doceven0", 3, 1).unwrap_err().to_string().contains("learned nothing"));
    let topics = model.list_topics(2);
    assert_eq!(topics.len(), 4);
    assert!(topics.windows(2).all(|pair| pair[0].share >= pair[1].share));
    for (query, group) in [("queryeven0 queryeven0", 0), ("queryodd2", 1), ("queryeven2 queryeven1", 0)] {
        let [own, other] = groups(&model, &dataset, query, group);
        assert!(own > other + 0.1, "{query}: {own} {other}");
    }

    let (_other, dataset) = checkerboard(false);
    let model = bltm(&dataset, 1);
    assert_eq!((model.report.best, model.report.validation), (Some(20), None));
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let (_folder, dataset) = checkerboard(true);
    let of = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut files: Vec<Vec<u8>> = all(&dataset, seed).iter().map(|model| bytes(model)).collect();
            files.push(bytes(&bltm(&dataset, seed)));
            files
        })
    };
    let one = of(1, 1);
    assert_eq!(one, of(2, 1));
    assert_eq!(one, of(8, 1));
    let other = of(2, 2);
    for seeded in [0, 4, 5, 6] {
        assert_ne!(one[seeded], other[seeded]);
    }
}

/// A machine on which now and then nothing happens for a while: the first calls of every stage take a pause.
#[derive(Default)]
struct HinderedMachine(AtomicU32);

impl HinderedMachine {
    fn pause(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) < 40 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Progress for HinderedMachine {
    fn begin(&self, _stage: &str, _total: Option<u64>, _unit: &str) {
        self.0.store(0, Ordering::Relaxed);
        self.pause();
    }
    fn advance(&self, _n: u64) {
        self.pause();
    }
    fn note(&self, _message: &str) {
        self.pause();
    }
}

/// Every kind of model chooses and learns by counts of work: neither the time that passes nor other programs on the
/// machine change a byte.
#[test]
fn a_hindered_machine_makes_the_same_bytes() {
    let (_folder, dataset) = checkerboard(true);
    let files = |progress: &dyn Progress| -> Vec<Vec<u8>> {
        let model = |kind: &MatchingKind| {
            let effort = kind.effort.map(|(name, least)| (name.to_owned(), Json::of(&least)));
            let recipe = Recipe::new(kind.name, &effort.into_iter().collect::<Vec<_>>()).unwrap();
            bytes(&*recipe.train(&Training::new(&dataset, 1, progress)).unwrap())
        };
        registry::trainable().map(model).collect()
    };
    let calm = files(&Silent);
    let is_over = AtomicBool::new(false);
    let hindered = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let hindered = files(&HinderedMachine::default());
        is_over.store(true, Ordering::Relaxed);
        hindered
    });
    for ((kind, calm), hindered) in registry::trainable().zip(calm).zip(hindered) {
        assert!(calm == hindered, "{}", kind.name);
    }
}

#[test]
fn the_best_iteration_is_kept_and_without_judgments_the_last() {
    let (_folder, dataset) = checkerboard(true);
    let model =
        rmls::train(&rmls_params(), &AnchoredFeatures::default(), &Training::new(&dataset, 1, &Silent))
            .unwrap();
    let figures: Vec<f64> = model.report.iterations.iter().map(|row| row.validation.unwrap()).collect();
    let best = model.report.kept().expect("an iteration is kept");
    assert_eq!(model.report.validation, figures.iter().copied().max_by(f64::total_cmp));
    assert_eq!(best.validation, model.report.validation);
    assert!(figures.len() <= best.report.number + 2, "two iterations that are not better end it");
    // What a look into the model finds is what training saw.
    let looked = latent::inspect(&model).unwrap();
    assert_eq!((looked.x.collapse, looked.y.collapse), (best.report.collapse_x, best.report.collapse_y));

    for model in &all(&dataset, 1)[4..] {
        let LatentReport { epochs, best, validation, .. } = &model.report;
        assert_eq!(*validation, epochs.iter().map(|epoch| epoch.validation.unwrap()).max_by(f64::total_cmp));
        assert_eq!(epochs[best.unwrap() - 1].validation, *validation, "{:?}", model.kind);
        assert!(epochs.last().unwrap().loss < epochs[0].loss, "{epochs:?}");
    }

    let (_other, dataset) = checkerboard(false);
    for model in &all(&dataset, 1)[4..] {
        assert_eq!(model.report.best, Some(model.report.epochs.len()), "{:?}", model.kind);
    }
    let model =
        rmls::train(&rmls_params(), &AnchoredFeatures::default(), &Training::new(&dataset, 1, &Silent))
            .unwrap();
    assert_eq!((model.report.best, model.report.iterations.len()), (Some(4), 4));
    assert_eq!(model.report.validation, None);
}

/// A pass over many pairs is cut into iterations: each is measured, and together they are the pass.
#[test]
fn a_pass_of_svd_feature_is_measured_part_by_part() {
    let (_folder, dataset) = checkerboard(false);
    let train = |iterations, pairs| {
        let settings = SvdFeatureSettings { iterations, pairs, ..svd_settings() };
        svdfeature::train(&settings, &FeatureParams::default(), &Training::new(&dataset, 1, &Silent)).unwrap()
    };
    let (whole, parts) = (train(2, 2_000_000), train(4, 60));
    assert_eq!((whole.report.epochs.len(), parts.report.epochs.len()), (2, 4));
    assert!(whole.model == parts.model);
    let (_folder, judged) = checkerboard(true);
    let settings = SvdFeatureSettings { iterations: 3, pairs: 60, ..svd_settings() };
    let report = svdfeature::train(&settings, &FeatureParams::default(), &Training::new(&judged, 1, &Silent))
        .unwrap()
        .report;
    assert!(report.epochs.len() == 3 && report.epochs.iter().all(|epoch| epoch.validation.is_some()));
    let wrong = SvdFeatureSettings { pairs: 0, ..svd_settings() };
    assert!(wrong.validate().unwrap_err().to_string().contains("pairs must be at least 1"));
}

#[test]
fn wrong_parameters_and_datasets_without_clicks_are_refused() {
    let (folder, dataset) = checkerboard(true);
    let features = FeatureParams { click_weight: f64::NAN, ..Default::default() };
    assert!(
        pls::train(&PlsParams::default(), &features.into(), &Training::new(&dataset, 1, &Silent)).is_err()
    );
    assert!(
        pls::train(
            &PlsParams { d: 0, ..Default::default() },
            &Default::default(),
            &Training::new(&dataset, 1, &Silent)
        )
        .is_err()
    );
    let params = IngestParams {
        documents: vec![folder.path().join("docs.tsv")],
        queries: vec![folder.path().join("queries.tsv")],
        judgments: vec![(crate::dataset::Holdout::Test, folder.path().join("dev.qrels"))],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("silent"), false, &Silent).unwrap();
    let silent = Dataset::open(&folder.path().join("silent")).unwrap();
    let error = pls::train(&PlsParams::default(), &Default::default(), &Training::new(&silent, 1, &Silent))
        .unwrap_err();
    assert!(error.to_string().contains("no training click"), "{error}");
    assert!(
        lsi_qd::train(&LsiParams::default(), &Default::default(), &Training::new(&silent, 1, &Silent))
            .is_err()
    );
    assert!(ssi::train(&ssi_settings(), &Default::default(), &Training::new(&silent, 1, &Silent)).is_err());
    assert!(
        svdfeature::train(&svd_settings(), &Default::default(), &Training::new(&silent, 1, &Silent)).is_err()
    );
    assert!(
        bltm::train(&Default::default(), &Default::default(), &Training::new(&silent, 1, &Silent)).is_err()
    );
    let wrong = SsiSettings { judged: 1.5, ..ssi_settings() };
    assert!(ssi::train(&wrong, &Default::default(), &Training::new(&dataset, 1, &Silent)).is_err());
    let words = lsi_dt::train(
        &LsiDtParams { d: 3, ..Default::default() },
        &Default::default(),
        &Training::new(&silent, 1, &Silent),
    );
    assert!(words.is_ok(), "words need no clicks");
}
