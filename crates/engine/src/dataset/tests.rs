//! Folders that were damaged or crafted: an error, and never a panic.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::Field;
use matchrank_core::progress::Silent;

use super::tables::TableWriter;
use super::*;
use crate::models::bm25::TextBm25;
use crate::ranking::{RankRequest, rank_collection};

/// A copy of the golden dataset, sealed as today.
struct Crafted {
    folder: tempfile::TempDir,
    manifest: Manifest,
}

impl Crafted {
    fn new() -> Self {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/datasets/v0.1.0");
        let folder = tempfile::tempdir().unwrap();
        let manifest = Dataset::open(&golden).unwrap().manifest;
        for name in manifest.tables.keys() {
            std::fs::copy(golden.join(name), folder.path().join(name)).unwrap();
        }
        let crafted = Self { folder, manifest };
        crafted.seal();
        crafted
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the manifest, with a right hash.
    fn seal(&self) {
        std::fs::write(self.path().join(MANIFEST), self.manifest.to_json()).unwrap();
    }

    /// Replaces the bytes of a table, and makes all hashes right.
    fn put(&mut self, table: &str, bytes: &[u8]) {
        std::fs::write(self.path().join(table), bytes).unwrap();
        let info = self.manifest.tables.get_mut(table).unwrap();
        info.bytes = bytes.len() as u64;
        info.blake3 = blake3::hash(bytes).to_hex().to_string();
        self.seal();
    }

    /// Replaces columns of a table, and makes hashes and numbers of rows right.
    fn put_columns(&mut self, table: &str, columns: &[(&str, ArrayRef)]) {
        let path = self.path().join(table);
        let batch = RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
        let schema = batch.schema();
        let fields = schema.fields().iter().map(|f| Field::new(f.name(), f.data_type().clone(), true));
        let mut writer = TableWriter::create(&path, fields.collect()).unwrap();
        writer.write(batch.columns().to_vec()).unwrap();
        self.manifest.tables.insert(table.into(), writer.close().unwrap());
        self.seal();
    }

    /// The columns of a table.
    fn columns(&self, table: &str) -> Vec<(String, ArrayRef)> {
        let rows = self.manifest.tables[table].rows;
        let batch = tables::batches(&self.path().join(table), None, rows).unwrap().next().unwrap().unwrap();
        let names = batch.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
        names.into_iter().zip(batch.columns().to_vec()).collect()
    }

    /// Replaces one column of a table by another of as many rows.
    fn put_column(&mut self, table: &str, name: &str, column: ArrayRef) {
        let mut columns = self.columns(table);
        columns.iter_mut().find(|(other, _)| other == name).unwrap().1 = column;
        let columns: Vec<(&str, ArrayRef)> = columns.iter().map(|(n, c)| (n.as_str(), c.clone())).collect();
        self.put_columns(table, &columns);
    }

    /// Opens the dataset, reads all of it, and ranks with BM25.
    fn read(&self) -> Result<()> {
        let dataset = Dataset::open(self.path())?;
        dataset.queries()?;
        dataset.document_ids()?;
        dataset.for_each_documents(|_| Ok(()))?;
        dataset.responses()?;
        dataset.skipped()?;
        dataset.clicked_positions()?;
        dataset.negatives()?;
        dataset.vocabulary()?;
        Clicks::of(&dataset)?;
        for holdout in [Holdout::Validation, Holdout::Test] {
            HeldOut::of(&dataset, holdout)?.qrels()?;
        }
        TextBm25::of_dataset(&Default::default(), &dataset)?;
        crate::doctor::examine(&[self.path()], None, &Silent)?;
        Ok(())
    }

    fn rank(&self) -> Result<usize> {
        let dataset = Dataset::open(self.path())?;
        let model = TextBm25::of_dataset(&Default::default(), &dataset)?;
        let queries = dataset.queries()?;
        let ranked = rank_collection(
            &RankRequest { model: &model, dataset: &dataset, queries: &queries },
            5,
            &Silent,
        )?;
        Ok(ranked.iter().map(|(_, list)| list.len()).sum())
    }

    fn problem(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

#[test]
fn counts_are_compared_with_the_tables_before_memory_is_asked_for() {
    type Change = fn(&mut Manifest);
    let changes: [(Change, &str); 11] = [
        (|m| m.statistics.n_queries = 10u64.pow(18), "n_queries"),
        (|m| m.statistics.n_documents = 4_000_000_000, "n_documents"),
        (|m| m.statistics.n_pairs = u64::MAX, "n_pairs"),
        (|m| m.statistics.n_words = u64::MAX, "n_words"),
        (|m| m.statistics.n_judgments = [u64::MAX, 5], "n_judgments"),
        (|m| m.statistics.n_x = 11, "n_x"),
        (|m| m.statistics.d_y = u64::MAX, "d_y"),
        (|m| m.field_lengths.truncate(1), "field_lengths"),
        (|m| drop(m.tables.remove(RESPONSES)), "does not list the table responses.parquet"),
        (
            |m| {
                m.statistics.n_documents = 4_000_000_000;
                m.tables.get_mut(DOCUMENTS).unwrap().rows = 4_000_000_000;
            },
            "documents.parquet: has 12 rows instead of 4000000000",
        ),
        (
            |m| {
                let table = m.tables[QUERIES].clone();
                m.tables.insert("../queries.parquet".into(), table);
            },
            "not the name of a file",
        ),
    ];
    for (change, expected) in changes {
        let mut crafted = Crafted::new();
        change(&mut crafted.manifest);
        crafted.seal();
        let message = crafted.problem();
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

fn numbers(values: impl IntoIterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn figures(values: impl IntoIterator<Item = f32>) -> ArrayRef {
    Arc::new(Float32Array::from_iter_values(values))
}

fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

#[test]
fn crafted_columns_are_refused() {
    Crafted::new().read().unwrap();
    assert!(Crafted::new().rank().unwrap() > 0);
    let nulls: ArrayRef = Arc::new(UInt32Array::from(vec![None; 18]));
    let fractions: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.0; 18]));
    let bytes: ArrayRef = Arc::new(arrow_array::BinaryArray::from(vec![b"\xff\xfe".as_slice(); 10]));
    let frequencies = |n: u64| Arc::new(UInt64Array::from_value(n, 21)) as ArrayRef;
    let ids = |id: &'static str| texts((0..12).map(|i| if i == 7 { id } else { "d" }));
    let range = "out of range";
    for (table, column, values, expected) in [
        (RESPONSES, "query", numbers((0..18).map(|i| i / 2 + 2)), range),
        (RESPONSES, "document", numbers((0..18).map(|i| if i == 17 { u32::MAX } else { 0 })), range),
        (RESPONSES, "response", figures((0..18).map(|i| if i == 3 { f32::NAN } else { 1.0 })), range),
        (RESPONSES, "response", figures((0..18).map(|i| if i == 3 { f32::INFINITY } else { 1.0 })), range),
        (RESPONSES, "response", figures((0..18).map(|i| if i == 3 { -1.0 } else { 1.0 })), range),
        (RESPONSES, "response", figures([f32::MAX; 18]), ""),
        (RESPONSES, "position", figures([f32::NAN; 18]), range),
        (RESPONSES, "query", nulls, "without a value"),
        (RESPONSES, "response", fractions, "no column 'response' of type Float32"),
        (SKIPPED, "query", numbers([10; 12]), range),
        (SKIPPED, "document", numbers([12; 12]), range),
        (SKIPPED, "position", figures([-3.0; 12]), range),
        (JUDGMENTS, "query", numbers([10; 48]), range),
        (JUDGMENTS, "document", numbers([12; 48]), range),
        (JUDGMENTS, "document", numbers([3; 48]), "twice"),
        (JUDGMENTS, "grade", figures([f32::NAN; 48]), range),
        (JUDGMENTS, "clicks", figures([-1.0; 48]), range),
        (JUDGMENTS, "split", Arc::new(UInt8Array::from(vec![2; 48])), range),
        (QUERIES, "text", bytes, "no column 'text' of type Utf8"),
        (QUERIES, "id", texts(["a b"; 10]), "blanks"),
        (DOCUMENTS, "id", ids(""), "blanks"),
        (DOCUMENTS, "id", ids("a\nb"), "blanks"),
        (VOCABULARY, "term", texts(["shoe"; 21]), "two ids"),
        (VOCABULARY, "document_frequency", numbers([13; 21]), "impossible"),
        (VOCABULARY, "document_frequency", numbers((0..21).map(|i| i % 2)), "queries alone"),
        (VOCABULARY, "collection_frequency", frequencies(0), "impossible"),
    ] {
        let mut crafted = Crafted::new();
        crafted.put_column(table, column, values);
        if expected.is_empty() {
            crafted.read().unwrap();
            continue;
        }
        let message = crafted.problem();
        assert!(message.contains(table) && message.contains(expected), "{table} {column}: {message}");
    }
}

/// Datasets of former versions have no table of negatives; one that is there is checked like the others.
#[test]
fn crafted_negatives_are_refused() {
    let mut crafted = Crafted::new();
    assert!(Dataset::open(crafted.path()).unwrap().negatives().unwrap().is_empty());
    let rows = |query, document| [("query", numbers([0, query])), ("document", numbers([1, document]))];
    crafted.put_columns(NEGATIVES, &rows(9, 11));
    assert!(
        crafted
            .problem()
            .contains("a count n_negatives that contradicts negatives.parquet, which has 2 rows")
    );
    crafted.manifest.statistics.n_negatives = 2;
    crafted.seal();
    crafted.read().unwrap();
    assert_eq!(
        Dataset::open(crafted.path()).unwrap().negatives().unwrap(),
        [Negative { query: 0, document: 1 }, Negative { query: 9, document: 11 }]
    );
    for (query, document) in [(10, 0), (0, 12)] {
        crafted.put_columns(NEGATIVES, &rows(query, document));
        assert!(crafted.problem().contains("out of range"), "{query} {document}");
    }
    crafted.put_columns(NEGATIVES, &[("query", numbers([0, 1]))]);
    assert!(crafted.problem().contains("no column 'document'"));
}

#[test]
fn crafted_attributes_are_refused() {
    let price = |value: f64| -> ArrayRef {
        Arc::new(arrow_array::Float64Array::from_iter((0..12).map(|i| (i != 3).then_some(value))))
    };
    let mut crafted = Crafted::new();
    crafted.manifest.attributes = vec![Attribute::new("price", AttributeKind::Number)];
    crafted.seal();
    assert!(
        crafted.problem().contains("no column 'attribute:price' of type Float64"),
        "{}",
        crafted.problem()
    );
    let columns = crafted.columns(DOCUMENTS);
    for (column, is_right) in [(price(2.5), true), (price(f64::INFINITY), false), (price(f64::NAN), false)] {
        let mut all: Vec<(&str, ArrayRef)> =
            columns.iter().map(|(name, c)| (name.as_str(), c.clone())).collect();
        all.push(("attribute:price", column));
        crafted.put_columns(DOCUMENTS, &all);
        let read = Dataset::open(crafted.path()).unwrap().attribute_columns(&["price"], Some(&[2, 3, 11]));
        match read {
            Ok(read) => {
                let AttributeColumn::Number(values) = &read[0] else { panic!("a number") };
                assert!(is_right && values[0] == 2.5 && values[1].is_nan() && values[2] == 2.5, "{values:?}");
            }
            Err(error) => assert!(
                !is_right && error.to_string().contains("the column 'attribute:price' holds"),
                "{error}"
            ),
        }
    }
}

#[test]
fn tables_of_other_lengths_and_columns_are_refused() {
    for table in [DOCUMENTS, QUERIES, RESPONSES, SKIPPED, JUDGMENTS, VOCABULARY] {
        let mut crafted = Crafted::new();
        let columns = crafted.columns(table);
        let rows = columns[0].1.len();
        let part = |n: usize| -> Vec<(&str, ArrayRef)> {
            columns.iter().map(|(name, column)| (name.as_str(), column.slice(0, n))).collect()
        };
        let info = crafted.manifest.tables[table].clone();
        crafted.put_columns(table, &part(rows - 1));
        // Right by the manifest's list of tables, wrong by its counts or by what refers to the rows.
        let shorter = crafted.read();
        assert!(shorter.is_err() || table == SKIPPED, "{table}");
        crafted.manifest.tables.get_mut(table).unwrap().rows = info.rows;
        crafted.seal();
        assert!(crafted.problem().contains("rows instead of"), "{table}: {}", crafted.problem());
        for at in 0..columns.len() {
            let mut fewer = part(rows);
            let (name, _) = fewer.remove(at);
            crafted.put_columns(table, &fewer);
            let message = crafted.read().err().map(|error| error.to_string());
            let unread = ["shown", "query_frequency"].contains(&name);
            assert!(
                unread || message.is_some_and(|m| m.contains(&format!("no column '{name}'"))),
                "{table} {name}"
            );
        }
    }
}

/// Whoever can write the folder can make the hashes right.
#[test]
fn flipped_bytes_behind_right_hashes_never_panic() {
    for table in [DOCUMENTS, QUERIES, RESPONSES, SKIPPED, JUDGMENTS, VOCABULARY] {
        let mut crafted = Crafted::new();
        let bytes = std::fs::read(crafted.path().join(table)).unwrap();
        let mut n_errors = 0;
        for at in (0..bytes.len()).step_by(7) {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            crafted.put(table, &other);
            n_errors += usize::from(crafted.read().is_err());
            if at % 60 == 0 {
                let _ = crafted.rank();
            }
        }
        assert!(n_errors > 0, "{table}");
    }
}

#[test]
fn files_of_others_are_found() {
    let crafted = Crafted::new();
    let write = |name: &str| {
        let path = crafted.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        path
    };
    crafted.rank().unwrap();
    write(".matchrank-unfinished");
    assert_eq!(foreign_file(crafted.path()).unwrap(), None);
    let index = crafted.path().join(INDEX).read_dir().unwrap().find(|e| e.as_ref().unwrap().path().is_dir());
    let index = index.unwrap().unwrap().file_name().into_string().unwrap();
    let within = format!("index/{index}/log.parquet");
    for name in ["log.parquet", "thesis.txt", "index/log.csv", "index/mine/log.csv", &within, "more/a"] {
        let path = write(name);
        let found = foreign_file(crafted.path()).unwrap();
        let parent = path.parent().unwrap();
        assert!(found.as_deref() == Some(&path) || found.as_deref() == Some(parent), "{name}: {found:?}");
        std::fs::remove_file(&path).unwrap();
        if name.starts_with("more") || name.contains("mine") {
            std::fs::remove_dir(parent).unwrap();
        }
    }
    assert_eq!(foreign_file(crafted.path()).unwrap(), None);
    write(MANIFEST);
    assert!(foreign_file(crafted.path()).unwrap_err().to_string().contains("not known which files"));
}
