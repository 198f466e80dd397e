//! Steps on all threads, in exactly the order of the tuples.
//!
//! Rows of W are divided among the threads. For every tuple each thread adds up the scores of its own query
//! words, tells the others the sum, and waits for theirs; then all know q' W (d+ - d-), come to the same
//! decision, and change their own rows. Sums are integers, so W does not depend on who added what. There is
//! one message per thread and tuple, a cache line, and nobody waits for anything else.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Clock;
use super::difference::Difference;
use super::learner::Learner;
use super::row::Row;
use super::{PreferenceParams, Tuple};
use crate::matching::Csr;
use crate::progress::Progress;

/// Parts that the rows are divided into: row i is in part i % SHARDS.
pub(super) const SHARDS: usize = 64;
/// Entries of a tuple that are worth another thread.
const ENTRIES_PER_THREAD: usize = if cfg!(test) { 1 } else { 2000 };
/// Rows that are fetched ahead.
const AHEAD: usize = 2;
/// Tuples between two reports of progress.
const REPORT_EVERY: usize = 1024;
/// Scores are added as multiples of 2^-60.
const UNIT: f64 = (1u64 << 60) as f64;
/// A score that has left this range counts as diverged.
const LARGEST_SCORE: f64 = 1e19;

/// Why workers return.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stop {
    /// All tuples are done.
    Done,
    /// W should be swept.
    Sweep,
    /// A score is no number any more.
    Diverged,
}

/// What all workers read.
struct Task<'a> {
    params: &'a PreferenceParams,
    n_columns: usize,
    shared: &'a [u32],
    queries: &'a Csr,
    documents: &'a Csr,
    tuples: &'a [Tuple],
    clock: Clock,
    fixed_bytes: u64,
    /// Bytes of W at which workers return to have it swept.
    sweep_above: Option<u64>,
    progress: &'a dyn Progress,
}

/// Steps until all tuples are done or something else has to be; how many were made.
pub(super) fn work(
    learner: &mut Learner,
    queries: &Csr,
    documents: &Csr,
    tuples: &[Tuple],
    progress: &dyn Progress,
) -> (usize, Stop) {
    let row_bytes = |rows: &[Row]| rows.iter().map(|row| row.bytes() as u64).sum::<u64>();
    let all_bytes = learner.bytes();
    let in_rows: u64 = learner.shards.iter().map(|rows| row_bytes(rows)).sum();
    let sweep_above = learner.grows().then(|| learner.sweep_above());
    let task = Task {
        params: &learner.params,
        n_columns: learner.n_columns,
        shared: &learner.shared,
        queries,
        documents,
        tuples,
        clock: learner.clock,
        fixed_bytes: all_bytes - in_rows,
        sweep_above,
        progress,
    };
    let n_threads = threads(queries, documents, tuples);
    let mut workers: Vec<Worker<'_>> = (0..n_threads).map(|_| Worker::default()).collect();
    for (shard, rows) in learner.shards.iter_mut().enumerate() {
        let worker = &mut workers[shard % n_threads];
        worker.bytes += row_bytes(rows);
        worker.shards.push((shard, rows));
    }
    let board = Board::new(n_threads);
    let (mut first, others) = (workers.remove(0), workers);
    let (n, clock, stop) = std::thread::scope(|scope| {
        for (me, mut worker) in (1..).zip(others) {
            let (task, board) = (&task, &board);
            scope.spawn(move || worker.run(me, task, board));
        }
        first.run(0, &task, &board)
    });
    drop(first);
    learner.clock = clock;
    (n, stop)
}

/// As many threads as the pool has, unless tuples are too small to share.
fn threads(queries: &Csr, documents: &Csr, tuples: &[Tuple]) -> usize {
    let sample = &tuples[..tuples.len().min(1000)];
    let length = |matrix: &Csr, row: u32| matrix.row(row as usize).indices().len();
    let entries = |tuple: &Tuple| {
        length(queries, tuple.query) * (length(documents, tuple.more) + length(documents, tuple.less))
    };
    let mean = sample.iter().map(entries).sum::<usize>() / sample.len().max(1);
    (mean / ENTRIES_PER_THREAD).clamp(1, SHARDS).min(rayon::current_num_threads())
}

/// The rows of one thread.
#[derive(Default)]
struct Worker<'a> {
    shards: Vec<(usize, &'a mut Vec<Row>)>,
    bytes: u64,
}

impl Worker<'_> {
    fn run(&mut self, me: usize, task: &Task<'_>, board: &Board) -> (usize, Clock, Stop) {
        let Task { params, shared, .. } = *task;
        let mut place = [usize::MAX; SHARDS];
        self.shards.iter().enumerate().for_each(|(at, &(shard, _))| place[shard] = at);
        let mut clock = task.clock;
        let (mut difference, mut own) = (Difference::new(task.n_columns), Vec::new());
        for (done, tuple) in (1..).zip(task.tuples) {
            if me == 0 && done % REPORT_EVERY == 0 {
                task.progress.advance(REPORT_EVERY as u64);
            }
            let whole = clock.whole(params, task.n_columns);
            difference.set(task.documents.row(tuple.more as usize), task.documents.row(tuple.less as usize));
            own.clear();
            let words = task.queries.row(tuple.query as usize).iter();
            own.extend(words.filter(|&(i, _)| place[i as usize % SHARDS] != usize::MAX));

            let mut partial = Sum::default();
            let row_of = |i: u32| &self.shards[place[i as usize % SHARDS]].1[i as usize / SHARDS];
            for (at, &(i, q)) in own.iter().enumerate() {
                if let Some(&(next, _)) = own.get(at + AHEAD) {
                    row_of(next).fetch(&difference);
                }
                let row = row_of(i);
                partial.add(f64::from(q) * row.dot(&difference, column(shared, i), whole));
            }
            let (gap, bytes) = board.agree(me, done as u64, partial, self.bytes);
            let Some(gap) = gap.score() else { return (done, clock, Stop::Diverged) };

            if gap < params.margin {
                let eta = clock.eta(params);
                for &(i, q) in &own {
                    let row = &mut self.shards[place[i as usize % SHARDS]].1[i as usize / SHARDS];
                    let before = row.bytes() as u64;
                    let scale = (eta * f64::from(q)) as f32;
                    row.add(scale, &mut difference, column(shared, i), whole);
                    self.bytes = self.bytes + row.bytes() as u64 - before;
                }
            }
            let multiple = clock.tick(params, gap);
            let is_large = task.sweep_above.is_some_and(|above| task.fixed_bytes + bytes > above);
            if multiple && (is_large || clock.settling_is_due()) {
                self.report_rest(me, done, task);
                return (done, clock, Stop::Sweep);
            }
        }
        self.report_rest(me, task.tuples.len(), task);
        (task.tuples.len(), clock, Stop::Done)
    }

    fn report_rest(&self, me: usize, done: usize, task: &Task<'_>) {
        if me == 0 {
            task.progress.advance((done % REPORT_EVERY) as u64);
        }
    }
}

fn column(shared: &[u32], i: u32) -> Option<u32> {
    Some(shared[i as usize]).filter(|&column| column != super::learner::NOT_SHARED)
}

/// A sum of scores that does not depend on their order.
#[derive(Debug, Clone, Copy, Default)]
struct Sum(i128);

/// The sum of something that is no number.
const DIVERGED: i128 = i128::MIN;

impl Sum {
    fn add(&mut self, score: f64) {
        let in_range = score.abs() < LARGEST_SCORE;
        self.join(Self(if in_range { (score * UNIT) as i128 } else { DIVERGED }));
    }

    fn join(&mut self, other: Self) {
        let diverged = self.0 == DIVERGED || other.0 == DIVERGED;
        self.0 = if diverged { DIVERGED } else { self.0.saturating_add(other.0) };
    }

    /// The sum, unless something in it was no number.
    fn score(self) -> Option<f64> {
        (self.0 != DIVERGED).then_some(self.0 as f64 / UNIT)
    }
}

/// Where threads leave their messages.
struct Board {
    /// Two for every thread: a thread may write the next message while others still read this one.
    messages: Vec<Message>,
}

#[derive(Default)]
#[repr(align(128))]
struct Message {
    /// Number of the tuple, from 1; written last.
    tuple: AtomicU64,
    low: AtomicU64,
    high: AtomicU64,
    bytes: AtomicU64,
}

impl Board {
    fn new(n_threads: usize) -> Self {
        Self { messages: (0..2 * n_threads).map(|_| Message::default()).collect() }
    }

    /// Tells the others a sum and a number of bytes, and returns those of all.
    #[inline(always)]
    fn agree(&self, me: usize, tuple: u64, sum: Sum, bytes: u64) -> (Sum, u64) {
        let n_threads = self.messages.len() / 2;
        if n_threads == 1 {
            return (sum, bytes);
        }
        let turn = (tuple % 2) as usize;
        let mine = &self.messages[2 * me + turn];
        mine.low.store(sum.0 as u64, Ordering::Relaxed);
        mine.high.store((sum.0 >> 64) as u64, Ordering::Relaxed);
        mine.bytes.store(bytes, Ordering::Relaxed);
        mine.tuple.store(tuple, Ordering::Release);
        let (mut total, mut all_bytes) = (sum, bytes);
        for other in (0..n_threads).filter(|&other| other != me) {
            let message = &self.messages[2 * other + turn];
            let mut waited = 0u32;
            while message.tuple.load(Ordering::Acquire) != tuple {
                // Spins for some microseconds; then another thread may need this processor.
                waited += 1;
                if waited < 2000 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
            let (low, high) = (message.low.load(Ordering::Relaxed), message.high.load(Ordering::Relaxed));
            total.join(Sum((i128::from(high as i64) << 64) | i128::from(low)));
            all_bytes += message.bytes.load(Ordering::Relaxed);
        }
        (total, all_bytes)
    }
}
