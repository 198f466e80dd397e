//! A feature matrix that grows row by row, in the storage that suits the rows so far.
//!
//! The rows of a file arrive one after the other, and only the end of the file shows whether they are dense or sparse.
//! Keeping both forms in memory would double the cost of reading, so rows are kept in one form from the start. The
//! choice is revisited whenever the number of rows has doubled, so each cell is moved a bounded number of times.

use super::feature_matrix::{FeatureMatrix, FeatureRow};

#[derive(Debug, Clone)]
pub(super) struct GrowingMatrix {
    matrix: FeatureMatrix,
    n_rows: usize,
    /// Number of non-zero values.
    n_entries: usize,
    /// Number of rows when dense rows were last widened.
    widened_at: usize,
}

impl Default for GrowingMatrix {
    fn default() -> Self {
        let matrix =
            FeatureMatrix::Sparse { n_features: 0, starts: vec![0], columns: Vec::new(), values: Vec::new() };
        Self { matrix, n_rows: 0, n_entries: 0, widened_at: 0 }
    }
}

impl GrowingMatrix {
    /// Adds a row of (column, value) with ascending columns; zeros are allowed.
    pub(super) fn push(&mut self, entries: &[(u32, f32)]) {
        self.widen(entries.last().map_or(0, |(column, _)| column + 1));
        let filled = entries.iter().filter(|entry| entry.1 != 0.0);
        match &mut self.matrix {
            FeatureMatrix::Dense { n_features, values } => {
                let start = values.len();
                values.resize(start + *n_features as usize, 0.0);
                for (column, value) in filled {
                    values[start + *column as usize] = *value;
                    self.n_entries += 1;
                }
            }
            FeatureMatrix::Sparse { starts, columns, values, .. } => {
                for (column, value) in filled {
                    columns.push(*column);
                    values.push(*value);
                }
                starts.push(values.len());
                self.n_entries = values.len();
            }
        }
        self.n_rows += 1;
        if self.n_rows.is_power_of_two() {
            self.settle();
        }
    }

    /// Appends all rows of another matrix.
    pub(super) fn append(&mut self, other: Self) {
        if self.n_rows == 0 {
            let n_features = self.matrix.n_features() as u32;
            *self = other;
            self.widen(n_features);
            return;
        }
        self.widen(other.matrix.n_features() as u32);
        let before = self.n_rows;
        match (&mut self.matrix, &other.matrix) {
            (
                FeatureMatrix::Dense { n_features, values },
                FeatureMatrix::Dense { n_features: n, values: more },
            ) if n_features == n => {
                values.extend_from_slice(more);
            }
            (FeatureMatrix::Dense { n_features, values }, more) => {
                for row in 0..other.n_rows {
                    let start = values.len();
                    values.resize(start + *n_features as usize, 0.0);
                    more.row(row)
                        .entries()
                        .for_each(|(column, value)| values[start + column as usize] = value);
                }
            }
            (FeatureMatrix::Sparse { starts, columns, values, .. }, more) => {
                for row in 0..other.n_rows {
                    for (column, value) in more.row(row).entries() {
                        columns.push(column);
                        values.push(value);
                    }
                    starts.push(values.len());
                }
            }
        }
        self.n_rows += other.n_rows;
        self.n_entries += other.n_entries;
        if self.n_rows.ilog2() > before.ilog2() {
            self.settle();
        }
    }

    /// Makes room for columns. Dense rows are moved apart in place, unless that was done recently.
    pub(super) fn widen(&mut self, wanted: u32) {
        let prefers_dense = FeatureMatrix::prefers_dense(self.n_rows, wanted, self.n_entries);
        match &mut self.matrix {
            FeatureMatrix::Sparse { n_features, .. } => *n_features = wanted.max(*n_features),
            FeatureMatrix::Dense { n_features, .. } if wanted <= *n_features => {}
            FeatureMatrix::Dense { n_features, values }
                if prefers_dense && self.n_rows >= 2 * self.widened_at =>
            {
                let (old, new) = (*n_features as usize, wanted as usize);
                values.resize(self.n_rows * new, 0.0);
                for row in (0..self.n_rows).rev() {
                    values.copy_within(row * old..(row + 1) * old, row * new);
                    values[row * new + old..(row + 1) * new].fill(0.0);
                }
                (*n_features, self.widened_at) = (wanted, self.n_rows.max(1));
            }
            FeatureMatrix::Dense { .. } => {
                self.matrix = sparse(&self.matrix, self.n_rows, wanted);
            }
        }
    }

    /// Switches to the storage that suits the rows so far.
    fn settle(&mut self) {
        let n_features = self.matrix.n_features() as u32;
        let prefers_dense = FeatureMatrix::prefers_dense(self.n_rows, n_features, self.n_entries);
        match (&self.matrix, prefers_dense) {
            (FeatureMatrix::Sparse { .. }, true) => {
                self.matrix = dense(&self.matrix, self.n_rows, n_features)
            }
            (FeatureMatrix::Dense { .. }, false) => {
                self.matrix = sparse(&self.matrix, self.n_rows, n_features)
            }
            _ => {}
        }
    }

    /// Returns the matrix with its i-th row at `place[i]`; without `place`, rows keep their order.
    pub(super) fn finish(mut self, place: Option<&[usize]>) -> FeatureMatrix {
        self.settle();
        let Some(place) = place else { return self.matrix };
        let mut at = vec![0; place.len()];
        place.iter().enumerate().for_each(|(row, &to)| at[to] = row);
        let mut ordered = Self::default();
        ordered.widen(self.matrix.n_features() as u32);
        let mut entries = Vec::new();
        for row in at {
            entries.clear();
            entries.extend(self.matrix.row(row).entries());
            ordered.push(&entries);
        }
        ordered.settle();
        ordered.matrix
    }
}

/// Copies a matrix into dense storage.
pub(super) fn dense(matrix: &FeatureMatrix, n_rows: usize, n_features: u32) -> FeatureMatrix {
    let n = n_features as usize;
    let mut values = vec![0.0; n_rows * n];
    for row in 0..n_rows {
        let cells = &mut values[row * n..(row + 1) * n];
        matrix.row(row).entries().for_each(|(column, value)| cells[column as usize] = value);
    }
    FeatureMatrix::Dense { n_features, values }
}

/// Copies a matrix into sparse storage.
pub(super) fn sparse(matrix: &FeatureMatrix, n_rows: usize, n_features: u32) -> FeatureMatrix {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n_rows {
        for (column, value) in FeatureRow::entries(matrix.row(row)) {
            columns.push(column);
            values.push(value);
        }
        starts.push(values.len());
    }
    FeatureMatrix::Sparse { n_features, starts, columns, values }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Checks that rows pushed one by one or appended in pieces give the same cells, in the storage that the rule
        /// picks.
        #[test]
        fn the_form_and_the_cells_do_not_depend_on_the_pieces(
            rows in prop::collection::vec(prop::collection::btree_map(0u32..60, -2i8..3, 0..50), 1..70),
            widths in prop::collection::vec(1u32..60, 70),
            piece in 1usize..20,
        ) {
            let rows: Vec<Vec<(u32, f32)>> = rows
                .iter()
                .zip(&widths)
                .map(|(row, width)| {
                    row.iter().filter(|(c, _)| *c < width).map(|(&c, &x)| (c, f32::from(x))).collect()
                })
                .collect();
            let mut whole = GrowingMatrix::default();
            rows.iter().for_each(|row| whole.push(row));
            let mut pieces = GrowingMatrix::default();
            for rows in rows.chunks(piece) {
                let mut part = GrowingMatrix::default();
                rows.iter().for_each(|row| part.push(row));
                pieces.append(part);
            }
            let n_features = rows.iter().filter_map(|row| row.last()).map(|entry| entry.0 + 1).max().unwrap_or(0);
            let n_entries = rows.iter().flatten().filter(|entry| entry.1 != 0.0).count();
            let back: Vec<usize> = (0..rows.len()).rev().collect();
            let reversed = whole.clone().finish(Some(&back));
            let (whole, pieces) = (whole.finish(None), pieces.finish(None));
            prop_assert_eq!(&whole, &pieces);
            prop_assert_eq!(whole.n_features(), n_features as usize);
            prop_assert_eq!(
                matches!(whole, FeatureMatrix::Dense { .. }),
                FeatureMatrix::prefers_dense(rows.len(), n_features, n_entries)
            );
            for (i, row) in rows.iter().enumerate() {
                let filled = || row.iter().copied().filter(|entry| entry.1 != 0.0);
                prop_assert!(whole.row(i).entries().eq(filled()));
                prop_assert!(reversed.row(rows.len() - 1 - i).entries().eq(filled()));
            }
        }
    }
}
