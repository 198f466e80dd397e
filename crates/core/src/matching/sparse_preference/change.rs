use super::difference::Spread;
use super::shrinkage::Shrinkage;
use super::violation::Part;

/// What is done to a row: it is shrunk by what is due, differences are added, each times a number, and it is
/// shrunk by what comes next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) due: Shrinkage,
    pub(super) parts: &'a [Part<'a>],
    pub(super) next: Shrinkage,
}

/// The memory that it takes.
#[derive(Debug, Clone)]
pub(super) struct Room {
    /// A number for every column, all 0 between changes.
    pub(super) zeros: Vec<f32>,
    /// A bit for every column, all 0 between changes.
    pub(super) touched: Vec<u64>,
    /// A number for every column, whatever it was last used for.
    pub(super) columns: Spread,
    /// New entries of a list.
    pub(super) entries: Vec<(u32, f32)>,
    /// The numbers of a row that has been changed, and more.
    pub(super) numbers: Vec<f32>,
}

impl Room {
    /// For rows of that many columns.
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
