//! A thread in which a learner follows the log while the service runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{LearningError, LogLearner};
use crate::store::Store;

/// Course of a learner that follows the log.
#[non_exhaustive]
pub struct FollowCourse {
    /// Time between two checkpoints. It decides when a model is saved, and not what it learns. A minute by default.
    pub pause: Duration,
    /// Receives the model file of every checkpoint; the service loads it here. The file stays until the next checkpoint.
    pub on_checkpoint: Box<dyn FnMut(&Path) + Send>,
}

impl Default for FollowCourse {
    fn default() -> Self {
        Self { pause: Duration::from_secs(60), on_checkpoint: Box::new(|_| {}) }
    }
}

/// Learner that follows the log in a thread of its own.
pub struct FollowingLearner {
    store: Arc<Store>,
    stop: Arc<AtomicBool>,
    sequence: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<LogLearner, LearningError>>>,
}

impl FollowingLearner {
    /// Starts to follow the log.
    pub fn start(store: &Arc<Store>, learner: LogLearner, course: FollowCourse) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let sequence = Arc::new(AtomicU64::new(learner.sequence()));
        let (of_thread, stops, reached) = (Arc::clone(store), Arc::clone(&stop), Arc::clone(&sequence));
        let thread = std::thread::Builder::new()
            .name(format!("learner-{}", learner.name()))
            .spawn(move || {
                let name = learner.name().to_owned();
                let ended = follow(&of_thread, learner, course, &stops, &reached);
                if let Err(error) = &ended {
                    tracing::error!(model = name, error = %error, "a model has stopped learning; a restart tries again");
                }
                ended
            })?;
        Ok(Self { store: Arc::clone(store), stop, sequence, thread: Some(thread) })
    }

    /// Sequence of the last event that the model has learned from.
    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Relaxed)
    }

    /// Returns true if learning has ended, which it does on an error.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Learns from what is in the log, saves a checkpoint and ends; returns the learner, or the error that ended it.
    pub fn stop(mut self) -> Result<LogLearner, LearningError> {
        self.signal();
        let thread = self.thread.take().expect("only stop and drop take it");
        thread.join().unwrap_or_else(|_| Err(LearningError::Refused("the learner panicked".into())))
    }

    fn signal(&self) {
        self.stop.store(true, Ordering::Release);
        self.store.wake();
    }
}

impl Drop for FollowingLearner {
    fn drop(&mut self) {
        self.signal();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn follow(
    store: &Store,
    mut learner: LogLearner,
    mut course: FollowCourse,
    stop: &AtomicBool,
    reached: &AtomicU64,
) -> Result<LogLearner, LearningError> {
    let mut saved_at = Instant::now();
    loop {
        let stops = stop.load(Ordering::Acquire);
        // Document changes have sequences, too, and nothing to learn from.
        let seen = store.last_sequence();
        while learner.learn_page()? > 0 {
            reached.store(learner.sequence(), Ordering::Relaxed);
        }
        let is_due = saved_at.elapsed() >= course.pause;
        if stops || is_due {
            if !learner.is_saved() {
                (course.on_checkpoint)(&learner.checkpoint()?);
            }
            saved_at = Instant::now();
        }
        if stops {
            return Ok(learner);
        }
        if let Some(error) = store.failure() {
            return Err(error.into());
        }
        // A stop that comes in between is noticed at the end of the wait.
        let patience = course.pause.saturating_sub(saved_at.elapsed()).clamp(MIN_WAIT, MAX_WAIT);
        store.wait_after(seen, patience);
    }
}

const MIN_WAIT: Duration = Duration::from_millis(1);
const MAX_WAIT: Duration = Duration::from_millis(200);
