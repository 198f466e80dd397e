//! The rule against noise: a richer choice replaces a simpler one only if it is better by more than one standard error.
//!
//! Both choices are measured on the same queries. With differences d_i = richer_i - simpler_i of n queries, mean m and
//! standard deviation s, the standard error of m is s / sqrt(n), and the richer choice is taken if m > s / sqrt(n). With
//! fewer than two queries the simpler choice is kept.
//!
//! Some queries depend on new documents: none of their relevant documents has a training response. A catalogue that grows has
//! more such queries tomorrow, so choices are made as if there were [twice as many](grown_share).

/// Mean difference of paired values, and its standard error; none for fewer than two pairs.
pub fn paired_difference(richer: &[f64], simpler: &[f64]) -> Option<(f64, f64)> {
    assert_eq!(richer.len(), simpler.len(), "both are measured on the same queries");
    let n = richer.len() as f64;
    if n < 2.0 {
        return None;
    }
    let differences = || richer.iter().zip(simpler).map(|(richer, simpler)| richer - simpler);
    let mean = differences().sum::<f64>() / n;
    let squares: f64 = differences().map(|difference| (difference - mean).powi(2)).sum();
    Some((mean, (squares / (n - 1.0) / n).sqrt()))
}

/// Returns true if a richer choice is better than a simpler one by more than one standard error.
pub fn is_worth_it(richer: &[f64], simpler: &[f64]) -> bool {
    paired_difference(richer, simpler).is_some_and(|(mean, error)| mean > error && mean > 0.0)
}

/// Growth of the share of queries that depend on new documents, for which a choice must be ready.
const GROWTH: f64 = 2.0;

/// Share of queries that depend on new documents tomorrow, given that of the validation queries.
pub(crate) fn grown_share(share: f64) -> f64 {
    (GROWTH * share).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_their_standard_errors() {
        let (mean, error) = paired_difference(&[0.5, 0.7, 0.9], &[0.4, 0.7, 0.5]).unwrap();
        // Differences 0.1, 0, 0.4: mean 1/6, variance 0.13/3, error sqrt(0.13/9).
        assert!((mean - 1.0 / 6.0).abs() < 1e-12, "{mean}");
        assert!((error - (0.13_f64 / 9.0).sqrt()).abs() < 1e-12, "{error}");
    }

    #[test]
    fn a_richer_choice_has_to_be_clearly_better() {
        assert!(is_worth_it(&[0.5, 0.7, 0.9], &[0.4, 0.7, 0.5]));
        assert!(!is_worth_it(&[0.5, 0.6, 0.9], &[0.4, 0.7, 0.8]));
        assert!(!is_worth_it(&[0.5, 0.5], &[0.5, 0.5]));
        assert!(!is_worth_it(&[0.4, 0.4], &[0.5, 0.5]));
        // One query says nothing.
        assert!(!is_worth_it(&[1.0], &[0.0]));
        assert!(!is_worth_it(&[], &[]));
        // The same gain on every query has no error.
        assert!(is_worth_it(&[0.6, 0.6], &[0.5, 0.5]));
    }
}
