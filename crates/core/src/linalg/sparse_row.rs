use crate::{Error, Result};

/// A borrowed sparse vector: strictly ascending indices, and a value for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseRow<'a> {
    indices: &'a [u32],
    values: &'a [f32],
}

impl<'a> SparseRow<'a> {
    /// Builds a row after checking it: equal lengths, ascending indices, finite values.
    pub fn new(indices: &'a [u32], values: &'a [f32]) -> Result<Self> {
        if indices.len() != values.len() {
            return Err(Error::Shape(format!(
                "there are {} indices but {} values; the numbers must be equal",
                indices.len(),
                values.len()
            )));
        }
        if let Some(at) = indices.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Error::Shape(format!(
                "indices must ascend without repetition, but {} is followed by {}",
                indices[at],
                indices[at + 1]
            )));
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Shape(format!(
                "the value at index {} is {}, not a finite number",
                indices[at], values[at]
            )));
        }
        Ok(Self { indices, values })
    }

    /// Wraps a row that was checked before.
    pub(crate) fn trusted(indices: &'a [u32], values: &'a [f32]) -> Self {
        debug_assert!(Self::new(indices, values).is_ok());
        Self { indices, values }
    }

    /// The indices.
    pub fn indices(&self) -> &'a [u32] {
        self.indices
    }

    /// The values.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// Iterates over index and value of every entry.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, f32)> + use<'a> {
        self.indices.iter().copied().zip(self.values.iter().copied())
    }

    /// Calls `each(index, own value, other value)` for every index that both rows have, ascending.
    ///
    /// The other row is searched for each entry of this one, so this should be the shorter row: a query of three terms
    /// finds its entries in a document of two hundred with a few dozen comparisons.
    pub fn for_each_shared(&self, other: SparseRow<'_>, mut each: impl FnMut(u32, f32, f32)) {
        let mut from = 0;
        for (index, own) in self.iter() {
            from += other.indices[from..].partition_point(|&candidate| candidate < index);
            match other.indices.get(from) {
                Some(&found) if found == index => each(index, own, other.values[from]),
                Some(_) => {}
                None => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn broken_rows_are_errors() {
        assert!(SparseRow::new(&[1], &[]).is_err());
        assert!(SparseRow::new(&[1, 1], &[1.0, 1.0]).is_err());
        assert!(SparseRow::new(&[2, 1], &[1.0, 1.0]).is_err());
        assert!(SparseRow::new(&[2], &[f32::NAN]).unwrap_err().to_string().contains("index 2"));
        assert!(SparseRow::new(&[], &[]).is_ok());
    }

    proptest! {
        #[test]
        fn shared_entries_are_those_of_both_maps(
            a in prop::collection::btree_map(0u32..30, -9f32..9.0, 0..20),
            b in prop::collection::btree_map(0u32..30, -9f32..9.0, 0..20),
        ) {
            let split = |map: &BTreeMap<u32, f32>| -> (Vec<u32>, Vec<f32>) { map.iter().unzip() };
            let ((ai, av), (bi, bv)) = (split(&a), split(&b));
            let mut shared = Vec::new();
            let row = SparseRow::new(&ai, &av).unwrap();
            row.for_each_shared(SparseRow::new(&bi, &bv).unwrap(), |i, x, y| shared.push((i, x, y)));
            let obvious: Vec<_> = a.iter().filter_map(|(i, x)| b.get(i).map(|y| (*i, *x, *y))).collect();
            prop_assert_eq!(shared, obvious);
        }
    }
}
