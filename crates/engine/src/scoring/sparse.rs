use std::ops::Range;

use super::Scorer;

/// Scores of models that reach few documents: a list of documents with their scores for each query.
pub(crate) struct SparseScorer {
    /// Documents of each query, ascending, with their scores.
    pub(crate) scores: Vec<Vec<(u32, f32)>>,
}

impl Scorer for SparseScorer {
    fn n_queries(&self) -> usize {
        self.scores.len()
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let known = &self.scores[query];
        for (score, document) in scores.iter_mut().zip(documents) {
            let at = known.binary_search_by_key(document, |(known, _)| *known);
            *score = at.map_or(f32::NAN, |at| known[at].1);
        }
    }

    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        scores.fill(f32::NAN);
        for (known, row) in self.scores.iter().zip(scores.chunks_exact_mut(documents.len())) {
            let from = known.partition_point(|(document, _)| *document < documents.start);
            for (document, score) in known[from..].iter().take_while(|(d, _)| *d < documents.end) {
                row[(document - documents.start) as usize] = *score;
            }
        }
    }
}
