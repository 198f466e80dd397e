//! The dataset folder: what `ingest` writes and everything else reads.
//!
//! | file | rows | columns |
//! |---|---|---|
//! | `manifest.json` | | settings, counts, hashes ([`Manifest`]) |
//! | `documents.parquet` | one per document | `id`, then one text column per field |
//! | `queries.parquet` | one per query | `id`, `text` (normalised) |
//! | `responses.parquet` | one per training pair | `query`, `document` (row numbers), `response`, `shown`, `position` |
//! | `judgments.parquet` | one per judged pair | `split`, `query`, `document`, `grade`, `clicks` |
//! | `vocabulary.parquet` | one per word | `term`, `document_frequency`, `collection_frequency`, `query_frequency` |
//!
//! A query or document is known by its row number inside the folder and by its id outside.

mod held_out;
mod manifest;
pub(crate) mod tables;

use std::path::{Path, PathBuf};

use arrow_array::{Array, Float32Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use matchrank_core::{Error, Result};

pub use held_out::{BinBy, HeldOut};
pub use manifest::{FORMAT_VERSION, Manifest, Source, Split, Statistics, TableInfo};

use crate::files;
use crate::text::Vocabulary;

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const DOCUMENTS: &str = "documents.parquet";
pub(crate) const QUERIES: &str = "queries.parquet";
pub(crate) const RESPONSES: &str = "responses.parquet";
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

/// Documents as they are read: ids, and for every field the texts.
pub struct Documents<'a> {
    ids: &'a StringArray,
    fields: Vec<&'a StringArray>,
}

impl Documents<'_> {
    /// Number of documents in this batch.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Id of a document of this batch.
    pub fn id(&self, row: usize) -> &str {
        self.ids.value(row)
    }

    /// Text of a field (in the order of the manifest's fields) of a document of this batch.
    pub fn text(&self, row: usize, field: usize) -> &str {
        self.fields[field].value(row)
    }
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

    /// Calls `each` with the documents batch by batch, in the order of their rows.
    pub fn for_each_documents(&self, mut each: impl FnMut(&Documents<'_>) -> Result<()>) -> Result<()> {
        let path = self.folder.join(DOCUMENTS);
        tables::batches(&path, None)?.try_for_each(|batch| each(&self.documents_of(&path, &batch?)?))
    }

    /// The texts of all documents, field by field, in the order of their rows; read as they are drawn.
    pub fn texts(&self) -> Result<impl Iterator<Item = Result<Vec<String>>>> {
        let path = self.folder.join(DOCUMENTS);
        Ok(tables::batches(&path, None)?.flat_map(move |batch| {
            let texts = batch.and_then(|batch| {
                let documents = self.documents_of(&path, &batch)?;
                let n_fields = self.manifest.fields.len();
                let row =
                    |row| Ok((0..n_fields).map(|field| documents.text(row, field).to_owned()).collect());
                Ok((0..documents.len()).map(row).collect::<Vec<_>>())
            });
            texts.unwrap_or_else(|error| vec![Err(error)])
        }))
    }

    fn documents_of<'a>(&self, path: &Path, batch: &'a RecordBatch) -> Result<Documents<'a>> {
        let fields =
            self.manifest.fields.iter().map(|(name, _)| tables::column(path, batch, &text_column(name)));
        Ok(Documents { ids: tables::column(path, batch, "id")?, fields: fields.collect::<Result<_>>()? })
    }

    /// The ids of all documents, in the order of their rows; their texts are not read.
    pub fn document_ids(&self) -> Result<Vec<String>> {
        let path = self.folder.join(DOCUMENTS);
        let mut all = Vec::with_capacity(self.manifest.statistics.n_documents as usize);
        for batch in tables::batches(&path, Some(&["id"]))? {
            let batch = &batch?;
            let ids: &StringArray = tables::column(&path, batch, "id")?;
            all.extend((0..ids.len()).map(|i| ids.value(i).to_owned()));
        }
        Ok(all)
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

    /// The words of the documents with their frequencies. Words that only queries have come after them in
    /// the table and are left out here.
    pub fn document_vocabulary(&self) -> Result<Vocabulary> {
        let path = self.folder.join(VOCABULARY);
        let mut terms: Vec<(String, u32, u64)> = Vec::new();
        for batch in tables::batches(&path, None)? {
            let batch = &batch?;
            let names: &StringArray = tables::column(&path, batch, "term")?;
            let dfs: &UInt32Array = tables::column(&path, batch, "document_frequency")?;
            let cfs: &UInt64Array = tables::column(&path, batch, "collection_frequency")?;
            terms.extend(
                (0..batch.num_rows())
                    .filter(|&i| dfs.value(i) > 0)
                    .map(|i| (names.value(i).to_owned(), dfs.value(i), cfs.value(i))),
            );
        }
        Vocabulary::from_terms(
            self.manifest.statistics.n_documents,
            terms.iter().map(|(term, df, cf)| (term.as_str(), *df, *cf)),
        )
    }
}

/// Name of the column that holds a text field; `id` is taken by the document's id.
pub(crate) fn text_column(field: &str) -> String {
    if field == "id" { "text:id".into() } else { field.into() }
}
