//! Memory that training on feature lists takes.
//!
//! Sums of what is in memory at the peak, with constants that were measured (`bench/letor/memory.py`); within 1.5 times
//! of the peaks there.

use matchrank_core::data::FeatureLists;

/// Sizes of lists that memory follows from.
pub(super) struct Sizes {
    n_rows: usize,
    n_features: usize,
    /// Bytes of the lists themselves.
    bytes: usize,
    /// Values that are kept: all of dense lists, those other than 0 of sparse ones.
    n_values: usize,
    is_dense: bool,
    /// Bytes of the text.
    text: usize,
}

/// The program, its libraries and its threads.
const PROGRAM: usize = 40_000_000;
/// Text in memory at a time, with its rows before they are put together.
const BLOCK: usize = 120_000_000;
/// Vectors of a weight for each feature: gradients of the parts of a sum, and those of the solver.
const VECTORS: usize = 45;
/// Rows of which LightGBM makes its bins, and what a value takes there.
const SAMPLE: usize = 200_000;
const BYTES_OF_SAMPLE: usize = 12;

impl Sizes {
    pub(super) fn of(lists: &FeatureLists, text: usize) -> Self {
        let is_dense = lists.features().dense_rows(0..0).is_some();
        let n_values = lists.features().bytes() / if is_dense { 4 } else { 8 };
        let (n_rows, n_features, bytes) = (lists.n_rows(), lists.n_features(), lists.bytes());
        Self { n_rows, n_features, bytes, n_values, is_dense, text }
    }

    /// Bytes of the lists and of the program, and per row its id, its place and where it stands in the order.
    fn lists(&self) -> usize {
        PROGRAM + self.bytes + 40 * self.n_rows
    }

    /// Bytes at the peak of reading: the values are moved when their place becomes too small.
    fn reading(&self) -> usize {
        let moved = self.n_values * if self.is_dense { 4 } else { 8 };
        self.lists() + moved + (3 * self.text).min(BLOCK)
    }

    /// Bytes at the peak of training a ranker with a weight for each feature.
    pub(super) fn linear(&self) -> usize {
        self.reading().max(self.lists() + 8 * VECTORS * self.n_features)
    }

    /// Bytes at the peak of growing trees: LightGBM looks at a sample, then keeps a byte for every value twice. Sparse
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
        let dense = Sizes {
            n_rows: 1_200_000,
            n_features: 136,
            bytes: 690_000_000,
            n_values: 163_200_000,
            is_dense: true,
            text: 1_660_000_000,
        };
        let sparse = Sizes {
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
