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
use super::by_row::ByRow;
use super::change::Room;
use super::clock::Clock;
use super::difference::{Difference, Spread};
use super::gram::Gram;
use super::learner::{Learner, shared_column};
use super::present::Present;
use super::restricted::Met;
use super::row::{Row, Whole};
use super::violation::{self, Part, Violation};
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
pub(super) struct Task<'a> {
    params: &'a PreferenceParams,
    n_columns: usize,
    pub(super) shared: &'a [u32],
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

/// Steps on so many threads until all tuples are done or something else has to be; how many were made.
pub(super) fn work(
    learner: &mut Learner,
    queries: &Csr,
    documents: &Csr,
    tuples: &[Tuple],
    n_threads: usize,
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
pub(super) fn threads(learner: &Learner, queries: &Csr, documents: &Csr, tuples: &[Tuple]) -> usize {
    let sample = &tuples[..tuples.len().min(1000)];
    let length = |matrix: &Csr, row: u32| matrix.row(row as usize).indices().len();
    let entries = |tuple: &Tuple| {
        length(queries, tuple.query) * (length(documents, tuple.more) + length(documents, tuple.less))
    };
    let mean = sample.iter().map(entries).sum::<usize>() / sample.len().max(1);
    // One step at a time threads wait for each other often, but have nothing to do twice.
    let steps = learner.clock.whole_block(&learner.params).max(10);
    (steps * mean / ENTRIES_PER_THREAD).clamp(1, SHARDS).min(rayon::current_num_threads())
}

/// The rows of one thread: those of shards `me`, `me` + `n_threads`, ...
pub(super) struct Worker<'a> {
    me: usize,
    n_threads: usize,
    /// A bit for every shard of this thread.
    own: u64,
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
        let own = (me..SHARDS).step_by(n_threads).fold(0, |own, shard| own | 1 << shard);
        Self { me, n_threads, own, shards: Vec::new(), bytes: 0 }
    }

    fn is_own(&self, row: u32) -> bool {
        self.own >> (row as usize % SHARDS) & 1 != 0
    }

    pub(super) fn row(&self, row: u32) -> &Row {
        &self.shards[row as usize % SHARDS / self.n_threads][row as usize / SHARDS]
    }

    pub(super) fn row_mut(&mut self, row: u32) -> &mut Row {
        &mut self.shards[row as usize % SHARDS / self.n_threads][row as usize / SHARDS]
    }

    fn run(&mut self, task: &Task<'_>, board: &Board) -> End {
        let Task { params, n_columns, tuples, .. } = *task;
        let (mut clock, mut violations) = (task.clock, task.pending.to_vec());
        let mut bench = Bench::new(task);
        let (mut done, mut round) = (0, 0);
        let mut block = next_block(tuples, clock.block(params));
        self.turn(task, &[], block, clock.whole(n_columns), clock.whole(n_columns), &mut bench);
        self.find_products(task, &violations, block, &mut bench);
        while !block.is_empty() {
            round += 1;
            let bytes = board.agree(self.me, round, &mut bench.scores, &mut bench.gram, self.bytes);
            let is_large = task.sweep_above.is_some_and(|above| task.fixed_bytes + bytes > above);
            if done > 0 && is_large {
                return End { done, clock, pending: violations, stop: Stop::Sweep };
            }
            let before = clock.whole(n_columns);
            if !bench.decide(task, block, &mut clock, &mut violations) {
                return End { done, clock, pending: Vec::new(), stop: Stop::Diverged };
            }
            done += block.len();
            if self.me == 0 {
                task.progress.advance(block.len() as u64);
            }
            block = next_block(&tuples[done..], clock.block(params));
            if clock.ends_block(params) {
                let mut parts = Vec::new();
                if !clock.restricted(params) {
                    parts = violation::parts(&violations, |row| self.is_own(row));
                    parts = bench.by_row.sort(&parts, |part| part.row);
                } else if let Some(violation) = violations.first() {
                    self.write_where_present(task, violation.eta, before, &mut bench);
                }
                self.turn(task, &parts, block, before, clock.whole(n_columns), &mut bench);
                violations.clear();
                self.find_products(task, &[], block, &mut bench);
            }
        }
        End { done, clock, pending: violations, stop: Stop::Done }
    }

    /// Adds to the rows of this worker all that a block has added to them, and finds the scores of the tuples of
    /// the next one as far as these rows go. Both are done with a row while it is at hand; what short rows add
    /// to scores is found tuple by tuple.
    fn turn(
        &mut self,
        task: &Task<'_>,
        parts: &[Part<'_>],
        block: &[Tuple],
        before: Whole,
        whole: Whole,
        bench: &mut Bench,
    ) {
        bench.begin(task, block, |row| self.is_own(row));
        if task.clock.restricted(task.params) {
            self.read_where_present(whole, bench);
            return self.read_short(task, block, whole, bench);
        }
        let Bench { differences, scores, visits, short, room, .. } = bench;
        let mut parts = parts.chunk_by(|a, b| a.row == b.row).peekable();
        let mut visits = visits.chunk_by(|a, b| a.row == b.row).peekable();
        let next_row = |parts: Option<&&[Part<'_>]>, visits: Option<&&[Visit]>| {
            let rows = [parts.map(|parts| parts[0].row), visits.map(|visits| visits[0].row)];
            rows.into_iter().flatten().min()
        };
        while let Some(i) = next_row(parts.peek(), visits.peek()) {
            let parts_here = parts.next_if(|parts| parts[0].row == i).unwrap_or_default();
            let visits_here = visits.next_if(|visits| visits[0].row == i).unwrap_or_default();
            if let Some(next) = next_row(parts.peek(), visits.peek()) {
                self.row(next).fetch();
            }
            let mut is_spread = false;
            if !parts_here.is_empty() {
                let (row, shared) = (self.row_mut(i), shared_column(task.shared[i as usize]));
                let bytes = row.bytes() as u64;
                is_spread = row.apply(parts_here, room, shared, before, whole.shrinkage, visits_here.len());
                let bytes_after = row.bytes() as u64;
                self.bytes = self.bytes + bytes_after - bytes;
            }
            let row = self.row(i);
            let Some(packed) = row.packed() else {
                short.extend_from_slice(visits_here);
                continue;
            };
            let due = row.due(whole);
            if !is_spread && packed.is_worth_unpacking(visits_here.len()) {
                packed.unpack(due, &mut room.columns);
                is_spread = true;
            }
            for &Visit { at, weight, .. } in visits_here {
                let difference = &differences[at as usize];
                let score = if is_spread {
                    room.columns.dot(&difference.columns, difference.values())
                } else {
                    packed.dot(difference, due)
                };
                scores[at as usize].add(f64::from(weight) * score);
            }
        }
        self.read_short(task, block, whole, bench);
    }

    /// Adds to scores what rows that are not packed add to them.
    fn read_short(&self, task: &Task<'_>, block: &[Tuple], whole: Whole, bench: &mut Bench) {
        let Bench { differences, spread, scores, short, by_tuple, .. } = bench;
        if block.len() > 1 {
            *short = by_tuple.sort(short, |visit| visit.at);
        }
        for visits in short.chunk_by(|a, b| a.at == b.at) {
            let at = visits[0].at as usize;
            spread.set(&differences[at].columns, differences[at].values());
            for &Visit { row, weight, .. } in visits {
                let shared = shared_column(task.shared[row as usize]);
                if let Some(score) = self.row(row).dot(spread, shared, whole) {
                    scores[at].add(f64::from(weight) * score);
                }
            }
            spread.clear(&differences[at].columns);
        }
    }

    /// The products of tuples of a block with later ones that this worker is to find; violations of the block
    /// that came in an earlier call are before its tuples.
    fn find_products(&self, task: &Task<'_>, earlier: &[Violation], block: &[Tuple], bench: &mut Bench) {
        let Bench { differences, gram, .. } = bench;
        let earlier = earlier.iter().map(|Violation { query: (words, weights), difference, .. }| {
            ((&words[..], &weights[..]), (&difference.columns[..], difference.values()))
        });
        let tuples = block.iter().zip(&*differences).map(|(tuple, difference)| {
            let query = task.query(tuple);
            ((query.indices(), query.values()), (&difference.columns[..], difference.values()))
        });
        let is_own = |s| Board::finder(s, self.n_threads) == self.me;
        gram.set(&earlier.chain(tuples).collect::<Vec<_>>(), is_own);
    }
}

fn next_block(tuples: &[Tuple], length: usize) -> &[Tuple] {
    &tuples[..tuples.len().min(length)]
}

/// A row that a tuple reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) row: u32,
    /// The number of the tuple in its block.
    at: u32,
    /// The weight of the word in the query.
    pub(super) weight: f32,
}

/// What a worker needs to go through a block.
pub(super) struct Bench {
    /// d+ - d- of every tuple.
    pub(super) differences: Vec<Difference>,
    /// The score of every tuple without what the block has added to W.
    pub(super) scores: Vec<Sum>,
    /// What the block has added to the score of every tuple, after those of its tuples that came in an earlier
    /// call.
    added: Vec<f64>,
    /// Rows that tuples read, by row.
    pub(super) visits: Vec<Visit>,
    /// Those among them that are not packed.
    pub(super) short: Vec<Visit>,
    /// Where only entries that are there may change, what the tuple meets in rows that are packed.
    pub(super) present: Present,
    pub(super) met: Vec<Met>,
    by_row: ByRow,
    by_tuple: ByRow,
    /// All 0 while not in use.
    pub(super) spread: Spread,
    room: Room,
    gram: Gram,
}

impl Bench {
    fn new(task: &Task<'_>) -> Self {
        Self {
            differences: Vec::new(),
            scores: Vec::new(),
            added: Vec::new(),
            visits: Vec::new(),
            short: Vec::new(),
            present: Present::default(),
            met: Vec::new(),
            by_row: ByRow::new(task.shared.len()),
            by_tuple: ByRow::new(Clock::BLOCK),
            spread: Spread::new(task.n_columns),
            room: Room::new(task.n_columns),
            gram: Gram::new(task.shared.len(), task.n_columns),
        }
    }

    /// Lays out the differences of a block, and which of one's own rows its tuples read.
    fn begin(&mut self, task: &Task<'_>, block: &[Tuple], is_own: impl Fn(u32) -> bool) {
        let Self { differences, scores, visits, short, by_row, .. } = self;
        differences.resize_with(differences.len().max(block.len()), Difference::default);
        scores.clear();
        scores.resize(block.len(), Sum::default());
        visits.clear();
        short.clear();
        for ((at, tuple), difference) in (0..).zip(block).zip(&mut *differences) {
            difference.set(task.documents.row(tuple.more as usize), task.documents.row(tuple.less as usize));
            let own = task.query(tuple).iter().filter(|&(row, _)| is_own(row));
            visits.extend(own.map(|(row, weight)| Visit { row, at, weight }));
        }
        if block.len() > 1 {
            *visits = by_row.sort(visits, |visit| visit.row);
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
        let Self { differences, scores, added, gram, .. } = self;
        let earlier = violations.len();
        added.clear();
        added.resize(earlier + block.len(), 0.0);
        for (s, violation) in violations.iter().enumerate() {
            gram.add(s, violation.eta, added);
        }
        for (at, tuple) in block.iter().enumerate() {
            let gap = scores[at].score().map(|score| score + added[earlier + at]);
            let Some(gap) = gap.filter(|gap| gap.abs() < LARGEST_SCORE) else { return false };
            if gap < task.params.margin {
                let violation = Violation::new(clock.eta(task.params), task.query(tuple), &differences[at]);
                gram.add(earlier + at, violation.eta, added);
                violations.push(violation);
            }
            clock.tick(task.params, gap);
        }
        true
    }
}
