//! Results of a comparison, as stored in its files.

use std::path::{Path, PathBuf};

use matchrank_core::measure::Measure;
use matchrank_core::measure::significance::Test;
use matchrank_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::choice::Choice;
use crate::by_name::ByName;
use crate::dataset::{Dataset, HeldOutClicks, Statistics};
use crate::description::Curve;
use crate::evidence::{SmallestDifference, too_few};
use crate::files;
use crate::json::Json;
use crate::validation::Ranked;

/// Means of measures by their names, in the order they were asked for.
pub type Figures = ByName<f64>;

/// `comparison.json`: what was compared, and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Version of the program.
    pub version: String,
    /// Day on which the table was made, in UTC, as 2026-11-18; none in comparisons of former versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_on: Option<String>,
    /// Training data.
    pub data: DataSummary,
    /// Measures and protocol.
    pub split: Protocol,
    /// The models, in the order they were asked for.
    pub models: Vec<Compared>,
    /// The model that the validation queries choose; none in comparisons of former versions and over folds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Choice>,
    /// Models that could not be trained or measured, and why.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    pub left_out: ByName<String>,
    /// Models that were not made yet when it was interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// Smallest differences in the first measure that the test queries can show; none for fewer than two models or two
    /// queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_difference: Option<SmallestDifference>,
}

/// The dataset of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DataSummary {
    /// Name of its folder.
    pub name: String,
    /// Path as text; a name that is not UTF-8 is written lossily.
    #[serde(serialize_with = "lossily")]
    pub folder: Option<PathBuf>,
    /// BLAKE3 of its content.
    pub content_hash: String,
    /// Its sizes; none for lists of feature vectors.
    pub statistics: Option<Statistics>,
}

/// Measures and protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Protocol {
    /// Judged validation queries, on which everything was chosen.
    pub validation_queries: usize,
    /// Test queries with a relevant document, on which every model was measured once.
    pub test_queries: usize,
    /// Held-out clicks of the test queries; none where people judged them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_clicks: Option<HeldOutClicks>,
    /// Name of the dataset that everything was chosen on, where models were trained again on another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_on: Option<String>,
    /// Folds that the training and validation queries were dealt to, where everything was chosen over folds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// Which documents were ranked.
    pub ranked: Ranked,
    /// Unit of the means in the table; intervals and tests are always over queries.
    #[serde(default)]
    pub mean_over: MeanOver,
    /// True if rankers of feature lists learned from the validation lists too, once everything was chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refit: bool,
    /// Measures on the test queries.
    pub measures: Vec<String>,
    /// The measure that models were tuned by.
    pub tuned_by: String,
    /// Test of significance: of every pair of models, with Holm's correction.
    pub test: String,
    /// The corrected p-value below which a difference counts as real.
    pub level: f64,
    /// Seconds for tuning each model, if the plan limits them; models say in their notes whether time was up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Seconds for tuning all models together, if the plan limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_seconds: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads that trained and ranked.
    pub threads: usize,
}

/// Unit of a mean in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeanOver {
    /// The test queries.
    #[default]
    Queries,
    /// The folds, each with the mean over its queries: LETOR's convention.
    Folds,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Compared {
    /// Its name in the comparison.
    pub name: String,
    /// Kind of the model.
    pub kind: String,
    /// Its parameters, those that were tuned included.
    pub params: Json,
    /// Figures on the validation queries that chose the parameters.
    pub validation: Figures,
    /// Means over the test queries.
    pub test: Figures,
    /// Means over the test queries, each weighted by its held-out clicks; none where people judged the queries.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    pub by_traffic: Figures,
    /// 95 % confidence intervals of these means, by the bootstrap over queries; none for fewer than two queries.
    pub intervals: ByName<[f64; 2]>,
    /// Means by kind of query: `seen`, `documents`, `duplicates`, `clicks`, `length`.
    pub bins: ByName<Vec<BinFigures>>,
    /// Seconds of training with the parameters that were chosen.
    pub seconds: f64,
    /// Seconds of trying others.
    pub tuning_seconds: f64,
    /// Trials of tuning, the chosen one included; 0 where nothing was tuned.
    pub trials: usize,
    /// The most memory that the process had while it trained this model, in MiB; none where the system does not say.
    pub peak_mib: Option<f64>,
    /// Size of the model file.
    pub model_mib: f64,
    /// Time to rank one query, alone, with all threads.
    pub latency: Latency,
    /// Curves of training and tuning.
    pub curves: Vec<Curve>,
    /// Names of the models that it is better than by the first measure, significantly.
    pub beats: Vec<String>,
    /// Names of the models that it is significantly better than, by measure.
    pub beats_by: ByName<Vec<String>>,
    /// Notes for the reader, such as that every document gets the same score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Means over some of the test queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BinFigures {
    /// Name of the bin.
    pub bin: String,
    /// Number of queries.
    pub queries: usize,
    /// The means.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Milliseconds to find the ten best documents for a query, one query at a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latency {
    /// Half of the queries took less.
    pub p50_ms: f64,
    /// 19 of 20 took less.
    pub p95_ms: f64,
    /// Queries that were timed.
    pub queries: usize,
}

impl Latency {
    /// From the times of single queries, at least one, in milliseconds.
    pub(super) fn of(times: &mut [f64]) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Self { p50_ms: at(0.5), p95_ms: at(0.95), queries: times.len() }
    }
}

/// `queries.json`: a test query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TestQuery {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Clicks on its results in the training data.
    pub clicks: f64,
    /// Its words.
    pub n_words: usize,
    /// Its judged documents with their grades.
    pub judged: Vec<(String, f32)>,
    /// Its held-out clicks; 0 where people judged it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub traffic: f64,
}

fn is_zero(traffic: &f64) -> bool {
    *traffic == 0.0
}

/// `results/NAME.json`: one model, query by query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// Hash of all that the result depends on.
    pub key: String,
    /// Hash of all that the model depends on.
    pub trained_key: String,
    /// Its row of the table; what it beats is known only beside the others.
    pub row: Compared,
    /// For every measure of the test, the value of every test query, in the order of `queries.json`; none for a query
    /// that is left out of the means.
    pub per_query: ByName<Vec<Option<f64>>>,
    /// The measure that models are tuned by, of every validation query by its id; none in results of former versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<(String, f64)>,
    /// The ten best documents of every test query, with their scores.
    pub top: Vec<Vec<(String, f32)>>,
}

impl Entry {
    /// Returns true if every test query has a value of every measure, also where a file is damaged.
    pub(super) fn has(&self, measures: &[String], n_queries: usize) -> bool {
        let values = |measure: &String| self.per_query.get(measure).map(Vec::len);
        measures.iter().all(|measure| values(measure) == Some(n_queries))
    }
}

impl DataSummary {
    pub(super) fn of(dataset: &Dataset) -> Self {
        Self {
            name: dataset.folder().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            folder: std::path::absolute(dataset.folder()).ok(),
            content_hash: dataset.manifest.content_hash.clone(),
            statistics: Some(dataset.manifest.statistics.clone()),
        }
    }
}

impl Comparison {
    /// Reads `comparison.json` of a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        if !folder.join("comparison.json").is_file() {
            return Err(Error::format(
                folder.display().to_string(),
                "is no comparison: there is no comparison.json; `compare` makes one",
            ));
        }
        let path = folder.join("comparison.json");
        let comparison: Self = read(&path)?;
        let Protocol { measures, tuned_by, test, .. } = &comparison.split;
        let parsed = measures.iter().chain([tuned_by]).try_for_each(|name| name.parse::<Measure>().map(drop));
        parsed.and_then(|()| test.parse::<Test>().map(drop)).map_err(|e| unlike(&path, &e))?;
        Ok(comparison)
    }

    /// States what the test queries can show: which differences cannot be told from chance, and whether there are too
    /// few queries for any conclusion. `None` if there is nothing to say: for one model and enough queries.
    pub fn evidence(&self) -> Option<String> {
        let measure = self.split.measures.first()?;
        let smallest = self.smallest_difference.map(|smallest| smallest.sentence(measure));
        match (too_few(self.split.test_queries), smallest) {
            (Some(few), Some(smallest)) => Some(format!("{few}: {smallest}")),
            (few, smallest) => few.or(smallest),
        }
    }

    /// Sorts the models by the first measure on the test queries, the best first; equally good ones stay in their order. The
    /// table and the report name models by letters in this order.
    pub fn sort_models(&mut self) -> Result<()> {
        let Some(measure) = self.split.measures.first() else { return Ok(()) };
        let sign = if measure.parse::<Measure>()?.higher_is_better() { -1.0 } else { 1.0 };
        let figure = |row: &Compared| row.test.get(measure).map_or(f64::INFINITY, |figure| sign * figure);
        self.models.sort_by(|a, b| figure(a).total_cmp(&figure(b)));
        Ok(())
    }

    /// The test queries of a comparison's folder.
    pub fn queries(folder: &Path) -> Result<Vec<TestQuery>> {
        read(&folder.join("queries.json"))
    }

    /// One model of a comparison's folder.
    pub fn entry(folder: &Path, name: &str) -> Result<Entry> {
        read(&Self::entry_path(folder, name))
    }

    /// Removes the result of a model whose files are about to be replaced, after its row of the table: at no moment does
    /// the table name a result that is not there.
    pub(super) fn forget(folder: &Path, name: &str) -> Result<()> {
        let file = file_name(name);
        Self::forget_rows(folder, |row| file_name(&row.name) == file)?;
        let path = Self::entry_path(folder, name);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(files::name_of(&path), e)),
            _ => Ok(()),
        }
    }

    /// Takes rows out of the table, where there is one: their models count as not made yet.
    pub(super) fn forget_rows(folder: &Path, goes: impl Fn(&Compared) -> bool) -> Result<()> {
        let Ok(mut table) = Self::open(folder) else { return Ok(()) };
        let gone: Vec<String> = table.models.extract_if(.., |row| goes(row)).map(|row| row.name).collect();
        if gone.is_empty() {
            return Ok(());
        }
        // What was chosen, or compared with, may be gone.
        table.chosen = None;
        for row in &mut table.models {
            row.beats.retain(|name| !gone.contains(name));
            row.beats_by.values_mut().for_each(|names| names.retain(|name| !gone.contains(name)));
        }
        table.unfinished.extend(gone);
        write(&folder.join("comparison.json"), &table)
    }

    /// The file of a model as it was when everything was chosen, before it was trained again with more data.
    pub(super) fn chosen_model(folder: &Path, name: &str) -> PathBuf {
        folder.join("chosen").join(format!("{}.model", file_name(name)))
    }

    /// The file of the model that ranks the queries of a fold, counted from 1.
    pub(super) fn chosen_fold(folder: &Path, name: &str, fold: usize) -> PathBuf {
        folder.join("chosen").join(format!("{}.fold{fold}.model", file_name(name)))
    }

    pub(super) fn entry_path(folder: &Path, name: &str) -> PathBuf {
        folder.join("results").join(format!("{}.json", file_name(name)))
    }

    /// The file of a ranker of a fold, counted from 1.
    pub fn fold_model(folder: &Path, name: &str, fold: usize) -> PathBuf {
        folder.join("models").join(format!("{}.fold{fold}.model", file_name(name)))
    }

    /// The file of the rankings of a model.
    pub fn run(folder: &Path, name: &str) -> PathBuf {
        folder.join("runs").join(format!("{}.run", file_name(name)))
    }

    /// The file of a model.
    pub fn model(folder: &Path, name: &str) -> PathBuf {
        folder.join("models").join(format!("{}.model", file_name(name)))
    }
}

fn lossily<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// The name of a model as part of a file's name.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "+-._".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

/// Returns an error if the name of a model is too long to be part of a file's name.
pub(super) fn check_name(name: &str) -> Result<()> {
    const MOST: usize = 200;
    if file_name(name).len() > MOST {
        let start: String = name.chars().take(40).collect();
        return Err(Error::Params(format!(
            "the name {start}... is too long for the files of the model: it may have {MOST} bytes; shorten it"
        )));
    }
    Ok(())
}

/// Writes a value as JSON, whole or not at all.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    files::write_atomically(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|e| Error::io(files::name_of(path), e))
    })
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&files::read_all(path)?).map_err(|e| unlike(path, &e))
}

fn unlike(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    let message = format!("is not what `compare` writes ({reason}); run `compare` again");
    Error::format(files::name_of(path), message)
}
