//! Parquet tables: written with their hash, read back whole or batch by batch.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use matchrank_core::{Error, Result};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::manifest::TableInfo;
use crate::files;

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
}

impl TableWriter {
    pub(crate) fn create(path: &Path, fields: Vec<Field>) -> Result<Self> {
        let name = files::name_of(path);
        let file = File::create(path).map_err(|e| Error::io(&name, e))?;
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("level 1 exists")))
            .set_max_row_group_row_count(Some(1 << 17))
            .build();
        let sink = Hashing { file: BufWriter::new(file), hasher: blake3::Hasher::new(), bytes: 0 };
        let writer = ArrowWriter::try_new(sink, schema.clone(), Some(properties))
            .map_err(|e| Error::format(&name, e.to_string()))?;
        Ok(Self { name, writer, schema, rows: 0 })
    }

    /// Appends rows, given as one array per column.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).expect("columns follow the schema");
        self.rows += batch.num_rows() as u64;
        self.writer.write(&batch).map_err(|e| Error::format(&self.name, e.to_string()))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn close(self) -> Result<TableInfo> {
        let Self { name, mut writer, rows, .. } = self;
        writer.finish().map_err(|e| Error::format(&name, e.to_string()))?;
        let sink = writer.inner_mut();
        sink.file.flush().and_then(|()| sink.file.get_ref().sync_all()).map_err(|e| Error::io(&name, e))?;
        Ok(TableInfo { rows, bytes: sink.bytes, blake3: sink.hasher.finalize().to_hex().to_string() })
    }
}

/// The batches of a table, in order, read as they are drawn: all columns, or only those named.
pub(crate) fn batches(
    path: &Path,
    columns: Option<&[&str]>,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let name = files::name_of(path);
    let damaged =
        |name: &str, e: String| Error::format(name, format!("the table is damaged ({e}); ingest again"));
    let file = File::open(path).map_err(|e| Error::io(&name, e))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| {
            let mask = match columns {
                Some(names) => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
                None => ProjectionMask::all(),
            };
            builder.with_projection(mask).with_batch_size(1 << 14).build()
        })
        .map_err(|e| damaged(&name, e.to_string()))?;
    Ok(reader.map(move |batch| batch.map_err(|e| damaged(&name, e.to_string()))))
}

/// The column of a batch as the array type it must have.
pub(crate) fn column<'a, A: Array + 'static>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a A> {
    batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref()).ok_or_else(|| {
        Error::format(files::name_of(path), format!("the column '{name}' is missing or of another type"))
    })
}
