//! Normalised discounted cumulative gain.
//!
//! ```text
//! DCG@k  = sum over ranks i <= k of gain(r_i) / log2(1 + i)
//! NDCG@k = DCG@k / DCG@k of the ideal order
//! ```
//! - gain: 2^r - 1 or r, as set by the dialect or the measure; grades of 0 and below, and unjudged documents, have gain
//!   0;
//! - ties: as set by the dialect; averaged ties give every document of a tie the mean discount of its ranks, which is
//!   the mean of DCG over all orders of the tied documents;
//! - without a relevant document the ideal DCG is 0, and the dialect decides.

use super::dialect::{Gain, Ties};
use super::ranking::{Hit, Ranking};

pub(super) fn ndcg(ranking: &Ranking, cutoff: Option<u32>, gain: Gain, ties: Ties) -> f64 {
    let deepest = cutoff.unwrap_or(u32::MAX);
    let dcg: f64 = match ties {
        Ties::Averaged => averaged(&ranking.hits, deepest, gain),
        _ => {
            let counted = ranking.hits.iter().take_while(|h| h.rank <= deepest);
            counted.map(|h| gain.of(h.grade) * discount(h.rank)).sum()
        }
    };
    let ideal = ranking.grades.iter().take_while(|&&g| g > 0.0);
    let ideal: f64 = (1..=deepest).zip(ideal).map(|(i, &g)| gain.of(g) * discount(i)).sum();
    if ideal > 0.0 { dcg / ideal } else { 0.0 }
}

#[inline]
fn discount(rank: u32) -> f64 {
    (1.0 + f64::from(rank)).log2().recip()
}

/// Computes DCG with the mean discount of each tie. Hits of the same tie are adjacent, so the mean is computed once per
/// tie.
fn averaged(hits: &[Hit], deepest: u32, gain: Gain) -> f64 {
    hits.chunk_by(|a, b| a.tie == b.tie)
        .map(|tied| {
            let (first, last) = tied[0].tie;
            let discounts: f64 = (first..=last.min(deepest)).map(discount).sum();
            let gains: f64 = tied.iter().map(|h| gain.of(h.grade)).sum();
            gains * discounts / f64::from(last - first + 1)
        })
        .sum()
}
