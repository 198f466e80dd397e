//! Common view of CSV, TSV, JSON lines and Parquet: rows of text fields, by column name, with line numbers.
//!
//! The format is recognised by the name (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.parquet`, each also with `.gz` or
//! `.zst`) and otherwise by the first bytes. A TSV file of two columns whose first line does not look like a header is
//! read as (id, text) without a header.

use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use foldhash::HashSet;
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::chunks::{Chunk, Chunks};
use super::columns::is_usual_id;
use super::escapes::{CsvEscape, Quoting};
use super::records::Records;
use super::waves::in_waves;
use crate::files;
use crate::parquet_file::ParquetFile;
use crate::unwind::caught;

/// Advice at the end of the message about a damaged Parquet file.
const ADVICE: &str = "write it again";
/// Largest number of columns that one read may request.
pub(super) const MOST_COLUMNS: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum Format {
    Delimited { delimiter: u8, header: bool, quoting: Quoting },
    JsonLines,
    Parquet,
}

const COMMAS: Format = Format::Delimited { delimiter: b',', header: true, quoting: Quoting::Doubled };
const TABS: Format = Format::Delimited { delimiter: b'\t', header: true, quoting: Quoting::Off };

impl Format {
    fn quoting(&self) -> Quoting {
        match self {
            Self::Delimited { quoting, .. } => *quoting,
            Self::JsonLines | Self::Parquet => Quoting::Off,
        }
    }
}

/// A file of rows with named columns.
pub(super) struct Table {
    path: PathBuf,
    format: Format,
    columns: Vec<String>,
    /// True if the first rows showed that backslashes escape quotes.
    detected_backslashes: bool,
}

/// One row: its line (or row number in Parquet), and the wanted fields in the order of the request. A field that is
/// absent, null or empty is `None`.
pub(super) struct TableRow<'a> {
    pub(super) line: u64,
    pub(super) fields: &'a [Option<&'a str>],
}

enum TablePart {
    Text(Chunk),
    Batch(RecordBatch, u64),
}

/// A chunk of rows of a table.
pub(super) struct TableRows<'t> {
    table: &'t Table,
    wanted: &'t [&'t str],
    part: TablePart,
}

impl TableRows<'_> {
    /// Calls `each` for every row of the chunk, in order.
    pub(super) fn for_each(&self, mut each: impl FnMut(TableRow<'_>) -> Result<()>) -> Result<()> {
        let table = self.table;
        match (&self.part, &table.format) {
            (TablePart::Batch(batch, first), _) => table.batch_rows(batch, *first, self.wanted, each),
            (TablePart::Text(chunk), Format::Delimited { delimiter, header, quoting }) => {
                let skip_first = *header && chunk.line == 1;
                let records = Records::new(chunk.text(&table.path)?, *delimiter, *quoting);
                table.delimited_rows(records, chunk.line, skip_first, self.wanted, each)
            }
            (TablePart::Text(_), _) => {
                let mut owned: Vec<Option<String>> = Vec::new();
                self.for_each_json(|line, value| {
                    owned.clear();
                    owned.extend(self.wanted.iter().map(|path| json_text(value, path)));
                    let fields: Vec<Option<&str>> =
                        owned.iter().map(|f| f.as_deref().map(str::trim).filter(|f| !f.is_empty())).collect();
                    each(TableRow { line, fields: &fields })
                })
            }
        }
    }

    /// Calls `each` with the line and the object of every row of a JSON lines file.
    pub(super) fn for_each_json(&self, mut each: impl FnMut(u64, &Value) -> Result<()>) -> Result<()> {
        let TablePart::Text(chunk) = &self.part else { unreachable!("JSON lines are text") };
        for (i, line) in chunk.text(&self.table.path)?.split('\n').enumerate() {
            if !line.trim().is_empty() {
                let number = chunk.line + i as u64;
                each(number, &json_object(&self.table.name(), number, line)?)?;
            }
        }
        Ok(())
    }
}

impl Table {
    pub(super) fn open(path: &Path, escape: CsvEscape) -> Result<Self> {
        let name = files::name_of(path);
        if path == Path::new("-") || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return Err(Error::format(
                name,
                "is a pipe, but this input is read more than once; save it to a file first",
            ));
        }
        let mut format = match ending(path).as_str() {
            "csv" => COMMAS,
            "tsv" | "tab" => TABS,
            "jsonl" | "ndjson" | "json" => Format::JsonLines,
            "parquet" | "pq" => Format::Parquet,
            _ => sniff(path)?,
        };
        if format == Format::Parquet {
            let file = ParquetFile::open(path, ADVICE)?;
            let columns = file.schema().fields().iter().map(|f| f.name().clone()).collect();
            return Ok(Self { path: path.to_owned(), format, columns, detected_backslashes: false });
        }
        let empty = || Error::parse(&name, 1, "the file is empty; a header or a first row is expected");
        if let Format::Delimited { delimiter: b',', quoting, .. } = &mut format {
            *quoting = Quoting::of_csv(path, escape)?;
        }
        let quoting = format.quoting();
        let detected_backslashes = quoting == Quoting::Backslash && escape == CsvEscape::Auto;
        let first = Chunks::open(path, quoting)?.next()?.ok_or_else(empty)?;
        let text = first.text(path)?;
        if text.trim().is_empty() {
            return Err(empty());
        }
        match format {
            Format::JsonLines => {
                let (mut columns, mut known) = (Vec::new(), HashSet::default());
                for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).take(10_000) {
                    let value = json_object(&name, i as u64 + 1, line)?;
                    collect_paths("", &value, &mut columns, &mut known);
                }
                Ok(Self { path: path.to_owned(), format, columns, detected_backslashes })
            }
            Format::Delimited { delimiter, .. } => {
                let mut record = csv::StringRecord::new();
                let mut records = Records::new(text, delimiter, quoting);
                records
                    .next(&mut record)
                    .map_err(|(line, message)| Error::parse(&name, 1 + line, message))?;
                let mut columns: Vec<String> = record.iter().map(|c| c.trim().to_owned()).collect();
                let headed = delimiter == b',' || columns.len() != 2 || is_usual_id(&columns[0]);
                if !headed {
                    columns = vec!["id".into(), "text".into()];
                }
                let mut sorted = columns.clone();
                sorted.sort();
                if let Some(pair) = sorted.windows(2).find(|w| w[0] == w[1]) {
                    return Err(Error::parse(
                        &name,
                        1,
                        format!("the header names the column '{}' twice", pair[0]),
                    ));
                }
                Ok(Self {
                    path: path.to_owned(),
                    format: Format::Delimited { delimiter, header: headed, quoting },
                    columns,
                    detected_backslashes,
                })
            }
            Format::Parquet => unreachable!("handled above"),
        }
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns what the first rows told about the file.
    pub(super) fn remarks(&self) -> Vec<String> {
        let backslashes = "quotes are escaped by backslashes (recognised by the first rows)";
        self.detected_backslashes.then(|| backslashes.to_owned()).into_iter().collect()
    }

    pub(super) fn is_json(&self) -> bool {
        self.format == Format::JsonLines
    }

    /// Processes the wanted columns of all rows, chunk by chunk on all cores; `merge` receives the results in the order
    /// of the file.
    pub(super) fn read<Done: Send>(
        &self,
        wanted: &[&str],
        work: impl Fn(&TableRows<'_>) -> Result<Done> + Sync,
        merge: impl FnMut(Done) -> Result<()>,
    ) -> Result<()> {
        if wanted.len() > MOST_COLUMNS {
            return Err(Error::format(
                self.name(),
                format!("more than {MOST_COLUMNS} columns are requested; name fewer"),
            ));
        }
        let work = |part: TablePart| work(&TableRows { table: self, wanted, part });
        let wave = 2 * rayon::current_num_threads();
        match self.format {
            Format::Parquet => {
                let mut batches = ParquetFile::open(&self.path, ADVICE)?.batches(Some(wanted))?;
                let mut row = 1;
                let next = || {
                    let Some(batch) = batches.next().transpose()? else { return Ok(None) };
                    let first = row;
                    row += batch.num_rows() as u64;
                    Ok(Some(TablePart::Batch(batch, first)))
                };
                in_waves(wave, next, work, merge)
            }
            _ => {
                let mut chunks = Chunks::open(&self.path, self.format.quoting())?;
                in_waves(wave, || Ok(chunks.next()?.map(TablePart::Text)), work, merge)
            }
        }
    }

    pub(super) fn name(&self) -> String {
        files::name_of(&self.path)
    }

    fn delimited_rows(
        &self,
        mut records: Records<'_>,
        first_line: u64,
        skip_first: bool,
        wanted: &[&str],
        mut each: impl FnMut(TableRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let at: Vec<usize> = wanted
            .iter()
            .map(|w| {
                self.columns.iter().position(|c| c == w).expect("wanted columns were taken from the header")
            })
            .collect();
        let mut record = csv::StringRecord::new();
        let mut skip = skip_first;
        let failed = |(line, message)| Error::parse(self.name(), first_line + line, message);
        records.check().map_err(failed)?;
        while let Some(line) = records.next(&mut record).map_err(failed)? {
            if std::mem::take(&mut skip) {
                continue;
            }
            let line = first_line + line;
            if record.len() != self.columns.len() {
                let escaped = record.iter().any(|cell| cell.contains('\\'));
                let hint = if escaped { " (option `csv-escape` tells what backslashes mean)" } else { "" };
                return Err(Error::parse(
                    self.name(),
                    line,
                    format!(
                        "{} fields, where the header has {} ({}); is a separator missing, or a quote left open?{hint}",
                        record.len(),
                        self.columns.len(),
                        self.columns.join(", ")
                    ),
                ));
            }
            let mut fields = [None; MOST_COLUMNS];
            for (field, &column) in fields.iter_mut().zip(&at) {
                *field = Some(record[column].trim()).filter(|f| !f.is_empty());
            }
            each(TableRow { line, fields: &fields[..at.len()] })?;
        }
        Ok(())
    }

    fn batch_rows(
        &self,
        batch: &RecordBatch,
        first_row: u64,
        wanted: &[&str],
        mut each: impl FnMut(TableRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut texts = Vec::with_capacity(wanted.len());
        for name in wanted {
            let column = batch.column_by_name(name).expect("wanted columns were projected");
            let text = caught(|| arrow_cast::cast(column, &DataType::Utf8).map_err(|e| e.to_string()));
            let text = text.and_then(|text| text).map_err(|e| {
                Error::format(
                    self.name(),
                    format!("the column '{name}' cannot be read as text or numbers: {e}"),
                )
            })?;
            texts.push(text);
        }
        let texts: Vec<&StringArray> =
            texts.iter().map(|t| t.as_any().downcast_ref().expect("cast to text gives text")).collect();
        let mut fields = vec![None; wanted.len()];
        for row in 0..batch.num_rows() {
            for (field, text) in fields.iter_mut().zip(&texts) {
                *field = text.is_valid(row).then(|| text.value(row).trim()).filter(|f| !f.is_empty());
            }
            each(TableRow { line: first_row + row as u64, fields: &fields })?;
        }
        Ok(())
    }
}

/// Returns true if the ending of a file name is that of a table.
pub(super) fn has_table_ending(path: &Path) -> bool {
    matches!(ending(path).as_str(), "csv" | "tsv" | "jsonl" | "ndjson" | "parquet" | "pq")
}

/// Returns the ending of a name that tells the format, without a compression ending.
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_owned())
}

fn sniff(path: &Path) -> Result<Format> {
    let mut reader = files::open(path)?;
    let head = reader.fill_buf().map_err(|e| files::damaged(path, e))?;
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    Ok(if head.starts_with(b"PAR1") {
        Format::Parquet
    } else if line.trim_ascii_start().starts_with(b"{") {
        Format::JsonLines
    } else if line.contains(&b'\t') {
        TABS
    } else {
        COMMAS
    })
}

fn json_object(file: &str, line: u64, text: &str) -> Result<Value> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => {
            Err(Error::parse(file, line, "a JSON object per line is expected, such as {\"query\": \"...\"}"))
        }
        Err(e) => {
            let what = e.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            Err(Error::parse(file, line, format!("not valid JSON at column {}: {what}", e.column())))
        }
    }
}

/// Collects the dotted paths of the leaves of a JSON object, each once, in order of appearance.
fn collect_paths(prefix: &str, value: &Value, paths: &mut Vec<String>, known: &mut HashSet<String>) {
    let Value::Object(map) = value else { return };
    for (key, inner) in map {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if inner.is_object() {
            collect_paths(&path, inner, paths, known);
        } else if known.insert(path.clone()) {
            paths.push(path);
        }
    }
}

/// Returns the value at a dotted path as text; lists of strings are joined by a blank.
fn json_text(value: &Value, path: &str) -> Option<String> {
    let found = value.get(path).or_else(|| path.split('.').try_fold(value, |v, key| v.get(key)))?;
    match found {
        Value::Null | Value::Object(_) => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => Some(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
            .filter(|s| !s.is_empty()),
        other => Some(other.to_string()),
    }
}
