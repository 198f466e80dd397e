//! A table that finds the documents of one query by their ids. It is cleared and reused query after query, so that
//! looking up a million documents allocates nothing.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

/// An open-addressing table from a document id to an index that the caller chose. The table stores 32 bits of the hash
/// and the index, never the id. The caller provides a function from index to id, which is called only if the 32 bits
/// agree.
#[derive(Default)]
pub(crate) struct Documents {
    /// `(index + 1) << 32 | high half of the hash`; 0 is empty.
    slots: Vec<u64>,
    mask: usize,
}

impl Documents {
    /// Clears the table and reserves room for `n` documents.
    pub(crate) fn reset(&mut self, n: usize) {
        let size = (2 * n).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(size, 0);
        self.mask = size - 1;
    }

    /// Returns the index of an id that is in the table; otherwise inserts the id under `index`.
    #[inline]
    pub(crate) fn insert<'a>(
        &mut self,
        id: &[u8],
        index: usize,
        id_of: impl Fn(usize) -> &'a [u8],
    ) -> Option<usize> {
        let hash = hash(id);
        let tag = hash >> 32;
        let mut at = hash as usize & self.mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                self.slots[at] = (index as u64 + 1) << 32 | tag;
                return None;
            }
            if slot & 0xffff_ffff == tag {
                let known = (slot >> 32) as usize - 1;
                if id_of(known) == id {
                    return Some(known);
                }
            }
            at = (at + 1) & self.mask;
        }
    }
}

#[inline]
fn hash(id: &[u8]) -> u64 {
    const STATE: FixedState = FixedState::with_seed(0x6d61_7463_6872_616e);
    let mut hasher = STATE.build_hasher();
    hasher.write(id);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_a_hash_map_finds(ids in prop::collection::vec("[ab]{0,6}", 0..60)) {
            let mut table = Documents::default();
            for _ in 0..2 {
                table.reset(ids.len());
                let mut map = std::collections::HashMap::new();
                for (i, id) in ids.iter().enumerate() {
                    let known = map.get(id).copied();
                    map.entry(id).or_insert(i);
                    prop_assert_eq!(table.insert(id.as_bytes(), i, |j| ids[j].as_bytes()), known);
                }
            }
        }
    }
}
