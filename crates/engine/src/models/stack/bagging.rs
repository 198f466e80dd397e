//! Boosted trees of a stack: the mean of several rankers, each grown on a part of the queries (bagging).
//!
//! Few queries teach a stack, and trees follow each of them: two rankers that learned from nearly the same queries differ
//! more than the models below them do. Their mean differs less, and ranks better than most of them.

use matchrank_core::Result;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::Ranker;
use matchrank_core::ranking::trees::Trees;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::StackParams;
use super::training::{StackLessons, StackTrial};
use crate::rankers::boosted::{BoostedModel, BoostedReport, Boosting, Objective};

/// Share of the queries that a bag has.
const SHARE: f64 = 0.8;

/// A part of the queries, drawn by a seed.
#[derive(Clone, Copy)]
struct QueryBag {
    number: u64,
    seed: u64,
    share: f64,
}

impl QueryBag {
    /// Bags to take the mean over; a single one has all queries.
    fn all(n: usize, seed: u64) -> impl Iterator<Item = Self> + Clone {
        let share = if n == 1 { 1.0 } else { SHARE };
        (0..n as u64).map(move |number| Self { number, seed, share })
    }

    fn holds(self, query: usize) -> bool {
        let of_query = self.seed ^ (self.number << 48) ^ ((query as u64) << 16);
        Xoshiro256PlusPlus::seed_from_u64(of_query).random::<f64>() < self.share
    }

    /// Seed of LightGBM for the bag.
    fn seed(self) -> u64 {
        self.seed.wrapping_add(self.number)
    }
}

impl StackLessons<'_> {
    /// Tries trees with a number of leaves, as many in each bag as are best in the mean over folds and bags.
    pub(super) fn try_trees(
        &self,
        objective: Objective,
        leaves: usize,
        params: &StackParams,
        seed: u64,
    ) -> Result<StackTrial> {
        let boosting = Boosting { objective, params: params.boosted(leaves, params.trees) };
        let kind = objective.kind();
        let tested = |fold: usize| self.lists(kind, |query| query % self.n_folds == fold);
        let tested = (0..self.n_folds).map(tested).collect::<Result<Vec<_>>>()?;
        let pairs: Vec<(usize, QueryBag)> = (0..self.n_folds)
            .flat_map(|fold| QueryBag::all(params.bags, seed).map(move |bag| (fold, bag)))
            .collect();
        let grow = |&(fold, bag): &(usize, QueryBag)| {
            let train = self.lists(kind, |query| query % self.n_folds != fold && bag.holds(query))?;
            boosting.grow(&train, Some((&tested[fold], self.measure)), bag.seed(), &Silent)
        };
        let grown = pairs.par_iter().map(grow).collect::<Result<Vec<_>>>()?;
        let longest = grown.iter().map(|(_, figures)| figures.len()).max().unwrap_or(0);
        // Trees that stopped growing have the figure of the last one from there on.
        let at = |figures: &[f64], n: usize| figures.get(n).or(figures.last()).copied().unwrap_or(0.0);
        let means = (0..longest).map(|n| grown.iter().map(|(_, figures)| at(figures, n)).sum::<f64>());
        let best = means.enumerate().reduce(|best, mean| if mean.1 > best.1 { mean } else { best });
        let n_trees = best.map_or(1, |(n, _)| n + 1);
        let figure = self.cross_validated(|fold| {
            let bags = &grown[fold * params.bags..][..params.bags];
            let trees = bags.iter().map(|(trees, _)| trees.clone().truncated(n_trees)).collect();
            Ok(Trees::mean(trees).score_all(&tested[fold]))
        })?;
        Ok(StackTrial { leaves: Some(leaves), trees: Some(n_trees), ..self.trial(kind, figure) })
    }

    /// Grows trees on all queries, bag by bag.
    pub(super) fn grow_all(&self, boosting: Boosting, n_bags: usize, seed: u64) -> Result<BoostedModel> {
        let bags: Vec<QueryBag> = QueryBag::all(n_bags, seed).collect();
        let grow = |bag: &QueryBag| {
            let train = self.lists(boosting.objective.kind(), |query| bag.holds(query))?;
            Ok(boosting.grow(&train, None, bag.seed(), &Silent)?.0)
        };
        let trees = Trees::mean(bags.par_iter().map(grow).collect::<Result<Vec<_>>>()?);
        let Boosting { objective, params } = boosting;
        Ok(BoostedModel { objective, params, trees, report: BoostedReport::default() })
    }
}
