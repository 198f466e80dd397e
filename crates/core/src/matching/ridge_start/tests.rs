use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::matching::{Rows, golden};
use crate::progress::Silent;

fn dense(w: &Csr) -> Vec<Vec<f32>> {
    let row = |i: usize| {
        let mut row = vec![0.0; w.n_columns()];
        w.row(i).iter().for_each(|(j, value)| row[j as usize] = value);
        row
    };
    (0..w.n_rows()).map(row).collect()
}

#[test]
fn golden_vectors() {
    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct File {
        X: Vec<Vec<f32>>,
        labels: Vec<u32>,
        rms: Vec<f64>,
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct Case {
        alpha: f64,
        V: Vec<Vec<f64>>,
        W: Vec<Vec<f64>>,
        kept: Vec<Kept>,
    }
    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct Kept {
        count: usize,
        W: Vec<Vec<f64>>,
    }
    let file: File = golden::ridge_start();
    let rows = golden::sparse(&file.X);
    let sizes = root_mean_squares(&rows);
    golden::agree("rms", sizes.iter().copied(), file.rms.iter().copied());
    for case in &file.cases {
        let params = RidgeStartParams { alpha: case.alpha, tolerance: 1e-10, ..Default::default() };
        let model = fit(&params, &rows, &file.labels, &Silent).unwrap();
        assert_eq!(model.lx(), model.ly());
        let Rows::Dense(v) = model.lx().rows() else { panic!("dense rows") };
        golden::agree("V", v.iter().copied(), golden::entries(&case.V));
        let all = largest(&model, [&sizes, &sizes], usize::MAX).unwrap();
        golden::agree("W", dense(&all).concat(), golden::entries(&case.W));
        for kept in &case.kept {
            let w = largest(&model, [&sizes, &sizes], kept.count).unwrap();
            assert!(w.nnz() <= kept.count && w.nnz() + 2 > kept.count, "{} of {}", w.nnz(), kept.count);
            golden::agree("largest", dense(&w).concat(), golden::entries(&kept.W));
        }
    }
}

/// Draws a model with some features that have no row, and sizes, of which some are 0.
fn model(n: [usize; 2], d: usize, seed: u32) -> (Bilinear, [Vec<f32>; 2]) {
    let value =
        |i: usize| ((i as u32 + 1).wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(7919)) as f32 / 2e9 - 1.0;
    let factor = |n: usize, from: usize| {
        let values = (0..n * d).map(|i| value(from + i).powi(5)).collect();
        let row = (0..n as u32).map(|u| if u % 7 == 5 { Factor::NONE } else { u });
        Factor::new(d, row.collect(), Rows::Dense(values)).unwrap()
    };
    let sizes = |n: usize, from: usize| -> Vec<f32> {
        (0..n).map(|u| if u % 11 == 8 { 0.0 } else { value(from + u).abs() }).collect()
    };
    let weights = seed.is_multiple_of(2).then(|| (0..d).map(|k| value(k + 31) + 1.5).collect());
    let model = Bilinear::new(factor(n[0], 100), factor(n[1], 9000), weights).unwrap();
    (model, [sizes(n[0], 50), sizes(n[1], 70)])
}

proptest! {
    /// The entries are those of the formed matrix, and each is larger than all that are left out.
    #[test]
    fn the_largest_of_the_formed_matrix(
        (n_x, n_y, d) in (1usize..90, 1usize..90, 1usize..5),
        share in 0.0f64..1.1,
        seed in 0u32..1000,
    ) {
        let (model, sizes) = model([n_x, n_y], d, seed);
        let wanted = (share * (n_x * n_y) as f64) as usize;
        let found = largest(&model, [&sizes[0], &sizes[1]], wanted).unwrap();
        prop_assert_eq!((found.n_rows(), found.n_columns()), (n_x, n_y));
        let one = |u: u32| Csr::from_triples(1, 90, [(0, u, 1.0)]).unwrap();
        let (mut largest_dropped, mut smallest_kept, mut n_sized) = (0f32, f32::MAX, 0);
        for (i, row) in dense(&found).iter().enumerate() {
            for (j, &value) in row.iter().enumerate() {
                let entry = model.score(one(i as u32).row(0), one(j as u32).row(0));
                let size = entry.abs() * sizes[0][i] * sizes[1][j];
                n_sized += usize::from(size > 1e-12);
                if value == 0.0 {
                    largest_dropped = largest_dropped.max(size);
                } else {
                    smallest_kept = smallest_kept.min(size);
                    prop_assert!((value - entry).abs() <= 1e-5 * (1.0 + entry.abs()), "{value} {entry}");
                }
            }
        }
        prop_assert!(found.nnz() <= wanted);
        prop_assert!(smallest_kept >= largest_dropped * (1.0 - 1e-4) - 1e-7);
        // Sizes of random rows are distinct, but for rounding.
        prop_assert!(found.nnz() + 2 >= wanted.min(n_sized), "{} of {wanted}, {n_sized}", found.nnz());
    }
}

/// More rows and columns than a block has, by one thread and by several.
#[test]
fn the_same_for_any_number_of_threads() {
    let (model, sizes) = model([300, 1300], 3, 4);
    let all: Vec<Csr> = [1, 3]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| largest(&model, [&sizes[0], &sizes[1]], 20_000).unwrap())
        })
        .into();
    assert_eq!(all[0], all[1]);
    assert!((19_990..=20_000).contains(&all[0].nnz()), "{}", all[0].nnz());

    let labels: Vec<u32> = (0..300).map(|i| i % 4).collect();
    let rows =
        Csr::from_triples(300, 60, (0..3000u32).map(|i| (i / 10, i * 7 % 60, (i % 9) as f32 / 9.0 + 0.1)));
    let rows = rows.unwrap();
    let fitted = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&RidgeStartParams::default(), &rows, &labels, &Silent).unwrap())
    });
    assert_eq!(fitted[0], fitted[1]);
}

/// Ties: none of the entries of equal size is kept if not all fit.
#[test]
fn equal_sizes_are_kept_together() {
    let ones = Factor::dense(1, vec![2.0, 1.0, 1.0]).unwrap();
    let model = Bilinear::new(ones.clone(), ones, None).unwrap();
    let sizes = [1.0; 3];
    let nnz = |n| largest(&model, [&sizes, &sizes], n).unwrap().nnz();
    assert_eq!([0, 1, 2, 4, 5, 8, 9, 10].map(nnz), [0, 1, 1, 1, 5, 5, 9, 9]);
}

#[test]
fn wrong_inputs_are_errors() {
    let rows = Csr::from_triples(2, 2, [(0, 0, 1.0), (1, 1, 1.0)]).unwrap();
    let params = RidgeStartParams::default();
    for labels in [&[0][..], &[0, 7], &[]] {
        assert!(fit(&params, &rows, labels, &Silent).is_err(), "{labels:?}");
    }
    for alpha in [0.0, -1.0, f64::NAN] {
        assert!(fit(&RidgeStartParams { alpha, ..params }, &rows, &[0, 1], &Silent).is_err());
    }
    assert!(RidgeStartParams { max_steps: 0, ..params }.validate().is_err());
    assert!(RidgeStartParams { tolerance: 1.0, ..params }.validate().is_err());
    let model = fit(&params, &rows, &[0, 1], &Silent).unwrap();
    assert!(largest(&model, [&[1.0; 2], &[1.0; 3]], 2).is_err());
    assert!(largest(&model, [&[1.0; 2], &[1.0, f32::NAN]], 2).is_err());
    assert!(largest(&model, [&[1.0; 2], &[1.0, -1.0]], 2).is_err());
}
