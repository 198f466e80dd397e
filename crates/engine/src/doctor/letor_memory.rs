//! Estimates the memory that training on feature lists takes.
//!
//! An estimate is the sum of everything in memory at the peak. Its constants were measured (`bench/letor/memory.py`),
//! and it is within a factor of 1.5 of the peaks there.

use matchrank_core::data::FeatureLists;

/// Sizes of lists that decide the memory.
pub(super) struct ListSizes {
    n_rows: usize,
    n_features: usize,
    /// Bytes of the lists themselves.
    bytes: usize,
    /// Stored values: all values of dense lists, the nonzero ones of sparse lists.
    n_values: usize,
    is_dense: bool,
    /// Bytes of the text.
    text: usize,
}

/// Bytes of the program, its libraries and its threads.
const PROGRAM: usize = 40_000_000;
/// Bytes of text in memory at a time, and of its rows before they are joined.
const BLOCK: usize = 120_000_000;
/// Number of vectors with a weight per feature: gradients of partial sums, and vectors of the solver.
const VECTORS: usize = 45;
/// Rows that LightGBM samples to find its bins, and bytes per sampled value.
const SAMPLE: usize = 200_000;
const BYTES_OF_SAMPLE: usize = 12;

impl ListSizes {
    pub(super) fn of(lists: &FeatureLists, text: usize) -> Self {
        let is_dense = lists.features().dense_rows(0..0).is_some();
        let n_values = lists.features().bytes() / if is_dense { 4 } else { 8 };
        let (n_rows, n_features, bytes) = (lists.n_rows(), lists.n_features(), lists.bytes());
        Self { n_rows, n_features, bytes, n_values, is_dense, text }
    }

    /// Bytes of the lists and of the program, and per row its id, its place and its position in the order.
    fn lists(&self) -> usize {
        PROGRAM + self.bytes + 40 * self.n_rows
    }

    /// Bytes at the peak of reading: the values are copied when their buffer grows.
    fn reading(&self) -> usize {
        let moved = self.n_values * if self.is_dense { 4 } else { 8 };
        self.lists() + moved + (3 * self.text).min(BLOCK)
    }

    /// Bytes at the peak of training a ranker with a weight for each feature.
    pub(super) fn linear(&self) -> usize {
        self.reading().max(self.lists() + 8 * VECTORS * self.n_features)
    }

    /// Bytes at the peak of growing trees: LightGBM reads a sample, then stores a byte for every value twice. Sparse
    /// values are copied for it.
    pub(super) fn trees(&self) -> usize {
        let sampled = self.n_values / self.n_rows.max(1) * self.n_rows.min(SAMPLE);
        let copied = if self.is_dense { 0 } else { 8 * self.n_values };
        self.reading().max(self.lists() + copied + (BYTES_OF_SAMPLE * sampled).max(2 * self.n_values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Peaks in MB that bench/letor/memory.py found for a linear ranker (ListNet) and for trees (LambdaMART).
    #[test]
    fn estimates_are_within_one_and_a_half_times_of_what_was_measured() {
        let dense = ListSizes {
            n_rows: 1_200_000,
            n_features: 136,
            bytes: 690_000_000,
            n_values: 163_200_000,
            is_dense: true,
            text: 1_660_000_000,
        };
        let sparse = ListSizes {
            n_rows: 200_000,
            n_features: 1_000_000,
            bytes: 87_000_000,
            n_values: 10_000_000,
            is_dense: false,
            text: 140_000_000,
        };
        for (estimate, measured) in [
            (dense.linear(), 1323.0),
            (dense.trees(), 1366.0),
            (sparse.linear(), 510.0),
            (sparse.trees(), 358.0),
        ] {
            let ratio = estimate as f64 / 1e6 / measured;
            assert!((1.0 / 1.5..1.5).contains(&ratio), "{estimate} {measured}");
        }
    }
}
