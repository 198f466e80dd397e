//! State shared by the worker threads.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::clock::Clock;
use super::gram::Gram;

/// Scores are added as multiples of 2^-60.
const UNIT: f64 = (1u64 << 60) as f64;
/// A score outside this range counts as diverged.
pub(super) const LARGEST_SCORE: f64 = 1e19;

/// A sum of scores that does not depend on their order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum(i128);

/// Marks a sum with a term that is not finite.
const DIVERGED: i128 = i128::MIN;

impl Sum {
    pub(super) fn add(&mut self, score: f64) {
        let in_range = score.abs() < LARGEST_SCORE;
        self.join(Self(if in_range { (score * UNIT) as i128 } else { DIVERGED }));
    }

    fn join(&mut self, other: Self) {
        let diverged = self.0 == DIVERGED || other.0 == DIVERGED;
        self.0 = if diverged { DIVERGED } else { self.0.saturating_add(other.0) };
    }

    /// Returns the sum, unless a term was not finite.
    pub(super) fn score(self) -> Option<f64> {
        (self.0 != DIVERGED).then_some(self.0 as f64 / UNIT)
    }
}

/// Messages of the threads to each other.
pub(super) struct Board {
    /// Two messages per thread: a thread may write the next message while others still read this one.
    messages: Vec<Message>,
    /// Products of pairs of tuples, as bits, each written by one thread; two copies as well.
    products: [Vec<AtomicU32>; 2],
}

#[repr(align(128))]
struct Message {
    /// Number of the block, from 1; written last.
    round: AtomicU64,
    bytes: AtomicU64,
    /// Lower and upper half of every sum.
    sums: Vec<[AtomicU64; 2]>,
}

impl Message {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { round: zero(), bytes: zero(), sums: (0..Clock::BLOCK).map(|_| [zero(), zero()]).collect() }
    }
}

impl Board {
    pub(super) fn new(n_threads: usize) -> Self {
        let n_products = if n_threads == 1 { 0 } else { Clock::BLOCK * Clock::BLOCK };
        let products = || (0..n_products).map(|_| AtomicU32::new(0)).collect();
        Self {
            messages: (0..2 * n_threads).map(|_| Message::new()).collect(),
            products: [products(), products()],
        }
    }

    /// Returns the thread that computes the products of tuple `s`.
    pub(super) fn finder(s: usize, n_threads: usize) -> usize {
        s % n_threads
    }

    /// Exchanges sums, products and a number of bytes with the other threads. Afterwards `sums` holds the totals and
    /// `gram` the products of all threads. Returns the total number of bytes.
    pub(super) fn agree(&self, me: usize, round: u64, sums: &mut [Sum], gram: &mut Gram, bytes: u64) -> u64 {
        let n_threads = self.messages.len() / 2;
        if n_threads == 1 {
            return bytes;
        }
        let turn = (round % 2) as usize;
        let mine = &self.messages[2 * me + turn];
        for (sum, [low, high]) in sums.iter().zip(&mine.sums) {
            low.store(sum.0 as u64, Ordering::Relaxed);
            high.store((sum.0 >> 64) as u64, Ordering::Relaxed);
        }
        let products = &self.products[turn];
        for s in (0..gram.n()).filter(|&s| Self::finder(s, n_threads) == me) {
            let later = gram.later(s);
            for (to, product) in products[later.clone()].iter().zip(&gram.products_mut()[later]) {
                to.store(product.to_bits(), Ordering::Relaxed);
            }
        }
        mine.bytes.store(bytes, Ordering::Relaxed);
        mine.round.store(round, Ordering::Release);
        let mut all_bytes = bytes;
        for other in (0..n_threads).filter(|&other| other != me) {
            let message = &self.messages[2 * other + turn];
            let mut waited = 0u32;
            while message.round.load(Ordering::Acquire) != round {
                // Spin for some microseconds; then yield, because another thread may need this processor.
                waited += 1;
                if waited < 2000 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
            for (sum, [low, high]) in sums.iter_mut().zip(&message.sums) {
                let (low, high) = (low.load(Ordering::Relaxed), high.load(Ordering::Relaxed));
                sum.join(Sum((i128::from(high as i64) << 64) | i128::from(low)));
            }
            all_bytes += message.bytes.load(Ordering::Relaxed);
        }
        for s in (0..gram.n()).filter(|&s| Self::finder(s, n_threads) != me) {
            let later = gram.later(s);
            for (from, product) in products[later.clone()].iter().zip(&mut gram.products_mut()[later]) {
                *product = f32::from_bits(from.load(Ordering::Relaxed));
            }
        }
        all_bytes
    }
}
