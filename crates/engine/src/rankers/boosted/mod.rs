//! Boosted trees: MART and LambdaMART, grown by LightGBM and scored without it.
//!
//! A tree is grown at a time. Where there are validation lists, the sum of the trees so far is measured on them after
//! each, and the number of trees that is best is kept; growing ends when 50 trees have not helped.

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

pub use library::VARIABLE;
use library::{Booster, Library};

/// Trees that may come without a better figure before growing ends.
const PATIENCE: usize = 50;

/// Cells of the features that are worth another thread.
const CELLS_PER_THREAD: usize = 2_000_000;

/// Whether LightGBM is there to grow trees.
pub fn is_installed() -> bool {
    Library::load().is_ok()
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
}

impl Default for BoostedParams {
    fn default() -> Self {
        Self { trees: 300, learning_rate: 0.05, leaves: 7, min_rows: 50, truncation: 20 }
    }
}

impl BoostedParams {
    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        let Self { trees, learning_rate, leaves, min_rows, truncation } = *self;
        let checks = [
            ((1..=100_000).contains(&trees), "trees must be from 1 to 100000"),
            (learning_rate > 0.0 && learning_rate <= 1.0, "learning_rate must be above 0 and at most 1"),
            ((2..=10_000).contains(&leaves), "leaves must be from 2 to 10000"),
            ((1..=1_000_000_000).contains(&min_rows), "min_rows must be at least 1"),
            ((1..=1_000_000).contains(&truncation), "truncation must be at least 1"),
        ];
        match checks.into_iter().find(|(holds, _)| !holds) {
            Some((_, message)) => Err(Error::Params(message.into())),
            None => Ok(()),
        }
    }

    fn text(&self, objective: Objective, lists: &FeatureLists, seed: u64) -> String {
        let Self { learning_rate, leaves, min_rows, truncation, .. } = self;
        // Threads that share little work wait for each other more than they help.
        let n_threads =
            (lists.n_rows() * lists.n_features() / CELLS_PER_THREAD + 1).min(rayon::current_num_threads());
        let name = objective.lightgbm();
        let mut text = format!(
            "objective={name} learning_rate={learning_rate} num_leaves={leaves} min_data_in_leaf={min_rows} \
             min_data_in_bin=3 num_threads={n_threads} deterministic=true force_row_wise=true seed={} verbosity=-1",
            seed % (1 << 30)
        );
        if objective == Objective::LambdaMart {
            let highest = lists.labels().iter().fold(0f32, |highest, &grade| highest.max(grade)) as u32;
            let gains: Vec<String> = (0..=highest).map(|grade| ((1u64 << grade) - 1).to_string()).collect();
            text += &format!(" lambdarank_truncation_level={truncation} label_gain={}", gains.join(","));
        }
        text
    }
}

/// Grades that LambdaMART can take: it counts in gains of 2^grade - 1.
const HIGHEST_GRADE: f32 = 30.0;

/// How growing went.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    let library = Library::load()?;
    library.note(progress);
    if objective == Objective::LambdaMart {
        let odd = train.labels().iter().find(|grade| grade.fract() != 0.0 || **grade > HIGHEST_GRADE);
        if let Some(grade) = odd {
            return Err(Error::Params(format!(
                "there is a grade of {grade}; LambdaMART takes whole grades from 0 to {HIGHEST_GRADE} (MART takes all)"
            )));
        }
    }
    progress.begin("growing trees", Some(params.trees as u64), "trees");
    let mut booster = Booster::new(&library, train, &params.text(objective, train, seed))?;
    let mut figures = Vec::new();
    let mut scores = validation.map(|(lists, _)| vec![0.0; lists.n_rows()]).unwrap_or_default();
    for grown in 0..params.trees {
        if !booster.grow()? {
            break;
        }
        progress.advance(1);
        let Some((lists, measure)) = validation else { continue };
        let tree = Trees::parse_lightgbm("LightGBM", &booster.text(grown, 1)?)?;
        add(&tree, lists, &mut scores);
        figures.push(evaluate_ranker(&Known(&scores), lists, &[measure])?.mean(0));
        if figures.len() >= best(&figures) + PATIENCE {
            break;
        }
    }
    Ok((Trees::parse_lightgbm("LightGBM", &booster.text(0, 0)?)?, figures))
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
