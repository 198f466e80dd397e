//! Reads Parquet files so that damage is an error. All reading by the parquet crate happens here.
//!
//! - CRCs of pages are checked if their writer stored them (ours cannot: the crate writes none).
//! - An Arrow schema in the file is skipped: columns have the types that Parquet gives them.
//! - A panic of the crate, which crafted bytes can cause, is an error like any other.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use matchrank_core::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use crate::files;
use crate::unwind::caught;

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 14;

/// A Parquet file whose footer has been read.
pub(crate) struct ParquetFile {
    builder: ParquetRecordBatchReaderBuilder<File>,
    origin: ParquetOrigin,
}

/// Name of a file, and advice for messages about damage.
struct ParquetOrigin {
    name: String,
    advice: &'static str,
}

impl ParquetOrigin {
    fn damaged(&self, cause: &str) -> Error {
        Error::format(&self.name, format!("the Parquet data is damaged ({cause}); {}", self.advice))
    }
}

impl ParquetFile {
    /// Reads the footer of a file; `advice` ends the message if it is damaged.
    pub(crate) fn open(path: &Path, advice: &'static str) -> Result<Self> {
        let origin = ParquetOrigin { name: files::name_of(path), advice };
        let file = File::open(path).map_err(|e| Error::io(&origin.name, e))?;
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = caught(|| {
            ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(|e| e.to_string())
        });
        match builder.and_then(|builder| builder) {
            Ok(builder) => Ok(Self { builder, origin }),
            Err(cause) => Err(Error::format(
                &origin.name,
                format!("is not a readable Parquet file ({cause}); {advice}"),
            )),
        }
    }

    /// Number of rows by the footer; the pages may hold fewer.
    pub(crate) fn n_rows(&self) -> i64 {
        self.builder.metadata().file_metadata().num_rows()
    }

    /// Names and types of the columns.
    pub(crate) fn schema(&self) -> &Schema {
        self.builder.schema()
    }

    /// Returns the batches in order, read lazily: all columns, or only those named.
    pub(crate) fn batches(self, columns: Option<&[&str]>) -> Result<Batches> {
        let Self { builder, origin } = self;
        let reader = caught(|| {
            let mask = match columns {
                Some(names) => {
                    let fields = builder.schema().fields().iter().enumerate();
                    let wanted = fields.filter(|(_, field)| names.contains(&field.name().as_str()));
                    ProjectionMask::roots(builder.parquet_schema(), wanted.map(|(root, _)| root))
                }
                None => ProjectionMask::all(),
            };
            builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(|e| e.to_string())
        });
        match reader.and_then(|reader| reader) {
            Ok(reader) => Ok(Batches { reader: Some(reader), origin }),
            Err(cause) => Err(origin.damaged(&cause)),
        }
    }
}

/// Batches of a [`ParquetFile`]; none follows an error.
pub(crate) struct Batches {
    reader: Option<ParquetRecordBatchReader>,
    origin: ParquetOrigin,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        let cause = match caught(|| reader.next()) {
            Ok(None) => return None,
            Ok(Some(Ok(batch))) => {
                self.reader = Some(reader);
                return Some(Ok(batch));
            }
            Ok(Some(Err(error))) => error.to_string(),
            Err(panic) => panic,
        };
        Some(Err(self.origin.damaged(&cause)))
    }
}

#[cfg(test)]
mod tests;
