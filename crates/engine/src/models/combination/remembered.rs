//! Scores that are computed once and asked for many times.

use std::ops::Range;
use std::sync::OnceLock;

use crate::scoring::{Scorer, map_blocks};

/// Most bytes of scores that are kept of all parts of a combination.
const ROOM: usize = 1 << 30;

/// A scorer that keeps the scores it has computed: of all documents where there is room, and of every query's list.
pub(super) struct RememberedScorer<'a> {
    inner: Box<dyn Scorer + 'a>,
    n_documents: u32,
    /// True if scores of all documents are kept.
    has_room: bool,
    blocks: Vec<(Range<u32>, Vec<f32>)>,
    lists: Vec<OnceLock<(Vec<u32>, Vec<f32>)>>,
}

impl<'a> RememberedScorer<'a> {
    /// Keeps the scores of one of `n_parts` scorers.
    pub(super) fn new(inner: Box<dyn Scorer + 'a>, n_documents: u32, n_parts: usize) -> Self {
        let scores = inner.n_queries().saturating_mul(n_documents as usize).saturating_mul(n_parts);
        let lists = (0..inner.n_queries()).map(|_| OnceLock::new()).collect();
        Self {
            inner,
            n_documents,
            has_room: scores.saturating_mul(size_of::<f32>()) <= ROOM,
            blocks: Vec::new(),
            lists,
        }
    }
}

impl Scorer for RememberedScorer<'_> {
    fn n_queries(&self) -> usize {
        self.inner.n_queries()
    }

    fn prepare(&mut self) {
        self.inner.prepare();
        if self.has_room && self.blocks.is_empty() {
            self.blocks =
                map_blocks(&*self.inner, self.n_documents, |block, scores| (block, scores.to_vec()));
        }
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let (known, values) = self.lists[query].get_or_init(|| {
            let mut values = vec![0.0; documents.len()];
            self.inner.list(query, documents, &mut values);
            (documents.to_vec(), values)
        });
        if known == documents {
            scores.copy_from_slice(values);
        } else {
            self.inner.list(query, documents, scores);
        }
    }

    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let at = self.blocks.binary_search_by_key(&documents.start, |(block, _)| block.start);
        match at.ok().map(|at| &self.blocks[at]) {
            Some((block, values)) if *block == documents => scores.copy_from_slice(values),
            _ => self.inner.block(documents, scores),
        }
    }
}
