//! Common view of CSV, TSV, JSON lines, Parquet and tables in memory: rows of text fields, by column name, with line
//! numbers. A TSV file of two columns whose first line does not look like a header is read as (id, text) without a header.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};
use foldhash::HashSet;
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::chunks::{Chunk, Chunks};
use super::columns::is_usual_id;
use super::delimiters::{CsvRules, FoundDialect, delimiter_name};
use super::file_format::{COMMAS, Format, TABS};
use super::memory_table::MemoryTable;
use super::nested::{JsonFields, json_object, json_text};
use super::records::Records;
use super::waves::in_waves;
use crate::files;
use crate::parquet_file::ParquetFile;
use crate::unwind::caught;

/// Advice at the end of the message about a damaged Parquet file.
const ADVICE: &str = "write it again";
/// Largest number of columns that one read may request.
pub(super) const MOST_COLUMNS: usize = 128;
/// Largest number of fields to name that only later rows have.
const MOST_LATE_FIELDS: usize = 100;

/// A file of rows with named columns, or such rows in memory.
pub(super) struct Table {
    path: PathBuf,
    /// The rows, if they are in memory.
    memory: Option<MemoryTable>,
    format: Format,
    columns: Vec<String>,
    /// Columns whose values are nested and have no text.
    nested: Vec<String>,
    /// Findings from the first rows of the file.
    remarks: Vec<String>,
    /// Names of the fields of JSON objects, up to the first dot, that the first rows have.
    known: HashSet<String>,
    /// Other fields, each with the first line that has it.
    late: Mutex<BTreeMap<String, u64>>,
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

/// Batches of a table with types.
type TypedBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

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
            (TablePart::Text(chunk), Format::Delimited { dialect, header }) => {
                let skip_first = *header && chunk.line == 1;
                let records = Records::new(chunk.text(&table.path)?, *dialect);
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
                let object = json_object(&self.table.name(), number, line)?;
                self.table.note_late_fields(number, &object);
                each(number, &object)?;
            }
        }
        Ok(())
    }
}

impl Table {
    pub(super) fn open(path: &Path, rules: CsvRules) -> Result<Self> {
        let name = files::name_of(path);
        if path == Path::new("-") || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
            return Err(Error::format(
                name,
                "is a pipe, but this input is read more than once; save it to a file first",
            ));
        }
        let mut format = Format::of_file(path)?;
        let mut table = Self::unread(path, format.clone());
        if format == Format::Parquet {
            table.take_columns(ParquetFile::open(path, ADVICE)?.schema());
            return Ok(table);
        }
        let empty = || Error::parse(&name, 1, "the file is empty; a header or a first row is expected");
        if let Format::Delimited { dialect, .. } = &mut format
            && *dialect == COMMAS
        {
            let found: FoundDialect = rules.dialect_of(path)?;
            *dialect = found.dialect;
            table.remarks = found.remarks;
        }
        let first = Chunks::open(path, format.dialect())?.next()?.ok_or_else(empty)?;
        let text = first.text(path)?;
        if text.trim().is_empty() {
            return Err(empty());
        }
        if let Format::Delimited { dialect, header } = &mut format {
            let mut record = csv::StringRecord::new();
            let mut records = Records::new(text, *dialect);
            records.next(&mut record).map_err(|(line, message)| Error::parse(&name, 1 + line, message))?;
            table.columns = record.iter().map(|c| c.trim().to_owned()).collect();
            *header = *dialect != TABS || table.columns.len() != 2 || is_usual_id(&table.columns[0]);
            if !*header {
                table.columns = vec!["id".into(), "text".into()];
            }
            let mut sorted = table.columns.clone();
            sorted.sort();
            if let Some(pair) = sorted.windows(2).find(|w| w[0] == w[1]) {
                let message = format!("the header names the column '{}' twice", pair[0]);
                return Err(Error::parse(&name, 1, message));
            }
        } else {
            let mut fields = JsonFields::default();
            for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).take(10_000) {
                let value = json_object(&name, i as u64 + 1, line)?;
                fields.add(&value);
                let names = value.as_object().into_iter().flat_map(|map| map.keys());
                names.for_each(|name| {
                    if !table.known.contains(name) {
                        table.known.insert(name.clone());
                    }
                });
            }
            (table.columns, table.nested) = (fields.names, fields.nested);
        }
        table.format = format;
        Ok(table)
    }

    /// Returns the table of rows in memory; `name` is that of messages.
    pub(super) fn of_memory(name: &Path, memory: MemoryTable) -> Self {
        let mut table = Self::unread(name, Format::Memory);
        table.take_columns(memory.schema());
        table.memory = Some(memory);
        table
    }

    fn unread(path: &Path, format: Format) -> Self {
        Self {
            path: path.to_owned(),
            memory: None,
            format,
            columns: Vec::new(),
            nested: Vec::new(),
            remarks: Vec::new(),
            known: HashSet::default(),
            late: Mutex::default(),
        }
    }

    /// Takes the columns of a table with types.
    fn take_columns(&mut self, schema: &Schema) {
        let fields = schema.fields();
        let nested = fields.iter().filter(|field| field.data_type().is_nested());
        self.nested = nested.map(|field| field.name().clone()).collect();
        self.columns = fields.iter().map(|field| field.name().clone()).collect();
    }

    /// Returns the batches of a table with types, with the wanted columns; `None` for text.
    fn batches(&self, wanted: &[&str]) -> Result<Option<TypedBatches>> {
        if let Some(memory) = &self.memory {
            let columns: Vec<usize> = wanted
                .iter()
                .map(|name| {
                    memory.schema().index_of(name).expect("wanted columns were taken from the schema")
                })
                .collect();
            let project = move |batch: RecordBatch| {
                batch.project(&columns).map_err(|error| Error::Shape(error.to_string()))
            };
            return Ok(Some(Box::new(memory.slices().map(project))));
        }
        match self.format {
            Format::Parquet => {
                Ok(Some(Box::new(ParquetFile::open(&self.path, ADVICE)?.batches(Some(wanted))?)))
            }
            _ => Ok(None),
        }
    }

    /// Notes the fields of a JSON object that no object of the first rows has.
    fn note_late_fields(&self, line: u64, object: &Value) {
        for name in object.as_object().into_iter().flat_map(|map| map.keys()) {
            if !self.known.contains(name) {
                let mut late = self.late.lock().expect("no panic while a name is noted");
                let first = late.entry(name.clone()).or_insert(line);
                *first = line.min(*first);
                // Names that are data, such as ids, must not fill the memory.
                if late.len() > MOST_LATE_FIELDS {
                    late.pop_last();
                }
            }
        }
    }

    /// Returns the fields of JSON objects that only rows after the first ones have, with their first lines.
    pub(super) fn late_fields(&self) -> Vec<(String, u64)> {
        let late = self.late.lock().expect("no panic while a name is noted");
        late.iter().map(|(name, line)| (name.clone(), *line)).collect()
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the columns whose values are nested: lists of lists, and lists and structs of Parquet.
    pub(super) fn nested(&self) -> &[String] {
        &self.nested
    }

    /// Returns what the first rows told about the file.
    pub(super) fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
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
        match self.batches(wanted)? {
            Some(mut batches) => {
                let mut row = 1;
                let next = || {
                    let Some(batch) = batches.next().transpose()? else { return Ok(None) };
                    let first = row;
                    row += batch.num_rows() as u64;
                    Ok(Some(TablePart::Batch(batch, first)))
                };
                in_waves(wave, next, work, merge)
            }
            None => {
                let mut chunks = Chunks::open(&self.path, self.format.dialect())?;
                in_waves(wave, || Ok(chunks.next()?.map(TablePart::Text)), work, merge)
            }
        }
    }

    /// Reads as [`Table::read`] does, until `enough` returns true.
    pub(super) fn read_until<Done: Send>(
        &self,
        wanted: &[&str],
        work: impl Fn(&TableRows<'_>) -> Result<Done> + Sync,
        mut enough: impl FnMut(Done) -> Result<bool>,
    ) -> Result<()> {
        let mut is_enough = false;
        let read = self.read(wanted, work, |done| {
            is_enough = enough(done)?;
            if is_enough { Err(Error::Params("enough was read".into())) } else { Ok(()) }
        });
        if is_enough { Ok(()) } else { read }
    }

    /// Calls `each` for the first rows: those of the first chunk.
    pub(super) fn read_first(
        &self,
        wanted: &[&str],
        each: impl FnMut(TableRow<'_>) -> Result<()>,
    ) -> Result<()> {
        self.first_rows(wanted)?.map_or(Ok(()), |rows| rows.for_each(each))
    }

    /// Returns the first chunk of rows; `None` if there is no row.
    pub(super) fn first_rows<'t>(&'t self, wanted: &'t [&'t str]) -> Result<Option<TableRows<'t>>> {
        let part = match self.batches(wanted)? {
            Some(mut batches) => batches.next().transpose()?.map(|batch| TablePart::Batch(batch, 1)),
            None => Chunks::open(&self.path, self.format.dialect())?.next()?.map(TablePart::Text),
        };
        Ok(part.map(|part| TableRows { table: self, wanted, part }))
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
                let delimiter = self.format.dialect().delimiter;
                let hint = if escaped {
                    " (option `csv-escape` tells what backslashes mean)".to_owned()
                } else if delimiter != b',' && delimiter != b'\t' {
                    let name = delimiter_name(delimiter);
                    format!(" (cells are separated by {name}; option `delimiter` names another character)")
                } else {
                    String::new()
                };
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
