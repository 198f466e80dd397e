//! Detects labels that the order of the rows gives away.
//!
//! A file written in the order of relevance makes any ranker look good if ties keep the order of the file, most of all
//! a ranker that gives every document the same score. The check measures that scorer: NDCG@10 in file order, against
//! the expectation over random orders of each list. With gains `g_i`, discounts `d_i` (0 beyond the cut), `n` documents
//! and means `g`, `d`, a random order has
//!
//! ```text
//! E[DCG] = n g d        Var[DCG] = sum (g_i - g)^2 sum (d_i - d)^2 / (n - 1)
//! ```
//!
//! The mean difference over the queries is a finding if it is at least 0.05 and at least four standard deviations of
//! random orders (on OHSUMED's folds it is 7 to 10, on those of MQ2008 at most 2.3).

use matchrank_core::data::FeatureLists;

use super::finding::{Finding, Severity, whole};

const CUT: usize = 10;
const SMALLEST_GAIN: f64 = 0.05;
const DEVIATIONS: f64 = 4.0;

pub(super) fn finding(lists: &FeatureLists) -> Option<Finding> {
    let measured: Vec<Order> = lists.iter().filter_map(|list| Order::of(list.labels())).collect();
    let n = measured.len() as f64;
    let file = measured.iter().map(|order| order.ndcg).sum::<f64>() / n;
    let random = measured.iter().map(|order| order.expected).sum::<f64>() / n;
    let deviation = measured.iter().map(|order| order.variance).sum::<f64>().sqrt() / n;
    let gain = file - random;
    (gain >= SMALLEST_GAIN && gain >= DEVIATIONS * deviation).then(|| {
        whole(
            Severity::Warning,
            "file-order-leak",
            format!(
                "the order of the rows gives the labels away: equal scores for all documents get NDCG@10 {file:.3} \
                 where ties keep the order of the file, and {random:.3} in a random order"
            ),
            "shuffle the rows within each query, or break ties by something other than the order (matchrank \
             takes a hash of the ids)",
        )
    })
}

/// NDCG@10 of a list in its own order, with its mean and variance over random orders.
#[derive(Debug, PartialEq)]
struct Order {
    ndcg: f64,
    expected: f64,
    variance: f64,
}

impl Order {
    /// Returns None if every order is equally good.
    fn of(labels: &[f32]) -> Option<Self> {
        let n = labels.len() as f64;
        let gains: Vec<f64> = labels.iter().map(|label| f64::from(*label).exp2() - 1.0).collect();
        let discounts: Vec<f64> =
            (0..labels.len()).map(|i| if i < CUT { 1.0 / (i as f64 + 2.0).log2() } else { 0.0 }).collect();
        let dcg = |gains: &[f64]| gains.iter().zip(&discounts).map(|(g, d)| g * d).sum::<f64>();
        let mut ideal = gains.clone();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let best = dcg(&ideal);
        if ideal.first() == ideal.last() || !best.is_finite() {
            return None;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
        let spread = |values: &[f64]| values.iter().map(|v| (v - mean(values)).powi(2)).sum::<f64>();
        Some(Self {
            ndcg: dcg(&gains) / best,
            expected: n * mean(&gains) * mean(&discounts) / best,
            variance: spread(&gains) * spread(&discounts) / (n - 1.0) / (best * best),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn the_moments_are_those_over_all_orders() {
        let labels = [2.0, 0.0, 1.0];
        let mut measured = Vec::new();
        for (a, b, c) in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)] {
            measured.push(Order::of(&[labels[a], labels[b], labels[c]]).unwrap().ndcg);
        }
        let mean = measured.iter().sum::<f64>() / 6.0;
        let variance = measured.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 6.0;
        let order = Order::of(&labels).unwrap();
        assert!((order.expected - mean).abs() < 1e-12 && (order.variance - variance).abs() < 1e-12);
    }

    #[test]
    fn lists_without_a_choice_are_left_out() {
        assert_eq!((Order::of(&[1.0, 1.0]), Order::of(&[0.0]), Order::of(&[])), (None, None, None));
    }
}
