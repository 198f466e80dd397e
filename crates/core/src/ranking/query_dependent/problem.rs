//! The optimisation problem of every fit: vectors, pairs of vectors, and the cost of each pair.
//!
//! minimise J(w) = lambda/2 ||w||^2 + sum over pairs p of c_p L(w . z_p), z_p = x_better - x_worse.
//!
//! Vectors are documents (or, in the pairwise-ranking form with a Gaussian kernel, pairs of documents, each paired with
//! the vector 0). Products with all z are computed through the vectors: X w first, then a difference for each pair,
//! which costs m d + P instead of P d.

use crate::linalg::simd::vectorised;

/// Columns are padded with zeros to a multiple of this.
pub(super) const LANES: usize = 8;

/// Two vectors, the first of which should score higher by 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PreferencePair {
    /// Row of the better one.
    pub better: u32,
    /// Row of the worse one.
    pub worse: u32,
    /// c, at least 0.
    pub cost: f64,
}

/// Loss of a pair that is ordered with margin u.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// (1 - u)_+.
    #[default]
    Hinge,
    /// log(1 + exp(-u)).
    Logistic,
    /// min(1, (1 - u)_+): the loss of a misordered pair is bounded. Not convex.
    Psi,
}

impl Loss {
    pub(super) fn of(self, margin: f64) -> f64 {
        match self {
            Self::Hinge => (1.0 - margin).max(0.0),
            Self::Psi => (1.0 - margin).clamp(0.0, 1.0),
            // log(1 + e^-u) without overflow.
            Self::Logistic => (-margin).max(0.0) + (-margin.abs()).exp().ln_1p(),
        }
    }
}

/// Vectors and the pairs to order.
#[derive(Debug, Clone)]
pub struct PairProblem {
    n_columns: usize,
    stride: usize,
    x: Vec<f64>,
    pairs: Vec<PreferencePair>,
}

impl PairProblem {
    /// Creates a problem without rows, for the given number of columns.
    pub fn new(n_columns: usize) -> Self {
        let stride = n_columns.next_multiple_of(LANES).max(LANES);
        Self { n_columns, stride, x: Vec::new(), pairs: Vec::new() }
    }

    /// Adds a vector.
    pub fn push_row(&mut self, row: impl IntoIterator<Item = f64>) {
        let start = self.x.len();
        self.x.extend(row);
        assert_eq!(self.x.len() - start, self.n_columns, "a row has all columns");
        self.x.resize(start + self.stride, 0.0);
    }

    /// Adds a pair of existing rows. Pairs of cost 0 are left out.
    pub fn push_pair(&mut self, better: usize, worse: usize, cost: f64) {
        assert!(
            better.max(worse) < self.n_rows() && cost >= 0.0 && cost.is_finite(),
            "a pair of known rows and a finite cost of at least 0"
        );
        if cost > 0.0 {
            self.pairs.push(PreferencePair { better: better as u32, worse: worse as u32, cost });
        }
    }

    /// Number of vectors.
    pub fn n_rows(&self) -> usize {
        self.x.len() / self.stride
    }

    /// Number of columns of a vector.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Pairs with a cost above 0.
    pub fn pairs(&self) -> &[PreferencePair] {
        &self.pairs
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn row(&self, row: u32) -> &[f64] {
        &self.x[row as usize * self.stride..][..self.stride]
    }

    /// Computes z of a pair.
    pub(super) fn difference(&self, pair: &PreferencePair, z: &mut [f64]) {
        let (better, worse) = (self.row(pair.better), self.row(pair.worse));
        z.iter_mut().zip(better.iter().zip(worse)).for_each(|(z, (a, b))| *z = a - b);
    }

    /// Computes w . z of every pair, given w with padding.
    pub(super) fn margins(&self, w: &[f64], scores: &mut Vec<f64>, margins: &mut Vec<f64>) {
        scores.clear();
        rows_times(&self.x, self.stride, w, scores);
        margins.clear();
        margins.extend(self.pairs.iter().map(|p| scores[p.better as usize] - scores[p.worse as usize]));
    }

    /// Computes the sum over pairs of g z, with padding.
    pub(super) fn combine(&self, g: impl IntoIterator<Item = f64>, scores: &mut Vec<f64>, sum: &mut [f64]) {
        scores.clear();
        scores.resize(self.n_rows(), 0.0);
        for (pair, g) in self.pairs.iter().zip(g) {
            scores[pair.better as usize] += g;
            scores[pair.worse as usize] -= g;
        }
        sum.fill(0.0);
        add_rows(&self.x, self.stride, scores, sum);
    }

    /// Computes w = sum alpha z / lambda.
    pub(super) fn weights_of(&self, alpha: &[f64], lambda: f64) -> Vec<f64> {
        let mut w = vec![0.0; self.stride];
        self.combine(alpha.iter().map(|alpha| alpha / lambda), &mut Vec::new(), &mut w);
        w.truncate(self.n_columns);
        w
    }

    /// Computes J(w), given the margins.
    pub(super) fn objective(&self, loss: Loss, lambda: f64, square: f64, margins: &[f64]) -> f64 {
        let risk: f64 = self.pairs.iter().zip(margins).map(|(pair, &m)| pair.cost * loss.of(m)).sum();
        0.5 * lambda * square + risk
    }

    /// Computes J(w).
    pub fn objective_of(&self, loss: Loss, lambda: f64, w: &[f64]) -> f64 {
        let mut padded = w.to_vec();
        padded.resize(self.stride, 0.0);
        let (mut scores, mut margins) = (Vec::new(), Vec::new());
        self.margins(&padded, &mut scores, &mut margins);
        self.objective(loss, lambda, dot(w, w), &margins)
    }
}

/// Weights that solve a problem, exactly or approximately.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Solution {
    /// lambda.
    pub lambda: f64,
    /// w, one per column.
    pub w: Vec<f64>,
    /// Contribution of each pair: w = sum alpha z / lambda, exactly or as accurately as the method converged.
    pub alpha: Vec<f64>,
    /// J(w).
    pub objective: f64,
    /// Lower bound of J; `None` for psi, which is not convex.
    pub lower_bound: Option<f64>,
    /// Number of rounds of the solver.
    pub iterations: u32,
}

impl Solution {
    /// Computes (J(w) - lower bound) / J(w).
    pub fn relative_gap(&self) -> Option<f64> {
        Some((self.objective - self.lower_bound?) / self.objective.max(f64::MIN_POSITIVE))
    }
}

/// Returns the dot product of two vectors of whole lanes.
#[inline(always)]
pub(super) fn dot_lanes(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

/// Returns the dot product of two vectors of the same length.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    crate::ranking::products::dot(a, b)
}

/// Computes b += factor a for vectors of whole lanes.
#[inline(always)]
pub(super) fn add_lanes(factor: f64, a: &[f64], b: &mut [f64]) {
    for (b, a) in b.as_chunks_mut::<LANES>().0.iter_mut().zip(a.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            b[lane] += factor * a[lane];
        }
    }
}

vectorised! {
    fn rows_times(x: &[f64], stride: usize, w: &[f64], scores: &mut Vec<f64>) {
        scores.extend(x.chunks_exact(stride).map(|row| dot_lanes(row, w)));
    }
}

vectorised! {
    fn add_rows(x: &[f64], stride: usize, factors: &[f64], sum: &mut [f64]) {
        for (row, &factor) in x.chunks_exact(stride).zip(factors) {
            add_lanes(factor, row, sum);
        }
    }
}
