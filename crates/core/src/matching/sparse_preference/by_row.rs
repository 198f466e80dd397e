/// Groups items by row, in time that does not depend on the number of rows.
#[derive(Debug)]
pub(super) struct ByRow {
    /// A place per row; all 0 between calls.
    places: Vec<u32>,
}

impl ByRow {
    pub(super) fn new(n_rows: usize) -> Self {
        Self { places: vec![0; n_rows] }
    }

    /// Sorts the items by row; items of the same row keep their order.
    pub(super) fn sort<T: Copy>(&mut self, items: &[T], row: impl Fn(&T) -> u32) -> Vec<T> {
        let mut rows = Vec::new();
        for item in items {
            let count = &mut self.places[row(item) as usize];
            if *count == 0 {
                rows.push(row(item));
            }
            *count += 1;
        }
        rows.sort_unstable();
        let mut start = 0;
        for &row in &rows {
            let count = std::mem::replace(&mut self.places[row as usize], start);
            start += count;
        }
        let mut sorted = items.to_vec();
        for item in items {
            let place = &mut self.places[row(item) as usize];
            sorted[*place as usize] = *item;
            *place += 1;
        }
        rows.iter().for_each(|&row| self.places[row as usize] = 0);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_a_row_stay_in_their_order() {
        let items = [(3, 'a'), (1, 'b'), (3, 'c'), (0, 'd'), (1, 'e'), (3, 'f')];
        let mut by_row = ByRow::new(4);
        for _ in 0..2 {
            let sorted = by_row.sort(&items, |&(row, _)| row);
            assert_eq!(sorted, [(0, 'd'), (1, 'b'), (1, 'e'), (3, 'a'), (3, 'c'), (3, 'f')]);
        }
        assert!(by_row.sort(&items[..0], |&(row, _)| row).is_empty());
    }
}
