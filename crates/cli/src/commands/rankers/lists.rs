//! Reads the feature lists of a command from one or several LETOR files.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::{Error, files};

/// Training lists and optional validation lists.
#[derive(clap::Args)]
pub(crate) struct TrainingLists {
    /// Training lists: LETOR / SVMlight files, `grade qid:1 1:0.5 2:3 # docid = x`
    ///
    /// Several files are read as one. A query must be in one file; only the last query of a file may continue at the
    /// start of the next.
    #[arg(long, num_args = 1.., required = true, value_name = "FILE")]
    pub(crate) letor: Vec<PathBuf>,
    /// Validation lists that choose epochs, lambda, the scaling or the number of trees; one or several files
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(crate) validation: Vec<PathBuf>,
    /// Measure on the validation lists
    #[arg(long, value_name = "MEASURE", default_value = "ndcg@10")]
    pub(crate) measure: Measure,
}

impl TrainingLists {
    /// Iterates over all files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.letor.iter().chain(&self.validation)
    }

    /// Returns true if there are validation lists.
    pub(crate) fn has_validation(&self) -> bool {
        !self.validation.is_empty()
    }

    /// Adds the file names to an error about lists that names no file.
    pub(crate) fn blamed(&self, error: Error) -> anyhow::Error {
        match error {
            Error::Params(message) | Error::Shape(message) => {
                anyhow::anyhow!("{}: {message}", names_of(&self.letor))
            }
            other => other.into(),
        }
    }

    /// Reads the training lists, and the validation lists if there are any.
    pub(crate) fn read(
        &self,
        progress: &dyn Progress,
    ) -> anyhow::Result<(FeatureLists, Option<FeatureLists>)> {
        let train = read_lists(&self.letor, progress)?;
        note_repeated_documents(&train, progress);
        if !self.has_validation() {
            return Ok((train, None));
        }
        let validation = read_lists(&self.validation, progress)?;
        check_validation_lists(&validation, &self.validation, &train, progress)?;
        note_shared_queries(&train, &validation, progress);
        Ok((train, Some(validation)))
    }
}

/// Prints a note if a query of the training lists has a document twice.
pub(crate) fn note_repeated_documents(train: &FeatureLists, progress: &dyn Progress) {
    if let Err(error) = train.require_distinct_documents() {
        progress.note(&format!("{error}; training learns from every copy, but `rank` rejects such lists"));
    }
}

/// Returns an error if the validation lists, read from `paths`, have no relevant document or repeat a document.
pub(crate) fn check_validation_lists(
    validation: &FeatureLists,
    paths: &[PathBuf],
    train: &FeatureLists,
    progress: &dyn Progress,
) -> anyhow::Result<()> {
    validation.require_distinct_documents()?;
    anyhow::ensure!(
        validation.labels().iter().any(|&grade| grade > 0.0),
        "{}: no document of the validation lists has a grade above 0",
        names_of(paths)
    );
    note_unknown_features(validation, train.n_features(), paths, progress);
    Ok(())
}

/// Reads LETOR files as one set of lists. A query in two files is an error, unless its rows continue from the end of
/// one file to the start of the next.
pub(crate) fn read_lists(paths: &[PathBuf], progress: &dyn Progress) -> anyhow::Result<FeatureLists> {
    read_through(0, paths, progress, |_, content| content)
}

/// Reads LETOR files as [`read_lists`] does, and hashes the text of each while reading. Rows without a document id are
/// numbered after `rows_before` others.
pub(crate) fn read_hashed_lists(
    rows_before: usize,
    paths: &[PathBuf],
    progress: &dyn Progress,
) -> anyhow::Result<(FeatureLists, Vec<blake3::Hash>)> {
    let hashers = vec![RefCell::new(blake3::Hasher::new()); paths.len()];
    let lists = read_through(rows_before, paths, progress, |i, content| {
        Box::new(Hashed { content, hasher: &hashers[i] })
    })?;
    Ok((lists, hashers.iter().map(|hasher| hasher.borrow().finalize()).collect()))
}

/// Reader that hashes a text while it is read.
struct Hashed<'a> {
    content: Box<dyn Read + 'a>,
    hasher: &'a RefCell<blake3::Hasher>,
}

impl Read for Hashed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.content.read(buffer)?;
        self.hasher.borrow_mut().update(&buffer[..n]);
        Ok(n)
    }
}

/// Reads LETOR files; `wrap` may replace the reader of the i-th file.
fn read_through<'a>(
    rows_before: usize,
    paths: &[PathBuf],
    progress: &dyn Progress,
    wrap: impl Fn(usize, Box<dyn Read + 'a>) -> Box<dyn Read + 'a>,
) -> anyhow::Result<FeatureLists> {
    let source = |(i, path): (usize, &PathBuf)| -> matchrank_engine::Result<letor::LetorSource<'a>> {
        let (content, name) = (wrap(i, Box::new(files::open_bounded(path)?)), files::name_of(path));
        let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        let length = std::fs::metadata(path).ok().map(|found| found.len()).filter(|_| !is_compressed);
        Ok(letor::LetorSource { name, content, length })
    };
    letor::read(paths.iter().enumerate().map(source), rows_before, progress).map_err(|error| match error {
        Error::Io { file, source } => files::damaged(Path::new(&file), source).into(),
        error => error.into(),
    })
}

/// Returns an error if a query is in the training lists and in the validation lists. Its validation figure would be
/// biased.
pub(crate) fn refuse_common_queries(train: &FeatureLists, validation: &FeatureLists) -> anyhow::Result<()> {
    let learned: HashMap<&str, usize> = train.iter().map(|list| (list.query(), list.rows().start)).collect();
    for list in validation.iter() {
        if let Some(&row) = learned.get(list.query()) {
            let place = train.origin(row).map_or(String::new(), |(file, line)| format!(" at {file}:{line}"));
            let message = format!(
                "query {} is in the training lists as well{place}; validation needs queries that were not trained on, \
                 so keep it in one of the two",
                list.query()
            );
            return Err(validation.error_at(list.rows().start, message).into());
        }
    }
    Ok(())
}

/// Prints a note with the number of validation queries that are training queries as well: they reward overfitting.
fn note_shared_queries(train: &FeatureLists, validation: &FeatureLists, progress: &dyn Progress) {
    let known: HashSet<&str> = train.iter().map(|list| list.query()).collect();
    let n = validation.iter().filter(|list| known.contains(list.query())).count();
    if n > 0 {
        progress.note(&format!(
            "{n} of {} also in the training lists: the validation figures are too optimistic",
            counted(validation.n_queries(), "validation query")
        ));
    }
}

/// Joins the names of files for a message.
pub(crate) fn names_of(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| files::name_of(path)).collect::<Vec<_>>().join(", ")
}

/// Prints a note if the lists and the model have different numbers of features.
pub(crate) fn note_unknown_features(
    lists: &FeatureLists,
    n_known: usize,
    paths: &[PathBuf],
    progress: &dyn Progress,
) {
    let names = names_of(paths);
    if lists.n_features() > n_known {
        progress.note(&format!(
            "{names}: has {}, of which the model knows the first {n_known}; the others are ignored",
            counted(lists.n_features(), "feature")
        ));
    } else if lists.n_features() < n_known {
        progress.note(&format!(
            "{names}: has {}, but the model knows {n_known}; missing features count as 0",
            counted(lists.n_features(), "feature")
        ));
    }
}
