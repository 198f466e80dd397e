//! Lists for the tests of rankers.

use proptest::prelude::*;
use serde_json::Value;

use crate::data::{FeatureLists, FeatureRows};

/// Builds lists from (rows, grades).
pub(crate) fn lists(of: &[(Vec<Vec<f32>>, Vec<f32>)]) -> FeatureLists {
    let names: Vec<String> = (0..of.len()).map(|i| format!("q{i}")).collect();
    let mut rows = FeatureRows::default();
    for ((x, grades), name) in of.iter().zip(&names) {
        for (x, grade) in x.iter().zip(grades) {
            let mut entries: Vec<(u32, f32)> = (0..).zip(x.iter().copied()).collect();
            rows.push(name, None, *grade, &mut entries).unwrap();
        }
    }
    FeatureLists::from_rows(rows)
}

/// Reads golden lists, with features times 1000: they have three decimals, so that no digit is lost in f32.
pub(crate) fn thousandfold(data: &Value) -> FeatureLists {
    let lists_of = |list: &Value| {
        let row = |x: &Value| numbers(x).iter().map(|x| (1000.0 * x).round() as f32).collect();
        let rows = list["X"].as_array().unwrap().iter().map(row).collect();
        (rows, numbers(&list["R"]).iter().map(|&grade| grade as f32).collect())
    };
    lists(&data.as_array().unwrap().iter().map(lists_of).collect::<Vec<_>>())
}

pub(crate) fn golden(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub(crate) fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
pub(crate) fn close(ours: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), expected.len());
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b.abs().max(1.0);
    assert!(ours.iter().zip(expected).all(near), "ours {ours:?}, expected {expected:?}");
}

/// Generates lists of a few documents with three features; equal grades and equal rows are frequent.
pub(crate) fn some_lists() -> impl Strategy<Value = FeatureLists> {
    let document = (prop::collection::vec(-3i8..=3, 3), 0u8..4);
    let list = prop::collection::vec(document, 1..8);
    prop::collection::vec(list, 1..8).prop_map(|all| {
        let split = |list: Vec<(Vec<i8>, u8)>| -> (Vec<Vec<f32>>, Vec<f32>) {
            let row = |(x, grade): (Vec<i8>, u8)| (x.into_iter().map(f32::from).collect(), f32::from(grade));
            list.into_iter().map(row).unzip()
        };
        lists(&all.into_iter().map(split).collect::<Vec<_>>())
    })
}
