//! Sparse preference learning on a dataset or a stream, and how it goes on later.
//!
//! ```text
//! responses of a dataset -- sampled tuples --+
//! file, standard input ---- stream of tuples ---+--> learn --> refit --> model
//!                                                    ^
//!                         choose: margin, C, lambda on the validation judgments
//! ```
//!
//! A model keeps the state of its learner, so [`update`] goes on exactly as if training had not
//! stopped. A model that was refitted goes on refitting: its weights change and no new ones come. Refitting
//! goes over the tuples once more, so a stream that cannot be read twice is learned from without it.

mod blend;
mod choose;
mod judge;
mod learn;
mod online;

use std::time::Duration;

use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use self::judge::PreferenceJudge;
use self::learn::{Watch, learn};
pub use self::online::{PreferenceLearner, PreferencePosition};
use super::{
    ChosenSettings, CurvePoint, PreferenceModel, PreferenceReport, PreferenceSettings, Variant, blended,
};
use crate::dataset::Dataset;
use crate::features::{FeatureParams, Features, WordParams};
use crate::preferences::{
    NamedDocuments, Preferences, SampledTuples, TupleFile, TupleLessons, TupleStream, Worse,
};

/// Points of the learning curve of a phase.
const POINTS: u64 = 10;
/// Steps from one point to the next where nobody knows how many there will be.
const STREAM_POINTS: u64 = 100_000;

/// Source of tuples that come one after the other.
const STREAM_SOURCE: &str = "a stream of tuples";

/// Usual value of [`TupleCourse::trial_tuples`].
pub const TRIAL_TUPLES: u64 = 1_000_000;

/// Circumstances of a training.
pub struct TupleCourse<'a> {
    /// Share of the entries of W to leave; takes the place of lambda.
    pub density: Option<f64>,
    /// Tuples at most whose shares the trials of `auto` learn from, 2.6 times as many in all; 0: nothing is tried.
    /// Every trial is kept in the model's report. Usually [`TRIAL_TUPLES`].
    pub trial_tuples: u64,
    /// Seed of the tuples that are drawn.
    pub seed: u64,
    /// Asked often; ends the training when it says so, and what was learned is kept.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Checkpoints, if any.
    pub checkpoint: Option<Checkpoint<'a>>,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
}

impl<'a> TupleCourse<'a> {
    /// A training from start to end, with the usual number of trial tuples.
    pub fn new(seed: u64, progress: &'a dyn Progress) -> Self {
        Self { density: None, trial_tuples: TRIAL_TUPLES, seed, stop: &|| false, checkpoint: None, progress }
    }
}

/// Interval of checkpoints, and the function that writes them.
pub type Checkpoint<'a> = (Duration, &'a (dyn Fn(&PreferenceModel) -> Result<()> + Sync));

/// A model, and what became of the lines it learned from.
#[non_exhaustive]
pub struct TrainedPreference {
    /// The model.
    pub model: PreferenceModel,
    /// Lines that do not say what they should.
    pub n_malformed: u64,
}

/// Trains q' W d on a dataset: from its responses, or from a file of tuples.
pub fn train(
    settings: &PreferenceSettings,
    words: &WordParams,
    (dataset, file): (&Dataset, Option<&TupleFile>),
    course: &TupleCourse<'_>,
) -> Result<TrainedPreference> {
    let progress = course.progress;
    settings.validate()?;
    if course.density.is_some_and(|density| !(density > 0.0 && density <= 1.0)) {
        return Err(Error::Params("the density to leave must be above 0 and at most 1".into()));
    }
    let base = FeatureParams::words_only(words);
    let features = settings.base().features(&base, dataset, course.seed, progress)?;
    let judge = PreferenceJudge::of(&features, dataset, course.seed, progress)?;
    let source = match file {
        Some(file) => {
            TupleSource::File { file, documents: Some(NamedDocuments::of(&features, dataset, progress)?) }
        }
        None => TupleSource::Dataset {
            preferences: Preferences::of(
                dataset,
                &features,
                Worse { judged: settings.judged, hard: settings.hard },
                progress,
            )?,
            seed: course.seed,
            tuples: settings.n_tuples(dataset.manifest.statistics.n_pairs),
        },
    };
    let training = PreferenceTraining {
        settings: *settings,
        features: &features,
        judge: judge.as_ref(),
        course,
        progress,
    };
    training.run(&source)
}

/// Goes on with a model from a file of tuples, exactly as if its training had not stopped.
///
/// BoundDocuments that lines name by id are those of `dataset`. `course` says when to stop and to save; its
/// density, trial tuples and seed are those of the training, and not asked for.
pub fn update(
    model: &PreferenceModel,
    dataset: Option<&Dataset>,
    file: &TupleFile,
    course: &TupleCourse<'_>,
) -> Result<TrainedPreference> {
    let progress = course.progress;
    let PreferenceModel { settings, features, state, report, .. } = model;
    if settings.variant == Variant::Identity {
        return Err(Error::Params(
            "the model is the identity, which learns nothing; train another variant".into(),
        ));
    }
    let documents = dataset.map(|dataset| NamedDocuments::of(features, dataset, progress)).transpose()?;
    let mut learner = Learner::from_state(state)?;
    let training = PreferenceTraining { settings: *settings, features, judge: None, course, progress };
    let mut report = PreferenceReport { source: source_of(file), validation: None, ..report.clone() };
    let mut lessons = TupleStream::new(file, features, documents.as_ref())?;
    progress.begin("learning", None, "tuples");
    let entries = report.asked_density.map(|share| entries_of(share, features.n_words()));
    let complete = training.learn(&mut learner, &mut lessons, STREAM_POINTS, entries, &mut report)?;
    training.finish((learner, model.blend), &lessons, complete, report)
}

/// That share of the pairs of so many words.
fn entries_of(share: f64, n_words: usize) -> usize {
    (share * (n_words as f64).powi(2)) as usize
}

fn source_of(file: &TupleFile) -> String {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    if name == "-" { STREAM_SOURCE.into() } else { format!("the tuples of {name}") }
}

/// TupleSource of the tuples.
enum TupleSource<'a> {
    Dataset { preferences: Preferences, seed: u64, tuples: u64 },
    File { file: &'a TupleFile, documents: Option<NamedDocuments> },
}

impl TupleSource<'_> {
    fn lessons<'s>(&'s self, features: &'s Features) -> Result<Box<dyn TupleLessons + 's>> {
        Ok(match self {
            Self::Dataset { preferences, seed, tuples } => {
                Box::new(SampledTuples::new(preferences, *seed, *tuples))
            }
            Self::File { file, documents } => Box::new(TupleStream::new(file, features, documents.as_ref())?),
        })
    }

    fn is_repeatable(&self) -> bool {
        match self {
            Self::Dataset { .. } => true,
            Self::File { file, .. } => file.is_repeatable(),
        }
    }

    fn n_tuples(&self) -> Option<u64> {
        match self {
            Self::Dataset { tuples, .. } => Some(*tuples),
            Self::File { .. } => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Dataset { .. } => "responses of the dataset".into(),
            Self::File { file, .. } => source_of(file),
        }
    }
}

/// Context of all parts of a training.
struct PreferenceTraining<'a> {
    settings: PreferenceSettings,
    features: &'a Features,
    judge: Option<&'a PreferenceJudge>,
    course: &'a TupleCourse<'a>,
    progress: &'a dyn Progress,
}

impl PreferenceTraining<'_> {
    fn run(&self, source: &TupleSource<'_>) -> Result<TrainedPreference> {
        let mut report = PreferenceReport { source: source.name(), ..Default::default() };
        let mut refit = self.settings.variant == Variant::Refit;
        if refit && !source.is_repeatable() {
            self.progress.note("a stream cannot be read a second time, so the model is not refitted");
            refit = false;
        }
        report.asked_density = self.course.density;
        if self.settings.blend.given() == Some(0.0) {
            // The base alone: there is nothing to choose and to learn, and later learning starts from the base.
            report.kept = Some(0.0);
            let learner = self.learner(&self.settings.params(&ChosenSettings::default()))?;
            return self.finish((learner, 1.0), &*source.lessons(self.features)?, true, report);
        }
        let params = self.choose(source, refit, &mut report)?;
        let n_words = self.features.n_words();
        let mut learner = self.learner(&params)?;
        let mut lessons = source.lessons(self.features)?;
        let (mut complete, mut blend) = (true, 1.0);
        if self.settings.variant != Variant::Identity {
            let entries = self.course.density.map(|share| entries_of(share, n_words));
            let every = source.n_tuples().map_or(STREAM_POINTS, |n| n.div_ceil(POINTS));
            self.progress.begin("learning", source.n_tuples(), "tuples");
            complete = self.learn(&mut learner, &mut *lessons, every, entries, &mut report)?;
            if complete && refit {
                learner.refit();
                lessons.rewind()?;
                self.progress.begin("refitting", source.n_tuples(), "tuples");
                complete = self.learn(&mut learner, &mut *lessons, every, None, &mut report)?;
            }
            let kept = self.choose_blend(&learner.matrix(), &mut report)?;
            report.kept = Some(kept);
            if kept == 0.0 {
                // Nothing that was learned is kept, so that later learning starts from the base.
                learner = self.learner(&params)?;
            } else {
                blend = kept as f32;
            }
        }
        self.finish((learner, blend), &*lessons, complete, report)
    }

    /// W at the start: the identity.
    fn learner(&self, params: &PreferenceParams) -> Result<Learner> {
        let n_words = self.features.n_words();
        Learner::new(params, n_words, n_words, (0..n_words as u32).map(|word| (word, word)))
    }

    /// Learns from all lessons; whether it came to their end.
    fn learn(
        &self,
        learner: &mut Learner,
        lessons: &mut dyn TupleLessons,
        every: u64,
        entries: Option<usize>,
        report: &mut PreferenceReport,
    ) -> Result<bool> {
        let mut curve = std::mem::take(&mut report.curve);
        let mut save = |learner: &Learner, curve: &[CurvePoint]| match &self.course.checkpoint {
            Some((_, save)) => {
                let report = PreferenceReport { curve: curve.to_vec(), ..report.clone() };
                save(&self.model(learner, self.settings.blend.given().unwrap_or(1.0) as f32, report)?)
            }
            None => Ok(()),
        };
        let mut watch = Watch {
            stop: self.course.stop,
            every,
            judge: self.judge,
            entries,
            checkpoint: self.course.checkpoint.as_ref().map(|(interval, _)| (*interval, &mut save as _)),
        };
        let ceilings = learner.clock().ceilings;
        let complete = learn(learner, lessons, &mut watch, &mut curve, self.progress)?;
        let clock = learner.clock();
        if clock.ceilings > ceilings {
            self.progress.note(&format!(
                "W reached the ceiling of {} MiB {} times, and was shrunk harder, by {:.3e} in all",
                self.settings.max_mib,
                clock.ceilings - ceilings,
                clock.extra_shrinkage
            ));
        }
        report.curve = curve;
        Ok(complete)
    }

    fn model(&self, learner: &Learner, blend: f32, report: PreferenceReport) -> Result<PreferenceModel> {
        Ok(PreferenceModel {
            settings: self.settings,
            features: self.features.clone(),
            w: blended(learner.matrix(), blend)?,
            state: learner.state(),
            blend,
            report,
        })
    }

    fn finish(
        &self,
        (learner, blend): (Learner, f32),
        lessons: &dyn TupleLessons,
        complete: bool,
        mut report: PreferenceReport,
    ) -> Result<TrainedPreference> {
        lessons.report(self.progress);
        // A stream may end because its writer was interrupted, too.
        let is_whole = complete && !(self.course.stop)();
        let has_learned = learner.clock().all_steps > 0 || report.kept == Some(0.0);
        if is_whole && !has_learned && self.settings.variant != Variant::Identity {
            self.progress.note("there was no tuple to learn from: W is the identity it started with");
        }
        report.left_out = lessons.left_out();
        report.interrupted = !complete;
        let mut model = self.model(&learner, blend, report)?;
        model.report.validation = self.judge.map(|judge| judge.ndcg(&model.w)).transpose()?;
        Ok(TrainedPreference { model, n_malformed: lessons.n_malformed() })
    }
}
