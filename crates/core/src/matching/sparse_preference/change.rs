use super::difference::Spread;
use super::shrinkage::Shrinkage;
use super::violation::RowChange;

/// Change of a row: it is shrunk by `due`, the differences of `parts` are added with their weights, and it is shrunk by
/// `next`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) due: Shrinkage,
    pub(super) parts: &'a [RowChange<'a>],
    pub(super) next: Shrinkage,
}

/// Buffers for a change.
#[derive(Debug, Clone)]
pub(super) struct Room {
    /// A value per column, all 0 between changes.
    pub(super) zeros: Vec<f32>,
    /// A bit per column, all 0 between changes.
    pub(super) touched: Vec<u64>,
    /// A value per column, with arbitrary contents between changes.
    pub(super) columns: Spread,
    /// New entries of a list.
    pub(super) entries: Vec<(u32, f32)>,
    /// Values of a changed row, with some padding.
    pub(super) numbers: Vec<f32>,
}

impl Room {
    /// Allocates buffers for rows with the given number of columns.
    pub(super) fn new(n_columns: usize) -> Self {
        let n_words = n_columns.div_ceil(64);
        Self {
            zeros: vec![0.0; n_columns],
            touched: vec![0; n_words],
            columns: Spread::new(n_columns),
            entries: Vec::new(),
            numbers: Vec::new(),
        }
    }
}
