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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use arrow_array::{ArrayRef, Float64Array, LargeStringArray, StringArray};
    use matchrank_core::progress::Silent;

    use super::super::tests::Files;
    use super::super::{AppendParams, IngestParams, append, ingest};
    use super::*;
    use crate::dataset::Dataset;

    fn table(columns: Vec<(&str, ArrayRef)>) -> MemoryTable {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let halves = [batch.slice(0, 3), batch.slice(3, batch.num_rows() - 3)];
        MemoryTable::new(batch.schema(), halves.to_vec()).unwrap()
    }

    #[test]
    fn rows_in_memory_make_the_dataset_of_the_files() {
        let files = Files::new();
        let log: Vec<(String, String, f64)> = (0..40)
            .map(|i| (format!("word{}", i % 5), format!("d{}", i % 7), f64::from(1 + i % 3)))
            .collect();
        let text =
            |(query, document, clicks): &(String, String, f64)| format!("{query},{document},{clicks}\n");
        let rows: String = log.iter().map(text).collect();
        let documents: String = (0..7).map(|i| format!("d{i},word{} of text\n", i % 5)).collect();
        let qrels = "q1,d1,2\nq1,d2,0\n";
        let queries = "q1,word1 text\n";
        let of_files = IngestParams {
            clicks: vec![files.write("log.csv", "query,document,clicks\n".to_owned() + &rows)],
            documents: vec![files.write("docs.csv", "id,title\n".to_owned() + &documents)],
            queries: vec![files.write("queries.csv", "query_id,query\n".to_owned() + queries)],
            judgments: vec![(
                crate::dataset::Holdout::Test,
                files.write("test.csv", "query_id,document,grade\n".to_owned() + qrels),
            )],
            ..IngestParams::default()
        };
        let texts = |values: Vec<String>| Arc::new(StringArray::from(values)) as ArrayRef;
        let large = |values: Vec<String>| Arc::new(LargeStringArray::from(values)) as ArrayRef;
        let lines = |text: &str, column: usize| -> Vec<String> {
            text.lines().map(|line| line.split(',').nth(column).unwrap().to_owned()).collect()
        };
        let [clicks, docs, listed, judged] =
            ["<clicks>", "<documents>", "<queries>", "<test>"].map(PathBuf::from);
        let tables = [
            (
                clicks.clone(),
                table(vec![
                    ("query", texts(lines(&rows, 0))),
                    ("document", large(lines(&rows, 1))),
                    ("clicks", Arc::new(Float64Array::from_iter_values(log.iter().map(|row| row.2)))),
                ]),
            ),
            (
                docs.clone(),
                table(vec![("id", texts(lines(&documents, 0))), ("title", texts(lines(&documents, 1)))]),
            ),
        ];
        let whole = |columns: Vec<(&str, ArrayRef)>| {
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            MemoryTable::new(batch.schema(), vec![batch]).unwrap()
        };
        let more = [
            (
                listed.clone(),
                whole(vec![("query_id", texts(lines(queries, 0))), ("query", texts(lines(queries, 1)))]),
            ),
            (
                judged.clone(),
                whole(vec![
                    ("query_id", texts(lines(qrels, 0))),
                    ("document", texts(lines(qrels, 1))),
                    ("grade", texts(lines(qrels, 2))),
                ]),
            ),
        ];
        let of_memory = IngestParams {
            clicks: vec![clicks.clone()],
            documents: vec![docs],
            queries: vec![listed],
            judgments: vec![(crate::dataset::Holdout::Test, judged)],
            tables: tables.clone().into_iter().chain(more).collect(),
            ..IngestParams::default()
        };
        let [a, b] = ["files", "memory"].map(|name| files.0.path().join(name));
        ingest(&of_files, &a, false, &Silent).unwrap();
        ingest(&of_memory, &b, false, &Silent).unwrap();
        let hash = |folder| Dataset::open(folder).unwrap().manifest.content_hash;
        assert_eq!(hash(&a), hash(&b));
        // The same rows once more are other rows: tables have no origin by which they would be known.
        let added = AppendParams {
            clicks: vec![clicks.clone()],
            tables: tables.into_iter().take(1).collect(),
            ..AppendParams::default()
        };
        let before = Dataset::open(&b).unwrap().responses().unwrap();
        append(&added, &b, &Silent).unwrap();
        let after = Dataset::open(&b).unwrap().responses().unwrap();
        assert!(before.iter().zip(&after).all(|(a, b)| b.response == 2.0 * a.response));
    }

    #[test]
    fn slices_are_all_rows_in_order_and_wrong_tables_are_refused() {
        let n = 2 * SLICE_ROWS + 5;
        let column = |name: &str| {
            let values = Float64Array::from_iter_values((0..n).map(|i| i as f64));
            RecordBatch::try_from_iter([(name, Arc::new(values) as ArrayRef)]).unwrap()
        };
        let batch = column("a");
        let table = MemoryTable::new(batch.schema(), vec![batch.slice(0, 7), batch.slice(7, n - 7)]).unwrap();
        let slices: Vec<RecordBatch> = table.slices().collect();
        assert_eq!((table.n_rows(), slices.iter().map(RecordBatch::num_rows).sum()), (n, n));
        assert!(slices.iter().all(|slice| slice.num_rows() <= SLICE_ROWS));
        let error = MemoryTable::new(batch.schema(), vec![column("b")]).unwrap_err().to_string();
        assert!(error.contains("different columns"), "{error}");
    }
}
