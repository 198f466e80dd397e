//! Rows of 8-bit integers: a quarter of the memory that a sweep over all documents reads.
//!
//! A row y is stored as s r with whole numbers r from -127 to 127 and one scale s, its largest absolute value divided by 127.
//! A query is rounded to whole numbers so large that no sum of products passes 32 bits, which is nearly exact. So
//!
//! ```text
//! |q' y - t s sum_i p_i r_i|  <=  s/2 ||q||_1 + t/2 ||y||_1 + d s t / 4      for a query q = t p
//! ```

use super::simd::vectorised;

/// Largest absolute value of an entry.
const LARGEST: f32 = 127.0;

/// Rows of d numbers, rounded to 8 bits.
#[derive(Debug, Clone, Default)]
pub struct ByteRows {
    d: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
}

/// A query, rounded for products with [`ByteRows`].
#[derive(Debug, Clone)]
pub struct ByteQuery {
    values: Vec<i16>,
    scale: f32,
}

impl ByteRows {
    /// Makes room for `n` rows of `d` numbers.
    pub fn with_capacity(d: usize, n: usize) -> Self {
        Self { d, values: Vec::with_capacity(d * n), scales: Vec::with_capacity(n) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Adds a row of d finite numbers.
    ///
    /// # Panics
    /// If the row has another length.
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.d, "rows have d numbers");
        let (scale, inverse) = scale(row, LARGEST);
        self.scales.push(scale);
        self.values.extend(row.iter().map(|value| (value * inverse).round() as i8));
    }

    /// Rounds a query of d numbers.
    pub fn query(&self, query: &[f32]) -> ByteQuery {
        let most =
            (i32::MAX as f32 / (LARGEST * self.d.max(1) as f32)).min(f32::from(i16::MAX)).floor() - 1.0;
        let (scale, inverse) = scale(query, most.max(1.0));
        ByteQuery { values: query.iter().map(|value| (value * inverse).round() as i16).collect(), scale }
    }

    /// Computes products of a query with rows from `first` on, nearly.
    pub fn products(&self, query: &ByteQuery, first: usize, out: &mut [f32]) {
        let rows = &self.values[first * self.d..(first + out.len()) * self.d];
        products(&query.values, rows, out);
        let scales = &self.scales[first..];
        out.iter_mut().zip(scales).for_each(|(product, scale)| *product *= query.scale * scale);
    }
}

/// The scale that makes `largest` of the largest absolute value, and its inverse; 0 twice for zeros.
fn scale(row: &[f32], largest: f32) -> (f32, f32) {
    let most = row.iter().fold(0f32, |most, value| most.max(value.abs()));
    if most > 0.0 { (most / largest, largest / most) } else { (0.0, 0.0) }
}

vectorised! {
    /// Sums of products of whole numbers, one for each row.
    fn products(query: &[i16], rows: &[i8], out: &mut [f32]) {
        for (out, row) in out.iter_mut().zip(rows.chunks_exact(query.len().max(1))) {
            let sum: i32 = query.iter().zip(row).map(|(&p, &r)| i32::from(p) * i32::from(r)).sum();
            *out = sum as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::dot;

    proptest! {
        #[test]
        fn products_are_within_the_bound_of_rounding(
            d in 1usize..90, n in 1usize..9, seed in 0u32..1000, size in prop::sample::select(vec![1e-15f32, 1.0, 1e15]),
        ) {
            let value = |i: usize| {
                let mixed = (i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
                size * (f32::from((mixed >> 16) as u16) / 32768.0 - 1.0)
            };
            let query: Vec<f32> = (0..d).map(|i| value(i + 7777)).collect();
            let mut rows = ByteRows::with_capacity(d, n);
            let all: Vec<Vec<f32>> = (0..n).map(|row| (0..d).map(|i| value(row * d + i)).collect()).collect();
            all.iter().for_each(|row| rows.push(row));
            let rounded = rows.query(&query);
            let mut found = vec![0.0; n - 1];
            rows.products(&rounded, 1, &mut found);
            let sum = |values: &[f32]| values.iter().map(|value| value.abs()).sum::<f32>();
            for ((row, found), s) in all[1..].iter().zip(found).zip(&rows.scales[1..]) {
                let t = rounded.scale;
                let bound = s / 2.0 * sum(&query) + t / 2.0 * sum(row) + d as f32 * s * t / 4.0;
                let exact = dot(&query, row);
                prop_assert!((found - exact).abs() <= bound * 1.001 + exact.abs() * 1e-5, "{found} {exact} {bound}");
            }
        }
    }

    #[test]
    fn zeros_and_long_rows_are_no_exceptions() {
        let mut rows = ByteRows::with_capacity(100_000, 2);
        rows.push(&vec![0.0; 100_000]);
        rows.push(&vec![-1.0; 100_000]);
        let query = rows.query(&vec![1.0; 100_000]);
        let mut found = [1.0; 2];
        rows.products(&query, 0, &mut found);
        assert_eq!(found[0], 0.0);
        assert!((found[1] + 1e5).abs() < 1e5 * 0.01, "{}", found[1]);
    }
}
