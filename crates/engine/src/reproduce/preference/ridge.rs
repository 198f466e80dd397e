//! Rows beyond the paper: W starts at the largest entries of a ridge solution and is refitted by preferences.
//!
//! W is divided by the mean gap q' W (d+ - d-) over the tuples, so that the margin counts mean gaps. Refitting takes the
//! same tuples as the paper's methods, with a harder d- each: the one that scores highest among a few rows of other
//! classes drawn at random.

use std::time::Instant;

use matchrank_core::matching::Csr;
use matchrank_core::matching::ridge_start::{self, RidgeStartParams};
use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Tuple};
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

use super::{Labelled, PreferenceRun, image, score};

/// Name of the row of the ridge start alone.
pub const RIDGE: &str = "Ridge";
/// Name of the row of the ridge start, refitted by preferences.
pub const RIDGE_REFITTED: &str = "Ridge-R";

/// Settings of the ridge start and its refitting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RidgeSettings {
    /// Parameters of the ridge problem.
    pub params: RidgeStartParams,
    /// Largest share of the entries of W that are kept.
    pub density: f64,
    /// Margin of refitting, in mean gaps of the start.
    pub margin: f64,
    /// Length of the first step of refitting.
    pub c: f64,
    /// Rows of other classes of which the hardest is the less preferred one of a tuple; 1 for one drawn at random.
    pub candidates: usize,
}

impl Default for RidgeSettings {
    /// Returns values for texts, chosen on a fifth of the training rows of 20 Newsgroups.
    fn default() -> Self {
        Self { params: RidgeStartParams::default(), density: 0.1, margin: 1.0, c: 20.0, candidates: 5 }
    }
}

impl RidgeSettings {
    /// Returns an error if a value is out of range.
    pub fn validate(&self) -> Result<()> {
        self.params.validate()?;
        if !(self.density > 0.0 && self.density <= 1.0) {
            return Err(Error::Params(format!(
                "density must be above 0 and at most 1, not {}",
                self.density
            )));
        }
        if self.candidates == 0 {
            return Err(Error::Params("candidates must be at least 1".into()));
        }
        Ok(())
    }
}

/// Measures the ridge start, without and with refitting, and returns the W of the start.
pub(super) fn run(run: &mut PreferenceRun<'_>) -> Result<Csr> {
    let RidgeSettings { params, density, margin, c, candidates } = run.settings.ridge;
    let train = &run.split.train;
    let started = Instant::now();
    let model = ridge_start::fit(&params, &train.rows, &train.labels, run.progress)?;
    let n = train.rows.n_columns();
    let sizes = ridge_start::root_mean_squares(&train.rows);
    let w = ridge_start::largest(&model, [&sizes, &sizes], (density * (n * n) as f64) as usize)?;
    let mut seconds = started.elapsed().as_secs_f64();
    let params = PreferenceParams { margin, c, ..run.settings.params };
    run.measure(RIDGE, &Learner::from_matrix(&params, &w)?, 0, seconds);

    let started = Instant::now();
    let (gap, tuples) = harder(&w, train, &run.tuples, candidates, run.settings.seed);
    if gap <= 0.0 {
        run.progress.note("the ridge start does not separate the classes, so it is not refitted");
        return Ok(w);
    }
    let mut learner = Learner::from_matrix(&params, &scaled(&w, 1.0 / gap)?)?;
    learner.refit();
    run.progress.begin(RIDGE_REFITTED, Some(tuples.len() as u64), "tuples");
    learner.learn(&train.rows, &train.rows, &tuples, run.progress)?;
    seconds += started.elapsed().as_secs_f64();
    run.measure(RIDGE_REFITTED, &learner, tuples.len(), seconds);
    Ok(w)
}

fn scaled(w: &Csr, scale: f64) -> Result<Csr> {
    let values = w.values().iter().map(|&value| (f64::from(value) * scale) as f32).collect();
    Csr::new(w.n_columns(), w.offsets().to_vec(), w.indices().to_vec(), values)
}

/// Replaces the less preferred row of every tuple by the highest-scoring one of `candidates` rows of other classes,
/// itself included; returns the mean gap of the given tuples as well.
fn harder(w: &Csr, data: &Labelled, tuples: &[Tuple], candidates: usize, seed: u64) -> (f64, Vec<Tuple>) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(2));
    let mut other = |query: u32| loop {
        let row = rng.random_range(0..data.labels.len());
        if data.labels[row] != data.labels[query as usize] {
            break row as u32;
        }
    };
    let drawn = |tuple: &Tuple| (1..candidates).map(|_| other(tuple.query)).collect();
    let drawn: Vec<Vec<u32>> = tuples.iter().map(drawn).collect();
    let mut order: Vec<usize> = (0..tuples.len()).collect();
    order.sort_by_key(|&at| tuples[at].query);
    let of_query = |places: &[usize]| -> Vec<(usize, f64, u32)> {
        let image = image(w, data.rows.row(tuples[places[0]].query as usize));
        let score = |row: u32| score(&image, data.rows.row(row as usize));
        let hardest = |&at: &usize| {
            let Tuple { more, less, .. } = tuples[at];
            let first = (score(less), less);
            let all = drawn[at].iter().map(|&row| (score(row), row));
            let (_, row) = all.fold(first, |best, next| if next.0 > best.0 { next } else { best });
            (at, score(more) - first.0, row)
        };
        places.iter().map(hardest).collect()
    };
    let queries: Vec<&[usize]> = order.chunk_by(|&a, &b| tuples[a].query == tuples[b].query).collect();
    let found: Vec<Vec<(usize, f64, u32)>> = queries.into_par_iter().map(of_query).collect();
    let (mut gaps, mut hard) = (0.0, tuples.to_vec());
    for (at, gap, less) in found.into_iter().flatten() {
        gaps += gap;
        hard[at].less = less;
    }
    (gaps / tuples.len() as f64, hard)
}

#[cfg(test)]
mod tests {
    use matchrank_core::matching::SparseRow;

    use super::*;
    use crate::reproduce::preference::tuples;

    /// A slow check of every tuple: same query and preferred row, another class, the best of what was drawn.
    #[test]
    fn harder_rows_are_of_other_classes_and_score_no_lower() {
        let labels: Vec<u32> = (0..30).map(|row| row % 3).collect();
        let triples = (0..90u32).map(|i| (i / 3, (i * 7) % 12, (i % 5) as f32 / 5.0 + 0.2));
        let data = Labelled { rows: Csr::from_triples(30, 12, triples).unwrap(), labels };
        let w = Csr::from_triples(12, 12, (0..40u32).map(|i| (i % 12, (i * 5) % 12, i as f32 / 20.0 - 1.0)));
        let w = w.unwrap();
        let given = tuples(&data.labels, 200, 4);
        let dense = |row: u32| {
            let mut values = [0f64; 12];
            data.rows.row(row as usize).iter().for_each(|(j, x): (u32, f32)| values[j as usize] = x.into());
            values
        };
        let score = |q: u32, d: u32| -> f64 {
            let (q, d) = (dense(q), dense(d));
            let of_row = |(i, row): (usize, SparseRow<'_>)| {
                q[i] * row.iter().map(|(j, x)| f64::from(x) * d[j as usize]).sum::<f64>()
            };
            w.rows().enumerate().map(of_row).sum()
        };
        let (gap, same) = harder(&w, &data, &given, 1, 9);
        assert_eq!(same, given, "one candidate is the row itself");
        let mean = given.iter().map(|t| score(t.query, t.more) - score(t.query, t.less)).sum::<f64>() / 200.0;
        assert!((gap - mean).abs() < 1e-5, "{gap} {mean}");
        let (_, hard) = harder(&w, &data, &given, 4, 9);
        let mut changed = 0;
        for (hard, given) in hard.iter().zip(&given) {
            assert_eq!((hard.query, hard.more), (given.query, given.more));
            assert_ne!(data.labels[hard.less as usize], data.labels[hard.query as usize]);
            assert!(score(hard.query, hard.less) > score(given.query, given.less) - 1e-6);
            changed += usize::from(hard.less != given.less);
        }
        assert!(changed > 100, "three of four candidates are new: {changed}");
    }
}
