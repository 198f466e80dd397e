//! Mapping of one side into the latent space: a vector per feature.

use std::sync::Arc;

use rayon::prelude::*;

use crate::matching::SparseRow;
use crate::{Error, Result};

/// Largest absolute value of a row. Trained rows are far below it; scores of larger values would overflow.
const LARGEST: f32 = 1e10;

/// A matrix L with a row l_u of `d` values for every feature u.
///
/// `l_u = rows[row[u]]`. A feature with the row [`Factor::NONE`] is zero and takes no memory: about half of the
/// features of a click log belong to no training query, or to no training document.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    d: usize,
    row: Vec<u32>,
    rows: Rows,
}

/// Rows of the features that have one.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// `d` values for each row.
    Dense(Vec<f32>),
    /// Only the non-zero values. Shared, so that a model can be kept while training continues.
    Sparse(Arc<SparseRows>),
}

/// Rows with few entries; row i lies at `offsets[i]..offsets[i + 1]`, columns ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseRows {
    /// Start of each row, and the end of the last.
    pub offsets: Vec<u64>,
    /// Latent columns.
    pub columns: Vec<u16>,
    /// Values.
    pub values: Vec<f32>,
}

impl SparseRows {
    /// Returns columns and values of a row.
    pub fn row(&self, row: usize) -> (&[u16], &[f32]) {
        let at = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.columns[at.clone()], &self.values[at])
    }

    /// Adds `weight` times a row to `sum`.
    pub fn add_row(&self, row: usize, weight: f32, sum: &mut [f32]) {
        let (columns, values) = self.row(row);
        for (&column, value) in columns.iter().zip(values) {
            sum[usize::from(column)] += weight * value;
        }
    }
}

impl Factor {
    /// The row of a feature that is zero.
    pub const NONE: u32 = u32::MAX;

    /// Builds a factor after checking that its parts fit together.
    pub fn new(d: usize, row: Vec<u32>, rows: Rows) -> Result<Self> {
        let wrong = |what: &str| Err(Error::Shape(format!("the factor is inconsistent: {what}")));
        if d == 0 || d > 1 << 16 {
            return wrong("the dimension must be from 1 to 65536");
        }
        let n_rows = match &rows {
            Rows::Dense(values) if values.len() % d != 0 => return wrong("every row must have d values"),
            Rows::Dense(values) => values.len() / d,
            Rows::Sparse(rows) => {
                let SparseRows { offsets, columns, values } = &**rows;
                let ends = (offsets.first(), offsets.last());
                if ends != (Some(&0), Some(&(columns.len() as u64))) || columns.len() != values.len() {
                    return wrong("offsets, columns and values of sparse rows do not fit together");
                }
                for pair in offsets.windows(2) {
                    let row =
                        match (pair[0] <= pair[1]).then(|| columns.get(pair[0] as usize..pair[1] as usize)) {
                            Some(Some(row)) => row,
                            _ => return wrong("offsets must ascend"),
                        };
                    let ascends = row.windows(2).all(|pair| pair[0] < pair[1]);
                    if !ascends || row.last().is_some_and(|&last| usize::from(last) >= d) {
                        return wrong("columns of a sparse row must ascend and be below d");
                    }
                }
                offsets.len() - 1
            }
        };
        if row.iter().any(|&row| row != Self::NONE && row as usize >= n_rows) {
            return wrong("a feature refers to a row that does not exist");
        }
        let values = match &rows {
            Rows::Dense(values) => values,
            Rows::Sparse(rows) => &rows.values,
        };
        let finite = |part: &[f32]| part.iter().filter(|value| value.abs() <= LARGEST).count() == part.len();
        if !values.par_chunks(1 << 16).all(finite) {
            return wrong("a value is not finite, or exceeds 1e10, so that scores would overflow");
        }
        Ok(Self { d, row, rows })
    }

    /// Builds a factor of `n_features` whose rows belong to the given features, in their order.
    pub(crate) fn of_features(d: usize, features: &[u32], n_features: usize, rows: Rows) -> Result<Self> {
        Self::new(d, Self::rows_of(features, n_features), rows)
    }

    /// Returns the row of each of `n_features`, if the rows belong to the given features.
    pub(crate) fn rows_of(features: &[u32], n_features: usize) -> Vec<u32> {
        let mut row_of = vec![Self::NONE; n_features];
        features.iter().zip(0..).for_each(|(&feature, row)| row_of[feature as usize] = row);
        row_of
    }

    /// Builds a factor in which every feature has its own dense row.
    pub fn dense(d: usize, values: Vec<f32>) -> Result<Self> {
        let n = values.len() / d.max(1);
        Self::new(d, (0..n as u32).collect(), Rows::Dense(values))
    }

    /// Latent dimension.
    pub fn d(&self) -> usize {
        self.d
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.row.len()
    }

    /// Number of stored rows.
    pub fn n_rows(&self) -> usize {
        match &self.rows {
            Rows::Dense(values) => values.len() / self.d,
            Rows::Sparse(rows) => rows.offsets.len() - 1,
        }
    }

    /// Row of each feature.
    pub fn row_of(&self) -> &[u32] {
        &self.row
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Consumes `self` and returns the rows.
    pub fn into_rows(self) -> Rows {
        self.rows
    }

    /// Adds `weight * l_u` to `sum`, which has d values. An unknown feature adds nothing.
    pub fn add(&self, u: u32, weight: f32, sum: &mut [f32]) {
        debug_assert_eq!(sum.len(), self.d);
        if let Some(&row) = self.row.get(u as usize).filter(|&&row| row != Self::NONE) {
            self.add_row(row as usize, weight, sum);
        }
    }

    /// Adds `weight` times a stored row, given by its number, to `sum`.
    pub fn add_row(&self, row: usize, weight: f32, sum: &mut [f32]) {
        match &self.rows {
            Rows::Dense(values) => {
                let row = &values[row * self.d..][..self.d];
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
            }
            Rows::Sparse(rows) => rows.add_row(row, weight, sum),
        }
    }

    /// Computes L'x, the image of a feature vector.
    pub fn map(&self, x: SparseRow<'_>) -> Vec<f32> {
        let mut image = vec![0.0; self.d];
        self.map_into(x, &mut image);
        image
    }

    /// Writes L'x, the image of a feature vector, to `image`.
    pub fn map_into(&self, x: SparseRow<'_>, image: &mut [f32]) {
        image.fill(0.0);
        x.iter().for_each(|(u, value)| self.add(u, value, image));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_rows_map_as_dense_ones_do() {
        let dense =
            Factor::new(3, vec![1, Factor::NONE, 0, 1], Rows::Dense(vec![1.0, 0.0, -1.0, 0.0, 0.5, 0.0]))
                .unwrap();
        let rows =
            SparseRows { offsets: vec![0, 2, 3], columns: vec![0, 2, 1], values: vec![1.0, -1.0, 0.5] };
        let sparse = Factor::new(3, dense.row_of().to_vec(), Rows::Sparse(rows.into())).unwrap();
        let x = SparseRow::new(&[0, 1, 2, 7], &[1.0, 5.0, 3.0, 4.0]).unwrap();
        assert_eq!(dense.map(x), [3.0, 0.5, -3.0]);
        assert_eq!(sparse.map(x), dense.map(x));
        assert_eq!((sparse.n_rows(), dense.n_rows()), (2, 2));
    }

    #[test]
    fn broken_factors_are_errors() {
        assert!(Factor::new(0, vec![], Rows::Dense(vec![])).is_err());
        assert!(Factor::new(2, vec![0], Rows::Dense(vec![1.0])).is_err());
        assert!(Factor::new(2, vec![1], Rows::Dense(vec![1.0; 2])).is_err());
        for wrong in [f32::NAN, f32::INFINITY, 1e38, -2e10] {
            assert!(Factor::new(2, vec![0], Rows::Dense(vec![1.0, wrong])).is_err());
        }
        let sparse = |offsets: &[u64], columns: &[u16]| {
            let values = vec![1.0; columns.len()];
            let rows = SparseRows { offsets: offsets.to_vec(), columns: columns.to_vec(), values };
            Factor::new(2, vec![0], Rows::Sparse(rows.into()))
        };
        assert!(sparse(&[0, 2], &[0, 1]).is_ok());
        assert!(sparse(&[0, 2], &[1, 0]).is_err());
        assert!(sparse(&[0, 1], &[2]).is_err());
        assert!(sparse(&[0, 3, 2], &[0, 1]).is_err());
        assert!(sparse(&[1, 2], &[0, 1]).is_err());
    }
}
