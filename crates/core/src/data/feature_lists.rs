//! Queries, each with a list of labelled documents and their features: the training data of a ranker.
//!
//! The rows of one query are contiguous. Queries keep the order of their first appearance, and rows keep the order they
//! had within their query. So a query's list is a range of rows, and its labels are a slice.
//!
//! ```
//! use matchrank_core::data::{FeatureLists, FeatureRows};
//!
//! let mut rows = FeatureRows::default();
//! rows.push("q1", Some("d7"), 2.0, &mut vec![(0, 0.5), (1, 3.0)]).unwrap();
//! rows.push("q1", Some("d9"), 0.0, &mut vec![(0, 0.25)]).unwrap();
//! let lists = FeatureLists::from_rows(rows);
//!
//! let list = lists.list(0);
//! assert_eq!((list.query(), list.labels()), ("q1", [2.0, 0.0].as_slice()));
//! assert_eq!(list.row(0).dot(&[2.0, 1.0]), 4.0);
//! ```

mod gathering;
mod list;

use std::collections::HashMap;

pub use self::list::List;
pub(crate) use self::list::ListCells;
use super::feature_matrix::FeatureMatrix;
use super::feature_rows::{FeatureRows, Origin};
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
    /// Training weight of every row; if `None`, all rows have the same weight.
    weights: Option<Vec<f32>>,
    files: Vec<String>,
    /// File and line of every row; empty if the rows come from no file.
    origins: Vec<Origin>,
}

/// Lists are equal if their rows, weights and ids are equal, wherever they were read from.
impl PartialEq for FeatureLists {
    fn eq(&self, other: &Self) -> bool {
        let Self { queries, starts, labels, documents, features, weights, .. } = self;
        (queries, starts, labels, documents, features, weights)
            == (
                &other.queries,
                &other.starts,
                &other.labels,
                &other.documents,
                &other.features,
                &other.weights,
            )
    }
}

impl FeatureLists {
    /// Groups rows by query. A row without a document id gets its row number, counted from 1.
    pub fn from_rows(rows: FeatureRows) -> Self {
        let n_rows = rows.len();
        let mut queries = Names::default();
        let mut lengths: Vec<usize> = Vec::new();
        let mut runs: Vec<(usize, usize)> = Vec::new(); // (query, number of consecutive rows)
        let mut number: HashMap<&str, usize, foldhash::fast::FixedState> = HashMap::default();
        for (qid, length) in rows.runs() {
            let query = *number.entry(qid).or_insert_with(|| {
                queries.push(qid);
                lengths.push(0);
                lengths.len() - 1
            });
            lengths[query] += length;
            runs.push((query, length));
        }
        let is_grouped = runs.len() == lengths.len();
        let starts = starts_of(&lengths);
        // `place[i]` is the position of the i-th row of the input.
        let mut next = starts.clone();
        let mut place = Vec::with_capacity(n_rows);
        for (query, length) in runs {
            place.extend(next[query]..next[query] + length);
            next[query] += length;
        }
        drop(number);

        let FeatureRows {
            rows_before,
            labels: given,
            documents: ids,
            named,
            cells,
            files,
            origins: lines,
            ..
        } = rows;
        let mut labels = vec![0.0; n_rows];
        let mut row_at = vec![0; n_rows];
        for (row, (&label, &to)) in given.iter().zip(&place).enumerate() {
            labels[to] = label;
            row_at[to] = row;
        }
        let documents_are_named = named.iter().all(|named| *named);
        let mut documents = Names::default();
        for &row in &row_at {
            match named[row] {
                true => documents.push(ids.get(row)),
                false => documents.push(&(rows_before + row + 1).to_string()),
            }
        }
        drop(ids);
        let origins = if lines.is_empty() { lines } else { row_at.iter().map(|&row| lines[row]).collect() };
        let features = cells.finish((!is_grouped).then_some(&place[..]));
        Self {
            queries,
            starts,
            labels,
            documents,
            documents_are_named,
            features,
            weights: None,
            files,
            origins,
        }
    }

    /// Builds lists of the given lengths from consecutive rows: a label and `n_features` values for each row. The ids
    /// of queries and documents are their numbers, counted from 1.
    pub fn from_dense(
        lengths: &[usize],
        labels: Vec<f32>,
        n_features: u32,
        values: Vec<f32>,
    ) -> Result<Self> {
        let n_rows: usize = lengths.iter().sum();
        if labels.len() != n_rows || values.len() != n_rows * n_features as usize || lengths.contains(&0) {
            return Err(Error::Shape(format!(
                "lists of {n_rows} rows and {n_features} features need a label per row, a value per feature of each \
                 row, and at least one row per list; there are {} labels and {} values",
                labels.len(),
                values.len()
            )));
        }
        if labels.iter().any(|label| !(*label >= 0.0 && label.is_finite()))
            || values.iter().any(|x| x.is_infinite())
        {
            let message = "labels must be finite and at least 0, values finite, or NaN for a missing value";
            return Err(Error::Params(message.into()));
        }
        let numbered = |n: usize| {
            let mut names = Names::default();
            (1..=n).for_each(|i| names.push(&i.to_string()));
            names
        };
        let starts = starts_of(lengths);
        let (queries, documents) = (numbered(lengths.len()), numbered(n_rows));
        let features = FeatureMatrix::Dense { n_features, values };
        let (weights, files, origins) = (None, Vec::new(), Vec::new());
        let documents_are_named = false;
        Ok(Self {
            queries,
            starts,
            labels,
            documents,
            documents_are_named,
            features,
            weights,
            files,
            origins,
        })
    }

    /// Builds lists of the given queries and lengths from the consecutive rows of a matrix, with a label for each row. The
    /// ids of documents are their numbers, counted from 1. The matrix is stored dense or sparse as rows from files are.
    pub fn from_matrix(lists: &[(String, usize)], labels: Vec<f32>, features: FeatureMatrix) -> Result<Self> {
        let n_rows: usize = lists.iter().map(|(_, length)| length).sum();
        if labels.len() != n_rows || features.n_rows() != Some(n_rows) || lists.iter().any(|(_, n)| *n == 0) {
            return Err(Error::Shape(format!(
                "lists of {n_rows} rows need a label and features for each row, and at least one row per list; there are \
                 {} labels",
                labels.len()
            )));
        }
        if let Some(row) = labels.iter().position(|label| !(*label >= 0.0 && label.is_finite())) {
            return Err(Error::Params(format!(
                "the label of row {} is {}: a label is a grade, a finite number of at least 0",
                row + 1,
                labels[row]
            )));
        }
        features.check()?;
        let mut known = std::collections::HashSet::new();
        if let Some((query, _)) = lists.iter().find(|(query, _)| !known.insert(query.as_str())) {
            return Err(Error::Params(format!("the query {query} has two lists; put its rows together")));
        }
        let (mut queries, mut documents) = (Names::default(), Names::default());
        lists.iter().for_each(|(query, _)| queries.push(query));
        (1..=n_rows).for_each(|i| documents.push(&i.to_string()));
        let lengths: Vec<usize> = lists.iter().map(|(_, length)| *length).collect();
        Ok(Self {
            queries,
            starts: starts_of(&lengths),
            labels,
            documents,
            documents_are_named: false,
            features: features.settled(),
            weights: None,
            files: Vec::new(),
            origins: Vec::new(),
        })
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

    /// Returns true if every row was given a document id; otherwise the id of a row is its number.
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
                "column {column} of {n_features} with {n_rows} rows cannot be replaced by {} values",
                values.len()
            )));
        }
        if values.iter().any(|value| value.is_infinite()) {
            return Err(Error::Params("values must be finite, or NaN for a missing value".into()));
        }
        self.features.set_column(column, values);
        Ok(())
    }

    /// Returns the values of every list for changes in place. Zeros of sparse rows are not stored and stay 0.
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

    /// File and line of a row, if it was read from a file.
    pub fn origin(&self, row: usize) -> Option<(&str, u64)> {
        let Origin { file, line } = *self.origins.get(row)?;
        Some((self.files.get(file as usize)?, u64::from(line)))
    }

    /// Builds an error about a row that names its file and line, if they are known.
    pub fn error_at(&self, row: usize, message: impl Into<String>) -> Error {
        match self.origin(row) {
            Some((file, line)) => Error::parse(file, line, message),
            None => Error::Params(format!("row {}: {}", row + 1, message.into())),
        }
    }

    /// Finds row and column of the first missing value (NaN).
    pub fn missing(&self) -> Option<(usize, u32)> {
        match &self.features {
            FeatureMatrix::Dense { n_features, values } => {
                let at = values.iter().position(|value| value.is_nan())?;
                let n = *n_features as usize;
                Some((at / n, (at % n) as u32))
            }
            FeatureMatrix::Sparse { starts, columns, values, .. } => {
                let at = values.iter().position(|value| value.is_nan())?;
                Some((starts.partition_point(|&start| start <= at) - 1, columns[at]))
            }
        }
    }

    /// Returns an error that names the first missing value, for rankers that do not support missing values, and `others`
    /// that do.
    pub fn require_complete(&self, ranker: &str, others: &str) -> Result<()> {
        let Some((row, column)) = self.missing() else { return Ok(()) };
        let number = u64::from(column) + 1;
        Err(self.error_at(
            row,
            format!(
                "feature {number} of document {} is missing (NaN), which {ranker} does not support: write a number \
                 (0, or the mean of the feature), or use a ranker that supports missing values ({others})",
                self.document(row)
            ),
        ))
    }

    /// Finds the first two rows of a query that have the same document.
    pub fn repeated_document(&self) -> Option<(usize, usize)> {
        let mut first: HashMap<&str, usize, foldhash::fast::FixedState> = HashMap::default();
        self.iter().find_map(|list| {
            first.clear();
            list.rows().find_map(|row| first.insert(self.document(row), row).map(|earlier| (earlier, row)))
        })
    }

    /// Returns an error that names the first document that appears twice in a query. Rankings and measures need each
    /// document once.
    pub fn require_distinct_documents(&self) -> Result<()> {
        let Some((first, second)) = self.repeated_document() else { return Ok(()) };
        let place =
            self.origin(first).map_or(String::new(), |(file, line)| format!(" (first at {file}:{line})"));
        let document = self.document(second);
        let message =
            format!("document {document} appears twice in this query{place}; keep one row per document");
        Err(self.error_at(second, message))
    }

    /// Training weights of the rows; `None` if all rows have the same weight.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Sets the training weights of the rows. A row of weight 2 counts twice.
    pub fn set_weights(&mut self, weights: Vec<f32>) -> Result<()> {
        let n_rows = self.n_rows();
        if weights.len() != n_rows {
            return Err(Error::Shape(format!(
                "{} weights were given for {n_rows} rows; one per row is expected",
                weights.len()
            )));
        }
        if let Some(row) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            let message = format!("the weight is {}; weights must be finite and at least 0", weights[row]);
            return Err(self.error_at(row, message));
        }
        if !weights.iter().any(|weight| *weight > 0.0) {
            return Err(Error::Params("all weights are 0; at least one must be above 0".into()));
        }
        self.weights = Some(weights);
        Ok(())
    }

    /// Memory of the lists in bytes.
    pub fn bytes(&self) -> usize {
        self.features.bytes()
            + self.documents.bytes()
            + self.queries.bytes()
            + 4 * self.labels.len()
            + 8 * self.starts.len()
            + 8 * self.origins.len()
            + 4 * self.weights.as_ref().map_or(0, Vec::len)
    }
}

/// Returns the first row of each list, given the lengths of the lists, and the end of the last.
fn starts_of(lengths: &[usize]) -> Vec<usize> {
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}
