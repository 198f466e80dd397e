//! Opens a dataset folder, and checks it before anything is read from it.

use std::path::Path;

use arrow_schema::DataType;
use matchrank_core::{Error, Result};

use super::checksums::Checksum;
use super::tables::ADVICE;
use super::{
    DOCUMENTS, Dataset, JUDGMENTS, MANIFEST, Manifest, NEGATIVES, QUERIES, RESPONSES, SKIPPED, TableInfo,
    VOCABULARY, text_column,
};
use crate::files;
use crate::parquet_file::ParquetFile;

/// Problem with a file of a dataset.
pub(crate) struct Problem {
    /// Name of the file.
    pub(crate) file: String,
    /// Predicate: "is missing".
    pub(crate) message: String,
}

/// Most rows per byte that a table of distinct ids can have.
const MOST_ROWS_PER_BYTE: u64 = 256;

impl Dataset {
    /// Opens a dataset folder: reads its manifest and checks that every table is as `ingest` wrote it.
    pub fn open(folder: &Path) -> Result<Self> {
        let dataset = Self::open_unchecked(folder)?;
        match dataset.problems()?.into_iter().next() {
            Some(Problem { file, message }) => {
                Err(Error::format(files::name_of(&folder.join(file)), format!("{message}; {ADVICE}")))
            }
            None => Ok(dataset),
        }
    }

    /// Opens a dataset folder without checking its tables. Callers may only use [`problems`](Self::problems) until it
    /// returns none.
    pub(crate) fn open_unchecked(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            return Err(Error::format(
                files::name_of(folder),
                "is not a dataset folder (no manifest.json in it); make one with `matchrank ingest`",
            ));
        }
        let json = std::fs::read(&path).map_err(|e| Error::io(files::name_of(&path), e))?;
        let manifest =
            Manifest::from_json(&json).map_err(|message| Error::format(files::name_of(&path), message))?;
        Ok(Self { folder: folder.to_owned(), manifest, held: Default::default() })
    }

    /// Returns tables that are missing or changed, or else contradictions between tables and manifest.
    pub(crate) fn problems(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let mut add = |file: &str, message: String| problems.push(Problem { file: file.into(), message });
        for name in [DOCUMENTS, QUERIES, RESPONSES, JUDGMENTS, VOCABULARY] {
            if !self.manifest.tables.contains_key(name) {
                add(MANIFEST, format!("does not list the table {name}"));
            }
        }
        for (name, table) in &self.manifest.tables {
            let path = self.folder.join(name);
            if Path::new(name).file_name() != Some(name.as_ref()) {
                add(MANIFEST, format!("lists {name:?}, which is not the name of a file in the folder"));
            } else if !path.is_file() {
                add(name, "is missing".into());
            } else if !Checksum::of(&path)?.is(table.bytes, &table.blake3) {
                add(name, "was changed after it was written: its checksum differs".into());
            }
        }
        if problems.is_empty() {
            problems.extend(self.tables_that_contradict());
        }
        if problems.is_empty() {
            let message = self.counts_that_contradict();
            problems.extend(message.map(|message| Problem { file: MANIFEST.into(), message }));
        }
        Ok(problems)
    }

    /// Checks the columns of every known table, and the number of rows in its footer.
    fn tables_that_contradict(&self) -> Vec<Problem> {
        let known =
            self.manifest.tables.iter().filter_map(|(name, info)| Some((name, info, self.columns(name)?)));
        known
            .filter_map(|(name, info, columns)| {
                let message = contradiction(&self.folder.join(name), info, &columns)?;
                Some(Problem { file: name.clone(), message })
            })
            .collect()
    }

    /// Returns the columns that are read from a known table.
    fn columns(&self, table: &str) -> Option<Vec<(String, DataType)>> {
        use DataType::{Float32, UInt8, UInt32, UInt64, Utf8};
        let columns: &[(&str, DataType)] = match table {
            DOCUMENTS => {
                let fields = self.manifest.fields.iter().map(|(name, _)| text_column(name));
                return Some(["id".into()].into_iter().chain(fields).map(|name| (name, Utf8)).collect());
            }
            QUERIES => &[("id", Utf8), ("text", Utf8)],
            RESPONSES => {
                &[("query", UInt32), ("document", UInt32), ("response", Float32), ("position", Float32)]
            }
            SKIPPED => &[("query", UInt32), ("document", UInt32), ("position", Float32)],
            NEGATIVES => &[("query", UInt32), ("document", UInt32)],
            JUDGMENTS => &[
                ("split", UInt8),
                ("query", UInt32),
                ("document", UInt32),
                ("grade", Float32),
                ("clicks", Float32),
            ],
            VOCABULARY => &[("term", Utf8), ("document_frequency", UInt32), ("collection_frequency", UInt64)],
            _ => return None,
        };
        Some(columns.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect())
    }

    /// Checks the counts that are used to allocate memory and to index.
    fn counts_that_contradict(&self) -> Option<String> {
        let Manifest { statistics: s, tables, fields, field_lengths, .. } = &self.manifest;
        let judgments = s.n_judgments[0].checked_add(s.n_judgments[1]);
        for (name, count, table) in [
            ("n_documents", Some(s.n_documents), DOCUMENTS),
            ("n_queries", Some(s.n_queries), QUERIES),
            ("n_pairs", Some(s.n_pairs), RESPONSES),
            ("n_judgments", judgments, JUDGMENTS),
            ("n_words", Some(s.n_words), VOCABULARY),
            ("n_negatives", Some(s.n_negatives), NEGATIVES),
        ] {
            // All but the negatives are there.
            let rows = tables.get(table).map_or(0, |table| table.rows);
            if count != Some(rows) {
                return Some(format!("has a count {name} that contradicts {table}, which has {rows} rows"));
            }
        }
        let whole = [
            (s.n_documents <= u64::from(u32::MAX), "n_documents"),
            (s.n_queries <= u64::from(u32::MAX), "n_queries"),
            (s.n_x <= s.n_queries, "n_x"),
            (s.n_y <= s.n_documents, "n_y"),
            (Some(s.d_x) == s.n_words.checked_add(s.n_y), "d_x"),
            (Some(s.d_y) == s.n_words.checked_add(s.n_x), "d_y"),
            (field_lengths.len() == fields.len(), "field_lengths"),
        ];
        let (_, name) = whole.iter().find(|(holds, _)| !holds)?;
        Some(format!("contradicts itself: {name} is out of range"))
    }
}

fn contradiction(path: &Path, info: &TableInfo, columns: &[(String, DataType)]) -> Option<String> {
    let table = match ParquetFile::open(path, ADVICE) {
        Ok(table) => table,
        Err(Error::Format { message, .. }) => return Some(message),
        Err(error) => return Some(error.to_string()),
    };
    if u64::try_from(table.n_rows()) != Ok(info.rows) {
        return Some(format!("has {} rows instead of {}", table.n_rows(), info.rows));
    }
    let has_ids = columns.iter().any(|(name, _)| name == "id");
    if has_ids && info.rows / MOST_ROWS_PER_BYTE > info.bytes {
        return Some(format!("cannot have {} rows in {} bytes", info.rows, info.bytes));
    }
    let fits = |(name, kind): &&(String, DataType)| {
        table.schema().field_with_name(name).is_ok_and(|field| field.data_type() == kind)
    };
    let (name, kind) = columns.iter().find(|column| !fits(column))?;
    Some(format!("has no column '{name}' of type {kind}"))
}
