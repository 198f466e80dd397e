//! The dataset folder: what `ingest` writes and everything else reads.
//!
//! | file | rows | columns |
//! |---|---|---|
//! | `manifest.json` | | settings, counts, hashes ([`Manifest`]) |
//! | `documents.parquet` | one per document | `id`, then one text column per field |
//! | `queries.parquet` | one per query | `id`, `text` (normalised) |
//! | `responses.parquet` | one per training pair | `query`, `document` (row numbers), `response`, `shown`, `position` |
//! | `skipped.parquet` | one per training pair that was shown above a click, or next below the last one, and not clicked; only where the log has positions | `query`, `document`, `position` (mean) |
//! | `judgments.parquet` | one per judged pair | `split`, `query`, `document`, `grade`, `clicks` |
//! | `vocabulary.parquet` | one per word | `term`, `document_frequency`, `collection_frequency`, `query_frequency` |
//!
//! A query or document is known by its row number inside the folder and by its id outside.

mod clicks;
mod documents;
mod held_out;
mod manifest;
pub(crate) mod tables;

use std::path::{Path, PathBuf};

use arrow_array::{Array, Float32Array, StringArray, UInt8Array, UInt32Array, UInt64Array};
use matchrank_core::{Error, Result};

pub use clicks::Clicks;
pub use documents::Documents;
pub use held_out::{BinBy, HeldOut};
pub use manifest::{FORMAT_VERSION, Manifest, Source, Split, Statistics, TableInfo};

use crate::files;
use crate::text::Vocabulary;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const DOCUMENTS: &str = "documents.parquet";
pub(crate) const QUERIES: &str = "queries.parquet";
pub(crate) const RESPONSES: &str = "responses.parquet";
pub(crate) const SKIPPED: &str = "skipped.parquet";
pub(crate) const JUDGMENTS: &str = "judgments.parquet";
pub(crate) const VOCABULARY: &str = "vocabulary.parquet";

/// Which judgments: those to tune on, or those to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holdout {
    /// For choosing parameters.
    Validation,
    /// For the final figure.
    Test,
}

impl Holdout {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// A dataset folder that was opened.
pub struct Dataset {
    folder: PathBuf,
    /// What the folder says about itself.
    pub manifest: Manifest,
}

/// A query: its id and its normalised text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Id in runs and judgments.
    pub id: String,
    /// Normalised text.
    pub text: String,
}

/// A training pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
    /// Clicks, or a grade.
    pub response: f32,
}

/// Where a document was shown for a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impression {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
    /// Mean position, counted from 1.
    pub position: f32,
}

/// A judged pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
    /// Grade; 1 for a held-out click.
    pub grade: f32,
    /// Held-out clicks behind it; 0 where a person judged.
    pub clicks: f32,
}

impl Dataset {
    /// Opens a dataset folder: reads its manifest and checks that every table is as `ingest` wrote it.
    pub fn open(folder: &Path) -> Result<Self> {
        let dataset = Self::open_unchecked(folder)?;
        if let Some((name, problem)) = dataset.damaged_tables()?.first() {
            let path = folder.join(name);
            return Err(Error::format(
                files::name_of(&path),
                format!("{problem}; ingest again, or restore the file"),
            ));
        }
        Ok(dataset)
    }

    /// The tables that are missing or changed, and what is wrong with each.
    pub(crate) fn damaged_tables(&self) -> Result<Vec<(&str, &'static str)>> {
        let mut damaged = Vec::new();
        for (name, table) in &self.manifest.tables {
            let path = self.folder.join(name);
            if !path.is_file() {
                damaged.push((name.as_str(), "is missing"));
            } else if blake3::hash(&files::read_all(&path)?).to_hex().as_str() != table.blake3 {
                damaged.push((name.as_str(), "is not as it was written: its checksum differs"));
            }
        }
        Ok(damaged)
    }

    /// Opens a dataset folder without looking at its tables.
    pub(crate) fn open_unchecked(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let name = files::name_of(&path);
        if !path.is_file() {
            return Err(Error::format(
                files::name_of(folder),
                "is not a dataset folder (no manifest.json in it); make one with `matchrank ingest`",
            ));
        }
        let bytes = files::read_all(&path)?;
        let value: serde_json::Value = serde_json::from_slice(&bytes)
            .map_err(|e| Error::format(&name, format!("is not valid JSON ({e}); ingest again")))?;
        match value["format_version"].as_u64() {
            Some(version) if version <= u64::from(FORMAT_VERSION) && version > 0 => {}
            Some(version) => {
                return Err(Error::format(
                    &name,
                    format!(
                        "has format version {version}, and this program reads up to {FORMAT_VERSION}; use a newer one"
                    ),
                ));
            }
            None => return Err(Error::format(&name, "has no format_version; is it a matchrank dataset?")),
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|e| {
            Error::format(&name, format!("does not say what is expected ({e}); ingest again"))
        })?;
        manifest.fields.validate()?;
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All queries, in the order of their rows.
    pub fn queries(&self) -> Result<Vec<Query>> {
        let path = self.folder.join(QUERIES);
        let mut queries = Vec::with_capacity(self.manifest.statistics.n_queries as usize);
        for batch in tables::batches(&path, None)? {
            let batch = &batch?;
            let ids: &StringArray = tables::column(&path, batch, "id")?;
            let texts: &StringArray = tables::column(&path, batch, "text")?;
            queries.extend(
                (0..batch.num_rows()).map(|i| Query { id: ids.value(i).into(), text: texts.value(i).into() }),
            );
        }
        Ok(queries)
    }

    /// The training pairs.
    pub fn responses(&self) -> Result<Vec<Response>> {
        let path = self.folder.join(RESPONSES);
        let mut responses = Vec::with_capacity(self.manifest.statistics.n_pairs as usize);
        for batch in tables::batches(&path, None)? {
            let batch = &batch?;
            let queries: &UInt32Array = tables::column(&path, batch, "query")?;
            let documents: &UInt32Array = tables::column(&path, batch, "document")?;
            let values: &Float32Array = tables::column(&path, batch, "response")?;
            responses.extend((0..batch.num_rows()).map(|i| Response {
                query: queries.value(i),
                document: documents.value(i),
                response: values.value(i),
            }));
        }
        Ok(responses)
    }

    /// Training pairs that were shown above a clicked document, or next below the last one, and not clicked; none
    /// where the log has no positions.
    pub fn skipped(&self) -> Result<Vec<Impression>> {
        if self.manifest.tables.contains_key(SKIPPED) { self.impressions(SKIPPED) } else { Ok(Vec::new()) }
    }

    /// Training pairs with a click, where their positions are known.
    pub fn clicked_positions(&self) -> Result<Vec<Impression>> {
        self.impressions(RESPONSES)
    }

    fn impressions(&self, table: &str) -> Result<Vec<Impression>> {
        let path = self.folder.join(table);
        let mut impressions = Vec::new();
        for batch in tables::batches(&path, Some(&["query", "document", "position"]))? {
            let batch = &batch?;
            let queries: &UInt32Array = tables::column(&path, batch, "query")?;
            let documents: &UInt32Array = tables::column(&path, batch, "document")?;
            let positions: &Float32Array = tables::column(&path, batch, "position")?;
            impressions.extend((0..batch.num_rows()).filter(|&i| positions.is_valid(i)).map(|i| {
                Impression {
                    query: queries.value(i),
                    document: documents.value(i),
                    position: positions.value(i),
                }
            }));
        }
        Ok(impressions)
    }

    /// The judged pairs of one holdout, sorted by (query, document).
    pub fn judgments(&self, holdout: Holdout) -> Result<Vec<Judged>> {
        let path = self.folder.join(JUDGMENTS);
        let mut judgments = Vec::new();
        for batch in tables::batches(&path, None)? {
            let batch = &batch?;
            let splits: &UInt8Array = tables::column(&path, batch, "split")?;
            let queries: &UInt32Array = tables::column(&path, batch, "query")?;
            let documents: &UInt32Array = tables::column(&path, batch, "document")?;
            let grades: &Float32Array = tables::column(&path, batch, "grade")?;
            let clicks: &Float32Array = tables::column(&path, batch, "clicks")?;
            judgments.extend((0..batch.num_rows()).filter(|&i| splits.value(i) == holdout as u8).map(|i| {
                Judged {
                    query: queries.value(i),
                    document: documents.value(i),
                    grade: grades.value(i),
                    clicks: clicks.value(i),
                }
            }));
        }
        judgments.sort_unstable_by_key(|j| (j.query, j.document));
        Ok(judgments)
    }

    /// The words of the documents with their frequencies.
    pub fn document_vocabulary(&self) -> Result<Vocabulary> {
        self.read_vocabulary(|terms| {
            // Words that only queries have come after those of documents.
            Vocabulary::from_terms(self.manifest.statistics.n_documents, terms.filter(|(_, df, _)| *df > 0))
        })
    }

    /// The words of the documents, and after them the words that only (training) queries have.
    pub fn vocabulary(&self) -> Result<Vocabulary> {
        self.read_vocabulary(|terms| {
            Vocabulary::with_query_terms(self.manifest.statistics.n_documents, terms)
        })
    }

    fn read_vocabulary(
        &self,
        make: impl FnOnce(&mut dyn Iterator<Item = (&str, u32, u64)>) -> Result<Vocabulary>,
    ) -> Result<Vocabulary> {
        let path = self.folder.join(VOCABULARY);
        let batches = tables::batches(&path, None)?.collect::<Result<Vec<_>>>()?;
        let mut columns: Vec<(&StringArray, &UInt32Array, &UInt64Array)> = Vec::new();
        for batch in &batches {
            columns.push((
                tables::column(&path, batch, "term")?,
                tables::column(&path, batch, "document_frequency")?,
                tables::column(&path, batch, "collection_frequency")?,
            ));
        }
        make(&mut columns.iter().flat_map(|(terms, dfs, cfs)| {
            (0..terms.len()).map(|i| (terms.value(i), dfs.value(i), cfs.value(i)))
        }))
    }
}

/// Name of the column that holds a text field; `id` is taken by the document's id.
pub(crate) fn text_column(field: &str) -> String {
    if field == "id" { "text:id".into() } else { field.into() }
}
