use foldhash::HashMap;

use super::Features;
use crate::matching::{Factor, SparseRow};

/// The distinct queries, or documents, of a batch, with the rows that their features touch.
pub(super) struct Items<'a> {
    features: &'a Features,
    /// Number of each item in the batch, by its number outside.
    numbers: HashMap<u32, u32>,
    /// Start of the entries of each item, and the end of the last.
    offsets: Vec<usize>,
    /// Row and value of every entry, item after item.
    entries: Vec<ItemEntry>,
    /// Row, item and value of every entry, sorted by row and then by item.
    places: Vec<(u32, u32, f32)>,
    /// Touched rows, ascending.
    touched: Vec<u32>,
    /// Start of the places of each touched row, and the end of the last.
    starts: Vec<usize>,
}

/// A feature of an item.
#[derive(Clone, Copy)]
pub(super) struct ItemEntry {
    pub(super) row: u32,
    pub(super) value: f32,
}

impl<'a> Items<'a> {
    pub(super) fn new(features: &'a Features) -> Self {
        Self {
            features,
            numbers: HashMap::default(),
            offsets: vec![0],
            entries: Vec::new(),
            places: Vec::new(),
            touched: Vec::new(),
            starts: vec![0],
        }
    }

    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.offsets.truncate(1);
        self.entries.clear();
        self.places.clear();
        self.touched.clear();
        self.starts.truncate(1);
    }

    /// Returns the number of an item, which is added if it is new.
    pub(super) fn add(&mut self, name: u32, row: SparseRow<'_>) -> u32 {
        let number = self.numbers.len() as u32;
        if let Some(&known) = self.numbers.get(&name) {
            return known;
        }
        self.numbers.insert(name, number);
        let row_of = &self.features.row_of;
        self.entries
            .extend(row.iter().map(|(feature, value)| ItemEntry { row: row_of[feature as usize], value }));
        self.offsets.push(self.entries.len());
        number
    }

    /// Sorts the entries by row, once all items have been added.
    pub(super) fn arrange(&mut self) {
        for (item, at) in (0..).zip(self.offsets.windows(2)) {
            self.places.extend(self.entries[at[0]..at[1]].iter().map(|entry| (entry.row, item, entry.value)));
        }
        // An item has a feature only once, so no two entries share both row and item.
        self.places.sort_unstable_by_key(|&(row, item, _)| (u64::from(row) << 32) | u64::from(item));
        for rows in self.places.chunk_by(|a, b| a.0 == b.0) {
            self.touched.push(rows[0].0);
            self.starts.push(self.starts.last().expect("there is a first one") + rows.len());
        }
        assert_ne!(self.touched.last(), Some(&Factor::NONE), "features that occur have rows");
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// All entries, item after item.
    pub(super) fn entries(&self) -> &[ItemEntry] {
        &self.entries
    }

    /// Start of the entries of each item, and the end of the last.
    pub(super) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Touched rows, ascending.
    pub(super) fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Row, item and value of the entries of a touched row, given by its place among the touched rows.
    pub(super) fn of_row(&self, place: usize) -> &[(u32, u32, f32)] {
        &self.places[self.starts[place]..self.starts[place + 1]]
    }
}
