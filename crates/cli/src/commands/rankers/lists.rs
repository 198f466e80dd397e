//! Feature lists as commands read them: one or several LETOR files.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
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
        let train = read_training_lists(&self.letor, progress)?;
        if !self.has_validation() {
            return Ok((train, None));
        }
        let validation = read_validation_lists(&self.validation, &train, progress)?;
        note_shared_queries(&train, &validation, progress);
        Ok((train, Some(validation)))
    }
}

/// Reads lists to train on. A note says where a query has a document twice.
pub(crate) fn read_training_lists(
    paths: &[PathBuf],
    progress: &dyn Progress,
) -> anyhow::Result<FeatureLists> {
    let train = read_lists(paths, progress)?;
    if let Err(error) = train.require_distinct_documents() {
        progress.note(&format!("{error}; training learns from each of them, and rank refuses such lists"));
    }
    Ok(train)
}

/// Reads lists to choose by, which must have something to measure.
pub(crate) fn read_validation_lists(
    paths: &[PathBuf],
    train: &FeatureLists,
    progress: &dyn Progress,
) -> anyhow::Result<FeatureLists> {
    let validation = read_lists(paths, progress)?;
    validation.require_distinct_documents()?;
    anyhow::ensure!(
        validation.labels().iter().any(|&grade| grade > 0.0),
        "{}: no document of the validation lists has a grade above 0",
        names_of(paths)
    );
    note_unknown_features(&validation, train.n_features(), paths, progress);
    Ok(validation)
}

/// Reads LETOR files as one set of lists. A query that two files have is an error, unless its rows go on from the end of
/// one to the start of the next.
pub(crate) fn read_lists(paths: &[PathBuf], progress: &dyn Progress) -> anyhow::Result<FeatureLists> {
    read_lists_after(0, paths, progress)
}

/// Reads LETOR files as [`read_lists`] does; rows without a document id are numbered after `rows_before` others.
pub(crate) fn read_lists_after(
    rows_before: usize,
    paths: &[PathBuf],
    progress: &dyn Progress,
) -> anyhow::Result<FeatureLists> {
    let source = |path: &PathBuf| -> matchrank_engine::Result<letor::Source<'static>> {
        let (content, name) = (Box::new(files::open_bounded(path)?), files::name_of(path));
        let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        let length = std::fs::metadata(path).ok().map(|found| found.len()).filter(|_| !is_compressed);
        Ok(letor::Source { name, content, length })
    };
    letor::read(paths.iter().map(source), rows_before, progress).map_err(|error| match error {
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
            "{n} of {} validation queries are training queries too, so the validation figures are too good",
            validation.n_queries()
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
            "{names}: has {} features, of which the model knows the first {n_known}; the others count nothing",
            lists.n_features()
        ));
    } else if lists.n_features() < n_known {
        progress.note(&format!(
            "{names}: has {} features, and the model knows {n_known}; those that are missing count as 0",
            lists.n_features()
        ));
    }
}
