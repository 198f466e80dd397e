//! Expected reciprocal rank (Chapelle et al., CIKM 2009): the user reads down the list and stops at a document of grade
//! r with probability R(r).
//!
//! ```text
//! R(r)  = (2^r - 1) / 2^max
//! ERR@k = sum_{i<=k} 1/i R(r_i) prod_{j<i} (1 - R(r_j))
//! ```
//! `max` is the highest grade of the scale: that of the measure if given, else the highest grade in the ideal order.
//! The value is below 1 even for a perfect list. Without a relevant document it is 0.

use super::dialect::Gain;
use super::ranking::Ranking;

pub(super) fn err(ranking: &Ranking, cutoff: Option<u32>, max: Option<f32>) -> f64 {
    let max = max.or(ranking.grades.first().copied()).unwrap_or(0.0).max(0.0);
    let deepest = cutoff.unwrap_or(u32::MAX);
    let mut looks_on = 1.0;
    let mut err = 0.0;
    for hit in ranking.hits.iter().take_while(|h| h.rank <= deepest) {
        // every user stops at a grade above the stated scale
        let stops = (Gain::Exponential.of(hit.grade) / f64::from(max).exp2()).min(1.0);
        err += looks_on * stops / f64::from(hit.rank);
        looks_on *= 1.0 - stops;
    }
    err
}
