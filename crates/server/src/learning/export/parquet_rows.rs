//! Click rows as Parquet.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::super::LearningError;
use super::click_row::ClickRow;

/// Rows of a batch.
const BATCH: usize = 1 << 13;

/// Rows that are not yet written, column by column.
#[derive(Default)]
struct RowBuffer {
    time: Vec<i64>,
    query: Vec<String>,
    document: Vec<String>,
    clicks: Vec<f64>,
    shown: Vec<u32>,
    position: Vec<Option<u32>>,
    kind: Vec<String>,
    search_id: Vec<Option<String>>,
    session_id: Vec<Option<String>>,
    user_id: Vec<Option<String>>,
    sequence: Vec<u64>,
}

/// Bytes that the writer of Parquet has written and `out` has not. The writer must be `Send`, which `out` need not be.
#[derive(Clone, Default)]
struct WrittenBytes(Arc<Mutex<Vec<u8>>>);

impl Write for WrittenBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Parquet file of click rows.
pub(super) struct ParquetRows<'a> {
    out: &'a mut dyn Write,
    written: WrittenBytes,
    writer: ArrowWriter<WrittenBytes>,
    buffer: RowBuffer,
}

fn schema() -> Arc<Schema> {
    let text = |name: &str, nullable: bool| Field::new(name, DataType::Utf8, nullable);
    Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        text("query", false),
        text("document", false),
        Field::new("clicks", DataType::Float64, false),
        Field::new("shown", DataType::UInt32, false),
        Field::new("position", DataType::UInt32, true),
        text("kind", false),
        text("search_id", true),
        text("session_id", true),
        text("user_id", true),
        Field::new("sequence", DataType::UInt64, false),
    ]))
}

impl<'a> ParquetRows<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Result<Self, LearningError> {
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let written = WrittenBytes::default();
        let writer =
            ArrowWriter::try_new(written.clone(), schema(), Some(properties)).map_err(|e| failed(&e))?;
        Ok(Self { out, written, writer, buffer: RowBuffer::default() })
    }

    pub(super) fn push(&mut self, row: &ClickRow<'_>) -> Result<(), LearningError> {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let buffer = &mut self.buffer;
        buffer.time.push(row.time);
        buffer.query.push(row.query.to_owned());
        buffer.document.push(row.document.to_owned());
        buffer.clicks.push(row.clicks);
        buffer.shown.push(row.shown);
        buffer.position.push(row.position);
        buffer.kind.push(row.kind.to_owned());
        buffer.search_id.push(text(row.search_id));
        buffer.session_id.push(text(row.session_id));
        buffer.user_id.push(text(row.user_id));
        buffer.sequence.push(row.sequence);
        if buffer.time.len() == BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), LearningError> {
        let buffer = std::mem::take(&mut self.buffer);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(buffer.time)),
            Arc::new(StringArray::from(buffer.query)),
            Arc::new(StringArray::from(buffer.document)),
            Arc::new(Float64Array::from(buffer.clicks)),
            Arc::new(UInt32Array::from(buffer.shown)),
            Arc::new(UInt32Array::from(buffer.position)),
            Arc::new(StringArray::from(buffer.kind)),
            Arc::new(StringArray::from(buffer.search_id)),
            Arc::new(StringArray::from(buffer.session_id)),
            Arc::new(StringArray::from(buffer.user_id)),
            Arc::new(UInt64Array::from(buffer.sequence)),
        ];
        let batch = RecordBatch::try_new(schema(), columns).expect("columns of one length and their types");
        self.writer.write(&batch).map_err(|e| failed(&e))?;
        pass_on(&self.written, self.out)
    }

    pub(super) fn finish(mut self) -> Result<(), LearningError> {
        self.write()?;
        self.writer.close().map_err(|e| failed(&e))?;
        pass_on(&self.written, self.out)
    }
}

fn pass_on(written: &WrittenBytes, out: &mut dyn Write) -> Result<(), LearningError> {
    let bytes = std::mem::take(&mut *written.0.lock().unwrap_or_else(PoisonError::into_inner));
    out.write_all(&bytes).map_err(|e| super::output_error(&e))
}

fn failed(error: &ParquetError) -> LearningError {
    LearningError::Refused(format!("the output cannot be written: {error}"))
}
