//! The feature values of many rows, stored dense or sparse.
//!
//! LETOR data has a few hundred features and most cells are filled. There, rankers want contiguous `f32` rows. Data
//! with word features has millions of columns and a few dozen entries per row, so a dense row would not even fit. The
//! storage is therefore chosen once the rows are known: dense if at least a quarter of the cells differ from zero, else
//! compressed sparse rows. Dense then costs at most twice the memory of sparse (4 bytes per cell against 8 bytes per
//! entry), and the choice depends on the values alone. A feature that a row does not name is 0, as in SVMlight. NaN is
//! a missing value.

use std::ops::Range;

use super::feature_rows::{HIGHEST_FEATURE, beyond_the_highest};
use super::growing_matrix::{dense, sparse};
use crate::{Error, Result};

/// Rows of `f32` features. Column `c` is feature number `c + 1` in files.
#[derive(Debug, Clone)]
pub enum FeatureMatrix {
    /// Row-major, every cell stored.
    Dense {
        /// Number of columns.
        n_features: u32,
        /// `n_rows * n_features` cells.
        values: Vec<f32>,
    },
    /// Compressed sparse rows; zeros are not stored, columns ascend within a row.
    Sparse {
        /// Number of columns.
        n_features: u32,
        /// Row `i` has the entries `starts[i]..starts[i + 1]`.
        starts: Vec<usize>,
        /// Column of each entry.
        columns: Vec<u32>,
        /// Value of each entry.
        values: Vec<f32>,
    },
}

/// Matrices are equal if their storage and all their cells are equal; two missing values are equal.
impl PartialEq for FeatureMatrix {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &[f32], b: &[f32]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
        };
        match (self, other) {
            (Self::Dense { n_features, values }, Self::Dense { n_features: n, values: others }) => {
                n_features == n && same(values, others)
            }
            (
                Self::Sparse { n_features, starts, columns, values },
                Self::Sparse { n_features: n, starts: s, columns: c, values: others },
            ) => n_features == n && starts == s && columns == c && same(values, others),
            _ => false,
        }
    }
}

impl FeatureMatrix {
    /// Returns true if `n_entries` non-zero values in `n_rows` rows should be stored dense.
    pub(crate) fn prefers_dense(n_rows: usize, n_features: u32, n_entries: usize) -> bool {
        n_rows as u128 * u128::from(n_features) <= 4 * n_entries as u128
    }

    /// Number of rows; `None` if the cells do not fill the rows, or starts and entries contradict each other.
    pub(super) fn n_rows(&self) -> Option<usize> {
        match self {
            Self::Dense { n_features: 0, values } => values.is_empty().then_some(0),
            Self::Dense { n_features, values } => {
                let n = *n_features as usize;
                values.len().is_multiple_of(n).then_some(values.len() / n)
            }
            Self::Sparse { starts, columns, values, .. } => {
                let is_whole = starts.first() == Some(&0)
                    && starts.last() == Some(&values.len())
                    && columns.len() == values.len()
                    && starts.is_sorted();
                is_whole.then(|| starts.len() - 1)
            }
        }
    }

    /// Returns the matrix in the storage that rows from files have: dense or sparse, by the number of non-zero values.
    pub(super) fn settled(self) -> Self {
        let n_entries = match &self {
            Self::Dense { values, .. } | Self::Sparse { values, .. } => {
                values.iter().filter(|value| **value != 0.0).count()
            }
        };
        let (n_rows, n_features) = (self.n_rows().expect("the shape was checked"), self.n_features() as u32);
        let is_dense = Self::prefers_dense(n_rows, n_features, n_entries);
        match &self {
            Self::Dense { .. } if is_dense => self,
            Self::Sparse { values, .. } if !is_dense && values.len() == n_entries => self,
            _ if is_dense => dense(&self, n_rows, n_features),
            _ => sparse(&self, n_rows, n_features),
        }
    }

    /// Returns an error if a value is infinite, or the columns of a sparse row do not ascend or are beyond the last.
    pub(super) fn check(&self) -> Result<()> {
        let (n_features, values) = match self {
            Self::Dense { n_features, values } | Self::Sparse { n_features, values, .. } => {
                (*n_features, values)
            }
        };
        if n_features > HIGHEST_FEATURE {
            return Err(Error::Params(beyond_the_highest(n_features.into())));
        }
        if let Some(value) = values.iter().find(|value| value.is_infinite()) {
            return Err(Error::Params(format!(
                "a feature is {value}: features are finite 32-bit numbers, or NaN for a missing value"
            )));
        }
        let Self::Sparse { starts, columns, .. } = self else { return Ok(()) };
        let mut rows = starts.windows(2).map(|bounds| &columns[bounds[0]..bounds[1]]);
        let ascends = |row: &[u32]| {
            row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&column| column < n_features)
        };
        match rows.position(|row| !ascends(row)) {
            Some(row) => Err(Error::Params(format!(
                "the columns of row {} do not ascend, or are beyond the {n_features} columns of the matrix",
                row + 1
            ))),
            None => Ok(()),
        }
    }

    /// Number of columns: the highest feature number of any row, even with value 0.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Dense { n_features, .. } | Self::Sparse { n_features, .. } => *n_features as usize,
        }
    }

    /// Returns one row.
    pub fn row(&self, i: usize) -> FeatureRow<'_> {
        match self {
            Self::Dense { n_features, values } => {
                let n = *n_features as usize;
                FeatureRow::Dense(&values[i * n..(i + 1) * n])
            }
            Self::Sparse { starts, columns, values, .. } => {
                let entries = starts[i]..starts[i + 1];
                FeatureRow::Sparse { columns: &columns[entries.clone()], values: &values[entries] }
            }
        }
    }

    /// Returns the cells of a range of rows, row-major, if the matrix is dense.
    pub fn dense_rows(&self, rows: Range<usize>) -> Option<&[f32]> {
        match self {
            Self::Dense { n_features, values } => {
                let n = *n_features as usize;
                Some(&values[rows.start * n..rows.end * n])
            }
            Self::Sparse { .. } => None,
        }
    }

    /// Replaces the values of a column, one for every row.
    pub(super) fn set_column(&mut self, column: u32, new: &[f32]) {
        match self {
            Self::Dense { n_features, values } => {
                let cells = values.iter_mut().skip(column as usize).step_by(*n_features as usize);
                cells.zip(new).for_each(|(cell, &value)| *cell = value);
            }
            Self::Sparse { starts, columns, values, .. } => {
                let (old_columns, old_values) = (std::mem::take(columns), std::mem::take(values));
                columns.reserve(old_columns.len());
                values.reserve(old_values.len());
                let mut start = 0;
                for (row, &value) in new.iter().enumerate() {
                    let end = starts[row + 1];
                    let at = start + old_columns[start..end].partition_point(|&other| other < column);
                    let after = at + usize::from(at < end && old_columns[at] == column);
                    columns.extend_from_slice(&old_columns[start..at]);
                    values.extend_from_slice(&old_values[start..at]);
                    if value != 0.0 {
                        columns.push(column);
                        values.push(value);
                    }
                    columns.extend_from_slice(&old_columns[after..end]);
                    values.extend_from_slice(&old_values[after..end]);
                    (start, starts[row + 1]) = (end, columns.len());
                }
            }
        }
    }

    /// Memory of the values in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Dense { values, .. } => 4 * values.len(),
            Self::Sparse { starts, columns, values, .. } => {
                8 * starts.len() + 4 * columns.len() + 4 * values.len()
            }
        }
    }
}

/// One row of a [`FeatureMatrix`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FeatureRow<'a> {
    /// One cell per column.
    Dense(&'a [f32]),
    /// The non-zero cells, columns ascending.
    Sparse {
        /// Columns of the entries.
        columns: &'a [u32],
        /// Values of the entries.
        values: &'a [f32],
    },
}

impl<'a> FeatureRow<'a> {
    /// Iterates over the non-zero cells as (column, value), columns ascending.
    pub fn entries(self) -> impl Iterator<Item = (u32, f32)> + 'a {
        let (dense, columns, sparse): (&[f32], &[u32], &[f32]) = match self {
            Self::Dense(cells) => (cells, &[], &[]),
            Self::Sparse { columns, values } => (&[], columns, values),
        };
        let dense = (0..).zip(dense.iter().copied()).filter(|(_, value)| *value != 0.0);
        dense.chain(columns.iter().copied().zip(sparse.iter().copied()))
    }

    /// Returns the value of a column; 0 if the row does not name the column.
    pub fn get(self, column: u32) -> f32 {
        match self {
            Self::Dense(cells) => cells.get(column as usize).copied().unwrap_or(0.0),
            Self::Sparse { columns, values } => columns.binary_search(&column).map_or(0.0, |i| values[i]),
        }
    }

    /// Returns the inner product with one weight per column, summed in `f64` from the first column on. Columns beyond
    /// the weights are ignored.
    pub fn dot(self, weights: &[f32]) -> f64 {
        match self {
            Self::Dense(cells) => cells.iter().zip(weights).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum(),
            Self::Sparse { columns, values } => columns
                .iter()
                .zip(values)
                .map(|(c, x)| f64::from(*x) * f64::from(weights.get(*c as usize).copied().unwrap_or(0.0)))
                .sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::FeatureLists;

    #[test]
    fn a_column_is_replaced_in_dense_and_in_sparse_rows() {
        let values = vec![0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 7.0, 8.0, 0.0, 0.0, 0.0, 1.0];
        let mut dense = FeatureMatrix::Dense { n_features: 3, values };
        let mut sparse = FeatureMatrix::Sparse {
            n_features: 3,
            starts: vec![0, 1, 1, 3, 4],
            columns: vec![1, 0, 1, 2],
            values: vec![2.0, 7.0, 8.0, 1.0],
        };
        for (column, values) in [(1, [0.0, 5.0, 6.0, 0.0]), (0, [1.0; 4]), (2, [0.0; 4]), (1, [0.0; 4])] {
            for matrix in [&mut dense, &mut sparse] {
                matrix.set_column(column, &values);
            }
            for (row, value) in values.into_iter().enumerate() {
                let [a, b] = [&dense, &sparse].map(|matrix| matrix.row(row));
                assert_eq!(b.get(column), value);
                assert!(a.entries().eq(b.entries()), "{a:?} {b:?}");
            }
        }
        let lists = [("a".to_owned(), 1), ("b".to_owned(), 3)];
        let [of_dense, of_sparse] = [&dense, &sparse]
            .map(|matrix| FeatureLists::from_matrix(&lists, vec![1.0; 4], matrix.clone()).unwrap());
        assert_eq!((of_dense.list(1).query(), of_dense.list(1).len(), of_sparse.n_features()), ("b", 3, 3));
        let wrong = |lists: &[(&str, usize)], labels: Vec<f32>, matrix: FeatureMatrix| {
            let lists: Vec<(String, usize)> =
                lists.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            FeatureLists::from_matrix(&lists, labels, matrix).unwrap_err().to_string()
        };
        assert!(wrong(&[("a", 3)], vec![1.0; 3], dense.clone()).contains("need a label and features"));
        assert!(wrong(&[("a", 2), ("a", 2)], vec![1.0; 4], dense.clone()).contains("two lists"));
        assert!(wrong(&[("a", 4)], vec![-1.0; 4], dense.clone()).contains("the label of row 1 is -1"));
        let matrix = |starts: &[usize], columns: &[u32], values: &[f32]| FeatureMatrix::Sparse {
            n_features: 3,
            starts: starts.to_vec(),
            columns: columns.to_vec(),
            values: values.to_vec(),
        };
        assert!(wrong(&[("a", 1)], vec![1.0], matrix(&[0, 2], &[1, 1], &[1.0; 2])).contains("do not ascend"));
        assert!(
            wrong(&[("a", 1)], vec![1.0], matrix(&[0, 1], &[3], &[1.0])).contains("beyond the 3 columns")
        );
        assert!(
            wrong(&[("a", 1)], vec![1.0], matrix(&[0, 1], &[0], &[f32::INFINITY]))
                .contains("a feature is inf")
        );
        let mut lists = FeatureLists::from_dense(&[2], vec![0.0; 2], 1, vec![1.0, 2.0]).unwrap();
        for (column, values) in [(1, &[0.0; 2][..]), (0, &[0.0; 3]), (0, &[0.0, f32::INFINITY])] {
            assert!(lists.set_column(column, values).is_err(), "{column} {values:?}");
        }
        lists.set_column(0, &[5.0, 6.0]).unwrap();
        assert_eq!(lists.list(0).dense(), Some(&[5.0, 6.0][..]));
    }
}
