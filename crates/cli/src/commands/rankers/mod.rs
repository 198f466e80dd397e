//! What commands do with rankers of feature lists.

pub(crate) mod cross_validate;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod rank;
pub(crate) mod train;
pub(crate) mod update;

use std::path::Path;

use clap::ValueEnum;
use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::ScalingKind;
use matchrank_engine::files;

/// How features are scaled
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ScalingName {
    /// Not at all
    None,
    /// By the standard deviation over all training rows
    ZScore,
    /// By the range over all training rows
    MinMax,
    /// By the standard deviation within each list
    QueryZScore,
    /// By the range within each list
    QueryMinMax,
}

impl From<ScalingName> for ScalingKind {
    fn from(name: ScalingName) -> Self {
        match name {
            ScalingName::None => Self::None,
            ScalingName::ZScore => Self::ZScore,
            ScalingName::MinMax => Self::MinMax,
            ScalingName::QueryZScore => Self::QueryZScore,
            ScalingName::QueryMinMax => Self::QueryMinMax,
        }
    }
}

pub(crate) fn read_lists(path: &Path, progress: &dyn Progress) -> anyhow::Result<FeatureLists> {
    Ok(letor::parse(&files::name_of(path), &files::read_all(path)?, progress)?)
}

/// Says how many features of lists a model does not know.
pub(crate) fn note_unknown_features(
    lists: &FeatureLists,
    n_known: usize,
    path: &Path,
    progress: &dyn Progress,
) {
    if lists.n_features() > n_known {
        progress.note(&format!(
            "{}: has {} features, of which the model knows the first {n_known}; the others count nothing",
            path.display(),
            lists.n_features()
        ));
    }
}
