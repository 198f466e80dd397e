use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A document found for a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Position of the document in the collection, counted from 0.
    pub document: u32,
    /// Score of the document.
    pub score: f32,
}

/// Keeps the k best of the hits offered; ties go to the smaller document number.
pub(crate) struct TopK {
    k: usize,
    /// The worst of the kept hits is on top.
    heap: BinaryHeap<WorstFirst>,
}

struct WorstFirst(Hit);

impl Ord for WorstFirst {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.score.total_cmp(&self.0.score).then(self.0.document.cmp(&other.0.document))
    }
}

impl PartialOrd for WorstFirst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for WorstFirst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for WorstFirst {}

impl TopK {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new() }
    }

    /// Returns the score that a later document must exceed to be kept.
    pub(crate) fn threshold(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.k => worst.0.score,
            _ => f32::NEG_INFINITY,
        }
    }

    pub(crate) fn offer(&mut self, hit: Hit) {
        if self.heap.len() < self.k {
            self.heap.push(WorstFirst(hit));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && WorstFirst(hit) < *worst
        {
            *worst = WorstFirst(hit);
        }
    }

    /// Returns the kept hits, best first.
    pub(crate) fn into_hits(self) -> Vec<Hit> {
        self.heap.into_sorted_vec().into_iter().map(|worst_first| worst_first.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_the_head_of_the_sorted_list(scores in prop::collection::vec(0u8..9, 0..40), k in 0usize..12) {
            let hits: Vec<Hit> =
                (0..).zip(&scores).map(|(document, &score)| Hit { document, score: f32::from(score) }).collect();
            let mut top = TopK::new(k);
            hits.iter().for_each(|&hit| top.offer(hit));
            let mut sorted = hits;
            sorted.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
            sorted.truncate(k);
            prop_assert_eq!(top.into_hits(), sorted);
        }
    }
}
