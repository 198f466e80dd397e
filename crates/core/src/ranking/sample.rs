//! Weighted training lists, and sums over them on all threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::data::{FeatureLists, List};
use crate::{Error, Result};

/// Number of parts in which sums are computed: fixed, so that a result never depends on the number of threads.
const PARTS: usize = 32;

/// Feature lists with their weights.
#[derive(Debug, Clone)]
pub struct Sample<'a> {
    lists: &'a FeatureLists,
    weights: Option<Vec<f64>>,
    parts: Vec<Range<usize>>,
}

impl<'a> Sample<'a> {
    /// Creates a sample in which all lists have the same weight.
    pub fn new(lists: &'a FeatureLists) -> Self {
        // Parts have about the same number of rows, since lengths of lists may differ by orders of magnitude.
        let mut parts = Vec::with_capacity(PARTS);
        let (mut start, mut rows) = (0, 0);
        for (query, list) in lists.iter().enumerate() {
            rows += list.len();
            if rows * PARTS >= lists.n_rows() * (parts.len() + 1) {
                parts.push(start..query + 1);
                start = query + 1;
            }
        }
        Self { lists, weights: None, parts }
    }

    /// Creates a sample with a weight per query. Only ratios matter: a list of weight 2 counts twice.
    pub fn weighted(lists: &'a FeatureLists, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != lists.n_queries() {
            let (given, needed) = (weights.len(), lists.n_queries());
            return Err(Error::Shape(format!(
                "{given} query weights were given for {needed} queries; one per query is expected"
            )));
        }
        if let Some(query) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            let (id, weight) = (lists.list(query).query(), weights[query]);
            return Err(Error::Params(format!(
                "the weight of query {id} is {weight}; weights must be finite and at least 0"
            )));
        }
        if !weights.iter().any(|weight| *weight > 0.0) {
            return Err(Error::Params("all query weights are 0; at least one must be above 0".into()));
        }
        Ok(Self { weights: Some(weights), ..Self::new(lists) })
    }

    /// The lists.
    pub fn lists(&self) -> &'a FeatureLists {
        self.lists
    }

    /// Weight of a list.
    pub fn weight(&self, query: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[query])
    }

    /// Sum of all weights: n if all lists have the same weight.
    pub fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.lists.n_queries() as f64, |weights| weights.iter().sum())
    }

    /// Returns true if all lists have the same weight.
    pub fn is_even(&self) -> bool {
        self.weights.as_ref().is_none_or(|weights| weights.iter().all(|weight| *weight == weights[0]))
    }

    /// Computes the means over lists of the values that `each` returns, and of the vector that it adds to. `each`
    /// receives scratch space, the number of the list, the list, and its share of the mean.
    pub fn means<S: Default, const N: usize>(
        &self,
        each: impl Fn(&mut S, usize, &List<'a>, f64, &mut [f64]) -> [f64; N] + Sync,
    ) -> ([f64; N], Vec<f64>) {
        let d = self.lists.n_features();
        let total = self.total_weight();
        let sums: Vec<([f64; N], Vec<f64>)> = self
            .parts
            .par_iter()
            .map(|part| {
                let (mut scratch, mut vector) = (S::default(), vec![0.0; d]);
                let mut values = [0.0; N];
                for query in part.clone().filter(|&query| self.weight(query) > 0.0) {
                    let share = self.weight(query) / total;
                    let more = each(&mut scratch, query, &self.lists.list(query), share, &mut vector);
                    values.iter_mut().zip(more).for_each(|(sum, more)| *sum += share * more);
                }
                (values, vector)
            })
            .collect();
        let mut sums = sums.into_iter();
        let (mut values, mut vector) = sums.next().unwrap_or(([0.0; N], vec![0.0; d]));
        for (more, add) in sums {
            values.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            vector.iter_mut().zip(add).for_each(|(sum, add)| *sum += add);
        }
        (values, vector)
    }
}
