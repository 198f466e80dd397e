//! Features of a query, and the similarity of two queries.
//!
//! Numbers form a point, and points have a distance. Categories and rankings have no position on a line: categories are
//! compared by overlap (the share that are equal), rankings by Kendall's count of pairs in the same order. These are
//! factors of a product kernel, together with the kernel of the distance.
//!
//! | part | kernel | value |
//! |---|---|---|
//! | categories | overlap | share of equal categories |
//! | rankings | Kendall | (1 + tau) / 2, the share of pairs in the same order; tau itself may be negative, but weights may not |
//! | | Mallows | exp(-nu D), D the share of pairs in opposite order |
//!
//! Pairs are those of items that both rankings contain; if there are none, tau = 0 and D = 1/2.
//!
//! References: Belanche and Villegas, 2013 (overlap); Mania et al., 2018 (Kendall and Mallows).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Features of one query.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryFeatures {
    /// Coordinates of a point.
    pub numbers: Vec<f64>,
    /// Values without an order, such as a topic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Orders of items, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rankings: Vec<Vec<String>>,
}

impl QueryFeatures {
    /// Creates features that consist of a point only.
    pub fn of_numbers(numbers: Vec<f64>) -> Self {
        Self { numbers, ..Self::default() }
    }

    /// Returns an error if a number is not finite.
    pub fn validate(&self) -> Result<()> {
        match self.numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(()),
            Some(i) => Err(Error::Params(format!(
                "query feature {} is {}; query features must be finite numbers",
                i + 1,
                self.numbers[i]
            ))),
        }
    }

    /// Returns true if another query has the same number of features of each kind.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.numbers.len() == other.numbers.len()
            && self.categories.len() == other.categories.len()
            && self.rankings.len() == other.rankings.len()
    }

    /// Returns the Euclidean distance of the numbers.
    pub fn distance(&self, other: &Self) -> f64 {
        let squares = self.numbers.iter().zip(&other.numbers).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>().sqrt()
    }
}

/// Kernel of rankings.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankingKernel {
    /// (1 + tau) / 2.
    #[default]
    Kendall,
    /// exp(-2 D): more than a tenth, even for opposite orders.
    Mallows,
}

/// nu of the Mallows kernel.
const NU: f64 = 2.0;

/// Returns the product of the kernels of categories and rankings, from 0 to 1; 1 if there are none.
pub(super) fn likeness(a: &QueryFeatures, b: &QueryFeatures, kernel: RankingKernel) -> f64 {
    let overlap = match a.categories.len() {
        0 => 1.0,
        n => a.categories.iter().zip(&b.categories).filter(|(a, b)| a == b).count() as f64 / n as f64,
    };
    let rankings = a.rankings.iter().zip(&b.rankings).map(|(a, b)| {
        let opposite = discordant(a, b);
        match kernel {
            RankingKernel::Kendall => 1.0 - opposite,
            RankingKernel::Mallows => (-NU * opposite).exp(),
        }
    });
    overlap * rankings.product::<f64>()
}

/// Returns the share of the pairs of common items that two rankings order in opposite ways; 1/2 if there are none.
fn discordant(a: &[String], b: &[String]) -> f64 {
    let place: HashMap<&str, usize> = b.iter().enumerate().map(|(i, item)| (item.as_str(), i)).collect();
    let common: Vec<usize> = a.iter().filter_map(|item| place.get(item.as_str()).copied()).collect();
    let n = common.len();
    let pairs = (n * n.saturating_sub(1) / 2) as f64;
    let opposite = (0..n).map(|i| common[i + 1..].iter().filter(|&&later| later < common[i]).count());
    if pairs == 0.0 { 0.5 } else { opposite.sum::<usize>() as f64 / pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn kinds_of_likeness_by_hand() {
        assert_eq!(discordant(&words("a b c"), &words("a b c")), 0.0);
        assert_eq!(discordant(&words("a b c"), &words("c b a")), 1.0);
        // Of a-b, a-c and b-c only the last is reversed; d is unknown to the first.
        assert_eq!(discordant(&words("a b c"), &words("a d c b")), 1.0 / 3.0);
        assert_eq!(discordant(&words("a b"), &words("c d")), 0.5);
        let query = |category: &str, ranking: &str| QueryFeatures {
            numbers: vec![],
            categories: words(category),
            rankings: vec![words(ranking)],
        };
        let (a, b) = (query("music en", "a b c"), query("music fr", "a c b"));
        assert_eq!(likeness(&a, &b, RankingKernel::Kendall), 0.5 * (1.0 - 1.0 / 3.0));
        assert_eq!(likeness(&a, &b, RankingKernel::Mallows), 0.5 * (-2.0f64 / 3.0).exp());
        assert_eq!(likeness(&a, &a, RankingKernel::Mallows), 1.0);
        assert!(QueryFeatures::of_numbers(vec![1.0, f64::NAN]).validate().is_err());
    }
}
