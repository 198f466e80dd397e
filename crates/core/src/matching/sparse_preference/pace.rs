//! How many threads make steps that have to wait for each other.
//!
//! Where every step is a block of its own, threads exchange a message per step. On an idle machine that pays; where
//! other programs keep a processor busy, a thread that is not running holds up all the others, and one alone is many
//! times faster. W is the same for any number of threads, so steps are made in portions, now and then with the other
//! number of threads, and mostly with the one that was faster of late.

use std::time::Duration;

/// Steps of a portion, and of one by which a way is tried.
const PORTION: usize = 1000;
const TRIAL: usize = 100;
/// Every so many portions the slower way is tried again.
const TRY_EVERY: u32 = 16;

/// One thread or all of them; see the [module](self).
#[derive(Debug)]
pub(super) struct Pace {
    n_threads: usize,
    /// Seconds a step took with one thread, and with all.
    seconds: [Option<f64>; 2],
    portions: u32,
}

impl Pace {
    pub(super) fn new(n_threads: usize) -> Self {
        Self { n_threads, seconds: [None; 2], portions: 0 }
    }

    /// Threads to take, and steps to make with them.
    pub(super) fn next(&self) -> (usize, usize) {
        if self.n_threads == 1 {
            return (1, usize::MAX);
        }
        let (all, steps) = self.choice();
        (if all { self.n_threads } else { 1 }, steps)
    }

    /// Whether all threads are taken, and steps to make.
    fn choice(&self) -> (bool, usize) {
        match self.seconds {
            [_, None] => (true, TRIAL),
            [None, _] => (false, TRIAL),
            [Some(one), Some(all)] if self.portions.is_multiple_of(TRY_EVERY) => (all > one, TRIAL),
            [Some(one), Some(all)] => (all <= one, PORTION),
        }
    }

    /// What that took.
    pub(super) fn record(&mut self, steps: usize, took: Duration) {
        let all = usize::from(self.choice().0);
        self.seconds[all] = Some(took.as_secs_f64() / steps.max(1) as f64);
        self.portions += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Portions of 100 that are made with all of 4 threads, where these take so many times as long as one.
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
