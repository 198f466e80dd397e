//! SSI on a dataset: preferences from its responses, stopped by the validation judgments.

use matchrank_core::matching::ssi::{Lesson, Ssi, SsiParams};
use matchrank_core::matching::{Bilinear, Mapping};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::epochs::{Learned, Learns, keep_best};
use super::judge::Judge;
use super::plain;
use super::preference::{Lessons, Preferences, RuleCheck, SampledTuples};
use crate::dataset::{Clicks, Dataset, Holdout};
use crate::features::{FeatureParams, Features};
use crate::matching::{Inputs, LatentKind, LatentModel};

/// Tuples that are drawn at a time.
const LESSON: usize = 1 << 14;

/// Settings of SSI on a dataset: those of [`SsiParams`], and what it learns from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SsiSettings {
    /// Latent dimensions. Default: 100.
    pub d: usize,
    /// Iterations at most. Default: 20.
    pub iterations: usize,
    /// Tuples of an iteration. Default: 200,000.
    pub tuples: u64,
    /// Share of the tuples whose worse document was judged lower, or skipped (Joachims' rules), where there is
    /// one; the others have one that has no response. Default: 0.2.
    pub judged: f64,
    /// See [`SsiParams::margin`]. Default: 0.5.
    pub margin: f64,
    /// See [`SsiParams::rate`]. Default: 0.02.
    pub rate: f64,
    /// See [`SsiParams::l2`]. Default: 0.
    pub l2: f64,
    /// See [`SsiParams::spread`]. Default: 0.05.
    pub spread: f64,
    /// See [`SsiParams::batch`]. Default: 256.
    pub batch: usize,
    /// See [`SsiParams::identity`]. Default: yes.
    pub identity: bool,
}

impl Default for SsiSettings {
    fn default() -> Self {
        let SsiParams { d, margin, rate, l2, spread, batch, identity } = SsiParams::default();
        Self { d, iterations: 20, tuples: 200_000, judged: 0.2, margin, rate, l2, spread, batch, identity }
    }
}

impl SsiSettings {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        self.params().validate()?;
        if !(0.0..=1.0).contains(&self.judged) {
            return Err(Error::Params(format!("judged must be from 0 to 1, not {}", self.judged)));
        }
        if self.iterations == 0 || self.tuples == 0 {
            return Err(Error::Params("iterations and tuples must be at least 1".into()));
        }
        Ok(())
    }

    fn params(&self) -> SsiParams {
        let Self { d, margin, rate, l2, spread, batch, identity, .. } = *self;
        SsiParams { d, margin, rate, l2, spread, batch, identity }
    }
}

/// Iterations without a better validation figure after which training stops.
const PATIENCE: usize = 4;

/// Trains SSI on preferences drawn from the responses: a higher grade over a lower one or none, a click over
/// what was skipped by Joachims' rules or never clicked.
pub fn train_ssi(
    settings: &SsiSettings,
    features: &FeatureParams,
    dataset: &Dataset,
    seed: u64,
    progress: &dyn Progress,
) -> Result<LatentModel> {
    settings.validate()?;
    let features = Features::of_dataset(features, dataset)?;
    let inputs = Inputs::Features(Box::new(features.clone()));
    let clicks = Clicks::to_learn_from(dataset)?;
    let judge = Judge::new(&inputs, dataset, Some(&clicks), seed, progress)?;
    // Of the judgments those of validation alone: training never looks at the test.
    let rules = RuleCheck::of(dataset, &clicks, &[Holdout::Validation])?;
    drop(clicks);
    let preferences = Preferences::of(dataset, &features, settings.judged, progress)?;
    let (queries, documents) = (&preferences.queries, &preferences.documents);
    let ssi = Ssi::new(&settings.params(), queries, documents, features.n_words(), seed)?;
    let course = Course { ssi, preferences: &preferences, seed, tuples: settings.tuples, done: 0, progress };
    progress.begin("learning", Some(settings.iterations as u64 * settings.tuples), "tuples");
    let (model, mut report) =
        keep_best(course, (settings.iterations, PATIENCE), &judge, documents, progress)?;
    report.rules = rules;
    Ok(LatentModel { kind: LatentKind::Ssi, params: plain(settings), inputs, model, report })
}

/// SSI and the tuples that it has not yet learned from.
struct Course<'a> {
    ssi: Ssi,
    preferences: &'a Preferences,
    seed: u64,
    tuples: u64,
    done: u64,
    progress: &'a dyn Progress,
}

impl Learns for Course<'_> {
    fn learn(&mut self) -> Result<Learned> {
        let mut lessons =
            SampledTuples::between(self.preferences, self.seed, self.done, self.done + self.tuples);
        self.done += self.tuples;
        let mut sum = Lesson::default();
        while let Some(lesson) = lessons.next(LESSON)? {
            let learned = self.ssi.learn(lesson.queries, lesson.documents, lesson.tuples, self.progress)?;
            sum.n += learned.n;
            sum.violations += learned.violations;
            sum.loss += learned.loss;
        }
        let n = sum.n.max(1) as f64;
        Ok((sum.loss / n, Some(sum.violations as f64 / n)))
    }

    fn mapping(&self) -> Result<Box<dyn Mapping + '_>> {
        Ok(Box::new(self.ssi.mapping()?))
    }

    fn model(&self) -> Result<Bilinear> {
        self.ssi.model()
    }
}
