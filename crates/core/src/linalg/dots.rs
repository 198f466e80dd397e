//! Dot products of two vectors, or of all pairs from two sets of vectors.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::simd::vectorised;

vectorised! {
    /// Computes the dot product in sixteen lanes, which are added in f64 at the end, so that the order of summation is
    /// fixed.
    pub fn dot(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len(), "vectors have the same length");
        let mut lanes = [0f32; 16];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
        for (a, b) in a.iter().zip(b) {
            for lane in 0..16 {
                lanes[lane] += a[lane] * b[lane];
            }
        }
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| f64::from(x * y)).sum();
        (rest + lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>()) as f32
    }
}

/// Computes `out[i * n + j] = dot(a_i, b_j)`, up to rounding, for the vectors of d values in `a` and the n vectors in
/// `b`. Runs on this thread, several times faster than one by one.
pub fn dots(d: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    assert!(d > 0 && a.len().is_multiple_of(d) && b.len().is_multiple_of(d), "vectors have d values");
    let (n_a, n_b) = (a.len() / d, b.len() / d);
    let (a, b) = (MatRef::from_row_major_slice(a, n_a, d), MatRef::from_row_major_slice(b, n_b, d));
    let out = MatMut::from_row_major_slice_mut(out, n_a, n_b);
    matmul(out, Accum::Replace, a, b.transpose(), 1.0, Par::Seq);
}

/// The sum of products of two vectors of one length.
pub(crate) fn dot_f64(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_products_are_the_single_ones(
            d in 1usize..70, n_a in 0usize..11, n_b in 0usize..37, seed in 0u32..1000,
        ) {
            let value = |i: usize| ((i as u32).wrapping_mul(2_654_435_761) ^ seed) as f32 / 1e9 - 2.0;
            let a: Vec<f32> = (0..n_a * d).map(value).collect();
            let b: Vec<f32> = (0..n_b * d).map(|i| value(i + 7919)).collect();
            let mut out = vec![f32::NAN; n_a * n_b];
            dots(d, &a, &b, &mut out);
            for i in 0..n_a {
                for j in 0..n_b {
                    let (a, b) = (&a[i * d..][..d], &b[j * d..][..d]);
                    let exact: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                    prop_assert!((f64::from(dot(a, b)) - exact).abs() < 1e-4);
                    prop_assert!((f64::from(out[i * n_b + j]) - exact).abs() < 1e-4);
                }
            }
        }
    }
}
