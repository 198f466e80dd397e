//! Scores as relevance in [0, 1], for clients that expect it.
//!
//! ```text
//! relevance(s) = (1 + s / (c + |s|)) / 2
//! ```
//!
//! `c > 0` is the scale of the model: the median score of the best document over the sample queries of its self-test. So
//! the score 0 has relevance 0.5, and a typical best document 0.75. The map is increasing, so it keeps the order, and it is
//! not a probability. A document without a score counts as 0, as it does in `rank`.

/// Returns the relevance of a score.
pub(crate) fn relevance(score: f32, scale: f64) -> f64 {
    let score = f64::from(score);
    f64::midpoint(1.0, score / (scale + score.abs()))
}

/// Returns the scale for the scores of the best documents of sample queries.
pub(crate) fn scale_of(mut best: Vec<f32>) -> f64 {
    best.retain(|score| score.abs() > 0.0);
    best.sort_by(f32::total_cmp);
    best.get(best.len() / 2).map_or(1.0, |score| f64::from(score.abs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn typical_scores() {
        assert_eq!(scale_of(vec![]), 1.0);
        assert_eq!(scale_of(vec![0.0, 8.0, 2.0, 4.0]), 4.0);
        assert_eq!([0.0, 4.0, -4.0].map(|score| relevance(score, 4.0)), [0.5, 0.75, 0.25]);
    }

    proptest! {
        #[test]
        fn keeps_the_order_within_0_and_1(a in -1e6f32..1e6, b in -1e6f32..1e6, scale in 1e-3f64..1e3) {
            let (of_a, of_b) = (relevance(a, scale), relevance(b, scale));
            prop_assert!((0.0..=1.0).contains(&of_a));
            prop_assert!(a >= b || of_a <= of_b);
        }
    }
}
