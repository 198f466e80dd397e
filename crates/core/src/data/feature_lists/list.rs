//! The list of one query: read access, and values that can be changed.

use std::ops::Range;

use super::FeatureLists;
use crate::data::feature_matrix::FeatureRow;

/// The documents of one query.
#[derive(Debug, Clone)]
pub struct List<'a> {
    pub(super) lists: &'a FeatureLists,
    pub(super) query: usize,
    pub(super) rows: Range<usize>,
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

    /// Weight of the `i`-th document in training; 1 by default.
    pub fn weight(&self, i: usize) -> f32 {
        self.lists.weights.as_ref().map_or(1.0, |weights| weights[self.rows.start + i])
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
    /// Columns of the values; if `None`, every row has all columns.
    pub(super) columns: Option<&'a [u32]>,
    pub(super) values: &'a mut [f32],
}

impl ListCells<'_> {
    /// Iterates over (column, value) of every stored cell.
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
