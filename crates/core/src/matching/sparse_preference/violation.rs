use super::difference::Difference;
use crate::matching::SparseRow;

/// A tuple within the margin: eta q (d+ - d-)' is to be added to W.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Violation {
    pub(super) eta: f64,
    /// Columns and values of q.
    pub(super) query: (Vec<u32>, Vec<f32>),
    pub(super) difference: Difference,
}

impl Violation {
    pub(super) fn new(eta: f64, query: SparseRow<'_>, difference: &Difference) -> Self {
        let query = (query.indices().to_vec(), query.values().to_vec());
        Self { eta, query, difference: difference.clone() }
    }
}

/// Change of a row: the difference of a violation, times a weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowChange<'a> {
    pub(super) row: u32,
    pub(super) scale: f32,
    pub(super) difference: &'a Difference,
}

/// Returns the parts of violations for the rows that `is_own` selects, in the order of the tuples.
pub(super) fn parts(violations: &[Violation], is_own: impl Fn(u32) -> bool) -> Vec<RowChange<'_>> {
    let mut parts = Vec::new();
    for Violation { eta, query: (words, weights), difference } in violations {
        let own = words.iter().zip(weights).filter(|&(&row, _)| is_own(row));
        let scale = |weight: f32| (eta * f64::from(weight)) as f32;
        parts.extend(own.map(|(&row, &weight)| RowChange { row, scale: scale(weight), difference }));
    }
    parts
}
