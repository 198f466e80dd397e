//! Memory that training on feature lists takes.
//!
//! Sums of what is in memory at the peak, with constants that were measured (`bench/letor/memory.py`); within 1.5 times
//! of the peaks there.

use matchrank_core::data::FeatureLists;

/// Sizes of lists that memory follows from.
pub(super) struct Sizes {
    pub(super) n_rows: usize,
    pub(super) n_features: usize,
    /// Bytes of the lists themselves.
    pub(super) bytes: usize,
    /// Values that are kept: all of dense lists, those other than 0 of sparse ones.
    pub(super) n_values: usize,
    /// Bytes of the text.
    pub(super) text: usize,
}

/// The program, its libraries and its threads.
const PROGRAM: usize = 25_000_000;
/// Text in memory at a time, with its rows before they are put together.
const BLOCK: usize = 120_000_000;
/// Vectors of a weight for each feature: gradients of the parts of a sum, and those of the solver.
const VECTORS: usize = 45;
/// Rows of which LightGBM makes its bins, and what a value takes there.
const SAMPLE: usize = 200_000;
const BYTES_OF_SAMPLE: usize = 12;

impl Sizes {
    pub(super) fn of(lists: &FeatureLists, text: usize) -> Self {
        let n_values =
            lists.features().bytes() / if lists.features().dense_rows(0..0).is_some() { 4 } else { 8 };
        Self { n_rows: lists.n_rows(), n_features: lists.n_features(), bytes: lists.bytes(), n_values, text }
    }

    /// Lists while they are read, and per row its id, its place and where it stands in the order.
    fn read(&self) -> usize {
        PROGRAM + self.bytes + 40 * self.n_rows + (3 * self.text).min(BLOCK)
    }

    /// Bytes at the peak of training a ranker with a weight for each feature.
    pub(super) fn linear(&self) -> usize {
        self.read() + 8 * VECTORS * self.n_features
    }

    /// Bytes at the peak of growing trees: LightGBM keeps a byte for every value twice, after it has looked at a sample.
    pub(super) fn trees(&self) -> usize {
        let sampled = self.n_values / self.n_rows.max(1) * self.n_rows.min(SAMPLE);
        self.read() + 8 * self.n_features + (BYTES_OF_SAMPLE * sampled).max(2 * self.n_values)
    }
}
