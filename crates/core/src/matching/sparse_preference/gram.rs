//! Effects of the steps of a block on the scores of later tuples of the block.
//!
//! A violation s adds eta_s (q_s' q_t) (d_s' d_t) to the score of tuple t, where d is short for d+ - d-. Both products
//! are computed for all pairs of a block at once, word by word. A word that k tuples have contributes to k (k - 1) / 2
//! pairs, and most pairs have few words in common. A product is summed in the order of the words, so that it does not
//! depend on the other tuples of the block. Every thread computes the products of some s and shares them with the
//! others.

use std::ops::Range;

use super::by_row::ByRow;

/// Inner products of pairs of queries times those of pairs of differences.
#[derive(Debug)]
pub(super) struct Gram {
    queries: GramProducts,
    differences: GramProducts,
    n: usize,
    /// Product of tuple s with a later tuple t, at n s + t.
    products: Vec<f32>,
}

/// A sparse vector: columns ascending, and their values.
type Vector<'a> = (&'a [u32], &'a [f32]);

impl Gram {
    pub(super) fn new(n_rows: usize, n_columns: usize) -> Self {
        let (queries, differences) = (GramProducts::new(n_rows), GramProducts::new(n_columns));
        Self { queries, differences, n: 0, products: Vec::new() }
    }

    /// Computes the products of these tuples, each given by its query and its difference, for the s that `is_own`
    /// selects.
    pub(super) fn set(&mut self, tuples: &[(Vector<'_>, Vector<'_>)], is_own: impl Fn(usize) -> bool) {
        self.n = tuples.len();
        self.products.clear();
        self.products.resize(self.n * self.n, 0.0);
        if self.n < 2 {
            return;
        }
        self.queries.set(tuples.iter().map(|&(query, _)| query), &is_own);
        self.differences.set(tuples.iter().map(|&(_, difference)| difference), &is_own);
        let both = self.queries.sums.iter().zip(&self.differences.sums);
        self.products
            .iter_mut()
            .zip(both)
            .for_each(|(product, (query, difference))| *product = query * difference);
    }

    /// Number of tuples.
    pub(super) fn n(&self) -> usize {
        self.n
    }

    /// Returns the range of the products of tuple `s` with later tuples.
    pub(super) fn later(&self, s: usize) -> Range<usize> {
        self.n * s + s + 1..self.n * (s + 1)
    }

    /// All products.
    pub(super) fn products_mut(&mut self) -> &mut [f32] {
        &mut self.products
    }

    /// Adds the effect of a violation at tuple `s` to the score of every later tuple.
    pub(super) fn add(&self, s: usize, eta: f64, scores: &mut [f64]) {
        for (score, &product) in scores[s + 1..].iter_mut().zip(&self.products[self.later(s)]) {
            *score += eta * f64::from(product);
        }
    }
}

/// Inner products of pairs of vectors.
#[derive(Debug)]
struct GramProducts {
    by_column: ByRow,
    entries: Vec<GramEntry>,
    /// Product of vector s with a later vector t, at n s + t, for the s of this thread.
    sums: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct GramEntry {
    column: u32,
    /// Number of the vector.
    at: u32,
    value: f32,
}

impl GramProducts {
    fn new(n_columns: usize) -> Self {
        Self { by_column: ByRow::new(n_columns), entries: Vec::new(), sums: Vec::new() }
    }

    fn set<'a>(
        &mut self,
        vectors: impl ExactSizeIterator<Item = Vector<'a>>,
        is_own: impl Fn(usize) -> bool,
    ) {
        let n = vectors.len();
        self.entries.clear();
        for (at, (columns, values)) in (0..).zip(vectors) {
            let entries = columns.iter().zip(values);
            self.entries.extend(entries.map(|(&column, &value)| GramEntry { column, at, value }));
        }
        self.sums.clear();
        self.sums.resize(n * n, 0.0);
        let sorted = self.by_column.sort(&self.entries, |entry| entry.column);
        for entries in sorted.chunk_by(|a, b| a.column == b.column) {
            for (place, entry) in entries.iter().enumerate() {
                let s = entry.at as usize;
                if is_own(s) {
                    let row = &mut self.sums[n * s..n * (s + 1)];
                    for later in &entries[place + 1..] {
                        row[later.at as usize] += entry.value * later.value;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(prop_oneof![Just(0.0f32), -2.0f32..2.0], 6)
    }

    fn sparse(vector: &[f32]) -> (Vec<u32>, Vec<f32>) {
        (0..).zip(vector).filter(|&(_, &x)| x != 0.0).map(|(column, &x)| (column, x)).unzip()
    }

    proptest! {
        #[test]
        fn products_of_later_tuples_are_added(tuples in prop::collection::vec((vector(), vector()), 1..9)) {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(x * y)).sum::<f64>();
            let owned: Vec<_> = tuples.iter().map(|(query, d)| (sparse(query), sparse(d))).collect();
            let borrowed: Vec<(Vector<'_>, Vector<'_>)> =
                owned.iter().map(|((i, x), (j, y))| ((&i[..], &x[..]), (&j[..], &y[..]))).collect();
            let mut gram = Gram::new(6, 6);
            for _ in 0..2 {
                gram.set(&borrowed, |s| s % 2 == 0);
                for s in (0..tuples.len()).step_by(2) {
                    let mut scores = vec![1.0; tuples.len()];
                    gram.add(s, 0.5, &mut scores);
                    for (t, score) in scores.into_iter().enumerate() {
                        let product = dot(&tuples[s].0, &tuples[t].0) * dot(&tuples[s].1, &tuples[t].1);
                        let expected = 1.0 + if t > s { 0.5 * product } else { 0.0 };
                        prop_assert!((score - expected).abs() < 1e-4, "{s} {t} {score} {expected}");
                    }
                }
            }
        }
    }
}
