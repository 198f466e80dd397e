//! Binary measures: precision, recall, average precision, reciprocal rank, rank-biased precision. With rel(i) = 1 if
//! the document at rank i is relevant, and R relevant documents:
//!
//! ```text
//! P@k   = 1/k sum_{i<=k} rel(i)             k counts in full even if the list is shorter
//! R@k   = 1/R sum_{i<=k} rel(i)
//! AP@k  = 1/R sum_{i<=k} rel(i) P@i         MAP is its mean over queries; 1/min(k, R) in LightGBM
//! RR@k  = 1 / rank of the first relevant document, 0 if it is not among the first k
//! RBP   = (1 - p) sum_i rel(i) p^(i-1)      ranx takes the grade in place of rel(i)
//! ```
//! All are 0 for a query without a relevant document, unless the dialect says otherwise. Reference for RBP: Moffat and
//! Zobel, ACM TOIS 27(1), 2008.

use super::ranking::{Hit, Ranking, is_relevant};

pub(super) fn precision(ranking: &Ranking, cutoff: u32, rel: Option<f32>) -> f64 {
    ranking.relevant_ranks(Some(cutoff), rel).count() as f64 / f64::from(cutoff)
}

pub(super) fn recall(ranking: &Ranking, cutoff: u32, rel: Option<f32>) -> f64 {
    let found = ranking.relevant_ranks(Some(cutoff), rel).count();
    if found == 0 { 0.0 } else { found as f64 / ranking.n_relevant(rel) as f64 }
}

pub(super) fn average_precision(
    ranking: &Ranking,
    cutoff: Option<u32>,
    rel: Option<f32>,
    over_cutoff: bool,
) -> f64 {
    let ranks = ranking.relevant_ranks(cutoff, rel);
    let sum: f64 = (1..).zip(ranks).map(|(found, rank)| f64::from(found) / f64::from(rank)).sum();
    let mut relevant = ranking.n_relevant(rel);
    if let (true, Some(k)) = (over_cutoff, cutoff) {
        relevant = relevant.min(k as usize);
    }
    if sum > 0.0 { sum / relevant as f64 } else { 0.0 }
}

/// Computes scikit-learn's average precision: a tie is one step of the precision-recall curve, so that each of its
/// relevant documents has the precision at the end of the tie.
pub(super) fn average_precision_of_ties(ranking: &Ranking, rel: Option<f32>) -> f64 {
    let mut found = 0;
    let mut sum = 0.0;
    for tied in ranking.hits.chunk_by(|a, b| a.tie == b.tie) {
        let here = tied.iter().filter(|h| is_relevant(h.grade, rel)).count();
        found += here;
        sum += here as f64 * found as f64 / f64::from(tied[0].tie.1);
    }
    if found > 0 { sum / ranking.n_relevant(rel) as f64 } else { 0.0 }
}

pub(super) fn reciprocal_rank(ranking: &Ranking, cutoff: Option<u32>, rel: Option<f32>) -> f64 {
    ranking.relevant_ranks(cutoff, rel).next().map_or(0.0, |rank| f64::from(rank).recip())
}

pub(super) fn rank_biased_precision(ranking: &Ranking, p: f32, rel: Option<f32>, graded: bool) -> f64 {
    // 0.95 as f32 is 0.94999999; the shortest decimal is what the user wrote
    let p: f64 = p.to_string().parse().expect("a printed number parses");
    let gain = |h: &Hit| if graded { f64::from(h.grade) } else { 1.0 };
    let relevant = ranking.hits.iter().filter(|h| is_relevant(h.grade, rel));
    (1.0 - p) * relevant.map(|h| gain(h) * p.powf(f64::from(h.rank - 1))).sum::<f64>()
}
