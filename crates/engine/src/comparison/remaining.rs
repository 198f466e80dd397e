//! Estimates the remaining time of a comparison from what was measured so far.
//!
//! Work is counted in trainings with full effort. Trials of tuning with less effort count less. A model whose trials are
//! under way goes on at the pace of its trials; a model that waits takes the pace of a finished one of its kind. For kinds
//! that have not run yet, the relative costs of the table of models and the pace of everything so far give a guess. Until
//! [`BASIS`] of all expected work is measured there is no estimate.
//!
//! Times are seconds since the start of the comparison, given by the caller: all of this is a pure function of events.

/// Share of the expected work that has to be measured before there is an estimate.
const BASIS: f64 = 0.02;
/// Part of a trial that takes the same time for any effort: features, ranking the validation queries.
const FIXED: f64 = 0.2;
/// Shortest time of a trial that was made, in seconds. Trials found in a trace take less.
const MADE: f64 = 0.001;
/// A step that takes longer than expected is expected to take this share of its time in addition.
const LONGER: f64 = 0.25;

/// Expected work of a model.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// Kind of the model.
    pub(super) kind: String,
    /// Time of a training, relative to other kinds.
    pub(super) cost: f64,
    /// Rounds of trials, each with the number of trials and the work of one.
    pub(super) rounds: Vec<(u64, f64)>,
    /// Seconds that tuning may take.
    pub(super) limit: Option<f64>,
}

/// Work of a trial with a share of the full effort, of a model whose training takes less time with less effort.
pub(super) fn work_of_trial(share: f64) -> f64 {
    FIXED + (1.0 - FIXED) * share
}

/// A model that is being made.
#[derive(Debug)]
struct Running {
    model: usize,
    begun: f64,
    /// Time of the last trial, or of the beginning.
    last: f64,
    /// Work of the trials that were made, and the seconds that they took.
    made: (f64, f64),
    /// Rounds that have begun.
    rounds: usize,
    /// Trials of this round that are left.
    left: u64,
}

/// Planned and measured work of a comparison.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    expected: Vec<Expected>,
    /// Seconds of finished models; none for those that wait and those that took no work.
    seconds: Vec<Option<f64>>,
    /// Models that are done, with or without work.
    done: Vec<bool>,
    running: Option<Running>,
}

impl Schedule {
    pub(super) fn new(expected: Vec<Expected>) -> Self {
        let n = expected.len();
        Self { expected, seconds: vec![None; n], done: vec![false; n], running: None }
    }

    /// A model begins; the one before it has ended.
    pub(super) fn begin(&mut self, model: usize, now: f64) {
        self.end(now);
        // Models before it that were left out take no time any more.
        self.done.iter_mut().take(model).for_each(|done| *done = true);
        if let Some(expected) = self.expected.get(model) {
            let left = expected.rounds.first().map_or(0, |(trials, _)| *trials);
            self.running = Some(Running { model, begun: now, last: now, made: (0.0, 0.0), rounds: 0, left });
        }
    }

    fn end(&mut self, now: f64) {
        if let Some(running) = self.running.take() {
            self.done[running.model] = true;
            self.seconds[running.model] = Some(now - running.begun);
        }
    }

    /// The model that began last was made before and takes no work.
    pub(super) fn keep(&mut self) {
        if let Some(running) = self.running.take() {
            self.done[running.model] = true;
        }
    }

    /// A round of trials begins.
    pub(super) fn begin_round(&mut self, trials: u64) {
        if let Some(running) = &mut self.running {
            running.rounds += 1;
            running.left = trials;
        }
    }

    /// Trials of the round are done.
    pub(super) fn advance(&mut self, trials: u64, now: f64) {
        let Some(running) = &mut self.running else { return };
        let work = work_of_round(&self.expected[running.model], running.rounds);
        running.left = running.left.saturating_sub(trials);
        if now - running.last >= MADE {
            running.made.0 += work * trials as f64;
            running.made.1 += now - running.last;
        }
        running.last = now;
    }

    /// Returns the seconds that are left, or `None` as long as too little is known.
    pub(super) fn remaining(&self, now: f64) -> Option<f64> {
        let known = |model: usize| Some((self.expected[model].weight(), self.seconds[model]?));
        let finished = (0..self.expected.len()).filter_map(known);
        let (mut weight, mut seconds) = finished.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        if let Some(running) = &self.running {
            weight += self.expected[running.model].cost * running.made.0;
            seconds += running.made.1;
        }
        let waiting: Vec<usize> = (0..self.expected.len())
            .filter(|&model| !self.done[model] && self.running.as_ref().is_none_or(|own| own.model != model))
            .collect();
        let own = self.running.as_ref().map(|running| running.model);
        let open: f64 = waiting.iter().chain(&own).map(|&model| self.expected[model].weight()).sum();
        let measured = (0..self.expected.len()).filter_map(known).map(|(weight, _)| weight).sum::<f64>();
        if weight <= 0.0 || weight < BASIS * (open + measured) {
            return None;
        }
        let pace = seconds / weight;
        let of_waiting = waiting.iter().map(|&model| self.seconds_of(model, pace)).sum::<f64>();
        Some(of_waiting + self.running.as_ref().map_or(0.0, |running| self.left_of(running, pace, now)))
    }

    /// Expected seconds of a model that waits.
    fn seconds_of(&self, model: usize, pace: f64) -> f64 {
        let expected = &self.expected[model];
        let same = |other: &usize| self.expected[*other].kind == expected.kind;
        let known = (0..self.expected.len())
            .filter(same)
            .filter_map(|other| Some((self.expected[other].weight(), self.seconds[other]?)));
        let (weight, seconds) = known.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let pace = if weight > 0.0 { seconds / weight } else { pace };
        let seconds = pace * expected.weight();
        expected.limit.map_or(seconds, |limit| seconds.min(limit))
    }

    /// Seconds that the running model still needs.
    fn left_of(&self, running: &Running, pace: f64, now: f64) -> f64 {
        let expected = &self.expected[running.model];
        let (work, seconds) = running.made;
        let pace = if work > 0.0 { seconds / work } else { pace * expected.cost };
        let next = work_of_round(expected, running.rounds);
        let later: f64 = expected
            .rounds
            .iter()
            .skip(running.rounds.max(1))
            .map(|(trials, work)| *trials as f64 * work)
            .sum();
        let since = now - running.last;
        // The step that runs: a trial, or what follows the last one.
        let (step, others) = match running.left {
            0 => (0.0, later),
            left => (pace * next, (left - 1) as f64 * next + later),
        };
        // A step that takes longer than expected counts for the others, as one of those so far.
        let pace = if running.left > 0 { pace.max((seconds + since) / (work + next)) } else { pace };
        let left = (step - since).max(LONGER * since) + pace * others;
        expected.limit.map_or(left, |limit| left.min((limit - (now - running.begun)).max(LONGER * since)))
    }
}

impl Expected {
    /// Expected time, in the unit of the relative costs.
    fn weight(&self) -> f64 {
        self.cost * self.rounds.iter().map(|(trials, work)| *trials as f64 * work).sum::<f64>()
    }
}

/// Work of a trial of the round that runs; of the first before any has begun.
fn work_of_round(expected: &Expected, rounds_begun: usize) -> f64 {
    let at = rounds_begun.saturating_sub(1).min(expected.rounds.len().saturating_sub(1));
    expected.rounds.get(at).map_or(0.0, |(_, work)| *work)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(kind: &str, cost: f64, rounds: &[(u64, f64)]) -> Expected {
        Expected { kind: kind.to_owned(), cost, rounds: rounds.to_vec(), limit: None }
    }

    fn about(found: Option<f64>, seconds: f64) {
        let found = found.expect("there is an estimate");
        assert!((found - seconds).abs() < 1e-9, "{found} instead of {seconds}");
    }

    #[test]
    fn nothing_is_said_without_a_basis() {
        let mut schedule =
            Schedule::new(vec![expected("bm25", 0.1, &[(1, 1.0)]), expected("sparse", 100.0, &[(10, 1.0)])]);
        assert_eq!(schedule.remaining(0.0), None);
        schedule.begin(0, 0.0);
        assert_eq!(schedule.remaining(3.0), None);
        // One part of ten thousand is known.
        schedule.begin(1, 4.0);
        assert_eq!(schedule.remaining(5.0), None);
        schedule.begin_round(10);
        schedule.advance(1, 14.0);
        about(schedule.remaining(14.0), 90.0);
        assert_eq!(Schedule::default().remaining(1.0), None);
    }

    #[test]
    fn trials_of_a_model_have_its_own_pace() {
        let rounds = [(4, 0.5), (2, 1.0)];
        let mut schedule = Schedule::new(vec![expected("a", 1.0, &rounds), expected("b", 3.0, &rounds)]);
        schedule.begin(0, 0.0);
        schedule.begin_round(4);
        schedule.advance(1, 5.0);
        // 0.5 of 4 take 5 s; b costs three times as much.
        about(schedule.remaining(5.0), 35.0 + 120.0);
        about(schedule.remaining(7.0), 33.0 + 120.0);
        schedule.advance(3, 20.0);
        schedule.begin_round(2);
        about(schedule.remaining(20.0), 20.0 + 120.0);
        schedule.advance(2, 40.0);
        schedule.begin(1, 40.0);
        about(schedule.remaining(40.0), 120.0);
        // The trials of b are slower than its cost lets expect.
        schedule.begin_round(4);
        schedule.advance(1, 80.0);
        about(schedule.remaining(80.0), 80.0 * 3.5);
    }

    #[test]
    fn a_finished_model_tells_the_time_of_its_kind() {
        let stack = |parts: f64| expected("stack", 10.0, &[(1, parts)]);
        let mut schedule = Schedule::new(vec![expected("a", 1.0, &[(1, 1.0)]), stack(1.0), stack(2.0)]);
        schedule.begin(0, 0.0);
        schedule.begin(1, 1.0);
        about(schedule.remaining(1.0), 30.0);
        schedule.begin(2, 101.0);
        // The pace of all is 101 s for 11; that of stacks is what counts for those that wait.
        let mut waits = Schedule::new(vec![expected("a", 1.0, &[(1, 1.0)]), stack(1.0), stack(2.0)]);
        waits.begin(1, 0.0);
        waits.end(100.0);
        about(waits.remaining(100.0), 200.0);
    }

    #[test]
    fn time_that_passes_without_a_step_is_never_called_none() {
        let mut schedule = Schedule::new(vec![expected("a", 1.0, &[(3, 1.0)])]);
        schedule.begin(0, 0.0);
        schedule.begin_round(3);
        schedule.advance(1, 10.0);
        about(schedule.remaining(10.0), 20.0);
        about(schedule.remaining(15.0), 15.0);
        // The second trial takes ten times as long as the first; the third is expected to take the mean of both.
        about(schedule.remaining(110.0), 25.0 + 55.0);
        schedule.advance(2, 210.0);
        // All trials are done, and the model is not.
        assert!(schedule.remaining(250.0).unwrap() >= 10.0);
    }

    #[test]
    fn kept_models_and_known_trials_are_no_measurement() {
        let two = || vec![expected("a", 1.0, &[(4, 1.0)]), expected("b", 1.0, &[(4, 1.0)])];
        let mut schedule = Schedule::new(two());
        schedule.begin(0, 0.0);
        schedule.keep();
        schedule.begin(1, 0.001);
        assert_eq!(schedule.remaining(1.0), None);
        schedule.begin_round(4);
        schedule.advance(1, 0.0011);
        schedule.advance(1, 0.0012);
        assert_eq!(schedule.remaining(1.0), None, "trials of a trace");
        schedule.advance(1, 10.0012);
        about(schedule.remaining(10.0012), 10.0);
        // A model that is left out is not waited for.
        let mut left_out = Schedule::new(two());
        left_out.begin(1, 0.0);
        left_out.begin_round(4);
        left_out.advance(2, 6.0);
        about(left_out.remaining(6.0), 6.0);
    }

    #[test]
    fn a_limit_of_time_is_a_limit() {
        let mut models = vec![expected("a", 1.0, &[(100, 1.0)]), expected("b", 1.0, &[(100, 1.0)])];
        models.iter_mut().for_each(|model| model.limit = Some(60.0));
        let mut schedule = Schedule::new(models);
        schedule.begin(0, 0.0);
        schedule.begin_round(100);
        schedule.advance(10, 20.0);
        about(schedule.remaining(20.0), 40.0 + 60.0);
    }
}
