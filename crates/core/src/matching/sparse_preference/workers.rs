//! Steps on all threads, with the outcome of steps one by one in the order of the tuples.
//!
//! Tuples are taken in blocks, which end at the multiples of T. Within a block W stays as it is and what the
//! steps add to it is kept apart: a tuple's score is q' W d + sum over the violations s so far of
//! eta_s (q_s' q) (d_s' d), d short for d+ - d-. So the rows of W, which are divided among the threads, are
//! read for a whole block without waiting for anyone. Then all threads tell each other their sums, once per
//! block, go through the violations alike, and change their own rows: every row is written once, with all
//! that the block adds to it, and entries that the shrinkage at the end of the block leaves nothing of are
//! never written. Sums are integers, so W does not depend on who added what.
//!
//! Where only entries that are there may change, the sum above is not what steps add. Then a block is one step.

use super::board::{Board, LARGEST_SCORE, Sum};
use super::change::Room;
use super::clock::Clock;
use super::difference::{Difference, Spread};
use super::learner::{Learner, shared_column};
use super::row::{Row, Whole};
use super::violation::{self, Influence, Part, Violation};
use super::{PreferenceParams, Tuple};
use crate::matching::{Csr, SparseRow};
use crate::progress::Progress;

/// Parts that the rows are divided into: row i is in part i % SHARDS.
pub(super) const SHARDS: usize = 64;
/// Entries of a block that are worth another thread.
const ENTRIES_PER_THREAD: usize = if cfg!(test) { 1 } else { 20_000 };

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
    pending: &'a [Violation],
    fixed_bytes: u64,
    /// Bytes of W at which workers return to have it swept.
    sweep_above: Option<u64>,
    progress: &'a dyn Progress,
}

impl<'a> Task<'a> {
    fn query(&self, tuple: &Tuple) -> SparseRow<'a> {
        self.queries.row(tuple.query as usize)
    }
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
    let task = Task {
        params: &learner.params,
        n_columns: learner.n_columns,
        shared: &learner.shared,
        queries,
        documents,
        tuples,
        clock: learner.clock,
        pending: &learner.pending,
        fixed_bytes: all_bytes - in_rows,
        sweep_above: learner.sweep_above(),
        progress,
    };
    let n_threads = threads(&task);
    let mut workers: Vec<Worker<'_>> = (0..n_threads).map(|me| Worker::new(me, n_threads)).collect();
    for (shard, rows) in learner.shards.iter_mut().enumerate() {
        let worker = &mut workers[shard % n_threads];
        worker.bytes += row_bytes(rows);
        worker.shards.push(rows);
    }
    let board = Board::new(n_threads);
    let (mut first, others) = (workers.remove(0), workers);
    let end = std::thread::scope(|scope| {
        for mut worker in others {
            let (task, board) = (&task, &board);
            scope.spawn(move || worker.run(task, board));
        }
        first.run(&task, &board)
    });
    drop(first);
    learner.clock = end.clock;
    learner.pending = end.pending;
    (end.done, end.stop)
}

/// As many threads as the pool has, unless blocks are too small to share.
fn threads(task: &Task<'_>) -> usize {
    let sample = &task.tuples[..task.tuples.len().min(1000)];
    let length = |matrix: &Csr, row: u32| matrix.row(row as usize).indices().len();
    let entries = |tuple: &Tuple| {
        length(task.queries, tuple.query)
            * (length(task.documents, tuple.more) + length(task.documents, tuple.less))
    };
    let mean = sample.iter().map(entries).sum::<usize>() / sample.len().max(1);
    // One step at a time threads wait for each other often, but have nothing to do twice.
    let steps = task.clock.whole_block(task.params).max(10);
    (steps * mean / ENTRIES_PER_THREAD).clamp(1, SHARDS).min(rayon::current_num_threads())
}

/// The rows of one thread: those of shards `me`, `me` + `n_threads`, ...
struct Worker<'a> {
    me: usize,
    n_threads: usize,
    shards: Vec<&'a mut Vec<Row>>,
    bytes: u64,
}

/// Where a worker stopped.
struct End {
    done: usize,
    clock: Clock,
    /// Violations of a block that has not ended.
    pending: Vec<Violation>,
    stop: Stop,
}

impl Worker<'_> {
    fn new(me: usize, n_threads: usize) -> Self {
        Self { me, n_threads, shards: Vec::new(), bytes: 0 }
    }

    fn is_own(&self, row: u32) -> bool {
        row as usize % SHARDS % self.n_threads == self.me
    }

    fn row(&self, row: u32) -> &Row {
        &self.shards[row as usize % SHARDS / self.n_threads][row as usize / SHARDS]
    }

    fn row_mut(&mut self, row: u32) -> &mut Row {
        &mut self.shards[row as usize % SHARDS / self.n_threads][row as usize / SHARDS]
    }

    fn run(&mut self, task: &Task<'_>, board: &Board) -> End {
        let Task { params, n_columns, tuples, .. } = *task;
        let (mut clock, mut violations) = (task.clock, task.pending.to_vec());
        let mut room = Room::new(if clock.restricted(params) { 0 } else { n_columns });
        let mut bench = Bench::new(task);
        let (mut done, mut round) = (0, 0);
        while done < tuples.len() {
            let whole = clock.whole(n_columns);
            let block = &tuples[done..tuples.len().min(done + clock.block(params))];
            self.read(task, block, whole, &mut bench);
            round += 1;
            let bytes = board.agree(self.me, round, &mut bench.scores, self.bytes);
            let is_large = task.sweep_above.is_some_and(|above| task.fixed_bytes + bytes > above);
            if done > 0 && is_large {
                return End { done, clock, pending: violations, stop: Stop::Sweep };
            }
            if !bench.decide(task, block, &mut clock, &mut violations) {
                return End { done, clock, pending: Vec::new(), stop: Stop::Diverged };
            }
            done += block.len();
            if clock.ends_block(params) {
                let parts = violation::parts(&violations, |row| self.is_own(row));
                if clock.restricted(params) {
                    self.write_where_present(task, &parts, whole, &mut bench.spread);
                } else {
                    self.write(task, &parts, (whole, clock.shrinkage), &mut room);
                }
                violations.clear();
            }
            if self.me == 0 {
                task.progress.advance(block.len() as u64);
            }
        }
        End { done, clock, pending: violations, stop: Stop::Done }
    }

    /// Scores of the tuples of a block, as far as the rows of this worker go: short rows tuple by tuple, long
    /// ones row by row.
    fn read(&self, task: &Task<'_>, block: &[Tuple], whole: Whole, bench: &mut Bench) {
        let Bench { differences, spread, unpacked, scores, visits, .. } = bench;
        differences.resize_with(differences.len().max(block.len()), Difference::default);
        scores.clear();
        visits.clear();
        for ((at, tuple), difference) in (0..).zip(block).zip(&mut *differences) {
            difference.set(task.documents.row(tuple.more as usize), task.documents.row(tuple.less as usize));
            spread.set(&difference.columns, difference.values());
            let mut sum = Sum::default();
            for (i, q) in task.query(tuple).iter().filter(|&(i, _)| self.is_own(i)) {
                match self.row(i).dot(spread, shared_column(task.shared[i as usize]), whole) {
                    Some(score) => sum.add(f64::from(q) * score),
                    None => visits.push((i, at, q)),
                }
            }
            scores.push(sum);
            spread.clear(&difference.columns);
        }
        visits.sort_unstable_by_key(|&(i, at, _)| u64::from(i) << 32 | u64::from(at));
        let mut rows = visits.chunk_by(|a, b| a.0 == b.0).peekable();
        while let Some(visits) = rows.next() {
            if let Some([(next, ..), ..]) = rows.peek() {
                self.row(*next).fetch();
            }
            let row = self.row(visits[0].0);
            let Some(packed) = row.packed() else { continue };
            let (due, is_unpacked) = (row.due(whole), packed.is_worth_unpacking(visits.len()));
            if is_unpacked {
                packed.unpack(due, unpacked);
            }
            for &(_, at, q) in visits {
                let difference = &differences[at as usize];
                let score = if is_unpacked {
                    unpacked.dot(&difference.columns, difference.values())
                } else {
                    packed.dot(difference, due)
                };
                scores[at as usize].add(f64::from(q) * score);
            }
        }
    }

    /// Adds all that a block adds to the rows of this worker.
    fn write(&mut self, task: &Task<'_>, parts: &[Part<'_>], (whole, next): (Whole, f64), room: &mut Room) {
        let mut rows = parts.chunk_by(|a, b| a.row == b.row).peekable();
        while let Some(parts) = rows.next() {
            if let Some([next, ..]) = rows.peek() {
                self.row(next.row).fetch();
            }
            let i = parts[0].row;
            let (row, shared) = (self.row_mut(i), task.shared[i as usize]);
            let before = row.bytes() as u64;
            row.apply(parts, room, shared_column(shared), whole, next);
            let after = row.bytes() as u64;
            self.bytes = self.bytes + after - before;
        }
    }

    /// Adds one violation to entries of this worker that are there.
    fn write_where_present(
        &mut self,
        task: &Task<'_>,
        parts: &[Part<'_>],
        whole: Whole,
        spread: &mut Spread,
    ) {
        let Some(Part { difference, .. }) = parts.first() else { return };
        spread.set(&difference.columns, difference.values());
        for part in parts {
            let column = shared_column(task.shared[part.row as usize]);
            self.row_mut(part.row).add_where_present(part.scale, difference, spread, column, whole);
        }
        spread.clear(&difference.columns);
    }
}

/// What a worker needs to go through a block.
struct Bench {
    /// d+ - d- of every tuple.
    differences: Vec<Difference>,
    /// The score of every tuple without what the block has added to W.
    scores: Vec<Sum>,
    /// What the block has added to the score of every tuple.
    added: Vec<f64>,
    /// Long rows that tuples read: the row, the tuple, and the weight of the word in the query.
    visits: Vec<(u32, u32, f32)>,
    /// All 0 while not in use.
    spread: Spread,
    unpacked: Spread,
    influence: Influence,
}

impl Bench {
    fn new(task: &Task<'_>) -> Self {
        Self {
            differences: Vec::new(),
            scores: Vec::new(),
            added: Vec::new(),
            visits: Vec::new(),
            spread: Spread::new(task.n_columns),
            unpacked: Spread::new(task.n_columns),
            influence: Influence::new(task.shared.len(), task.n_columns),
        }
    }

    /// Goes through the tuples of a block in their order; false if a score is no number any more.
    fn decide(
        &mut self,
        task: &Task<'_>,
        block: &[Tuple],
        clock: &mut Clock,
        violations: &mut Vec<Violation>,
    ) -> bool {
        let Self { differences, scores, added, influence, .. } = self;
        let differences = &differences[..block.len()];
        added.clear();
        added.resize(block.len(), 0.0);
        let mut add = |violation: &Violation, added: &mut [f64], from: usize| {
            let tuples = block[from..].iter().zip(&differences[from..]).zip(&mut added[from..]);
            influence.add(violation, tuples.map(|((tuple, d), score)| (task.query(tuple), d, score)));
        };
        violations.iter().for_each(|violation| add(violation, added, 0));
        for (at, tuple) in block.iter().enumerate() {
            let gap = scores[at].score().map(|score| score + added[at]);
            let Some(gap) = gap.filter(|gap| gap.abs() < LARGEST_SCORE) else { return false };
            if gap < task.params.margin {
                let violation = Violation::new(clock.eta(task.params), task.query(tuple), &differences[at]);
                add(&violation, added, at + 1);
                violations.push(violation);
            }
            clock.tick(task.params, gap);
        }
        true
    }
}
