//! Models that learn while serving: sparse preferences and the perceptron.

use std::any::Any;
use std::path::Path;

use matchrank_engine::dataset::Dataset;
use matchrank_engine::model_file::{self, Model, ModelRef, Provenance};
use matchrank_engine::models::sparse_preference::{PreferenceLearner, PreferenceModel, PreferencePosition};
use matchrank_engine::preferences::NamedDocuments;
use matchrank_engine::rankers::perceptron::online::Learner;
use matchrank_engine::{Error, files};

use super::LearningError;
use super::lessons::OnlineLesson;

/// Learner of a model file.
enum ModelLearner {
    Preference(Box<PreferenceLearner>),
    Perceptron(Box<Learner>),
}

/// Model that learns from lessons and is saved from time to time.
pub(super) struct OnlineModel {
    learner: ModelLearner,
    provenance: Provenance,
    /// Lists that could not be used.
    pub(super) n_left_out: u64,
}

/// Position of a model in its lessons, as a checkpoint keeps it. A perceptron's is in its model.
pub(super) type ModelPosition = Option<PreferencePosition>;

impl OnlineModel {
    /// Opens a model file: to begin with, or, with the position of a checkpoint, to go on from. `dataset` holds the
    /// documents that preferences name by id.
    pub(super) fn open(
        path: &Path,
        dataset: Option<&Dataset>,
        resumed: Option<&ModelPosition>,
    ) -> Result<Self, LearningError> {
        let in_file = |e: Error| match e {
            Error::Params(message) => LearningError::Engine(Error::format(files::name_of(path), message)),
            other => other.into(),
        };
        let (model, provenance) = model_file::open(path)?;
        let (learner, provenance) = match model {
            Model::Matching(model) => {
                let Some(model) = (&*model as &dyn Any).downcast_ref::<PreferenceModel>() else {
                    return Err(cannot_learn(path, model.kind()));
                };
                let silent = &matchrank_core::progress::Silent;
                let documents = dataset
                    .map(|dataset| NamedDocuments::of(&model.features, dataset, silent))
                    .transpose()?;
                let learner = match resumed {
                    Some(Some(position)) => PreferenceLearner::resume(model, documents, position),
                    _ => PreferenceLearner::new(model, documents),
                };
                // What preferences teach cannot be made again from a dataset.
                (ModelLearner::Preference(Box::new(learner.map_err(in_file)?)), provenance.made_by(None))
            }
            Model::Ranking(model) => {
                if (&*model as &dyn Any)
                    .downcast_ref::<matchrank_engine::rankers::perceptron::online::PerceptronModel>()
                    .is_none()
                {
                    return Err(cannot_learn(path, model.kind().name));
                }
                let learner = Learner::follow(&*model, resumed.is_some()).map_err(in_file)?;
                (ModelLearner::Perceptron(Box::new(learner)), provenance)
            }
        };
        Ok(Self { learner, provenance, n_left_out: 0 })
    }

    /// Learns from the lessons that are for this kind of model.
    pub(super) fn learn(&mut self, lessons: Vec<OnlineLesson>) -> Result<(), LearningError> {
        match &mut self.learner {
            ModelLearner::Preference(learner) => {
                let lines = lessons.into_iter().filter_map(|lesson| match lesson {
                    OnlineLesson::Tuple(line) => Some(line.into_bytes()),
                    OnlineLesson::List(_) => None,
                });
                learner.learn(lines.collect())?;
            }
            ModelLearner::Perceptron(learner) => {
                for lesson in lessons {
                    if let OnlineLesson::List(line) = lesson {
                        self.n_left_out += u64::from(learner.learn_next(line.as_bytes()).is_err());
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn position(&self) -> ModelPosition {
        match &self.learner {
            ModelLearner::Preference(learner) => Some(learner.position()),
            ModelLearner::Perceptron(_) => None,
        }
    }

    /// Writes the model with everything learned so far, synced, under a temporary name first.
    pub(super) fn save(&mut self, path: &Path) -> Result<(), LearningError> {
        match &mut self.learner {
            ModelLearner::Preference(learner) => {
                let model = learner.model()?;
                model_file::save(path, ModelRef::Matching(&model), &self.provenance)?;
            }
            ModelLearner::Perceptron(learner) => {
                model_file::save(path, ModelRef::Ranking(learner.model()), &self.provenance)?;
            }
        }
        Ok(())
    }
}

fn cannot_learn(path: &Path, kind: &str) -> LearningError {
    LearningError::Refused(format!(
        "{}: a {kind} model does not learn while serving; models of sparse-preference and perceptrons do",
        path.display()
    ))
}
