//! Feature lists as commands read them: one or several LETOR files.

use std::path::PathBuf;

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_engine::files;

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
    /// Whether there are lists to choose by.
    pub(crate) fn has_validation(&self) -> bool {
        !self.validation.is_empty()
    }

    /// Reads the training lists, and the validation lists if there are any.
    pub(crate) fn read(
        &self,
        progress: &dyn Progress,
    ) -> anyhow::Result<(FeatureLists, Option<FeatureLists>)> {
        let train = read_lists(&self.letor, progress)?;
        if !self.has_validation() {
            return Ok((train, None));
        }
        let validation = read_lists(&self.validation, progress)?;
        note_unknown_features(&validation, train.n_features(), &self.validation, progress);
        Ok((train, Some(validation)))
    }
}

/// Reads LETOR files as one set of lists. A query that two files have is an error, unless its rows go on from the end of
/// one to the start of the next.
pub(crate) fn read_lists(paths: &[PathBuf], progress: &dyn Progress) -> anyhow::Result<FeatureLists> {
    let names: Vec<String> = paths.iter().map(|path| files::name_of(path)).collect();
    let contents = paths.iter().map(|path| files::read_all(path)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(&contents).map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    Ok(letor::parse_files(&files, progress)?)
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
