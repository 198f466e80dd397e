use super::difference::{Difference, Spread};
use crate::matching::SparseRow;

/// A tuple whose documents were less than the margin apart: eta q (d+ - d-)' is to be added to W.
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

/// What violations add to the scores of later tuples: for q and d of a tuple, eta (q_s' q) (d_s' d) each.
#[derive(Debug)]
pub(super) struct Influence {
    query: Spread,
    difference: Spread,
}

impl Influence {
    pub(super) fn new(n_rows: usize, n_columns: usize) -> Self {
        Self { query: Spread::new(n_rows), difference: Spread::new(n_columns) }
    }

    /// Adds what a violation adds to scores.
    pub(super) fn add<'a>(
        &mut self,
        violation: &Violation,
        later: impl Iterator<Item = (SparseRow<'a>, &'a Difference, &'a mut f64)>,
    ) {
        let Violation { eta, query: (words, weights), difference } = violation;
        self.query.set(words, weights);
        self.difference.set(&difference.columns, difference.values());
        for (query, other, score) in later {
            let queries = self.query.dot(query.indices(), query.values());
            if queries != 0.0 {
                *score += eta * queries * self.difference.dot(&other.columns, other.values());
            }
        }
        self.query.clear(words);
        self.difference.clear(&difference.columns);
    }
}

/// What a row is to change by: the difference of a violation, times so much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) row: u32,
    /// The number of the violation.
    at: u32,
    pub(super) scale: f32,
    pub(super) difference: &'a Difference,
}

/// The parts of violations that are about rows of one's own, by row, those of a row in the order of the tuples.
pub(super) fn parts(violations: &[Violation], is_own: impl Fn(u32) -> bool) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for (at, Violation { eta, query: (words, weights), difference }) in (0..).zip(violations) {
        let own = words.iter().zip(weights).filter(|&(&row, _)| is_own(row));
        let scale = |weight: f32| (eta * f64::from(weight)) as f32;
        parts.extend(own.map(|(&row, &weight)| Part { row, at, scale: scale(weight), difference }));
    }
    parts.sort_unstable_by_key(|part| u64::from(part.row) << 32 | u64::from(part.at));
    parts
}
