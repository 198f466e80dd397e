//! Feature lists as commands read them: one or several LETOR files.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::{Error, files};

/// Lists to train on, and lists to choose by.
#[derive(clap::Args)]
pub(crate) struct TrainingLists {
    /// Training lists: LETOR / SVMlight files, `grade qid:1 1:0.5 2:3 # docid = x`
    ///
    /// Several files are read as one. A query belongs to one file; only the last query of a file may go on at the start
    /// of the next.
    #[arg(long, num_args = 1.., required = true, value_name = "FILE")]
    pub(crate) letor: Vec<PathBuf>,
    /// Validation lists, by which epochs, lambda, the scaling or the number of trees are chosen; one or several files
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(crate) validation: Vec<PathBuf>,
    /// What is measured on the validation lists
    #[arg(long, value_name = "MEASURE", default_value = "ndcg@10")]
    pub(crate) measure: Measure,
}

impl TrainingLists {
    /// All files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.letor.iter().chain(&self.validation)
    }

    /// Whether there are lists to choose by.
    pub(crate) fn has_validation(&self) -> bool {
        !self.validation.is_empty()
    }

    /// Names the files in an error about lists that does not name one.
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

/// Says where a query of the training lists has a document twice.
pub(crate) fn note_repeated_documents(train: &FeatureLists, progress: &dyn Progress) {
    if let Err(error) = train.require_distinct_documents() {
        progress.note(&format!("{error}; training learns from each of them, and rank refuses such lists"));
    }
}

/// Returns an error if lists to choose by, those of `paths`, have nothing to measure or a document twice.
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

/// Reads LETOR files as one set of lists. A query that two files have is an error, unless its rows go on from the end of
/// one to the start of the next.
pub(crate) fn read_lists(paths: &[PathBuf], progress: &dyn Progress) -> anyhow::Result<FeatureLists> {
    read_through(0, paths, progress, |_, content| content)
}

/// Reads LETOR files as [`read_lists`] does, and hashes the text of each on the way. Rows without a document id are
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

/// A text that is hashed while it is read.
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

/// Reads LETOR files through what `wrap` makes of the i-th.
fn read_through<'a>(
    rows_before: usize,
    paths: &[PathBuf],
    progress: &dyn Progress,
    wrap: impl Fn(usize, Box<dyn Read + 'a>) -> Box<dyn Read + 'a>,
) -> anyhow::Result<FeatureLists> {
    let source = |(i, path): (usize, &PathBuf)| -> matchrank_engine::Result<letor::Source<'a>> {
        let (content, name) = (wrap(i, Box::new(files::open_bounded(path)?)), files::name_of(path));
        let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        let length = std::fs::metadata(path).ok().map(|found| found.len()).filter(|_| !is_compressed);
        Ok(letor::Source { name, content, length })
    };
    letor::read(paths.iter().enumerate().map(source), rows_before, progress).map_err(|error| match error {
        Error::Io { file, source } => files::damaged(Path::new(&file), source).into(),
        error => error.into(),
    })
}

/// Returns an error if validation lists have a query of the training lists, whose figure would not be that of a query
/// that was not learned from.
pub(crate) fn refuse_common_queries(train: &FeatureLists, validation: &FeatureLists) -> anyhow::Result<()> {
    let learned: HashMap<&str, usize> = train.iter().map(|list| (list.query(), list.rows().start)).collect();
    for list in validation.iter() {
        if let Some(&row) = learned.get(list.query()) {
            let place = train.origin(row).map_or(String::new(), |(file, line)| format!(" at {file}:{line}"));
            let message = format!(
                "query {} is among the training lists{place}, too; validation is on queries that were not learned from, \
                 so keep it in one of the two",
                list.query()
            );
            return Err(validation.error_at(list.rows().start, message).into());
        }
    }
    Ok(())
}

/// Says how many validation queries are training queries too: what is chosen by them is chosen for being learned by heart.
fn note_shared_queries(train: &FeatureLists, validation: &FeatureLists, progress: &dyn Progress) {
    let known: HashSet<&str> = train.iter().map(|list| list.query()).collect();
    let n = validation.iter().filter(|list| known.contains(list.query())).count();
    if n > 0 {
        progress.note(&format!(
            "{n} of {} among the training queries too: the validation figures are too good",
            counted(validation.n_queries(), "validation query")
        ));
    }
}

/// The names of files in messages.
pub(crate) fn names_of(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| files::name_of(path)).collect::<Vec<_>>().join(", ")
}

/// Says how many features of lists a model does not know.
pub(crate) fn note_unknown_features(
    lists: &FeatureLists,
    n_known: usize,
    paths: &[PathBuf],
    progress: &dyn Progress,
) {
    let names = names_of(paths);
    if lists.n_features() > n_known {
        progress.note(&format!(
            "{names}: has {}, of which the model knows the first {n_known}; the others count nothing",
            counted(lists.n_features(), "feature")
        ));
    } else if lists.n_features() < n_known {
        progress.note(&format!(
            "{names}: has {}, and the model knows {n_known}; those that are missing count as 0",
            counted(lists.n_features(), "feature")
        ));
    }
}
