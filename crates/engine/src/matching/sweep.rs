//! Scores of all documents for many queries, block by block on all threads, in bounded memory.

use std::ops::Range;

use matchrank_core::Result;
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::{Matcher, Scorer};
use crate::retrieval::{Hit, TopK};

/// Documents scored at a time: with 256 queries, 1 MiB of scores per thread.
const BLOCK: u32 = 1 << 10;

/// The k best documents for each query, exactly. Whichever thread sees a block first, the kept documents
/// are the same: they are ordered by score, then by number.
pub(super) fn top<M: Matcher + ?Sized>(
    matcher: &M,
    queries: &[&str],
    k: usize,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Hit>>> {
    let batches = queries.chunks(matcher.batch_size().max(1));
    let n_documents = matcher.n_documents();
    progress.begin("ranking", Some(batches.len() as u64 * u64::from(n_documents)), "documents");
    let mut hits = Vec::with_capacity(queries.len());
    for batch in batches {
        let mut scorer = matcher.begin(batch)?;
        scorer.prepare();
        hits.extend(top_of(&*scorer, n_documents, k, progress));
    }
    Ok(hits)
}

/// The k best documents for the queries of a scorer that has been prepared.
pub(crate) fn top_of(
    scorer: &dyn Scorer,
    n_documents: u32,
    k: usize,
    progress: &dyn Progress,
) -> Vec<Vec<Hit>> {
    let n_queries = scorer.n_queries();
    let none = || (0..n_queries).map(|_| TopK::new(k)).collect::<Vec<_>>();
    let tops = blocks(n_documents)
        .into_par_iter()
        .fold(
            || (none(), Vec::new()),
            |(mut tops, mut scores), block| {
                scores.resize(n_queries * block.len(), 0.0);
                scorer.block(block.clone(), &mut scores);
                for (top, row) in tops.iter_mut().zip(scores.chunks_exact(block.len())) {
                    for (document, &score) in block.clone().zip(row) {
                        // False for NaN too.
                        if score >= top.threshold() {
                            top.offer(Hit { document, score });
                        }
                    }
                }
                progress.advance(block.len() as u64);
                (tops, scores)
            },
        )
        .map(|(tops, _)| tops)
        .reduce(none, |mut tops, others| {
            for (top, other) in tops.iter_mut().zip(others) {
                other.into_hits().into_iter().for_each(|hit| top.offer(hit));
            }
            tops
        });
    tops.into_iter().map(TopK::into_hits).collect()
}

/// Calls `visit` with every block of documents and its scores on all threads; what it gives comes back in
/// the order of the blocks.
pub(super) fn map_blocks<T: Send>(
    scorer: &dyn Scorer,
    n_documents: u32,
    visit: impl Fn(Range<u32>, &[f32]) -> T + Sync,
) -> Vec<T> {
    blocks(n_documents)
        .into_par_iter()
        .map_init(Vec::new, |scores, block| {
            scores.resize(scorer.n_queries() * block.len(), 0.0);
            scorer.block(block.clone(), scores);
            visit(block, scores)
        })
        .collect()
}

fn blocks(n_documents: u32) -> Vec<Range<u32>> {
    (0..n_documents.div_ceil(BLOCK))
        .map(|i| i * BLOCK..((i + 1).saturating_mul(BLOCK)).min(n_documents))
        .collect()
}
