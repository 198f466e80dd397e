//! The loop: tuples to the learner, and what is to be seen or done on the way.

use std::time::{Duration, Instant};

use matchrank_core::Result;
use matchrank_core::matching::sparse_preference::{Clock, Learner, Phase};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;

use super::judge::PreferenceJudge;
use crate::models::sparse_preference::CurvePoint;
use crate::preferences::TupleLessons;

/// Tuples that are learned from at a time.
pub(super) const LESSON: u64 = 1 << 14;

/// No point of the curve at all.
pub(super) const NEVER: u64 = u64::MAX;

/// Actions during learning.
pub(super) struct Watch<'a> {
    /// Asked often; ends the learning when it says so.
    pub(super) stop: &'a dyn Fn() -> bool,
    /// Steps from one point of the curve to the next.
    pub(super) every: u64,
    /// Measures W for the curve.
    pub(super) judge: Option<&'a PreferenceJudge>,
    /// Entries to leave in W at every point of the curve, the largest.
    pub(super) entries: Option<usize>,
    /// Interval of checkpoints, and the function that writes them.
    pub(super) checkpoint: Option<(Duration, &'a mut Save<'a>)>,
}

/// Saves what was learned so far.
pub(super) type Save<'a> = dyn FnMut(&Learner, &[CurvePoint]) -> Result<()> + 'a;

/// Learns from all lessons; whether it came to their end.
pub(super) fn learn(
    learner: &mut Learner,
    lessons: &mut dyn TupleLessons,
    watch: &mut Watch<'_>,
    curve: &mut Vec<CurvePoint>,
    progress: &dyn Progress,
) -> Result<bool> {
    let (mut saved_at, mut saved_steps) = (Instant::now(), learner.clock().steps);
    let mut last = *learner.clock();
    let complete = loop {
        if (watch.stop)() {
            break false;
        }
        let due = last.steps.saturating_add(watch.every) - learner.clock().steps;
        let Some(lesson) = lessons.next(LESSON.min(due) as usize)? else { break true };
        learner.learn(lesson.queries, lesson.documents, lesson.tuples, progress)?;
        let steps = learner.clock().steps;
        if steps >= last.steps.saturating_add(watch.every) {
            add_point(learner, &mut last, watch, curve, progress)?;
        }
        if let Some((interval, save)) = &mut watch.checkpoint
            && saved_at.elapsed() >= *interval
            && steps > saved_steps
        {
            save(learner, curve)?;
            (saved_at, saved_steps) = (Instant::now(), steps);
        }
    };
    if learner.clock().steps > last.steps && watch.every != NEVER {
        add_point(learner, &mut last, watch, curve, progress)?;
    }
    Ok(complete)
}

/// Returns the point of the curve since an earlier clock.
pub(super) fn point_since(learner: &Learner, last: &Clock, validation: Option<f64>) -> CurvePoint {
    let clock = learner.clock();
    CurvePoint {
        phase: clock.phase,
        steps: clock.steps,
        violations: (clock.violations - last.violations) as f64 / (clock.steps - last.steps) as f64,
        nonzero: learner.nnz() as u64,
        density: learner.density(),
        validation,
    }
}

fn add_point(
    learner: &mut Learner,
    last: &mut Clock,
    watch: &Watch<'_>,
    curve: &mut Vec<CurvePoint>,
    progress: &dyn Progress,
) -> Result<()> {
    let clock = *learner.clock();
    if let Some(entries) = watch.entries.filter(|_| clock.phase == Phase::Learn) {
        learner.shrink_to(entries);
    }
    let validation = watch.judge.map(|judge| judge.ndcg(&learner.matrix())).transpose()?;
    let point = point_since(learner, last, validation);
    let phase = match point.phase {
        Phase::Learn => "learned from",
        Phase::Refit => "refitted on",
    };
    let ndcg = point.validation.map_or(String::new(), |ndcg| format!(", validation NDCG@10 {ndcg:.4}"));
    progress.note(&format!(
        "{phase} {}, {:.1} % of the last ones within the margin; {}, density {:.4} %{ndcg}",
        counted(point.steps, "tuple"),
        100.0 * point.violations,
        counted(point.nonzero, "weight"),
        100.0 * point.density
    ));
    curve.push(point);
    *last = *learner.clock();
    Ok(())
}
