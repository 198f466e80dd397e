//! Parquet tables: written with their hash, read back batch by batch.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;
use matchrank_core::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use super::manifest::TableInfo;
use crate::files;
use crate::parquet_file::ParquetFile;

/// Advice at the end of every message about a damaged table.
pub(super) const ADVICE: &str = "ingest again, or restore the file";

struct Hashing {
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Writes one Parquet file, batch by batch.
pub(crate) struct TableWriter {
    name: String,
    writer: ArrowWriter<Hashing>,
    schema: Arc<Schema>,
    rows: u64,
    /// Rows that wait for others, fewer than [`ALIGNED_ROWS`].
    waiting: Option<RecordBatch>,
}

/// Rows are written in multiples of this number, which is also the interval at which the Parquet writer checks whether a
/// page is full. The bytes of a table therefore do not depend on the sizes of its batches.
const ALIGNED_ROWS: usize = 1024;

impl TableWriter {
    pub(crate) fn create(path: &Path, fields: Vec<Field>) -> Result<Self> {
        Self::with_properties(path, fields, |properties| properties)
    }

    /// Creates a table with other encodings than the usual ones.
    pub(crate) fn with_properties(
        path: &Path,
        fields: Vec<Field>,
        change: impl FnOnce(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
    ) -> Result<Self> {
        let name = files::name_of(path);
        let file = File::create(path).map_err(|e| Error::io(&name, e))?;
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("level 1 exists")))
            .set_max_row_group_row_count(Some(1 << 17))
            .set_write_batch_size(ALIGNED_ROWS);
        let properties = change(properties).build();
        let sink = Hashing { file: BufWriter::new(file), hasher: blake3::Hasher::new(), bytes: 0 };
        let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties))
            .map_err(|e| Error::format(&name, e.to_string()))?;
        Ok(Self { name, writer, schema, rows: 0, waiting: None })
    }

    /// Appends rows, given as one array per column.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).expect("columns follow the schema");
        self.rows += batch.num_rows() as u64;
        let mut rest = batch;
        if let Some(waiting) = self.waiting.take() {
            let taken = (ALIGNED_ROWS - waiting.num_rows()).min(rest.num_rows());
            let joined = concat_batches(&self.schema, [&waiting, &rest.slice(0, taken)])
                .map_err(|e| Error::format(&self.name, e.to_string()))?;
            rest = rest.slice(taken, rest.num_rows() - taken);
            if joined.num_rows() < ALIGNED_ROWS {
                self.waiting = Some(joined);
                return Ok(());
            }
            self.write_through(&joined)?;
        }
        let aligned = rest.num_rows() - rest.num_rows() % ALIGNED_ROWS;
        if aligned > 0 {
            self.write_through(&rest.slice(0, aligned))?;
        }
        self.waiting = (aligned < rest.num_rows()).then(|| rest.slice(aligned, rest.num_rows() - aligned));
        Ok(())
    }

    fn write_through(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|e| Error::format(&self.name, e.to_string()))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn close(mut self) -> Result<TableInfo> {
        if let Some(waiting) = self.waiting.take() {
            self.write_through(&waiting)?;
        }
        let Self { name, mut writer, rows, .. } = self;
        writer.finish().map_err(|e| Error::format(&name, e.to_string()))?;
        let sink = writer.inner_mut();
        sink.file.flush().and_then(|()| sink.file.get_ref().sync_all()).map_err(|e| Error::io(&name, e))?;
        Ok(TableInfo { rows, bytes: sink.bytes, blake3: sink.hasher.finalize().to_hex().to_string() })
    }
}

/// Returns the batches of a table of `rows` rows, in order: all columns, or only those named. Batches are read lazily.
/// A table with more rows or fewer ends with an error.
pub(crate) fn batches(
    path: &Path,
    columns: Option<&[&str]>,
    rows: u64,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let name = files::name_of(path);
    let mut batches = ParquetFile::open(path, ADVICE)?.batches(columns)?;
    let mut left = Some(rows);
    Ok(std::iter::from_fn(move || {
        let rest = left.take()?;
        match batches.next() {
            Some(Ok(batch)) => {
                left = rest.checked_sub(batch.num_rows() as u64);
                if left.is_some() {
                    return Some(Ok(batch));
                }
            }
            Some(Err(error)) => return Some(Err(error)),
            None if rest == 0 => return None,
            None => {}
        }
        Some(Err(Error::format(&name, format!("does not have the {rows} rows it should have; {ADVICE}"))))
    }))
}

/// Returns some columns of a batch, in the order of their names, or all.
pub(crate) fn projected(path: &Path, batch: &RecordBatch, columns: Option<&[String]>) -> Result<RecordBatch> {
    let Some(columns) = columns else { return Ok(batch.clone()) };
    let place = |name: &String| batch.schema_ref().index_of(name);
    let places = columns.iter().map(place).collect::<std::result::Result<Vec<_>, _>>();
    let projected = places.and_then(|places| batch.project(&places));
    projected.map_err(|e| Error::format(files::name_of(path), e.to_string()))
}

/// Returns a column of a batch as the array type it must have, without nulls.
pub(crate) fn column<'a, A: Array + 'static>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a A> {
    let column: &A = nullable_column(path, batch, name)?;
    if column.null_count() > 0 {
        let message = format!("the column '{name}' has rows without a value; {ADVICE}");
        return Err(Error::format(files::name_of(path), message));
    }
    Ok(column)
}

/// Returns a column of a batch as the array type it must have.
pub(crate) fn nullable_column<'a, A: Array + 'static>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a A> {
    batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref()).ok_or_else(|| {
        let message = format!("the column '{name}' is missing or of another type; {ADVICE}");
        Error::format(files::name_of(path), message)
    })
}

/// Returns the column of ids. Ids must not contain blanks, which separate the fields of runs and judgments.
pub(crate) fn ids<'a>(path: &Path, batch: &'a RecordBatch) -> Result<&'a StringArray> {
    let ids: &StringArray = column(path, batch, "id")?;
    let is_word = |id: &str| !id.is_empty() && !id.contains(|c: char| c.is_whitespace() || c < ' ');
    match ids.iter().flatten().find(|id| !is_word(id)) {
        Some(id) => Err(Error::format(
            files::name_of(path),
            format!("holds the id {id:?}, which is empty or has blanks; {ADVICE}"),
        )),
        None => Ok(ids),
    }
}
