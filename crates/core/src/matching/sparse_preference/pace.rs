//! Chooses the number of threads for steps that have to wait for each other.
//!
//! If every step is a block of its own, threads exchange a message per step. On an idle machine that pays off. If other
//! programs keep a processor busy, a thread that is not running holds up all the others, and a single thread is many
//! times faster. W is the same for any number of threads. So steps are taken in portions, mostly with the number of
//! threads that was faster recently, and now and then with the other.

use std::time::Duration;

/// Number of steps of a portion.
const PORTION: usize = 1000;
/// Number of steps of a trial.
const TRIAL: usize = 100;
/// Number of portions after which the slower choice is tried again.
const TRY_EVERY: u32 = 16;

/// One thread or all of them; see the [module](self).
#[derive(Debug)]
pub(super) struct Pace {
    n_threads: usize,
    /// Seconds per step with one thread, and with all.
    seconds: [Option<f64>; 2],
    portions: u32,
}

impl Pace {
    pub(super) fn new(n_threads: usize) -> Self {
        Self { n_threads, seconds: [None; 2], portions: 0 }
    }

    /// Returns the number of threads to use, and the number of steps to take with them.
    pub(super) fn next(&self) -> (usize, usize) {
        if self.n_threads == 1 {
            return (1, usize::MAX);
        }
        let (all, steps) = self.choice();
        (if all { self.n_threads } else { 1 }, steps)
    }

    /// Returns true if all threads are to be used, and the number of steps.
    fn choice(&self) -> (bool, usize) {
        match self.seconds {
            [_, None] => (true, TRIAL),
            [None, _] => (false, TRIAL),
            [Some(one), Some(all)] if self.portions.is_multiple_of(TRY_EVERY) => (all > one, TRIAL),
            [Some(one), Some(all)] => (all <= one, PORTION),
        }
    }

    /// Records the time that the last portion took.
    pub(super) fn record(&mut self, steps: usize, took: Duration) {
        let all = usize::from(self.choice().0);
        self.seconds[all] = Some(took.as_secs_f64() / steps.max(1) as f64);
        self.portions += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of 100 portions use all 4 threads, if all threads take `times` as long as one.
    fn with_all(times: f64) -> usize {
        let mut pace = Pace::new(4);
        let portions = (0..100).map(|_| {
            let (n_threads, steps) = pace.next();
            let seconds = if n_threads == 1 { 1.0 } else { times };
            pace.record(steps, Duration::from_secs_f64(seconds));
            usize::from(n_threads == 4)
        });
        portions.sum()
    }

    #[test]
    fn the_faster_way_is_taken_mostly() {
        assert!((85..100).contains(&with_all(0.6)), "{}", with_all(0.6));
        assert!((1..15).contains(&with_all(20.0)), "{}", with_all(20.0));
        assert_eq!(Pace::new(1).next(), (1, usize::MAX));
    }
}
