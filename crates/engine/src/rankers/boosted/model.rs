//! Boosted trees after training.

use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::message::counted;
use matchrank_core::ranking::trees::Trees;
use matchrank_core::ranking::{FeatureContribution, Ranker, Shapley};
use serde::{Deserialize, Serialize};

use super::{BoostedParams, Boosting, Objective, codec};
use crate::container::Writer;
use crate::description::Description;
use crate::prose::{human, to_json};
use crate::rankers::model::{Importance, TrainingCourse, figure};
use crate::rankers::{RankerKind, RankerRecipe, RankingModel};

/// Report of the growing of trees.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BoostedReport {
    /// The validation figure of the first 1, 2, ... trees; empty where nothing was validated on.
    pub validation: Vec<f64>,
}

/// Boosted trees as a file holds them.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedModel {
    /// Objective of the trees.
    pub objective: Objective,
    /// Parameters of the growing.
    pub params: BoostedParams,
    /// The trees that were kept.
    pub trees: Trees,
    /// Report of the growing of trees.
    pub report: BoostedReport,
}

impl Ranker for BoostedModel {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        self.trees.score(list, scores);
    }

    fn score_all(&self, lists: &FeatureLists) -> Vec<f64> {
        self.trees.score_all(lists)
    }
}

/// Features that a description names, those of the largest gain.
const SHOWN: usize = 10;

impl BoostedModel {
    /// Shares of the gain of all splits, by feature.
    fn shares(&self) -> Vec<f64> {
        let gains = self.trees.gains();
        let sum = gains.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        gains.into_iter().map(|gain| gain / sum).collect()
    }
}

impl RankingModel for BoostedModel {
    fn kind(&self) -> &'static RankerKind {
        self.objective.kind()
    }

    fn n_features(&self) -> usize {
        self.trees.n_features()
    }

    fn validated(&self) -> Option<f64> {
        self.report.validation.iter().copied().max_by(f64::total_cmp)
    }

    fn settled(&self) -> RankerRecipe {
        let params = BoostedParams { trees: self.trees.len().max(1), ..self.params };
        RankerRecipe::of(self.kind(), Boosting { objective: self.objective, params }, Vec::new())
    }

    fn remark(&self) -> Option<&'static str> {
        let is_level = self.trees.gains().iter().all(|&gain| gain == 0.0);
        is_level.then_some(
            "no tree splits anything, so every document gets the same score: there may be too few lists for leaves of \
             min_rows rows, or one grade alone; set a smaller min_rows, or give more lists",
        )
    }

    fn course(&self, measure: &str) -> TrainingCourse {
        let mut course = TrainingCourse::default();
        let kept = self.trees.len();
        course.notes.extend(self.remark().map(str::to_owned));
        course.size = counted(kept, "tree");
        course.columns(&["trees", measure, ""]);
        for (n, &value) in (1..).zip(&self.report.validation) {
            course.row(vec![n.to_string(), figure(Some(value))], n == kept);
            let is_brief = n == kept || n.is_power_of_two() || n == self.report.validation.len();
            course.rows.last_mut().expect("a row was added").is_brief = is_brief;
        }
        course.details.set("params", &self.params);
        course.details.set("trees", &kept);
        course.details.set("report", &self.report);
        course
    }

    fn describe(&self) -> Description {
        let mut description = Description::default();
        description.exact_params(&self.params);
        description.facts[0].0 = "trees at most".to_owned();
        description.fact("trees", human(self.trees.len() as u64));
        description.fact("features", human(self.trees.n_features() as u64));
        description.validated(self.validated());
        let shares = (1..).zip(self.shares()).filter(|(_, share)| *share > 0.0);
        let mut shares: Vec<(usize, f64)> = shares.collect();
        description.fact("of which split on", human(shares.len() as u64));
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let shown = shares.iter().take(SHOWN);
        let shown = shown.map(|(feature, share)| format!("{feature} ({:.1} %)", 100.0 * share));
        let shown: Vec<String> = shown.collect();
        description.text(if shown.is_empty() {
            "No tree splits anything: every document gets the same score.".to_owned()
        } else {
            format!("Features of the largest gain: {}.", shown.join(", "))
        });
        description.details.set("params", &self.params);
        description.details.set("trees", &self.trees.len());
        description.details.set("gains", &self.trees.gains());
        description.details.set("report", &to_json(&self.report));
        description
    }

    fn importance(&self) -> Option<Importance> {
        Some(Importance::Gains(self.shares()))
    }

    fn contributions(&self, _: &List<'_>, _: usize) -> Result<Option<Vec<FeatureContribution>>> {
        Ok(None)
    }

    fn shapley(&self, list: &List<'_>, i: usize, references: &[usize]) -> Result<Shapley> {
        Ok(self.trees.shapley(list, i, references))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }
}
