//! A version of a model: loaded from a file, tested, and bound to the documents.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_core::progress::Silent;
use matchrank_core::{Error, Result};
use matchrank_engine::files;
use matchrank_engine::model_file::{self, Model};
use matchrank_engine::rankers::RankingModel;
use matchrank_engine::ranking::check_finite;

use crate::relevance::scale_of;
use matchrank_engine::serving::{Collection, Served};

/// Documents that the self-test asks for.
const TESTED: usize = 10;

/// A version of a model that may take traffic.
pub(crate) struct Version {
    /// Number among the versions of its name, from 1.
    pub(crate) number: u32,
    /// File that it was loaded from.
    pub(crate) file: PathBuf,
    /// Kind of the model.
    pub(crate) kind: &'static str,
    /// BLAKE3 of the file.
    pub(crate) checksum: String,
    /// Milliseconds since 1970.
    pub(crate) loaded_at: u64,
    /// Scale of its scores for [`relevance`](crate::relevance::relevance).
    pub(crate) scale: f64,
    /// The model.
    pub(crate) scorer: Scorer,
}

/// A model that is ready to score.
#[derive(Clone)]
pub(crate) enum Scorer {
    /// Scores texts against documents.
    Matching(Arc<Served>),
    /// Scores feature lists.
    Ranking(Arc<dyn RankingModel>),
}

/// What loading a model needs besides its file and the documents.
pub(crate) struct Trial {
    /// Queries of the self-test.
    pub(crate) sample: Vec<String>,
    /// Memory for images of documents, in bytes.
    pub(crate) image_memory: u64,
}

/// Reads a model file, binds the model to the documents, and tests it on sample queries. An error says what is wrong.
pub(crate) fn load(number: u32, file: &Path, collection: &Arc<Collection>, trial: &Trial) -> Result<Version> {
    let name = files::name_of(file);
    check_file(file)?;
    let checksum = checksum_of(file)?;
    let (model, _) = model_file::open(file)?;
    let (kind, scorer, scale) = match model {
        Model::Matching(model) => {
            let served = Served::bind(model, collection.clone(), trial.image_memory, &Silent)?;
            let scale = test_matching(&served, &trial.sample).map_err(|error| blamed(&name, error))?;
            (served.model().kind(), Scorer::Matching(Arc::new(served)), scale)
        }
        Model::Ranking(model) => {
            test_ranking(&*model).map_err(|error| blamed(&name, error))?;
            (model.kind().name, Scorer::Ranking(model), 1.0)
        }
    };
    let file = file.to_owned();
    Ok(Version { number, file, kind, checksum, loaded_at: now(), scale, scorer })
}

/// Refuses what cannot be a model file before all of it is read: pipes and devices, which may have no end, and files without
/// a header.
fn check_file(file: &Path) -> Result<()> {
    let failed = |error| Error::io(files::name_of(file), error);
    let wrong = |what: &str| Err(Error::format(files::name_of(file), what));
    let length = match std::fs::metadata(file).map_err(failed)? {
        metadata if metadata.is_file() => metadata.len(),
        _ => return wrong("is no regular file; a model file is expected"),
    };
    let mut head = Vec::new();
    std::fs::File::open(file).map_err(failed)?.take(8).read_to_end(&mut head).map_err(failed)?;
    match head.try_into().map(u64::from_le_bytes) {
        Ok(header) if (1..=length.saturating_sub(8)).contains(&header) => Ok(()),
        _ => wrong("does not begin as a model file; it is damaged, compressed, or something else"),
    }
}

/// Returns the BLAKE3 of a file.
pub(crate) fn checksum_of(file: &Path) -> Result<String> {
    Ok(blake3::hash(&files::read_all(file)?).to_hex().to_string())
}

fn blamed(name: &str, error: Error) -> Error {
    Error::format(name, format!("failed its self-test: {error}"))
}

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// Searches for the sample queries; returns the scale of the scores.
fn test_matching(served: &Served, sample: &[String]) -> Result<f64> {
    let mut best = Vec::new();
    for query in sample {
        let hits = served.top(query, TESTED, None)?;
        check_finite(query, hits.iter().map(|hit| hit.score))?;
        best.extend(hits.first().map(|hit| hit.score));
    }
    if best.is_empty() && !sample.is_empty() && served.collection().n_documents() > 0 {
        return Err(Error::Params(format!(
            "finds no document for any of {} sample queries; was it trained on this dataset?",
            sample.len()
        )));
    }
    Ok(scale_of(best))
}

/// Scores a list of zeros and ones.
fn test_ranking(model: &dyn RankingModel) -> Result<()> {
    let mut rows = FeatureRows::default();
    for (document, value) in [("zeros", 0.0), ("ones", 1.0)] {
        let mut entries: Vec<(u32, f32)> =
            (0..model.n_features() as u32).map(|column| (column, value)).collect();
        rows.push("self-test", Some(document), 0.0, &mut entries).map_err(Error::Params)?;
    }
    let lists = FeatureLists::from_rows(rows);
    let mut scores = Vec::new();
    model.score(&lists.list(0), &mut scores);
    check_finite("self-test", scores.iter().map(|&score| score as f32))
}

impl Version {
    /// Returns an error unless a version takes the same requests as this one.
    pub(crate) fn check_successor(&self, next: &Self) -> Result<()> {
        match (&self.scorer, &next.scorer) {
            (Scorer::Matching(_), Scorer::Matching(_)) | (Scorer::Ranking(_), Scorer::Ranking(_)) => Ok(()),
            _ => Err(Error::format(
                files::name_of(&next.file),
                format!(
                    "is a {} model, which takes other requests than the {} model it would replace",
                    next.kind, self.kind
                ),
            )),
        }
    }

    /// Returns the version bound to other documents.
    pub(crate) fn rebound(&self, collection: &Arc<Collection>) -> Result<Self> {
        let scorer = match &self.scorer {
            Scorer::Matching(served) => Scorer::Matching(Arc::new(served.rebound(collection.clone())?)),
            Scorer::Ranking(model) => Scorer::Ranking(model.clone()),
        };
        let (file, checksum) = (self.file.clone(), self.checksum.clone());
        Ok(Self { file, checksum, scorer, ..*self })
    }

    /// Returns true if the version is bound to these documents, or to none.
    pub(crate) fn is_bound_to(&self, collection: &Arc<Collection>) -> bool {
        match &self.scorer {
            Scorer::Matching(served) => Arc::ptr_eq(served.collection(), collection),
            Scorer::Ranking(_) => true,
        }
    }
}
