//! A small shop: a dataset, and models that go on learning.
#![allow(dead_code, unreachable_pub, reason = "a module of every test file, not all of which use all of it")]

use std::path::{Path, PathBuf};

use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::features::WordParams;
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::model_file::{self, ModelRef, Provenance};
use matchrank_engine::models::sparse_preference::{
    self, PreferenceModel, PreferenceSettings, TupleCourse, Variant,
};
use matchrank_engine::preferences::TupleFile;
use matchrank_engine::rankers::perceptron::online::Learner;
use matchrank_engine::settings::AutoNumber;

/// Folder with a dataset and a sparse-preference model.
pub struct Shop {
    pub folder: tempfile::TempDir,
    pub dataset: Dataset,
    /// Sparse-preference model.
    pub words: PathBuf,
    /// Perceptron of the golden files.
    pub perceptron: PathBuf,
}

impl Shop {
    pub fn new(variant: Variant) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let documents = (0..12).map(|i| {
            let title = if i % 2 == 0 { "trainers for running" } else { "hat for the sun" };
            format!("d{i},{title} model{}\n", i / 2)
        });
        let clicks = (0..60).map(|i| {
            let query = ["sneaker", "lid", "cheap sneaker", "cheap lid"][i % 4];
            format!("{query},d{},{}\n", (2 * (i / 4) + i % 2) % 12, 1 + i % 3)
        });
        let params = IngestParams {
            documents: vec![file("docs.csv", format!("id,title\n{}", documents.collect::<String>()))],
            clicks: vec![file("log.csv", format!("query,document,clicks\n{}", clicks.collect::<String>()))],
            ..IngestParams::default()
        };
        let data = folder.path().join("data");
        ingest(&params, &data, false, &Silent).unwrap();
        let dataset = Dataset::open(&data).unwrap();
        let settings = PreferenceSettings {
            variant,
            tuples: AutoNumber::Given(500.0),
            margin: AutoNumber::Given(0.5),
            c: AutoNumber::Given(0.5),
            lambda: AutoNumber::Given(0.001),
            blend: AutoNumber::Given(1.0),
            shrink_every: 7,
            ..PreferenceSettings::default()
        };
        let course = TupleCourse::new(1, &Silent);
        let trained = sparse_preference::train(&settings, &WordParams::default(), (&dataset, None), &course);
        let words = folder.path().join("words.model");
        let provenance = Provenance::of_dataset(&dataset, Some(1));
        model_file::save(&words, ModelRef::Matching(&trained.unwrap().model), &provenance).unwrap();
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files");
        let perceptron = golden.join("perceptron_v1.safetensors");
        Self { folder, dataset, words, perceptron }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Bytes of the model that `matchrank update` makes of a stream of tuples.
    pub fn update_words(&self, lines: &str) -> Vec<u8> {
        let tuples = self.folder.path().join("tuples.jsonl");
        std::fs::write(&tuples, lines).unwrap();
        let (model, provenance) = model_file::load(&self.words).unwrap();
        let model = (&*model as &dyn std::any::Any).downcast_ref::<PreferenceModel>().unwrap();
        let course = TupleCourse::new(1, &Silent);
        let file = TupleFile { path: tuples, texts: false };
        let mut model = sparse_preference::update(model, Some(&self.dataset), &file, &course).unwrap().model;
        // The program reads them from standard input.
        model.report.source = "a stream of tuples".into();
        let out = self.folder.path().join("offline.model");
        model_file::save(&out, ModelRef::Matching(&model), &provenance.made_by(None)).unwrap();
        std::fs::read(out).unwrap()
    }

    /// Bytes of the model that `matchrank update` makes of a stream of lists.
    pub fn update_perceptron(&self, lines: &str) -> Vec<u8> {
        use matchrank_engine::rankers::perceptron::online::{StreamRun, learn_stream};
        let lists = self.folder.path().join("lists.jsonl");
        std::fs::write(&lists, lines).unwrap();
        let (model, provenance) = model_file::open_ranking(&self.perceptron).unwrap();
        let mut learner = Learner::new(&*model).unwrap();
        let run = StreamRun {
            resume: false,
            stop: &|| false,
            interval: std::time::Duration::from_secs(60),
            progress: &Silent,
        };
        learn_stream(&mut learner, &lists, run, &mut |_| Ok(())).unwrap();
        let out = self.folder.path().join("offline.ranker");
        model_file::save(&out, ModelRef::Ranking(learner.model()), &provenance).unwrap();
        std::fs::read(out).unwrap()
    }
}
