use crate::matching::SparseRow;

/// d+ - d-: the columns where it is not 0 with their values, and the same spread out over all columns.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
    /// The value of every column; its length is a power of two, so that a column can be made to fit by a mask.
    spread: Box<[f32]>,
    /// The last row that had the column, see [`Self::missing`].
    marks: Box<[u32]>,
    row: u32,
}

impl Difference {
    /// Of documents with that many features.
    pub(super) fn new(n_columns: usize) -> Self {
        let length = n_columns.next_power_of_two();
        Self {
            columns: Vec::new(),
            values: Vec::new(),
            spread: vec![0.0; length].into(),
            marks: vec![0; length].into(),
            row: 0,
        }
    }

    /// The value of every column, and zeros up to a power of two.
    pub(super) fn spread(&self) -> &[f32] {
        &self.spread
    }

    /// Becomes d+ - d-.
    pub(super) fn set(&mut self, more: SparseRow<'_>, less: SparseRow<'_>) {
        self.columns.iter().for_each(|&column| self.spread[column as usize] = 0.0);
        self.columns.clear();
        self.values.clear();
        let (mut i, mut j) = (0, 0);
        let (a, b) = (more.indices(), less.indices());
        while i < a.len() || j < b.len() {
            let (column, other) =
                (a.get(i).copied().unwrap_or(u32::MAX), b.get(j).copied().unwrap_or(u32::MAX));
            let mut value = 0.0;
            if column <= other {
                value = more.values()[i];
                i += 1;
            }
            if other <= column {
                value -= less.values()[j];
                j += 1;
            }
            if value != 0.0 {
                let column = column.min(other);
                self.columns.push(column);
                self.values.push(value);
                self.spread[column as usize] = value;
            }
        }
    }

    /// Columns and values of the difference that are not among the given columns.
    pub(super) fn missing(&mut self, among: &[u32]) -> impl Iterator<Item = (u32, f32)> + '_ {
        if self.row == u32::MAX {
            self.marks.fill(0);
            self.row = 0;
        }
        self.row += 1;
        let mask = self.marks.len() - 1;
        for &column in among {
            self.marks[column as usize & mask] = self.row;
        }
        let Self { columns, values, marks, row, .. } = &*self;
        let pairs = columns.iter().copied().zip(values.iter().copied());
        pairs.filter(move |&(column, _)| marks[column as usize & mask] != *row)
    }
}
