//! Parameters of boosted trees, and how LightGBM is told them.

use matchrank_core::data::FeatureLists;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::Objective;

/// Cells of the features that are worth another thread.
const CELLS_PER_THREAD: usize = 2_000_000;

/// Parameters of boosted trees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedParams {
    /// Trees at most; where nothing is validated on, exactly. Default: 300.
    pub trees: usize,
    /// Factor of the values of each tree. Default: 0.05.
    pub learning_rate: f64,
    /// Leaves of a tree. Default: 7.
    pub leaves: usize,
    /// Rows of a leaf at least. Default: 50.
    pub min_rows: usize,
    /// Documents at the top of a list whose order counts, for LambdaMART. Default: 20.
    pub truncation: usize,
    /// Depth of a tree at most; 0 for no limit. Default: 0.
    pub max_depth: usize,
    /// Share of the features that each tree may split on. Default: 1.
    pub feature_fraction: f64,
    /// Share of the rows that trees are grown on, drawn anew every `bagging_freq` trees. Default: 1.
    pub bagging_fraction: f64,
    /// Trees after which rows are drawn anew; 0 for never, which `bagging_fraction` below 1 needs. Default: 0.
    pub bagging_freq: usize,
    /// Weight of the absolute values of leaves. Default: 0.
    pub lambda_l1: f64,
    /// Weight of the squares of leaves. Default: 0.
    pub lambda_l2: f64,
    /// Gain of a split at least. Default: 0.
    pub min_gain_to_split: f64,
    /// Sum of second derivatives of a leaf at least. Default: 0.001.
    pub min_sum_hessian_in_leaf: f64,
    /// Values that a feature is rounded to, at most. Default: 255.
    pub max_bin: usize,
}

impl Default for BoostedParams {
    fn default() -> Self {
        Self {
            trees: 300,
            learning_rate: 0.05,
            leaves: 7,
            min_rows: 50,
            truncation: 20,
            max_depth: 0,
            feature_fraction: 1.0,
            bagging_fraction: 1.0,
            bagging_freq: 0,
            lambda_l1: 0.0,
            lambda_l2: 0.0,
            min_gain_to_split: 0.0,
            min_sum_hessian_in_leaf: 1e-3,
            max_bin: 255,
        }
    }
}

impl BoostedParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        let Self { trees, learning_rate, leaves, min_rows, truncation, max_depth, max_bin, .. } = *self;
        let is_share = |share: f64| share > 0.0 && share <= 1.0;
        let weights = [self.lambda_l1, self.lambda_l2, self.min_gain_to_split, self.min_sum_hessian_in_leaf];
        let checks = [
            ((1..=100_000).contains(&trees), "trees must be from 1 to 100000"),
            (learning_rate > 0.0 && learning_rate <= 1.0, "learning_rate must be above 0 and at most 1"),
            ((2..=10_000).contains(&leaves), "leaves must be from 2 to 10000"),
            ((1..=1_000_000_000).contains(&min_rows), "min_rows must be at least 1"),
            ((1..=1_000_000).contains(&truncation), "truncation must be at least 1"),
            (max_depth <= 10_000, "max_depth must be at most 10000; 0 is for no limit"),
            (is_share(self.feature_fraction), "feature_fraction must be above 0 and at most 1"),
            (is_share(self.bagging_fraction), "bagging_fraction must be above 0 and at most 1"),
            (
                self.bagging_fraction == 1.0 || (1..=1_000_000).contains(&self.bagging_freq),
                "bagging_fraction below 1 needs bagging_freq of at least 1",
            ),
            (
                weights.iter().all(|weight| *weight >= 0.0 && weight.is_finite()),
                "lambda_l1, lambda_l2, min_gain_to_split and min_sum_hessian_in_leaf must be numbers of at least 0",
            ),
            ((2..=65_535).contains(&max_bin), "max_bin must be from 2 to 65535"),
        ];
        match checks.into_iter().find(|(holds, _)| !holds) {
            Some((_, message)) => Err(Error::Params(message.into())),
            None => Ok(()),
        }
    }

    pub(super) fn text(&self, objective: Objective, lists: &FeatureLists, seed: u64) -> String {
        let Self { learning_rate, leaves, min_rows, truncation, .. } = self;
        // Threads that share little work wait for each other more than they help. LightGBM has one number of threads for
        // the whole process, and what it allocated for another number is overrun: trees that are grown side by side, on
        // threads of a pool, all have one thread.
        let n_threads = match rayon::current_thread_index() {
            Some(_) => 1,
            None => (lists.features().bytes() / 4 / CELLS_PER_THREAD + 1).min(rayon::current_num_threads()),
        };
        let name = objective.lightgbm();
        let mut text = format!(
            "objective={name} learning_rate={learning_rate} num_leaves={leaves} min_data_in_leaf={min_rows} \
             min_data_in_bin=3 num_threads={n_threads} deterministic=true force_row_wise=true seed={} verbosity=-1",
            seed % (1 << 30)
        );
        text += &self.beside_defaults();
        if objective == Objective::LambdaMart {
            let highest = lists.labels().iter().fold(0f32, |highest, &grade| highest.max(grade)) as u32;
            let gains: Vec<String> = (0..=highest).map(|grade| ((1u64 << grade) - 1).to_string()).collect();
            text += &format!(" lambdarank_truncation_level={truncation} label_gain={}", gains.join(","));
        }
        text
    }

    /// Parameters in LightGBM's words that are not its defaults, each after a blank.
    fn beside_defaults(&self) -> String {
        let default = Self::default();
        let mut text = String::new();
        let mut add = |name: &str, value: f64, default: f64| {
            if value != default {
                text += &format!(" {name}={value}");
            }
        };
        add("max_depth", self.max_depth as f64, default.max_depth as f64);
        add("feature_fraction", self.feature_fraction, default.feature_fraction);
        add("bagging_fraction", self.bagging_fraction, default.bagging_fraction);
        add("bagging_freq", self.bagging_freq as f64, default.bagging_freq as f64);
        add("lambda_l1", self.lambda_l1, default.lambda_l1);
        add("lambda_l2", self.lambda_l2, default.lambda_l2);
        add("min_gain_to_split", self.min_gain_to_split, default.min_gain_to_split);
        add("min_sum_hessian_in_leaf", self.min_sum_hessian_in_leaf, default.min_sum_hessian_in_leaf);
        add("max_bin", self.max_bin as f64, default.max_bin as f64);
        text
    }
}
