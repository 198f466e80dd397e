//! History of a dataset: the rows of its logs, queries and judgments as they were read, kept so that later rows can be
//! added to them.
//!
//! The tables of a dataset hold sums. A sum tells neither which clicks will be held out once there are newer ones, nor
//! which belong to a document that enters the catalogue tomorrow. So the rows themselves are kept in the folder
//! `history/`, one Parquet file for each file that was read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::{Array, Float64Array, Int64Array, UInt64Array};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::checksums::Checksum;
use super::manifest::TableInfo;
use super::tables::{self, ADVICE};
use super::{Dataset, SourceFile};
use crate::files;
use crate::text::VocabularyParams;

/// Folder of the history in a dataset folder.
pub(crate) const HISTORY: &str = "history";

/// Settings and rows of former inputs, from which `append` continues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct History {
    /// Settings of `ingest` that are in no other place of the manifest.
    pub settings: IngestSettings,
    /// Documents that were given twice with the same text.
    #[serde(default)]
    pub repeated_documents: u64,
    /// The files, by kind and in the order in which they were read.
    pub parts: Vec<HistoryPart>,
}

/// Settings of `ingest` that apply to rows that are added later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct IngestSettings {
    /// Columns that were named for all files, by role.
    pub columns: BTreeMap<String, String>,
    /// Columns of logs that hold ids of documents.
    pub log_ids: Vec<String>,
    /// Way in which CSV files write quotes inside of cells.
    pub csv_escape: String,
    /// Delimiter of CSV files, if it was named.
    pub delimiter: Option<char>,
    /// Format of times, if it was named.
    pub date_format: Option<String>,
    /// Clicks that an event of a type counts.
    pub event_weights: BTreeMap<String, f64>,
    /// Text columns, if they were named.
    pub text: Vec<String>,
    /// Words that are kept.
    pub vocabulary: VocabularyParams,
}

/// One file of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryPart {
    /// Kind of the rows.
    pub kind: PartKind,
    /// Name in the folder `history`.
    pub file: String,
    /// Rows, bytes and BLAKE3.
    pub table: TableInfo,
    /// Rows of the source that are not in the file, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
    /// The file that the rows came from; searches have that of their log.
    pub source: SourceFile,
    /// BLAKE3 of the content of that file, by which rows that were added before are recognised.
    pub origin: String,
}

/// Kind of the rows of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Rows of a click log.
    Clicks,
    /// Ids of searches of an event log, with their texts.
    Searches,
    /// Listed queries.
    Queries,
    /// Judgments to learn from.
    Responses,
    /// Judgments for validation.
    Validation,
    /// Judgments for test.
    Test,
}

impl PartKind {
    /// Role of the source in the manifest.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::Clicks | Self::Searches => "clicks",
            Self::Queries => "queries",
            Self::Responses => "responses",
            Self::Validation => "validation judgments",
            Self::Test => "test judgments",
        }
    }

    /// Name of the kind in file names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clicks => "clicks",
            Self::Searches => "searches",
            Self::Queries => "queries",
            Self::Responses => "responses",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

impl History {
    /// Returns the parts of a kind, in the order in which they were read.
    pub(crate) fn of_kind(&self, kind: PartKind) -> impl Iterator<Item = &HistoryPart> {
        self.parts.iter().filter(move |part| part.kind == kind)
    }
}

impl Dataset {
    /// Sums impressions and clicks of the history before a time, and from it on. Rows without a time are left out.
    pub(crate) fn shown_and_clicked(&self, time: i64) -> Result<[[f64; 2]; 2]> {
        let mut sums = [[0.0; 2]; 2];
        for part in self.history()?.of_kind(PartKind::Clicks) {
            let path = self.history_file(part);
            for batch in tables::batches(&path, Some(&["clicks", "shown", "time"]), part.table.rows)? {
                let batch = batch?;
                let clicks: &Float64Array = tables::column(&path, &batch, "clicks")?;
                let shown: &UInt64Array = tables::column(&path, &batch, "shown")?;
                let times: &Int64Array = tables::nullable_column(&path, &batch, "time")?;
                for row in (0..batch.num_rows()).filter(|&row| times.is_valid(row)) {
                    let sum = &mut sums[usize::from(times.value(row) >= time)];
                    sum[0] += shown.value(row) as f64;
                    sum[1] += clicks.value(row);
                }
            }
        }
        Ok(sums)
    }

    /// Returns the path of a part of the history.
    pub(crate) fn history_file(&self, part: &HistoryPart) -> PathBuf {
        self.folder.join(HISTORY).join(&part.file)
    }

    /// Returns the history after checking that every part is as it was written.
    pub(crate) fn history(&self) -> Result<&History> {
        let Some(history) = &self.manifest.history else {
            return Err(Error::format(
                files::name_of(&self.folder),
                "has no history of its rows (it was made by an earlier version, or with option `no-history`), so nothing can \
                 be added to it; ingest all files once more",
            ));
        };
        for part in &history.parts {
            let path = self.history_file(part);
            let name = files::name_of(&path);
            let fail = |message: &str| Err(Error::format(name.clone(), format!("{message}; {ADVICE}")));
            if Path::new(&part.file).file_name() != Some(part.file.as_ref()) {
                return fail("is listed by the manifest and is not the name of a file in the folder");
            }
            if !path.is_file() {
                return fail("is missing");
            }
            if !Checksum::of(&path)?.is(part.table.bytes, &part.table.blake3) {
                return fail("was changed after it was written: its checksum differs");
            }
        }
        Ok(history)
    }
}
