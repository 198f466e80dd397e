//! The feature values of many rows, stored dense or sparse.
//!
//! LETOR data has a few hundred features and most cells are filled. There, rankers want contiguous `f32` rows. Data
//! with word features has millions of columns and a few dozen entries per row, so a dense row would not even fit. The
//! storage is therefore chosen once the rows are known: dense if at least a quarter of the cells differ from zero, else
//! compressed sparse rows. Dense then costs at most twice the memory of sparse (4 bytes per cell against 8 bytes per
//! entry), and the choice depends on the values alone. A feature that a row does not name is 0, as in SVMlight. NaN is
//! a missing value.

use std::ops::Range;

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
        let mut lists = FeatureLists::from_dense(&[2], vec![0.0; 2], 1, vec![1.0, 2.0]).unwrap();
        for (column, values) in [(1, &[0.0; 2][..]), (0, &[0.0; 3]), (0, &[0.0, f32::INFINITY])] {
            assert!(lists.set_column(column, values).is_err(), "{column} {values:?}");
        }
        lists.set_column(0, &[5.0, 6.0]).unwrap();
        assert_eq!(lists.list(0).dense(), Some(&[5.0, 6.0][..]));
    }
}
