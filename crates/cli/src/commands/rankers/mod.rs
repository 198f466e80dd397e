//! Commands for rankers of feature lists.

pub(crate) mod explain;
pub(crate) mod export;
mod feature_options;
pub(crate) mod importance;
mod lists;
mod queries;
pub(crate) mod rank;
pub(crate) mod train;
pub(crate) mod update;
mod weights;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use matchrank_core::message::counted;
use matchrank_core::ranking::ScalingKind;
use matchrank_engine::files;
use matchrank_engine::model_file::{self, Model};
use matchrank_engine::models::MatchingModel;

pub(crate) use feature_options::FeatureOptions;
pub(crate) use lists::{
    TrainingLists, check_validation_lists, names_of, note_repeated_documents, note_unknown_features,
    read_hashed_lists, read_lists, refuse_common_queries,
};
pub(crate) use queries::parse_columns;
use queries::{informed, read_table};
pub(crate) use weights::Weights;

/// Reads a matching model, for commands that take rankers with --letor.
pub(crate) fn load_matching(path: &Path) -> anyhow::Result<Arc<dyn MatchingModel>> {
    match model_file::open(path)?.0 {
        Model::Matching(model) => Ok(model),
        Model::Ranking(model) => bail!(
            "{}: holds a {} model, which ranks feature lists; give them with --letor",
            path.display(),
            model.kind().name
        ),
    }
}

/// Scaling of features
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ScalingName {
    /// All of these are tried, and the best on validation is kept
    Auto,
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

impl ScalingName {
    /// The scalings to choose from.
    pub(crate) fn kinds(self) -> &'static [ScalingKind] {
        use ScalingKind::{MinMax, None, QueryMinMax, QueryZScore, ZScore};
        match self {
            Self::Auto => &[MinMax, ZScore, None, QueryMinMax, QueryZScore],
            Self::None => &[None],
            Self::ZScore => &[ZScore],
            Self::MinMax => &[MinMax],
            Self::QueryZScore => &[QueryZScore],
            Self::QueryMinMax => &[QueryMinMax],
        }
    }
}

/// Names of the features of lists: numbers, and names where a file has them.
#[derive(Default)]
pub(crate) struct FeatureNames(Vec<String>);

impl FeatureNames {
    /// Reads names, one a line, from feature 1 on: as many as a file of lists has features, or a model.
    pub(crate) fn of_lists(path: Option<&Path>, counts: [usize; 2]) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let names = Self::read(path)?;
        let n = names.0.len();
        ensure!(
            counts.contains(&n),
            "{}: has {}; a name for each feature is expected, one a line: {}",
            path.display(),
            counted(n, "line"),
            counted(counts[0], "line")
        );
        Ok(names)
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = files::read_all(path)?;
        let text =
            std::str::from_utf8(&bytes).with_context(|| format!("{}: is not UTF-8", path.display()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Self(text.lines().map(|line| line.trim().to_owned()).collect()))
    }

    /// The name of a column.
    pub(crate) fn get(&self, column: u32) -> Option<&str> {
        self.0.get(column as usize).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The number of a column as files have it, and its name.
    pub(crate) fn label(&self, column: u32) -> String {
        let number = u64::from(column) + 1;
        self.get(column).map_or_else(|| number.to_string(), |name| format!("{number}: {name}"))
    }

    /// All names, if there is one for each of so many features.
    pub(crate) fn all(self, n: usize) -> Option<Vec<String>> {
        (self.0.len() == n && self.0.iter().all(|name| !name.is_empty())).then_some(self.0)
    }
}
