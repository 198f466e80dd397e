//! Golden vectors from `tests/golden/matching.json`, and the comparison of f32 values with them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{ClickGraph, Csr};

/// Reads the fields of the file that `T` names.
pub(crate) fn golden<T: DeserializeOwned>() -> T {
    serde_json::from_str(include_str!("../../../../tests/golden/matching.json")).unwrap()
}

/// Reads the fields of `tests/golden/baselines.json` that `T` names.
pub(crate) fn baselines<T: DeserializeOwned>() -> T {
    serde_json::from_str(include_str!("../../../../tests/golden/baselines.json")).unwrap()
}

/// Reads the fields of `tests/golden/ridge_start.json` that `T` names.
pub(crate) fn ridge_start<T: DeserializeOwned>() -> T {
    serde_json::from_str(include_str!("../../../../tests/golden/ridge_start.json")).unwrap()
}

/// Reads X, Y and R of the file.
pub(crate) fn graph() -> ClickGraph {
    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct Graph {
        X: Vec<Vec<f32>>,
        Y: Vec<Vec<f32>>,
        R: Vec<Vec<f32>>,
    }
    let Graph { X: x, Y: y, R: r } = golden();
    ClickGraph::new(sparse(&x), sparse(&y), sparse(&r)).unwrap()
}

pub(crate) fn sparse(dense: &[Vec<f32>]) -> Csr {
    let triples = (0..).zip(dense).flat_map(|(i, row)| (0..).zip(row).map(move |(j, &value)| (i, j, value)));
    Csr::from_triples(dense.len(), dense[0].len(), triples.filter(|triple| triple.2 != 0.0)).unwrap()
}

/// Checks that values agree up to 1e-5 relative to the largest entry, the tolerance of all f32 results. An entry that
/// is a difference of larger ones, as in a centered matrix, has their rounding errors. So an entry is not compared
/// relative to its own size.
pub(crate) fn agree<N: Into<f64>>(
    what: &str,
    found: impl IntoIterator<Item = N>,
    expected: impl IntoIterator<Item = f64>,
) {
    let found: Vec<f64> = found.into_iter().map(Into::into).collect();
    let expected: Vec<f64> = expected.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0f64, |most, value| most.max(value.abs()));
    assert!(largest > 0.0, "{what}: nothing to compare with");
    for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= 1e-5 * largest, "{what}, entry {place}: {found} instead of {expected}");
    }
}

/// Iterates over all entries of a matrix, row by row.
pub(crate) fn entries(matrix: &[Vec<f64>]) -> impl Iterator<Item = f64> + '_ {
    matrix.iter().flatten().copied()
}
