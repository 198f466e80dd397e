//! Sparse preference learning: f(q, d) = q' W d, with an entry of W for every pair of words that matters.
//!
//! **Objective** (5): the mean over tuples (q, d+, d-), d+ preferred to d- for q, of
//! max(0, m - q' W d+ + q' W d-), plus lambda |W|_1; the paper's margin m is 1.
//!
//! **Update** (Algorithm 1), from W = 1 where query word and document word are the same and 0 elsewhere: for
//! every tuple, where q' W (d+ - d-) < m, add eta_t q (d+ - d-)'. After every T steps soft-threshold all of
//! W by lambda times the sum of eta over them; updates after the last multiple of T are not shrunk.
//! Refitting (8) goes over the tuples once more, with the step count restarted and without shrinkage. It starts from
//! the sparse W and changes only non-zero entries.
//!
//! | symbol | field |
//! |---|---|
//! | m | [`PreferenceParams::margin`] |
//! | C, eta_t | [`PreferenceParams::c`], [`PreferenceParams::step`] |
//! | lambda, T | [`PreferenceParams::lambda`], [`PreferenceParams::shrink_every`] |
//!
//! **Cost** of a tuple: the words of q times those of d+ and d-, at most. Memory follows the non-zero entries: an
//! untouched row takes none, a short row is a list, a full row has its numbers and a bit for every column (`packed`).
//! Shrinkage is exact and costs nothing (`shrinkage`). All threads read and write W in blocks of T steps (`workers`).
//! The result equals that of single steps, for any number of threads.
//!
//! **Differences from the paper.** T is 400 by default, where the paper has 100. Refitting starts from the
//! sparse W, which the paper leaves open, and may end with the mean of W over its steps
//! ([`PreferenceParams::average`]).
//!
//! Reference: X. Chen, B. Bai, Y. Qi, Q. Lin, J. Carbonell, *Learning Preferences with Millions of
//! Parameters by Enforcing Sparsity*, ICDM 2010.
//!
//! ```
//! use matchrank_core::matching::Csr;
//! use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Tuple};
//! use matchrank_core::progress::Silent;
//!
//! // Words: 0 "car", 1 "automobile", 2 "boat". The query "car" prefers a document about automobiles.
//! let queries = Csr::from_triples(1, 3, [(0, 0, 1.0)])?;
//! let documents = Csr::from_triples(2, 3, [(0, 1, 1.0), (1, 2, 1.0)])?;
//! let params = PreferenceParams { c: 0.5, lambda: 0.0, ..Default::default() };
//! let mut learner = Learner::new(&params, 3, 3, (0..3).map(|word| (word, word)))?;
//! learner.learn(&queries, &documents, &[Tuple { query: 0, more: 0, less: 1 }], &Silent)?;
//! let w = learner.matrix();
//! assert_eq!((w.row(0).indices(), w.row(0).values()), (&[0, 1, 2][..], &[1.0, 0.5, -0.5][..]));
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod board;
mod by_row;
mod change;
mod clock;
mod density;
mod difference;
mod gram;
mod learner;
mod list;
mod merge;
mod pace;
mod packed;
mod params;
mod present;
mod restricted;
mod row;
mod shrinkage;
#[cfg(test)]
mod slow;
mod start;
mod state;
#[cfg(test)]
mod tests;
mod unpacked;
mod violation;
mod workers;

pub use clock::{Clock, Phase};
pub use learner::Learner;
pub use params::{PreferenceParams, Step, WeightForm};
pub use state::{Pending, State};

/// A preference of a query for one document over another; all are row numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// The query.
    pub query: u32,
    /// The preferred document.
    pub more: u32,
    /// The other document.
    pub less: u32,
}
