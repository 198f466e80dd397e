//! Datasets: from files and tables in memory to a folder, and what is in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use matchrank_core::Error;
use matchrank_engine::dataset::{ClickGrades, Dataset, HeldOut, Holdout};
use matchrank_engine::ingest::{
    AppendParams, CsvEscape, FileColumn, IngestParams, LanguageOptions, MemoryTable, NamedColumns, Role,
    SplitBy, parse_date,
};
use matchrank_engine::text::VocabularyParams;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::errors::{Raise, parameter};
use crate::rows::{Rows, Stream, numbers, texts};
use crate::running::run;

/// A dataset folder that was opened.
#[pyclass(frozen, module = "matchrank._matchrank")]
pub(crate) struct NativeDataset(pub(crate) Arc<Dataset>);

/// Arguments of `ingest`, by name.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Arguments {
    clicks: Vec<PathBuf>,
    documents: Vec<PathBuf>,
    queries: Vec<PathBuf>,
    responses: Vec<PathBuf>,
    validation: Vec<PathBuf>,
    test: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    columns: BTreeMap<String, String>,
    file_columns: BTreeMap<PathBuf, BTreeMap<String, String>>,
    csv_escape: String,
    delimiter: Option<String>,
    date_format: Option<String>,
    event_weights: BTreeMap<String, f64>,
    text: Vec<String>,
    attributes: Option<Vec<String>>,
    field_weights: BTreeMap<String, f32>,
    grades: String,
    min_clicks: f64,
    split: String,
    holdout: [f64; 2],
    seed: u64,
    languages: Vec<String>,
    field_languages: BTreeMap<String, String>,
    stemming: bool,
    stop_words: bool,
    compounds: bool,
    fold_accents: Option<bool>,
    ngrams: usize,
    min_document_frequency: u32,
    max_document_share: f64,
    max_words: Option<usize>,
    drop_before: Option<String>,
    history: bool,
    memory_mib: usize,
    whole_catalogue: bool,
    skip_known: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        let params = IngestParams::default();
        Self {
            clicks: Vec::new(),
            documents: Vec::new(),
            queries: Vec::new(),
            responses: Vec::new(),
            validation: Vec::new(),
            test: Vec::new(),
            removed: Vec::new(),
            columns: BTreeMap::new(),
            file_columns: BTreeMap::new(),
            csv_escape: "auto".into(),
            delimiter: None,
            date_format: None,
            event_weights: BTreeMap::new(),
            text: Vec::new(),
            attributes: None,
            field_weights: BTreeMap::new(),
            grades: "share".into(),
            min_clicks: params.min_clicks,
            split: "none".into(),
            holdout: params.holdout,
            seed: params.seed,
            languages: Vec::new(),
            field_languages: BTreeMap::new(),
            stemming: true,
            stop_words: true,
            compounds: true,
            fold_accents: None,
            ngrams: 1,
            min_document_frequency: params.vocabulary.min_document_frequency,
            max_document_share: params.vocabulary.max_document_share,
            max_words: None,
            drop_before: None,
            history: true,
            memory_mib: params.memory >> 20,
            whole_catalogue: false,
            skip_known: false,
        }
    }
}

/// Returns the value that one of several names stands for.
fn one_of<T: Clone>(what: &str, given: &str, values: &[(&str, T)]) -> matchrank_core::Result<T> {
    let found = values.iter().find(|(name, _)| *name == given).map(|(_, value)| value.clone());
    found.ok_or_else(|| {
        let known: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        Error::Params(format!("{what} is '{given}'; expected {}", known.join(", ")))
    })
}

impl Arguments {
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        serde_json::from_str(text)
            .map_err(|error| parameter(py, format!("an argument has a value that is not expected: {error}")))
    }

    fn columns(&self) -> matchrank_core::Result<(NamedColumns, Vec<FileColumn>)> {
        let mut columns = NamedColumns::new();
        for (role, column) in &self.columns {
            columns.insert(Role::from_name(role)?, column.clone());
        }
        let mut of_files = Vec::new();
        for (file, columns) in &self.file_columns {
            for (role, column) in columns {
                let role = Role::from_name(role)?;
                of_files.push(FileColumn { file: file.clone(), role, column: column.clone() });
            }
        }
        Ok((columns, of_files))
    }

    fn judgments(&self) -> Vec<(Holdout, PathBuf)> {
        let of =
            |holdout, paths: &[PathBuf]| paths.iter().map(|path| (holdout, path.clone())).collect::<Vec<_>>();
        [of(Holdout::Validation, &self.validation), of(Holdout::Test, &self.test)].concat()
    }

    fn drop_before(&self) -> matchrank_core::Result<Option<i64>> {
        let parse = |text: &String| {
            parse_date(text).ok_or_else(|| {
                Error::Params(format!("drop_before is '{text}'; a date like 2026-01-31 is expected"))
            })
        };
        self.drop_before.as_ref().map(parse).transpose()
    }

    fn delimiter(&self) -> matchrank_core::Result<Option<char>> {
        let Some(text) = &self.delimiter else { return Ok(None) };
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => Ok(Some(letter)),
            _ => Err(Error::Params(format!("delimiter is '{text}'; one character is expected"))),
        }
    }

    fn params(self, tables: Tables) -> matchrank_core::Result<IngestParams> {
        let (columns, file_columns) = self.columns()?;
        Ok(IngestParams {
            judgments: self.judgments(),
            tables,
            columns,
            file_columns,
            csv_escape: one_of(
                "csv_escape",
                &self.csv_escape,
                &[
                    ("auto", CsvEscape::Auto),
                    ("double", CsvEscape::Double),
                    ("backslash", CsvEscape::Backslash),
                ],
            )?,
            delimiter: self.delimiter()?,
            drop_before: self.drop_before()?,
            click_grades: one_of(
                "grades",
                &self.grades,
                &[("share", ClickGrades::Share), ("binary", ClickGrades::Binary)],
            )?,
            split: one_of(
                "split",
                &self.split,
                &[("none", SplitBy::None), ("query", SplitBy::Query), ("time", SplitBy::Time)],
            )?,
            language: Some(LanguageOptions {
                languages: self.languages,
                field_languages: self.field_languages,
                no_stemming: !self.stemming,
                no_stop_words: !self.stop_words,
                no_compounds: !self.compounds,
                fold_accents: self.fold_accents,
                ngrams: self.ngrams,
            }),
            vocabulary: VocabularyParams {
                min_document_frequency: self.min_document_frequency,
                max_document_share: self.max_document_share,
                max_terms: self.max_words,
            },
            clicks: self.clicks,
            documents: self.documents,
            queries: self.queries,
            responses: self.responses,
            date_format: self.date_format,
            event_weights: self.event_weights,
            text: self.text,
            attributes: self.attributes,
            field_weights: self.field_weights,
            min_clicks: self.min_clicks,
            holdout: self.holdout,
            seed: self.seed,
            history: self.history,
            memory: self.memory_mib << 20,
            ..IngestParams::default()
        })
    }

    fn changes(self, tables: Tables) -> matchrank_core::Result<AppendParams> {
        let (columns, file_columns) = self.columns()?;
        Ok(AppendParams {
            judgments: self.judgments(),
            tables,
            columns,
            file_columns,
            drop_before: self.drop_before()?,
            clicks: self.clicks,
            documents: self.documents,
            whole_catalogue: self.whole_catalogue,
            removed: self.removed,
            queries: self.queries,
            responses: self.responses,
            skip_known: self.skip_known,
            memory: self.memory_mib << 20,
        })
    }
}

/// Tables in memory, by name.
type Tables = BTreeMap<PathBuf, MemoryTable>;

/// Reads Arrow streams one after the other: those of one database connection cannot be open at the same time.
fn read_tables(py: Python<'_>, tables: &Bound<'_, PyDict>) -> PyResult<Tables> {
    let mut read = Tables::new();
    for (name, table) in tables.iter() {
        let name: String = name.extract()?;
        let (stream, path) = (Stream::of(&table, &name)?, PathBuf::from(&name));
        read.insert(path, run(py, move |_| stream.collect(&name))?);
    }
    Ok(read)
}

/// Writes a dataset folder and opens it. `tables` are Arrow streams by the names that `arguments` have in place of paths.
#[pyfunction]
pub(crate) fn ingest(
    py: Python<'_>,
    arguments: &str,
    tables: &Bound<'_, PyDict>,
    out: PathBuf,
    replace: bool,
) -> PyResult<NativeDataset> {
    let (arguments, tables) = (Arguments::parse(py, arguments)?, read_tables(py, tables)?);
    run(py, move |progress| {
        let params = arguments.params(tables)?;
        matchrank_engine::ingest::ingest(&params, &out, replace, progress)?;
        Ok(NativeDataset(Arc::new(Dataset::open(&out)?)))
    })
}

/// Adds rows to a dataset folder and opens it again.
#[pyfunction]
pub(crate) fn append(
    py: Python<'_>,
    arguments: &str,
    tables: &Bound<'_, PyDict>,
    folder: PathBuf,
) -> PyResult<NativeDataset> {
    let (arguments, tables) = (Arguments::parse(py, arguments)?, read_tables(py, tables)?);
    run(py, move |progress| {
        let changes = arguments.changes(tables)?;
        matchrank_engine::ingest::append(&changes, &folder, progress)?;
        Ok(NativeDataset(Arc::new(Dataset::open(&folder)?)))
    })
}

/// Opens a dataset folder.
#[pyfunction]
pub(crate) fn open_dataset(py: Python<'_>, folder: PathBuf) -> PyResult<NativeDataset> {
    run(py, move |_| Ok(NativeDataset(Arc::new(Dataset::open(&folder)?))))
}

/// Returns the judgments that a name stands for.
pub(crate) fn holdout(name: &str) -> matchrank_core::Result<Holdout> {
    one_of("split", name, &[("validation", Holdout::Validation), ("test", Holdout::Test)])
}

#[pymethods]
impl NativeDataset {
    /// The folder.
    fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    /// The manifest, as JSON.
    fn manifest(&self) -> String {
        serde_json::json!(self.0.manifest).to_string()
    }

    /// All queries, or the judged ones of a split.
    #[pyo3(signature = (split=None))]
    fn queries(&self, py: Python<'_>, split: Option<String>) -> PyResult<Rows> {
        let dataset = self.0.clone();
        run(py, move |_| {
            let queries = match split {
                Some(split) => HeldOut::of(&dataset, holdout(&split)?)?.queries,
                None => dataset.queries()?,
            };
            let ids = texts(queries.iter().map(|query| query.id.as_str()));
            Rows::new(vec![
                ("query_id", ids),
                ("query", texts(queries.iter().map(|query| query.text.as_str()))),
            ])
        })
    }

    /// The judgments of a split.
    fn judgments(&self, py: Python<'_>, split: String) -> PyResult<Rows> {
        let dataset = self.0.clone();
        run(py, move |_| {
            let held_out = HeldOut::of(&dataset, holdout(&split)?)?;
            let lists = held_out.queries.iter().zip(&held_out.judged);
            let rows: Vec<(&str, &str, f32)> = lists
                .flat_map(|(query, list)| {
                    list.iter().map(|(document, grade)| (query.id.as_str(), document.as_str(), *grade))
                })
                .collect();
            Rows::new(vec![
                ("query_id", texts(rows.iter().map(|row| row.0))),
                ("document", texts(rows.iter().map(|row| row.1))),
                ("grade", numbers(rows.iter().map(|row| row.2))),
            ])
        })
    }

    /// The documents: ids, texts by field, and whether training has a click on each.
    fn documents(&self, py: Python<'_>) -> PyResult<Rows> {
        let dataset = self.0.clone();
        run(py, move |_| {
            let ids = dataset.document_ids()?;
            let rows: Vec<u32> = (0..ids.len() as u32).collect();
            let fields: Vec<String> =
                dataset.manifest.fields.iter().map(|(name, _)| name.to_owned()).collect();
            let mut columns = vec![("document", texts(ids.iter().map(String::as_str)))];
            for field in &fields {
                let found = dataset.document_texts_of(field, &rows)?;
                columns.push((field.as_str(), texts(rows.iter().map(|row| found[row].as_str()))));
            }
            Rows::new(columns)
        })
    }

    /// The training responses: text of the query, id of the document, clicks or grade.
    fn responses(&self, py: Python<'_>) -> PyResult<Rows> {
        let dataset = self.0.clone();
        run(py, move |_| {
            let (queries, ids, responses) =
                (dataset.queries()?, dataset.document_ids()?, dataset.responses()?);
            Rows::new(vec![
                ("query", texts(responses.iter().map(|r| queries[r.query as usize].text.as_str()))),
                ("document", texts(responses.iter().map(|r| ids[r.document as usize].as_str()))),
                ("response", numbers(responses.iter().map(|r| r.response))),
            ])
        })
    }

    /// Texts of a document by field.
    fn document(&self, py: Python<'_>, id: &str) -> PyResult<BTreeMap<String, String>> {
        let dataset = self.0.clone();
        let row = row_of(&dataset, id).raise(py)?;
        let mut found = BTreeMap::new();
        for (field, _) in dataset.manifest.fields.iter() {
            let mut text = dataset.document_texts_of(field, &[row]).raise(py)?;
            found.insert(field.to_owned(), text.remove(&row).unwrap_or_default());
        }
        Ok(found)
    }
}

/// Finds the row of a document.
fn row_of(dataset: &Dataset, id: &str) -> matchrank_core::Result<u32> {
    let row = dataset.document_ids()?.iter().position(|other| other == id);
    row.map(|row| row as u32).ok_or_else(|| unknown_document(dataset, id))
}

/// Builds the error of a document that is not in a dataset.
pub(crate) fn unknown_document(dataset: &Dataset, id: &str) -> Error {
    Error::format(dataset.folder().display().to_string(), format!("there is no document '{id}'"))
}
