use foldhash::HashMap;

use super::Features;
use crate::matching::{Factor, SparseRow};

/// The queries, or the documents, of a batch, each once, with the rows that their features touch.
pub(super) struct Items {
    /// Row of every feature in the tables.
    row_of: Vec<u32>,
    /// Number here of what was added, by its name outside.
    numbers: HashMap<u32, u32>,
    offsets: Vec<usize>,
    values: Vec<f32>,
    /// For each entry the place of its row among those that are touched.
    places: Vec<u32>,
    /// The rows that are touched, and by how many items.
    touched: Vec<(u32, u32)>,
    /// Place of a row among those that are touched, where `stamp` is that of the batch.
    place_of: Vec<(u32, u32)>,
    stamp: u32,
}

impl Items {
    pub(super) fn new(features: &Features) -> Self {
        Self {
            row_of: features.row_of.clone(),
            numbers: HashMap::default(),
            offsets: vec![0],
            values: Vec::new(),
            places: Vec::new(),
            touched: Vec::new(),
            place_of: vec![(0, 0); features.used.len()],
            stamp: 1,
        }
    }

    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.offsets.truncate(1);
        self.values.clear();
        self.places.clear();
        self.touched.clear();
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.place_of.fill((0, 0));
            self.stamp = 1;
        }
    }

    /// Number of an item, which is added if it is not there.
    pub(super) fn add(&mut self, name: u32, row: SparseRow<'_>) -> u32 {
        let number = self.numbers.len() as u32;
        if let Some(&known) = self.numbers.get(&name) {
            return known;
        }
        self.numbers.insert(name, number);
        self.values.extend_from_slice(row.values());
        for feature in row.indices() {
            let row = self.row_of[*feature as usize];
            assert_ne!(row, Factor::NONE, "features that occur have rows");
            let place = &mut self.place_of[row as usize];
            if place.0 != self.stamp {
                *place = (self.stamp, self.touched.len() as u32);
                self.touched.push((row, 0));
            }
            self.touched[place.1 as usize].1 += 1;
            self.places.push(place.1);
        }
        self.offsets.push(self.places.len());
        number
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Places and values of the entries of each item.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u32], &[f32])> {
        self.offsets.windows(2).map(|at| (&self.places[at[0]..at[1]], &self.values[at[0]..at[1]]))
    }

    /// The rows that are touched, by place, and the number of items that touch each.
    pub(super) fn touched(&self) -> &[(u32, u32)] {
        &self.touched
    }
}
