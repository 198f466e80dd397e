//! Tables in memory, which are read in place of files.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use matchrank_core::{Error, Result};

/// Rows of a slice, as many as a batch of a Parquet file has.
const SLICE_ROWS: usize = 1 << 14;

/// Rows of named columns in memory. A copy shares the rows.
#[derive(Clone, Debug)]
pub struct MemoryTable {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl MemoryTable {
    /// Takes batches of the same columns. Returns an error if a batch has other columns or two columns have one name.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self> {
        let mut names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Params(format!("the table has two columns called '{}'; rename one", pair[0])));
        }
        if batches.iter().any(|batch| batch.schema().fields() != schema.fields()) {
            return Err(Error::Shape("the batches of the table have different columns".into()));
        }
        Ok(Self { schema, batches: batches.into() })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the rows in slices, which share the memory of the table.
    pub(super) fn slices(&self) -> impl Iterator<Item = RecordBatch> + Send + use<> {
        let batches = self.batches.clone();
        (0..batches.len()).flat_map(move |number| {
            let batch = batches[number].clone();
            (0..batch.num_rows())
                .step_by(SLICE_ROWS)
                .map(move |start| batch.slice(start, SLICE_ROWS.min(batch.num_rows() - start)))
        })
    }
}
