//! Images of documents that are kept in memory, for single queries.
//!
//! An image is kept twice: with 8 bits a number, which a query is compared with first, and exactly, which decides among the
//! best. The best k by exact scores are among the best `4 k + 64` by rounded ones but for rare near ties.

use std::ops::Range;

use matchrank_core::matching::{ByteRows, Csr, Mapping};
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::LatentScorer;
use crate::scoring::{Among, Hit, Scorer, TopK};

/// Documents that are mapped or compared together.
const BLOCK: usize = 1 << 10;

/// Images of all documents.
pub(super) struct DocumentImages {
    d: usize,
    exact: Vec<f32>,
    rounded: ByteRows,
}

impl DocumentImages {
    /// Maps the documents whose features are the rows of `y`; none where the images would take more than `bytes`.
    pub(super) fn new(model: &dyn Mapping, y: &Csr, bytes: u64, progress: &dyn Progress) -> Option<Self> {
        let (d, n) = (model.d(), y.n_rows());
        if (n * d) as u64 * 5 > bytes {
            return None;
        }
        progress.begin("images of documents", Some(n as u64), "documents");
        let mut exact = vec![0.0; n * d];
        exact.par_chunks_mut(BLOCK * d).enumerate().for_each(|(block, images)| {
            for (at, image) in images.chunks_exact_mut(d).enumerate() {
                model.map_document_into(y.row(block * BLOCK + at), image);
            }
            progress.advance((images.len() / d) as u64);
        });
        let mut rounded = ByteRows::with_capacity(d, n);
        exact.chunks_exact(d).for_each(|image| rounded.push(image));
        Some(Self { d, exact, rounded })
    }

    /// Images of some documents, one after the other.
    pub(super) fn exact(&self, documents: Range<u32>) -> &[f32] {
        &self.exact[documents.start as usize * self.d..documents.end as usize * self.d]
    }

    /// The `k` best of `n` documents for the only query of a scorer.
    pub(super) fn top(
        &self,
        scorer: &LatentScorer<'_>,
        n: u32,
        k: usize,
        among: Option<Among<'_>>,
    ) -> Vec<Hit> {
        let query = self.rounded.query(scorer.image(0));
        let mut nearest = TopK::new(4 * k + 64);
        let mut scores = [0.0; BLOCK];
        let holds = |document: u32| among.is_none_or(|among| among.holds(document));
        for first in (0..n).step_by(BLOCK) {
            let block = first..(first + BLOCK as u32).min(n);
            // A filter that lets few documents through leaves out most blocks.
            if !block.clone().any(holds) {
                continue;
            }
            let scores = &mut scores[..block.len()];
            self.rounded.products(&query, first as usize, scores);
            scorer.complete(block.clone(), scores);
            for (document, &score) in block.zip(scores.iter()) {
                if score > nearest.threshold() && holds(document) {
                    nearest.offer(Hit { document, score });
                }
            }
        }
        let mut documents: Vec<u32> = nearest.into_hits().iter().map(|hit| hit.document).collect();
        documents.sort_unstable();
        let mut scores = vec![0.0; documents.len()];
        scorer.list(0, &documents, &mut scores);
        let mut top = TopK::new(k);
        documents.iter().zip(scores).for_each(|(&document, score)| top.offer(Hit { document, score }));
        top.into_hits()
    }
}
