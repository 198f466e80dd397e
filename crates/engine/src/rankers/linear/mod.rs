//! Linear rankers: a weight for every feature, learned from scaled lists.
//!
//! A linear ranker is a type of parameters that implements [`LinearParams`]: how weights are learned from a sample of
//! lists, and how to report that. Scaling, the choice among scalings, files, descriptions and explanations are here.

mod codec;
pub mod elasticsearch;
mod path;
mod training;

use std::fmt::Debug;
use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::progress::Progress;
use matchrank_core::ranking::{
    FeatureContribution, Fitting, LinearRanker, Ranker, Sample, ScalingKind, Shapley,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use codec::LinearState;
pub(super) use path::{path_course, validated};
pub use training::train_linear;

use super::kind::{LAMBDA, SCALINGS, Scalings, Takes};
use super::model::{Importance, TrainingCourse};
use super::recipe::{Lessons, RankerParams};
use super::{RankerKind, RankerRecipe, RankingModel};
use crate::container::Writer;
use crate::description::Description;
use crate::prose::{human, to_json};
use crate::settings::params_from;

/// Inputs that the training of most linear rankers takes.
pub(super) const TAKES: Takes = Takes {
    scalings: Scalings::Several,
    missing: false,
    query_weights: true,
    document_weights: false,
    query_features: false,
};

/// Help on a path of lambdas.
pub(super) const LAMBDA_HELP: &str = "weight of ||w||^2 / 2, or several, as in [1,0.1], of which validation chooses, beyond an end too if that is best; \
     0.01 without validation lists";

/// A linear ranker whose lambda is chosen by validation, for descriptors to start from.
pub(super) const fn kind<P: LinearParams>(name: &'static str, summary: &'static str) -> RankerKind {
    RankerKind {
        name,
        class: "",
        summary,
        help: "",
        parameters: &[],
        examples: &[],
        takes: TAKES,
        variants: None,
        curve: None,
        is_seeded: false,
        chosen: Some(LAMBDA),
        space: &[SCALINGS],
        effort: None,
        announce: None,
        parse: |settings| Ok(Arc::new(params_from::<P>(settings)?)),
        open: |file| Ok(Arc::new(codec::get::<P>(file)?)),
    }
}

/// Parameters of a linear ranker, and so how its weights are learned.
pub trait LinearParams:
    Debug + Clone + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Report of a training.
    type Report: LinearReport;
    /// State that a training goes on from; `()` for rankers that learn at once.
    type State: LinearState;
    /// The kind of ranker.
    const KIND: &'static RankerKind;

    /// Returns an error if a parameter is out of range.
    fn validate(&self) -> Result<()>;

    /// Learns weights from lists whose features are scaled already.
    fn fit(
        &self,
        sample: &Sample<'_>,
        fitting: &Fitting<'_>,
    ) -> Result<(Vec<f64>, Self::Report, Self::State)>;

    /// The parameters with what validation chose.
    fn settled(&self, report: &Self::Report) -> Self;

    /// Warns of weights that are not what was asked for.
    fn remark(&self, _report: &Self::Report, _is_zero: bool) -> Option<&'static str> {
        None
    }
}

/// Report of the training of a linear ranker.
pub trait LinearReport:
    Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Its name in files.
    const NAME: &'static str;

    /// Validation figure of the weights that were kept.
    fn validated(&self) -> Option<f64>;

    /// Adds what was kept to a description.
    fn describe(&self, description: &mut Description);

    /// Adds the epochs or lambdas that were tried to the course of a training.
    fn course(&self, measure: &str, course: &mut TrainingCourse);

    /// Figures that were reported list by list.
    fn curve(&self) -> Option<(Vec<&'static str>, Vec<Vec<String>>)> {
        None
    }
}

/// One of several ways of scaling that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScalingTrial {
    /// Scaling of the features.
    pub scaling: ScalingKind,
    /// The validation figure.
    pub validation: f64,
}

/// A linear ranker as a file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel<P: LinearParams> {
    /// Parameters of the training.
    pub params: P,
    /// Weights and scaling.
    pub ranker: LinearRanker,
    /// Report of the training.
    pub report: P::Report,
    /// State that training goes on from.
    pub state: P::State,
    /// The scalings that were tried, where validation chose; else empty.
    pub scalings: Vec<ScalingTrial>,
}

impl<P: LinearParams> RankerParams for P {
    fn validate(&self) -> Result<()> {
        LinearParams::validate(self)
    }

    fn json(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain data")
    }

    fn train(
        &self,
        scalings: &[ScalingKind],
        lessons: Lessons<'_>,
        progress: &dyn Progress,
    ) -> Result<Arc<dyn RankingModel>> {
        Ok(Arc::new(train_linear(self, scalings, lessons, progress)?))
    }
}

impl<P: LinearParams> Ranker for LinearModel<P> {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        self.ranker.score(list, scores);
    }

    fn score_all(&self, lists: &FeatureLists) -> Vec<f64> {
        self.ranker.score_all(lists)
    }
}

impl<P: LinearParams> RankingModel for LinearModel<P> {
    fn kind(&self) -> &'static RankerKind {
        P::KIND
    }

    fn n_features(&self) -> usize {
        self.ranker.weights.len()
    }

    fn validated(&self) -> Option<f64> {
        self.report.validated()
    }

    fn settled(&self) -> RankerRecipe {
        let params = self.params.settled(&self.report);
        RankerRecipe::of(P::KIND, params, vec![self.ranker.scaling.kind()])
    }

    fn remark(&self) -> Option<&'static str> {
        let is_zero = self.ranker.weights.iter().all(|weight| *weight == 0.0);
        let remark = self.params.remark(&self.report, is_zero);
        remark.or(is_zero.then_some("all weights are 0: every document gets the same score"))
    }

    fn course(&self, measure: &str) -> TrainingCourse {
        let mut course = TrainingCourse::default();
        let name = |scaling: ScalingKind| to_json(&scaling).as_str().unwrap_or_default().to_owned();
        if !self.scalings.is_empty() {
            let trials = self.scalings.iter().map(|t| format!("{} {:.4}", name(t.scaling), t.validation));
            let (kept, trials) = (name(self.ranker.scaling.kind()), trials.collect::<Vec<_>>().join(", "));
            course.notes.push(format!("scaling {kept}, chosen by validation: {trials}"));
        }
        course.notes.extend(self.remark().map(str::to_owned));
        course.details.set("scaling", &self.ranker.scaling.kind());
        course.details.set("scalings", &self.scalings);
        course.details.set("params", &json!({ P::KIND.name: to_json(&self.params) }));
        course.details.set("report", &json!({ P::Report::NAME: to_json(&self.report) }));
        self.report.course(measure, &mut course);
        course
    }

    fn curve(&self) -> Option<(Vec<&'static str>, Vec<Vec<String>>)> {
        self.report.curve()
    }

    fn describe(&self) -> Description {
        let mut description = Description::default();
        let LinearRanker { weights, scaling } = &self.ranker;
        description.exact_params(&self.params);
        description.fact("scaling", to_json(&scaling.kind()).as_str().unwrap_or_default());
        description.fact("features", human(weights.len() as u64));
        let used = weights.iter().filter(|weight| **weight != 0.0).count();
        description.fact("of which with a weight", human(used as u64));
        self.state.describe(&mut description);
        self.report.describe(&mut description);
        description.validated(self.report.validated());
        description.text(largest(weights));
        let details = &mut description.details;
        details.set("params", &json!({ P::KIND.name: to_json(&self.params) }));
        details.set("scaling", &scaling.kind());
        details.set("scalings", &self.scalings);
        details.set("weights", weights);
        details.set("factors", &scaling.factors());
        details.set("state", &self.state.details());
        details.set("report", &json!({ P::Report::NAME: to_json(&self.report) }));
        description
    }

    fn importance(&self) -> Option<Importance> {
        Some(Importance::Weights(self.ranker.weights.clone()))
    }

    fn linear(&self) -> Option<&LinearRanker> {
        Some(&self.ranker)
    }

    fn contributions(&self, list: &List<'_>, i: usize) -> Result<Option<Vec<FeatureContribution>>> {
        Ok(Some(self.ranker.explain(list, i)))
    }

    fn shapley(&self, list: &List<'_>, i: usize, references: &[usize]) -> Result<Shapley> {
        Ok(self.ranker.shapley(list, i, references))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }
}

/// Features that a description names, those of the largest weights.
const SHOWN: usize = 10;

fn largest(weights: &[f64]) -> String {
    let mut features: Vec<(usize, f64)> = (1..).zip(weights.iter().copied()).collect();
    features.retain(|(_, weight)| *weight != 0.0);
    if features.is_empty() {
        return "All weights are 0: nothing was learned, and every document gets the same score.".into();
    }
    features.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let shown: Vec<String> =
        features.iter().take(SHOWN).map(|(feature, weight)| format!("{feature} ({weight:.4})")).collect();
    format!("Features of the largest weights, as scaled: {}.", shown.join(", "))
}
