//! Random numbers: independent streams, heavy-tailed distributions, weighted samples, and counts with a controlled mean.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(super) type Stream = Xoshiro256PlusPlus;

/// Returns the stream of random numbers of `(seed, part, purpose)`. No other part of the simulation draws from it, so
/// the order in which the parts are generated does not matter.
pub(super) fn stream(seed: u64, part: usize, purpose: u64) -> Stream {
    let mut key = seed;
    for part in [part as u64, purpose] {
        // The finaliser of SplitMix64, which maps different keys to different, unrelated ones.
        key = (key ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        key ^= key >> 31;
    }
    Stream::seed_from_u64(key)
}

/// Draws an index below `n`, low ones far more often: P(index < x n) = x^(1/3), a power law of exponent 2/3.
pub(super) fn early(n: usize, rng: &mut Stream) -> usize {
    let u: f64 = rng.random();
    ((u * u * u * n as f64) as usize).min(n - 1)
}

/// Draws n >= 1 with P(at least n) = n^-a, truncated at `most`.
pub(super) fn pareto(a: f64, most: usize, rng: &mut Stream) -> usize {
    let u: f64 = 1.0 - rng.random::<f64>();
    (u.powf(-1.0 / a) as usize).clamp(1, most)
}

/// Draws n >= 0 with P(at least n) = (mean / (1 + mean))^n, truncated at `most`.
pub(super) fn geometric(mean: f64, most: usize, rng: &mut Stream) -> usize {
    let go_on = mean / (1.0 + mean);
    let mut n = 0;
    while n < most && rng.random_bool(go_on) {
        n += 1;
    }
    n
}

/// Draws a sample of `n` indices without replacement, with the given weights (Efraimidis and Spirakis, 2006: the `n`
/// largest `u^(1/w)`), in no particular order of the weights.
pub(super) fn weighted_sample(weights: impl Iterator<Item = f64>, n: usize, rng: &mut Stream) -> Vec<usize> {
    let mut keys: Vec<(f64, usize)> =
        weights.enumerate().map(|(i, weight)| (rng.random::<f64>().ln() / weight, i)).collect();
    keys.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut sample: Vec<usize> = keys.into_iter().take(n).map(|(_, i)| i).collect();
    shuffle(&mut sample, rng);
    sample
}

/// Puts the items into a random order (Fisher and Yates).
pub(super) fn shuffle<T>(items: &mut [T], rng: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.random_range(0..=i));
    }
}

/// Shares of parts whose sizes are proportional to `(k + 1)^-exponent`: a few large parts, many small ones. Part `k` of
/// `n` items is `cut(k)..cut(k + 1)`, exactly, for every `n`.
pub(super) struct Shares {
    cumulative: Vec<f64>,
}

impl Shares {
    pub(super) fn new(parts: usize, exponent: f64) -> Self {
        let mut cumulative = vec![0.0];
        for k in 0..parts {
            cumulative.push(cumulative[k] + ((k + 1) as f64).powf(-exponent));
        }
        let total = cumulative[parts];
        cumulative.iter_mut().for_each(|c| *c /= total);
        Self { cumulative }
    }

    pub(super) fn part(&self, k: usize, n: usize) -> std::ops::Range<usize> {
        let cut = |k: usize| (self.cumulative[k] * n as f64).round() as usize;
        cut(k)..cut(k + 1)
    }
}

/// Draws counts `low + Binomial(trials, p)`, and adjusts them so that the mean of the counts that were actually used
/// stays at `mean`, even if the caller uses other counts than those drawn.
pub(super) struct KeptMean {
    mean: f64,
    low: usize,
    trials: usize,
    /// Sum of the counts used, minus `mean` for each.
    ahead: f64,
}

impl KeptMean {
    pub(super) fn new(mean: f64, low: usize, high: usize) -> Self {
        Self { mean, low, trials: high - low, ahead: 0.0 }
    }

    pub(super) fn draw(&self, rng: &mut Stream) -> usize {
        let p = ((self.mean - self.low as f64) / self.trials as f64).clamp(0.0, 1.0);
        let n = self.low + (0..self.trials).filter(|_| rng.random_bool(p)).count();
        if self.ahead >= 1.0 && n > self.low + 1 {
            n - 1
        } else if self.ahead <= -1.0 && n < self.low + self.trials {
            n + 1
        } else {
            n
        }
    }

    pub(super) fn used(&mut self, n: usize) {
        self.ahead += n as f64 - self.mean;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ() {
        let first = |seed, topic, purpose| stream(seed, topic, purpose).random::<u64>();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let keys = [first(1, 2, 3), first(1, 3, 2), first(2, 1, 3), first(1, 2, 4), first(1, 1, 3)];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
    }

    #[test]
    fn shares_cover_everything_once() {
        let shares = Shares::new(7, 0.6);
        for n in [0, 1, 13, 94_022] {
            let mut end = 0;
            for k in 0..7 {
                let part = shares.part(k, n);
                assert_eq!(part.start, end);
                end = part.end;
            }
            assert_eq!(end, n);
        }
    }

    #[test]
    fn tails_follow_their_law() {
        let mut rng = stream(1, 0, 0);
        let draws: Vec<usize> = (0..100_000).map(|_| pareto(1.2, 1_000, &mut rng)).collect();
        for n in [2usize, 5, 20, 100] {
            let share = draws.iter().filter(|&&d| d >= n).count() as f64 / 1e5;
            let expected = (n as f64).powf(-1.2);
            assert!((share - expected).abs() < 5.0 * (expected / 1e5).sqrt(), "{n}: {share} {expected}");
        }
        let mean = (0..100_000).map(|_| geometric(1.5, 100, &mut rng)).sum::<usize>() as f64 / 1e5;
        assert!((mean - 1.5).abs() < 0.04, "{mean}");
        let head = (0..100_000).filter(|_| early(1_000, &mut rng) < 125).count();
        assert!((head as f64 / 1e5 - 0.5).abs() < 0.01);
    }

    #[test]
    fn the_mean_is_kept_although_counts_are_changed() {
        let mut rng = stream(1, 0, 0);
        let mut lengths = KeptMean::new(2.58, 1, 5);
        let mut sum = 0;
        for _ in 0..10_000 {
            let used = lengths.draw(&mut rng).max(2);
            lengths.used(used);
            sum += used;
        }
        assert!((sum as f64 / 1e4 - 2.58).abs() < 0.01, "{sum}");
    }
}
