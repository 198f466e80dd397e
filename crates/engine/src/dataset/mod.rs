//! The dataset folder: what `ingest` writes and everything else reads.
//!
//! | file | rows | columns |
//! |---|---|---|
//! | `manifest.json` | | settings, counts, hashes ([`Manifest`]) |
//! | `documents.parquet` | one per document | `id`, then one text column per field |
//! | `queries.parquet` | one per query | `id`, `text` (normalised) |
//! | `responses.parquet` | one per training pair | `query`, `document` (row numbers), `response`, `shown`, `position` |
//! | `skipped.parquet` | one per training pair that was shown above a click, or next below the last one, and not clicked; only where the log has positions | `query`, `document`, `position` (mean) |
//! | `negatives.parquet` | one per training pair that was judged with grade 0; only if there are any | `query`, `document` |
//! | `judgments.parquet` | one per judged pair | `split`, `query`, `document`, `grade`, `clicks` |
//! | `vocabulary.parquet` | one per word | `term`, `document_frequency`, `collection_frequency`, `query_frequency` |
//! | `history/` | one per row that was read | the rows of the logs, for adding to them ([`History`]) |
//! | `index/` | | search indexes, which may be deleted ([`index_of`](crate::retrieval::index_of)) |
//!
//! A query or document is known by its row number inside the folder and by its id outside.
//!
//! Nothing in a folder is trusted. [`Dataset::open`] checks every table against the manifest, and the
//! manifest against its hash. Whoever can write the folder can make all hashes right, so what is read is
//! checked again where it is used: types, nulls, numbers of rows, row numbers, values. Every contradiction
//! is an error.

mod bound;
pub(crate) mod checksums;
mod clicks;
mod deal;
mod documents;
mod given;
mod held_out;
mod history;
mod manifest;
mod names;
mod near_duplicates;
mod opening;
mod ownership;
mod pairs;
pub(crate) mod replace;
pub(crate) mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use matchrank_core::{Error, Result};

pub use bound::BoundDocuments;
pub use clicks::Clicks;
pub(crate) use deal::Purpose;
pub use documents::Documents;
pub(crate) use documents::IdList;
pub use given::GivenDocuments;
pub(crate) use held_out::BinLabel;
pub use held_out::{BinBy, HeldOut, HeldOutClicks};
pub(crate) use history::HISTORY;
pub use history::{History, HistoryPart, IngestSettings, PartKind};
pub(crate) use manifest::content_hash;
pub use manifest::{
    ClickGrades, EventType, FORMAT_VERSION, IgnoredColumn, LostZeros, Manifest, SourceFile, Split,
    Statistics, TableInfo,
};
pub use names::Names;
pub(crate) use names::{id_of_text, without_zeros};
pub(crate) use ownership::{LOCK, foreign_file};
pub use pairs::{Impression, Judged, Negative, Response};

use crate::files;
use crate::text::{Vocabulary, normalise_query};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const DOCUMENTS: &str = "documents.parquet";
pub(crate) const QUERIES: &str = "queries.parquet";
pub(crate) const RESPONSES: &str = "responses.parquet";
pub(crate) const SKIPPED: &str = "skipped.parquet";
pub(crate) const NEGATIVES: &str = "negatives.parquet";
pub(crate) const JUDGMENTS: &str = "judgments.parquet";
pub(crate) const VOCABULARY: &str = "vocabulary.parquet";
/// Folder of the search indexes.
pub(crate) const INDEX: &str = "index";

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
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// Manifest of the folder.
    pub manifest: Manifest,
    /// Tables that are in memory, by name.
    held: BTreeMap<&'static str, Vec<RecordBatch>>,
}

/// A query: its id and its normalised text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Id in runs and judgments.
    pub id: String,
    /// Normalised text.
    pub text: String,
}

impl Query {
    /// A query known by its text alone, with an id made of it.
    pub fn of_text(text: &str) -> Self {
        let text = normalise_query(text);
        Self { id: id_of_text(&text), text }
    }
}

impl Dataset {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The batches of a table: as many rows as the manifest says, or an error.
    fn batches(
        &self,
        table: &str,
        columns: Option<&[&str]>,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>>>> {
        let path = self.folder.join(table);
        if let Some(batches) = self.held.get(table) {
            let columns: Option<Vec<String>> =
                columns.map(|columns| columns.iter().map(|&name| name.to_owned()).collect());
            let batches = batches.clone().into_iter();
            return Ok(Box::new(
                batches.map(move |batch| tables::projected(&path, &batch, columns.as_deref())),
            ));
        }
        let name = files::name_of(&path);
        let Some(info) = self.manifest.tables.get(table) else {
            return Err(Error::format(name, "is not in the manifest"));
        };
        // Another `ingest` may have replaced the dataset since it was opened.
        if path.metadata().map_err(|e| Error::io(&name, e))?.len() != info.bytes {
            return Err(Error::format(name, "was replaced while the dataset was in use; start again"));
        }
        Ok(Box::new(tables::batches(&path, columns, info.rows)?))
    }

    /// Reads the documents and queries into memory, where they are found from then on.
    pub(crate) fn hold_texts(&mut self) -> Result<()> {
        for table in [DOCUMENTS, QUERIES] {
            let batches = self.batches(table, None)?.collect::<Result<Vec<_>>>()?;
            self.held.insert(table, batches);
        }
        Ok(())
    }

    /// The table of documents, batch by batch, where it is in memory.
    pub(crate) fn held_documents(&self) -> &[RecordBatch] {
        self.held.get(DOCUMENTS).map_or(&[], Vec::as_slice)
    }

    /// All queries, in the order of their rows.
    pub fn queries(&self) -> Result<Vec<Query>> {
        let path = self.folder.join(QUERIES);
        let mut queries = Vec::new();
        for batch in self.batches(QUERIES, None)? {
            let batch = &batch?;
            let ids = tables::ids(&path, batch)?;
            let texts: &StringArray = tables::column(&path, batch, "text")?;
            queries.extend(
                (0..batch.num_rows()).map(|i| Query { id: ids.value(i).into(), text: texts.value(i).into() }),
            );
        }
        Ok(queries)
    }

    /// Mean number of tokens of a document, weighted by field.
    pub fn average_length(&self) -> f64 {
        let Manifest { fields, field_lengths, statistics, .. } = &self.manifest;
        let weighted = fields.iter().zip(field_lengths).map(|((_, w), &n)| f64::from(w) * n as f64);
        weighted.sum::<f64>() / statistics.n_documents.max(1) as f64
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
        let name = files::name_of(&path);
        let batches = self.batches(VOCABULARY, None)?.collect::<Result<Vec<_>>>()?;
        let mut columns: Vec<(&StringArray, &UInt32Array, &UInt64Array)> = Vec::new();
        for batch in &batches {
            columns.push((
                tables::column(&path, batch, "term")?,
                tables::column(&path, batch, "document_frequency")?,
                tables::column(&path, batch, "collection_frequency")?,
            ));
        }
        if !columns.iter().flat_map(|(_, dfs, _)| dfs.values()).is_sorted_by_key(|&df| df == 0) {
            return Err(Error::format(
                name,
                "has words of queries alone among the words of documents; ingest again",
            ));
        }
        let vocabulary = make(&mut columns.iter().flat_map(|(terms, dfs, cfs)| {
            (0..terms.len()).map(|i| (terms.value(i), dfs.value(i), cfs.value(i)))
        }));
        vocabulary.map_err(|error| Error::format(name, format!("{error}; ingest again")))
    }
}

/// Name of the column that holds a text field; `id` is taken by the document's id.
pub(crate) fn text_column(field: &str) -> String {
    if field == "id" { "text:id".into() } else { field.into() }
}
