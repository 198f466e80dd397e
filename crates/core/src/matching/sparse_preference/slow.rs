//! Algorithm 1 as it is written, in f64, with all of W thresholded every T steps.

use super::{PreferenceParams, Step, Tuple, WeightForm};
use crate::matching::Csr;

pub(super) struct Slow {
    pub(super) w: Vec<Vec<f64>>,
    /// Smallest distance of a tuple from the margin: below some rounding error, decisions may differ.
    pub(super) closest: f64,
}

fn dense(matrix: &Csr, row: u32) -> Vec<f64> {
    let mut dense = vec![0.0; matrix.n_columns()];
    matrix.row(row as usize).iter().for_each(|(j, value)| dense[j as usize] = f64::from(value));
    dense
}

impl Slow {
    pub(super) fn new(n_rows: usize, n_columns: usize, shared: &[(u32, u32)]) -> Self {
        let mut w = vec![vec![0.0; n_columns]; n_rows];
        shared.iter().for_each(|&(i, j)| w[i as usize][j as usize] = 1.0);
        Self { w, closest: f64::INFINITY }
    }

    /// Runs one pass, refitting if `refit`. With averages, returns the mean of W after each step.
    pub(super) fn learn(
        &mut self,
        params: &PreferenceParams,
        queries: &Csr,
        documents: &Csr,
        tuples: &[Tuple],
        refit: bool,
    ) -> Vec<Vec<f64>> {
        let pattern: Vec<Vec<bool>> =
            self.w.iter().map(|row| row.iter().map(|&x| x != 0.0).collect()).collect();
        let restricted = refit || params.form == WeightForm::Diagonal;
        let mut mean = vec![vec![0.0; self.w[0].len()]; self.w.len()];
        let mut eta_sum = 0.0;
        for (t, tuple) in (1..).zip(tuples) {
            let (q, more, less) =
                (dense(queries, tuple.query), dense(documents, tuple.more), dense(documents, tuple.less));
            let eta = match params.step {
                Step::Fixed => params.c,
                Step::Decaying => params.c / f64::from(t).sqrt(),
            };
            let row_score = |row: &Vec<f64>| -> f64 {
                row.iter().zip(more.iter().zip(&less)).map(|(w, (more, less))| w * (more - less)).sum()
            };
            let gap: f64 = self.w.iter().zip(&q).map(|(row, q)| q * row_score(row)).sum();
            self.closest = self.closest.min((gap - params.margin).abs());
            for (i, row) in self.w.iter_mut().enumerate().filter(|_| gap < params.margin) {
                for (j, w) in row.iter_mut().enumerate().filter(|&(j, _)| !restricted || pattern[i][j]) {
                    *w += eta * q[i] * (more[j] - less[j]);
                }
            }
            eta_sum += eta;
            if (t as usize).is_multiple_of(params.shrink_every)
                && !restricted
                && params.form == WeightForm::Sparse
            {
                let threshold = params.lambda * eta_sum;
                eta_sum = 0.0;
                for w in self.w.iter_mut().flatten() {
                    *w = w.signum() * (w.abs() - threshold).max(0.0);
                }
            }
            for (mean, w) in mean.iter_mut().flatten().zip(self.w.iter().flatten()) {
                *mean += w / tuples.len() as f64;
            }
        }
        mean
    }
}
