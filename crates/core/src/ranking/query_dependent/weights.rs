//! Weight of a training query for a target: pi_i = W(||q_i - q_0|| / h), for the k nearest.
//!
//! | weights | W(u) | |
//! |---|---|---|
//! | `gaussian` | exp(-u^2/2) / sqrt(2 pi) | q-SVM |
//! | `knn` | 1 | kNN-SVM: the k nearest count the same |
//! | `epanechnikov` | 3/4 (1 - u^2)_+ | |
//! | `tricube` | 70/81 (1 - u^3)_+^3 | |
//! | `uniform` | 1, for all queries | RankSVM: one function |
//! | `individual` | 1 for the target itself | individual SVM: each query for itself |
//!
//! h defaults to the median over training queries of the distance to the target. The paper's factor h^-p is left out:
//! it is the same for all queries, and with forty features it would require extreme values of lambda. W is multiplied
//! by the similarity of categories and rankings, if queries have any (`query_features.rs`).
//!
//! The nearest queries are those with the largest weights; ties are broken by the smaller distance, then by the earlier
//! query.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::query_features::{QueryFeatures, RankingKernel, likeness};

/// Weighting of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// By the normal density of the distance.
    #[default]
    Gaussian,
    /// Equal weights for the nearest.
    Knn,
    /// By a parabola of the distance.
    Epanechnikov,
    /// By a cube of cubes of the distance.
    Tricube,
    /// Equal weights for all queries.
    Uniform,
    /// Only the target itself.
    Individual,
}

impl Weights {
    /// Returns true if weights depend on query features.
    pub fn are_local(self) -> bool {
        !matches!(self, Self::Uniform | Self::Individual)
    }

    /// W(u).
    pub fn of(self, u: f64) -> f64 {
        match self {
            Self::Gaussian => (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt(),
            Self::Epanechnikov => 0.75 * (1.0 - u * u).max(0.0),
            Self::Tricube => 70.0 / 81.0 * (1.0 - u.powi(3)).max(0.0).powi(3),
            Self::Knn | Self::Uniform | Self::Individual => 1.0,
        }
    }
}

/// A training query and its weight for a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Number among the training lists.
    pub query: usize,
    /// Distance from the target; 0 if distances are not used.
    pub distance: f64,
    /// pi, above 0.
    pub weight: f64,
}

/// Returns the median; the mean of the middle two for an even number of values, `None` if there are none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    let n = values.len();
    values.sort_unstable_by(f64::total_cmp);
    Some((values.get(n.checked_sub(1)? / 2)? + values[n / 2]) / 2.0)
}

/// Rule by which the training queries nearest to a target are found and weighted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// Weight by distance.
    pub weights: Weights,
    /// h; the median distance without it.
    pub bandwidth: Option<f64>,
    /// Kernel of rankings among the features.
    pub kernel: RankingKernel,
    /// Number of queries.
    pub k: usize,
}

impl Nearest {
    /// Returns the nearest training queries, nearest first, with weights above 0.
    pub fn of(self, queries: &[QueryFeatures], target: &QueryFeatures) -> Vec<Neighbour> {
        let Self { weights, bandwidth, kernel, k } = self;
        let distances: Vec<f64> = queries.iter().map(|query| query.distance(target)).collect();
        let h = bandwidth.or_else(|| median(distances.clone())).unwrap_or(1.0);
        let weigh = |(query, distance): (usize, f64)| {
            let u = if distance == 0.0 { 0.0 } else { distance / h };
            let weight = weights.of(u) * likeness(&queries[query], target, kernel);
            Neighbour { query, distance, weight }
        };
        let mut all: Vec<Neighbour> = distances.into_iter().enumerate().map(weigh).collect();
        all.retain(|neighbour| neighbour.weight > 0.0);
        all.sort_by(|a, b| {
            (b.weight.total_cmp(&a.weight))
                .then(a.distance.total_cmp(&b.distance))
                .then(a.query.cmp(&b.query))
        });
        all.truncate(k);
        all
    }
}

/// Returns the largest distance from a query to the nearest one at another place; infinite if all are at one place.
pub(super) fn widest(queries: &[QueryFeatures]) -> f64 {
    let nearest = |i: usize| {
        let distances = queries.iter().map(|other| other.distance(&queries[i]));
        distances.filter(|distance| *distance > 0.0).fold(f64::INFINITY, f64::min)
    };
    let all: Vec<f64> = (0..queries.len()).into_par_iter().map(nearest).collect();
    all.into_iter().fold(0.0, f64::max)
}
