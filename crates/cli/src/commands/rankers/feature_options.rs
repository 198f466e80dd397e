//! Options of `tune` and `compare` for the features of lists: their scaling, and the features of queries.

use std::path::PathBuf;

use matchrank_core::ranking::ScalingKind;
use matchrank_engine::files;
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryInput, QueryTable};

use super::queries::parse_table;
use super::{ScalingName, parse_columns};

#[derive(clap::Args)]
pub(crate) struct FeatureOptions {
    /// Scaling of the features of --letor, unless it is tuned
    #[arg(long, value_enum, value_name = "HOW", default_value = "min_max")]
    scaling: ScalingName,
    /// Features of --letor that belong to queries, for query-dependent rankers, as in 5-7,20 [default: those that never
    /// differ within a query]
    #[arg(long, value_name = "LIST", value_parser = parse_columns)]
    query_columns: Option<QueryColumns>,
    /// Query features in a file of their own, for query-dependent rankers
    #[arg(long, value_name = "FILE", conflicts_with = "query_columns")]
    query_features: Option<PathBuf>,
}

/// Query features that were read.
pub(crate) struct QueryFeatures {
    columns: QueryColumns,
    table: Option<QueryTable>,
}

impl QueryFeatures {
    pub(crate) fn input(&self) -> QueryInput<'_> {
        self.table.as_ref().map_or(QueryInput::Columns(&self.columns), QueryInput::Table)
    }
}

impl FeatureOptions {
    pub(crate) fn scalings(&self) -> &'static [ScalingKind] {
        self.scaling.kinds()
    }

    /// The file that is read.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.query_features.as_ref()
    }

    /// Returns true if an option names query features.
    pub(crate) fn name_query_features(&self) -> bool {
        self.query_columns.is_some() || self.query_features.is_some()
    }

    /// Reads the query features, and adds them to the hash of all that a result depends on.
    pub(crate) fn read(&self, hasher: &mut blake3::Hasher) -> anyhow::Result<QueryFeatures> {
        let columns = self.query_columns.clone().unwrap_or_default();
        let table = match &self.query_features {
            Some(path) => {
                let bytes = files::read_all(path)?;
                hasher.update(&bytes);
                Some(parse_table(path, &bytes)?)
            }
            None => None,
        };
        hasher.update(format!("{columns:?}").as_bytes());
        Ok(QueryFeatures { columns, table })
    }
}
