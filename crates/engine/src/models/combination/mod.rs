//! A weighted sum of models: w_1 * first + w_2 * second + ..., where the weights are 0 or more and sum to 1.
//!
//! Scores of different models have different scales, so they are standardised for each query over the
//! documents that are ranked, the candidates or the whole collection: (score - mean) / deviation. A
//! document without a score counts as 0 before that. A model that gives all documents the same score adds
//! nothing; where that is so of all models, no document has a score.
//!
//! Weights are given, or chosen on the validation judgments by a [`WeightRule`]: a sum has to be better than its best part
//! by more than the noise. A model of weight 0 is kept in the file and shown in explanations, and not scored to rank.

mod remembered;
mod scorer;
mod tuning;

use std::sync::Arc;

use matchrank_core::message::counted;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

pub use tuning::{CombinationParams, WeightRule};

use self::scorer::CombinationMatcher;
use super::{Binding, MatchingKind, MatchingModel, Related, RelatedQuery, registry};
use crate::container::{Reader, Writer};
use crate::dataset::Dataset;
use crate::description::{Curve, Description, Remark};
use crate::scoring::Matcher;
use crate::settings::Parameter;
use crate::validation::Ranked;

/// The combination in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Combination",
    help: "The scores of the models are standardised for each query over the documents that are ranked. The weights are 0 or \
           more and sum to 1. They are as given, or tenths that are chosen on the validation judgments: all eleven choices \
           for two models, a search for more. By default the simplest choice is kept whose figure is within one standard \
           error of the best: a single model (BM25 first) before a sum, fewer models before more. So a model that does not \
           help gets weight 0. A combination may be combined again.",
    parameters: &[Parameter::new(
        "rule",
        "one_se",
        "weights to keep: one_se (the simplest within one standard error of the best) or best",
    )],
    ..MatchingKind::new(
        "combination",
        "Combination of models: a weighted sum of their standardised scores",
        open,
    )
};

/// Names of the parts, in files and in descriptions.
const NAMES: [&str; MOST_PARTS] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
];
/// Most models of a combination.
pub const MOST_PARTS: usize = 12;
/// Difference to 1 that the sum of weights may have.
const ROUNDING: f64 = 1e-3;

/// Models and their weights; see the module.
#[derive(Debug, Clone)]
pub struct Combination {
    /// The models.
    pub models: Vec<Arc<dyn MatchingModel>>,
    /// Weight of each model.
    pub weights: Vec<f32>,
    /// Validation figures of weights that were tried.
    pub trials: Vec<WeightTrial>,
    /// Rule that chose the weights; none where they were given, and in files of former versions.
    pub rule: Option<WeightRule>,
    /// Documents that were ranked to tune the weights.
    pub tuned_on: Option<Ranked>,
}

/// The validation figure of a choice of weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightTrial {
    /// Weight of each model.
    pub weights: Vec<f32>,
    /// Validation NDCG@10, or another measure if one was asked for.
    #[serde(rename = "validation_ndcg@10")]
    pub validation: f64,
}

impl Combination {
    /// Combines models with given weights.
    pub fn new(models: Vec<Arc<dyn MatchingModel>>, weights: Vec<f32>) -> Result<Self> {
        let combination = Self { models, weights, trials: Vec::new(), rule: None, tuned_on: None };
        combination.validate()?;
        Ok(combination)
    }

    /// Combines two models: a * first + (1 - a) * second.
    pub fn of_two(a: f32, models: [Arc<dyn MatchingModel>; 2]) -> Result<Self> {
        Self::new(models.to_vec(), rest(a).to_vec())
    }

    /// Replaces the models by others, such as the same ones after more training.
    pub fn with_models(self, models: Vec<Arc<dyn MatchingModel>>) -> Result<Self> {
        let combination = Self { models, ..self };
        combination.validate()?;
        Ok(combination)
    }

    fn validate(&self) -> Result<()> {
        let (n, n_weights) = (self.models.len(), self.weights.len());
        if !(2..=MOST_PARTS).contains(&n) || n != n_weights {
            return Err(Error::Params(format!(
                "a combination is made of 2 to {MOST_PARTS} models with a weight each, not of {} with {}",
                counted(n, "model"),
                counted(n_weights, "weight")
            )));
        }
        check_weights(&self.weights)
    }

    /// Weights as scores are made of them.
    fn exact_weights(&self) -> Vec<f64> {
        tuning::exact(&self.weights)
    }

    /// Returns true if models of weight 0 are scored. Those of given weights are, as in former versions: where only they
    /// tell documents apart, all documents have the score 0 instead of none.
    fn zeros_count(&self) -> bool {
        self.rule.is_none()
    }

    /// The models that are scored to rank.
    fn counting(&self) -> Vec<usize> {
        (0..self.models.len()).filter(|&i| self.zeros_count() || self.weights[i] > 0.0).collect()
    }

    /// Says how the weights were found.
    fn tuned(&self) -> Vec<(String, String)> {
        let rule = self.rule.map(|rule| ("rule".to_owned(), rule.describe().to_owned()));
        let ranked = self
            .tuned_on
            .map(|ranked| ("tuned on".to_owned(), format!("validation queries, {}", ranked.describe())));
        rule.into_iter().chain(ranked).collect()
    }

    /// The trials of two models, by the weight of the first.
    fn curve(&self) -> Vec<(f32, f64)> {
        self.trials.iter().map(|trial| (trial.weights[0], trial.validation)).collect()
    }
}

/// a and 1 - a, the latter without the rounding of f32.
fn rest(a: f32) -> [f32; 2] {
    [a, ((1.0 - f64::from(a)) * 1e6).round() as f32 / 1e6]
}

/// Returns an error unless weights are 0 or more and sum to 1.
pub fn check_weights(weights: &[f32]) -> Result<()> {
    if let Some(weight) = weights.iter().find(|weight| !(0.0..=1.0).contains(*weight)) {
        return Err(Error::Params(format!("a weight of a combination is {weight}; weights are from 0 to 1")));
    }
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    if (sum - 1.0).abs() > ROUNDING {
        return Err(Error::Params(format!(
            "the weights of a combination sum to {}; they must sum to 1",
            (sum * 1e6).round() / 1e6
        )));
    }
    Ok(())
}

/// Files of two models have `weight` and `curve` by the weight of the first, as in all versions; those of more models have
/// `weights` and `trials`.
fn open(file: &Reader<'_>) -> Result<Arc<dyn MatchingModel>> {
    let (weights, trials) = if file.has_array("weights") {
        let weights: Vec<f32> = file.array("weights")?;
        let trials: Vec<WeightTrial> = file.json("trials")?;
        if trials.iter().any(|trial| trial.weights.len() != weights.len()) {
            return Err(Error::Params("a trial of the combination has a wrong number of weights".into()));
        }
        (weights, trials)
    } else {
        let weight: f32 = file.number("weight")?;
        let curve: Vec<(f32, f64)> = file.json("curve")?;
        let trial = |(a, validation)| WeightTrial { weights: rest(a).to_vec(), validation };
        (rest(weight).to_vec(), curve.into_iter().map(trial).collect())
    };
    if weights.len() > MOST_PARTS {
        return Err(Error::Params(format!(
            "holds a combination of {} models; at most {MOST_PARTS} can be combined",
            weights.len()
        )));
    }
    check_weights(&weights)?;
    let models = NAMES[..weights.len()].iter().map(|name| registry::get(&file.inside(name)));
    let combination = Combination {
        models: models.collect::<Result<_>>()?,
        weights,
        trials,
        // Files of former versions have neither.
        rule: file.has_metadata("rule").then(|| file.json("rule")).transpose()?,
        tuned_on: file.has_metadata("tuned_on").then(|| file.json("tuned_on")).transpose()?,
    };
    combination.validate()?;
    Ok(Arc::new(combination))
}

impl MatchingModel for Combination {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        let parts = self.models.iter().map(|model| model.bind(binding)).collect::<Result<_>>()?;
        self.bind_parts(parts, binding)
    }

    fn bind_parts<'a>(
        &'a self,
        parts: Vec<Box<dyn Matcher + 'a>>,
        _: &mut Binding<'a, '_>,
    ) -> Result<Box<dyn Matcher + 'a>> {
        Ok(Box::new(CombinationMatcher { model: self, parts }))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        self.validate()?;
        if let [weight, _] = self.weights[..] {
            file.put_number("weight", weight);
            file.put_json("curve", &self.curve())?;
        } else {
            file.put_array("weights", self.weights.as_slice());
            file.put_json("trials", &self.trials)?;
        }
        if let Some(rule) = self.rule {
            file.put_json("rule", &rule)?;
        }
        if let Some(ranked) = self.tuned_on {
            file.put_json("tuned_on", &ranked)?;
        }
        for (name, model) in self.parts() {
            registry::put(&mut file.inside(name), &**model)?;
        }
        Ok(())
    }

    fn describe(&self) -> Result<Description> {
        let mut description = Description::default();
        for ((name, _), weight) in self.parts().iter().zip(&self.weights) {
            description.fact(format!("weight of the {name}"), weight.to_string());
        }
        description.facts.extend(self.tuned());
        description.details.set("weights", &self.weights);
        if let [weight, _] = &self.weights[..] {
            description.details.set("weight", weight);
            description.details.set("curve", &self.curve());
        } else {
            description.details.set("trials", &self.trials);
        }
        description.details.set("rule", &self.rule);
        description.details.set("tuned_on", &self.tuned_on);
        for (name, part) in self.parts() {
            let part = registry::describe(&**part)?;
            description.details.set(name, &part.details);
            description.part(&format!("{name}: "), part);
        }
        Ok(description)
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        let kinds: Vec<&str> = self.models.iter().map(|model| model.kind()).collect();
        let mut description = Description::default();
        for (kind, weight) in kinds.iter().zip(&self.weights) {
            description.fact(format!("weight of {kind}"), weight.to_string());
        }
        description.facts.extend(self.tuned());
        let is_better =
            |trial: &WeightTrial| self.trials.iter().all(|other| other.validation <= trial.validation);
        let rows = self.trials.iter().map(|trial| {
            let mark = match (trial.weights == self.weights, is_better(trial)) {
                (true, _) => "kept",
                (false, true) => "best",
                (false, false) => "",
            };
            let weights = if kinds.len() == 2 { &trial.weights[..1] } else { &trial.weights[..] };
            let weights = weights.iter().map(ToString::to_string);
            weights.chain([format!("{:.4}", trial.validation), mark.to_owned()]).collect()
        });
        if !self.trials.is_empty() {
            let shown = if kinds.len() == 2 { &kinds[..1] } else { &kinds[..] };
            let header: Vec<String> = shown.iter().map(|kind| format!("weight of {kind}")).collect();
            let header: Vec<&str> =
                header.iter().map(String::as_str).chain(["validation NDCG@10", ""]).collect();
            description.remarks.push(Remark::table(&header, rows.collect()));
        }
        let details = &mut description.details;
        details.set("weights", &self.weights);
        details.set("of", &kinds);
        details.set("rule", &self.rule);
        details.set("tuned_on", &self.tuned_on);
        if let [weight, _] = &self.weights[..] {
            details.set("weight", weight);
            let points: Vec<WeightPoint> =
                self.curve().into_iter().map(|(a, ndcg)| WeightPoint { a, ndcg }).collect();
            details.set("curve", &points);
        } else {
            details.set("trials", &self.trials);
        }
        description
    }

    fn validation(&self) -> Option<f64> {
        self.trials.iter().find(|trial| trial.weights == self.weights).map(|trial| trial.validation)
    }

    fn curves(&self) -> Vec<Curve> {
        if self.weights.len() > 2 {
            return Vec::new();
        }
        let points = self.curve().into_iter().map(|(weight, ndcg)| (f64::from(weight), Some(ndcg)));
        let kept = Some(f64::from(self.weights[0]));
        vec![Curve::new("weight of the first model", "validation NDCG@10", points, kept)]
    }

    fn parts(&self) -> Vec<(&str, &Arc<dyn MatchingModel>)> {
        NAMES.into_iter().zip(&self.models).collect()
    }

    fn related(&self, query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        self.models.iter().find_map(|model| model.related(query))
    }
}

/// The figure of a weight.
#[derive(Serialize)]
struct WeightPoint {
    a: f32,
    #[serde(rename = "validation_ndcg@10")]
    ndcg: f64,
}
