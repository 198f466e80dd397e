//! Dot products: one, or all between two sets of vectors.

/// The dot product, summed in sixteen lanes and f64 at the end, so that its order is fixed.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "vectors of one space");
    tile([a], b)[0]
}

/// `out[i * n + j] = dot(a_i, b_j)` for the vectors of d numbers in `a` and the n in `b`, bit for bit, and
/// several times faster: four vectors of `a` meet one of `b` at a time, with the widest instructions the
/// machine has.
pub fn dots(d: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    assert!(d > 0 && a.len().is_multiple_of(d) && b.len().is_multiple_of(d), "vectors of d numbers");
    assert_eq!(out.len(), (a.len() / d) * (b.len() / d), "a product for every pair");
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the machine has AVX-512.
            return unsafe { dots_avx512(d, a, b, out) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2.
            return unsafe { dots_avx2(d, a, b, out) };
        }
    }
    by_tiles::<2>(d, a, b, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn dots_avx512(d: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    by_tiles::<4>(d, a, b, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots_avx2(d: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    by_tiles::<4>(d, a, b, out);
}

/// Vectors of `b` that stay in the cache while all of `a` passes.
const NEAR: usize = 16;

#[inline(always)]
fn by_tiles<const N: usize>(d: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    let n = b.len() / d;
    let n_a = a.len() / d;
    let of_a = |i: usize| &a[i * d..][..d];
    for first in (0..n).step_by(NEAR) {
        let near = first..(first + NEAR).min(n);
        for i in (0..n_a).step_by(N) {
            let whole = i + N <= n_a;
            for j in near.clone() {
                let b = &b[j * d..][..d];
                if whole {
                    let products = tile::<N>(std::array::from_fn(|k| of_a(i + k)), b);
                    (0..N).for_each(|k| out[(i + k) * n + j] = products[k]);
                } else {
                    (i..n_a).for_each(|i| out[i * n + j] = tile([of_a(i)], b)[0]);
                }
            }
        }
    }
}

/// The products of N vectors with one.
#[inline(always)]
fn tile<const N: usize>(a: [&[f32]; N], b: &[f32]) -> [f32; N] {
    let whole = b.len() / 16 * 16;
    let (b, b_rest) = b.split_at(whole);
    let parts = a.map(|a| a.split_at(whole));
    let mut lanes = [[0f32; 16]; N];
    for at in (0..whole).step_by(16) {
        let b: &[f32; 16] = b[at..at + 16].try_into().expect("sixteen numbers");
        for (lanes, (a, _)) in lanes.iter_mut().zip(&parts) {
            let a: &[f32; 16] = a[at..at + 16].try_into().expect("sixteen numbers");
            for ((lane, x), y) in lanes.iter_mut().zip(a).zip(b) {
                *lane += x * y;
            }
        }
    }
    std::array::from_fn(|k| {
        let rest: f64 = parts[k].1.iter().zip(b_rest).map(|(x, y)| f64::from(x * y)).sum();
        (rest + lanes[k].iter().map(|&lane| f64::from(lane)).sum::<f64>()) as f32
    })
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
            let mut out = vec![0.0; n_a * n_b];
            dots(d, &a, &b, &mut out);
            let mut narrow = out.clone();
            by_tiles::<2>(d, &a, &b, &mut narrow);
            prop_assert_eq!(&narrow, &out);
            for i in 0..n_a {
                for j in 0..n_b {
                    let (a, b) = (&a[i * d..][..d], &b[j * d..][..d]);
                    prop_assert_eq!(out[i * n_b + j].to_bits(), dot(a, b).to_bits());
                    let exact: f64 = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                    prop_assert!((f64::from(dot(a, b)) - exact).abs() < 1e-4);
                }
            }
        }
    }
}
