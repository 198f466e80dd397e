//! A set of documents to search in.

/// Some of the documents of a matcher, a bit for each.
#[derive(Debug, Clone, Copy)]
pub struct Among<'a> {
    bits: &'a [u64],
    first: u32,
}

impl<'a> Among<'a> {
    /// Documents 0, 1, ... by the bits of words, the lowest bit first. Documents beyond the last word are not in the set.
    pub fn new(bits: &'a [u64]) -> Self {
        Self { bits, first: 0 }
    }

    /// The documents from number `first` on, numbered from 0.
    pub fn from(self, first: u32) -> Self {
        Self { first: self.first + first, ..self }
    }

    /// Returns true if a document is in the set.
    #[inline]
    pub fn holds(&self, document: u32) -> bool {
        let at = (self.first + document) as usize;
        self.bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}
