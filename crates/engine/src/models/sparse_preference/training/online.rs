//! Goes on with a model as lines of preferences arrive, for as long as a service runs.
//!
//! The model after any lines is, to the byte, the one that [`update`](super::update) makes of the same lines from
//! standard input. Neither the way in which the lines are divided into calls nor a stop in between changes it.

use std::collections::BTreeMap;

use matchrank_core::matching::sparse_preference::{Clock, Learner};
use matchrank_core::progress::Silent;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::learn::{LESSON, point_since};
use super::{STREAM_POINTS, STREAM_SOURCE};
use crate::features::Features;
use crate::lines::{LONGEST_RECORD, Line};
use crate::models::sparse_preference::{
    CurvePoint, PreferenceModel, PreferenceReport, PreferenceSettings, Variant, blended,
};
use crate::preferences::{LineLessons, Maker, NamedDocuments};

/// Position of a learner in its learning curve, which its model does not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PreferencePosition {
    /// Lines so far.
    lines: u64,
    /// Points of the curve that are complete.
    points: usize,
    /// Steps and violations at the last of them.
    steps: u64,
    violations: u64,
}

/// Goes on with a model, line by line.
pub struct PreferenceLearner {
    settings: PreferenceSettings,
    features: Features,
    blend: f32,
    /// Report with the complete points of the curve.
    report: PreferenceReport,
    documents: Option<NamedDocuments>,
    learner: Learner,
    lessons: LineLessons,
    /// Clock at the last complete point of the curve.
    last: Clock,
    n_lines: u64,
}

impl PreferenceLearner {
    /// Goes on with a model as it was trained. Lines name documents of `documents`, if they name any by id.
    pub fn new(model: &PreferenceModel, documents: Option<NamedDocuments>) -> Result<Self> {
        let PreferenceModel { settings, features, state, blend, report, .. } = model;
        if settings.variant == Variant::Identity {
            return Err(Error::Params(
                "the model is the identity, which learns nothing; train another variant".into(),
            ));
        }
        if report.asked_density.is_some() {
            return Err(Error::Params(
                "the model was trained to a share of its weights, which is reached at the end of a training only; train \
                 with lambda to go on line by line"
                    .into(),
            ));
        }
        let learner = Learner::from_state(state)?;
        let report = PreferenceReport {
            source: STREAM_SOURCE.into(),
            validation: None,
            interrupted: false,
            left_out: BTreeMap::new(),
            ..report.clone()
        };
        let lessons = LineLessons::new("the stream".into(), features)?;
        let last = *learner.clock();
        Ok(Self {
            settings: *settings,
            features: features.clone(),
            blend: *blend,
            report,
            documents,
            learner,
            lessons,
            last,
            n_lines: 0,
        })
    }

    /// Goes on where [`model`](Self::model) and [`position`](Self::position) were taken.
    pub fn resume(
        model: &PreferenceModel,
        documents: Option<NamedDocuments>,
        position: &PreferencePosition,
    ) -> Result<Self> {
        let mut learner = Self::new(model, documents)?;
        let PreferencePosition { lines, points, steps, violations } = *position;
        if points > learner.report.curve.len() || steps > learner.last.steps {
            return Err(Error::Params("the position is not one of this model".into()));
        }
        learner.report.curve.truncate(points);
        learner.report.left_out = model.report.left_out.clone();
        (learner.last.steps, learner.last.violations) = (steps, violations);
        learner.n_lines = lines;
        Ok(learner)
    }

    /// Learns from lines in their order. Lines that cannot be used are left out and counted in the model.
    pub fn learn(&mut self, lines: Vec<Vec<u8>>) -> Result<()> {
        let numbered = lines.into_iter().zip(self.n_lines + 1..);
        let line = |(bytes, number): (Vec<u8>, u64)| {
            let bytes = Some(bytes).filter(|bytes| bytes.len() <= LONGEST_RECORD);
            Line { number, bytes, whole: true }
        };
        let lines: Vec<Line> = numbered.map(line).collect();
        self.n_lines += lines.len() as u64;
        let mut rest = &lines[..];
        while !rest.is_empty() {
            // A point of the curve falls on the same tuple however lines are divided.
            let due = self.last.steps + STREAM_POINTS - self.learner.clock().steps;
            let (now, later) = rest.split_at(rest.len().min(LESSON.min(due) as usize));
            rest = later;
            let maker = Maker {
                features: &self.features,
                documents: self.documents.as_ref(),
                texts: self.documents.is_none(),
            };
            let lesson = self.lessons.make(&maker, now)?;
            self.learner.learn(lesson.queries, lesson.documents, lesson.tuples, &Silent)?;
            if self.learner.clock().steps >= self.last.steps + STREAM_POINTS {
                self.report.curve.push(self.point());
                self.last = *self.learner.clock();
            }
        }
        Ok(())
    }

    fn point(&self) -> CurvePoint {
        point_since(&self.learner, &self.last, None)
    }

    /// Number of lines so far, those that were left out included.
    pub fn n_lines(&self) -> u64 {
        self.n_lines
    }

    /// Number of tuples that the model has learned from in all.
    pub fn n_steps(&self) -> u64 {
        self.learner.clock().steps
    }

    /// Position that [`resume`](Self::resume) needs beside the model.
    pub fn position(&self) -> PreferencePosition {
        PreferencePosition {
            lines: self.n_lines,
            points: self.report.curve.len(),
            steps: self.last.steps,
            violations: self.last.violations,
        }
    }

    /// Returns the model with everything learned so far.
    pub fn model(&self) -> Result<PreferenceModel> {
        let mut report = self.report.clone();
        for (reason, n) in self.lessons.tally.counts() {
            *report.left_out.entry(reason).or_default() += n;
        }
        if self.learner.clock().steps > self.last.steps {
            report.curve.push(self.point());
        }
        Ok(PreferenceModel {
            settings: self.settings,
            features: self.features.clone(),
            w: blended(self.learner.matrix(), self.blend)?,
            state: self.learner.state(),
            blend: self.blend,
            report,
        })
    }
}
