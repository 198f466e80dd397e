//! The products Xw and X'g of one list, on which every linear ranker is built.

use crate::data::{FeatureRow, List};
pub(crate) use crate::linalg::dot_f64 as dot;
use crate::linalg::simd::vectorised;

/// Replaces `scores` by Xw. Columns beyond the weights are ignored.
pub fn scores(list: &List<'_>, w: &[f64], scores: &mut Vec<f64>) {
    scores.clear();
    match list.dense() {
        Some(cells) if !cells.is_empty() => dense_scores(cells, cells.len() / list.len(), w, scores),
        _ => scores.extend((0..list.len()).map(|i| sparse_score(list.row(i), w))),
    }
}

fn sparse_score(row: FeatureRow<'_>, w: &[f64]) -> f64 {
    let product = |(column, x): (u32, f32)| f64::from(x) * w.get(column as usize).copied().unwrap_or(0.0);
    row.entries().fold(0.0, |sum, entry| sum + product(entry))
}

vectorised! {
    fn dense_scores(cells: &[f32], n: usize, w: &[f64], scores: &mut Vec<f64>) {
        const LANES: usize = 16;
        for row in cells.chunks_exact(n) {
            let known = row.len().min(w.len());
            let (xs, x_rest) = row[..known].as_chunks::<LANES>();
            let (ws, w_rest) = w[..known].as_chunks::<LANES>();
            let mut sums = [0.0f64; LANES];
            for (x, w) in xs.iter().zip(ws) {
                for lane in 0..LANES {
                    sums[lane] += f64::from(x[lane]) * w[lane];
                }
            }
            let rest = x_rest.iter().zip(w_rest).fold(0.0, |sum, (x, w)| sum + f64::from(*x) * w);
            scores.push(sums.iter().fold(rest, |sum, lane| sum + lane));
        }
    }
}

/// Adds X'g to `sum`, which has an entry for every column of the list.
pub fn add_rows(list: &List<'_>, g: &[f64], sum: &mut [f64]) {
    for (i, &factor) in g.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
        match list.row(i) {
            FeatureRow::Dense(cells) => add_dense(cells, factor, sum),
            FeatureRow::Sparse { columns, values } => {
                for (column, x) in columns.iter().zip(values) {
                    sum[*column as usize] += factor * f64::from(*x);
                }
            }
        }
    }
}

vectorised! {
    fn add_dense(cells: &[f32], factor: f64, sum: &mut [f64]) {
        for (sum, x) in sum.iter_mut().zip(cells) {
            *sum += factor * f64::from(*x);
        }
    }
}
