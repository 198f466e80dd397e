//! Scores of all documents for many queries, block by block on all threads, in bounded memory.

use std::ops::Range;

use matchrank_core::Result;
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::{Among, Hit, Matcher, Scorer, TopK};

/// Documents of a block: with 256 queries, 1 MiB of scores.
const BLOCK: u32 = 1 << 10;
/// Scores held at a time, where that is at least a block for each thread.
const SCORES: usize = 1 << 22;

/// The k best documents for each query, exactly.
pub(crate) fn top<M: Matcher + ?Sized>(
    matcher: &M,
    queries: &[&str],
    k: usize,
    among: Option<Among<'_>>,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Hit>>> {
    let batches = queries.chunks(matcher.batch_size().max(1));
    let n_documents = matcher.n_documents();
    progress.begin("ranking", Some(batches.len() as u64 * u64::from(n_documents)), "documents");
    let mut hits = Vec::with_capacity(queries.len());
    for batch in batches {
        let mut scorer = matcher.begin(batch)?;
        scorer.prepare();
        hits.extend(top_among(&*scorer, (n_documents, among), k, progress));
    }
    Ok(hits)
}

/// The k best documents for the queries of a scorer that has been prepared.
///
/// Some blocks are scored, a thread for each, and then looked through, a thread for each query: so every
/// query has one list of candidates, which soon turns most documents away.
pub(crate) fn top_of(
    scorer: &dyn Scorer,
    n_documents: u32,
    k: usize,
    progress: &dyn Progress,
) -> Vec<Vec<Hit>> {
    top_among(scorer, (n_documents, None), k, progress)
}

/// The k best of some documents, or of all.
fn top_among(
    scorer: &dyn Scorer,
    (n_documents, among): (u32, Option<Among<'_>>),
    k: usize,
    progress: &dyn Progress,
) -> Vec<Vec<Hit>> {
    let n_queries = scorer.n_queries();
    let mut tops: Vec<TopK> = (0..n_queries).map(|_| TopK::new(k)).collect();
    let at_a_time = (SCORES / (n_queries * BLOCK as usize).max(1)).max(rayon::current_num_threads());
    let mut buffers = vec![Vec::new(); at_a_time];
    for blocks in blocks(n_documents).chunks(at_a_time) {
        blocks.par_iter().zip(&mut buffers).for_each(|(block, scores)| {
            scores.resize(n_queries * block.len(), 0.0);
            scorer.block(block.clone(), scores);
            progress.advance(block.len() as u64);
        });
        tops.par_iter_mut().enumerate().for_each(|(query, top)| {
            for (block, scores) in blocks.iter().zip(&buffers) {
                let row = &scores[query * block.len()..][..block.len()];
                for (document, &score) in block.clone().zip(row) {
                    // Documents come in their order, so an equal score is too late. False for NaN too.
                    if score > top.threshold() && among.is_none_or(|among| among.holds(document)) {
                        top.offer(Hit { document, score });
                    }
                }
            }
        });
    }
    tops.into_iter().map(TopK::into_hits).collect()
}

/// Calls `visit` with every block of documents and its scores on all threads; what it gives comes back in
/// the order of the blocks.
pub(crate) fn map_blocks<T: Send>(
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
