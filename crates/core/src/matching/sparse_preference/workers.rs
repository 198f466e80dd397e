//! Steps on all threads, with the same result as single steps in the order of the tuples.
//!
//! Tuples are processed in blocks, which end at the multiples of T. Within a block W does not change, and the updates
//! of the steps are kept separately. A tuple's score is q' W d + sum over the violations s so far of eta_s (q_s' q)
//! (d_s' d), where d is short for d+ - d-. So the rows of W, which are divided among the threads, are read for a whole
//! block without synchronisation. Once per block, all threads exchange their sums, go through the violations
//! identically, and change their own rows. Every row is written once per block, and entries that the shrinkage at the
//! end of the block sets to 0 are never written. Sums are integers, so W does not depend on the order of addition.
//!
//! If only existing entries may change, the sum above does not describe the steps. Then a block is one step.

use super::board::{Board, LARGEST_SCORE, Sum};
use super::by_row::ByRow;
use super::change::Room;
use super::clock::Clock;
use super::difference::{Difference, Spread};
use super::gram::Gram;
use super::learner::{Learner, shared_column};
use super::present::Present;
use super::restricted::Met;
use super::row::{WeightRow, Whole};
use super::violation::{self, RowChange, Violation};
use super::{PreferenceParams, Tuple};
use crate::matching::{Csr, SparseRow};
use crate::progress::Progress;

/// Number of shards that the rows are divided into: row i is in shard i % SHARDS.
pub(super) const SHARDS: usize = 64;
/// Number of entries of a block that justify another thread.
const ENTRIES_PER_THREAD: usize = if cfg!(test) { 1 } else { 20_000 };

/// Reason why the workers return.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stop {
    /// All tuples are done.
    Done,
    /// W should be swept.
    Sweep,
    /// A score is no longer finite.
    Diverged,
}

/// Input shared by all workers.
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
    /// Memory of W in bytes at which workers return to have it swept.
    sweep_above: Option<u64>,
    progress: &'a dyn Progress,
}

impl<'a> Task<'a> {
    fn query(&self, tuple: &Tuple) -> SparseRow<'a> {
        self.queries.row(tuple.query as usize)
    }
}

/// Runs steps on `n_threads` threads until all tuples are done or W must be swept. Returns the number of steps.
pub(super) fn work(
    learner: &mut Learner,
    queries: &Csr,
    documents: &Csr,
    tuples: &[Tuple],
    n_threads: usize,
    progress: &dyn Progress,
) -> (usize, Stop) {
    let row_bytes = |rows: &[WeightRow]| rows.iter().map(|row| row.bytes() as u64).sum::<u64>();
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

/// Returns the number of threads of the pool, or fewer if blocks are too small to share.
pub(super) fn threads(learner: &Learner, queries: &Csr, documents: &Csr, tuples: &[Tuple]) -> usize {
    let sample = &tuples[..tuples.len().min(1000)];
    let length = |matrix: &Csr, row: u32| matrix.row(row as usize).indices().len();
    let entries = |tuple: &Tuple| {
        length(queries, tuple.query) * (length(documents, tuple.more) + length(documents, tuple.less))
    };
    let mean = sample.iter().map(entries).sum::<usize>() / sample.len().max(1);
    // With single-step blocks, threads often wait for each other, but do no work twice.
    let steps = learner.clock.whole_block(&learner.params).max(10);
    (steps * mean / ENTRIES_PER_THREAD).clamp(1, SHARDS).min(rayon::current_num_threads())
}

/// The rows of one thread: those of shards `me`, `me` + `n_threads`, ...
pub(super) struct Worker<'a> {
    me: usize,
    n_threads: usize,
    /// Bit mask of the shards of this thread.
    own: u64,
    shards: Vec<&'a mut Vec<WeightRow>>,
    bytes: u64,
}

/// Result of a worker.
struct End {
    done: usize,
    clock: Clock,
    /// Violations of an unfinished block.
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

    pub(super) fn row(&self, row: u32) -> &WeightRow {
        &self.shards[row as usize % SHARDS / self.n_threads][row as usize / SHARDS]
    }

    pub(super) fn row_mut(&mut self, row: u32) -> &mut WeightRow {
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

    /// Writes the updates of a block to the rows of this worker, and computes these rows' part of the scores of the
    /// next block. Both are done for a row while it is in the cache. The contributions of short rows are computed tuple
    /// by tuple.
    fn turn(
        &mut self,
        task: &Task<'_>,
        parts: &[RowChange<'_>],
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
        let next_row = |parts: Option<&&[RowChange<'_>]>, visits: Option<&&[TupleRow]>| {
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
            for &TupleRow { at, weight, .. } in visits_here {
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

    /// Adds the contributions of rows that are not packed to the scores.
    fn read_short(&self, task: &Task<'_>, block: &[Tuple], whole: Whole, bench: &mut Bench) {
        let Bench { differences, spread, scores, short, by_tuple, .. } = bench;
        if block.len() > 1 {
            *short = by_tuple.sort(short, |visit| visit.at);
        }
        for visits in short.chunk_by(|a, b| a.at == b.at) {
            let at = visits[0].at as usize;
            spread.set(&differences[at].columns, differences[at].values());
            for &TupleRow { row, weight, .. } in visits {
                let shared = shared_column(task.shared[row as usize]);
                if let Some(score) = self.row(row).dot(spread, shared, whole) {
                    scores[at].add(f64::from(weight) * score);
                }
            }
            spread.clear(&differences[at].columns);
        }
    }

    /// Computes this worker's share of the products of tuples of a block with later ones. Violations of the block from
    /// an earlier call precede its tuples.
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
pub(super) struct TupleRow {
    pub(super) row: u32,
    /// Number of the tuple in its block.
    at: u32,
    /// Weight of the word in the query.
    pub(super) weight: f32,
}

/// Buffers of a worker for a block.
pub(super) struct Bench {
    /// d+ - d- of every tuple.
    pub(super) differences: Vec<Difference>,
    /// Score of every tuple without the updates of the block.
    pub(super) scores: Vec<Sum>,
    /// Effect of the block's updates on the score of every tuple; tuples from an earlier call come first.
    added: Vec<f64>,
    /// Rows that the tuples read, sorted by row.
    pub(super) visits: Vec<TupleRow>,
    /// The visits of rows that are not packed.
    pub(super) short: Vec<TupleRow>,
    /// Entries of packed rows that the tuple touches, if only existing entries may change.
    pub(super) present: Present,
    pub(super) met: Vec<Met>,
    by_row: ByRow,
    by_tuple: ByRow,
    /// Buffer; all 0 while not in use.
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

    /// Prepares the differences of a block, and lists the rows of this worker that its tuples read.
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
            visits.extend(own.map(|(row, weight)| TupleRow { row, at, weight }));
        }
        if block.len() > 1 {
            *visits = by_row.sort(visits, |visit| visit.row);
        }
    }

    /// Goes through the tuples of a block in order; returns false if a score is no longer finite.
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
