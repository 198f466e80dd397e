//! Detects whether the rows of a factor have collapsed into one direction.
//!
//! The constraint |l_u| <= theta does not keep RMLS from its degenerate optimum. If all values are at least 0, rows
//! that all point in one direction give the largest objective, and then every document gets nearly the same score.
//! Centering prevents the collapse; these statistics reveal it.

use serde::{Deserialize, Serialize};

use crate::matching::{dot, dots};

/// Statistics of the directions of rows, over a sample of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Collapse {
    /// Norm of the mean of the unit rows: 1 if all rows are equal, near 0 if they spread.
    pub mean_row: f64,
    /// (sum of eigenvalues)^2 / sum of squared eigenvalues of the rows' second moments: the effective number of
    /// directions, from 1 to d.
    pub effective_rank: f64,
    /// Share of the rows whose cosine with the first principal direction is above 0.99 in absolute value.
    pub aligned: f64,
}

/// Maximum number of rows in the sample.
const SAMPLE: usize = 256;

impl Collapse {
    /// Computes the statistics of evenly spaced rows out of `n`; `row` returns a row by its number.
    pub fn of_sample(n: usize, row: impl Fn(usize) -> Vec<f32>) -> Self {
        let taken = n.min(SAMPLE);
        Self::of(&(0..taken).map(|i| row(i * n / taken)).collect::<Vec<_>>())
    }

    /// Computes the statistics of these rows; rows of zeros are left out.
    pub fn of(rows: &[Vec<f32>]) -> Self {
        let unit = |row: &Vec<f32>| {
            let norm = dot(row, row).sqrt();
            (norm > 0.0).then(|| row.iter().map(|value| value / norm).collect::<Vec<f32>>())
        };
        let rows: Vec<Vec<f32>> = rows.iter().filter_map(unit).collect();
        let n = rows.len();
        if n == 0 {
            return Self { mean_row: 0.0, effective_rank: 0.0, aligned: 0.0 };
        }
        let d = rows[0].len();
        if d <= 2 {
            // One or two dimensions always share a direction; that is not a collapse.
            return Self { mean_row: 0.0, effective_rank: d as f64, aligned: 0.0 };
        }
        let mut mean = vec![0f32; d];
        rows.iter()
            .for_each(|row| mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / n as f32));
        // Eigenvalues of the second moments are those of the Gram matrix: trace n, squares sum g_ij^2.
        let (flat, mut gram) = (rows.concat(), vec![0f32; n * n]);
        dots(d, &flat, &flat, &mut gram);
        let squares: f64 = gram.iter().map(|&g| f64::from(g) * f64::from(g)).sum();
        // The first principal direction by the power method on the Gram matrix.
        let mut weights: Vec<f32> = gram[..n].to_vec();
        for _ in 0..30 {
            let next: Vec<f32> = gram.chunks(n).map(|row| dot(row, &weights)).collect();
            let norm = dot(&next, &next).sqrt();
            weights = next.iter().map(|value| value / norm).collect();
        }
        let mut principal = vec![0f32; d];
        for (row, &weight) in rows.iter().zip(&weights) {
            principal.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
        }
        let norm = dot(&principal, &principal).sqrt();
        let aligned = rows.iter().filter(|row| dot(row, &principal).abs() > 0.99 * norm).count();
        Self {
            mean_row: f64::from(dot(&mean, &mean)).sqrt(),
            effective_rank: (n * n) as f64 / squares,
            aligned: aligned as f64 / n as f64,
        }
    }

    /// Returns true if the rows carry hardly more than one number, and all with the same sign. (Two groups of rows that
    /// point in opposite directions use one direction as well, but tell two groups of documents apart.)
    pub fn is_collapsed(&self) -> bool {
        self.mean_row > 0.5 && (self.aligned > 0.9 || self.effective_rank < 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_direction_is_a_collapse_and_a_basis_is_not() {
        let one: Vec<Vec<f32>> = (1..20).map(|i| vec![i as f32, 2.0 * i as f32, 0.0]).collect();
        let collapse = Collapse::of(&one);
        assert!(collapse.is_collapsed());
        assert!((collapse.mean_row - 1.0).abs() < 1e-6 && (collapse.effective_rank - 1.0).abs() < 1e-6);
        assert_eq!(collapse.aligned, 1.0);
        let opposite: Vec<Vec<f32>> =
            (0..20).map(|i| vec![if i % 2 == 0 { 1.0 } else { -2.0 }, 0.0]).collect();
        assert!(!Collapse::of(&opposite).is_collapsed());
        let basis: Vec<Vec<f32>> =
            (0..16).map(|i| (0..16).map(|j| f32::from(u8::from(i == j))).collect()).collect();
        let collapse = Collapse::of(&basis);
        assert!(!collapse.is_collapsed());
        assert!((collapse.effective_rank - 16.0).abs() < 1e-6);
        assert!((collapse.mean_row - 0.25).abs() < 1e-6);
        assert!(!Collapse::of(&[vec![0.0; 3]]).is_collapsed());
    }
}
