//! Ridge regression on many targets at once, by conjugate gradients.
//!
//! Problem: minimise |X V - T|^2 + a |V|^2 over V, which is (X'X + a I) V = X'T. X'X is never formed: a step multiplies
//! with X and with X'. All columns of V take their steps together, each with its own step lengths, and a column rests
//! once its residual is at most `tolerance` times that of V = 0.
//!
//! Cost of a step: 4 nnz(X) k operations for k targets; memory 8 k bytes for each row of X and 32 k for each column.
//! Every row of a product is computed by one thread, and sums over rows are added in pieces of fixed size, so the result
//! does not depend on the number of threads.
//!
//! Reference: Nocedal and Wright, *Numerical optimization*, 2006, Algorithm 5.2.

use rayon::prelude::*;

use crate::linalg::Csr;

/// X and its transpose, with the strength a of the penalty.
pub(crate) struct Ridge<'a> {
    x: &'a Csr,
    xt: Csr,
    alpha: f64,
}

/// Rules for ending the steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RidgeStop {
    /// Residual of a column, relative to V = 0.
    pub(crate) tolerance: f64,
    pub(crate) max_steps: usize,
}

/// Number of rows whose products are added before they join the sum over all rows.
const PIECE: usize = 4096;
/// Least number of rows of a product that are worth a task of their own.
const ROWS: usize = 64;

impl<'a> Ridge<'a> {
    pub(crate) fn new(x: &'a Csr, alpha: f64) -> Self {
        Self { x, xt: x.transpose(), alpha }
    }

    /// Computes X'T for `k` targets; row i of `targets` and of the result begins at `i * k`.
    pub(crate) fn project(&self, targets: &[f64], k: usize) -> Vec<f64> {
        multiply(&self.xt, targets, k)
    }

    /// Solves (X'X + a I) V = B for `k` columns. `each` is called after every step.
    pub(crate) fn solve(
        &self,
        right: Vec<f64>,
        k: usize,
        stop: RidgeStop,
        mut each: impl FnMut(),
    ) -> Vec<f64> {
        let mut solution = vec![0.0; right.len()];
        let mut residual = right;
        let mut direction = residual.clone();
        let mut squares = dots(&residual, &residual, k);
        let enough: Vec<f64> =
            squares.iter().map(|square| square * stop.tolerance * stop.tolerance).collect();
        for _ in 0..stop.max_steps {
            if squares.iter().zip(&enough).all(|(square, enough)| square <= enough) {
                break;
            }
            let mut product = multiply(&self.xt, &multiply(self.x, &direction, k), k);
            add(&mut product, &direction, &vec![self.alpha; k]);
            let curvatures = dots(&direction, &product, k);
            let rests = |at: usize| squares[at] <= enough[at] || curvatures[at] <= 0.0;
            let step: Vec<f64> =
                (0..k).map(|at| if rests(at) { 0.0 } else { squares[at] / curvatures[at] }).collect();
            add(&mut solution, &direction, &step);
            add(&mut residual, &product, &step.iter().map(|step| -step).collect::<Vec<f64>>());
            let next = dots(&residual, &residual, k);
            let turn: Vec<f64> =
                (0..k).map(|at| if rests(at) { 0.0 } else { next[at] / squares[at] }).collect();
            direction.par_chunks_mut(PIECE * k).zip(residual.par_chunks(PIECE * k)).for_each(|(d, r)| {
                for (d, r) in d.chunks_mut(k).zip(r.chunks(k)) {
                    (0..k).for_each(|at| d[at] = r[at] + turn[at] * d[at]);
                }
            });
            squares = next;
            each();
        }
        solution
    }
}

/// Computes A P for a panel P of `k` columns.
fn multiply(a: &Csr, panel: &[f64], k: usize) -> Vec<f64> {
    let mut out = vec![0.0; a.n_rows() * k];
    out.par_chunks_mut(k).with_min_len(ROWS).enumerate().for_each(|(i, out)| {
        for (j, value) in a.row(i).iter() {
            let (value, row) = (f64::from(value), &panel[j as usize * k..][..k]);
            out.iter_mut().zip(row).for_each(|(out, x)| *out += value * x);
        }
    });
    out
}

/// Adds `scale[c]` times column c of another panel to every column c.
fn add(panel: &mut [f64], other: &[f64], scale: &[f64]) {
    let k = scale.len();
    panel.par_chunks_mut(PIECE * k).zip(other.par_chunks(PIECE * k)).for_each(|(panel, other)| {
        for (row, other) in panel.chunks_mut(k).zip(other.chunks(k)) {
            (0..k).for_each(|at| row[at] += scale[at] * other[at]);
        }
    });
}

/// Computes the dot product of every column with the same column of another panel.
fn dots(a: &[f64], b: &[f64], k: usize) -> Vec<f64> {
    let of_piece = |(a, b): (&[f64], &[f64])| {
        let mut sums = vec![0.0; k];
        for (a, b) in a.chunks(k).zip(b.chunks(k)) {
            (0..k).for_each(|at| sums[at] += a[at] * b[at]);
        }
        sums
    };
    let pieces: Vec<Vec<f64>> = a.par_chunks(PIECE * k).zip(b.par_chunks(PIECE * k)).map(of_piece).collect();
    pieces.into_iter().fold(vec![0.0; k], |mut all, sums| {
        all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        all
    })
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use faer::linalg::solvers::Solve;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The result solves the normal equations, formed and solved densely.
        #[test]
        fn a_dense_solver_finds_the_same(
            (n, m, k) in (1usize..9, 1usize..7, 1usize..4),
            alpha in 0.05f64..5.0,
            seed in 0u32..1000,
        ) {
            let value = |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761) ^ seed) / 2e9 - 1.0;
            let present = |i: usize| !(i * 7 + seed as usize).is_multiple_of(3);
            let triples = (0..n * m)
                .filter(|&i| present(i))
                .map(|i| ((i / m) as u32, (i % m) as u32, value(i) as f32));
            let x = Csr::from_triples(n, m, triples).unwrap();
            let targets: Vec<f64> = (0..n * k).map(|i| value(i + 100)).collect();
            let dense = Mat::from_fn(n, m, |i, j| {
                x.row(i).iter().find(|&(at, _)| at as usize == j).map_or(0.0, |(_, value)| f64::from(value))
            });
            let normal = dense.transpose() * &dense + Mat::from_fn(m, m, |i, j| if i == j { alpha } else { 0.0 });
            let right = dense.transpose() * Mat::from_fn(n, k, |i, at| targets[i * k + at]);
            let expected = normal.partial_piv_lu().solve(&right);
            let ridge = Ridge::new(&x, alpha);
            let stop = RidgeStop { tolerance: 1e-10, max_steps: 200 };
            let found = ridge.solve(ridge.project(&targets, k), k, stop, || ());
            for i in 0..m {
                for at in 0..k {
                    prop_assert!((found[i * k + at] - expected[(i, at)]).abs() < 1e-7);
                }
            }
        }
    }

    #[test]
    fn steps_end_at_their_limit() {
        let x = Csr::from_triples(3, 3, [(0, 0, 1.0), (1, 1, 2.0), (2, 2, 3.0)]).unwrap();
        let ridge = Ridge::new(&x, 0.5);
        let mut steps = 0;
        let stop = RidgeStop { tolerance: 1e-12, max_steps: 2 };
        ridge.solve(vec![1.0; 3], 1, stop, || steps += 1);
        assert_eq!(steps, 2);
        let zero = ridge.solve(vec![0.0; 3], 1, stop, || steps += 1);
        assert_eq!((zero, steps), (vec![0.0; 3], 2), "nothing to solve takes no step");
    }
}
