//! NFCorpus, read from the folder of real data when there is one.
#![allow(dead_code, reason = "not every program uses all of it")]

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Dataset, HeldOut, Holdout};
use matchrank_engine::files;
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::models::MatchingModel;
use matchrank_engine::ranking::{RankRequest, rank_collection};

pub(crate) struct NfCorpus {
    /// Texts of the union of dev.docs and test.docs, by ascending id.
    pub(crate) documents: Vec<[String; 1]>,
    /// Text and grades (document number -> grade) of the queries with a relevant document.
    pub(crate) queries: Vec<(String, HashMap<u32, u32>)>,
}

/// The folder of NFCorpus: `$MATCHRANK_DATA/nfcorpus`, else `../shared/data/nfcorpus` beside the
/// repository; `None` where neither exists.
pub(crate) fn folder() -> Option<PathBuf> {
    let data = match std::env::var_os("MATCHRANK_DATA") {
        Some(data) => PathBuf::from(data),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
    };
    Some(data.join("nfcorpus")).filter(|folder| folder.is_dir())
}

/// Reads the collection with the title queries of a part (`dev` or `test`).
pub(crate) fn read(folder: &std::path::Path, part: &str) -> NfCorpus {
    let lines = |name: String| -> Vec<Vec<String>> {
        let bytes = files::read_all(&folder.join(name)).expect("a readable file");
        let text = std::str::from_utf8(&bytes).expect("UTF-8");
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for name in ["dev.docs.gz", "test.docs.gz"] {
        texts.extend(lines(name.into()).into_iter().map(|row| (row[0].clone(), row[1].clone())));
    }
    let numbers: HashMap<&str, u32> = texts.keys().map(String::as_str).zip(0..).collect();
    let mut grades: HashMap<String, HashMap<u32, u32>> = HashMap::new();
    for row in lines(format!("{part}.3-2-1.qrel.gz")) {
        let grade = row[3].trim().parse().expect("a grade");
        grades.entry(row[0].clone()).or_default().insert(numbers[row[2].as_str()], grade);
    }
    let queries = lines(format!("{part}.titles.queries"))
        .into_iter()
        .filter_map(|row| Some((row[1].clone(), grades.remove(&row[0])?)))
        .filter(|(_, grades)| grades.values().any(|&grade| grade > 0))
        .collect();
    NfCorpus { documents: texts.into_values().map(|text| [text]).collect(), queries }
}

/// NDCG@10 with gain 2^r - 1 and discount log2(1 + rank).
pub(crate) fn ndcg_at_10(ranking: impl IntoIterator<Item = u32>, grades: &HashMap<u32, u32>) -> f64 {
    let dcg = |grades: &mut dyn Iterator<Item = u32>| -> f64 {
        (2..)
            .zip(grades.take(10))
            .map(|(rank, grade)| (2f64.powf(grade.into()) - 1.0) / f64::log2(rank.into()))
            .sum()
    };
    let mut ideal: Vec<u32> = grades.values().copied().collect();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let mut found = ranking.into_iter().map(|document| grades.get(&document).copied().unwrap_or(0));
    dcg(&mut found) / dcg(&mut ideal.into_iter())
}

/// NFCorpus as a dataset: train links as responses, dev judgments for validation, test judgments for test.
pub(crate) struct Ingested {
    pub(crate) dataset: Dataset,
    test: HeldOut,
    _folder: tempfile::TempDir,
}

/// The dataset; says that the test is skipped where there is no NFCorpus.
#[allow(clippy::print_stderr)]
pub(crate) fn ingested() -> Option<Ingested> {
    let Some(folder) = folder() else {
        eprintln!("skipped: no NFCorpus; set MATCHRANK_DATA to the folder that has nfcorpus/");
        return None;
    };
    let file = |name: &str| folder.join(name);
    let params = IngestParams {
        documents: vec![file("dev.docs.gz"), file("test.docs.gz")],
        queries: ["train", "dev", "test"].map(|part| file(&format!("{part}.titles.queries"))).to_vec(),
        responses: vec![file("train.3-2-1.qrel.gz")],
        judgments: vec![
            (Holdout::Validation, file("dev.3-2-1.qrel.gz")),
            (Holdout::Test, file("test.3-2-1.qrel.gz")),
        ],
        ..IngestParams::default()
    };
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("nfcorpus");
    ingest(&params, &path, false, &Silent).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    let test = HeldOut::of(&dataset, Holdout::Test).unwrap();
    Some(Ingested { dataset, test, _folder: temporary })
}

impl Ingested {
    /// NDCG@10 of a model on the test queries, the whole collection ranked.
    pub(crate) fn ndcg(&self, model: &dyn MatchingModel) -> f64 {
        let rankings = rank_collection(
            &RankRequest { model, dataset: &self.dataset, queries: &self.test.queries },
            100,
            &Silent,
        )
        .unwrap();
        let (measures, conventions) =
            (Measure::parse_list("ndcg@10").unwrap(), Conventions::of(Dialect::Matchrank));
        evaluate(&self.test.qrels().unwrap(), &rankings[..], &measures, &conventions).unwrap().mean(0)
    }
}
