//! Hard negatives: documents that share the most with a query by their words, and have no response to it.
//!
//! A random document is easily told from a relevant one, and teaches little about the order at the top. The hard negatives
//! of a query are the documents with the largest x' y over the words, the scores of the base, found by the postings of the
//! query's words.

use matchrank_core::matching::{Csr, SparseRow};
use rayon::prelude::*;

use crate::scoring::{Hit, TopK};

/// Hard negatives of a query, at most.
const MOST: usize = 50;

/// Hard negatives of every query, ascending. `n_words`: features that both sides share; `known`: documents with a
/// response, ascending.
pub(super) fn hard_negatives<'a>(
    queries: &Csr,
    documents: &Csr,
    n_words: usize,
    known: impl Fn(usize) -> &'a [u32] + Sync,
) -> Vec<Vec<u32>> {
    let postings = documents.transpose();
    (0..queries.n_rows())
        .into_par_iter()
        .map_init(
            || vec![0f32; documents.n_rows()],
            |scores, query| {
                let words = queries.row(query).iter().filter(|(word, _)| (*word as usize) < n_words);
                let mut touched: Vec<u32> = Vec::new();
                for (word, x) in words {
                    let row: SparseRow<'_> = postings.row(word as usize);
                    for (document, y) in row.iter() {
                        let score = &mut scores[document as usize];
                        if *score == 0.0 {
                            touched.push(document);
                        }
                        *score += x * y;
                    }
                }
                touched.sort_unstable();
                touched.dedup();
                let mut best = TopK::new(MOST);
                for document in touched {
                    let score = std::mem::take(&mut scores[document as usize]);
                    if known(query).binary_search(&document).is_err() {
                        best.offer(Hit { document, score });
                    }
                }
                let mut found: Vec<u32> = best.into_hits().into_iter().map(|hit| hit.document).collect();
                found.sort_unstable();
                found
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sorting all documents by their products with the query finds the same.
        #[test]
        fn the_best_documents_without_a_response_are_found(
            entries in prop::collection::vec((0u32..80, 0u32..6, 1u8..9), 0..200),
            query in prop::collection::btree_map(0u32..6, 1u8..9, 0..5),
            known in prop::collection::btree_set(0u32..80, 0..10),
        ) {
            let mut cells = std::collections::BTreeMap::new();
            entries.iter().for_each(|&(d, w, v)| { cells.insert((d, w), f32::from(v)); });
            let documents = Csr::from_triples(80, 6, cells.iter().map(|(&(d, w), &v)| (d, w, v))).unwrap();
            let queries = Csr::from_triples(1, 6, query.iter().map(|(&w, &v)| (0, w, f32::from(v)))).unwrap();
            let known: Vec<u32> = known.into_iter().collect();
            // Feature 5 is no word.
            let found = hard_negatives(&queries, &documents, 5, |_| &known);
            let score = |d: u32| -> f32 {
                query.iter().filter(|(w, _)| **w < 5).map(|(w, x)| f32::from(*x) * cells.get(&(d, *w)).unwrap_or(&0.0)).sum()
            };
            let mut expected: Vec<u32> = (0..80).filter(|d| score(*d) > 0.0 && !known.contains(d)).collect();
            expected.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
            expected.truncate(MOST);
            expected.sort_unstable();
            prop_assert_eq!(&found[0], &expected);
        }
    }
}
