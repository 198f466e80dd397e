//! Queries, each with a list of documents that carry a label and features: what a ranker learns from.
//!
//! The rows of one query are contiguous, queries stand in the order in which they first appeared and
//! rows keep the order they had within their query, so that a query's list is a range of rows and its
//! labels are a slice.
//!
//! ```
//! use matchrank_core::data::{FeatureLists, FeatureRows};
//!
//! let mut rows = FeatureRows::default();
//! rows.push("q1", Some("d7"), 2.0, &mut vec![(0, 0.5), (1, 3.0)]).unwrap();
//! rows.push("q1", Some("d9"), 0.0, &mut vec![(0, 0.25)]).unwrap();
//! let lists = FeatureLists::from_rows(vec![rows]);
//!
//! let list = lists.list(0);
//! assert_eq!((list.query(), list.labels()), ("q1", [2.0, 0.0].as_slice()));
//! assert_eq!(list.row(0).dot(&[2.0, 1.0]), 4.0);
//! ```

use std::collections::HashMap;
use std::ops::Range;

use super::feature_matrix::{FeatureMatrix, FeatureRow};
use super::feature_rows::FeatureRows;
use super::names::Names;
use crate::{Error, Result};

/// Labelled feature rows grouped by query.
#[derive(Debug, Clone)]
pub struct FeatureLists {
    queries: Names,
    starts: Vec<usize>,
    labels: Vec<f32>,
    documents: Names,
    documents_are_named: bool,
    features: FeatureMatrix,
}

/// Lists are equal if their rows and all ids are, given or not.
impl PartialEq for FeatureLists {
    fn eq(&self, other: &Self) -> bool {
        let Self { queries, starts, labels, documents, features, documents_are_named: _ } = self;
        (queries, starts, labels, documents, features)
            == (&other.queries, &other.starts, &other.labels, &other.documents, &other.features)
    }
}

impl FeatureLists {
    /// Groups rows by query. The batches are read one after the other, as one sequence of rows; a
    /// row without a document id gets its number in that sequence, counted from 1.
    pub fn from_rows(batches: Vec<FeatureRows>) -> Self {
        let n_rows = batches.iter().map(|b| b.labels.len()).sum::<usize>();
        let n_features = batches.iter().map(|b| b.n_features).max().unwrap_or(0);
        let n_entries = batches.iter().map(|b| b.values.len()).sum();

        let mut queries = Names::default();
        let mut lengths: Vec<usize> = Vec::new();
        let mut runs: Vec<(usize, usize)> = Vec::new(); // (query, rows in a row)
        let mut number: HashMap<&str, usize, foldhash::fast::FixedState> = HashMap::default();
        for (qid, length) in batches.iter().flat_map(|b| &b.runs) {
            let query = *number.entry(qid).or_insert_with(|| {
                queries.push(qid);
                lengths.push(0);
                lengths.len() - 1
            });
            lengths[query] += length;
            runs.push((query, *length));
        }
        let mut starts = vec![0];
        starts.extend(lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));

        // `place[i]` is where the i-th row of the input goes.
        let mut next = starts.clone();
        let mut place = Vec::with_capacity(n_rows);
        for (query, length) in runs {
            place.extend(next[query]..next[query] + length);
            next[query] += length;
        }

        let mut labels = vec![0.0; n_rows];
        let mut named: Vec<Option<&str>> = vec![None; n_rows];
        let mut row_number = vec![0; n_rows];
        let all = batches.iter().flat_map(|b| b.labels.iter().zip(&b.documents));
        for (i, ((label, document), &to)) in all.zip(&place).enumerate() {
            labels[to] = *label;
            named[to] = *document;
            row_number[to] = i + 1;
        }
        let documents_are_named = named.iter().all(Option::is_some);
        let mut documents = Names::default();
        for (name, number) in named.into_iter().zip(row_number) {
            match name {
                Some(name) => documents.push(name),
                None => documents.push(&number.to_string()),
            }
        }

        let features = if FeatureMatrix::prefers_dense(n_rows, n_features, n_entries) {
            dense(batches, &place, n_features)
        } else {
            sparse(batches, &place, n_features, n_entries)
        };
        Self { queries, starts, labels, documents, documents_are_named, features }
    }

    /// Lists of the given lengths, their rows one after the other: a label for each and `n_features` values. Queries and
    /// documents are called by their numbers, from 1.
    pub fn from_dense(
        lengths: &[usize],
        labels: Vec<f32>,
        n_features: u32,
        values: Vec<f32>,
    ) -> Result<Self> {
        let n_rows: usize = lengths.iter().sum();
        if labels.len() != n_rows || values.len() != n_rows * n_features as usize || lengths.contains(&0) {
            return Err(Error::Shape(format!(
                "lists of {n_rows} rows and {n_features} features need as many labels and values, and at least one row each; \
                 there are {} labels and {} values",
                labels.len(),
                values.len()
            )));
        }
        if labels.iter().any(|label| !(*label >= 0.0 && label.is_finite()))
            || values.iter().any(|x| !x.is_finite())
        {
            return Err(Error::Params("labels must be finite and at least 0, values finite".into()));
        }
        let numbered = |n: usize| {
            let mut names = Names::default();
            (1..=n).for_each(|i| names.push(&i.to_string()));
            names
        };
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let starts = std::iter::once(0).chain(ends).collect();
        let (queries, documents) = (numbered(lengths.len()), numbered(n_rows));
        let features = FeatureMatrix::Dense { n_features, values };
        Ok(Self { queries, starts, labels, documents, documents_are_named: false, features })
    }

    /// Number of queries.
    pub fn n_queries(&self) -> usize {
        self.queries.len()
    }

    /// Number of rows of all queries.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of feature columns.
    pub fn n_features(&self) -> usize {
        self.features.n_features()
    }

    /// The list of the `query`-th query.
    pub fn list(&self, query: usize) -> List<'_> {
        List { lists: self, query, rows: self.starts[query]..self.starts[query + 1] }
    }

    /// The lists of all queries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = List<'_>> {
        (0..self.n_queries()).map(|query| self.list(query))
    }

    /// The labels of all rows.
    pub fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// Whether every row was given the id of its document; rows without one are called by their numbers.
    pub fn documents_are_named(&self) -> bool {
        self.documents_are_named
    }

    /// The document id of a row.
    pub fn document(&self, row: usize) -> &str {
        self.documents.get(row)
    }

    /// The features of all rows.
    pub fn features(&self) -> &FeatureMatrix {
        &self.features
    }

    /// Replaces the values of a column, one for every row.
    pub fn set_column(&mut self, column: u32, values: &[f32]) -> Result<()> {
        let (n_rows, n_features) = (self.n_rows(), self.n_features());
        if values.len() != n_rows || column as usize >= n_features {
            return Err(Error::Shape(format!(
                "column {column} of {n_features} with {n_rows} rows cannot take {} values",
                values.len()
            )));
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err(Error::Params("values must be finite".into()));
        }
        self.features.set_column(column, values);
        Ok(())
    }

    /// The values of every list, to be changed in place; what is 0 in sparse rows stays 0.
    pub(crate) fn cells_mut(&mut self) -> Vec<ListCells<'_>> {
        let n_queries = self.n_queries();
        let rows = (0..n_queries).map(|query| self.starts[query]..self.starts[query + 1]);
        let mut cells = Vec::with_capacity(n_queries);
        match &mut self.features {
            FeatureMatrix::Dense { n_features, values } => {
                let mut rest = values.as_mut_slice();
                for rows in rows {
                    let (values, after) = rest.split_at_mut(rows.len() * *n_features as usize);
                    rest = after;
                    cells.push(ListCells {
                        n_rows: rows.len(),
                        n_features: *n_features,
                        columns: None,
                        values,
                    });
                }
            }
            FeatureMatrix::Sparse { n_features, starts, columns, values } => {
                let mut rest = values.as_mut_slice();
                for rows in rows {
                    let entries = starts[rows.start]..starts[rows.end];
                    let (values, after) = rest.split_at_mut(entries.len());
                    rest = after;
                    let columns = Some(&columns[entries]);
                    cells.push(ListCells { n_rows: rows.len(), n_features: *n_features, columns, values });
                }
            }
        }
        cells
    }

    /// All lists of several sets, one after the other. A query that several of them have is one list.
    pub fn concatenate(sets: &[&FeatureLists]) -> Self {
        let mut all = FeatureRows::default();
        let mut entries = Vec::new();
        let n_features = sets.iter().map(|set| set.n_features() as u32).max().unwrap_or(0);
        for list in sets.iter().flat_map(|set| set.iter()) {
            for i in 0..list.len() {
                entries.clear();
                entries.extend(list.row(i).entries());
                all.push(list.query(), Some(list.document(i)), list.labels()[i], &mut entries)
                    .expect("rows of lists are rows of lists");
            }
        }
        all.n_features = n_features;
        Self::from_rows(vec![all])
    }

    /// Some of the lists, in the order named.
    pub fn subset(&self, queries: &[usize]) -> Self {
        let mut rows = FeatureRows::default();
        let mut entries = Vec::new();
        for list in queries.iter().map(|&query| self.list(query)) {
            for i in 0..list.len() {
                entries.clear();
                entries.extend(list.row(i).entries());
                rows.push(list.query(), Some(list.document(i)), list.labels()[i], &mut entries)
                    .expect("rows of lists are rows of lists");
            }
        }
        rows.n_features = self.n_features() as u32;
        Self::from_rows(vec![rows])
    }

    /// Bytes the whole takes in memory.
    pub fn bytes(&self) -> usize {
        self.features.bytes()
            + self.documents.bytes()
            + self.queries.bytes()
            + 4 * self.labels.len()
            + 8 * self.starts.len()
    }
}

/// The documents of one query.
#[derive(Debug, Clone)]
pub struct List<'a> {
    lists: &'a FeatureLists,
    query: usize,
    rows: Range<usize>,
}

impl<'a> List<'a> {
    /// The id of the query.
    pub fn query(&self) -> &'a str {
        self.lists.queries.get(self.query)
    }

    /// The rows of the list in [`FeatureLists`].
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Number of documents; never 0 in a list that was read from rows.
    #[allow(clippy::len_without_is_empty, reason = "a list has at least one document")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The labels of the documents.
    pub fn labels(&self) -> &'a [f32] {
        &self.lists.labels[self.rows.clone()]
    }

    /// The id of the `i`-th document.
    pub fn document(&self, i: usize) -> &'a str {
        self.lists.document(self.rows.start + i)
    }

    /// Number of feature columns.
    pub fn n_features(&self) -> usize {
        self.lists.n_features()
    }

    /// The features of the `i`-th document.
    pub fn row(&self, i: usize) -> FeatureRow<'a> {
        self.lists.features.row(self.rows.start + i)
    }

    /// The cells of the whole list, row-major, when the matrix is dense.
    pub fn dense(&self) -> Option<&'a [f32]> {
        self.lists.features.dense_rows(self.rows.clone())
    }
}

/// The values of one list, row by row.
pub(crate) struct ListCells<'a> {
    pub(crate) n_rows: usize,
    pub(crate) n_features: u32,
    /// Columns of the values; every row has all of them if none.
    columns: Option<&'a [u32]>,
    values: &'a mut [f32],
}

impl ListCells<'_> {
    /// (column, value) of every cell that is kept.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, f32)> {
        let n = self.n_features.max(1) as usize;
        let column = move |i: usize| self.columns.map_or((i % n) as u32, |columns| columns[i]);
        self.values.iter().enumerate().map(move |(i, value)| (column(i), *value))
    }

    /// Multiplies every value by the factor of its column.
    pub(crate) fn scale(&mut self, factors: &[f64]) {
        let scaled = |value: f32, column: usize| {
            (f64::from(value) * factors.get(column).copied().unwrap_or(0.0)) as f32
        };
        match self.columns {
            Some(columns) => {
                for (value, column) in self.values.iter_mut().zip(columns) {
                    *value = scaled(*value, *column as usize);
                }
            }
            None => {
                for row in self.values.chunks_exact_mut(self.n_features.max(1) as usize) {
                    row.iter_mut().enumerate().for_each(|(column, value)| *value = scaled(*value, column));
                }
            }
        }
    }
}

/// Moves the entries into dense rows; a batch is freed as soon as it is done, so that both forms of
/// the data are never in memory whole.
fn dense(batches: Vec<FeatureRows>, place: &[usize], n_features: u32) -> FeatureMatrix {
    let n = n_features as usize;
    let mut cells = vec![0.0; place.len() * n];
    let mut place = place.iter();
    for batch in batches {
        let mut entry = 0;
        for (length, to) in batch.lengths.iter().zip(&mut place) {
            let row = &mut cells[to * n..(to + 1) * n];
            let end = entry + *length as usize;
            for (column, value) in batch.columns[entry..end].iter().zip(&batch.values[entry..end]) {
                row[*column as usize] = *value;
            }
            entry = end;
        }
    }
    FeatureMatrix::Dense { n_features, values: cells }
}

/// Moves the entries into compressed sparse rows.
fn sparse(batches: Vec<FeatureRows>, place: &[usize], n_features: u32, n_entries: usize) -> FeatureMatrix {
    let mut starts = vec![0; place.len() + 1];
    for (length, to) in batches.iter().flat_map(|b| &b.lengths).zip(place) {
        starts[to + 1] = *length as usize;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut columns = vec![0; n_entries];
    let mut values = vec![0.0; n_entries];
    let mut place = place.iter();
    for batch in batches {
        let mut entry = 0;
        for (length, to) in batch.lengths.iter().zip(&mut place) {
            let (from, to) = (entry..entry + *length as usize, starts[*to]..starts[to + 1]);
            columns[to.clone()].copy_from_slice(&batch.columns[from.clone()]);
            values[to].copy_from_slice(&batch.values[from]);
            entry += *length as usize;
        }
    }
    FeatureMatrix::Sparse { n_features, starts, columns, values }
}
