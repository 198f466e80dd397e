use std::ops::Range;

use tantivy::postings::BlockSegmentPostings;

/// A position in the documents of one term in one field; moves forward only.
pub(crate) struct Postings {
    blocks: BlockSegmentPostings,
    /// Place in the current block.
    at: usize,
}

impl Postings {
    pub(crate) fn new(blocks: BlockSegmentPostings) -> Self {
        Self { blocks, at: 0 }
    }

    /// The current document, or `None` past the last one.
    pub(crate) fn document(&self) -> Option<u32> {
        self.blocks.docs().get(self.at).copied()
    }

    /// Moves to the first document that is not before `target`.
    pub(crate) fn seek(&mut self, target: u32) {
        match self.blocks.docs().last() {
            None => {}
            Some(&last) if last < target => self.at = self.blocks.seek(target),
            // Most steps are short, so look nearby before searching.
            Some(_) => {
                let ahead = &self.blocks.docs()[self.at..];
                self.at += if ahead.first().is_none_or(|&document| document >= target) {
                    0
                } else {
                    ahead.partition_point(|&document| document < target)
                };
            }
        }
    }

    /// The count of the term in `document`, which must not lie before the current one; 0 without it.
    pub(crate) fn count(&mut self, document: u32) -> u32 {
        self.seek(document);
        if self.document() == Some(document) { self.blocks.freq(self.at) } else { 0 }
    }

    /// Calls `each(document, count)` for the documents of a range and moves past it.
    pub(crate) fn for_each_in(&mut self, range: &Range<u32>, mut each: impl FnMut(u32, u32)) {
        self.seek(range.start);
        loop {
            let (documents, counts) = (self.blocks.docs(), self.blocks.freqs());
            if self.at >= documents.len() {
                return;
            }
            let end = match documents.last() {
                Some(&last) if last < range.end => documents.len(),
                _ => self.at + documents[self.at..].partition_point(|&document| document < range.end),
            };
            for (&document, &count) in documents[self.at..end].iter().zip(&counts[self.at..end]) {
                each(document, count);
            }
            if end < documents.len() {
                self.at = end;
                return;
            }
            self.blocks.advance();
            self.at = 0;
        }
    }
}
