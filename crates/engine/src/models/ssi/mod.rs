//! SSI: BM25, and which other words go together, learned from preferences.
//!
//! The identity of q' (U' V + I) d scores as the [base], BM25 or the cosine. Validation chooses the share of
//! U' V, 0 included.
//!
//! Preferences are drawn from the responses of a dataset; training is stopped by the validation judgments.

use std::sync::Arc;

use matchrank_core::matching::ssi::{Lesson, Ssi, SsiParams};
use matchrank_core::matching::{Bilinear, Mapping};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::base::{self, Base, BaseParams};
use super::latent::{
    self, Inputs, Judge, LatentKind, LatentModel, LatentReport, Learned, Learns, choose_share, keep_best,
    plain,
};
use super::recipe::trainer;
use super::{MatchingKind, Training};
use crate::dataset::{Clicks, Holdout};
use crate::features::FeatureParams;
use crate::preferences::{Preferences, RuleCheck, SampledTuples, TupleLessons, Worse, check_tuples};
use crate::settings::{AutoNumber, Parameter};

/// SSI in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Ssi",
    help: "Supervised semantic indexing: the score is q' (U' V + I) d, where I scores as the base, BM25, and U, V learn by steps from tuples: for this \
           query this document is better than that one, by a margin. Tuples are drawn from the responses: a higher \
           grade is better than a lower one or none; a click is better than none, and, where the log has positions, \
           better than what was shown above it, or next below it, and not clicked (Joachims' rules). The summary says \
           how many of these preferences the validation judgments contradict. The iteration that is best on the \
           validation judgments is kept, and of what it learned the share that is best, none of it unless some is better \
           than the base by more than one standard error.",
    parameters: &[
        Parameter::new("d", "100", "latent dimensions"),
        Parameter::new(
            "iterations",
            "20",
            "iterations at most; four without a better figure end the training",
        ),
        Parameter::new(
            "tuples",
            "auto",
            "tuples of an iteration; auto: 50 for each training pair, from 50,000 to 200,000",
        ),
        Parameter::new(
            "judged",
            "0.2",
            "share of the tuples whose worse document was judged lower, or skipped, where there is one",
        ),
        Parameter::new("margin", "0.5", "learn from tuples whose scores are less apart than this"),
        latent::RATE,
        Parameter::new("l2", "0", "how strongly rows are pulled towards 0"),
        latent::SPREAD,
        Parameter::new("batch", "256", "tuples of a step"),
        Parameter::new(
            "identity",
            "true",
            "whether the base is added: words that query and document share count by themselves",
        ),
        Parameter::new(
            "share",
            "auto",
            "share of U' V beside the base, from 0; auto: on the validation judgments, 0 unless another is better by more \
             than one standard error",
        ),
        base::BASE,
        base::K1,
        base::B,
    ],
    feature_parameters: FeatureParams::PARAMETERS,
    space: &[
        ("d", "50,100,200"),
        ("margin", "0.1,0.2,0.5,1,2"),
        ("judged", "0,0.2,0.5,1"),
        ("click_weight", "0,0.5,1,2"),
    ],
    effort: Some(("iterations", 2)),
    choose_untrained: Some(super::base::choose),
    trainer: Some(|settings| {
        trainer::<SsiSettings, FeatureParams>(
            settings,
            |params, features| params.validate().and_then(|()| features.validate()),
            |params, features, training| {
                params.base().check_given(|name| training.is_given(name))?;
                Ok(Arc::new(train(params, features, training)?))
            },
        )
    }),
    memory: Some(|sizes| sizes.learning() + sizes.descent(SsiParams::default().d)),
    cost: 20.0,
    ..MatchingKind::new(
        LATENT.name,
        "SSI: BM25, and which other words go together, learned from preferences",
        |file| latent::open(file, LATENT),
    )
};

/// SSI among the latent models.
pub const LATENT: LatentKind = LatentKind::new("ssi");

/// Tuples of an iteration for each training pair by default: more taught no more on SciFact and Cranfield.
pub const TUPLES_PER_PAIR: u64 = 50;
/// Fewest tuples of an iteration by default.
pub const FEWEST_TUPLES: u64 = 50_000;
/// Most tuples of an iteration by default.
pub const MOST_TUPLES: u64 = 200_000;

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
    /// Tuples of an iteration. Default: auto, [`TUPLES_PER_PAIR`] for each training pair, at least [`FEWEST_TUPLES`] and at
    /// most [`MOST_TUPLES`].
    pub tuples: AutoNumber,
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
    /// Share of U' V beside the base. Default: auto.
    pub share: AutoNumber,
    /// Scores of the identity. Default: `bm25`.
    pub base: Base,
    /// k1 of BM25. Default: auto.
    pub k1: AutoNumber,
    /// b of BM25. Default: auto.
    pub b: AutoNumber,
}

impl Default for SsiSettings {
    fn default() -> Self {
        let SsiParams { d, margin, rate, l2, spread, batch, identity } = SsiParams::default();
        let BaseParams { base, k1, b } = BaseParams::default();
        Self {
            d,
            iterations: 20,
            tuples: AutoNumber::Auto,
            judged: 0.2,
            margin,
            rate,
            l2,
            spread,
            batch,
            identity,
            share: AutoNumber::Auto,
            base,
            k1,
            b,
        }
    }
}

impl SsiSettings {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        self.params().validate()?;
        self.base().validate()?;
        if self.share.given().is_some_and(|share| !(0.0..=1e3).contains(&share)) {
            return Err(Error::Params("share must be auto or from 0 to 1000".into()));
        }
        if !(0.0..=1.0).contains(&self.judged) {
            return Err(Error::Params(format!("judged must be from 0 to 1, not {}", self.judged)));
        }
        if self.iterations == 0 {
            return Err(Error::Params("iterations must be at least 1".into()));
        }
        check_tuples(self.tuples)
    }

    /// Tuples of an iteration, given the number of training pairs.
    fn n_tuples(&self, n_pairs: u64) -> u64 {
        let usual = n_pairs.saturating_mul(TUPLES_PER_PAIR).clamp(FEWEST_TUPLES, MOST_TUPLES);
        self.tuples.given().map_or(usual, |tuples| tuples as u64)
    }

    fn base(&self) -> BaseParams {
        BaseParams { base: self.base, k1: self.k1, b: self.b }
    }

    fn params(&self) -> SsiParams {
        let Self { d, margin, rate, l2, spread, batch, identity, .. } = *self;
        SsiParams { d, margin, rate, l2, spread, batch, identity }
    }
}

/// Trains SSI on preferences drawn from the responses: a higher grade over a lower one or none, a click over
/// what was skipped by Joachims' rules or never clicked.
pub fn train(
    settings: &SsiSettings,
    features: &FeatureParams,
    training: &Training<'_>,
) -> Result<LatentModel> {
    let Training { dataset, seed, progress, .. } = *training;
    settings.validate()?;
    let features = settings.base().features(features, dataset, seed, progress)?;
    let clicks = Clicks::to_learn_from(dataset)?;
    let features = features.with_keys_of(dataset, &clicks)?;
    let inputs = Inputs::Features(Box::new(features.clone()));
    let judge = Judge::new(&inputs, dataset, Some((&clicks).into()), seed, progress)?;
    // Of the judgments those of validation alone: training never looks at the test.
    let rules = RuleCheck::of(dataset, &clicks, &[Holdout::Validation])?;
    drop(clicks);
    let preferences =
        Preferences::of(dataset, &features, Worse { judged: settings.judged, hard: 0.0 }, progress)?;
    let (queries, documents) = (&preferences.queries, &preferences.documents);
    let ssi = Ssi::new(&settings.params(), [queries, documents], features.n_words(), seed)?;
    let tuples = settings.n_tuples(dataset.manifest.statistics.n_pairs);
    let course = SsiCourse { ssi, preferences: &preferences, seed, tuples, done: 0, progress };
    progress.begin("learning", Some((settings.iterations as u64).saturating_mul(tuples)), "tuples");
    let (model, mut report) = keep_best(course, settings.iterations, &judge, documents, progress)?;
    let model = choose_share((model, settings.share), &mut report, (&judge, documents), training)?;
    let report = LatentReport { rules, ..report };
    Ok(LatentModel { kind: LATENT, params: plain(settings), inputs, model, report })
}

/// SSI and the tuples that it has not yet learned from.
struct SsiCourse<'a> {
    ssi: Ssi,
    preferences: &'a Preferences,
    seed: u64,
    tuples: u64,
    done: u64,
    progress: &'a dyn Progress,
}

impl Learns for SsiCourse<'_> {
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
