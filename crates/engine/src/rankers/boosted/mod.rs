//! Boosted trees: MART and LambdaMART, grown by LightGBM and scored without it.
//!
//! A tree is grown at a time. Where there are validation lists, the sum of the trees so far is measured on them after
//! each, and the number of trees that is best is kept; growing ends when 50 trees have not helped.
//!
//! NaN is a missing value, in training and in scoring, as LightGBM has it. Rows count by their weights, where the lists
//! have some ([`FeatureLists::weights`]): LightGBM multiplies what it learns from a row by its weight.

mod booster;
mod library;
#[cfg(test)]
mod tests;

use matchrank_core::data::{FeatureLists, List};
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::trees::Trees;
use matchrank_core::ranking::{Ranker, evaluate_ranker};
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use booster::Booster;
use library::Library;
pub use library::VARIABLE;

use super::training::require_higher_is_better;

/// Trees that may come without a better figure before growing ends.
const PATIENCE: usize = 50;

/// Cells of the features that are worth another thread.
const CELLS_PER_THREAD: usize = 2_000_000;

/// Whether LightGBM is there to grow trees.
pub fn is_installed() -> bool {
    Library::load().is_ok()
}

/// Says which library of LightGBM grows trees, once in a process, if there is one: before work whose own notes are not
/// shown.
pub(crate) fn note_library(progress: &dyn Progress) {
    if let Ok(library) = Library::load() {
        library.note(progress);
    }
}

/// What trees are grown to make small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// MART: squared errors of the grades.
    Mart,
    /// LambdaMART: pairs in the wrong order, by what exchanging them would change NDCG.
    LambdaMart,
}

impl Objective {
    /// The kinds of models.
    pub const ALL: [Self; 2] = [Self::Mart, Self::LambdaMart];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mart => "mart",
            Self::LambdaMart => "lambdamart",
        }
    }

    pub(crate) fn lightgbm(self) -> &'static str {
        match self {
            Self::Mart => "regression",
            Self::LambdaMart => "lambdarank",
        }
    }
}

/// How trees are grown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedParams {
    /// Trees at most; where nothing is validated on, exactly. Default: 300.
    pub trees: usize,
    /// What the values of each tree are multiplied by. Default: 0.05.
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
    /// Refuses values that mean nothing.
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

    fn text(&self, objective: Objective, lists: &FeatureLists, seed: u64) -> String {
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
}

impl BoostedParams {
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

/// Grades that LambdaMART can take: it counts in gains of 2^grade - 1.
const HIGHEST_GRADE: f32 = 30.0;

/// How growing went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BoostedReport {
    /// The validation figure of the first 1, 2, ... trees; empty where nothing was validated on.
    pub validation: Vec<f64>,
}

/// Boosted trees as a file holds them.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedModel {
    /// What the trees were grown for.
    pub objective: Objective,
    /// How.
    pub params: BoostedParams,
    /// The trees that were kept.
    pub trees: Trees,
    /// How growing went.
    pub report: BoostedReport,
}

impl Ranker for BoostedModel {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        self.trees.score(list, scores);
    }
}

impl BoostedReport {
    /// The validation figure of the trees that were kept.
    pub fn validated(&self) -> Option<f64> {
        self.validation.iter().copied().max_by(f64::total_cmp)
    }
}

/// Grows trees on lists; `validation` is what their number is chosen by.
pub fn train_boosted(
    objective: Objective,
    params: &BoostedParams,
    train: &FeatureLists,
    validation: Option<(&FeatureLists, Measure)>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<BoostedModel> {
    let (trees, validation) = grow(objective, params, train, validation, seed, progress)?;
    let kept = if validation.is_empty() { trees.len() } else { best(&validation) };
    let report = BoostedReport { validation };
    Ok(BoostedModel { objective, params: *params, trees: trees.truncated(kept), report })
}

/// All trees that were grown, and the validation figure of the first 1, 2, ... of them.
pub(crate) fn grow(
    objective: Objective,
    params: &BoostedParams,
    train: &FeatureLists,
    validation: Option<(&FeatureLists, Measure)>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<(Trees, Vec<f64>)> {
    params.validate()?;
    validation.map_or(Ok(()), |(_, measure)| require_higher_is_better(measure))?;
    let library = Library::load()?;
    library.note(progress);
    if objective == Objective::LambdaMart {
        let odd = train.labels().iter().position(|grade| grade.fract() != 0.0 || *grade > HIGHEST_GRADE);
        if let Some(row) = odd {
            let grade = train.labels()[row];
            let message = format!(
                "the grade is {grade}; LambdaMART takes whole grades from 0 to {HIGHEST_GRADE} (MART takes all)"
            );
            return Err(train.error_at(row, message));
        }
    }
    progress.begin("growing trees", Some(params.trees as u64), "trees");
    let mut booster = Booster::new(&library, train, &params.text(objective, train, seed), params.min_rows)?;
    let mut figures = Vec::new();
    let mut scores = validation.map(|(lists, _)| vec![0.0; lists.n_rows()]).unwrap_or_default();
    for grown in 0..params.trees {
        if !booster.grow()? {
            break;
        }
        progress.advance(1);
        let Some((lists, measure)) = validation else { continue };
        add(&booster.trees(grown, 1)?, lists, &mut scores);
        figures.push(evaluate_ranker(&Known(&scores), lists, &[measure])?.mean(0));
        if figures.len() >= best(&figures) + PATIENCE {
            break;
        }
    }
    Ok((booster.trees(0, 0)?, figures))
}

/// The smallest number of trees with the best figure.
fn best(figures: &[f64]) -> usize {
    let best = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    1 + figures.iter().position(|&figure| figure == best).unwrap_or(0)
}

/// Adds the values of trees to the scores of all rows.
fn add(trees: &Trees, lists: &FeatureLists, scores: &mut [f64]) {
    let values = trees.score_all(lists);
    scores.par_iter_mut().zip(values).for_each(|(score, value)| *score += value);
}

/// Scores that are known, row by row.
struct Known<'a>(&'a [f64]);

impl Ranker for Known<'_> {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        scores.clear();
        scores.extend_from_slice(&self.0[list.rows()]);
    }
}
