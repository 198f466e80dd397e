use serde::Deserialize;

use super::*;
use crate::matching::Csr;
use crate::progress::Silent;

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Golden {
    docs: Vec<Vec<f32>>,
    tuples: Vec<[u32; 3]>,
    C: f64,
    T: usize,
    lambda_: f64,
    dense_decay: Vec<Vec<f64>>,
    dense_fixed_001: Vec<Vec<f64>>,
    sparse: Vec<Vec<f64>>,
    sparse_after_8: Vec<Vec<f64>>,
    refit_warm: Vec<Vec<f64>>,
}

fn golden() -> Golden {
    #[derive(Deserialize)]
    struct File {
        sparse_preference: Golden,
    }
    let file: File = serde_json::from_str(include_str!("../../../../../tests/golden/matching.json")).unwrap();
    file.sparse_preference
}

fn sparse(dense: &[Vec<f32>]) -> Csr {
    let triples = (0..).zip(dense).flat_map(|(i, row)| (0..).zip(row).map(move |(j, &value)| (i, j, value)));
    Csr::from_triples(dense.len(), dense[0].len(), triples.filter(|triple| triple.2 != 0.0)).unwrap()
}

fn identity(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..n).map(|i| (i, i))
}

#[track_caller]
fn assert_close(found: &Csr, expected: &[Vec<f64>]) {
    for (i, row) in expected.iter().enumerate() {
        let mut dense = vec![0.0; row.len()];
        found.row(i).iter().for_each(|(j, value)| dense[j as usize] = f64::from(value));
        for (found, expected) in dense.iter().zip(row) {
            assert!((found - expected).abs() <= 1e-6, "row {i}: {found} {expected}");
        }
    }
}

#[test]
fn golden_vectors() {
    let golden = golden();
    let docs = sparse(&golden.docs);
    let tuples: Vec<Tuple> =
        golden.tuples.iter().map(|&[query, more, less]| Tuple { query, more, less }).collect();
    let params = PreferenceParams {
        c: golden.C,
        lambda: golden.lambda_,
        shrink_every: golden.T,
        average: false,
        ..Default::default()
    };
    let learner = |params: &PreferenceParams| Learner::new(params, 5, 5, identity(5)).unwrap();

    let mut dense = learner(&PreferenceParams { form: Form::Dense, ..params });
    dense.learn(&docs, &docs, &tuples, &Silent).unwrap();
    assert_close(&dense.matrix(), &golden.dense_decay);

    let mut fixed = learner(&PreferenceParams { form: Form::Dense, step: Step::Fixed, c: 0.01, ..params });
    fixed.learn(&docs, &docs, &tuples, &Silent).unwrap();
    assert_close(&fixed.matrix(), &golden.dense_fixed_001);

    let mut sparse = learner(&params);
    sparse.learn(&docs, &docs, &tuples[..8], &Silent).unwrap();
    assert_close(&sparse.matrix(), &golden.sparse_after_8);
    let zeros = golden.sparse_after_8.iter().flatten().filter(|&&value| value == 0.0).count();
    assert_eq!(sparse.nnz(), 25 - zeros);
    sparse.learn(&docs, &docs, &tuples[8..], &Silent).unwrap();
    assert_close(&sparse.matrix(), &golden.sparse);
    sparse.refit();
    sparse.learn(&docs, &docs, &tuples, &Silent).unwrap();
    assert_close(&sparse.matrix(), &golden.refit_warm);
}
