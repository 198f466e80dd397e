//! Compressed sparse row matrices.

use super::SparseRow;
use crate::{Error, Result};

/// A sparse matrix stored row after row. The entries of row i lie at `offsets[i]..offsets[i + 1]`, with strictly
/// ascending columns and finite values.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    n_columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Csr {
    /// Builds a matrix from its arrays after checking them.
    pub fn new(n_columns: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f32>) -> Result<Self> {
        if offsets.first() != Some(&0) || offsets.last() != Some(&indices.len()) {
            return Err(Error::Shape(
                "the offsets of a sparse matrix must go from 0 to its number of entries".into(),
            ));
        }
        if indices.len() != values.len() {
            return Err(Error::Shape(format!(
                "there are {} indices but {} values; the numbers must be equal",
                indices.len(),
                values.len()
            )));
        }
        for pair in offsets.windows(2) {
            let (Some(row), Some(row_values)) = (indices.get(pair[0]..pair[1]), values.get(pair[0]..pair[1]))
            else {
                return Err(Error::Shape("the offsets of a sparse matrix must ascend".into()));
            };
            SparseRow::new(row, row_values)?;
            if row.last().is_some_and(|&last| last as usize >= n_columns) {
                return Err(Error::Shape(format!(
                    "column {} is out of range for a matrix of {n_columns} columns",
                    row[row.len() - 1]
                )));
            }
        }
        Ok(Self { n_columns, offsets, indices, values })
    }

    /// Builds a matrix from entries `(row, column, value)` in any order. Entries of the same place are added in the
    /// order given.
    pub fn from_triples(
        n_rows: usize,
        n_columns: usize,
        triples: impl IntoIterator<Item = (u32, u32, f32)>,
    ) -> Result<Self> {
        let mut triples: Vec<(u32, u32, f32)> = triples.into_iter().collect();
        triples.sort_by_key(|&(row, column, _)| (row, column));
        let mut builder = CsrBuilder::new(n_columns);
        let mut triples = triples.into_iter().peekable();
        for row in 0..n_rows as u32 {
            while let Some((_, column, mut value)) = triples.next_if(|triple| triple.0 == row) {
                while let Some((.., more)) = triples.next_if(|triple| (triple.0, triple.1) == (row, column)) {
                    value += more;
                }
                builder.push(column, value);
            }
            builder.end_row();
        }
        if let Some((row, ..)) = triples.next() {
            return Err(Error::Shape(format!("row {row} is out of range for a matrix of {n_rows} rows")));
        }
        builder.finish()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Number of entries.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Returns a row.
    pub fn row(&self, i: usize) -> SparseRow<'_> {
        let at = self.offsets[i]..self.offsets[i + 1];
        SparseRow::trusted(&self.indices[at.clone()], &self.values[at])
    }

    /// Iterates over all rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = SparseRow<'_>> {
        (0..self.n_rows()).map(|i| self.row(i))
    }

    /// Start of each row; the last offset is the number of entries.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Columns of all entries.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Values of all entries.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns the transposed matrix.
    pub fn transpose(&self) -> Self {
        let mut offsets = vec![0usize; self.n_columns + 1];
        self.indices.iter().for_each(|&column| offsets[column as usize + 1] += 1);
        for column in 0..self.n_columns {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut indices = vec![0u32; self.nnz()];
        let mut values = vec![0f32; self.nnz()];
        for (i, row) in self.rows().enumerate() {
            for (column, value) in row.iter() {
                let place = &mut next[column as usize];
                indices[*place] = i as u32;
                values[*place] = value;
                *place += 1;
            }
        }
        Self { n_columns: self.n_rows(), offsets, indices, values }
    }
}

/// Builds a [`Csr`] row by row.
#[derive(Debug, Clone)]
pub struct CsrBuilder {
    matrix: Csr,
}

impl CsrBuilder {
    /// Starts a matrix with the given number of columns and no rows.
    pub fn new(n_columns: usize) -> Self {
        Self { matrix: Csr { n_columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() } }
    }

    /// Adds an entry to the current row. Columns must come in ascending order.
    pub fn push(&mut self, column: u32, value: f32) {
        self.matrix.indices.push(column);
        self.matrix.values.push(value);
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        self.matrix.offsets.push(self.matrix.indices.len());
    }

    /// Adds a whole row.
    pub fn push_row(&mut self, row: SparseRow<'_>) {
        self.matrix.indices.extend_from_slice(row.indices());
        self.matrix.values.extend_from_slice(row.values());
        self.end_row();
    }

    /// Checks and returns the matrix.
    pub fn finish(self) -> Result<Csr> {
        let Csr { n_columns, offsets, indices, values } = self.matrix;
        Csr::new(n_columns, offsets, indices, values)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn broken_matrices_are_errors() {
        assert!(Csr::new(2, vec![0, 1], vec![2], vec![1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2], vec![1, 0], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2, 1, 2], vec![0, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![0, 9, 2], vec![0, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![1, 2], vec![0, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![0, 1], vec![0], vec![f32::NAN]).is_err());
        assert!(Csr::from_triples(1, 2, [(1, 0, 1.0)]).is_err());
        assert!(Csr::from_triples(1, 2, [(0, 2, 1.0)]).is_err());
        assert_eq!(Csr::from_triples(2, 2, []).unwrap().n_rows(), 2);
    }

    proptest! {
        #[test]
        fn triples_add_up_and_transposing_exchanges_them(
            triples in prop::collection::vec((0u32..6, 0u32..9, -8i8..8), 0..60),
        ) {
            let mut dense = [[0f32; 9]; 6];
            triples.iter().for_each(|&(i, j, v)| dense[i as usize][j as usize] += f32::from(v));
            let triples = triples.iter().map(|&(i, j, v)| (i, j, f32::from(v)));
            let matrix = Csr::from_triples(6, 9, triples).unwrap();
            let transposed = matrix.transpose();
            let mut back = [[0f32; 9]; 6];
            for (j, row) in transposed.rows().enumerate() {
                row.iter().for_each(|(i, value)| back[i as usize][j] = value);
            }
            prop_assert_eq!(back, dense);
            prop_assert_eq!(transposed.transpose(), matrix);
        }
    }
}
